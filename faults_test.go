package obstat_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/pattern"
)

// TestFaultyRules: a rule that cannot be tried to its end denies and is named, whether it looks at the tool or a field,
// denies or allows, with a trace and without; one that is not needed any more does not.
func TestFaultyRules(t *testing.T) {
	slow := obstat.Text{Flavour: pattern.Full, Text: `(a*)*\1[bc]`}
	long := strings.Repeat("a", 2000) + "d"
	for _, tt := range []struct {
		name  string
		rules []obstat.Rule
		fault bool
	}{
		{"a field", []obstat.Rule{{Source: "slow", Tool: obstat.Is(long), Field: "f", Pattern: slow, Verdict: obstat.Deny}}, true},
		{"a field, an allow", []obstat.Rule{{Source: "slow", Tool: obstat.Is(long), Field: "f", Pattern: slow, Verdict: obstat.Allow}}, true},
		{"another field", []obstat.Rule{{Source: "slow", Tool: obstat.Is(long), Field: "g", Pattern: slow, Verdict: obstat.Deny}}, false},
		{"the tool", []obstat.Rule{{Source: "slow", Tool: slow, Verdict: obstat.Deny}}, true},
		{"the tool, and a field", []obstat.Rule{{Source: "slow", Tool: slow, Field: "f", Pattern: obstat.Is("x"), Verdict: obstat.Deny}}, true},
		{"behind one that denies", []obstat.Rule{{Source: "whole", Tool: obstat.Is(long), Verdict: obstat.Deny},
			{Source: "slow", Tool: obstat.Is(long), Field: "f", Pattern: slow, Verdict: obstat.Deny}}, false},
	} {
		p := sample(tt.rules...)
		p.Pipelines["default"] = obstat.Pipeline{Default: obstat.Allow, Stages: p.Pipelines["default"].Stages}
		pol := mustCompile(t, p.WithFloor(false))
		c := &obstat.Call{Tool: long, Input: []byte(`{"f":"` + long + `"}`)}
		d := pol.Decide(c, nil)
		x, trace := pol.Explain(c, nil)
		if !same(&d, &x) {
			t.Errorf("%s: %s, explained %s", tt.name, d.Reason(), x.Reason())
		}
		if !tt.fault {
			if len(d.Faults) != 0 {
				t.Errorf("%s: %s", tt.name, d.Reason())
			}
			continue
		}
		if d.Verdict != obstat.Deny || len(d.Faults) != 1 || d.Faults[0].Rule == nil || d.Faults[0].Rule.Source != "slow" || d.By.Kind != obstat.ByFault {
			t.Errorf("%s: %s: %+v", tt.name, d.Verdict, d.Faults)
		}
		if steps := trace.Questions[0].Steps; len(steps) != 1 || !steps[0].Settled || steps[0].Note == "" {
			t.Errorf("%s: the trace says %+v", tt.name, trace.Questions)
		}
	}
}

// inputChecker asks for another input, in whatever field.
type inputChecker string

func (c inputChecker) Check(*obstat.Facts) obstat.Finding {
	if c == "" {
		return obstat.Finding{Verdict: obstat.Deny}
	}
	return obstat.Finding{Verdict: obstat.Allow, Input: []byte(c)}
}

// TestChangedArguments: a call that is allowed only with other arguments is denied where it was taken for another one:
// nobody knows what they are in its own words.
func TestChangedArguments(t *testing.T) {
	p := sample(rule(obstat.Allow, "bash", "", ""))
	p.Dialect = "toy"
	p.Pipelines["default"] = obstat.Pipeline{Default: obstat.Allow, Stages: p.Pipelines["default"].Stages, Amend: []obstat.Stage{obstat.Check{Name: "c"}}}
	lib := &obstat.Library{Own: map[string]obstat.OwnTool{"shell": {Tools: []string{"bash"}, Command: "command"}},
		Checks: map[string]func(json.RawMessage) (obstat.Checker, error){"c": func(json.RawMessage) (obstat.Checker, error) {
			return inputChecker(`{"command":"ls -l"}`), nil
		}}}
	pol, err := obstat.Compile(p, &obstat.Options{Library: lib})
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		agent, tool, input, want string
	}{
		{"", "bash", `{"command":"ls"}`, `{"command":"ls -l"}`},
		{"codex", "bash", `{"command":"ls"}`, `{"command":"ls -l"}`},
		{"codex", "exec_command", `{"cmd":"ls"}`, "exec_command takes none of these"},
		{"", "bash", `{"command":"ls","cmd":"ls -a"}`, "more than one field holds them"},
	} {
		d := pol.Decide(&obstat.Call{Tool: tt.tool, Input: []byte(tt.input), Agent: tt.agent, Dir: "/p"}, lab())
		if tt.want[0] == '{' && (d.Verdict != obstat.Allow || string(d.Input) != tt.want) {
			t.Errorf("%s %s: %s with %s: %s", tt.tool, tt.input, d.Verdict, d.Input, d.Reason())
		}
		if tt.want[0] != '{' && (d.Verdict != obstat.Deny || d.Input != nil || !strings.Contains(d.Reason(), tt.want) || d.By.Kind != obstat.ByFault) {
			t.Errorf("%s %s: %s with %s: %s", tt.tool, tt.input, d.Verdict, d.Input, d.Reason())
		}
	}
}

// posing is a view that poses no question, and may say why.
type posing struct{ err error }

func (p posing) Questions(*obstat.Facts) ([]obstat.Question, error) { return nil, p.err }

// TestNoQuestion: a call about which nothing is asked, or can be, is denied, and it is said why.
func TestNoQuestion(t *testing.T) {
	for _, tt := range []struct {
		err  error
		want string
	}{{nil, "the call poses no question that rules could answer"}, {errors.New("no such field"), "no such field"}} {
		p := sample(rule(obstat.Allow, "t", "", ""))
		p.View = "v"
		pol, err := obstat.Compile(p, &obstat.Options{Library: &obstat.Library{Views: map[string]func(json.RawMessage) (obstat.View, error){
			"v": func(json.RawMessage) (obstat.View, error) { return posing{tt.err}, nil }}}})
		if err != nil {
			t.Fatal(err)
		}
		d := pol.Decide(&obstat.Call{Tool: "t", Input: []byte(`{}`)}, nil)
		if d.Verdict != obstat.Deny || len(d.Faults) != 1 || d.Reason() != tt.want || d.Stage != "view" || d.By.Kind != obstat.ByFault {
			t.Errorf("%s at %s by %s: %s", d.Verdict, d.Stage, d.By.Kind, d.Reason())
		}
	}
}

// TestFaultyPath: a rule that cannot be tried to its end on a file of a command denies the command.
func TestFaultyPath(t *testing.T) {
	slow := obstat.Rule{Source: "slow", Tool: obstat.Is("Read"), Field: "file_path", Verdict: obstat.Ask,
		Pattern: obstat.Text{Flavour: pattern.Full, Text: `.*/(a*)*\1[bc]`}}
	pol := mustCompile(t, shellProgram(obstat.Allow, slow))
	for cmd, want := range map[string]bool{"cat b": false, "cat " + strings.Repeat("a", 2000) + "d": true} {
		d := pol.Decide(bashCall(cmd), testWorld)
		if faulted := len(d.Faults) == 1 && d.Faults[0].Rule != nil && d.Verdict == obstat.Deny; faulted != want {
			t.Errorf("%.20s: %s: %.200s", cmd, d.Verdict, d.Reason())
		}
	}
}
