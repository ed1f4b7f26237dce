package obstat_test

import (
	"testing"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/pattern"
)

// TestFloorExact: a rule that is this very command settles it although the tool
// as a whole asks; a rule about one of its parts still speaks.
func TestFloorExact(t *testing.T) {
	const cmd = "git status && make test"
	exact := obstat.Rule{Tool: obstat.Is("Bash"), Field: "command", Pattern: obstat.Text{Flavour: pattern.Exact, Text: cmd}, Verdict: obstat.Allow}
	whole := rule(obstat.Ask, "Bash", "", "")
	for _, test := range []struct {
		rules []obstat.Rule
		want  obstat.Verdict
	}{
		{[]obstat.Rule{exact, whole}, obstat.Allow},
		{[]obstat.Rule{exact, rule(obstat.Ask, "Bash", "command", "make *"), whole}, obstat.Ask},
		{[]obstat.Rule{whole}, obstat.Ask},
	} {
		p := &obstat.Program{Rules: map[string][]obstat.Rule{"rules": test.rules},
			Pipelines: map[obstat.Mode]obstat.Pipeline{"": {Stages: []obstat.Stage{obstat.Match{Name: "rules", Rules: "rules"}}, Default: obstat.Ask}}}
		if d := mustCompile(t, p.WithFloor(true)).Decide(bashCall(cmd), testWorld); d.Verdict != test.want {
			t.Errorf("%v: %v: %s", test.rules, d.Verdict, d.Reason())
		}
	}
}
