package convert

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect/native"
	"github.com/obstat/obstat/effect"
	"github.com/obstat/obstat/internal/study/diff"
	"github.com/obstat/obstat/internal/study/explain"
	"github.com/obstat/obstat/pattern"
)

// maxRounds bounds how often sentences are taken out and added, and maxSearches how often all calls
// are looked for again after that.
const (
	maxRounds   = 12
	maxSearches = 4
)

// prove compares the two policies, takes out lines that allow more than the original and adds
// missing ones, until nothing is freer. Each round only tightens, so that only calls which were freer
// before it have to be decided again; the last word has a search among all.
func (c *conversion) prove() error {
	if err := c.proveAll(); err != nil || c.out.Differences.Looser > 0 {
		return err
	}
	return c.prune()
}

// prune takes out the lines that were added for calls which nothing frees any longer: a question about `ls`, from when
// `read anything` was still there.
func (c *conversion) prune() error {
	all, was := c.lines, c.out.Differences
	for i := 0; i < len(c.lines); {
		if !c.lines[i].needed {
			i++
			continue
		}
		kept := c.lines
		c.lines = slices.Delete(slices.Clone(kept), i, i+1)
		if err := c.compare(&diff.Options{Calls: c.freed, Only: true, Readable: true}); err != nil {
			return err
		}
		if c.freer() > 0 {
			c.lines = kept
			i++
		}
	}
	if len(c.lines) == len(all) {
		c.out.Differences = was
		return nil
	}
	if err := c.compare(c.search()); err != nil || c.freer() == 0 {
		return err
	}
	c.lines = all
	c.out.Differences = was
	return nil
}

func (c *conversion) proveAll() error {
	for range maxSearches {
		if err := c.compare(c.search()); err != nil || c.out.Differences.Looser == 0 {
			return err
		}
		searched, changed := c.out.Differences, false
		for range maxRounds {
			if !c.tighten() {
				break
			}
			changed = true
			if err := c.compare(&diff.Options{Calls: searched.Freer, Only: true, Readable: true}); err != nil {
				return err
			}
		}
		if !changed {
			return nil
		}
	}
	// Questions that were added have not sufficed: lines that still free something go.
	c.strict = true
	for range maxRounds {
		if err := c.compare(c.search()); err != nil || c.out.Differences.Looser == 0 || !c.tighten() {
			return err
		}
	}
	return c.compare(c.search())
}

// tighten takes out lines that allow more than the original, and adds lines for its asks and
// denials; it returns false where there is nothing to do.
func (c *conversion) tighten() bool {
	gone, nearer := map[int]bool{}, false
	c.freed = append(c.freed, c.out.Differences.Freer...)
	var more []line
	for i := range c.out.Differences.Regions {
		r := &c.out.Differences.Regions[i]
		if !r.Looser || c.otherTool(r) {
			continue
		}
		beside := append(c.belowExceptions(r), c.beyond(r)...)
		at := c.lineOf(r)
		if len(beside) > 0 && !c.loose {
			more = append(more, beside...)
		} else if !c.loose && c.stays(r, at) {
			nearer = true
		} else if at < 0 || c.lines[at].verdict == obstat.Ask && !c.deny { // else its calls are denied without it
			if ln, ok := c.stricter(r); ok && !c.loose {
				ln.needed = ln.verdict == obstat.Ask
				more = append(more, ln)
			}
		} else if exact, ok := c.exactly(r, at); ok && !c.loose {
			more = append(more, exact)
		} else if !gone[at] && (!c.loose || c.tooLoose(r, at)) {
			if asks := c.protected(r, at); len(asks) > 0 {
				more = append(more, asks...)
				continue
			}
			gone[at] = true
			more = append(more, c.narrower(r, at)...)
		}
	}
	left := c.lines[:0:0]
	for i := range c.lines {
		if !gone[i] {
			left = append(left, c.lines[i])
		}
	}
	left = withNew(left, more)
	changed := nearer || len(gone) > 0 || len(left) > len(c.lines)
	for i := range gone {
		takeBack(left, &c.lines[i])
	}
	c.lines = left
	return changed
}

