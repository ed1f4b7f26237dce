package gate_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/approval"
	"github.com/obstat/obstat/gate"
	"github.com/obstat/obstat/internal/keep/memory"
	"github.com/obstat/obstat/ledger"
)

// broken is a store that fails as it is told.
type broken struct {
	*memory.Store
	append, put, grants atomic.Bool
}

var errDisk = errors.New("no space left on device")

func (s *broken) Append(ctx context.Context, rs ...*ledger.Record) error {
	if s.append.Load() {
		return errDisk
	}
	return s.Store.Append(ctx, rs...)
}

func (s *broken) PutRequest(ctx context.Context, r *approval.Request) error {
	if s.put.Load() {
		return errDisk
	}
	return s.Store.PutRequest(ctx, r)
}

func (s *broken) Grants(ctx context.Context, now time.Time) ([]*approval.Grant, error) {
	if s.grants.Load() {
		return nil, errDisk
	}
	return s.Store.Grants(ctx, now)
}

func TestStoreBreaks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &broken{Store: new(memory.Store)}
		b := open(t, policy, func(o *gate.Options) { o.Store = s })
		b.store = s.Store
		s.append.Store(true)
		for _, c := range []string{"git status", "make"} {
			d, err := b.Authorize(t.Context(), bash(c))
			check(t, d, obstat.Deny, "ledger", "no space left")
			if !errors.Is(err, errDisk) {
				t.Errorf("%v", err)
			}
		}
		if st := b.Status(t.Context()); !strings.Contains(st.Ledger, "no space") {
			t.Errorf("%+v", st)
		}
		if rs, _ := s.Requests(t.Context(), approval.Query{}); len(rs) != 0 {
			t.Errorf("somebody was asked about a call that cannot be written down")
		}
		s.append.Store(false)
		check(t, b.decide(bash("git status")), obstat.Allow)
		if st := b.Status(t.Context()); st.Ledger != "" {
			t.Errorf("%+v", st)
		}
		s.put.Store(true)
		check(t, b.decide(bash("make")), obstat.Deny, "nobody could be asked", "no space left")
		s.put.Store(false)
		s.grants.Store(true)
		check(t, b.decide(bash("make")), obstat.Deny, "cannot be looked up")
		s.grants.Store(false)
		check(t, b.answer(bash("make"), approval.Answer{Allow: true}), obstat.Allow)
	})
}

// TestSecrets: what a call carries is not in the ledger, wherever it was quoted.
func TestSecrets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := open(t, policy, nil)
		const token = "ghp_abcdefghijklmnopqrstuvwxyz0123456789"
		c := bash("curl -H 'Authorization: Bearer " + token + "' https://example.com && make")
		check(t, b.answer(c, approval.Answer{Allow: true, Input: json.RawMessage(`{"command":"curl -H 'Authorization: Bearer ` + token + `' https://example.org"}`)}), obstat.Allow)
		for r := range b.store.Records(t.Context(), ledger.Query{}) {
			if line, err := r.Encode(); err != nil || strings.Contains(string(line), token) {
				t.Errorf("%s %v", line, err)
			}
		}
	})
}

// TestResume: a request outlives its asker, and its answer is for one run.
func TestResume(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := open(t, policy, nil)
		for _, tt := range []struct {
			command string
			answer  approval.Answer
			want    obstat.Verdict
			says    string
		}{
			{"make", approval.Answer{Allow: true}, obstat.Allow, "approved by bob"},
			{"make x", approval.Answer{Words: "no"}, obstat.Deny, "refused by bob: no"},
			{"rm x", approval.Answer{Allow: true}, obstat.Deny, "rm *"}, // the policy of now
		} {
			r := &approval.Request{ID: approval.NewID("req_"), Call: *bash(tt.command), Policy: b.Status(t.Context()).Policy, Created: time.Now(), Expires: time.Now().Add(time.Hour)}
			if err := b.store.PutRequest(t.Context(), r); err != nil {
				t.Fatal(err)
			}
			tt.answer.By = "bob"
			if _, err := b.Broker().Answer(t.Context(), r.ID, tt.answer); err != nil {
				t.Fatal(err)
			}
			d, err := b.Resume(t.Context(), r.ID, nil)
			check(t, d, tt.want, tt.says)
			if err != nil {
				t.Error(err)
			}
			if d, _ := b.Resume(t.Context(), r.ID, nil); d.Verdict != obstat.Deny {
				t.Errorf("a second time: %s", d.Reason())
			}
		}
		if d, err := b.Resume(t.Context(), "nothing", nil); err == nil || d.Verdict != obstat.Deny {
			t.Errorf("%v %v", d, err)
		}
	})
}

