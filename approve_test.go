package obstat_test

import (
	"testing"

	"github.com/obstat/obstat"
)

// TestRefuse: who hears that a call was refused hears why it asked, too.
func TestRefuse(t *testing.T) {
	rule := &obstat.Rule{Verdict: obstat.Ask, Source: "npm *", Pos: obstat.Pos{File: "p.json", Line: 3, Col: 5}}
	named := "ask rule " + rule.String() + " (p.json:3:5)"
	for _, tc := range []struct {
		d    obstat.Decision
		want string
	}{
		{obstat.Decision{Verdict: obstat.Ask, Tool: "bash", Rule: rule}, named + ": nobody answered"},
		{obstat.Decision{Verdict: obstat.Ask, Tool: "bash", Rule: rule, Part: "npm ci", Note: "it runs code"}, named + ", on npm ci: it runs code; nobody answered"},
		{obstat.Decision{Verdict: obstat.Ask, Tool: "bash", Mode: "plan"}, "bash: no rule is about it, and mode plan asks then; nobody answered"},
		{obstat.Decision{Verdict: obstat.Ask, Tool: "bash", Faults: []obstat.Fault{{Msg: "no disk"}}}, "no disk; nobody answered"},
		{obstat.Decision{Verdict: obstat.Allow, Tool: "bash", Note: "fine"}, "nobody answered"}, // it never asked
	} {
		got := tc.d.Refuse(obstat.By{Kind: obstat.ByTimeout, Note: "nobody answered"})
		if got.Verdict != obstat.Deny || got.Reason() != tc.want {
			t.Errorf("%v, %q, want %q", got.Verdict, got.Reason(), tc.want)
		}
	}
}
