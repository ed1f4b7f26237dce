// Package memory is the store that lives and dies with its process: for tests,
// and for hosts that keep nothing.
package memory

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"sync"
	"time"

	"github.com/obstat/obstat/approval"
	"github.com/obstat/obstat/ledger"
)

// Store keeps the ledger, requests and grants in memory. Its zero value is
// ready for use.
type Store struct {
	mu       sync.Mutex
	records  []*ledger.Record
	head     ledger.Head
	requests []*approval.Request
	grants   []*approval.Grant
}

var (
	_ ledger.Store   = (*Store)(nil)
	_ ledger.Trimmer = (*Store)(nil)
	_ approval.Store = (*Store)(nil)
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
		head = ledger.Head{Seq: r.Seq, Hash: r.Hash}
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
	cut, err := ledger.NewCut(ledger.Head{Seq: last.Seq, Hash: last.Hash}, s.records[len(s.records)-1].Time)
	if err == nil {
		err = cut.Seal(s.head.Seq, s.head.Hash)
	}
	if err != nil {
		return 0, err
	}
	s.records = append(slices.Clone(s.records[n:]), cut)
	s.head = ledger.Head{Seq: cut.Seq, Hash: cut.Hash}
	return n, nil
}

// PutRequest adds a pending request.
func (s *Store) PutRequest(_ context.Context, r *approval.Request) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.find(r.ID) != nil {
		return fmt.Errorf("there is a request %q", r.ID)
	}
	c := *r
	c.State = approval.Pending
	s.requests = append(s.requests, &c)
	return nil
}

// Requests returns the requests in a state, oldest first.
func (s *Store) Requests(_ context.Context, state approval.State) ([]*approval.Request, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []*approval.Request
	for _, r := range s.requests {
		if state == "" || r.State == state {
			c := *r
			c.Answers = slices.Clone(r.Answers)
			out = append(out, &c)
		}
	}
	return out, nil
}

// Request returns one request.
func (s *Store) Request(_ context.Context, id string) (*approval.Request, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.find(id)
	if r == nil {
		return nil, approval.ErrNotFound
	}
	c := *r
	c.Answers = slices.Clone(r.Answers)
	return &c, nil
}

func (s *Store) find(id string) *approval.Request {
	for _, r := range s.requests {
		if r.ID == id {
			return r
		}
	}
	return nil
}

// Settle changes a pending request's state, once.
func (s *Store) Settle(_ context.Context, id string, to approval.State, answers []approval.Answer, grant *approval.Grant) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.find(id)
	switch {
	case r == nil:
		return approval.ErrNotFound
	case r.State != approval.Pending:
		return approval.ErrSettled
	}
	r.State, r.Answers = to, slices.Clone(answers)
	if to != approval.Approved {
		*r = *r.Spent()
	}
	if grant != nil {
		c := *grant
		s.grants = append(s.grants, &c)
	}
	return nil
}

// Use returns an approved request, once.
func (s *Store) Use(_ context.Context, id string) (*approval.Request, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.find(id)
	switch {
	case r == nil:
		return nil, approval.ErrNotFound
	case r.State != approval.Approved:
		return nil, approval.ErrSettled
	}
	whole := *r
	*r = *r.Spent()
	r.State = approval.Used
	return &whole, nil
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

// Note keeps answers to a request that stays pending.
func (s *Store) Note(_ context.Context, id string, had int, answers []approval.Answer) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.find(id)
	switch {
	case r == nil:
		return approval.ErrNotFound
	case r.State != approval.Pending || len(r.Answers) != had:
		return approval.ErrSettled
	}
	r.Answers = slices.Clone(answers)
	return nil
}
