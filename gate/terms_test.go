package gate_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/approval"
	"github.com/obstat/obstat/gate"
	"github.com/obstat/obstat/internal/keep/memory"
	"github.com/obstat/obstat/ledger"
)

// TestTry: a try tells the grant that would settle the call, and neither counts it nor writes anything down.
func TestTry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := open(t, policy, func(o *gate.Options) { o.Approval.Timeout = time.Second })
		check(t, b.answer(bash("make"), approval.Answer{Allow: true, Scope: approval.Session, Until: time.Now().Add(time.Hour)}), obstat.Allow)
		elsewhere := bash("make")
		elsewhere.Session = "s2"
		decisions := len(b.records(ledger.Decision))
		for _, tt := range []struct {
			name  string
			call  *obstat.Call
			doubt string
			want  obstat.Verdict
			grant bool
		}{
			{"granted", bash("make"), "", obstat.Ask, true},
			{"another call", bash("make x"), "", obstat.Ask, false},
			{"another session", elsewhere, "", obstat.Ask, false},
			{"in doubt", bash("make"), "its words have changed", obstat.Ask, false},
			{"allowed", bash("git status"), "", obstat.Allow, false},
			{"denied", bash("rm x"), "", obstat.Deny, false},
		} {
			d, err := b.Gate.Authorize(t.Context(), tt.call, &gate.Terms{Ask: gate.Try, Doubt: tt.doubt})
			if err != nil || d.Verdict != tt.want || (d.Grant != nil) != tt.grant || d.Request != nil {
				t.Errorf("%s: %s, grant %v: %v", tt.name, d.Verdict, d.Grant, err)
			}
		}
		if n := len(b.records(ledger.Decision)); n != decisions {
			t.Errorf("%d decisions more", n-decisions)
		}
	})
}

// TestSameRequest: a request that waits for the same call already is taken up in place of another.
func TestSameRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := open(t, policy, nil)
		first, r, err := b.Put(t.Context(), bash("make"))
		if err != nil || r == nil {
			t.Fatal(first.Reason(), err)
		}
		terms := &gate.Terms{Ask: gate.Put, Same: func(_ context.Context, put *approval.Request) *approval.Request {
			if string(put.Call.Input) == string(r.Call.Input) {
				return r
			}
			return nil
		}}
		if d, err := b.Gate.Authorize(t.Context(), bash("make"), terms); err != nil || d.Verdict != obstat.Ask || d.Request != r {
			t.Errorf("%s with %v, %v", d.Verdict, d.Request, err)
		}
		if d, err := b.Gate.Authorize(t.Context(), bash("make x"), terms); err != nil || d.Request == nil || d.Request == r {
			t.Errorf("another call: %s with %v, %v", d.Verdict, d.Request, err)
		}
		if rs, _ := b.Broker().Pending(t.Context()); len(rs) != 2 {
			t.Errorf("%d requests", len(rs))
		}
	})
}

// TestSuggested: what the agent offers with its own prompt is written down with an ask, and with nothing else.
func TestSuggested(t *testing.T) {
	b := open(t, policy, nil)
	for command, want := range map[string]bool{"make": true, "git status": false, "rm x": false} {
		if _, err := b.Gate.Authorize(t.Context(), bash(command), &gate.Terms{Ask: gate.Leave, Suggested: []string{"Bash(suggested *)"}}); err != nil {
			t.Fatal(err)
		}
		rs := b.records(ledger.Decision)
		last := rs[len(rs)-1]
		if text, err := last.Encode(); err != nil || strings.Contains(string(text), "suggested *") != want {
			t.Errorf("%s: %s, %v", command, text, err)
		}
	}
}

// keyless is a ledger whose key cannot be read.
type keyless struct{ *memory.Store }

var errKey = errors.New("the key is gone")

func (keyless) Key() ([]byte, error) { return nil, errKey }