// withNew adds the lines that are not there.
func withNew(lines, more []line) []line {
	for i := range more {
		if !slices.ContainsFunc(lines, more[i].same) {
			lines = append(lines, more[i])
		}
	}
	return lines
}

// narrower returns what the rules of a line that allows too much say instead; those without such a sentence are told.
func (c *conversion) narrower(r *diff.Region, at int) (out []line) {
	wide := &c.lines[at]
	c.tried[wide.sentence()] = true
	for _, from := range wide.rules() {
		ln := *wide
		ln.from, ln.also = from, nil
		narrow, ok := forTool(&ln)
		same := func(o line) bool { return o.verdict == narrow.verdict && o.sentence() == narrow.sentence() }
		switch at := slices.IndexFunc(out, same); {
		case !ok || c.strict || c.tried[narrow.sentence()]: // else the two would take turns
			c.unsaid(from, fmt.Sprintf("`%s` would allow %s as well, which is %s: %s", wide.sentence(),
				explain.TextOf(r.Call), past(r.Was), r.WasBy.Reason))
		case at >= 0:
			out[at].also = append(out[at].also, from)
		default:
			out = append(out, narrow)
		}
	}
	return out
}

// protected returns the asks that the dialect has built in, where something that is allowed would change the files
// that they are about: a server's tool, or `rm` and `touch`.
func (c *conversion) protected(r *diff.Region, at int) (out []line) {
	built := r.Was == obstat.Ask && !r.WasBy.Pos.IsValid() && r.WasBy.Rule != ""
	text := c.lines[at].text
	verb, _, _ := strings.Cut(text, " ")
	if !built || c.strict || !strings.HasPrefix(text, "tool mcp") && verb != "run" && verb != "write" {
		return nil
	}
	for _, ln := range c.careful() {
		if !slices.ContainsFunc(c.lines, func(o line) bool { return o.verdict == obstat.Ask && o.text == ln.text }) {
			out = append(out, ln)
		}
	}
	return out
}

// belowExceptions returns lines for what lies below the exceptions of a line. Of `*.env.*: deny, *.env.example: allow`
// the denial is `read *.env.* except *.env.example`, which leaves out a directory of that name with all that is in it;
// so `read *.env.example/*` is denied beside it.
func (c *conversion) belowExceptions(r *diff.Region) (out []line) {
	for i := range c.lines {
		ln := &c.lines[i]
		verbs := Parts(ln.text).Verbs
		if ln.from == nil || ln.from.Pos != r.WasBy.Pos || ln.verdict != r.Was || verbs == "run" {
			continue
		}
		for _, x := range ln.except {
			below := line{verdict: ln.verdict, text: verbs + " " + belowEach(x), reason: ln.reason}
			same := func(o line) bool { return o.verdict == below.verdict && o.text == below.text }
			if !slices.ContainsFunc(c.lines, same) && loads("version: 1\nask:\n  - "+scalar(below.text)+"\n") {
				out = append(out, below)
			}
		}
	}
	return out
}

// beyond denies or asks about what leads out of the project, where a rule for every tool does, as opencode's
// `"*": "ask"` without rules for `external_directory` and `webfetch`; and about files outside that a command reaches,
// where the original asks about these.
func (c *conversion) beyond(r *diff.Region) (out []line) {
	every, at := c.anyTool(r.WasBy.Pos), c.lineOf(r)
	command := at >= 0 && strings.HasPrefix(c.lines[at].text, "run ")
	if !every && (r.WasBy.Pos.IsValid() || r.Was != obstat.Ask || !command || !c.asksOutside(r.Call.Tool)) {
		return nil
	}
	a := effect.Analyze(&effect.Request{Tool: r.Call.Tool, Input: r.Call.Input,
		Options: effect.Options{Dir: r.Call.Dir, Roots: r.Call.Roots}})
	for i := range a.Effects {
		ln := line{verdict: r.Was}
		switch e := &a.Effects[i]; e.Kind {
		case effect.Read, effect.Write, effect.Delete:
			if e.Path == "" || e.Path == diff.Dir || strings.HasPrefix(e.Path, diff.Dir+"/") || c.frees(diff.Outside) {
				continue
			}
			ln.text = e.Kind.String() + " outside workspace"
		case effect.Connect:
			if ln.text = "connect anywhere"; !every || c.allows("connect") {
				continue
			}
		default:
			continue
		}
		if !slices.ContainsFunc(c.lines, ln.same) {
			out = append(out, ln)
		}
	}
	return out
}

