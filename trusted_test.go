package obstat_test

import (
	"encoding/json"
	"sync"
	"testing"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/pattern"
	"pgregory.net/rapid"
)

// trust compiles a Program as one that is known to compile.
func trust(t interface{ Fatal(...any) }, p *obstat.Program) *obstat.Policy {
	pol, err := obstat.Compile(p, &obstat.Options{Trusted: p.Digest()})
	if err != nil {
		t.Fatal(err)
	}
	return pol
}

// What is taken on trust decides, and explains, as what is not.
func TestTrusted(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := genProgram(t)
		full, trusted := mustCompile(t, p), trust(t, p)
		if full.Digest() != trusted.Digest() {
			t.Errorf("digests %s and %s", full.Digest(), trusted.Digest())
		}
		for range 4 {
			call := genCall(t)
			want, got := full.Decide(call, nil), trusted.Decide(call, nil)
			if got.Verdict != want.Verdict || got.Reason() != want.Reason() {
				t.Fatalf("on %s %s: %v %s, on trust %v %s", call.Tool, call.Input, want.Verdict, want.Reason(), got.Verdict, got.Reason())
			}
		}
	})
}

// Trust that was misplaced denies what it cannot answer.
func TestTrustedBroken(t *testing.T) {
	p := sample(obstat.Rule{Tool: obstat.Is("Bash"), Field: "command", Verdict: obstat.Deny, Pattern: obstat.Text{Flavour: pattern.Search, Text: "rm ("}},
		rule(obstat.Allow, "Bash", "command", "*"))
	pol := trust(t, p)
	d := pol.Decide(&obstat.Call{Tool: "Bash", Input: json.RawMessage(`{"command":"rm x"}`)}, nil)
	if d.Verdict != obstat.Deny || len(d.Faults) == 0 {
		t.Errorf("%v %v", d.Verdict, d.Faults)
	}
}

func TestTrustedConcurrently(t *testing.T) {
	pol := trust(t, sample(rule(obstat.Deny, "Bash", "command", "git push *"), rule(obstat.Allow, "Bash", "command", "git *"),
		obstat.Rule{Tool: obstat.Is("Bash"), Field: "command", Verdict: obstat.Ask, Pattern: obstat.Text{Flavour: pattern.Search, Text: `git (fetch|\w+x)`}}))
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for _, c := range []struct {
				input string
				want  obstat.Verdict
			}{{`{"command":"git push x"}`, obstat.Deny}, {`{"command":"git fetch"}`, obstat.Ask}, {`{"command":"git log"}`, obstat.Allow}} {
				call := &obstat.Call{Tool: "Bash", Input: json.RawMessage(c.input)}
				if d, _ := pol.Explain(call, nil); d.Verdict != c.want || pol.Decide(call, nil).Verdict != c.want {
					t.Errorf("%s: %v", c.input, d.Verdict)
				}
			}
		})
	}
	wg.Wait()
}
