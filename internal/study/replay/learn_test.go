package replay_test

import (
	"encoding/json"
	"iter"
	"testing"
	"time"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/internal/study/replay"
	"github.com/obstat/obstat/ledger"
)

// TestUnpredicted: paths that changed unpredicted are counted by program, and make a line of the knowledge base each.
func TestUnpredicted(t *testing.T) {
	rec := func(detail string) *ledger.Record {
		return &ledger.Record{Kind: ledger.Outcome, Time: time.Unix(1, 0), Tool: "Bash", Verdict: "ran", Detail: json.RawMessage(detail)}
	}
	records := []*ledger.Record{
		rec(`{"confined":{"unpredicted":[{"program":"newtool","path":"/p/out (1).txt"},{"program":"newtool","path":"/p/a","operand":true}]}}`),
		rec(`{"confined":{"unpredicted":[{"program":"cp","path":"/p/b.log","known":true}]}}`),
		rec(`{"confined":{"unpredicted":[{"program":"fmtall","path":"/p/src/x","operand":true}]}}`),
		rec(`{"confined":{"unpredicted":"x"}}`), rec(`{"confined":{}}`), rec(``),
	}
	var seq iter.Seq2[*ledger.Record, error] = func(yield func(*ledger.Record, error) bool) {
		for _, r := range records {
			if !yield(r, nil) {
				return
			}
		}
	}
	st, err := replay.CountRecords(seq, &replay.StatsOptions{Text: func(*obstat.Call) string { return "" }})
	if err != nil || len(st.Unpredicted) != 3 || st.Unpredicted[0] != (replay.Count{Text: "newtool", N: 2}) {
		t.Errorf("%v %+v", err, st)
	}
	var list []replay.Unpredicted
	for _, r := range records {
		list = append(list, replay.UnpredictedOf(r)...)
	}
	want := map[string]string{"newtool": "newtool\n\tdoes write(out _1_.txt) args write*", "cp": "cp\n\tdoes write(b.log) args text*",
		"fmtall": "fmtall\n\tdoes read args write*"}
	lessons := replay.Learn(list)
	if len(lessons) != len(want) {
		t.Errorf("%+v", lessons)
	}
	for _, l := range lessons {
		if l.Line != want[l.Program] || l.Known != (l.Program == "cp") {
			t.Errorf("%+v, want %q", l, want[l.Program])
		}
	}
}
