package convert

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
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
	gone := map[int]bool{}
	var more []line
	for i := range c.out.Differences.Regions {
		r := &c.out.Differences.Regions[i]
		if !r.Looser || c.otherTool(r) {
			continue
		}
		if at := c.lineOf(r); at < 0 || c.lines[at].verdict == obstat.Ask && !c.deny { // else its calls are denied without it
			if ln, ok := c.stricter(r); ok && !c.loose {
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
			if narrow, ok := forTool(&c.lines[at]); ok && !c.strict { // else the two would take turns
				more = append(more, narrow)
			} else if from := c.lines[at].from; from != nil {
				c.unsaid(from, fmt.Sprintf("`%s` would allow %s as well, which is %s: %s", c.lines[at].sentence(),
					explain.TextOf(r.Call), past(r.Was), r.WasBy.Reason))
			}
		}
	}
	left := c.lines[:0:0]
	for i := range c.lines {
		if !gone[i] {
			left = append(left, c.lines[i])
		}
	}
	for _, ln := range more {
		if !slices.ContainsFunc(left, func(o line) bool { return o.verdict == ln.verdict && o.text == ln.text }) {
			left = append(left, ln)
		}
	}
	changed := len(gone) > 0 || len(left) > len(c.lines)
	for i := range gone {
		takeBack(left, &c.lines[i])
	}
	c.lines = left
	return changed
}

// protected returns the asks that the dialect has built in, where something that is allowed would change the files
// that they are about: a server's tool, or `rm` and `touch`.
func (c *conversion) protected(r *diff.Region, at int) (out []line) {
	careful, ok := c.l.Dialect.(dialect.Careful)
	built := r.Was == obstat.Ask && !r.WasBy.Pos.IsValid() && r.WasBy.Rule != ""
	text := c.lines[at].text
	if !ok || !built || c.strict || !strings.HasPrefix(text, "tool mcp") && !strings.HasPrefix(text, "run ") {
		return nil
	}
	for _, t := range careful.Asks() {
		if !slices.ContainsFunc(c.lines, func(o line) bool { return o.verdict == obstat.Ask && o.text == t }) {
			out = append(out, line{verdict: obstat.Ask, text: t})
		}
	}
	return out
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
	if !r.Looser || r.WasBy.Stage != "default" {
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
		return verbOf(r.Call.Tool) == verb && (ln.from == nil || !about(ln.from, r.Call.Tool))
	}
	if at := c.lineOf(r); at >= 0 {
		return same(c.lines[at])
	}
	// The tool is free because a line allows its effects.
	return r.NowBy.Rule == native.ByEffects &&
		slices.ContainsFunc(c.lines, func(ln line) bool { return ln.verdict == obstat.Allow && same(ln) })
}

// otherQuotes tells whether the call of a region is the very command that a rule allows, in other quotes: a rule for
// `python3 -c "print(1)"` is about that text, and a sentence about its words.
func (c *conversion) otherQuotes(r *diff.Region) bool {
	at := c.lineOf(r)
	if at < 0 || c.lines[at].from == nil || c.lines[at].from.Pattern.Flavour != pattern.Exact {
		return false
	}
	words := func(input []byte) string {
		a := analyzed(r.Call.Tool, input)
		if len(a.Commands) == 0 || !a.Commands[0].Known || a.Commands[0].Dir != diff.Dir {
			return ""
		}
		return a.Commands[0].Text
	}
	text, own := words(r.Call.Input), commandInput(c.lines[at].from.Pattern.Text)
	return text != "" && text == words(own) && text == explain.TextOf(r.Call)
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

// allows tells whether a line allows something that begins like a sentence.
func (c *conversion) allows(sentence string) bool {
	verb, _, _ := strings.Cut(sentence, " ")
	return slices.ContainsFunc(c.lines, func(o line) bool {
		begins := strings.HasPrefix(o.text, sentence) || strings.HasPrefix(sentence, o.text+" ")
		return o.verdict == obstat.Allow && (begins || o.text == verb+" anything")
	})
}

// lineOf returns the line that decides the calls of a region, -1 where none does.
func (c *conversion) lineOf(r *diff.Region) int {
	return slices.IndexFunc(c.lines, func(ln line) bool { return ln.verdict == r.Now && ln.sentence() == r.NowBy.Rule })
}

// general tells whether the rule at a place is about everything that a tool does, as a default is.
func (c *conversion) general(at obstat.Pos) bool {
	for _, rules := range c.l.Program.Rules {
		for i := range rules {
			texts, _, ok := globs(rules[i].Pattern)
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
	return &diff.Options{Limit: c.limit, Readable: true, Made: &c.made}
}

// compare looks for calls that the two decide otherwise. Sentences that do not load are taken out.
func (c *conversion) compare(o *diff.Options) error {
	for {
		n, err := load(c.text())
		if err == nil {
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
		case from != nil && msg != "":
			c.unsaid(from, fmt.Sprintf("`%s`: %s", c.lines[i].sentence(), msg))
		}
	}
	c.lines = left
	return len(why) > 0
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
		return tight(r) && n.Policy.Decide(r.Call, &obstat.Snapshot{HomeDir: diff.Home}).Verdict == obstat.Allow
	})
}
