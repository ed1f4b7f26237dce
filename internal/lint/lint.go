// Package lint warns of rules in a Program that can never decide anything, and
// of rules that work as written but rarely as meant. All its findings are warnings.
//
// It owns the checks that need nothing but the Program; a dialect's own Linter
// knows its files. A check that cannot tell stays silent.
package lint

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/effect"
	"github.com/obstat/obstat/pattern"
)

// maxCompared bounds how many pairs of rules are compared.
const maxCompared = 4_000_000

// Options choose the checks. A nil *Options runs them all.
type Options struct {
	// Files are the files that the user wrote; rules from elsewhere are not
	// warned of. nil: every rule counts.
	Files []string
}

// Program returns the warnings about p, in the order of their places. What one
// line of a file says may stand in several lists: it is said to be without
// effect only if it is so in all of them, and once.
func Program(p *obstat.Program, opts *Options) obstat.Errors {
	l := &linter{p: p, patterns: map[obstat.Text]*pattern.Pattern{}, ready: map[string][]item{}, budget: maxCompared, told: map[place]bool{}}
	if opts != nil {
		l.opts = *opts
	}
	l.unusedLists()
	l.duplicates()
	l.shadowed()
	l.wideAllows()
	l.silentModes()
	l.errs.Sort()
	return l.errs
}

type linter struct {
	p        *obstat.Program
	errs     obstat.Errors
	patterns map[obstat.Text]*pattern.Pattern
	ready    map[string][]item
	budget   int
	opts     Options
	// told are rules that something was said of already: one warning is enough.
	told map[place]bool
}

// A place tells rules apart: where they were written, or which they are.
type place struct {
	pos  obstat.Pos
	rule *obstat.Rule
}

func placeOf(r *obstat.Rule) place {
	if r.Pos.IsValid() {
		return place{pos: r.Pos}
	}
	return place{rule: r}
}

// silent tells whether nothing is to be said of r: the user did not write it, or
// something was said already.
func (l *linter) silent(r *obstat.Rule) bool { return l.told[placeOf(r)] || !l.users(r) }

// users tells whether the user wrote r.
func (l *linter) users(r *obstat.Rule) bool {
	return l.opts.Files == nil || slices.Contains(l.opts.Files, r.Pos.File)
}

func (l *linter) warn(r *obstat.Rule, code obstat.Code, hint, format string, args ...any) *obstat.Error {
	e := &obstat.Error{Code: code, Msg: fmt.Sprintf(format, args...), Hint: hint, Warning: true}
	if r != nil {
		e.Pos = r.Pos
		l.told[placeOf(r)] = true
	}
	l.errs = append(l.errs, e)
	return e
}

func (l *linter) lists() []string { return slices.Sorted(maps.Keys(l.p.Rules)) }

func (l *linter) modes() []obstat.Mode { return slices.Sorted(maps.Keys(l.p.Pipelines)) }

// compiled returns the compiled form of t, nil where it has none.
func (l *linter) compiled(t obstat.Text) *pattern.Pattern {
	if p, ok := l.patterns[t]; ok {
		return p
	}
	p, err := pattern.Compile(t.Flavour, t.Text)
	if err != nil {
		p = nil
	}
	l.patterns[t] = p
	return p
}

// matchesOf returns the Match stages of a pipeline, amendments last.
func matchesOf(pl obstat.Pipeline) (out []obstat.Match) {
	for _, s := range slices.Concat(pl.Stages, pl.Amend) {
		if m, ok := s.(obstat.Match); ok {
			out = append(out, m)
		}
	}
	return out
}

// unusedLists finds rules that no mode ever looks at.
func (l *linter) unusedLists() {
	used := map[string]bool{}
	for _, pl := range l.p.Pipelines {
		for _, m := range matchesOf(pl) {
			used[m.Rules] = true
		}
	}
	elsewhere := map[place]bool{}
	for name := range used {
		for i := range l.p.Rules[name] {
			elsewhere[placeOf(&l.p.Rules[name][i])] = true
		}
	}
	for _, name := range l.lists() {
		rules := l.p.Rules[name]
		if used[name] || len(rules) == 0 || elsewhere[placeOf(&rules[0])] || l.silent(&rules[0]) {
			continue
		}
		l.warn(&rules[0], obstat.CodeNoEffect, "", "no stage of any mode looks at the list %s (rules in it: %d)", name, len(rules))
	}
}

