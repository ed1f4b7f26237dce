package obstat_test

import (
	"encoding/json"
	"fmt"
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

// passing lets calls pass, with a note.
type passing struct{ note string }

func (p passing) Check(*obstat.Facts) obstat.Finding { return obstat.Finding{Pass: true, Note: p.note} }

// TestTraceOfChecks: a check that has nothing to say is in the trace with its note, and one whose answer passes with that.
func TestTraceOfChecks(t *testing.T) {
	p := sample()
	p.Pipelines["default"] = obstat.Pipeline{Default: obstat.Ask, Stages: []obstat.Stage{obstat.Check{Name: "passes"},
		obstat.Check{Name: "asks", Pass: obstat.PlainAsk}, obstat.Check{Name: "asked"}}}
	made := func(c obstat.Checker) func(json.RawMessage) (obstat.Checker, error) {
		return func(json.RawMessage) (obstat.Checker, error) { return c, nil }
	}
	pol, err := obstat.Compile(p, &obstat.Options{Library: &obstat.Library{Checks: map[string]func(json.RawMessage) (obstat.Checker, error){
		"passes": made(passing{"all is well"}), "asks": made(asking{}), "asked": made(asking{})}}})
	if err != nil {
		t.Fatal(err)
	}
	_, trace := pol.Explain(bashCall("ls"), nil)
	var got []string
	for _, s := range trace.Questions[0].Steps {
		got = append(got, fmt.Sprintf("%s: %s, settled %t, silent %t, %s", s.Stage, s.Verdict, s.Settled, s.Silent, s.Note))
	}
	want := "passes: deny, settled false, silent true, all is well; asks: ask, settled false, silent false, it looks odd; asked: ask, settled true, silent false, it looks odd"
	if strings.Join(got, "; ") != want {
		t.Errorf("%s\nwant %s", strings.Join(got, "; "), want)
	}
}

// TestTraceOfKinds: a trace tells of each stage what kind it is.
func TestTraceOfKinds(t *testing.T) {
	p := sample(rule(obstat.Allow, "Bash", "command", "ls *"))
	p.Pipelines["default"] = obstat.Pipeline{Default: obstat.Ask, Stages: []obstat.Stage{obstat.Mark{Name: "a", Rules: "rules"},
		obstat.When{Name: "b", Tools: []string{"Read"}, Then: obstat.Deny}, obstat.Match{Name: "c", Rules: "rules"}, obstat.Check{Name: "d"}}}
	pol, err := obstat.Compile(p, &obstat.Options{Library: &obstat.Library{Checks: map[string]func(json.RawMessage) (obstat.Checker, error){
		"d": func(json.RawMessage) (obstat.Checker, error) { return asking{}, nil }}}})
	if err != nil {
		t.Fatal(err)
	}
	_, trace := pol.Explain(bashCall("ls x"), nil)
	var got []string
	for _, s := range append(trace.Questions[0].Steps, trace.Amend...) {
		got = append(got, s.Stage+" "+s.Kind)
	}
	if want := "a mark; b when; c match; d check; floor floor"; strings.Join(got, "; ") != want {
		t.Errorf("%s, want %s", strings.Join(got, "; "), want)
	}
}
