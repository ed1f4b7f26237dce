// Package memory is the store that lives and dies with its process: for tests,
// and for hosts that keep nothing.
package memory

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"
	"sync"
	"time"

	"github.com/obstat/obstat/approval"
	"github.com/obstat/obstat/internal/keep/docs"
	"github.com/obstat/obstat/internal/keep/tally"
	"github.com/obstat/obstat/ledger"
)

// Store keeps the ledger, requests and grants in memory. Its zero value is
// ready for use.
type Store struct {
	mu       sync.Mutex
	records  []*ledger.Record
	head     ledger.Head
	requests []*approval.Request
	byID     map[string]*approval.Request
	changed  int64 // cursor of the last change
	grants   []*approval.Grant
	docs     map[[2]string]docs.Doc // by kind and ID
}

var (
	_ ledger.Store   = (*Store)(nil)
	_ ledger.Trimmer = (*Store)(nil)
	_ approval.Store = (*Store)(nil)
	_ docs.Store     = (*Store)(nil)
	_ tally.Keeper   = (*Store)(nil)
)

// Append adds records to the chain.
func (s *Store) Append(_ context.Context, records ...*ledger.Record) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	head := s.head
	for _, r := range records {
		if err := r.Seal(head.Seq, head.Hash); err != nil {
			return err
		}
		head = r.Head()
	}
	for _, r := range records {
		c := *r
		s.records = append(s.records, &c)
	}
	s.head = head
	return nil
}

// Records yields the records that q asks for.
func (s *Store) Records(_ context.Context, q ledger.Query) iter.Seq2[*ledger.Record, error] {
	s.mu.Lock()
	var out []*ledger.Record
	for _, r := range s.records {
		if q.Matches(r) {
			c := *r
			out = append(out, &c)
		}
	}
	s.mu.Unlock()
	if q.Limit > 0 && len(out) > q.Limit {
		out = out[len(out)-q.Limit:]
	}
	return func(yield func(*ledger.Record, error) bool) {
		for _, r := range out {
			if !yield(r, nil) {
				return
			}
		}
	}
}

// Verify verifies the chain.
func (s *Store) Verify(ctx context.Context, head ledger.Hash, known ...ledger.Head) (ledger.Verified, error) {
	return ledger.Verify(func(yield func([]byte, error) bool) {
		for r := range s.Records(ctx, ledger.Query{}) {
			if !yield(r.Encode()) {
				return
			}
		}
	}, head, known...)
}

// Head returns the end of the chain.
func (s *Store) Head(context.Context) (ledger.Head, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.head, nil
}

// Trim forgets the records before a time.
func (s *Store) Trim(_ context.Context, before time.Time) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for n < len(s.records) && s.records[n].Time.Before(before) {
		n++
	}
	if n == 0 {
		return 0, nil
	}
	last := s.records[n-1]
	cut, err := ledger.NewCut(last.Head(), s.records[len(s.records)-1].Time)
	if err == nil {
		err = cut.Seal(s.head.Seq, s.head.Hash)
	}
	if err != nil {
		return 0, err
	}
	s.records = append(slices.Clone(s.records[n:]), cut)
	s.head = cut.Head()
	return n, nil
}

// PutRequest adds a pending request.
func (s *Store) PutRequest(_ context.Context, r *approval.Request) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.byID[r.ID] != nil {
		return fmt.Errorf("%q: %w", r.ID, approval.ErrExists)
	}
	c := *r
	c.State = approval.Pending
	s.change(&c)
	if s.byID == nil {
		s.byID = map[string]*approval.Request{}
	}
	s.byID[r.ID] = &c
	s.requests = append(s.requests, &c)
	return nil
}

// change gives a request the next cursor.
func (s *Store) change(r *approval.Request) {
	s.changed++
	r.Changed = s.changed + 1 // after any cursor that means the beginning
}

// Requests returns the requests that q asks for, oldest first.
func (s *Store) Requests(_ context.Context, q approval.Query) ([]*approval.Request, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []*approval.Request
	for _, r := range s.requests {
		if q.Matches(r) && r.Changed > q.After {
			out = append(out, copied(r))
		}
	}
	if q.After > 0 {
		slices.SortFunc(out, func(a, b *approval.Request) int { return cmp.Compare(a.Changed, b.Changed) })
	}
	if q.Limit > 0 && len(out) > q.Limit {
		out = out[len(out)-q.Limit:]
	}
	return out, nil
}

func copied(r *approval.Request) *approval.Request {
	c := *r
	c.Answers = slices.Clone(r.Answers)
	return &c
}

// Request returns one request.
func (s *Store) Request(_ context.Context, id string) (*approval.Request, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.byID[id]
	if r == nil {
		return nil, fmt.Errorf("%q: %w", id, approval.ErrNotFound)
	}
	return copied(r), nil
}

// Update replaces a request that is still as it was read.
func (s *Store) Update(_ context.Context, r *approval.Request, grant *approval.Grant) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	old := s.byID[r.ID]
	switch {
	case old == nil:
		return fmt.Errorf("%q: %w", r.ID, approval.ErrNotFound)
	case old.Version != r.Version:
		return fmt.Errorf("%q: %w", r.ID, approval.ErrChanged)
	}
	r.Version++
	s.change(r)
	*old = *copied(r)
	if grant != nil {
		c := *grant
		s.grants = append(s.grants, &c)
	}
	return nil
}

// Grants returns the grants in force at a time.
func (s *Store) Grants(_ context.Context, now time.Time) ([]*approval.Grant, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []*approval.Grant
	for _, g := range s.grants {
		if g.InForce(now) {
			c := *g
			out = append(out, &c)
		}
	}
	return out, nil
}

// Revoke ends a grant.
func (s *Store) Revoke(_ context.Context, id string, now time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, g := range s.grants {
		if g.ID == id && g.InForce(now) {
			g.Revoked = now
			return nil
		}
	}
	return approval.ErrNotFound
}
