package server

import (
	"context"
	"errors"
	"testing"
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
	if ts.free != 1 || len(ts.ring)+len(ts.queues) != 0 {
		t.Errorf("%d places are free, and %d callers wait", ts.free, len(ts.ring))
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