// asksOutside tells whether the original has a question about where the calls of a tool lead to.
func (c *conversion) asksOutside(tool string) bool {
	return once(c, "outside "+tool, func() bool {
		call := &obstat.Call{Tool: tool, Input: commandInput("cat /x"), Dir: diff.Dir, Roots: []string{diff.Dir}}
		if t, _ := effect.Lookup(tool); !t.Shell() && len(t.Paths) > 0 {
			call.Input, _ = json.Marshal(map[string]string{t.Paths[0]: "/x"}) // a text can always be written
		}
		_, tr := c.l.Policy.Explain(call, &obstat.Snapshot{HomeDir: diff.Home})
		outside := func(q obstat.QuestionTrace) bool { return q.Question.Tool == diff.Outside }
		return slices.ContainsFunc(tr.Questions, outside)
	})
}

// stays takes what lies outside of the project out of a line, where the original asks about that: `read *.env, /**/*.env`
// becomes `read *.env`, also where it is an exception.
func (c *conversion) stays(r *diff.Region, at int) bool {
	if at < 0 || r.Was != obstat.Ask || c.lines[at].verdict != obstat.Allow || verbOf(r.Call.Tool) == "" ||
		!c.asksOutside(r.Call.Tool) {
		return false
	}
	verb, target, _ := strings.Cut(c.lines[at].text, " ")
	list := Parts(c.lines[at].text).Targets
	inside := slices.DeleteFunc(slices.Clone(list), func(t string) bool { return t[0] == '/' || t[0] == '~' })
	if verb == "run" || len(inside) == 0 || len(inside) == len(list) {
		return false
	}
	near := strings.Join(inside, ", ")
	c.lines[at].text = verb + " " + near
	for i := range c.lines {
		c.lines[i].except = slices.Clone(c.lines[i].except)
		for k, x := range c.lines[i].except {
			if x == target && strings.HasPrefix(c.lines[i].text, verb+" ") {
				c.lines[i].except[k] = near
			}
		}
	}
	return true
}

// frees tells whether a rule that names a tool denies it not.
func (c *conversion) frees(tool string) bool {
	return slices.ContainsFunc(c.ordered(), func(r *obstat.Rule) bool {
		return r.Tool.Text == tool && r.Verdict > obstat.Deny
	})
}

// belowEach writes for every path of a list what lies in it: `a, "b c"` is `a/*, "b c/*"`. A name at any depth,
// `*.env`, is `**/*.env/*`.
func belowEach(list string) string {
	paths := targets(list)
	for i, p := range paths {
		end := ""
		if quoted := strings.TrimSuffix(p, `"`); quoted != p {
			p, end = quoted, `"`
		}
		if !strings.Contains(p, "/") {
			p = strings.Replace(`**/`+p, `**/"`, `"**/`, 1)
		}
		paths[i] = p + "/*" + end
	}
	return strings.Join(paths, ", ")
}

