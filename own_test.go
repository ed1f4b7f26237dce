package obstat_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/pattern"
)

// ownTools are a dialect's: a shell of three names, a reader and a tool for plans.
var ownTools = []obstat.OwnTool{
	{Tools: []string{"bash", "create_terminal", "mcp_exec_command"}, Command: "command"},
	{Tools: []string{"view"}, Path: "path"},
}

// ownPolicy is a policy of a dialect with tools of its own, which agents `codex` and `gemini` do not have.
func ownPolicy(t *testing.T, def obstat.Verdict, own []obstat.OwnTool, rules ...obstat.Rule) *obstat.Policy {
	t.Helper()
	p := sample(rules...)
	p.Dialect = "toy"
	p.Pipelines["default"] = obstat.Pipeline{Stages: p.Pipelines["default"].Stages, Default: def}
	lib := &obstat.Library{Agents: []string{"codex", "gemini"}}
	lib.Own = map[string]obstat.OwnTool{}
	for i, kind := range []string{"shell", "read"}[:len(own)] {
		lib.Own[kind] = own[i]
	}
	pol, err := obstat.Compile(p, &obstat.Options{Library: lib})
	if err != nil {
		t.Fatal(err)
	}
	return pol
}

// TestAsOwn: a call of another agent's tool is put to the rules as calls of the dialect's own tools, by the names that
// rules have; a call in the dialect's own words, or of one of its own agents, stays as it is.
func TestAsOwn(t *testing.T) {
	runIt, sh, look := rule(obstat.Deny, "create_terminal", "command", "rm *"), rule(obstat.Ask, "bash", "command", "git *"), rule(obstat.Deny, "view", "path", "*.env")
	foreign := rule(obstat.Deny, "exec_command", "cmd", "x *")
	prefix := func(v obstat.Verdict, tool string) obstat.Rule {
		return obstat.Rule{Tool: obstat.Text{Flavour: pattern.Wildcard, Text: tool}, Verdict: v}
	}
	on := func(r obstat.Rule, names ...string) (out []obstat.Rule) {
		for _, name := range names {
			r.Tool = obstat.Is(name)
			out = append(out, r)
		}
		return out
	}
	call := `exec_command {"cmd":"ls"}`
	for _, tt := range []struct {
		name  string
		rules []obstat.Rule
		agent string
		call  string
		want  string
	}{
		{"no rule", nil, "codex", call, `bash {"command":"ls"}`},
		{"a rule for another of its names", []obstat.Rule{runIt}, "codex", call, `create_terminal {"command":"ls"}`},
		{"rules for two of its names", []obstat.Rule{runIt, sh}, "codex", call, `bash {"command":"ls"}; create_terminal {"command":"ls"}`},
		{"the same rules for two of its names", on(runIt, "bash", "create_terminal"), "codex", call, `bash {"command":"ls"}`},
		{"a rule more for the second name", append(on(runIt, "bash", "create_terminal"), rule(obstat.Deny, "create_terminal", "command", "mv *")), "codex", call,
			`bash {"command":"ls"}; create_terminal {"command":"ls"}`},
		{"the same, and not for the first name", on(runIt, "create_terminal", "mcp_exec_command"), "codex", call, `create_terminal {"command":"ls"}; mcp_exec_command {"command":"ls"}`},
		{"a rule for the agent's own name", []obstat.Rule{foreign}, "codex", call, call},
		{"rules for both", []obstat.Rule{foreign, sh}, "codex", call, `bash {"command":"ls"}; exec_command {"cmd":"ls"}`},
		{"a rule for another kind", []obstat.Rule{look}, "codex", call, `bash {"command":"ls"}`},
		{"a pattern for one of its names", []obstat.Rule{prefix(obstat.Allow, "mcp_e*")}, "codex", call, `mcp_exec_command {"command":"ls"}`},
		{"a pattern that denies the agent's own name", []obstat.Rule{prefix(obstat.Deny, "exec_c*")}, "codex", call, call},
		{"a pattern that allows names of other agents", []obstat.Rule{prefix(obstat.Allow, "run_*")}, "codex", call, `bash {"command":"ls"}`},
		{"a pattern that denies names of other agents", []obstat.Rule{prefix(obstat.Deny, "run_shell_c*")}, "codex", call, `run_shell_command {"cmd":"ls"}`},
		{"a pattern that allows and one that denies them", []obstat.Rule{prefix(obstat.Deny, "run_shell_c*"), prefix(obstat.Allow, "run_shell_c*")}, "codex", call,
			`run_shell_command {"cmd":"ls"}`},
		{"a pattern for every tool", []obstat.Rule{prefix(obstat.Deny, "*")}, "codex", call, `bash {"command":"ls"}`},
		{"a rule for every tool", []obstat.Rule{{Verdict: obstat.Deny}}, "codex", call, `bash {"command":"ls"}`},
		{"no agent", nil, "", call, ``},
		{"an agent of the dialect's", nil, "toyagent", call, ``},
		{"its own words", nil, "codex", `bash {"command":"ls"}`, ``},
		{"its own name and another field", nil, "codex", `bash {"cmd":"ls"}`, `bash {"command":"ls"}`},
		{"its own words and one more", nil, "codex", `Bash {"command":"ls","description":"List"}`, `bash {"command":"ls"}`},
		{"a directory of the call", nil, "codex", `exec_command {"cmd":"ls","workdir":"sub"}`, `/p/sub bash {"command":"ls"}`},
		{"a directory from home", nil, "codex", `exec_command {"cmd":"ls","workdir":"~/x"}`, `/home/u/x bash {"command":"ls"}`},
		{"no directory", nil, "codex", `exec_command {"cmd":"ls","workdir":""}`, `bash {"command":"ls"}`},
		{"a file", nil, "codex", `Read {"file_path":"a"}`, `view {"path":"/p/a"}`},
		{"a file and a rule for it", []obstat.Rule{look}, "gemini", `read_file {"path":"/q/a"}`, `view {"path":"/q/a"}`},
		{"no input", nil, "codex", `Read {}`, `view {}`},
		{"an input that cannot be read", nil, "codex", `Read {"file_path":1,"file_path":2}`, `view {"file_path":1,"file_path":2}`},
		{"a kind that the dialect has no tool for", nil, "codex", `Grep {"pattern":"x"}`, ``},
		{"and rules for two names of it", on(rule(obstat.Deny, "", "pattern", "x"), "Grep", "grep_search"), "codex", `Grep {"pattern":"x"}`, `Grep {"pattern":"x"}; grep_search {"pattern":"x"}`},
		{"a tool that is not known", nil, "codex", `frobnicate {"command":"ls"}`, ``},
	} {
		tool, input, _ := strings.Cut(tt.call, " ")
		c := &obstat.Call{Tool: tool, Input: json.RawMessage(input), Agent: tt.agent, Dir: "/p"}
		var got []string
		for _, as := range ownPolicy(t, obstat.Allow, ownTools, tt.rules...).AsOwn(c, testWorld) {
			text := as.Tool + " " + string(as.Input)
			if as.Dir != c.Dir {
				text = as.Dir + " " + text
			}
			got = append(got, text)
		}
		if joined := strings.Join(got, "; "); joined != tt.want {
			t.Errorf("%s: %s as %q, want %q", tt.name, tt.call, joined, tt.want)
		}
	}
	subjects := &obstat.Call{Tool: "exec_command", Subjects: []string{"ls"}, Agent: "codex"}
	if as := ownPolicy(t, obstat.Allow, ownTools).AsOwn(subjects, nil); as != nil {
		t.Errorf("a call with its subjects as %d calls", len(as))
	}
	if as := mustCompile(t, sample()).AsOwn(&obstat.Call{Tool: "exec_command", Agent: "codex"}, nil); as != nil {
		t.Errorf("a policy without tools of its own: %d calls", len(as))
	}
}

