package pattern

import (
	"cmp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
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
// A process that asks one question should not pay for an index: a Set asks its
// patterns one by one until that has cost about as much as an index, and builds
// one then.
type Set struct {
	entries []Entry // by rank
	price   uint64  // of asking them one by one
	worth   uint64  // price of an index
	spent   atomic.Uint64
	mu      sync.Mutex // held to build an index
	index   atomic.Pointer[setIndex]
	rough   atomic.Pointer[setIndex] // for texts of a kind that index is not for
	pool    dfaPool                  // shared by the automata
}

// Prices are in units of comparing the literals of a pattern.
const (
	regularPrice = 30   // of running an expression
	filePrice    = 80   // of filing a pattern in an index
	readPrice    = 100  // of reading a pattern that has not been read
	buildPrice   = 2000 // of making an expression part of an automaton
)

// NewSet makes a Set of entries; it keeps no reference to the slice. Entries
// without a pattern match nothing. An entry whose rank is the largest of all is
// below no limit, so Best never returns it.
func NewSet(entries []Entry) *Set {
	s := &Set{entries: make([]Entry, 0, len(entries))}
	for _, e := range entries {
		if e.Pattern.empty() {
			continue
		}
		s.entries = append(s.entries, e)
		s.price++
		s.worth += filePrice
		switch b := e.Pattern.made.Load(); {
		case b == nil:
			s.worth += readPrice
		case e.Pattern.general() && e.Pattern.shape().keyless():
			s.price += regularPrice
			s.worth += buildPrice
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
		ix = newSetIndex(s, true)
		s.index.Store(ix)
	}
	return ix
}

// others returns the index for texts that are not plain.
func (s *Set) others() *setIndex {
	ix := s.rough.Load()
	if ix == nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		if ix = s.rough.Load(); ix == nil {
			ix = newSetIndex(s, false)
			s.rough.Store(ix)
		}
	}
	return ix
}

// Best returns the lowest rank below limit of the patterns that match text;
// ok is false when there is none. A non-nil error is a fault: a pattern that
// could have been better than any match found ran out of time, and rank is that
// pattern's rank.
func (s *Set) Best(text string, limit uint32) (rank uint32, ok bool, err error) {
	if s == nil {
		return 0, false, nil
	}
	ix := s.index.Load()
	if ix == nil {
		if len(s.entries) == 0 || s.spent.Add(s.price) <= s.worth || !s.mu.TryLock() {
			_, rank, ok, err = s.next(text, 0, limit)
			return rank, ok, err
		}
		ix = s.build()
		s.mu.Unlock()
	}
	if ix.unless != 0 && ix.unless.has(text) {
		ix = s.others()
	}
	if ix.literal {
		rank, ok = ix.first(text, limit)
		return rank, ok, nil
	}
	return ix.best(text, limit)
}

// next asks the patterns from entries[at] on, one by one, for the first rank
// below limit that matches or, if it does not match, faults. It also returns
// where the next rank begins.
func (s *Set) next(text string, at int, limit uint32) (end int, rank uint32, ok bool, err error) {
	for at < len(s.entries) && s.entries[at].Rank < limit {
		rank = s.entries[at].Rank
		for ; at < len(s.entries) && s.entries[at].Rank == rank; at++ {
			if ok {
				continue
			}
			matched, fault := s.entries[at].Pattern.Match(text)
			if fault != nil {
				err = fault
			}
			ok = matched
		}
		if ok {
			return at, rank, true, nil
		}
		if err != nil {
			return at, rank, false, err
		}
	}
	return len(s.entries), 0, false, nil
}

// run matches p. One that is regular is not given up for lack of time before an
// automaton has tried, nor one that has forms.
func run(p *Pattern, text string) (bool, error) {
	ok, err := p.body().m.match(text)
	if err == nil {
		return ok, nil
	}
	if forms, ok := p.plain(); ok && !forms.unless.has(text) {
		return forms.match(text), nil
	}
	if p.regular() != nil {
		return lastResort(p, text, err)
	}
	return false, err
}

// admits reports whether text has every literal that s promises.
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

// keyless reports whether s promises no literal to file a pattern under.
func (s *Shape) keyless() bool { return keyless(s.Prefix, s.Suffix, s.Fragments) }

func keyless(prefix, suffix string, fragments []string) bool {
	return prefix == "" && suffix == "" &&
		!slices.ContainsFunc(fragments, func(f string) bool { return len(f) >= gramLen })
}
