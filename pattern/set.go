package pattern

import (
	"cmp"
	"slices"
	"strings"
	"sync"
)

// Entry is one pattern of a Set and its rank; the lowest rank wins. Several
// entries may share a rank.
type Entry struct {
	Pattern *Pattern
	Rank    uint32
}

// A Set finds the best-ranked of its patterns that matches a text, in about one
// pass over the text however many patterns there are. It is immutable but for
// caches that it keeps within bounds, and safe for concurrent use. A nil or zero
// Set matches nothing.
//
// Every pattern is filed under one literal that its Shape promises: a prefix, a
// suffix, or a piece of a fragment. Patterns that are their literal are answered
// on the way; the others lie in buckets and are verified when their literal is
// seen, those that are regular all together by one automaton, those that may
// run out of time last and in the order of their ranks. Nothing is looked at
// that could not beat the best rank known.
type Set struct {
	entries []Entry // by rank
	small   bool    // too few entries for an index to pay

	heads   *radix // by prefix; its root's bucket holds what has no key
	tails   *radix // by suffix, or nil
	grams   *gramIndex
	buckets []bucket  // the first is not used
	checks  []check   // of the buckets
	slow    []check   // all that may run out of time, by rank
	dfas    []*dfa    // of the buckets
	pool    dfaPool   // what the automata may use together
	seen    sync.Pool // of *[]uint64, a bit for each bucket
}

// NewSet indexes entries; it keeps no reference to the slice. Entries without a
// pattern match nothing. An entry whose rank is the largest of all is below no
// limit, so Best never returns it.
func NewSet(entries []Entry) *Set {
	sorted := make([]Entry, 0, len(entries))
	for _, e := range entries {
		if e.Pattern != nil && e.Pattern.m != nil {
			sorted = append(sorted, e)
		}
	}
	slices.SortStableFunc(sorted, func(a, b Entry) int { return cmp.Compare(a.Rank, b.Rank) })
	s := &Set{entries: sorted}
	(&setBuilder{set: s}).build()
	return s
}

// Len returns how many patterns the set holds.
func (s *Set) Len() int {
	if s == nil {
		return 0
	}
	return len(s.entries)
}

// All yields, in ascending order, every rank that matches text, with a nil
// error, and every rank that does not match but has a pattern that ran out of
// time, with the fault. It asks the patterns one after the other: it is for
// explaining, and it is what Best must agree with.
func (s *Set) All(text string, yield func(rank uint32, err error) bool) {
	if s == nil {
		return
	}
	for i := 0; i < len(s.entries); {
		rank := s.entries[i].Rank
		var matched bool
		var fault error
		for ; i < len(s.entries) && s.entries[i].Rank == rank; i++ {
			p := s.entries[i].Pattern
			if matched || !p.shape.admits(text) {
				continue
			}
			ok, err := p.m.match(text)
			if err != nil {
				fault = err
			} else {
				matched = ok
			}
		}
		if matched {
			fault = nil
		}
		if (matched || fault != nil) && !yield(rank, fault) {
			return
		}
	}
}

// admits reports whether text has every literal that s promises. A pattern
// whose shape does not admit a text is never run on it, so it cannot fault.
func (s *Shape) admits(text string) bool {
	if s.Exact {
		return text == s.Prefix
	}
	if len(text) < len(s.Prefix)+len(s.Suffix) ||
		!strings.HasPrefix(text, s.Prefix) || !strings.HasSuffix(text, s.Suffix) {
		return false
	}
	text = text[len(s.Prefix) : len(text)-len(s.Suffix)]
	for _, f := range s.Fragments {
		i := strings.Index(text, f)
		if i < 0 {
			return false
		}
		text = text[i+len(f):]
	}
	return true
}
