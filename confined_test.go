package obstat_test

import (
	"testing"

	"github.com/obstat/obstat"
)

// TestConfinedReason: the reason of a confined run says how far, and what it is about.
func TestConfinedReason(t *testing.T) {
	ask := obstat.Decision{Verdict: obstat.Ask, OnlyUnknown: true, Tool: "Bash", Part: "make"}
	for brief, want := range map[string]string{
		"":                 "make: runs confined at level files to what the policy allows",
		"writes workspace": "make: runs confined at level files to what the policy allows: writes workspace",
	} {
		if d := ask.Confine(&obstat.Confined{Level: "files", Brief: brief}, nil); d.Reason() != want {
			t.Errorf("%q, want %q", d.Reason(), want)
		}
	}
}
