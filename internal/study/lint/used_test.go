package lint_test

import (
	"encoding/json"
	"iter"
	"strings"
	"testing"
	"time"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/internal/study/lint"
	"github.com/obstat/obstat/ledger"
)

// decided are records of calls that a rule decided.
func decided(calls ...[2]string) iter.Seq2[*ledger.Record, error] {
	return func(yield func(*ledger.Record, error) bool) {
		for i, c := range calls {
			input, _ := json.Marshal(map[string]string{"command": c[1]})
			r := &ledger.Record{Kind: ledger.Decision, Time: time.Date(2026, 1, 1+i, 0, 0, 0, 0, time.Local), Tool: "Bash", Rule: c[0], Input: input, Verdict: "allow"}
			if !yield(r, nil) {
				return
			}
		}
	}
}

func TestUsed(t *testing.T) {
	at := func(r obstat.Rule, line int) obstat.Rule {
		r.Pos = obstat.Pos{File: "f", Line: line, Col: 1}
		return r
	}
	p := one(obstat.First, at(rule(obstat.Deny, "t", "rm *"), 1), at(rule(obstat.Allow, "t", "git *"), 2), at(rule(obstat.Allow, "t", "npm *"), 3),
		at(rule(obstat.Ask, "t", "docker *"), 4), at(rule(obstat.Allow, "t", "make *"), 5), at(rule(obstat.Allow, "t", "ninja *"), 5))
	var calls [][2]string
	for range 10 {
		calls = append(calls, [2]string{"t(git *)", "git status -s"}, [2]string{"t(git *)", "git status"}, [2]string{"t(make *)", "make x"}, [2]string{"t(make *)", "make test"}, [2]string{"", "ls"})
	}
	uses, err := lint.CountUses(decided(calls...), func(c *obstat.Call) string {
		var in struct{ Command string }
		_ = json.Unmarshal(c.Input, &in)
		return in.Command
	})
	if err != nil {
		t.Fatal(err)
	}
	told := func(opts *lint.Options) (out []string) {
		for _, e := range lint.Used(p, uses, opts) {
			out = append(out, e.Pos.String()+" "+e.Msg)
		}
		return out
	}
	got := told(nil)
	want := []string{
		"f:2:1 allow rule t(git *) is wider than its uses: all 20 start with git status",
		"f:3:1 allow rule t(npm *) decided none of the 50 calls since 2026-01-01",
		"f:4:1 ask rule t(docker *) decided none of the 50 calls since 2026-01-01",
		"f:5:1 allow rule t(ninja *) decided none of the 50 calls since 2026-01-01",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	// What stands at line 5 is in use: it is not for the bin.
	if got := told(&lint.Options{Whole: true}); strings.Join(got, "\n") != strings.Join(want[:3], "\n") {
		t.Errorf("to be taken out:\n%s", strings.Join(got, "\n"))
	}
}
