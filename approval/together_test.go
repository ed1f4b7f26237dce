package approval_test

import (
	"errors"
	"testing"
	"testing/synctest"

	"github.com/obstat/obstat/approval"
	"github.com/obstat/obstat/internal/keep/memory"
)

// TestSettledIsTold: a broker that waits for a request of another hears how it ended.
func TestSettledIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := new(memory.Store)
		if err := approval.New(store, nil).Put(t.Context(), request("r", "s")); err != nil {
			t.Fatal(err)
		}
		told := make(chan approval.State, 1)
		waits := approval.New(store, &approval.Options{Settled: func(r *approval.Request) { told <- r.State }})
		_, end := waits.Follow(t.Context(), "r")
		synctest.Wait()
		if _, err := approval.New(store, nil).Answer(t.Context(), "r", approval.Answer{By: "bob", Allow: true}); err != nil {
			t.Fatal(err)
		}
		if r := end(); r == nil || r.State != approval.Approved {
			t.Errorf("%+v", r)
		}
		if got := <-told; got != approval.Approved {
			t.Error(got)
		}
	})
}

// TestGroupWithAMissingRequest: the others are answered, and the missing one says so.
func TestGroupWithAMissingRequest(t *testing.T) {
	b := approval.New(new(memory.Store), nil)
	r := request("r", "s")
	r.Group = "g"
	if err := b.Put(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	out, err := b.AnswerGroup(t.Context(), []string{"none", "r"}, approval.Answer{By: "bob", Allow: true})
	if err != nil || !errors.Is(out[0].Err, approval.ErrNotFound) || out[1].Err != nil {
		t.Errorf("%+v %v", out, err)
	}
}
