package approval

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Change changes a request by a function of its present state, as one step: change
// gets the request, and returns the one to keep in its place and the grant
// that goes with it. Where another change came first it is asked again; its error
// leaves everything as it was.
func Change(ctx context.Context, s RequestStore, id string, change func(r *Request) (*Request, *Grant, error)) (*Request, error) {
	for {
		r, err := s.Request(ctx, id)
		if err != nil {
			return nil, err
		}
		next, grant, err := change(r)
		if err != nil {
			return nil, err
		}
		switch err := s.Update(ctx, next, grant); {
		case err == nil:
			return next, nil
		case !errors.Is(err, ErrChanged):
			return nil, err
		}
	}
}

// change is Change for a request that the feed may have told of: that is tried first, for it spares
// reading the request. Where it has changed since, or does not allow the change, it is read.
func (b *Broker) change(ctx context.Context, id string, change func(r *Request) (*Request, *Grant, error)) (*Request, error) {
	if r := b.opts.Feed.known(id); r != nil {
		if next, grant, err := change(r); err == nil {
			if err := b.store.Update(ctx, next, grant); !errors.Is(err, ErrChanged) {
				return b.changed(next, err)
			}
		}
	}
	return b.changed(Change(ctx, b.store, id, change))
}

// A Clock is a store with a time of its own, which is the same for all processes
// that share it.
type Clock interface {
	Now() time.Time
}

// An Attendance is a store that knows whether the process that waits for an answer is
// still there: a hook that was killed cannot withdraw its request.
type Attendance interface {
	// Attend says that this process waits for the answer to a request, until leave.
	Attend(id string) (leave func())
	// Gone tells whether such a process has ended without leave; false where none is known.
	Gone(id string) bool
	// Ended writes down how a request ended that such a process has left behind.
	Ended(ctx context.Context, r *Request, why string) error
}

// attend says that this process waits, where the store can tell others.
func (b *Broker) attend(id string) (leave func()) {
	if a, ok := b.store.(Attendance); ok {
		return a.Attend(id)
	}
	return func() {}
}

// attendLong says that this process waits until [Broker.Leave], and tells whether that is new: a
// request that is put again under its ID is waited for already.
func (b *Broker) attendLong(id string) (began bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.attends[id] != nil {
		return false
	}
	b.attends[id] = b.attend(id)
	return true
}

// Leave ends saying that this process waits for a request that it has put, see [Options].Attends: another may
// take up the answer.
func (b *Broker) Leave(id string) {
	b.mu.Lock()
	leave := b.attends[id]
	delete(b.attends, id)
	b.mu.Unlock()
	if leave != nil {
		leave()
	}
}

// gone tells whether the process that waited for an answer has ended.
func (b *Broker) gone(id string) bool {
	a, ok := b.store.(Attendance)
	return ok && a.Gone(id)
}

// withdraw ends a request without an answer. Where its asker has gone, it has that written down, since
// no other process does. A broker that Logs leaves it to its owner.
func (b *Broker) withdraw(ctx context.Context, id string, to State, gone bool) (*Request, error) {
	r, err := b.settle(ctx, id, to, nil)
	if a, ok := b.store.(Attendance); ok && err == nil && gone && !b.opts.Logs {
		err = a.Ended(ctx, r, "the request was withdrawn: the agent that asked is gone")
	}
	return r, err
}

// now returns the store's time, or this machine's.
func (b *Broker) now() time.Time {
	if c, ok := b.store.(Clock); ok {
		return c.Now()
	}
	return time.Now()
}

// settle changes a pending request to another state that ends it. Answers are
// added to those that it has.
func (b *Broker) settle(ctx context.Context, id string, to State, answers []Answer) (*Request, error) {
	return b.change(ctx, id, func(r *Request) (*Request, *Grant, error) {
		if r.State != Pending {
			return nil, nil, fmt.Errorf("%q: %w", id, ErrSettled)
		}
		next := r.with(to, append(r.Answers, answers...)).Spent()
		next.Logged = b.opts.Logs
		return next, nil, nil
	})
}

// changed wakes those who wait for a request that was changed.
func (b *Broker) changed(r *Request, err error) (*Request, error) {
	if err == nil {
		if r.State != Pending {
			b.Leave(r.ID)
		}
		b.wake(r)
		b.opts.Feed.Kick()
	}
	return r, err
}

