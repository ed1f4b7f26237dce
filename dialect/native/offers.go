package native

import (
	"bytes"
	"errors"
	pathpkg "path"
	"slices"
	"strings"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/effect"
	"github.com/obstat/obstat/internal/format/textedit"
	"github.com/obstat/obstat/paths"
)

// maxOffers is how many effects of one call sentences are proposed for.
const maxOffers = 6

// Offers proposes, for each thing that the call does and no rule speaks of, the sentence that is
// just about it, and then one that is about a little more: `run npm run build`, `run npm run`.
func (Dialect) Offers(
	l *dialect.Loaded, call *obstat.Call, world obstat.World, d *obstat.Decision,
) (out []obstat.Offer) {
	if d.Safety || len(call.Subjects) > 0 || len(d.Faults) > 0 {
		return nil
	}
	o := newOffering(call, world)
	o.sentences()
	return o.offers()
}

func newOffering(call *obstat.Call, world obstat.World) *offering {
	return &offering{call: call, world: world, a: effect.Analyze(&effect.Request{Tool: call.Tool, Input: call.Input,
		Options: effect.Options{Dir: call.Dir, Roots: call.Workspace(), FS: world}})}
}

// offers compiles the sentences that were said.
func (o *offering) offers() (out []obstat.Offer) {
	for _, text := range o.out {
		said := func(have obstat.Offer) bool { return have.Text == text }
		if r, list, ok := Sentence(text); ok && !slices.ContainsFunc(out, said) {
			out = append(out, obstat.Offer{Rule: r, List: list, Scope: "always", Text: text})
		}
	}
	return out
}

// Sentence compiles an allow rule that stands alone, without places of a file. It returns the rule and
// the list of a Program that it belongs to; ok is false where the text is not one plain rule.
func Sentence(text string) (r obstat.Rule, list string, ok bool) {
	l := &loader{}
	s, bad := parseSentence(text)
	if len(bad) > 0 {
		return r, "", false
	}
	targets, except, bad := l.resolve(s)
	if len(bad) > 0 || len(s.where) > 0 {
		return r, "", false
	}
	of := &rule{verdict: obstat.Allow, file: &dialect.File{}, node: textNode(text), s: s, targets: targets, except: except}
	rules := of.compile()
	return rules[0], of.list(), len(targets) == 1
}

// An offering finds the sentences for one call.
type offering struct {
	call  *obstat.Call
	world obstat.World
	a     *effect.Analysis
	out   []string
}

func (o *offering) sentences() {
	t, known := effect.Lookup(o.call.Tool)
	if !t.Shell() && (!known || t.Canonical == "mcp" || t.Canonical == "search" || t.Canonical == "code") {
		o.say("tool " + quoted(o.call.Tool))
		return
	}
	for i := range o.a.Effects {
		if len(o.out) < maxOffers {
			o.effect(&o.a.Effects[i])
		}
	}
	for i := range o.a.Commands {
		if len(o.out) < 2*maxOffers && !o.told(i) {
			o.command(&o.a.Commands[i])
		}
	}
}

// told tells whether rules for paths and hosts say all that a command does.
func (o *offering) told(i int) bool {
	if c := &o.a.Commands[i]; !c.Catalogued || c.Program == "" {
		return false
	}
	for j := range o.a.Gaps {
		if o.a.Gaps[j].Command == i {
			return false
		}
	}
	for j := range o.a.Effects {
		switch e := &o.a.Effects[j]; {
		case e.Command != i || e.Kind == effect.Run:
		case e.Kind == effect.Code, e.Kind == effect.System, e.Unnamed, e.Where != "":
			return false
		case e.Kind == effect.Connect && e.Host == "" && !connects(o.a, e):
			return false
		}
	}
	return true
}

func (o *offering) say(sentence string) {
	if !slices.Contains(o.out, sentence) {
		o.out = append(o.out, sentence)
	}
}

// groups are subcommands that say nothing without the next word: `npm run env` runs anything, and
// `docker compose down` is not `docker compose logs`.
const groups = `bisect buildx compose config container env exec image lfs mod network pip pr issue release
	remote repo run run-script s3 secret service stack stash submodule system task tool volume workflow
	workspace worktree`

