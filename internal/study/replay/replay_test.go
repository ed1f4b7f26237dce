package replay_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/internal/keep/memory"
	"github.com/obstat/obstat/internal/study/replay"
	"github.com/obstat/obstat/ledger"
	"github.com/obstat/obstat/pattern"
)

func program(verdict obstat.Verdict) *obstat.Program {
	return &obstat.Program{Mode: "default", Pipelines: map[obstat.Mode]obstat.Pipeline{"default": {
		Stages: []obstat.Stage{obstat.Match{Name: "rules", Rules: "rules", Pick: obstat.First}}, Default: obstat.Ask}},
		Rules: map[string][]obstat.Rule{"rules": {
			{Tool: obstat.Is("Bash"), Field: "command", Pattern: obstat.Text{Flavour: pattern.Wildcard, Text: "make *"}, Verdict: verdict, Pos: obstat.Pos{File: "p", Line: 1, Col: 1}},
			{Tool: obstat.Is("Bash"), Field: "command", Pattern: obstat.Is("never"), Verdict: obstat.Deny, Pos: obstat.Pos{File: "p", Line: 2, Col: 1}},
		}}}
}

func compile(t *testing.T, p *obstat.Program) *obstat.Policy {
	t.Helper()
	pol, err := obstat.Compile(p, nil)
	if err != nil {
		t.Fatal(err)
	}
	return pol
}

// fill writes what pol says to some calls.
func fill(t *testing.T, s *memory.Store, pol *obstat.Policy, commands ...string) {
	t.Helper()
	for i, c := range commands {
		input, _ := json.Marshal(map[string]string{"command": c})
		call := &obstat.Call{Tool: "Bash", Input: input}
		d := pol.Decide(call, &obstat.Snapshot{})
		detail, _ := json.Marshal(ledger.Circumstances{Said: d.Verdict})
		r := &ledger.Record{Time: time.Unix(int64(1_700_000_000+60*i), 0), Kind: ledger.Decision, Tool: call.Tool, Input: input, Verdict: d.Verdict.String(), Policy: pol.Digest(), Detail: detail, World: &obstat.Snapshot{}}
		if d.Rule != nil {
			r.Rule, r.Pos = d.Rule.String(), d.Rule.Pos
		}
		if err := s.Append(context.Background(), r); err != nil {
			t.Fatal(err)
		}
	}
}

func TestRun(t *testing.T) {
	old, s := compile(t, program(obstat.Ask)), new(memory.Store)
	fill(t, s, old, "make test", "make test", "make all", "ls")
	if err := s.Append(t.Context(), &ledger.Record{Kind: ledger.Start}, &ledger.Record{Kind: ledger.Decision, Tool: "Bash", Detail: json.RawMessage(`[]`)}); err != nil {
		t.Fatal(err)
	}
	same, err := replay.Run(s.Records(t.Context(), ledger.Query{}), old, nil)
	if err != nil || same.Calls != 4 || same.Same != 4 || len(same.Flips) != 0 || same.Drifted != 0 || same.Unreadable != 1 {
		t.Errorf("the same policy: %+v %v", same, err)
	}
	rep, err := replay.Run(s.Records(t.Context(), ledger.Query{}), compile(t, program(obstat.Deny)), nil)
	if err != nil || rep.Same != 1 || rep.Flipped["ask → deny"] != 3 || len(rep.Flips) != 2 || rep.Inexact != 0 {
		t.Fatalf("%+v %v", rep, err)
	}
	if f := rep.Flips[0]; f.Count != 2 || f.Seq != 2 || f.Way() != "ask → deny" || f.Pos.Line != 1 || f.Reason == "" {
		t.Errorf("%+v", f)
	}
}

// TestInexact: what was masked or not written down is said.
func TestInexact(t *testing.T) {
	s, old := new(memory.Store), compile(t, program(obstat.Ask))
	for _, r := range []*ledger.Record{
		{Kind: ledger.Decision, Tool: "Bash", Input: json.RawMessage(`{"command":"make x"}`), Verdict: "ask", Policy: old.Digest()},
		{Kind: ledger.Decision, Tool: "Bash", Input: json.RawMessage(`{"command":"[masked]"}`), Verdict: "allow", Detail: json.RawMessage(`{"said":"allow"}`), Masked: []ledger.Masked{{Pointer: "/command"}}, World: &obstat.Snapshot{}},
	} {
		if err := s.Append(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	rep, err := replay.Run(s.Records(t.Context(), ledger.Query{}), old, nil)
	if err != nil || rep.Inexact != 2 || rep.Calls != 2 || rep.Drifted != 0 {
		t.Errorf("%+v %v", rep, err)
	}
}

func TestStats(t *testing.T) {
	s := new(memory.Store)
	p := program(obstat.Ask)
	fill(t, s, compile(t, p), "make test", "make test", "make all", "never?")
	if err := s.Append(t.Context(), &ledger.Record{Time: time.Unix(1_700_000_100, 0), Kind: ledger.Answer, Verdict: "approved"}); err != nil {
		t.Fatal(err)
	}
	st, err := replay.CountRecords(s.Records(t.Context(), ledger.Query{}), &replay.StatsOptions{Buckets: 4, Top: 1, Program: p, Text: func(c *obstat.Call) string { return string(c.Input) }})
	if err != nil {
		t.Fatal(err)
	}
	got := fmt.Sprint(st.Records, st.Verdicts, st.Answers, st.Asked, st.Rules, len(st.Buckets), st.Buckets[0].Verdicts, st.Unused)
	if want := `5 map[ask:4] map[approved:1] [{{"command":"make test"} 2}] [{Bash(make *) 3}] 4 map[ask:1] [{Bash(never) deny p:2:1}]`; got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	empty, err := replay.CountRecords(new(memory.Store).Records(t.Context(), ledger.Query{}), &replay.StatsOptions{})
	if err != nil || empty.Records != 0 {
		t.Errorf("%+v %v", empty, err)
	}
}
