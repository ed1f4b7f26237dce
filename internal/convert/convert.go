// Package convert says a policy of any dialect in the sentences of obstat.yaml.
//
// It owns the words: which sentence a rule becomes, and what has none. That the result means the
// same is not believed but tried: calls that tell the two policies apart are looked for (package
// diff), a sentence that allows more than the original is taken out again, and what differs in the
// end is told with a call that shows it.
package convert

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/dialect/native"
	"github.com/obstat/obstat/internal/diff"
	"github.com/obstat/obstat/internal/jsonx"
	"github.com/obstat/obstat/pattern"
)

// A Result is a policy as obstat.yaml has it, and how far it is the same.
type Result struct {
	V      int      `json:"v"`
	Text   string   `json:"text"`
	Said   int      `json:"said"` // rules that have a sentence
	Unsaid []Unsaid `json:"unsaid"`
	// Differences are the regions of calls that the two decide otherwise.
	Differences *diff.Report `json:"differences"`
	// ByEffect counts those that are left out of them: what a sentence allows to one tool it allows
	// to all, and the original asks about tools that it does not know.
	ByEffect int `json:"by_effect"`
}

// Unsaid is a rule that could not be said.
type Unsaid struct {
	Verdict obstat.Verdict `json:"verdict"`
	Rule    string         `json:"rule"`
	Pos     obstat.Pos     `json:"pos,omitzero"`
	Why     string         `json:"why"`
}

// A line is one sentence of the new file.
type line struct {
	verdict obstat.Verdict
	text    string // without its exceptions
	except  []string
	reason  string
	from    *obstat.Rule // nil: added to stand for what the dialect has built in
}

func (l *line) sentence() string {
	if len(l.except) == 0 {
		return l.text
	}
	return l.text + " except " + strings.Join(l.except, ", ")
}

// limit bounds the calls of one comparison.
const limit = 12_000

// ToNative converts a policy.
func ToNative(l *dialect.Loaded) (*Result, error) {
	c := &conversion{l: l, out: &Result{V: 1, Unsaid: []Unsaid{}}}
	c.say()
	if err := c.prove(); err != nil {
		return nil, err
	}
	c.builtin()
	for i := range c.lines {
		if c.lines[i].from != nil {
			c.out.Said++
		}
	}
	c.out.Differences.Regions = slices.DeleteFunc(c.out.Differences.Regions, func(r diff.Region) bool {
		at := c.lineOf(&r)
		if !r.Looser || r.WasBy.Stage != "default" || at < 0 || about(c.lines[at].from, r.Call.Tool) {
			return false
		}
		c.out.ByEffect++
		c.out.Differences.Looser--
		return true
	})
	c.out.Text = c.text()
	return c.out, nil
}

type conversion struct {
	l     *dialect.Loaded
	lines []line
	out   *Result
}

func (c *conversion) unsaid(r *obstat.Rule, why string) {
	u := Unsaid{r.Verdict, r.String(), r.Pos, why}
	if !slices.Contains(c.out.Unsaid, u) {
		c.out.Unsaid = append(c.out.Unsaid, u)
	}
}

// say makes the sentences of all rules of the mode in force, in the order in which they count.
func (c *conversion) say() {
	rules := c.ordered()
	var before []int // the lines of rules that win over those that follow
	for _, r := range rules {
		texts, why := sentences(r)
		if why != "" {
			c.unsaid(r, why)
			continue
		}
		for _, t := range texts {
			ln := line{verdict: r.Verdict, text: t, reason: r.Reason, from: r}
			if slices.ContainsFunc(c.lines, func(o line) bool { return o.verdict == ln.verdict && o.text == ln.text }) {
				continue
			}
			c.exceptions(&ln, before)
			c.lines = append(c.lines, ln)
			before = append(before, len(c.lines)-1)
		}
	}
	switch pl := c.l.Program.Pipelines[c.l.Program.Mode]; pl.Default {
	case obstat.Allow:
		for _, t := range []string{"read anything", "write anything", "delete anything", "run anything", "connect anywhere", "tool *"} {
			c.lines = append(c.lines, line{verdict: obstat.Allow, text: t})
		}
	case obstat.Deny:
		c.out.Unsaid = append(c.out.Unsaid, Unsaid{Verdict: obstat.Deny, Rule: "what no rule is about", Why: "obstat.yaml asks about it; nothing there denies all the rest"})
	}
}

