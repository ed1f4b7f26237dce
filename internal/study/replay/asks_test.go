package replay_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/internal/keep/memory"
	"github.com/obstat/obstat/internal/study/replay"
	"github.com/obstat/obstat/ledger"
)

// TestAsksThatWereNotApproved: a call that asked counts once, whether its approval was claimed,
// people refused it, nobody answered, or it still waits.
func TestAsksThatWereNotApproved(t *testing.T) {
	s, now := new(memory.Store), time.Unix(1_700_000_000, 0)
	add := func(kind ledger.Kind, request, verdict string) {
		t.Helper()
		r := &ledger.Record{Time: now, Kind: kind, Request: request, Verdict: verdict, Tool: "Bash", Rule: "Bash(make *)"}
		if kind != ledger.Answer {
			r.Input = json.RawMessage(`{"command":"make ` + request + `"}`)
		}
		if kind == ledger.Decision {
			r.Detail, r.World = json.RawMessage(`{"said":"ask"}`), &obstat.Snapshot{}
		}
		if err := s.Append(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	for request, ends := range map[string][]string{"claimed": {"approved"}, "refused": {"refused"}, "expired": {"expired"}, "late": {"approved", "lapsed"}, "open": nil} {
		add(ledger.Ask, request, "ask")
		for _, end := range ends {
			add(ledger.Answer, request, end)
		}
		if request == "claimed" {
			add(ledger.Decision, request, "allow")
			add(ledger.Answer, request, "lapsed") // its caller was not heard of again
		}
	}
	add(ledger.Ask, "waited", "ask") // as a gate writes it that waits for the answer
	add(ledger.Answer, "waited", "refused")
	add(ledger.Decision, "waited", "deny")
	rep, err := replay.Run(s.Records(t.Context(), ledger.Query{}), compile(t, program(obstat.Deny)), compile(t, program(obstat.Ask)))
	if err != nil || rep.Calls != 6 || rep.Flipped["ask → deny"] != 6 || rep.Inexact != 4 || len(rep.Flips) != 6 {
		t.Errorf("%+v %v", rep, err)
	}
	st, err := replay.CountRecords(s.Records(t.Context(), ledger.Query{}), &replay.StatsOptions{Program: program(obstat.Ask), Text: func(c *obstat.Call) string { return c.Tool }})
	if err != nil || st.Verdicts["allow"] != 1 || st.Verdicts["deny"] != 4 || st.Verdicts["ask"] != 1 || len(st.Asked) != 1 || st.Asked[0].N != 6 || st.Rules[0].N != 6 {
		t.Errorf("%+v %v", st, err)
	}
}
