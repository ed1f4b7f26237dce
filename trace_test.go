package obstat_test

import (
	"strings"
	"testing"

	"github.com/obstat/obstat"
)

// TestTraceOfAll: a trace has every stage of the pipeline, those that were not asked as skipped.
func TestTraceOfAll(t *testing.T) {
	p := sample(rule(obstat.Allow, "Bash", "command", "ls *"))
	p.Rules["none"] = nil
	match := func(name, list string) obstat.Stage { return obstat.Match{Name: name, Rules: list} }
	p.Pipelines["default"] = obstat.Pipeline{Default: obstat.Ask, Stages: []obstat.Stage{match("a", "none"), match("b", "rules"), match("c", "none"), match("d", "rules")}}
	pol := mustCompile(t, p)
	for cmd, want := range map[string]string{"ls x": "a b c- d-", "rm x": "a b c d"} {
		_, trace := pol.Explain(bashCall(cmd), nil)
		var got []string
		for _, s := range trace.Questions[0].Steps {
			name := s.Stage
			if s.Skipped {
				name += "-"
			}
			got = append(got, name)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %s, want %s", cmd, got, want)
		}
	}
}
