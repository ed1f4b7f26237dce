package approval_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/obstat/obstat/approval"
	"github.com/obstat/obstat/internal/keep/memory"
)

// watched is a store that knows who is gone.
type watched struct {
	memory.Store
	mu    sync.Mutex
	there map[string]bool
	ended []string
}

func (w *watched) Ended(_ context.Context, r *approval.Request, why string) error {
	w.ended = append(w.ended, r.ID+" "+string(r.State)+": "+why)
	return nil
}

func (w *watched) Attend(id string) func() {
	w.set(id, true)
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		delete(w.there, id)
	}
}

func (w *watched) set(id string, there bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.there[id] = there
}

func (w *watched) Gone(id string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	there, known := w.there[id]
	return known && !there
}

// TestGone: a request whose process was killed is withdrawn by whoever lists or answers requests, and
// an answer leaves nothing.
func TestGone(t *testing.T) {
	for _, by := range []string{"the list", "an answer"} {
		synctest.Test(t, func(t *testing.T) {
			store := &watched{there: map[string]bool{}}
			b := approval.New(store, nil)
			ctx, cancel := context.WithCancel(t.Context())
			end := asked(b, ctx, request("r", "s"))
			if open, err := b.Pending(t.Context()); err != nil || len(open) != 1 {
				t.Fatalf("%v, %v", open, err)
			}
			store.set("r", false) // killed
			if by == "the list" {
				if open, err := b.Pending(t.Context()); err != nil || len(open) != 0 {
					t.Errorf("%v, %v", open, err)
				}
			} else if _, err := b.Answer(t.Context(), "r", approval.Answer{By: "bob", Allow: true, Scope: approval.Session}); !errors.Is(err, approval.ErrSettled) || !strings.Contains(err.Error(), "gone") {
				t.Errorf("%v", err)
			}
			r, err := store.Request(t.Context(), "r")
			grants, _ := store.Grants(t.Context(), r.Created)
			if err != nil || r.State != approval.Canceled || len(grants) > 0 {
				t.Errorf("%v, %v, %v", r, err, grants)
			}
			if _, err := b.Answer(t.Context(), "r", approval.Answer{By: "bob", Allow: true}); !errors.Is(err, approval.ErrSettled) {
				t.Errorf("a second answer: %v", err)
			}
			cancel()
			<-end
			if len(store.ended) != 1 || !strings.HasPrefix(store.ended[0], "r canceled: ") {
				t.Errorf("written down: %q", store.ended)
			}
			if len(store.there) != 0 {
				t.Error("it has not left")
			}
		})
	}
}
