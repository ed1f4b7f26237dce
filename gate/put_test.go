package gate_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/approval"
	"github.com/obstat/obstat/dialect/opencode"
	"github.com/obstat/obstat/gate"
	"github.com/obstat/obstat/internal/keep/memory"
	"github.com/obstat/obstat/ledger"
	"github.com/obstat/obstat/pattern"
)

// TestPut: a call that asks comes back as a request at once, is decided by
// Resume once it is answered, for one run; everything else is final.
func TestPut(t *testing.T) {
	b := open(t, policy, nil)
	for cmd, want := range map[string]obstat.Verdict{"git status": obstat.Allow, "rm x": obstat.Deny} {
		if d, r, err := b.Put(t.Context(), bash(cmd)); d.Verdict != want || r != nil || err != nil {
			t.Errorf("%s: %v, %v, %v", cmd, d.Verdict, r, err)
		}
	}
	d, r, err := b.Put(t.Context(), bash("make all"))
	if d.Verdict != obstat.Ask || r == nil || err != nil || len(r.Offers) == 0 {
		t.Fatalf("%v, %+v, %v", d.Verdict, r, err)
	}
	if _, err := b.Broker().Answer(t.Context(), r.ID, approval.Answer{By: "bob", Allow: true}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []obstat.Verdict{obstat.Allow, obstat.Deny} {
		if d, err := b.Resume(t.Context(), r.ID, nil); d.Verdict != want || err != nil {
			t.Errorf("%v, %v, want %v", d.Verdict, err, want)
		}
	}
}

// TestProposedOffers: offers of a face are tried like the dialect's own.
func TestProposedOffers(t *testing.T) {
	b := open(t, policy, nil)
	offer := func(text string) obstat.Offer {
		return obstat.Offer{List: "rules", Text: text, Rule: obstat.Rule{Tool: obstat.Is("bash"), Field: "pattern", Pattern: obstat.Text{Flavour: pattern.Wildcard, Text: text}, Verdict: obstat.Allow}}
	}
	_, r, err := b.Put(t.Context(), bash("make all"), offer("ls *"), offer("bash *"), offer("make all"))
	if err != nil || r == nil || len(r.Offers) != 1 || r.Offers[0].Text != "make all" {
		t.Errorf("%+v, %v", r, err)
	}
}

// TestFixed: a policy that was loaded elsewhere decides, and takes no rule.
func TestFixed(t *testing.T) {
	if _, err := (gate.Fixed{}).InForce(nil); err == nil {
		t.Error("no policy is a policy")
	}
	l := open(t, policy, nil)
	loaded := load(t, l.file)
	b := open(t, policy, func(o *gate.Options) { o.Policy = gate.Fixed{Loaded: loaded} })
	if d := b.decide(bash("rm x")); d.Verdict != obstat.Deny || loaded.Dialect.Name() != (opencode.Dialect{}).Name() {
		t.Errorf("%v", d.Verdict)
	}
	_, r, err := b.Put(t.Context(), bash("make all"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.Broker().Answer(t.Context(), r.ID, approval.Answer{By: "bob", Allow: true, Scope: approval.Always, Offer: 1}); err != nil {
		t.Fatal(err)
	}
	d, err := b.Resume(t.Context(), r.ID, nil)
	if err != nil || d.Verdict != obstat.Deny || !strings.Contains(d.Note, "no file") {
		t.Errorf("%v: %s", d.Verdict, d.Note)
	}
}

// TestTakeUp: an asker that comes back gets the request that it put before, pending or
// approved, and another one for another call.
func TestTakeUp(t *testing.T) {
	b := open(t, policy, nil)
	b.terms.TakeUp = true
	put := func(cmd string) string {
		t.Helper()
		_, r, err := b.Put(t.Context(), bash(cmd))
		if r == nil || err != nil {
			t.Fatalf("%v, %v", r, err)
		}
		return r.ID
	}
	first := put("make all")
	if again := put("make all"); again != first {
		t.Errorf("%s, want %s", again, first)
	}
	if other := put("make install"); other == first {
		t.Error("another call has the same request")
	}
	if _, err := b.Broker().Answer(t.Context(), first, approval.Answer{By: "bob", Allow: true}); err != nil {
		t.Fatal(err)
	}
	if r, err := b.Broker().Until(t.Context(), first); err != nil || r.State != approval.Approved {
		t.Errorf("%+v, %v", r, err)
	}
	if again := put("make all"); again != first {
		t.Errorf("the approval is not taken up: %s, want %s", again, first)
	}
	if d, err := b.Resume(t.Context(), first, nil); d.Verdict != obstat.Allow || err != nil {
		t.Errorf("%v, %v", d.Verdict, err)
	}
	if again := put("make all"); again == first {
		t.Error("an approval is for one run")
	}
	b.terms.TakeUp = false
	if one, two := put("make check"), put("make check"); one == two {
		t.Error("an asker that does not come back gets another's request")
	}
	b.terms.TakeUp = true
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := b.Broker().Until(gone, put("make all")); err == nil {
		t.Error("nobody has answered")
	}
	if left, _ := b.Broker().Pending(t.Context()); len(left) != 4 {
		t.Errorf("%d requests are left, want 4: they stay when the asker goes", len(left))
	}
}

// TestDoubted: what a face has a doubt about is asked about, whatever the rules allow; what
// is denied stays denied.
func TestDoubted(t *testing.T) {
	b := open(t, policy, nil)
	ctx := t.Context()
	b.terms.Doubt = "the tool has changed"
	d, r, err := b.Put(ctx, bash("git status"))
	if d.Verdict != obstat.Ask || r == nil || err != nil || !strings.Contains(d.Reason(), "the tool has changed") || len(r.Offers) > 0 {
		t.Errorf("%v, %+v, %v", d, r, err)
	}
	if d, r, _ := b.Put(ctx, bash("rm x")); d.Verdict != obstat.Deny || r != nil {
		t.Errorf("%v", d)
	}
	if _, err := b.Broker().Answer(t.Context(), r.ID, approval.Answer{By: "bob", Allow: true, Scope: approval.Session}); err != nil {
		t.Fatal(err)
	}
	if d, err := b.Resume(ctx, r.ID, &b.terms); d.Verdict != obstat.Allow || err != nil {
		t.Errorf("%v, %v", d, err)
	}
	if _, r, _ := b.Put(ctx, bash("git status")); r == nil {
		t.Error("no grant settles a doubt")
	}
}

// A keeper keeps a request with its record at once, or fails.
type keeper struct {
	*memory.Store
	fails   bool
	records int
}

func (k *keeper) PutRecorded(ctx context.Context, r *approval.Request, records ...*ledger.Record) error {
	if k.fails {
		return errors.New("the disk is full")
	}
	k.records += len(records)
	return k.PutRequest(ctx, r)
}

// TestPutTogether: a store that can keeps the request with the record that it was put;
// where that fails the call is denied.
func TestPutTogether(t *testing.T) {
	for _, fails := range []bool{false, true} {
		k := &keeper{Store: new(memory.Store), fails: fails}
		b := open(t, policy, func(o *gate.Options) { o.Store = k })
		d, r, _ := b.Put(t.Context(), bash("make all"))
		asks := 0
		for rec, err := range k.Records(t.Context(), ledger.Query{Kind: ledger.Ask}) {
			if err != nil || rec != nil {
				asks++
			}
		}
		if asks != 0 {
			t.Errorf("%d records by themselves", asks)
		}
		if fails && (d.Verdict != obstat.Deny || r != nil || !strings.Contains(d.Reason(), "the disk is full")) {
			t.Errorf("%v %v %s", d.Verdict, r, d.Reason())
		}
		if !fails && (d.Verdict != obstat.Ask || r == nil || k.records != 1) {
			t.Errorf("%v %v, %d records with the request", d.Verdict, r, k.records)
		}
	}
}