// TestOwnDecides: of the calls of the dialect's own tools the strictest answer counts, under the agent's name.
func TestOwnDecides(t *testing.T) {
	shells := func(first, second obstat.Verdict) []obstat.Rule {
		a, b := rule(first, "bash", "command", "git *"), rule(second, "create_terminal", "command", "git l*")
		if a.Source, b.Source = "first", "second"; first == obstat.Allow {
			a.Over = obstat.OverAutoMode | obstat.OverReviewer
		}
		if second == obstat.Allow {
			b.Over = obstat.OverReviewer
		}
		return []obstat.Rule{a, b}
	}
	for _, tt := range []struct {
		rules []obstat.Rule
		want  string
	}{
		{shells(obstat.Deny, obstat.Allow), "deny by first over "},
		{shells(obstat.Allow, obstat.Deny), "deny by second over "},
		{shells(obstat.Ask, obstat.Deny), "deny by second over "},
		{shells(obstat.Allow, obstat.Ask), "ask by second over "},
		{shells(obstat.Ask, obstat.Ask), "ask by first over "},
		{shells(obstat.Allow, obstat.Allow), "allow by first over reviewer"},
	} {
		pol := ownPolicy(t, obstat.Deny, ownTools, tt.rules...)
		c := &obstat.Call{Tool: "exec_command", Input: []byte(`{"cmd":"git log"}`), Agent: "codex", Dir: "/p"}
		d := pol.Decide(c, testWorld)
		x, trace := pol.Explain(c, testWorld)
		if got := fmt.Sprintf("%s by %s over %s", d.Verdict, d.Rule, d.Over); got != tt.want || d.Tool != c.Tool || !same(&d, &x) {
			t.Errorf("%v of %s: %s, want %s; explained %s", tt.rules, d.Tool, got, tt.want, x.Reason())
		}
		if len(trace.Questions) == 0 || !slices.Contains([]string{"bash", "create_terminal"}, trace.Questions[0].Question.Tool) {
			t.Errorf("%v: the trace is about %+v", tt.rules, trace.Questions)
		}
	}
}
