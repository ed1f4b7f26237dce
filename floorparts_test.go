package obstat_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/pattern"
)

// TestFloorDefaultRule: a rule that asks about every tool is a default, so that of an allowed command it does not
// ask about each file; one that asks about a tool, or about some files, does.
func TestFloorDefaultRule(t *testing.T) {
	every := obstat.Text{Flavour: pattern.Wildcard, Text: "*"}
	cat := rule(obstat.Allow, "Bash", "command", "cat *")
	for _, tc := range []struct {
		name string
		asks obstat.Rule
		want obstat.Verdict
	}{
		{"every tool", obstat.Rule{Tool: every, Verdict: obstat.Ask}, obstat.Allow},
		{"every tool and text", obstat.Rule{Tool: every, Field: "file_path", Pattern: every, Verdict: obstat.Ask}, obstat.Allow},
		{"no tool in particular", obstat.Rule{Verdict: obstat.Ask}, obstat.Allow},
		{"a tool", rule(obstat.Ask, "Read", "", ""), obstat.Ask},
		{"some files", obstat.Rule{Tool: every, Field: "file_path", Verdict: obstat.Ask,
			Pattern: obstat.Text{Flavour: pattern.Wildcard, Text: "*.txt"}}, obstat.Ask},
	} {
		p := shellProgram(obstat.Ask, cat, tc.asks)
		p.Pipelines["default"] = obstat.Pipeline{Default: obstat.Ask, Amend: p.Pipelines["default"].Amend,
			Stages: []obstat.Stage{obstat.Match{Name: "rules", Rules: "rules"}}}
		if d := mustCompile(t, p).Decide(bashCall("cat a.txt"), testWorld); d.Verdict != tc.want {
			t.Errorf("%s: %v, want %v (%s)", tc.name, d.Verdict, tc.want, d.Reason())
		}
	}
}

// TestFloorSearch: a search tool reads the files below its directory, so that a rule against reading all of
// them holds for it as well, although another allows searching.
func TestFloorSearch(t *testing.T) {
	pol := mustCompile(t, shellProgram(obstat.Ask, rule(obstat.Allow, "Grep", "", ""), rule(obstat.Deny, "Read", "file_path", "*/private/*")))
	for dir, want := range map[string]obstat.Verdict{"/home/u/proj/private": obstat.Deny, "/home/u/proj/src": obstat.Allow} {
		input, err := json.Marshal(map[string]string{"pattern": "x", "path": dir})
		if err != nil {
			t.Fatal(err)
		}
		if d := pol.Decide(&obstat.Call{Tool: "Grep", Input: input, Dir: "/home/u/proj"}, testWorld); d.Verdict != want {
			t.Errorf("%s: %v, want %v (%s)", dir, d.Verdict, want, d.Reason())
		}
	}
}

// TestOnlyUnknownPart: only the part that cannot be looked into may pass in a confined run; a file beside it that
// no rule allows asks there, too.
func TestOnlyUnknownPart(t *testing.T) {
	pol := mustCompile(t, shellProgram(obstat.Ask, rule(obstat.Allow, "Bash", "command", "echo *"), rule(obstat.Allow, "Write", "file_path", "/tmp/*")))
	for cmd, want := range map[string]bool{
		"./run.sh": true, "./run.sh && echo x": true, "./run.sh && echo x > /tmp/out": true,
		"./run.sh && echo x > /opt/out": false, "echo x > /opt/out; ./run.sh": false, "./run.sh && rm a.txt": false,
		"rm a.txt": false, "cat /opt/x": false, "frobnicate": true, "echo x > /opt/out": false,
	} {
		if d := pol.Decide(bashCall(cmd), testWorld); d.Verdict != obstat.Ask || d.OnlyUnknown != want {
			t.Errorf("%s: %v, only unknown %t, want %t (%s)", cmd, d.Verdict, d.OnlyUnknown, want, d.Reason())
		}
	}
}

// TestMarksInDoubt: a rule that could not be tried to its end counts as one that is about the call, so that a later
// rule about it holds; one that was tried, and is not about it, leaves no mark.
func TestMarksInDoubt(t *testing.T) {
	slow := obstat.Rule{ID: "slow", Tool: obstat.Is("Bash"), Field: "command", Verdict: obstat.Deny,
		Pattern: obstat.Text{Flavour: pattern.Full, Text: `(a*)*\1[bc]`}}
	plain := rule(obstat.Deny, "Bash", "command", "rm *")
	plain.ID = "plain"
	p := sample()
	p.Rules["marks"] = []obstat.Rule{slow, plain}
	p.Pipelines["default"] = obstat.Pipeline{Default: obstat.Allow, Stages: []obstat.Stage{obstat.Mark{Name: "marks", Rules: "marks"}}}
	pol := mustCompile(t, p)
	for cmd, want := range map[string][]string{"rm x": {"plain"}, "ls": nil, strings.Repeat("a", 1000) + "d": {"slow"}} {
		if d := pol.Decide(bashCall(cmd), testWorld); !slices.Equal(d.Marks, want) {
			t.Errorf("%s: %q, want %q", cmd, d.Marks, want)
		}
	}
}

// TestOwnNameOfTool: another agent's shell is the dialect's own where rules name that, and a rule for every tool
// names none: with `"*": "ask"` the tool `run_shell_command` is opencode's bash, and nothing else.
func TestOwnNameOfTool(t *testing.T) {
	for rules, want := range map[string]obstat.Verdict{
		`{"*":"ask","bash":"allow"}`: obstat.Allow, `{"*":"allow","bash":"ask"}`: obstat.Ask, `{"*":"allow"}`: obstat.Allow,
	} {
		l := loadLab(t, "opencode opencode.json\n"+`{"permission":`+rules+`}`)
		c := labCall(t, `{"agent":"gemini","tool":"run_shell_command","input":{"command":"git status"}}`)
		if d := l.Policy.Decide(c, lab()); d.Verdict != want {
			t.Errorf("%s: %v, want %v (%s)", rules, d.Verdict, want, d.Reason())
		}
	}
}