// exceptions takes, out of a deny or ask line, what a looser line allows that counts before it.
func (c *conversion) exceptions(ln *line, before []int) {
	for _, i := range before {
		o := &c.lines[i]
		verb, target, _ := strings.Cut(ln.text, " ")
		overb, otarget, _ := strings.Cut(o.text, " ")
		if o.verdict <= ln.verdict || verb != overb || otarget == target {
			continue
		}
		with := *ln
		with.except = append(slices.Clone(ln.except), otarget)
		if text, _ := yaml([]line{with}); loads(text) { // narrower than the line, which native proves
			ln.except = with.except
		}
	}
}

// ordered returns the user's rules of the mode in force, those that count first in front.
func (c *conversion) ordered() (out []*obstat.Rule) {
	p := c.l.Program
	seen := map[string]bool{}
	for _, st := range p.Pipelines[p.Mode].Stages {
		m, ok := st.(obstat.Match)
		if !ok {
			continue
		}
		list := make([]*obstat.Rule, 0, len(p.Rules[m.Rules]))
		for i := range p.Rules[m.Rules] {
			if r := &p.Rules[m.Rules][i]; m.Settle.Has(r.Verdict) {
				list = append(list, r)
			}
		}
		switch m.Pick {
		case obstat.Last:
			slices.Reverse(list)
		case obstat.Strictest:
			slices.SortStableFunc(list, func(a, b *obstat.Rule) int { return cmp.Compare(a.Verdict, b.Verdict) })
		}
		for _, r := range list {
			key := fmt.Sprint(r.Tool, r.Field, r.Pattern, r.Verdict)
			if c.mine(r) && !seen[key] {
				seen[key] = true
				out = append(out, r)
			}
		}
	}
	return out
}

// mine tells whether a rule is of the files, and not built in.
func (c *conversion) mine(r *obstat.Rule) bool {
	return slices.ContainsFunc(c.l.Input.Files, func(f dialect.File) bool { return f.Name == r.Pos.File })
}

func load(text string) (*dialect.Loaded, error) {
	return dialect.Load(native.Dialect{}, &dialect.Input{Files: []dialect.File{{Name: native.File, Data: []byte(text)}}, Home: diff.Home})
}

func loads(text string) bool {
	_, err := load(text)
	return err == nil
}

// maxRounds bounds how often sentences are taken out.
const maxRounds = 12

// prove compares the two policies, and takes out what allows more than the original, until nothing
// does.
func (c *conversion) prove() error {
	for range maxRounds {
		if err := c.compare(); err != nil {
			return err
		}
		at, why := c.looser()
		if at < 0 {
			return nil
		}
		if from := c.lines[at].from; from != nil {
			c.unsaid(from, why)
		}
		c.lines = slices.Delete(c.lines, at, at+1)
	}
	return c.compare()
}

// looser returns a line that allows what the original denies, or asks about by a rule of the user's;
// or, of a command or host, anything that it asks about. A path is allowed to whatever tool: that
// is what the sentences are for, and is told as a difference.
func (c *conversion) looser() (at int, why string) {
	for i := range c.out.Differences.Regions {
		r := &c.out.Differences.Regions[i]
		if !r.Looser || r.Now != obstat.Allow {
			continue
		}
		at := c.lineOf(r)
		if at < 0 {
			continue
		}
		verb, _, _ := strings.Cut(c.lines[at].text, " ")
		special := r.WasBy.Pos.IsValid() && !c.general(r.WasBy.Pos) || r.Was == obstat.Deny && r.WasBy.Stage != "default"
		if special || !r.WasBy.Pos.IsValid() && (verb == "run" || verb == "connect") && about(c.lines[at].from, r.Call.Tool) {
			return at, fmt.Sprintf("`%s` would allow %s %s as well, which is %s: %s", c.lines[at].sentence(), r.Call.Tool, r.Call.Input, past(r.Was), r.WasBy.Reason)
		}
	}
	return -1, ""
}

// lineOf returns the line that allows the calls of a region, -1 where none does.
func (c *conversion) lineOf(r *diff.Region) int {
	return slices.IndexFunc(c.lines, func(ln line) bool {
		return r.Now == obstat.Allow && ln.verdict == obstat.Allow && ln.sentence() == r.NowBy.Rule
	})
}

