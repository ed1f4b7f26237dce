package once_test

import (
	"sync"
	"sync/atomic"
	"testing"

	"github.com/obstat/obstat/internal/once"
)

// TestOnce: many want it, one makes it.
func TestOnce(t *testing.T) {
	var v once.Value[int]
	var made atomic.Int32
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() {
			if got := v.Get(func() int { made.Add(1); return 7 }); got != 7 {
				t.Errorf("got %d", got)
			}
		})
	}
	wg.Wait()
	if n := made.Load(); n != 1 {
		t.Errorf("made %d times", n)
	}
}

// TestPanic: what could not be made is not taken for a zero value.
func TestPanic(t *testing.T) {
	var v once.Value[int]
	for range 2 {
		func() {
			defer func() {
				if recover() == nil {
					t.Error("no panic")
				}
			}()
			v.Get(func() int { panic("broken") })
		}()
	}
	if got := v.Get(func() int { return 7 }); got != 7 {
		t.Errorf("got %d after panics", got)
	}
}
