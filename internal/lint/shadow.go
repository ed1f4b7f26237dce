package lint

import (
	"strings"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/pattern"
)

// A rule is shadowed if, in every mode that looks at it, another rule matches
// wherever it does and comes first. Only what the patterns' shapes prove counts:
// a warning that is wrong costs more than one that is missing.

// shadowed finds rules that can never decide.
func (l *linter) shadowed() {
	for _, name := range l.lists() {
		rules := l.p.Rules[name]
		for i := range rules {
			r := &rules[i]
			if l.told[r] {
				continue
			}
			if by := l.shadow(name, i); by != nil {
				l.tell(r, by)
			}
			if l.budget <= 0 {
				return
			}
		}
	}
}

func (l *linter) tell(r, by *obstat.Rule) {
	hint := "take one of them out, or make " + by.String() + " narrower"
	var e *obstat.Error
	if r.Verdict == by.Verdict {
		e = l.warn(r, obstat.CodeNoEffect, "take it out", "%s rule %s can never decide: %s covers it and says the same", r.Verdict, r, by)
	} else {
		e = l.warn(r, obstat.CodeNoEffect, hint, "%s rule %s can never decide: %s rule %s covers it and comes first", r.Verdict, r, by.Verdict, by)
	}
	e.Also = positions(by)
}

// shadow returns the rule that keeps rule i of a list from ever deciding, nil
// if there is none in at least one mode.
func (l *linter) shadow(list string, i int) *obstat.Rule {
	var by *obstat.Rule
	for _, mode := range l.modes() {
		ms := matchesOf(l.p.Pipelines[mode])
		for n, m := range ms {
			if m.Rules != list {
				continue
			}
			s := l.within(m, i)
			for k := 0; k < n && s == nil; k++ {
				s = l.before(ms[k], &l.p.Rules[list][i])
			}
			if s == nil {
				return nil
			}
			by = s
		}
	}
	return by
}

// within looks for a rule of the same list that is picked instead.
func (l *linter) within(m obstat.Match, i int) *obstat.Rule {
	rules := l.p.Rules[m.Rules]
	r := &rules[i]
	for j := range rules {
		o := &rules[j]
		if j == i || !beats(m.Pick, o.Verdict, r.Verdict, j, i) {
			continue
		}
		if l.covers(o, r) {
			return o
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

// before looks for a rule of an earlier stage that settles whatever r matches.
// A stage that passes on some of its rules' verdicts may pick one of those, so
// it counts only where the strictest is picked and that settles.
func (l *linter) before(m obstat.Match, r *obstat.Rule) *obstat.Rule {
	rules := l.p.Rules[m.Rules]
	sure := m.Settle == 0 || allSettle(m, rules)
	for j := range rules {
		o := &rules[j]
		if !m.Settle.Has(o.Verdict) || !sure && (m.Pick != obstat.Strictest || o.Verdict != obstat.Deny) {
			continue
		}
		if o != r && l.covers(o, r) {
			return o
		}
	}
	return nil
}

func allSettle(m obstat.Match, rules []obstat.Rule) bool {
	for i := range rules {
		if !m.Settle.Has(rules[i].Verdict) {
			return false
		}
	}
	return true
}

// covers tells whether a provably matches every question that b matches.
func (l *linter) covers(a, b *obstat.Rule) bool {
	l.budget--
	if l.budget <= 0 || !l.textCovers(a.Tool, b.Tool) {
		return false
	}
	if a.Whole() {
		return true
	}
	return !b.Whole() && a.Field == b.Field && l.textCovers(a.Pattern, b.Pattern)
}

// textCovers tells whether a provably matches every text that b matches.
func (l *linter) textCovers(a, b obstat.Text) bool {
	if a.IsZero() || a == b {
		return true
	}
	if b.IsZero() || a.Flavour == pattern.JSON || b.Flavour == pattern.JSON {
		return false
	}
	if a.Flavour == pattern.Exact {
		return false // b is another text, or more than one
	}
	pa, pb := l.compiled(a), l.compiled(b)
	if pa == nil || pb == nil {
		return false
	}
	shape := pb.Shape()
	if shape.Exact {
		ok, err := pa.Match(shape.Prefix)
		return ok && err == nil
	}
	return pa.MustMatch(shape.Prefix) || l.tailMust(a, shape.Prefix)
}

// tailMust is MustMatch for a wildcard that ends in " *", which may be missing:
// what it surely matches is what it matches with its end there.
func (l *linter) tailMust(a obstat.Text, prefix string) bool {
	if a.Flavour != pattern.Wildcard || !strings.HasSuffix(a.Text, " *") {
		return false
	}
	return l.compiled(obstat.Text{Flavour: pattern.Wildcard, Text: a.Text + "*"}).MustMatch(prefix)
}