// duplicates finds rules that say the same thing twice.
func (l *linter) duplicates() {
	type key struct {
		tool, match obstat.Text
		field       string
		verdict     obstat.Verdict
	}
	for _, name := range l.lists() {
		seen := map[key]*obstat.Rule{}
		for i := range l.p.Rules[name] {
			r := &l.p.Rules[name][i]
			k := key{r.Tool, r.Pattern, r.Field, r.Verdict}
			if before, twice := seen[k]; twice {
				if l.silent(r) || placeOf(before) == placeOf(r) || !l.users(before) {
					continue
				}
				e := l.warn(r, obstat.CodeNoEffect, "take one of them out", "%s rule %s is there twice", r.Verdict, r)
				e.Also = positions(before)
				continue
			}
			seen[k] = r
		}
	}
}

func positions(r *obstat.Rule) []obstat.Pos {
	if r.Pos.IsValid() {
		return []obstat.Pos{r.Pos}
	}
	return nil
}

// shells are tools that run commands, for rules whose tool is a pattern.
var shells = [...]string{"Bash", "bash", "shell", "run_command", "exec_command"}

// wideAllows finds allow rules that let every command through.
func (l *linter) wideAllows() {
	for _, name := range l.lists() {
		for i := range l.p.Rules[name] {
			r := &l.p.Rules[name][i]
			if r.Verdict != obstat.Allow || l.silent(r) || !l.everything(r) {
				continue
			}
			if tool := l.shellOf(r); tool != "" {
				l.warn(r, obstat.CodeRisky, "allow the commands that are meant, one prefix at a time", "allow rule %s lets %s run every command", r, tool)
			}
		}
	}
}

// everything tells whether a rule is about every call to its tool.
func (l *linter) everything(r *obstat.Rule) bool {
	return r.Whole() || l.compiled(r.Pattern).MustMatch("")
}

// shellOf returns a tool of the rule that runs commands, "" if it has none.
func (l *linter) shellOf(r *obstat.Rule) string {
	if r.Tool.Flavour == pattern.Exact {
		if t, ok := effect.Lookup(r.Tool.Text); ok && len(t.Command) > 0 && t.Canonical != "patch" {
			return r.Tool.Text
		}
		return ""
	}
	for _, s := range shells {
		if r.Tool.IsZero() {
			return "a shell tool"
		}
		if ok, err := l.compiled(r.Tool).Match(s); ok && err == nil {
			return s
		}
	}
	return ""
}

// silentModes warns if the mode in force never asks a human and allows by default, or
// turns ask rules into denials.
func (l *linter) silentModes() {
	mode := l.p.Mode
	pl, ok := l.p.Pipelines[mode]
	hasAsk := func(m obstat.Match) bool { return l.has(m.Rules, obstat.Ask) }
	switch {
	case !ok || l.asks(pl):
	case pl.Default == obstat.Allow:
		l.warn(nil, obstat.CodeRisky, "", "mode %s never asks, and what no rule stops is allowed", mode)
	case slices.ContainsFunc(matchesOf(pl), hasAsk):
		l.warn(nil, obstat.CodeNoEffect, "", "mode %s never asks: ask rules deny in it", mode)
	}
}

// asks tells whether a pipeline can answer ask at all.
func (l *linter) asks(pl obstat.Pipeline) bool {
	if pl.Default == obstat.Ask {
		return true
	}
	for _, s := range slices.Concat(pl.Stages, pl.Amend) {
		switch s := s.(type) {
		case obstat.Match:
			if !s.AskDenies && s.Settle.Has(obstat.Ask) && l.has(s.Rules, obstat.Ask) {
				return true
			}
		case obstat.Check:
			if !s.AskDenies && s.Pass&(obstat.PlainAsk|obstat.SafetyAsk) != obstat.PlainAsk|obstat.SafetyAsk {
				return true
			}
		case obstat.When:
			if s.Then == obstat.Ask || s.Else != nil && *s.Else == obstat.Ask {
				return true
			}
		}
	}
	return false
}

