package obstat_test

import (
	"strings"
	"testing"

	"github.com/obstat/obstat"
)

// TestReadings: the calls that one may be taken for, and which of them counts.
func TestReadings(t *testing.T) {
	pol := mustCompile(t, shellProgram(obstat.Allow, rule(obstat.Deny, "Bash", "command", "rm *"), rule(obstat.Ask, "Bash", "command", "mv *")))
	for _, tt := range []struct {
		input    string
		readings int
		want     obstat.Verdict
	}{
		{`{"command":"ls"}`, 0, obstat.Allow},
		{`{"command":"ls","cmd":"rm x"}`, 2, obstat.Deny},
		{`{"command":"rm x","cmd":"ls"}`, 2, obstat.Deny},
		{`{"command":"mv a b","cmd":"ls"}`, 2, obstat.Ask},
		{`{"command":"mv a b","cmd":"rm x"}`, 2, obstat.Deny},
		{`{"command":"ls","cmd":"mv a b"}`, 2, obstat.Ask},
		{`{"command":"ls","cmd":"mv a b","shell_command":"rm x"}`, 3, obstat.Deny},
	} {
		c := &obstat.Call{Tool: "Bash", Input: []byte(tt.input), Dir: "/home/u/proj"}
		rs := c.Readings()
		if len(rs) != tt.readings {
			t.Errorf("%s: %d readings", tt.input, len(rs))
		}
		strictest := pol.Decide(c, testWorld).Verdict
		for _, r := range rs {
			if r.Tool != c.Tool || r.Dir != c.Dir || string(r.Input) == tt.input {
				t.Errorf("%s: taken for %+v", tt.input, r)
			}
			if v := pol.Decide(r, testWorld).Verdict; v < strictest {
				t.Errorf("%s: %s, and a reading of it %s", tt.input, strictest, v)
			}
		}
		d := pol.Decide(c, testWorld)
		if x, _ := pol.Explain(c, testWorld); d.Verdict != tt.want || !same(&d, &x) {
			t.Errorf("%s: %s, want %s: %s; explained %s", tt.input, d.Verdict, tt.want, d.Reason(), x.Reason())
		}
	}
	alike := &obstat.Call{Tool: "Bash", Input: []byte(`{"command":"mv a b","cmd":"mv c d"}`), Dir: "/home/u/proj"}
	if d := pol.Decide(alike, testWorld); d.Verdict != obstat.Ask || strings.Contains(d.Reason(), "may take its field") {
		t.Errorf("a reading that asks as well: %s", d.Reason())
	}
	given := &obstat.Call{Tool: "Bash", Input: []byte(`{"command":"ls","cmd":"rm x"}`), Subjects: []string{"ls"}}
	if rs := given.Readings(); rs != nil {
		t.Errorf("a call with its subjects has %d readings", len(rs))
	}
}
