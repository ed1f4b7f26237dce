package server

import (
	"context"
	"errors"
	"testing"
	"time"
)

// TestTurns: a caller with many calls that wait has one of them worked on for each of another caller; a call that is given
// up takes no place with it, and of too many the last are refused.
func TestTurns(t *testing.T) {
	ts := newTurns()
	ts.free = 1
	leave, err := ts.enter(t.Context(), "flood")
	if err != nil {
		t.Fatal(err)
	}
	order := make(chan string, 64)
	wait := func(ctx context.Context, id string, before int) {
		go func() {
			leave, err := ts.enter(ctx, id)
			if err != nil {
				order <- "gave up"
				return
			}
			order <- id
			leave()
		}()
		for {
			ts.mu.Lock()
			n := 0
			for _, q := range ts.queues {
				n += len(q.calls)
			}
			ts.mu.Unlock()
			if n == before+1 {
				return
			}
		}
	}
	for i := range 10 {
		wait(t.Context(), "flood", i)
	}
	wait(t.Context(), "polite", 10)
	gone, cancel := context.WithCancel(t.Context())
	wait(gone, "gone", 11)
	cancel()
	if got := <-order; got != "gave up" {
		t.Fatal(got)
	}
	leave()
	for i := range 11 {
		if got := <-order; got == "polite" {
			if i > 1 {
				t.Errorf("%d calls of the flood came before", i)
			}
		}
	}
	ts.mu.Lock()
	defer ts.mu.Unlock()
	ts.second += 5
	ts.forget()
	if ts.free != 1 || len(ts.ring)+len(ts.queues) != 0 {
		t.Errorf("%d places are free, and %d callers wait", ts.free, len(ts.ring))
	}
}

// TestShares: alone a caller has all places; beside another it has half of them, so that the other waits for none.
func TestShares(t *testing.T) {
	given := make(chan func(), 100)
	enter := func(ts *turns, id string, times int) {
		for range times {
			go func() {
				if leave, err := ts.enter(t.Context(), id); err == nil {
					given <- leave
				}
			}()
		}
	}
	alone := newTurns()
	alone.now = func() time.Time { return time.Unix(1, 0) }
	enter(alone, "flood", alone.places)
	for range alone.places {
		<-given
	}
	ts := newTurns()
	ts.now = alone.now
	enter(ts, "polite", 1)
	back := <-given
	enter(ts, "flood", ts.places+8)
	for range ts.places / 2 {
		<-given
	}
	for waiting := 0; waiting < ts.places/2+8; {
		ts.mu.Lock()
		waiting = len(ts.queues["flood"].calls)
		ts.mu.Unlock()
	}
	soon, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if _, err := ts.enter(soon, "polite"); err != nil {
		t.Fatalf("the other caller waits: %v", err)
	}
	ts.mu.Lock()
	if n := ts.queues["flood"].busy; n != ts.places/2 {
		t.Errorf("the flood has %d of %d places", n, ts.places)
	}
	ts.mu.Unlock()
	back()
	ts.mu.Lock()
	defer ts.mu.Unlock()
	ts.now = func() time.Time { return time.Unix(4, 0) } // the other has been away
	ts.queue("flood")
	ts.next()
	if n := ts.queues["flood"].busy; n != ts.places-1 {
		t.Errorf("the flood has %d of %d places after the other is gone", n, ts.places)
	}
}

// TestTooManyTurns: a caller may have so many calls waiting, and no more.
func TestTooManyTurns(t *testing.T) {
	ts := newTurns()
	ts.free = 0
	ts.queues["flood"] = &turnQueue{id: "flood", calls: make([]chan struct{}, maxWaiting)}
	if _, err := ts.enter(t.Context(), "flood"); !errors.Is(err, errTooMany) {
		t.Errorf("%v", err)
	}
}
