package ledger_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/obstat/obstat/ledger"
)

// TestJoin: one call is one entry, with what came of it.
func TestJoin(t *testing.T) {
	seq := uint64(0)
	rec := func(kind ledger.Kind, session, call, verdict string) *ledger.Record {
		seq++
		return &ledger.Record{Seq: seq, Kind: kind, Agent: "codex", Session: session, Call: call, Verdict: verdict}
	}
	d, o := ledger.Decision, ledger.Outcome
	var got []string
	for _, e := range ledger.Join([]*ledger.Record{
		rec(d, "s", "a", "allow"), rec(d, "t", "a", "allow"), rec(o, "s", "a", "ran"), // another session's call is another
		rec(d, "s", "a", "allow"), rec(o, "s", "a", "failed"), // made again
		rec(d, "s", "b", "ask"), rec(d, "s", "f", "deny"), rec(d, "s", "b", "allow"), rec(o, "s", "b", "ran"), // asked for twice
		rec(d, "s", "c", "ask"), rec(o, "s", "c", "ran"), // the agent's own prompt
		rec(o, "s", "x", "ran"), rec(ledger.Start, "", "", ""), rec(d, "s", "e", "deny"),
	}) {
		text := string(e.Kind) + " " + e.Session + e.Call + " " + e.Verdict
		if e.Outcome != nil {
			text += " " + e.Outcome.Verdict
		}
		got = append(got, fmt.Sprintf("%s %d", text, len(e.Before)))
	}
	want := "decision sa allow ran 0|decision ta allow 0|decision sa allow failed 0|decision sf deny 0|decision sb allow ran 1|decision sc ask ran 0|outcome sx ran 0|start   0|decision se deny 0"
	if s := strings.Join(got, "|"); s != want {
		t.Errorf("got  %s\nwant %s", s, want)
	}
}