// A Claiming has the proofs of a caller that takes an approval.
type Claiming struct {
	By string
	// Key is the caller's own name for this claim: with it, a claim whose answer was
	// lost can be repeated until the lease ends. Another process of the caller does
	// not know it.
	Key string
	// Digest is of the call that the caller is about to run; "" is the request's.
	Digest string
	// Lease is how long the caller has to report the outcome with [Broker.Finish];
	// zero: it does not, and the request is done.
	Lease time.Duration
}

// by names the claim.
func (c *Claiming) by() string {
	if c.Key == "" {
		return c.By
	}
	return c.By + " " + c.Key
}

// repeats tells whether the caller has claimed the request before, with the same key, and
// its lease still runs.
func (c *Claiming) repeats(r *Request, now time.Time) bool {
	if c.Key == "" || r.State != Claimed || c.Digest != "" && c.Digest != r.Digest {
		return false
	}
	return r.Claim.By == c.by() && now.Before(r.Claim.Until)
}

// errAgain: the caller has claimed it before.
var errAgain = errors.New("claimed before by the same caller")

// Claim takes an approval for the one run that it is for, and returns the request
// with its call. Exactly one caller gets it, of all processes: every other gets
// ErrSettled. It has to be for the same bytes and in time.
func (b *Broker) Claim(ctx context.Context, id string, c Claiming) (*Request, error) {
	var whole *Request
	late := false
	_, err := b.change(ctx, id, func(r *Request) (*Request, *Grant, error) {
		now := b.now()
		switch {
		case c.repeats(r, now):
			whole = r.with(Approved, r.Answers) // the answer to the first claim was lost
			return nil, nil, errAgain
		case r.State != Approved:
			return nil, nil, fmt.Errorf("%q: %w: it is %s", id, ErrSettled, r.State)
		case c.Digest != "" && c.Digest != r.Digest:
			return nil, nil, fmt.Errorf("%q: %w", id, ErrOther)
		}
		whole = r
		if late = !r.ClaimBy.IsZero() && !now.Before(r.ClaimBy); late {
			return r.with(Lapsed, r.Answers).Spent(), nil, nil
		}
		next := r.with(Done, r.Answers)
		next.Claim = &Claim{By: c.by(), Time: now}
		if c.Lease > 0 {
			next.State, next.Claim.Until = Claimed, now.Add(c.Lease)
			return next, nil, nil // with its call, so that a lost answer can be repeated
		}
		return next.Spent(), nil, nil
	})
	if errors.Is(err, errAgain) {
		return whole, nil
	}
	if err == nil && late {
		err = fmt.Errorf("%q: %w: its approval lapsed", id, ErrSettled)
	}
	if err != nil {
		return nil, err
	}
	return whole, nil
}

// Finish keeps the outcome of a call whose approval was claimed by the same
// caller.
func (b *Broker) Finish(ctx context.Context, id, by string, o Outcome) (*Request, error) {
	return b.changed(Change(ctx, b.store, id, func(r *Request) (*Request, *Grant, error) {
		switch {
		case r.State != Claimed:
			return nil, nil, fmt.Errorf("%q: %w: it is %s", id, ErrSettled, r.State)
		case r.Claim == nil || r.Claim.By != by:
			return nil, nil, fmt.Errorf("%q: %w: another caller has claimed it", id, ErrNotYou)
		}
		o.Time = b.now()
		next := r.with(Done, r.Answers).Spent()
		next.Outcome = &o
		return next, nil, nil
	}))
}

// Sweep ends the requests whose time is over: without an answer, with an approval that
// was not claimed, or with a caller that was not heard of again. It returns
// those that it ended.
func (b *Broker) Sweep(ctx context.Context) (ended []*Request, err error) {
	if _, ended, err = b.pending(ctx); err != nil {
		return ended, err
	}
	for _, from := range []State{Approved, Claimed} {
		open, err := b.store.Requests(ctx, Query{State: from})
		if err != nil {
			return ended, err
		}
		for _, o := range open {
			if !o.over(b.now()) {
				continue
			}
			r, err := b.changed(Change(ctx, b.store, o.ID, func(r *Request) (*Request, *Grant, error) {
				if r.State != from || !r.over(b.now()) {
					return nil, nil, ErrSettled
				}
				return r.with(Lapsed, r.Answers).Spent(), nil, nil
			}))
			if err == nil {
				ended = append(ended, r)
			} else if !errors.Is(err, ErrSettled) {
				return ended, err
			}
		}
	}
	return ended, nil
}

// over tells whether the time of an approval, or of a claim, is over.
func (r *Request) over(now time.Time) bool {
	end := r.ClaimBy
	if r.State == Claimed && r.Claim != nil {
		end = r.Claim.Until
	}
	return !end.IsZero() && !now.Before(end)
}