func (l *linter) has(list string, v obstat.Verdict) bool {
	return slices.ContainsFunc(l.p.Rules[list], func(r obstat.Rule) bool { return r.Verdict == v })
}

// A rule is shadowed if, in every mode that looks at it, another rule matches
// wherever it does and comes first. Only what the patterns' shapes prove counts:
// a warning that is wrong costs more than one that is missing.

// An item is a rule made ready for comparing.
type item struct {
	rule        *obstat.Rule
	tool, match text
}

// A text is a pattern made ready for comparing.
type text struct {
	obstat.Text
	p     *pattern.Pattern // nil: everything, or nothing that is known
	shape pattern.Shape
	tail  *pattern.Pattern // see must
}

func (l *linter) text(t obstat.Text) text {
	out := text{Text: t}
	if t.IsZero() {
		return out
	}
	if out.p = l.compiled(t); out.p != nil {
		out.shape = out.p.Shape()
	}
	if t.Flavour == pattern.Wildcard && strings.HasSuffix(t.Text, " *") {
		out.tail = l.compiled(obstat.Text{Flavour: pattern.Wildcard, Text: t.Text + "*"})
	}
	return out
}

// items returns the rules of a list, made ready.
func (l *linter) items(list string) []item {
	if its, ok := l.ready[list]; ok {
		return its
	}
	its := make([]item, len(l.p.Rules[list]))
	for i := range its {
		r := &l.p.Rules[list][i]
		its[i] = item{r, l.text(r.Tool), l.text(r.Pattern)}
	}
	l.ready[list] = its
	return its
}

// shadowed finds rules that can never decide.
func (l *linter) shadowed() {
	type finding struct {
		rule, by *obstat.Rule
		last     bool
	}
	dead, alive := []finding{}, map[place]bool{}
	for _, name := range l.lists() {
		for i := range l.items(name) {
			r := l.items(name)[i].rule
			if l.silent(r) || alive[placeOf(r)] {
				continue
			}
			by, last := l.shadow(name, i)
			if l.budget <= 0 {
				return // a rule shadowed here may still decide in another list
			}
			if by == nil || placeOf(by) == placeOf(r) {
				alive[placeOf(r)] = true
				continue
			}
			dead = append(dead, finding{r, by, last})
		}
	}
	for _, f := range dead {
		if !alive[placeOf(f.rule)] && !l.silent(f.rule) {
			l.tell(f.rule, f.by, f.last)
		}
	}
}

func (l *linter) tell(r, by *obstat.Rule, last bool) {
	how := "comes first"
	if last {
		how = "stands after it, and the last match counts"
	}
	hint := "take one of them out, or make " + by.String() + " narrower"
	var e *obstat.Error
	if r.Verdict == by.Verdict {
		e = l.warn(r, obstat.CodeNoEffect, "take it out", "%s rule %s can never decide: %s covers it and says the same", r.Verdict, r, by)
	} else {
		e = l.warn(r, obstat.CodeNoEffect, hint, "%s rule %s can never decide: %s rule %s covers it and %s", r.Verdict, r, by.Verdict, by, how)
	}
	e.Also = positions(by)
}

// shadow returns the rule that keeps rule i of a list from ever deciding, nil
// if there is none in at least one mode, and whether it does so by standing last.
func (l *linter) shadow(list string, i int) (by *obstat.Rule, last bool) {
	for _, mode := range l.modes() {
		ms := matchesOf(l.p.Pipelines[mode])
		for n, m := range ms {
			if m.Rules != list {
				continue
			}
			s := l.within(m, i)
			last = s != nil && m.Pick == obstat.Last
			for k := 0; k < n && s == nil; k++ {
				s = l.before(ms[k], &l.items(list)[i])
			}
			if s == nil {
				return nil, false
			}
			by = s
		}
	}
	return by, last
}

