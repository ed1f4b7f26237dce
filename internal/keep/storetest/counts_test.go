package storetest

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/obstat/obstat/internal/keep/tally"
	"github.com/obstat/obstat/ledger"
)

// decided returns a record of a decision about a command.
func decided(command, said, verdict string, at time.Time) *ledger.Record {
	digest := fmt.Sprintf("%032x", len(command)) + strings.Repeat("0", 32)
	return &ledger.Record{Time: at, Kind: ledger.Decision, Agent: "a", Tool: "Bash", Verdict: verdict, Rule: "rule " + verdict,
		Input: json.RawMessage(`{"command":"` + command + `"}`), Call: digest, Detail: json.RawMessage(`{"said":"` + said + `"}`), Nanos: 70_000}
}

// sums adds the counts up, by dimension, name and kind.
func sums(t *testing.T, s Store, since time.Time) map[string]int64 {
	t.Helper()
	out := map[string]int64{}
	must(t, s.Counts(ctx(), since, func(r tally.Row) { out[strings.Join([]string{r.Dim, r.Name, r.What}, "/")] += r.N }))
	return out
}

// testCounts: records are counted once, however often they are asked for and in whichever order, and again after a
// recount.
func testCounts(t *testing.T, s Store) {
	now := time.Now().Add(-3 * time.Hour).UTC()
	for i := range 30 {
		must(t, s.Append(ctx(), decided("git status", "allow", "allow", now), decided("rm x", "deny", "deny", now)))
		if i%10 == 0 {
			sums(t, s, time.Time{})
		}
	}
	must(t, s.Append(ctx(), &ledger.Record{Time: now, Kind: ledger.Ask, Verdict: "ask", Request: "r", Rule: "rule ask", Tool: "Bash", Call: strings.Repeat("1", 64)},
		&ledger.Record{Time: now, Kind: ledger.Answer, Verdict: "approved", Request: "r"},
		&ledger.Record{Time: now, Kind: ledger.Decision, Verdict: "allow", Request: "r", Rule: "rule ask", Call: strings.Repeat("1", 64)}))
	for _, when := range []string{"at once", "after a recount"} {
		got := sums(t, s, now)
		for key, want := range map[string]int64{"//decision allow": 30, "//decision deny": 30, "//settled allow": 1, "//ask ask": 1,
			"//answer approved": 1, "rule/rule deny/decision deny": 30, "agent/a/decision allow": 30, "rule/rule ask/settled allow": 1} {
			if got[key] != want {
				t.Errorf("%s: %s is %d, want %d", when, key, got[key], want)
			}
		}
		if n := len(sums(t, s, time.Now().Add(2*time.Hour))); n != 0 {
			t.Errorf("%s: %d counts of hours to come", when, n)
		}
		must(t, s.Recount(ctx()))
	}
}

// testFrequent: the calls that were made most come first, with a record of each.
func testFrequent(t *testing.T, s Store) {
	now := time.Now().UTC()
	for i, n := range []int{3, 7, 1, 5} {
		for range n {
			must(t, s.Append(ctx(), decided(strings.Repeat("x", i+1), "allow", "allow", now)))
		}
	}
	must(t, s.Append(ctx(), decided("denied one", "deny", "deny", now)))
	got, err := s.Frequent(ctx(), now.Add(-time.Hour), tally.ByUse, 3)
	must(t, err)
	if len(got) != 3 || got[0].N != 7 || got[1].N != 5 || got[2].N != 3 || !strings.Contains(string(got[0].Record.Input), `"xx"`) {
		t.Errorf("%+v", got)
	}
	if got, err = s.Frequent(ctx(), time.Time{}, tally.ByDenied, 3); err != nil || len(got) != 1 || got[0].Denied != 1 {
		t.Errorf("%+v %v", got, err)
	}
}

// testTaken: a machine's record is found, and counted, by the time when the server took it; its own time is kept.
func testTaken(t *testing.T, s Store) {
	now := time.Now().UTC()
	for name, at := range map[string]time.Time{"2099": now.AddDate(73, 0, 0), "1999": now.AddDate(-27, 0, 0)} {
		spool, err := json.Marshal(ledger.Foreign{Seq: 1, From: "tok", Taken: now.Add(-time.Minute)})
		must(t, err)
		r := decided(name, "allow", "allow", at)
		r.Agent, r.Spool = name, spool
		must(t, s.Append(ctx(), r))
	}
	must(t, s.Append(ctx(), decided("mine", "allow", "allow", now)))
	n := 0
	for r, err := range s.Records(ctx(), ledger.Query{Since: now.Add(-time.Hour), Until: now.Add(time.Hour)}) {
		must(t, err)
		n++
		if r.Agent == "2099" && r.Time.Year() < 2090 {
			t.Errorf("the claimed time is lost: %s", r.Time)
		}
	}
	if n != 3 {
		t.Errorf("%d of 3 records were taken in this hour", n)
	}
	hours := map[int64]bool{}
	must(t, s.Counts(ctx(), time.Time{}, func(r tally.Row) { hours[r.Hour] = true }))
	for h := range hours {
		if d := time.Since(time.Unix(h*3600, 0)); d > 3*time.Hour || d < -time.Hour {
			t.Errorf("counts of the hour %s", time.Unix(h*3600, 0))
		}
	}
	verify(t, s)
}

// testSeq: one record is found by its number.
func testSeq(t *testing.T, s Store) {
	fill(t, s, 9)
	n := 0
	for r, err := range s.Records(ctx(), ledger.Query{Seq: 5}) {
		must(t, err)
		if n++; r.Seq != 5 {
			t.Errorf("%d", r.Seq)
		}
	}
	if n != 1 {
		t.Errorf("%d records", n)
	}
}

// testLongNames: names beyond what an index takes are written and found, and records beside them too.
func testLongNames(t *testing.T, s Store) {
	long := strings.Repeat("n", 9000)
	errs := make(chan error, 64)
	for i := range cap(errs) {
		go func() {
			r := record(i)
			if i%2 == 0 {
				r.Session, r.Agent, r.Tool, r.Rule = long, long, long, long+"b"
			}
			errs <- s.Append(ctx(), r)
		}()
	}
	for range cap(errs) {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
	n := 0
	for r, err := range s.Records(ctx(), ledger.Query{Session: long, Agent: long, Tool: long, Rule: long + "b"}) {
		must(t, err)
		if n++; r.Session != long {
			t.Error("the session is clipped in the record")
		}
	}
	if n != cap(errs)/2 {
		t.Errorf("%d records", n)
	}
}
