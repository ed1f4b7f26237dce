package gate_test

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/approval"
	"github.com/obstat/obstat/gate"
	"github.com/obstat/obstat/internal/guard/protect"
	"github.com/obstat/obstat/ledger"
)

// TestSelf: a call that changes the policy asks though the policy allows it,
// every time, and no answer holds for longer than once.
func TestSelf(t *testing.T) {
	b := open(t, `{"permission": "allow"}`, nil)
	in, _ := json.Marshal(map[string]string{"command": "cp /tmp/new.json " + b.file})
	call := &obstat.Call{Tool: "bash", Input: in, Agent: "a", Session: "s", Dir: filepath.Dir(b.file)}
	synctest.Test(t, func(t *testing.T) {
		ctx := context.Background()
		for round := range 2 {
			type result struct {
				d   obstat.Decision
				err error
			}
			done := make(chan result)
			go func() {
				d, err := b.Authorize(ctx, call)
				done <- result{d, err}
			}()
			synctest.Wait()
			pending, err := b.Broker().Pending(ctx)
			if err != nil || len(pending) != 1 {
				t.Fatalf("round %d: %d requests, %v", round, len(pending), err)
			}
			r := pending[0]
			if len(r.Offers) > 0 || !r.Safety || !strings.Contains(r.Reason, "only with a person's answer") {
				t.Errorf("%+v", r)
			}
			if _, err := b.Broker().Answer(ctx, r.ID, approval.Answer{By: "ann", Allow: true, Scope: approval.Session}); err == nil || !strings.Contains(err.Error(), "once only") {
				t.Errorf("for the session: %v", err)
			}
			rule := []byte(`{"tool":"bash","field":"command","match":{"wildcard":"cp *"},"verdict":"allow"}`)
			if _, err := b.Broker().Answer(ctx, r.ID, approval.Answer{By: "ann", Allow: true, Scope: approval.Always, Rule: rule}); err == nil {
				t.Error("always was taken")
			}
			if _, err := b.Broker().Answer(ctx, r.ID, approval.Answer{By: "ann", Allow: true, Scope: approval.Once}); err != nil {
				t.Fatal(err)
			}
			if res := <-done; res.err != nil || res.d.Verdict != obstat.Allow {
				t.Errorf("round %d: %v %v", round, res.d, res.err)
			}
			time.Sleep(time.Second)
		}
	})
	// What the policy said is in the ledger for whoever replays it.
	for r, err := range b.store.Records(context.Background(), ledger.Query{Kind: ledger.Decision}) {
		if err != nil {
			t.Fatal(err)
		}
		if _, more, err := r.Replayable(); err != nil || more.Said != obstat.Allow || r.Verdict != "allow" {
			t.Errorf("%+v, %v", more, err)
		}
	}
}

// TestSelfForeignGrant: a grant that a process without the gate's knowledge
// left behind does not settle a change of what guards the agent.
func TestSelfForeignGrant(t *testing.T) {
	b := open(t, `{"permission": "allow"}`, func(o *gate.Options) { o.Guarded = []string{"/srv/store"} })
	b.terms.Ask = gate.Leave
	ctx := context.Background()
	call := &obstat.Call{Tool: "bash", Input: []byte(`{"command":"rm -rf /srv/store"}`), Agent: "a", Session: "s", Dir: "/src"}
	plain := approval.New(b.store, nil)
	r := &approval.Request{ID: "req_x", Call: *call, Digest: fmt.Sprintf("%x", call.Digest()), Created: time.Now(), Expires: time.Now().Add(time.Minute), State: approval.Pending}
	if err := b.store.PutRequest(ctx, r); err != nil {
		t.Fatal(err)
	}
	if _, err := plain.Answer(ctx, r.ID, approval.Answer{By: "ann", Allow: true, Scope: approval.Session}); err != nil {
		t.Fatal(err)
	}
	d, err := b.Authorize(ctx, call)
	if err != nil || d.Verdict != obstat.Ask || d.Stage != protect.Stage || !d.Safety {
		t.Errorf("%+v, %v", d, err)
	}
}

// TestSelfReadings: a call that changes the policy if its tool takes another field for the command asks as well.
func TestSelfReadings(t *testing.T) {
	b := open(t, `{"permission": "allow"}`, nil)
	for _, cmd := range []string{"cp /tmp/new.json " + b.file, "git status"} {
		in, _ := json.Marshal(map[string]string{"command": "git status", "cmd": cmd})
		d, err := b.Gate.Authorize(t.Context(), &obstat.Call{Tool: "run_shell", Input: in, Agent: "a", Session: "s",
			Dir: filepath.Dir(b.file)}, &gate.Terms{Ask: gate.Leave})
		if want := map[bool]obstat.Verdict{true: obstat.Allow, false: obstat.Ask}[cmd == "git status"]; d.Verdict != want || err != nil {
			t.Errorf("%s: %v, want %v: %s, %v", cmd, d.Verdict, want, d.Reason(), err)
		}
	}
}