// forTool says a rule more narrowly, where its effect allows more: without secrets, or by the name of its tool, as
// `connect go.dev` is also about `curl`, and `tool WebFetch where input.url like "https://go.dev/*"` is not.
func forTool(ln *line) (line, bool) {
	verb, target, _ := strings.Cut(ln.text, " ")
	narrow, of := *ln, verbOf(target)
	switch {
	case ln.verdict != obstat.Allow || ln.except != nil:
	case ln.text == "read workspace":
		narrow.except = []string{"secrets"}
		return narrow, true
	case verb == "tool" && (of == "read" || of == "write") && ln.from != nil && ln.from.Whole():
		narrow.text = of + " workspace"
		return narrow, true
	}
	if ln.verdict != obstat.Allow || ln.from == nil || verb == "tool" || verb == "run" {
		return line{}, false
	}
	name := ln.from.Tool.Text
	if ln.from.Tool.Flavour != pattern.Exact {
		name, _, _ = strings.Cut(ln.from.Source, "(")
	}
	t, known := effect.Lookup(name)
	out := line{verdict: ln.verdict, text: "tool " + name, reason: ln.reason, from: ln.from}
	switch host := verb == "connect" && !strings.ContainsAny(target, "*, :\""); {
	case !known || verbs[t.Canonical] != verb:
		return line{}, false
	case !ln.from.Whole() && host && len(t.URL) > 0:
		out.text += fmt.Sprintf(" where input.%s like %q", t.URL[0], "https://"+target+"/*")
	case !ln.from.Whole():
		return line{}, false
	}
	return out, true
}

// takeBack ends the exceptions that were made for a line that is gone: without `run git`, the `run anything except git`
// of a rule that counts behind it is `run anything`.
func takeBack(lines []line, gone *line) {
	verb, target, _ := strings.Cut(gone.text, " ")
	for i := range lines {
		if strings.HasPrefix(lines[i].text, verb+" ") {
			lines[i].except = slices.DeleteFunc(slices.Clone(lines[i].except), func(x string) bool { return x == target })
		}
	}
}

// exactly returns a line for the one command that an allow line would free besides its own: of `git *`,
// which is not about a bare `git`.
func (c *conversion) exactly(r *diff.Region, at int) (line, bool) {
	ln := line{verdict: r.Was, text: "run exactly " + strings.TrimPrefix(c.lines[at].text, "run ")}
	t, _ := effect.Lookup(r.Call.Tool)
	bare := t.Shell() && strings.HasPrefix(c.lines[at].text, "run ") &&
		explain.TextOf(r.Call) == strings.TrimPrefix(c.lines[at].text, "run ")
	return ln, bare && !slices.ContainsFunc(c.lines, func(o line) bool { return o.text == ln.text })
}

// otherTool tells whether calls of a region are freer only because their tool does the same as the one
// that a rule names, under another agent's name.
func (c *conversion) otherTool(r *diff.Region) bool {
	if !r.Looser {
		return false
	}
	byDefault := r.WasBy.Stage == "default"
	if (byDefault || c.anyTool(r.WasBy.Pos)) && c.foreign(r) || c.foreignDenial(r) {
		return true
	}
	if !byDefault {
		return false
	}
	if c.otherQuotes(r) {
		return true
	}
	same := func(ln line) bool {
		verb, target, _ := strings.Cut(ln.text, " ")
		if name, _, _ := strings.Cut(target, " "); verb == "tool" && ln.from != nil {
			a, _ := effect.Lookup(name)
			b, known := effect.Lookup(r.Call.Tool) // `tool Skill` is for SlashCommand as well
			return known && name != r.Call.Tool && a.Canonical == b.Canonical && !about(ln.from, r.Call.Tool)
		}
		return verbOf(r.Call.Tool) == verb &&
			(ln.from == nil || !about(ln.from, r.Call.Tool) && alike(ln.from.Tool.Text, r.Call.Tool))
	}
	if at := c.lineOf(r); at >= 0 {
		return same(c.lines[at])
	}
	// The tool is free because a line allows its effects.
	return r.NowBy.Rule == native.ByEffects &&
		slices.ContainsFunc(c.lines, func(ln line) bool { return ln.verdict == obstat.Allow && same(ln) })
}