// TestWithoutKey: a gate does not open where the key of the ledger's digests cannot be read: no decision could be written
// down.
func TestWithoutKey(t *testing.T) {
	for name, opts := range map[string]gate.Options{"of the ledger": {Ledger: keyless{new(memory.Store)}}, "of the store": {Store: keyless{new(memory.Store)}}} {
		opts.Policy = &gate.Files{Dir: t.TempDir(), Home: t.TempDir(), NoPins: true}
		_, err := gate.Open(t.Context(), opts)
		if !errors.Is(err, errKey) || !strings.Contains(err.Error(), "the key of the ledger's digests") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestRecord: a face's deeds are written down, without secrets.
func TestRecord(t *testing.T) {
	b := open(t, policy, nil)
	const token = "ghp_" + "abcdefghijklmnopqrstuvwxyz0123456789"
	if err := b.Gate.Record(t.Context(), &ledger.Record{Kind: ledger.Damage, Reason: "one " + token}, &ledger.Record{Kind: ledger.Damage, Reason: "two"}); err != nil {
		t.Fatal(err)
	}
	rs := b.records(ledger.Damage)
	if len(rs) != 2 {
		t.Fatalf("%d records", len(rs))
	}
	for _, r := range rs {
		if strings.Contains(r.Reason, token) || !strings.HasPrefix(r.Reason, "one ") && r.Reason != "two" {
			t.Errorf("%s", r.Reason)
		}
	}
}

// TestResumeWithoutStore: where requests cannot be looked up, none is resumed.
func TestResumeWithoutStore(t *testing.T) {
	gone := errors.New("the disk is gone")
	g, err := gate.Open(t.Context(), gate.Options{Policy: &gate.Files{Dir: t.TempDir(), Home: t.TempDir(), NoPins: true}, NoStart: true, Ledger: new(memory.Store),
		Open: func(context.Context) (gate.Store, error) { return nil, gone }})
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	d, err := g.Resume(t.Context(), "req_1", nil)
	if check(t, d, obstat.Deny, "the disk is gone"); !errors.Is(err, gone) || d.By.Kind != obstat.ByFault {
		t.Errorf("by %s, %v", d.By.Kind, err)
	}
}

// TestRuleOfPerson: a rule that a person wrote is taken as long as it settles the call, for good or for the session, and
// lifts no denial.
func TestRuleOfPerson(t *testing.T) {
	const strict = `{"permission": {"bash": {"*": "ask", "make *": "ask", "make install*": "deny", "rm *": "deny"}}}`
	for _, tt := range []struct {
		name, rule string
		scope      approval.Scope
		err        string
	}{
		{"this call for good", "make test", approval.Always, ""},
		{"this call for the session", "make test", approval.Session, ""},
		{"calls like it", "make t*", approval.Always, ""},
		{"another call", "make x", approval.Always, "would not be allowed"},
		{"another call for the session", "make x", approval.Session, "would not be allowed"},
		{"all of some programs, behind the denials", "mak*", approval.Always, ""},
	} {
		synctest.Test(t, func(t *testing.T) {
			b := open(t, strict, nil)
			_, r, err := b.Put(t.Context(), bash("make test"))
			if err != nil || r == nil || len(r.Offers) == 0 {
				t.Fatal(r, err)
			}
			rule := strings.ReplaceAll(string(r.Offers[0].Rule), "make test", tt.rule)
			if !strings.Contains(rule, tt.rule) {
				t.Skip("the offer is not of the call: " + rule)
			}
			rule = strings.NewReplacer(tt.rule+" *", tt.rule).Replace(rule)
			a := approval.Answer{By: "bob", Allow: true, Scope: tt.scope, Rule: []byte(rule)}
			if tt.scope == approval.Session {
				a.Until = time.Now().Add(time.Hour)
			}
			_, err = b.Broker().Answer(t.Context(), r.ID, a)
			if (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
				t.Errorf("%s: %s: %v, want %q", tt.name, rule, err, tt.err)
			}
			check(t, b.decide(bash("make install x")), obstat.Deny, "make install")
		})
	}
}
