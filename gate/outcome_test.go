package gate

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/ledger"
)

// TestReported: the end of a call is written down with its state and no more than the beginning of its error, and begins
// a count anew only if the call ran.
func TestReported(t *testing.T) {
	for state, want := range map[string]bool{"ran": true, "failed": true, "not run": false} {
		kept := &anyLedger{}
		counted := &countedSessions{Sessions: new(sessionMap)}
		g, err := Open(t.Context(), Options{Policy: noPolicy{}, World: &obstat.Snapshot{}, NoStart: true, Ledger: kept, Sessions: counted})
		if err != nil {
			t.Fatal(err)
		}
		c := &obstat.Call{Tool: "Bash", Input: []byte(`{"command":"ls"}`), Agent: "a", Session: "s", User: "u", Dir: "/p"}
		if err := g.Report(t.Context(), c, &Outcome{State: state, Took: time.Second, Result: []byte("x"), Error: strings.Repeat("e", 600)}); err != nil {
			t.Fatal(err)
		}
		g.Close()
		if len(kept.records) != 1 {
			t.Fatalf("%d records", len(kept.records))
		}
		r := kept.records[0]
		if r.Kind != ledger.Outcome || r.Verdict != state || r.Nanos != int64(time.Second) || r.Call != c.DigestText() || r.Agent != "a" || r.Session != "s" || r.User != "u" ||
			r.Dir != "/p" || r.Tool != "Bash" || len(r.Detail) == 0 {
			t.Errorf("%+v", r)
		}
		if want := ledger.ClipTo(strings.Repeat("e", 600), 500); r.Reason != want {
			t.Errorf("the error in %d bytes", len(r.Reason))
		}
		if counted.n > 0 != want {
			t.Errorf("%s: counted %d times", state, counted.n)
		}
	}
}

// anyLedger keeps records in memory.
type anyLedger struct{ records []*ledger.Record }

func (l *anyLedger) Append(_ context.Context, rs ...*ledger.Record) error {
	l.records = append(l.records, rs...)
	return nil
}

// countedSessions counts how often a tally is changed.
type countedSessions struct {
	Sessions
	n int
}

func (s *countedSessions) Tally(key string, change func([]byte) []byte) error {
	s.n++
	return s.Sessions.Tally(key, change)
}