// foreign tells whether a call is only asked about or denied because its tool is another agent's, which no rule names
// or a rule for whatever tool there is, opencode's `"*": "ask"`: under a name that the original knows, it decides the
// very call as freely as the sentences do.
func (c *conversion) foreign(r *diff.Region) bool {
	return once(c, fmt.Sprint("foreign ", r.Now, r.Call.Tool, string(r.Call.Input)), func() bool {
		return slices.ContainsFunc(c.twins(r.Call.Tool), func(name string) bool {
			own := diff.Renamed(r.Call, name)
			return own != nil && verdictOf(c.l.Policy, own) >= r.Now
		})
	})
}

// once keeps what is found out about the original, which is asked for in each round.
func once[T any](c *conversion, key string, find func() T) T {
	if v, there := c.found[key]; there {
		return v.(T)
	}
	v := find()
	c.found[key] = v
	return v
}

// foreignDenial tells whether a call that was denied is now asked about only because it is in another agent's language:
// `:(){ :|:& };:` is denied to Bash and no line of PowerShell.
func (c *conversion) foreignDenial(r *diff.Region) bool {
	by := c.ruleAt(r.WasBy.Pos)
	of, _ := effect.Lookup(r.Call.Tool)
	if by == nil || r.Now != obstat.Ask || by.Tool.Flavour != pattern.Exact || by.Tool.Text == r.Call.Tool {
		return false
	}
	own, _ := effect.Lookup(by.Tool.Text)
	call := diff.Renamed(r.Call, by.Tool.Text)
	return verbOf(of.Name) == "run" && own.Shell() && own.Canonical != of.Canonical && call != nil && c.now != nil &&
		verdictOf(c.now, call) == obstat.Deny
}

// ruleAt returns the rule at a place; nil is none.
func (c *conversion) ruleAt(at obstat.Pos) *obstat.Rule {
	for _, rules := range c.l.Program.Rules {
		for i := range rules {
			if at.IsValid() && rules[i].Pos == at {
				return &rules[i]
			}
		}
	}
	return nil
}

