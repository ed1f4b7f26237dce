package approval_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/approval"
	"github.com/obstat/obstat/internal/keep/memory"
)

// TestSettledIsToldOnce: each way in which a request can end is told exactly
// once, in order, whether it was waited for or only put, and whichever broker on
// the store took the answer.
func TestSettledIsToldOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := new(memory.Store)
		var told []string
		b := approval.New(store, &approval.Options{Settled: func(r *approval.Request) { told = append(told, r.ID+" "+string(r.State)) }})
		for _, id := range []string{"approved", "refused", "taken along", "expired"} {
			if err := b.Put(t.Context(), request(id, "s")); err != nil {
				t.Fatal(err)
			}
		}
		waited := asked(b, t.Context(), request("elsewhere", "other"))
		other := approval.New(store, nil)
		answer := func(b *approval.Broker, id string, a approval.Answer) {
			a.By = "bob"
			if _, err := b.Answer(t.Context(), id, a); err != nil {
				t.Fatal(id, err)
			}
		}
		answer(b, "approved", approval.Answer{Allow: true})
		answer(other, "elsewhere", approval.Answer{Allow: true})
		<-waited
		answer(b, "refused", approval.Answer{All: true})
		if err := b.Put(t.Context(), request("late", "s")); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Minute)
		if _, err := b.Pending(t.Context()); err != nil {
			t.Fatal(err)
		}
		if r, err := b.Wait(t.Context(), "approved"); err != nil || r.State != approval.Approved {
			t.Errorf("%v, %v", r, err)
		}
		want := []string{"approved approved", "elsewhere approved", "refused refused", "taken along refused", "expired refused", "late expired"}
		if diff := cmp.Diff(want, told); diff != "" {
			t.Error(diff)
		}
	})
}

// TestUsersMayAnswer: a person who is named needs none of the roles.
func TestUsersMayAnswer(t *testing.T) {
	b := approval.New(new(memory.Store), nil)
	r := request("r", "s")
	r.Who = approval.Who{Users: []string{"ann"}, Roles: []string{"lead"}}
	if err := b.Put(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Answer(t.Context(), "r", approval.Answer{By: "bob", Roles: []string{"dev"}, Allow: true}); !errors.Is(err, approval.ErrNotYou) {
		t.Errorf("bob: %v", err)
	}
	if _, err := b.Answer(t.Context(), "r", approval.Answer{By: "ann", Allow: true}); err != nil {
		t.Errorf("ann: %v", err)
	}
	roster := approval.Roster{{Who: approval.Who{Users: []string{"ann"}}}, {Who: approval.Who{Roles: []string{"lead"}}}}
	if who := roster.For(&obstat.Call{}, &obstat.Decision{}); !cmp.Equal(who.Roles, []string{approval.Nobody}) {
		t.Errorf("lines that cannot both be met: %+v", who)
	}
}
