package gate_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/approval"
	"github.com/obstat/obstat/gate"
	"github.com/obstat/obstat/ledger"
)

// TestTookWithoutPeople: what a decision took is written down without the time that people took
// to answer, here or at a server.
func TestTookWithoutPeople(t *testing.T) {
	for name, settle := range map[string]func(context.Context, *obstat.Call, *obstat.Decision) (*gate.Settled, error){
		"here": nil,
		"at a server": func(context.Context, *obstat.Call, *obstat.Decision) (*gate.Settled, error) {
			time.Sleep(40 * time.Second)
			by := obstat.By{Kind: obstat.ByPerson, Who: "ann", Note: "approved by ann"}
			return &gate.Settled{Verdict: obstat.Allow, By: by}, nil
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			b := open(t, policy, nil)
			b.terms.Settle = settle
			go func() {
				time.Sleep(40 * time.Second)
				pending, err := b.store.Requests(t.Context(), approval.Query{State: approval.Pending})
				for _, r := range pending {
					_, err = b.Broker().Answer(t.Context(), r.ID, approval.Answer{By: "ann", Allow: true})
				}
				if err != nil {
					t.Error(err)
				}
			}()
			if d, err := b.Authorize(t.Context(), bash("make")); err != nil || d.Verdict != obstat.Allow {
				t.Fatalf("%s: %s %v", name, d.Reason(), err)
			}
			synctest.Wait()
			n := 0
			for r, err := range b.store.Records(t.Context(), ledger.Query{Kind: ledger.Decision}) {
				if n++; err != nil || time.Duration(r.Nanos) > 10*time.Second {
					t.Errorf("%s: %s %v", name, time.Duration(r.Nanos), err)
				}
			}
			if n != 1 {
				t.Errorf("%s: %d decisions", name, n)
			}
			time.Sleep(time.Minute) // until nobody answers any more
		})
	}
}