// TestClaimIsBound: an approval is for the call's bytes, for a time that starts
// with it, and for the question that the policy asked then.
func TestClaimIsBound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := open(t, policy, nil)
		put := func(command, rule, policy string) string {
			r := &approval.Request{ID: approval.NewID("req_"), Call: *bash(command), Digest: "d", Rule: rule, Policy: policy, Created: time.Now(), Expires: time.Now().Add(time.Hour)}
			if err := b.store.PutRequest(t.Context(), r); err != nil {
				t.Fatal(err)
			}
			time.Sleep(50 * time.Minute)
			if _, err := b.Broker().Answer(t.Context(), r.ID, approval.Answer{By: "bob", Allow: true}); err != nil {
				t.Fatal(err)
			}
			return r.ID
		}
		now := b.Status(t.Context()).Policy
		id := put("make", "", now)
		if d, err := b.Claim(t.Context(), id, approval.Claiming{Digest: "of another call"}); !errors.Is(err, approval.ErrOther) || d.Verdict != obstat.Deny {
			t.Errorf("another call's bytes: %v %v", d.Verdict, err)
		}
		time.Sleep(14 * time.Minute) // long after the request began, shortly after its approval
		d, err := b.Claim(t.Context(), id, approval.Claiming{By: "agent", Digest: "d", Lease: time.Minute})
		check(t, d, obstat.Allow, "approved by bob")
		if r, rerr := b.store.Request(t.Context(), id); err != nil || rerr != nil || r.State != approval.Claimed {
			t.Errorf("%+v %v %v", r, err, rerr)
		}
		id = put("make", "", now)
		time.Sleep(16 * time.Minute)
		d, _ = b.Claim(t.Context(), id, approval.Claiming{})
		check(t, d, obstat.Deny, "nobody claimed the approval in time")
		d, _ = b.Claim(t.Context(), put("make", "", "another policy"), approval.Claiming{})
		check(t, d, obstat.Deny, "approved under another policy")
		asked, req, err := b.Put(t.Context(), bash("make"))
		if err != nil || req == nil {
			t.Fatal(asked.Reason(), err)
		}
		d, _ = b.Claim(t.Context(), put("make", req.Rule, "another policy, the same rule"), approval.Claiming{})
		check(t, d, obstat.Allow, "approved by bob")
	})
}

// TestBrokenSaidOnce: a policy that cannot be loaded is told once.
func TestBrokenSaidOnce(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "obstat.json"), []byte(`{"obstat":1,"a":1,"b":2}`), 0o600); err != nil {
		t.Fatal(err)
	}
	g, err := gate.Open(t.Context(), gate.Options{Policy: &gate.Files{Dir: dir, Home: t.TempDir(), NoPins: true}, NoStart: true})
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	d, _ := g.Authorize(t.Context(), &obstat.Call{Tool: "Bash", Input: []byte(`{"command":"ls"}`), Dir: dir}, &gate.Terms{Ask: gate.Leave})
	if d.Verdict != obstat.Deny || strings.Count(d.Reason(), "cannot be loaded") != 1 {
		t.Errorf("%s: %s", d.Verdict, d.Reason())
	}
}
