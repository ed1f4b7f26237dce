// Package once makes values when they are first wanted.
//
// It does what [sync.OnceValue] does for a package's tables, without anything to
// do when the program starts: a variable that is set by a call has its package's
// code run, and so fetched, by every process, and a hook is a process for each
// call.
package once

import (
	"sync"
	"sync/atomic"
)

// A Value is made once, by whoever wants it first. The zero value has not been
// made. It is safe for concurrent use.
type Value[T any] struct {
	made atomic.Bool
	mu   sync.Mutex
	v    T
}

// Get returns the value, and makes it if nobody has. If that panics, nothing is
// made, and the next one to want it tries again.
func (l *Value[T]) Get(make func() T) T {
	if l.made.Load() {
		return l.v
	}
	return l.first(make)
}

func (l *Value[T]) first(make func() T) T {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.made.Load() {
		l.v = make()
		l.made.Store(true)
	}
	return l.v
}
