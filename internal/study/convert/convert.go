// Package convert says a policy of any dialect in the sentences of obstat.yaml.
//
// It owns the words: which sentence a rule becomes, and which rules have none. That the result means
// the same is not believed but tried: calls that tell the two policies apart are looked for (package
// diff). A sentence that allows more than the original is taken out again, an ask or a denial of the
// original without one gets one, and differences that stay are told, each with a call that shows it.
package convert

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/dialect/native"
	"github.com/obstat/obstat/internal/format/jsonx"
	"github.com/obstat/obstat/internal/study/diff"
)

// A Result is a policy as obstat.yaml has it, and how far it is the same.
type Result struct {
	V      int      `json:"v"`
	Text   string   `json:"text"`
	Said   int      `json:"said"` // rules that have a sentence
	Unsaid []Unsaid `json:"unsaid"`
	// Differences are the regions of calls that the two decide otherwise.
	Differences *diff.Report `json:"differences"`
	// OtherTools counts those that are left out of them: a command that a rule allows to bash is
	// allowed to the shells of other agents, which the original does not know.
	OtherTools int `json:"other_tools"`
}

// Options are for [ToNative]; nil is the zero Options.
type Options struct {
	// Loose keeps sentences for files, hosts and tools that also allow calls which the original asks
	// about by its default: `read src` is about all tools, a rule about one. They are told as
	// differences.
	Loose bool
	// Limit bounds the calls of one comparison; zero is 3,000.
	Limit int
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
	comment string       // above it
	from    *obstat.Rule // nil: added, for a rule that the dialect has built in
	also    []*obstat.Rule
	place   []string // what "protected" stands for in it
	needed  bool     // added, for a call that was freer without it
}

// rules returns the rules that a line says.
func (l *line) rules() []*obstat.Rule {
	if l.from == nil {
		return nil
	}
	return append([]*obstat.Rule{l.from}, l.also...)
}

func (l *line) sentence() string {
	if len(l.except) == 0 {
		return l.text
	}
	return l.text + " except " + strings.Join(l.except, ", ")
}

// ToNative converts a policy. Without [Options.Loose] no call that was tried is freer in the result;
// where that could not be reached, the Result says so in its Differences.
func ToNative(l *dialect.Loaded, o *Options) (*Result, error) {
	if o == nil {
		o = &Options{}
	}
	c := &conversion{l: l, loose: o.Loose, limit: cmp.Or(o.Limit, 3_000), tried: map[string]bool{},
		found: map[string]any{}, out: &Result{V: 1, Unsaid: []Unsaid{}}}
	c.say()
	if err := c.prove(); err != nil {
		return nil, err
	}
	c.builtin()
	for i := range c.lines {
		c.out.Said += len(c.lines[i].rules())
	}
	d := c.out.Differences
	d.Regions = slices.DeleteFunc(d.Regions, func(r diff.Region) bool { return c.otherTool(&r) })
	c.out.OtherTools = d.Looser + d.Tighter - len(d.Regions)
	d.Looser -= c.out.OtherTools
	c.out.Text = c.keep()
	return c.out, nil
}

// A Sentence is a rule of obstat.yaml.
type Sentence struct {
	Verdict obstat.Verdict
	Text    string
	From    obstat.Pos // of the rule that it says
}

// Sentences returns the rules of a policy's files as sentences, and the rules that have none. They are for a
// policy that has rules of its own, so that nothing is proved.
func Sentences(l *dialect.Loaded) (out []Sentence, unsaid []Unsaid) {
	c := &conversion{l: l, beside: true, found: map[string]any{}, out: &Result{}}
	c.say()
	for i := range c.lines {
		if ln := &c.lines[i]; ln.from != nil {
			out = append(out, Sentence{ln.verdict, ln.sentence(), ln.from.Pos})
		}
	}
	unsaid = c.out.Unsaid
	if c.deny {
		unsaid = append(unsaid, Unsaid{Verdict: obstat.Deny, Rule: "what no rule is about", Why: "`otherwise: deny` says so"})
	}
	return out, unsaid
}

type conversion struct {
	l     *dialect.Loaded
	loose bool
	limit int
	lines []line
	deny  bool // for calls that no rule is about
	// strict: a line that frees a call goes, and gets no questions beside it.
	strict bool
	// beside: the sentences stand beside others, so that an ask about everything has to be said.
	beside bool
	made   diff.Made // texts of patterns, over all comparisons
	// tried has the sentences that were taken out for narrower ones.
	tried map[string]bool
	found map[string]any // see [once]
	freed []*obstat.Call // calls that were freer at some time
	now   *obstat.Policy // of the lines that were compared last
	out   *Result
}

