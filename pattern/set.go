package pattern

import (
	"cmp"
	"slices"
	"sync"
	"sync/atomic"
)

// none is the rank of nothing: no rank is below a limit of none or less.
const none = ^uint32(0)

// Entry is one pattern of a Set and its rank; the lowest rank wins. Several
// entries may share a rank.
type Entry struct {
	Pattern *Pattern
	Rank    uint32
}

// A Set finds the best-ranked of its patterns that matches a text, in about one
// pass over the text however many patterns there are. It is immutable but for
// its index, and safe for concurrent use. A nil or zero Set matches nothing.
//
// A process that asks one question should not pay for an index: a Set asks its
// patterns one by one until that has cost about as much as an index, and builds
// one then.
type Set struct {
	entries []Entry // by rank
	asked   atomic.Uint32
	mu      sync.Mutex // held to build the index
	index   atomic.Pointer[setIndex]
}

// asksBeforeIndex is how many questions cost as much as an index: filing a pattern
// takes about as long as ruling it out a hundred times.
const asksBeforeIndex = 100

// NewSet makes a Set of entries; it keeps no reference to the slice. Entries
// without a pattern match nothing. An entry whose rank is the largest of all is
// below no limit, so Best never returns it.
func NewSet(entries []Entry) *Set {
	s := &Set{entries: make([]Entry, 0, len(entries))}
	for _, e := range entries {
		if !e.Pattern.empty() {
			s.entries = append(s.entries, e)
		}
	}
	byRank := func(a, b Entry) int { return cmp.Compare(a.Rank, b.Rank) }
	if !slices.IsSortedFunc(s.entries, byRank) {
		slices.SortFunc(s.entries, byRank)
	}
	return s
}

// build returns the index, with the lock held.
func (s *Set) build() *setIndex {
	ix := s.index.Load()
	if ix == nil {
		ix = newSetIndex(s.entries, fewEntries)
		s.index.Store(ix)
	}
	return ix
}

// Best returns the lowest rank below limit of the patterns that match text;
// ok is false when there is none. A non-nil error is a fault: a pattern that
// could have been better than any match found ran out of time, and rank is that
// pattern's rank.
func (s *Set) Best(text string, limit uint32) (rank uint32, ok bool, err error) {
	return s.BestOf(text, limit, nil)
}

// BestOf is Best of those entries whose rank keep, if not nil, takes. It is asked only
// about ranks whose pattern matches.
func (s *Set) BestOf(text string, limit uint32, keep func(rank uint32) bool) (rank uint32, ok bool, err error) {
	if s == nil || len(s.entries) == 0 {
		return 0, false, nil
	}
	ix := s.index.Load()
	if ix == nil {
		if s.asked.Add(1) <= asksBeforeIndex || !s.mu.TryLock() {
			q := newSearch(text, limit, keep)
			q.firstOf(s.entries)
			return q.answer()
		}
		ix = s.build()
		s.mu.Unlock()
	}
	return ix.best(text, limit, keep)
}

// A search is one call of Best. It lives on the stack.
type search struct {
	text  string
	best  uint32 // the lowest rank known to match; before that, the limit
	found bool
	fault uint32 // the lowest rank that ran out of time
	err   error
	tidy  answer                 // whether the text is a tidy path
	keep  func(rank uint32) bool // nil keeps all
}

type answer uint8

const (
	unknown answer = iota
	yes
	no
)

func newSearch(text string, limit uint32, keep func(uint32) bool) search {
	return search{text: text, best: limit, fault: none, keep: keep}
}

// could reports whether a rank could still matter: after a fault only those up to
// its rank do.
func (q *search) could(rank uint32) bool { return rank < q.best && rank <= q.fault }

// note takes the answer of a pattern whose rank could matter.
func (q *search) note(rank uint32, ok bool, err error) {
	switch {
	case ok && q.keep != nil && !q.keep(rank):
	case ok:
		q.best, q.found = rank, true
	case err != nil && rank < q.fault:
		q.fault, q.err = rank, err
	}
}

// firstOf asks entries, which are in the order of their ranks, until one matches.
func (q *search) firstOf(entries []Entry) {
	for i := range entries {
		e := &entries[i]
		if !q.could(e.Rank) {
			return
		}
		ok, err := e.Pattern.Match(q.text)
		q.note(e.Rank, ok, err)
	}
}

func (q *search) answer() (rank uint32, ok bool, err error) {
	switch {
	case q.fault < q.best:
		return q.fault, false, q.err
	case q.found:
		return q.best, true, nil
	}
	return 0, false, nil
}
