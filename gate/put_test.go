package gate_test

import (
	"strings"
	"testing"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/approval"
	"github.com/obstat/obstat/dialect/opencode"
	"github.com/obstat/obstat/gate"
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
		if d, err := b.Resume(t.Context(), r.ID); d.Verdict != want || err != nil {
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
	d, err := b.Resume(t.Context(), r.ID)
	if err != nil || d.Verdict != obstat.Allow || !strings.Contains(d.Note, "no file") {
		t.Errorf("%v: %s", d.Verdict, d.Note)
	}
}