// within looks for a rule of the same list that is picked instead.
func (l *linter) within(m obstat.Match, i int) *obstat.Rule {
	its := l.items(m.Rules)
	for j := range its {
		if j != i && beats(m.Pick, its[j].rule.Verdict, its[i].rule.Verdict, j, i) && l.covers(&its[j], &its[i]) {
			return its[j].rule
		}
	}
	return nil
}

// beats tells whether a rule at place j with verdict a is picked before one at
// place i with verdict b.
func beats(p obstat.Pick, a, b obstat.Verdict, j, i int) bool {
	switch p {
	case obstat.Last:
		return j > i
	case obstat.Strictest:
		return a < b || a == b && j < i
	}
	return j < i
}

// before looks for a rule of an earlier stage that settles every call that r matches.
// A stage that passes on some of its rules' verdicts may pick one of those, so
// it counts only where the strictest is picked and that settles.
func (l *linter) before(m obstat.Match, r *item) *obstat.Rule {
	its := l.items(m.Rules)
	sure := m.Settle == 0 || !slices.ContainsFunc(its, func(o item) bool { return !m.Settle.Has(o.rule.Verdict) })
	for j := range its {
		o := &its[j]
		if !m.Settle.Has(o.rule.Verdict) || !sure && (m.Pick != obstat.Strictest || o.rule.Verdict != obstat.Deny) {
			continue
		}
		if o.rule != r.rule && l.covers(o, r) {
			return o.rule
		}
	}
	return nil
}

// covers tells whether a provably matches every question that b matches.
func (l *linter) covers(a, b *item) bool {
	l.budget--
	if l.budget <= 0 || !a.tool.covers(&b.tool) {
		return false
	}
	if a.rule.Whole() {
		return true
	}
	return !b.rule.Whole() && a.rule.Field == b.rule.Field && a.match.covers(&b.match)
}

// covers tells whether a provably matches every text that b matches.
func (a *text) covers(b *text) bool {
	switch {
	case a.IsZero() || a.Text == b.Text:
		return true
	case b.IsZero() || a.Flavour == pattern.JSON || b.Flavour == pattern.JSON || a.p == nil || b.p == nil:
		return false
	case a.Flavour == pattern.Exact: // b is another text, or more than one
		return false
	case !strings.HasPrefix(b.shape.Prefix, a.shape.Prefix): // a text that b matches need not start with a's prefix
		return false
	case b.shape.Exact:
		ok, err := a.p.Match(b.shape.Prefix)
		return ok && err == nil
	case a.Flavour == pattern.Minimatch && b.Flavour == pattern.Minimatch && inSegment(a.Text.Text, b.Text.Text):
		return true
	}
	return a.must(b.shape.Prefix) || a.p.MustMatchLine(b.shape.Prefix) && b.line()
}

// line tells whether a pattern matches what starts with its prefix, up to the end
// of a line and no further: `tool:bash:.*`.
func (a *text) line() bool {
	return a.p.MustMatchLine(a.shape.Prefix) && !a.must(a.shape.Prefix)
}

// inSegment tells whether a is a literal and a star, `git *`, and b starts with the
// literal and goes on with nothing that leaves the segment of a path: minimatch's star
// stops at a slash, in both.
func inSegment(a, b string) bool {
	literal, ok := strings.CutSuffix(a, "*")
	const special = "*?[]{}()!+@|\\/#"
	rest, starts := strings.CutPrefix(b, literal)
	if !ok || !starts || strings.ContainsAny(literal, special) || strings.Contains(rest, "**") || strings.ContainsAny(rest, special[2:]) {
		return false
	}
	return literal != "" || !strings.HasPrefix(b, ".")
}

// must tells whether a surely matches every text that starts with prefix. A
// wildcard's final " *" is optional (`git *` matches `git`), so only the form with
// the end in place counts.
func (a *text) must(prefix string) bool {
	return a.p.MustMatch(prefix) || a.tail.MustMatch(prefix)
}
