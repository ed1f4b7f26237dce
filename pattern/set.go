package pattern

import (
	"cmp"
	"slices"
	"strings"
)

// Entry is one pattern of a Set and its rank; the lowest rank wins. Several
// entries may share a rank.
type Entry struct {
	Pattern *Pattern
	Rank    uint32
}

// A Set finds the best-ranked of its patterns that matches a text. It is safe
// for concurrent use. A nil or zero Set matches nothing.
type Set struct {
	entries []Entry // by rank
}

// NewSet indexes entries; it keeps no reference to the slice. Entries without a
// pattern match nothing.
func NewSet(entries []Entry) *Set {
	sorted := make([]Entry, 0, len(entries))
	for _, e := range entries {
		if e.Pattern != nil && e.Pattern.m != nil {
			sorted = append(sorted, e)
		}
	}
	slices.SortStableFunc(sorted, func(a, b Entry) int { return cmp.Compare(a.Rank, b.Rank) })
	return &Set{entries: sorted}
}

// Len returns how many patterns the set holds.
func (s *Set) Len() int {
	if s == nil {
		return 0
	}
	return len(s.entries)
}

// Best returns the lowest rank below limit of the patterns that match text;
// ok is false when there is none. A non-nil error is a fault: a pattern that
// could have been better than any match found ran out of time, and rank is that
// pattern's rank.
func (s *Set) Best(text string, limit uint32) (rank uint32, ok bool, err error) {
	s.All(text, func(r uint32, e error) bool {
		if r < limit {
			rank, ok, err = r, e == nil, e
		}
		return false
	})
	return rank, ok, err
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
			matched = ok && err == nil
			fault = cmp.Or(fault, err)
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
