package lint

import (
	"slices"
	"strings"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/effect"
	"github.com/obstat/obstat/pattern"
)

// A rule is shadowed if, in every mode that looks at it, another rule matches
// wherever it does and comes first. Only a proof by the patterns' shapes counts:
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
	if !l.users(by) {
		hint = "take it out: the other is built in"
	}
	var e *obstat.Error
	switch {
	case r.Verdict == by.Verdict && !sameTool(r, by):
		return
	case r.Verdict == by.Verdict && !l.users(by):
		e = l.warn(r, obstat.CodeNoEffect, "take it out", "%s rule %s adds nothing: the same is built in (%s)", r.Verdict, r, by)
	case r.Verdict == by.Verdict:
		e = l.warn(r, obstat.CodeNoEffect, "take it out", "%s rule %s adds nothing: %s covers it and says the same",
			r.Verdict, r, by)
	case r.Tool == by.Tool && r.Pattern == by.Pattern:
		e = l.warn(r, obstat.CodeConflict, "take one of them out", "%s rule %s contradicts %s rule %s, which %s", r.Verdict,
			r, by.Verdict, by, how)
	default:
		e = l.warn(r, obstat.CodeNoEffect, hint, "%s rule %s can never decide: %s rule %s covers it and %s", r.Verdict, r,
			by.Verdict, by, how)
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
				s = l.together(ms[:n+1], i)
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
	if its[i].rule.Verdict == obstat.Allow && m.Pick != obstat.Last && !l.reads(&its[i]) {
		return nil // `python3 -c 'print(1)'` is allowed by that rule, and not by `python3 *`
	}
	free := unordered(m, its, i)
	for j := range its {
		if j == i || !l.covers(&its[j], &its[i]) {
			continue
		}
		before := beats(m.Pick, its[j].rule.Verdict, its[i].rule.Verdict, j, i)
		if free && its[j].rule.Verdict == obstat.Allow { // of two that say the same the first stays
			before = j < i || !l.covers(&its[i], &its[j])
		}
		if before {
			return its[j].rule
		}
	}
	return nil
}

// unordered tells whether rule i of a list allows, and only rules that do may be picked instead: then any that
// matches is enough, wherever it stands.
func unordered(m obstat.Match, its []item, i int) bool {
	other := func(o item) bool { return o.rule.Verdict != obstat.Allow }
	return its[i].rule.Verdict == obstat.Allow &&
		(m.Pick == obstat.Strictest || m.Pick == obstat.First && !slices.ContainsFunc(its, other))
}

// reads tells whether a rule for one text, if it is one, is about a command that can be looked into: where it cannot, a
// rule for that very text allows more than a wider one.
func (l *linter) reads(it *item) bool {
	if it.rule.Whole() || !it.match.shape.Exact {
		return true
	}
	a := effect.AnalyzeCommand(it.match.shape.Prefix, &effect.Options{Dir: "/"})
	return a.Full && len(a.Commands) <= 1
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

// most is how many rules are looked at together.
const most = 16

// together looks for rules that come before rule i of the last stage's list and match all that it
// does, each a part. It returns the first of them.
func (l *linter) together(ms []obstat.Match, i int) *obstat.Rule {
	last := ms[len(ms)-1]
	r := &l.items(last.Rules)[i]
	if r.rule.Whole() || r.match.p == nil || r.match.shape.Exact {
		return nil
	}
	var first *obstat.Rule
	var parts []*pattern.Pattern
	for k, m := range ms {
		its := l.items(m.Rules)
		if !settles(m, its) {
			continue
		}
		for j := range its {
			o := &its[j]
			if k == len(ms)-1 && (j == i || !beats(m.Pick, o.rule.Verdict, r.rule.Verdict, j, i)) || l.budget <= 0 {
				continue
			}
			l.budget--
			if !l.partOf(o, r) {
				continue
			}
			if parts = append(parts, o.match.p); first == nil {
				first = o.rule
			}
		}
	}
	if len(parts) < 2 || len(parts) > most || !l.proves(parts, r.match.p) {
		return nil
	}
	return first
}

// partOf tells whether a may match, without a condition, some of the texts that b matches.
func (l *linter) partOf(a, b *item) bool {
	if a.match.p == nil || conditions(a.rule) != "" || !l.sees(a.rule.Field, b.rule.Field) {
		return false
	}
	return a.tool.covers(l, &b.tool) && a.match.p.MayMatch(b.match.shape.Prefix)
}

// settles tells whether whatever rule a stage picks settles the question.
func settles(m obstat.Match, its []item) bool {
	return m.Settle == 0 || !slices.ContainsFunc(its, func(o item) bool { return !m.Settle.Has(o.rule.Verdict) })
}

// sees tells whether a rule on field a looks at every text that one on field b looks at.
func (l *linter) sees(a, b string) bool { return a == b || slices.Contains(l.opts.Sees[a], b) }

// before looks for a rule of an earlier stage that settles every call that r matches.
// A stage that passes on some of its rules' verdicts may pick one of those, so
// it counts only where the strictest is picked and that settles.
func (l *linter) before(m obstat.Match, r *item) *obstat.Rule {
	its := l.items(m.Rules)
	sure := settles(m, its)
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
	when := conditions(a.rule)
	if l.budget <= 0 || when != "" && when != conditions(b.rule) || !a.tool.covers(l, &b.tool) {
		return false
	}
	if a.rule.Whole() {
		return true
	}
	return !b.rule.Whole() && l.sees(a.rule.Field, b.rule.Field) && a.match.covers(l, &b.match)
}

// covers tells whether a provably matches every text that b matches.
func (a *text) covers(l *linter, b *text) bool {
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
	}
	return a.must(b.shape.Prefix) || a.p.MustMatchLine(b.shape.Prefix) && b.line() ||
		l.proves([]*pattern.Pattern{a.p}, b.p)
}

// line tells whether a pattern matches all that starts with its prefix, up to the end
// of a line and no further: `tool:bash:.*`.
func (a *text) line() bool {
	return a.p.MustMatchLine(a.shape.Prefix) && !a.must(a.shape.Prefix)
}

// must tells whether a surely matches every text that starts with prefix. A
// wildcard's final " *" is optional (`git *` matches `git`), so only the form with
// the end in place counts.
func (a *text) must(prefix string) bool {
	return a.p.MustMatch(prefix) || a.tail.MustMatch(prefix)
}