// command proposes a command with further arguments, its first words, or the very command where more
// would hand out a shell.
func (o *offering) command(c *effect.Command) {
	if !c.Known || c.Program == "" || c.Transparent || strings.Contains(c.Text, "*") {
		return
	}
	lines := strings.ContainsAny(c.Text, "\n\r")
	text, head := "run "+QuotedCommand(c.Text), ""
	if len(c.Words) > 2 && plainWord(c.Words[1].Text) && c.Path == c.Program {
		head = "run " + c.Program + " " + c.Words[1].Text
		if slices.Contains(strings.Fields(groups), c.Words[1].Text) {
			if head += " " + c.Words[2].Text; !plainWord(c.Words[2].Text) || len(c.Words) == 3 {
				head = ""
			}
		}
		if head != "" && broad(head) {
			head = ""
		}
	}
	switch {
	case lines: // which no sentence is
	case broad(text) && o.fed(c): // a rule for exactly `python3 -` is for whatever code it is given
	case broad(text):
		o.say("run exactly " + QuotedCommand(c.Text))
	case head == "" || !strings.ContainsAny(c.Text, `'"\`): // else the words of one commit, which no other has
		o.say(text)
	}
	if head != "" {
		o.say(head)
	}
}

// fed tells whether a command may read a text or file that its words do not say: `python3 - <<EOF`.
func (o *offering) fed(c *effect.Command) bool {
	return strings.Count(o.a.Source, "<") > strings.Count(c.Text, "<")
}

// broad tells whether a sentence hands out more than anyone means to.
func broad(sentence string) bool {
	r, _, ok := Sentence(sentence)
	return !ok || dialect.Broad(&r)
}

// plainWord tells whether a word may be a subcommand.
func plainWord(s string) bool {
	return s != "" && strings.Trim(s, "abcdefghijklmnopqrstuvwxyz0123456789-_:") == "" && s[0] != '-'
}

// effect proposes a path or a host.
func (o *offering) effect(e *effect.Effect) {
	switch {
	case e.Kind == effect.Connect:
		if host := hostOf(e); host != "" && !strings.ContainsAny(host, "* ,") {
			o.say("connect " + host)
		}
	case e.Kind != effect.Read && e.Kind != effect.Write && e.Kind != effect.Delete:
	case e.Where != "" || e.Path == "" || e.Glob || e.Secret || e.Unnamed || e.Kind != effect.Read && e.Harmless:
	default:
		verb, at := e.Kind.String(), o.spell(e.Path)
		if at == "" {
			return
		}
		o.say(verb + " " + at)
		in := pathpkg.Dir(e.Path)
		if dir := o.spell(in); e.Kind == effect.Read && dir != "" && strings.Count(in, "/") > 1 {
			o.say(verb + " " + dir)
		}
	}
}

// spell writes a path as a rule would: from the project, from home, or from the root.
func (o *offering) spell(p string) string {
	if strings.ContainsAny(p, "*?[]{}\\\n\"") {
		return ""
	}
	text := p
	if rel, ok := from(o.call.Anchor(), p); ok && o.call.Anchor() != "" {
		if text = "./" + rel; rel == "" {
			return "workspace"
		}
	} else if o.world != nil {
		if home, ok := o.world.Home(""); ok && home != "" && paths.Inside(home, p) {
			if text = "~" + strings.TrimPrefix(p, pathpkg.Clean(home)); text == "~" {
				return "home"
			}
		}
	}
	return quoted(text)
}

// quoted writes a word so that it is read as one.
func quoted(s string) string {
	if strings.ContainsAny(s, " ,'") {
		return `"` + s + `"`
	}
	return s
}

// QuotedCommand writes a command so that its words are read as they are.
func QuotedCommand(s string) string {
	word := func(w string) bool { return w == "except" || w == "where" || w == "exactly" }
	switch {
	case !strings.ContainsAny(s, `,'"`) && !slices.ContainsFunc(strings.Fields(s), word):
		return s
	case !strings.Contains(s, `"`):
		return `"` + s + `"`
	case !strings.Contains(s, "'"):
		return "'" + s + "'"
	}
	return strings.ReplaceAll(`"`+strings.ReplaceAll(s, `"`, `"'"'"`)+`"`, `""`, "")
}

// RuleFor says an effect as a sentence: `run npm run`, `write ./src`.
func (Dialect) RuleFor(_ *dialect.Loaded, kind, target, anchor string) (obstat.Offer, bool) {
	if kind == dialect.EffectRun {
		target = QuotedCommand(target)
	} else if kind != obstat.FaceConnect {
		dir, ending, _ := strings.Cut(target, dialect.AnyBelow)
		target = (&offering{call: &obstat.Call{Project: anchor}}).spell(dir)
		if target == "" || ending != "" && strings.HasSuffix(target, `"`) {
			return obstat.Offer{}, false
		}
		if ending != "" {
			target += dialect.AnyBelow + ending
		}
	}
	text := kind + " " + target
	r, list, ok := Sentence(text)
	return obstat.Offer{Rule: r, List: list, Scope: "always", Text: text}, ok
}

// maxExcept is how many targets of one call a rule may leave out.
const maxExcept = 20

// Targets says each thing that a call does as a sentence that is about nothing else, secrets included: a rule that
// leaves out `./.env` still holds for all other secrets. Files that no word names are `workspace`.
func (Dialect) Targets(call *obstat.Call, world obstat.World) []obstat.Offer {
	o := newOffering(call, world)
	for i := range o.a.Effects {
		o.target(&o.a.Effects[i])
	}
	for i := range o.a.Commands {
		if c := &o.a.Commands[i]; c.Known && c.Program != "" && !strings.ContainsAny(c.Text, "*\n\r") {
			o.say("run " + QuotedCommand(c.Text))
		}
	}
	o.out = o.out[:min(len(o.out), maxExcept)]
	return o.offers()
}

// target says one effect: `delete ./build`, `connect example.com`.
func (o *offering) target(e *effect.Effect) {
	switch {
	case e.Kind == effect.Connect:
		o.effect(e)
	case e.Where != "" || e.Glob || e.Kind != effect.Read && e.Kind != effect.Write && e.Kind != effect.Delete:
	case e.Path == "":
		o.say(e.Kind.String() + " workspace")
	default:
		if at := o.spell(e.Path); at != "" {
			o.say(e.Kind.String() + " " + at)
		}
	}
}

// Narrow writes `except` with the offers' targets into a sentence that stands on one line.
func (Dialect) Narrow(f *dialect.File, r *obstat.Rule, offers []obstat.Offer) (
	data []byte, text string, used []obstat.Offer,
) {
	was := r.String()
	s, bad := parseSentence(was)
	lines := bytes.SplitAfter(f.Data, []byte("\n"))
	if len(bad) > 0 || len(s.where) > 0 || r.Pos.Line < 1 || r.Pos.Line > len(lines) {
		return nil, "", nil
	}
	text = was
	joint := " except "
	if len(s.except) > 0 {
		joint = ", "
	}
	for i := range offers {
		verb, target, _ := strings.Cut(offers[i].Text, " ")
		about := slices.Contains(s.verbs, verb) || verb == "delete" && slices.Contains(s.verbs, "write")
		if !about || s.leaves(target) || target == "" || widened(offers, offers[i].Text) || !loads(text+joint+target) {
			continue
		}
		text, joint, used = text+joint+target, ", ", append(used, offers[i])
	}
	line := lines[r.Pos.Line-1]
	if len(used) == 0 || bytes.Count(line, []byte(was)) != 1 {
		return nil, "", nil
	}
	lines[r.Pos.Line-1] = bytes.Replace(line, []byte(was), []byte(text), 1)
	return bytes.Join(lines, nil), text, used
}

// leaves tells whether a sentence leaves a command out.
func (s *sentence) leaves(command string) bool {
	return slices.ContainsFunc(s.except, func(x phrase) bool {
		return command == x.text || strings.HasPrefix(command, x.text+" ")
	})
}

// loads tells whether a sentence is one, and all that it leaves out a part of its targets.
func loads(text string) bool {
	s, bad := parseSentence(text)
	if len(bad) > 0 {
		return false
	}
	_, _, bad = (&loader{}).resolve(s)
	return len(bad) == 0
}

// widened tells whether a sentence is there for more than another of the offers: `read ./a` beside `read ./a/b`.
func widened(offers []obstat.Offer, text string) bool {
	return slices.ContainsFunc(offers, func(o obstat.Offer) bool {
		return strings.HasPrefix(o.Text, text+"/") || strings.HasPrefix(o.Text, text+" ")
	})
}

// AddRule writes an accepted sentence at the end of its list, every other byte as it was.
func (Dialect) AddRule(f *dialect.File, o *obstat.Offer) ([]byte, error) {
	if o.Text == "" {
		return nil, errors.New("there is no rule to write")
	}
	list := o.List
	if list == listCommands || list == "" {
		list = listAllow
	}
	src := f.Data
	if len(bytes.TrimSpace(src)) == 0 {
		src = []byte("version: 1\n")
	}
	return textedit.YAML.AppendOnce(src, o.Text, list)
}
