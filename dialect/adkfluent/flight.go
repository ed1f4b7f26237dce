package adkfluent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// errPanic is the error of a handler that panicked.
type errPanic struct{ value any }

func (e errPanic) Error() string { return fmt.Sprintf("panic: %v", e.value) }

// errNoAnswer is the error of a handler that did not answer in time.
var errNoAnswer = errors.New("no answer in time")

// A flight is one question under way. All calls that ask the same wait for it.
type flight struct {
	done    chan struct{}
	cancel  context.CancelFunc
	waiting int // callers who still want the answer; guarded by Memory.mu
	granted bool
	err     error
}

// ask runs handler with a limit of its own. A handler that does not come back
// is left behind; its answer is dropped.
func ask(ctx context.Context, timeout time.Duration, handler func(context.Context) (bool, error)) (bool, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if timeout > 0 {
		ctx, cancel = context.WithTimeoutCause(ctx, timeout, fmt.Errorf("%w: %s", errNoAnswer, timeout))
		defer cancel()
	}
	type answer struct {
		granted bool
		err     error
	}
	got := make(chan answer, 1)
	go func() {
		a := answer{err: errors.New("the handler ended without an answer")}
		defer func() {
			if r := recover(); r != nil {
				a = answer{err: errPanic{r}}
			}
			got <- a
		}()
		a.granted, a.err = handler(ctx)
	}()
	select {
	case a := <-got:
		// An answer that comes together with the end of time is too late.
		if ctx.Err() != nil {
			return false, context.Cause(ctx)
		}
		return a.granted && a.err == nil, a.err
	case <-ctx.Done():
		return false, context.Cause(ctx)
	}
}

// once answers from the record, or asks: exactly once for all the calls that
// are the same and come while the question is open. Only a real answer is
// recorded. asked is false where the record answered.
func (m *Memory) once(ctx context.Context, tool string, input json.RawMessage, timeout time.Duration, handler func(context.Context) (bool, error)) (granted, asked bool, err error) {
	key, err := keyOf(tool, input)
	if err != nil {
		return false, false, err
	}
	m.mu.Lock()
	if granted, known := m.answered(key, tool, input); known {
		m.mu.Unlock()
		return granted, false, nil
	}
	f := m.flights[key]
	if f == nil {
		f = m.takeOff(ctx, key, timeout, handler)
	}
	f.waiting++
	m.mu.Unlock()
	select {
	case <-f.done:
		return f.granted, true, f.err
	case <-ctx.Done():
		m.leave(key, f)
		return false, true, context.Cause(ctx)
	}
}

// takeOff starts a flight; m is locked. The flight does not end with the caller
// who happened to be first, but with the last who waits.
func (m *Memory) takeOff(ctx context.Context, key callKey, timeout time.Duration, handler func(context.Context) (bool, error)) *flight {
	run, cancel := context.WithCancel(context.WithoutCancel(ctx))
	f := &flight{done: make(chan struct{}), cancel: cancel}
	if m.flights == nil {
		m.flights = map[callKey]*flight{}
	}
	m.flights[key] = f
	go func() {
		defer cancel()
		granted, err := ask(run, timeout, handler)
		m.mu.Lock()
		defer m.mu.Unlock()
		f.granted, f.err = granted, err
		if m.flights[key] == f { // neither abandoned nor cleared
			delete(m.flights, key)
			if err == nil {
				m.remember(key, granted)
			}
		}
		close(f.done)
	}()
	return f
}

// leave takes one caller off a flight; the last one ends it.
func (m *Memory) leave(key callKey, f *flight) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if f.waiting--; f.waiting > 0 {
		return
	}
	f.cancel()
	if m.flights[key] == f {
		delete(m.flights, key)
	}
}