// twins returns the tools that do the same as another agent's, `bash` for `Bash`, and those that rules of the original
// name and that do the like to files, `edit` for `Write`.
func (c *conversion) twins(tool string) (out []string) {
	of, _ := effect.Lookup(tool)
	for _, t := range effect.Tools() {
		if t.Canonical == of.Canonical && t.Name != tool {
			out = append(out, t.Name)
		}
	}
	verb := verbOf(tool)
	for _, r := range c.ordered() {
		name := r.Tool.Text
		if r.Tool.Flavour == pattern.Exact && verb != "" && verb == verbOf(name) && name != tool && alike(name, tool) {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// alike tells whether a rule for one tool may be meant for another as well: one for `list` says nothing of reading.
func alike(rule, tool string) bool {
	names := func(tool string) bool {
		t, _ := effect.Lookup(tool)
		return t.Canonical == "list" || t.Canonical == "glob"
	}
	return !names(rule) || names(tool)
}

// anyTool tells whether the rule at a place is for every tool.
func (c *conversion) anyTool(at obstat.Pos) bool {
	r := c.ruleAt(at)
	return r != nil && diff.EveryTool(r)
}

// otherQuotes tells whether the call of a region is the very command that a rule allows, in other quotes: a rule for
// `python3 -c "print(1)"` is about that text, and a sentence about its words.
func (c *conversion) otherQuotes(r *diff.Region) bool {
	words := func(text string) string {
		return once(c, fmt.Sprint("words ", r.Call.Tool, text), func() string { return firstCommand(r.Call.Tool, text) })
	}
	text := explain.TextOf(r.Call)
	if verbOf(r.Call.Tool) != "run" || words(text) != text {
		return false
	}
	return slices.ContainsFunc(c.lines, func(ln line) bool {
		if ln.from == nil || ln.verdict < r.Now || !strings.HasPrefix(ln.text, "run ") {
			return false
		}
		written, _, _ := globs(ln.from.Pattern, ln.from.Verdict == obstat.Allow)
		for _, w := range written {
			if !strings.ContainsAny(w, "\"'\\") {
				continue
			}
			begin := strings.TrimSuffix(w, " *")
			shown := words(begin)
			rest, ok := strings.CutPrefix(text, shown)
			if shown != "" && ok && (rest == "" || begin != w && rest[0] == ' ') && c.decides(r.Call, begin+rest) >= r.Now {
				return true
			}
		}
		return false
	})
}

// firstCommand returns the first command of a line with its variables, as rules see it; "" where it is not known.
func firstCommand(tool, line string) string {
	a := analyzed(tool, commandInput(line))
	if len(a.Commands) == 0 || !a.Commands[0].Known || a.Commands[0].Dir != diff.Dir {
		return ""
	}
	return cmp.Or(a.WithVariables(0), a.Commands[0].Text)
}

// decides returns what the original says of a call with another command.
func (c *conversion) decides(call *obstat.Call, text string) obstat.Verdict {
	return once(c, fmt.Sprint("decides ", call.Tool, text), func() obstat.Verdict {
		other := *call
		other.Input = commandInput(text)
		return verdictOf(c.l.Policy, &other)
	})
}

// verdictOf decides a call where calls are made up.
func verdictOf(pol *obstat.Policy, call *obstat.Call) obstat.Verdict {
	return pol.Decide(call, &obstat.Snapshot{HomeDir: diff.Home}).Verdict
}

// tooLoose tells whether a line allows calls that the original denies, or asks about by a rule of the
// user's; or, of a command or host, anything that it asks about.
func (c *conversion) tooLoose(r *diff.Region, at int) bool {
	verb, _, _ := strings.Cut(c.lines[at].text, " ")
	special := r.WasBy.Pos.IsValid() && !c.general(r.WasBy.Pos) || r.Was == obstat.Deny && r.WasBy.Stage != "default"
	return special || !r.WasBy.Pos.IsValid() && (verb == "run" || verb == "connect") &&
		about(c.lines[at].from, r.Call.Tool)
}

// stricter returns a line for a call that no line allows but the language does, or that it does not
// deny: for its tool, or for the beginning of its command that no line allows.
func (c *conversion) stricter(r *diff.Region) (line, bool) {
	ln := line{verdict: r.Was}
	t, _ := effect.Lookup(r.Call.Tool)
	if r.NowBy.Rule == "settings" && r.Was == obstat.Deny { // they are asked about, whatever else is denied
		ln.text = "write and delete settings"
		return ln, true
	}
	if !t.Shell() {
		if verb := verbOf(r.Call.Tool); verb != "" { // where no rule is about it
			ln.text = verbWords(verb, r.Was) + " " + targetOf(verb, "", "*", false)
			return ln, !r.WasBy.Pos.IsValid() && !c.allows(verb)
		}
		ln.text = "tool " + r.Call.Tool
		return ln, !strings.ContainsAny(r.Call.Tool, " ,()'\"") && !c.allows(ln.text)
	}
	if !r.WasBy.Pos.IsValid() && !c.allows("run") { // no rule is about commands
		ln.text = "run anything"
		return ln, true
	}
	every := c.anyTool(r.WasBy.Pos) || !r.WasBy.Pos.IsValid() && c.decides(r.Call, harmless) == r.Was
	if ln.text = "run anything"; every && !slices.ContainsFunc(c.lines, ln.same) {
		return c.whatever(r.Was), true
	}
	a := effect.Analyze(&effect.Request{Tool: r.Call.Tool, Input: r.Call.Input,
		Options: effect.Options{Dir: r.Call.Dir, Roots: r.Call.Roots}})
	for i := range a.Commands {
		words := strings.Fields(a.Commands[i].Text)
		for n := range words {
			if ln.text = "run " + commandOf(strings.Join(words[:n+1], " "), false); !c.allows(ln.text) {
				return ln, ln.text != "run "
			}
		}
		if ln.text = "run " + commandOf(a.Commands[i].Text, true); a.Commands[i].Text != "" && !c.allows(ln.text) {
			return ln, ln.text != "run "
		}
	}
	if r.Was == obstat.Deny && len(a.Commands) > 0 { // it counts before lines that allow or ask
		ln.text = "run " + commandOf(a.Commands[0].Text, true)
		return ln, a.Commands[0].Text != "" && ln.text != "run "
	}
	return ln, false
}

// harmless is a command that does nothing: who asks about it asks about each that no rule names.
const harmless = "true"

// whatever asks about every command that no line allows, or denies it, as a rule for every tool does.
func (c *conversion) whatever(v obstat.Verdict) line {
	ln := line{verdict: v, text: "run anything"}
	every := make([]int, len(c.lines))
	for i := range c.lines {
		every[i] = i
	}
	c.exceptions(&ln, every)
	return ln
}

// same tells whether another line says the same, exceptions aside.
func (l *line) same(o line) bool { return o.verdict == l.verdict && o.text == l.text }

// allows tells whether a line allows something that begins like a sentence.
func (c *conversion) allows(sentence string) bool {
	verb, _, _ := strings.Cut(sentence, " ")
	return slices.ContainsFunc(c.lines, func(o line) bool {
		text := strings.Replace(o.text, ` "`, " ", 1) // `run "gh pr 'view:*'"` begins with gh pr
		begins := strings.HasPrefix(text, sentence) || strings.HasPrefix(sentence, text+" ")
		return o.verdict == obstat.Allow && (begins || o.text == verb+" anything")
	})
}

// lineOf returns the line that decides the calls of a region, -1 where none does.
func (c *conversion) lineOf(r *diff.Region) int {
	return slices.IndexFunc(c.lines, func(ln line) bool {
		return ln.verdict == r.Now && strings.ReplaceAll(ln.sentence(), "\n", " ") == r.NowBy.Rule
	})
}

// general tells whether the rule at a place is about everything that a tool does, as a default is.
func (c *conversion) general(at obstat.Pos) bool {
	for _, rules := range c.l.Program.Rules {
		for i := range rules {
			texts, _, ok := globs(rules[i].Pattern, rules[i].Verdict == obstat.Allow)
			if rules[i].Pos == at && ok && strings.Trim(texts[0][strings.LastIndexByte(texts[0], ':')+1:], "*") == "" {
				return true
			}
		}
	}
	return false
}

// about tells whether a rule is for a tool; one of Chorus's says so in its action.
func about(r *obstat.Rule, tool string) bool {
	if r == nil {
		return true
	}
	if r.Tool.IsZero() {
		return strings.HasPrefix(r.Pattern.Text, "tool:"+tool+":")
	}
	p, err := pattern.Compile(r.Tool.Flavour, r.Tool.Text)
	if err != nil {
		return false
	}
	ok, _ := p.Match(tool)
	return ok
}

func past(v obstat.Verdict) string { return [...]string{"denied", "asked about", "allowed"}[v] }

// search returns the options of a comparison that makes calls up.
func (c *conversion) search() *diff.Options {
	return &diff.Options{Limit: c.limit, Readable: true, Made: &c.made, Skip: c.backslash}
}

// backslash tells whether a command has a backslash that no rule has: opencode takes it for a slash, so that
// `rm -rf \x` is matched by `rm -rf /*`, while the shell removes x.
func (c *conversion) backslash(call *obstat.Call) bool {
	t, _ := effect.Lookup(call.Tool)
	if !t.Shell() || !strings.Contains(explain.TextOf(call), `\`) {
		return false
	}
	return !slices.ContainsFunc(c.ordered(), func(r *obstat.Rule) bool {
		return strings.Contains(strings.ReplaceAll(r.Source, `\"`, ""), `\`)
	})
}

// compare looks for calls that the two decide otherwise. Sentences that do not load are taken out.
func (c *conversion) compare(o *diff.Options) error {
	for {
		n, err := load(c.text())
		if err == nil {
			c.now = n.Policy
			c.out.Differences = diff.Compare(c.l.Policy, n.Policy, o)
			return nil
		}
		var problems obstat.Errors
		if !errors.As(err, &problems) || !c.drop(problems) {
			return err
		}
	}
}

// drop takes the lines out that problems of the file are about.
func (c *conversion) drop(problems obstat.Errors) bool {
	_, at := yaml(c.lines, c.deny)
	why := map[int]string{}
	for _, e := range problems {
		i, ok := at[e.Pos.Line-1]
		if !ok || e.Warning { // a comment is the first line
			continue
		}
		why[i] = e.Msg
		if e.Code == obstat.CodeNoEffect && len(e.Also) > 0 && c.before(i, at, e.Also[0].Line-1) {
			why[i] = "" // the rule decides nothing in the original either
		}
	}
	left := c.lines[:0:0]
	for i := range c.lines {
		msg, gone := why[i]
		switch from := c.lines[i].from; {
		case !gone:
			left = append(left, c.lines[i])
		case c.lines[i].place != nil && c.possible(&c.lines[i]):
			left = append(left, c.lines[i])
		case from != nil && msg != "":
			c.unsaid(from, fmt.Sprintf("`%s`: %s", c.lines[i].sentence(), msg))
		}
	}
	c.lines = left
	return len(why) > 0
}

// possible takes the files out of a place that a denial is about already, and tells whether it has changed the line and
// something is left: of the protected files `.envrc` goes where `.env*` is denied.
func (c *conversion) possible(ln *line) bool {
	var denials []line
	for i := range c.lines {
		if c.lines[i].verdict == obstat.Deny {
			denials = append(denials, c.lines[i])
		}
	}
	verbs, was := Parts(ln.text).Verbs, len(ln.place)
	ln.place = slices.DeleteFunc(slices.Clone(ln.place), func(file string) bool {
		alone := line{verdict: ln.verdict, text: verbs + " " + file}
		text, _ := yaml(append(slices.Clone(denials), alone), c.deny)
		return !loads(text)
	})
	return len(ln.place) > 0 && len(ln.place) < was
}

// before tells whether a line of the new file says a rule that counts before that of line i in the original.
func (c *conversion) before(i int, at map[int]int, other int) bool {
	o, ok := at[other]
	return ok && c.lines[o].from != nil && o < i
}

// builtin adds sentences for calls that the dialect allows by itself, where they make the two more alike
// and nothing looser.
func (c *conversion) builtin() {
	tight := func(r diff.Region) bool { return !r.Looser && r.Was == obstat.Allow && r.WasBy.Pos.Line == 0 }
	var tools []string
	for _, r := range c.out.Differences.Regions {
		tool := "tool " + r.Call.Tool
		if tight(r) && verbOf(r.Call.Tool) == "" && r.WasBy.Stage != "safety checkers" && !slices.Contains(tools, tool) {
			tools = append(tools, tool)
		}
	}
	for _, texts := range [][]string{{"read workspace"}, {"read workspace except secrets"}, {"write workspace"}, tools} {
		was, n := c.out.Differences, len(c.lines)
		if len(texts) == 0 || !slices.ContainsFunc(was.Regions, tight) {
			continue
		}
		for _, t := range texts {
			c.lines = append(c.lines, line{verdict: obstat.Allow, text: t})
		}
		if !c.settles(was.Regions, tight) || c.compare(c.search()) != nil || c.freer() > 0 {
			c.lines, c.out.Differences = c.lines[:n], was
		}
	}
}

// freer counts the regions that are looser, but for tools of other agents.
func (c *conversion) freer() (n int) {
	for i := range c.out.Differences.Regions {
		if r := &c.out.Differences.Regions[i]; r.Looser && !c.otherTool(r) {
			n++
		}
	}
	return n
}

// settles tells whether the lines as they are now allow the call of a region that was stricter.
func (c *conversion) settles(regions []diff.Region, tight func(diff.Region) bool) bool {
	n, err := load(c.text())
	return err == nil && slices.ContainsFunc(regions, func(r diff.Region) bool {
		return tight(r) && verdictOf(n.Policy, r.Call) == obstat.Allow
	})
}
