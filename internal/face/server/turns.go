package server

import (
	"context"
	"runtime"
	"slices"
	"sync"
	"time"
)

// turns bounds how many calls are worked on at once, and shares the places between the callers of the last seconds.
// Alone, a caller has all of them. Beside ten others it has an eleventh, however many connections it holds: its other
// calls wait, and a flood takes neither the processors nor the store from agents that make a call now and then.
type turns struct {
	mu     sync.Mutex
	places int // in all
	free   int
	queues map[string]*turnQueue
	ring   []*turnQueue // callers with calls that wait, in turns
	lately [2]int       // callers of this second and of the one before
	second int64
	now    func() time.Time
}

// A turnQueue has the calls of one caller: how many are worked on, and those that wait.
type turnQueue struct {
	id     string
	busy   int
	calls  []chan struct{}
	second int64  // of the last call
	leave  func() // made once: a function for each call costs memory
}

// maxWaiting is how many calls of one caller wait for a place; more are refused with 429.
const maxWaiting = 2000

// minShare is how many calls of a caller are worked on at once, however many callers there are.
const minShare = 2

func newTurns() *turns {
	n := max(32, 16*runtime.GOMAXPROCS(0))
	return &turns{places: n, free: n, queues: map[string]*turnQueue{}, now: time.Now}
}

// share returns how many calls of one caller may be worked on at once. t.mu is held.
func (t *turns) share() int { return max(minShare, t.places/max(t.lately[0], t.lately[1], 1)) }

// queue returns the calls of a caller, and counts it among those of this second. t.mu is held.
func (t *turns) queue(id string) *turnQueue {
	second := t.now().Unix()
	if second != t.second {
		before := 0
		if second == t.second+1 {
			before = t.lately[0]
		}
		t.lately, t.second = [2]int{0, before}, second
		t.forget()
	}
	q := t.queues[id]
	if q == nil {
		q = &turnQueue{id: id}
		q.leave = func() { t.leave(q) }
		t.queues[id] = q
	}
	if q.second != second {
		q.second = second
		t.lately[0]++
	}
	return q
}

// forget drops the callers without calls of the last seconds. t.mu is held.
func (t *turns) forget() {
	for id, q := range t.queues {
		if q.busy == 0 && len(q.calls) == 0 && q.second < t.second-1 {
			delete(t.queues, id)
		}
	}
}

// enter takes a place for a call, and waits for one in turn. leave gives it back. The error is errTooMany where too
// many calls of the caller wait, or the context's.
func (t *turns) enter(ctx context.Context, id string) (leave func(), err error) {
	t.mu.Lock()
	q := t.queue(id)
	if t.free > 0 && len(q.calls) == 0 && q.busy < t.share() {
		t.free--
		q.busy++
		t.mu.Unlock()
		return q.leave, nil
	}
	if len(q.calls) >= maxWaiting {
		t.mu.Unlock()
		return nil, errTooMany
	}
	if len(q.calls) == 0 {
		t.ring = append(t.ring, q)
	}
	turn := make(chan struct{})
	q.calls = append(q.calls, turn)
	t.next()
	t.mu.Unlock()
	select {
	case <-turn:
		return q.leave, nil
	case <-ctx.Done():
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if i := slices.Index(q.calls, turn); i >= 0 {
		q.calls = slices.Delete(q.calls, i, i+1)
		if len(q.calls) == 0 {
			t.ring = slices.DeleteFunc(t.ring, func(other *turnQueue) bool { return other == q })
		}
		return nil, ctx.Err()
	}
	t.release(q) // it was this call's turn just now
	return nil, ctx.Err()
}

// leave gives a caller's place to the next.
func (t *turns) leave(q *turnQueue) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.release(q)
}

// release frees a place of a caller. t.mu is held.
func (t *turns) release(q *turnQueue) {
	t.free++
	q.busy--
	t.next()
}

// next hands free places to the callers whose turn it is and who have not their share yet. t.mu is held.
func (t *turns) next() {
	share := t.share()
	for i := 0; i < len(t.ring) && t.free > 0; {
		q := t.ring[i]
		if q.busy >= share {
			i++
			continue
		}
		t.free--
		q.busy++
		close(q.calls[0])
		q.calls = q.calls[1:]
		t.ring = slices.Delete(t.ring, i, i+1)
		if len(q.calls) > 0 {
			t.ring = append(t.ring, q) // behind the others
		}
	}
}