// general tells whether the rule at a place is about everything that a tool does, as a default is.
func (c *conversion) general(at obstat.Pos) bool {
	for _, rules := range c.l.Program.Rules {
		for i := range rules {
			if texts, _, ok := globs(rules[i].Pattern); rules[i].Pos == at && ok && strings.Trim(texts[0][strings.LastIndexByte(texts[0], ':')+1:], "*") == "" {
				return true
			}
		}
	}
	return false
}

// about tells whether a rule is for a tool; one of Chorus's says so in its action.
func about(r *obstat.Rule, tool string) bool {
	if r == nil || r.Tool.IsZero() {
		return r == nil || strings.HasPrefix(r.Pattern.Text, "tool:"+tool+":")
	}
	p, err := pattern.Compile(r.Tool.Flavour, r.Tool.Text)
	if err != nil {
		return false
	}
	ok, _ := p.Match(tool)
	return ok
}

func past(v obstat.Verdict) string { return [...]string{"denied", "asked about", "allowed"}[v] }

// compare looks for calls that the two decide otherwise. A sentence that does not load is taken out.
func (c *conversion) compare() error {
	for {
		n, err := load(c.text())
		if err == nil {
			c.out.Differences = diff.Compare(c.l.Policy, n.Policy, &diff.Options{Limit: limit, Readable: true})
			return nil
		}
		var problems obstat.Errors
		if !errors.As(err, &problems) || !c.drop(problems[0]) {
			return err
		}
	}
}

// drop takes the line out that a problem of the file is about.
func (c *conversion) drop(e *obstat.Error) bool {
	_, at := yaml(c.lines)
	i, ok := at[e.Pos.Line-1] // a comment is the first line
	if !ok {
		return false
	}
	if from := c.lines[i].from; from != nil {
		c.unsaid(from, fmt.Sprintf("`%s`: %s", c.lines[i].sentence(), e.Msg))
	}
	c.lines = slices.Delete(c.lines, i, i+1)
	return true
}

// builtin adds sentences for what the dialect allows by itself, where they make the two more alike
// and nothing looser.
func (c *conversion) builtin() {
	for _, t := range []string{"read workspace", "write workspace"} {
		was := c.out.Differences
		if !slices.ContainsFunc(was.Regions, func(r diff.Region) bool { return !r.Looser && r.Was == obstat.Allow && r.WasBy.Pos.Line == 0 }) {
			return
		}
		c.lines = append(c.lines, line{verdict: obstat.Allow, text: t})
		if c.compare() != nil || c.out.Differences.Looser > was.Looser || c.out.Differences.Tighter >= was.Tighter {
			c.lines, c.out.Differences = c.lines[:len(c.lines)-1], was
		}
	}
}

// text writes the file.
func (c *conversion) text() string {
	names := make([]string, 0, len(c.l.Input.Files))
	for _, f := range c.l.Input.Files {
		names = append(names, filepath.ToSlash(f.Name))
	}
	text, _ := yaml(c.lines)
	return "# Converted from " + cmp.Or(strings.Join(names, ", "), c.l.Dialect.Name()) + " by obstat policy convert.\n" + text
}

// yaml writes lines as a file, and returns which line of it each is.
func yaml(lines []line) (text string, at map[int]int) {
	var b strings.Builder
	b.WriteString("version: 1\n")
	at = map[int]int{}
	for v := obstat.Allow; ; v-- {
		head := false
		for i := range lines {
			ln := &lines[i]
			if ln.verdict != v {
				continue
			}
			if !head {
				b.WriteString(v.String() + ":\n")
				head = true
			}
			at[strings.Count(b.String(), "\n")+1] = i
			if ln.reason == "" {
				fmt.Fprintf(&b, "  - %s\n", scalar(ln.sentence()))
			} else {
				fmt.Fprintf(&b, "  - rule: %s\n    reason: %s\n", scalar(ln.sentence()), scalar(ln.reason))
			}
		}
		if v == obstat.Deny {
			return b.String(), at
		}
	}
}

// scalar writes a text as YAML: plain where that is safe, else as JSON has it.
func scalar(s string) string {
	if !strings.ContainsAny(s, ":#\"'\n\t{}[]&*!|>%@`\\") && s == strings.TrimSpace(s) {
		return s
	}
	if !strings.ContainsAny(s, ":#\"'\n\t&!|>%@`\\") && s == strings.TrimSpace(s) && !strings.ContainsAny(s[:1], "*{[") {
		return s
	}
	b, err := jsonx.Marshal(s)
	if err != nil {
		return `""`
	}
	return string(b)
}
