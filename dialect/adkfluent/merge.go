package adkfluent

import (
	"cmp"
	"slices"

	"github.com/obstat/obstat"
)

// WithMode returns the policy in another mode. A mode that does not exist makes
// a policy with an error, which denies.
func (p *Policy) WithMode(mode obstat.Mode) *Policy {
	q := p.copy()
	q.mode = mode
	if !slices.Contains(Modes(), mode) {
		q.checkWords(obstat.Pos{}, obstat.Pos{})
	}
	return q
}

// Merge returns the two policies as one: denials are united, approvals are
// united without what is denied, asks without what is allowed or denied,
// patterns follow one another, mutating tools are united, and other's mode
// counts unless it is the default one. Every pattern keeps the meaning it had,
// so globs and regular expressions can be merged; and the refiners of both
// stay.
func (p *Policy) Merge(other *Policy) *Policy {
	q, o := p.copy(), other.copy()
	deny := union(q.names.deny, o.names.deny)
	allow := minus(union(q.names.allow, o.names.allow), deny)
	ask := minus(minus(union(q.names.ask, o.names.ask), allow), deny)
	q.names = lists{allow, deny, ask}
	q.patterns = lists{
		slices.Concat(q.patterns.allow, o.patterns.allow),
		slices.Concat(q.patterns.deny, o.patterns.deny),
		slices.Concat(q.patterns.ask, o.patterns.ask),
	}
	if o.mode != ModeDefault {
		q.mode = o.mode
	}
	if o.patternMode == Regex {
		q.patternMode = Regex
	}
	q.mutating = sortedSet(slices.Concat(q.mutating, o.mutating))
	q.refiners = slices.Concat(q.refiners, o.refiners)
	q.bare = q.bare && o.bare
	q.errs = slices.Concat(q.errs, o.errs)
	return q
}

// union of two sorted sets; of two equal entries the first one's place stays.
func union(a, b []entry) []entry {
	out := slices.Concat(a, b)
	slices.SortStableFunc(out, byText)
	return slices.CompactFunc(out, func(a, b entry) bool { return a.text == b.text })
}

func minus(a, b []entry) []entry {
	return slices.DeleteFunc(slices.Clone(a), func(e entry) bool {
		_, found := slices.BinarySearchFunc(b, e, byText)
		return found
	})
}

func byText(a, b entry) int { return cmp.Compare(a.text, b.text) }
