package server

import (
	"context"
	"runtime"
	"sync"
)

// turns bounds how many calls are worked on at once, and hands free places to the callers in turns: an agent with
// a thousand connections waits for itself, and the others wait for one of its calls at most.
type turns struct {
	mu     sync.Mutex
	free   int
	queues map[string]*turnQueue
	ring   []*turnQueue // callers with calls that wait, in turns
	left   func()       // leave, made once: a method value costs memory each time
}

// A turnQueue is the calls of one caller that wait.
type turnQueue struct {
	id    string
	calls []chan struct{}
}

// maxWaiting is how many calls of one caller wait for a place; more are refused with 429.
const maxWaiting = 2000

func newTurns() *turns {
	t := &turns{free: max(32, 16*runtime.GOMAXPROCS(0)), queues: map[string]*turnQueue{}}
	t.left = t.leave
	return t
}

// enter takes a place for a call, and waits for one in turn. leave gives it back. The error is errTooMany where too
// many calls of the caller wait, or the context's.
func (t *turns) enter(ctx context.Context, id string) (leave func(), err error) {
	t.mu.Lock()
	if t.free > 0 {
		t.free--
		t.mu.Unlock()
		return t.left, nil
	}
	q := t.queues[id]
	if q == nil {
		q = &turnQueue{id: id}
		t.queues[id] = q
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
	t.mu.Unlock()
	select {
	case <-turn:
		return t.left, nil
	case <-ctx.Done():
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for i, c := range q.calls {
		if c == turn {
			q.calls = append(q.calls[:i], q.calls[i+1:]...)
			t.settle(q)
			return nil, ctx.Err()
		}
	}
	t.next() // it was this call's turn just now
	return nil, ctx.Err()
}

// leave gives a place to the next caller.
func (t *turns) leave() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.next()
}

// next hands a place to the caller whose turn it is. t.mu is held.
func (t *turns) next() {
	if len(t.ring) == 0 {
		t.free++
		return
	}
	q := t.ring[0]
	t.ring = t.ring[1:]
	turn := q.calls[0]
	q.calls = q.calls[1:]
	if len(q.calls) > 0 {
		t.ring = append(t.ring, q)
	} else {
		delete(t.queues, q.id)
	}
	close(turn)
}

// settle drops a caller without calls that wait. t.mu is held.
func (t *turns) settle(q *turnQueue) {
	if len(q.calls) > 0 {
		return
	}
	delete(t.queues, q.id)
	for i, other := range t.ring {
		if other == q {
			t.ring = append(t.ring[:i:i], t.ring[i+1:]...)
			return
		}
	}
}
