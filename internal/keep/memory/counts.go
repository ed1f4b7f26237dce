package memory

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/obstat/obstat/internal/keep/tally"
	"github.com/obstat/obstat/ledger"
)

// counted adds the records up that were taken since a time. A store that dies with its process holds few.
func (s *Store) counted(since time.Time) (counts tally.Counts, bySeq map[uint64]*ledger.Record) {
	s.mu.Lock()
	defer s.mu.Unlock()
	bySeq = map[uint64]*ledger.Record{}
	now := time.Now()
	for _, r := range s.records {
		if at := r.TakenAt(); !at.Before(since) {
			counts.Add(r, at, now)
			bySeq[r.Seq] = r
		}
	}
	return counts, bySeq
}

// Counts hands over the counts of the hours since a time.
func (s *Store) Counts(_ context.Context, since time.Time, each func(tally.Row)) error {
	counts, _ := s.counted(since.Truncate(time.Hour))
	for k, n := range counts.Rows {
		each(tally.Row{Key: k, N: n})
	}
	return nil
}

// Frequent returns the most frequent distinct calls since the day of a time.
func (s *Store) Frequent(_ context.Context, since time.Time, by tally.Order, limit int) ([]tally.Frequent, error) {
	counts, bySeq := s.counted(since.Truncate(24 * time.Hour))
	sums := map[string]*tally.Frequent{}
	for k, c := range counts.Calls {
		f := sums[k.Digest]
		if f == nil {
			f = new(tally.Frequent)
			sums[k.Digest] = f
		}
		f.N, f.Asked, f.Denied = f.N+c.N, f.Asked+c.Asked, f.Denied+c.Denied
		if f.Record == nil || f.Record.Seq < c.Seq {
			f.Record = bySeq[c.Seq]
		}
	}
	rank := func(f *tally.Frequent) int64 {
		return map[tally.Order]int64{tally.ByUse: f.N, tally.ByAsked: f.Asked, tally.ByDenied: f.Denied}[by]
	}
	var out []tally.Frequent
	for _, f := range sums {
		if rank(f) > 0 {
			out = append(out, *f)
		}
	}
	slices.SortFunc(out, func(a, b tally.Frequent) int {
		return cmp.Or(cmp.Compare(rank(&b), rank(&a)), cmp.Compare(b.Record.Seq, a.Record.Seq))
	})
	return out[:min(len(out), limit)], nil
}

// Recount does nothing: the records are counted when they are asked for.
func (s *Store) Recount(context.Context) error { return nil }
