package convert_test

import (
	"strings"
	"testing"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/dialect/all"
	"github.com/obstat/obstat/dialect/native"
	"github.com/obstat/obstat/internal/study/convert"
	"github.com/obstat/obstat/internal/study/diff"
)

// TestExport writes a policy for each agent, and decides calls with what came out: none is freer than in obstat but
// where the agent has no word for a rule, and that is told.
func TestExport(t *testing.T) {
	const text = `version: 1
allow:
  - read workspace
  - run npm test, go build, git
  - write src/**
  - connect docs.example.com
ask:
  - run git push
deny:
  - run rm, curl
  - read .env, ~/.ssh
`
	l := load(t, native.Name, native.File, text, nil)
	lists := map[obstat.Verdict]string{obstat.Allow: "allow", obstat.Ask: "ask", obstat.Deny: "deny"}
	world := &obstat.Snapshot{HomeDir: diff.Home}
	for _, tt := range []struct {
		dialect, tool string
		target        convert.Target
		denied        []string
		want          []string
	}{
		{"claudecode", "Bash", convert.Target{File: ".claude/settings.json", Rule: convert.ClaudeRule,
			Text: convert.PermissionsText(lists)}, []string{"rm x", "env curl x.example", "cat .env"},
			[]string{`"Bash(npm test *)"`, `"Bash(git push *)"`, `"Read(.env)"`, `"WebFetch(domain:docs.example.com)"`}},
		{"codex", "shell", convert.Target{File: ".codex/rules/default.rules", Rule: convert.CodexRule, Text: convert.LinesText},
			[]string{"rm x", "curl x.example"}, []string{`prefix_rule(pattern=["git", "push"], decision="prompt")`,
				`prefix_rule(pattern=["rm"], decision="forbidden")`}},
		{"cursor", "Shell", convert.Target{File: ".cursor/cli.json", Rule: convert.CursorRule,
			Text: convert.PermissionsText(map[obstat.Verdict]string{obstat.Allow: "allow", obstat.Deny: "deny"})},
			[]string{"rm x", "curl x.example", "cat .env"}, []string{`"Shell(npm:test *)"`, `"Shell(rm:*)"`}},
		{"gemini", "run_shell_command", convert.Target{File: ".gemini/policies/obstat.toml", Rule: convert.GeminiRule,
			Text: convert.GeminiText}, []string{"rm x", "curl x.example"}, []string{`commandPrefix = "git push"`}},
		{"opencode", "bash", convert.Target{File: "opencode.json", Rule: convert.OpencodeRule, Text: convert.OpencodeText},
			[]string{"rm x", "curl x.example"}, []string{`"git push *": "ask"`, `"rm *": "deny"`}},
	} {
		t.Run(tt.dialect, func(t *testing.T) {
			var err error
			if tt.target.Dialect, err = all.Find(tt.dialect); err != nil {
				t.Fatal(err)
			}
			res, err := convert.Export(l, &tt.target)
			if err != nil {
				t.Fatal(err)
			}
			for _, w := range tt.want {
				if !strings.Contains(res.Text, w) {
					t.Errorf("%s is missing:\n%s", w, res.Text)
				}
			}
			there, err := dialect.Load(tt.target.Dialect, &dialect.Input{Home: diff.Home,
				Files: []dialect.File{{Name: tt.target.File, Data: []byte(res.Text)}}})
			if err != nil {
				t.Fatal(err)
			}
			decide := func(command string) obstat.Verdict {
				c := &obstat.Call{Tool: tt.tool, Input: []byte(`{"command":"` + command + `"}`), Dir: diff.Dir, Roots: []string{diff.Dir}}
				return there.Policy.Decide(c, world).Verdict
			}
			for _, command := range tt.denied {
				if v := decide(command); v != obstat.Deny {
					t.Errorf("%s is %s", command, v)
				}
			}
			for command, most := range map[string]obstat.Verdict{"git push origin x": obstat.Ask, "make all": obstat.Ask} {
				if v := decide(command); v > most {
					t.Errorf("%s is %s", command, v)
				}
			}
			if v := decide("npm test"); v != obstat.Allow && tt.dialect != "codex" { // which has no words for files
				t.Errorf("npm test is %s", v)
			}
			for _, u := range res.Unsaid {
				t.Logf("not said: %s %s: %s", u.Verdict, u.Rule, u.Why)
			}
			for _, r := range res.Looser {
				if there.Policy.Decide(r.Call, world).Verdict <= l.Policy.Decide(r.Call, world).Verdict {
					t.Errorf("%s %s is said to be freer", r.Call.Tool, r.Call.Input)
				}
			}
			t.Logf("%d rules, %d sentences without one, %d regions freer", res.Said, len(res.Unsaid), len(res.Looser))
		})
	}
}