func (c *conversion) unsaid(r *obstat.Rule, why string) {
	u := Unsaid{r.Verdict, r.String(), r.Pos, why}
	// A rule with alternatives, Codex's `["haiku", "sonnet"]`, is one.
	if !slices.ContainsFunc(c.out.Unsaid, func(o Unsaid) bool { o.Why = why; return o == u }) {
		c.out.Unsaid = append(c.out.Unsaid, u)
	}
}

// say makes the sentences of all rules of the mode in force, in the order in which they count.
func (c *conversion) say() {
	rules := c.ordered()
	var before []int // the lines of rules that win over those that follow
	for _, r := range rules {
		if r.Verdict == obstat.Deny && r.Whole() && diff.EveryTool(r) {
			c.deny = true
			break // the rules behind it decide nothing
		}
		texts, why := sentences(r)
		if c.beside && r.Verdict == obstat.Ask && r.Tool.IsZero() && r.Whole() {
			texts = everything
		}
		if why != "" {
			c.unsaid(r, why)
			continue
		}
		for _, t := range texts {
			ln := line{verdict: r.Verdict, text: t, reason: r.Reason, from: r}
			same := func(o line) bool { return o.verdict == ln.verdict && o.text == ln.text }
			if at := slices.IndexFunc(c.lines, same); at >= 0 {
				if o := &c.lines[at]; !slices.Contains(o.rules(), r) {
					o.also = append(o.also, r)
				}
				continue
			}
			said := func(i int) bool { return c.lines[i].sentence() == t }
			if c.beside && diff.EveryTool(r) && r.Verdict == obstat.Ask && slices.ContainsFunc(before, said) {
				continue // a rule for a tool that counts before it says the same; what it is asked about else is looked for
			}
			c.exceptions(&ln, before)
			c.lines = append(c.lines, ln)
			if r.Tool.Text != diff.Outside { // which is asked beside the others, and of two questions the stricter counts
				before = append(before, len(c.lines)-1)
			}
		}
	}
	c.otherNames(before)
	if !c.beside && slices.ContainsFunc(c.lines, whole) {
		c.lines = append(c.lines, c.careful()...)
	}
	switch pl := c.l.Program.Pipelines[c.l.Program.Mode]; pl.Default {
	case obstat.Allow:
		for _, t := range everything {
			c.lines = append(c.lines, line{verdict: obstat.Allow, text: t})
		}
	case obstat.Deny:
		c.deny = true
	}
}

// careful returns the questions that the dialect has built in. A long list of files gets a name.
func (c *conversion) careful() (out []line) {
	careful, ok := c.l.Dialect.(dialect.Careful)
	if !ok {
		return nil
	}
	for _, t := range careful.Asks() {
		ln := line{verdict: obstat.Ask, text: t}
		if p := Parts(t); len(p.Targets) > maxNamed {
			ln.text, ln.place = p.Verbs+" "+placeProtected, p.Targets
		}
		out = append(out, ln)
	}
	return out
}

// placeProtected is the name of a list of more than maxNamed files.
const (
	placeProtected = "protected"
	maxNamed       = 8
)

// whole tells whether a line allows all that a verb says.
func whole(ln line) bool {
	return ln.verdict == obstat.Allow && strings.HasSuffix(ln.text, " anything")
}

// everything are the sentences about all that a call may do.
var everything = []string{"read anything", "write anything", "delete anything", "run anything", "connect anywhere",
	"tool *"}

// otherNames asks about the calls of a tool that has rules for some names alone: beside `tool Skill
// where input.skill is
// review`, which a rule without arguments is, other skills and arguments.
func (c *conversion) otherNames(before []int) {
	for _, tool := range []string{"Skill", "skill", "SlashCommand"} {
		of, args := "tool "+tool, ""
		for _, i := range before {
			ln := &c.lines[i]
			_, value, ok := strings.Cut(ln.text, of+" where input.skill is ")
			if ok && ln.verdict == obstat.Allow && exactText(ln.from) {
				args += ", " + value
			}
		}
		about := func(ln line) bool { return strings.HasPrefix(ln.text, of+" where ") && ln.verdict == obstat.Allow }
		rest := func(ln line) bool {
			return ln.text == of || strings.HasPrefix(ln.text, of+" ") && ln.verdict == obstat.Ask
		}
		if !slices.ContainsFunc(c.lines, about) || slices.ContainsFunc(c.lines, rest) {
			continue
		}
		if others := (line{verdict: obstat.Ask, text: of}); !c.deny {
			c.exceptions(&others, before)
			c.lines = append(c.lines, others)
		}
		if args != "" {
			c.lines = append(c.lines, line{verdict: obstat.Ask,
				text: of + " where input.skill in [" + args[2:] + `] and input.args like "*"`})
		}
	}
}

// exactText tells whether a rule is about one text.
func exactText(r *obstat.Rule) bool {
	_, exact, ok := globs(r.Pattern, r.Verdict == obstat.Allow)
	return ok && exact
}

// exceptions takes the target of a looser line that counts before it out of a deny or ask line.
func (c *conversion) exceptions(ln *line, before []int) {
	whole, join := ln.text, " where "
	for _, i := range before {
		o := &c.lines[i]
		if others := otherCalls(o.text, whole); others != "" && o.verdict > ln.verdict {
			ln.text, join = ln.text+join+others, " and "
			continue
		}
		verb, target, _ := strings.Cut(ln.text, " ")
		overb, otarget, _ := strings.Cut(o.text, " ")
		if o.verdict <= ln.verdict || verb != overb || otarget == target || !narrower(otarget, target) {
			continue
		}
		with := *ln
		with.except = append(slices.Clone(ln.except), otarget)
		if text, _ := yaml([]line{with}, false); loads(text) { // narrower than the line, which native proves
			ln.except = with.except
		}
	}
}

// otherCalls returns the condition for all but the calls of a sentence, `input.skill is not review` for
// `tool Skill where input.skill is review`; "" where the sentence is no such part of `tool Skill`.
func otherCalls(sentence, whole string) string {
	cond, ok := strings.CutPrefix(sentence, whole+" where ")
	field, value, is := strings.Cut(cond, " is ")
	if ok && is && !strings.Contains(value, " and ") {
		return field + " is not " + value
	}
	if field, value, is = strings.Cut(cond, " like "); ok && is && !strings.Contains(value, " and ") {
		return field + " not like " + value
	}
	return ""
}

// narrower tells whether a target may be a part of another: `git push` of `git`, anything of `anything`. It spares the
// language's own proof for pairs that have nothing in common.
func narrower(part, whole string) bool {
	first := func(s string) string { f, _, _ := strings.Cut(strings.TrimPrefix(s, "exactly "), " "); return f }
	return strings.ContainsAny(whole, "*/~") || strings.HasPrefix(whole, "any") || first(part) == first(whole)
}

// modeDefault is the mode in which the rules of a file count that names no mode.
const modeDefault = "default"

// ordered returns the user's rules of the mode in force, those that count first in front.
func (c *conversion) ordered() (out []*obstat.Rule) {
	p := c.l.Program
	mode := p.Mode
	if _, ok := p.Pipelines[modeDefault]; ok && c.beside {
		mode = modeDefault // a mode that allows all, bypassPermissions, looks at no allow rule
	}
	seen := map[string]bool{}
	for _, st := range p.Pipelines[mode].Stages {
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
	return dialect.Load(native.Dialect{}, &dialect.Input{Files: []dialect.File{{Name: native.File, Data: []byte(text)}},
		Home: diff.Home})
}

func loads(text string) bool {
	_, err := load(text)
	return err == nil
}

// text writes the file.
func (c *conversion) text() string {
	names := filepath.ToSlash(strings.Join(c.l.Input.Names(), ", "))
	text, _ := yaml(c.lines, c.deny)
	return "# Converted from " + cmp.Or(names, c.l.Dialect.Name()) + " by obstat policy convert.\n" + text
}

// yaml writes lines as a file, and returns which line of it each is.
func yaml(lines []line, deny bool) (text string, at map[int]int) {
	var b strings.Builder
	b.WriteString("version: 1\n")
	if deny {
		b.WriteString("otherwise: deny\n")
	}
	for i := range lines {
		if p := lines[i].place; p != nil {
			b.WriteString("places:\n  " + placeProtected + ":" + listed(p))
			break
		}
	}
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
			if ln.comment != "" {
				b.WriteString("  # " + ln.comment + "\n")
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

// listed writes a list over as many lines as it takes.
func listed(items []string) string {
	var b strings.Builder
	col := groupColumns
	for i, it := range items {
		if it = scalar(it); col+len(it)+2 > groupColumns {
			b.WriteString("\n    ")
			col = 0
		}
		if i == 0 {
			b.WriteString("[")
		}
		b.WriteString(it)
		if col += len(it) + 2; i == len(items)-1 {
			b.WriteString("]\n")
		} else {
			b.WriteString(", ")
		}
	}
	return strings.ReplaceAll(b.String(), " \n", "\n")
}

// scalar writes a text as YAML: plain where that is safe, else as JSON has it.
func scalar(s string) string {
	trimmed := s == strings.TrimSpace(s)
	if trimmed && s != "" && !strings.ContainsAny(s, ":#\"'\n\t&!|>%@`\\") && !strings.ContainsAny(s[:1], "*{[}]") {
		return s
	}
	return jsonx.Quote(s)
}
