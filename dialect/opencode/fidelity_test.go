package opencode_test

import (
	"encoding/json"
	"testing"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/dialect/all"
	"github.com/obstat/obstat/dialect/opencode"
)

// TestFromConfig is section Converting Config to Rules: the three formats of section
// Configuration Format, as the document's function returns them.
func TestFromConfig(t *testing.T) {
	for config, want := range map[string]string{
		`{"read": "allow", "bash": "ask", "edit": "deny"}`: `[{"permission":"read","action":"allow","pattern":"*"},{"permission":"bash","action":"ask","pattern":"*"},{"permission":"edit","action":"deny","pattern":"*"}]`,
		`{"read": {"*": "allow", "*.env": "ask", "**/.git/**": "deny"}, "bash": "ask"}`: `[{"permission":"read","pattern":"*","action":"allow"},{"permission":"read","pattern":"*.env","action":"ask"},` +
			`{"permission":"read","pattern":"**/.git/**","action":"deny"},{"permission":"bash","action":"ask","pattern":"*"}]`,
		`[{"permission": "read", "pattern": "*.env", "action": "ask"}]`: `[{"permission":"read","pattern":"*.env","action":"ask"}]`,
		`[]`: `[]`,
	} {
		rules, err := opencode.FromConfig([]byte(config))
		if err != nil || rules.JSON() != want {
			t.Errorf("%s: %s, %v, want %s", config, rules.JSON(), err, want)
		}
	}
	for _, config := range []string{`"allow"`, `{"read": "maybe"}`, `[{"permission": "read"}]`, `{`} {
		if rules, err := opencode.FromConfig([]byte(config)); err == nil {
			t.Errorf("%s: %v", config, rules)
		}
	}
}

// TestMergeOfDocument is section Merging Rulesets: the rulesets one after the other, the
// first match of section Rule Evaluation over them, ask where none matches.
func TestMergeOfDocument(t *testing.T) {
	user, err := opencode.FromConfig([]byte(`{"bash": "deny"}`))
	if err != nil {
		t.Fatal(err)
	}
	agent, err := opencode.FromConfig([]byte(`{"read": {"*.env": "ask", "*": "allow"}}`))
	if err != nil {
		t.Fatal(err)
	}
	rules := opencode.Merge(agent, user)
	for _, tt := range []struct {
		permission, value string
		want              obstat.Verdict
		rule              bool
	}{{"read", "x.env", obstat.Ask, true}, {"read", "x.go", obstat.Allow, true}, {"bash", "ls", obstat.Deny, true}, {"edit", "x", obstat.Ask, false}} {
		if v, r := rules.Evaluate(opencode.First, tt.permission, tt.value); v != tt.want || (r != nil) != tt.rule {
			t.Errorf("%s %s: %v by %v", tt.permission, tt.value, v, r)
		}
	}
}

// TestDocumentIsOpencodes: section External Directory names a permission that
// JiuwenSwarm has as a key; the document's files are opencode's all the same.
func TestDocumentIsOpencodes(t *testing.T) {
	for _, f := range []struct{ name, text, want string }{
		{"x.json", `{"permissions": {"external_directory": "ask", "read": "allow"}}`, "opencode"},
		{"opencode.json", `{"permissions": {"external_directory": "ask", "read": "allow"}}`, "opencode"},
		{".opencode/config.json", `{"permissions": {"external_directory": {"*": "ask"}}}`, "opencode"},
		{"x.json", `{"$schema": "https://opencode.ai/config.json", "permissions": {"external_directory": {"/srv/*": "ask"}, "bash": "ask"}}`, "opencode"},
		{"config.yaml", "permissions:\n  enabled: true\n  external_directory: {\"*\": ask}\n", "jiuwen"},
		{"config.yaml", "permissions:\n  external_directory: ask\n  tools: {bash: ask}\n", "jiuwen"},
	} {
		d, err := all.Detect(&dialect.File{Name: f.name, Data: []byte(f.text)})
		if err != nil || d.Name() != f.want {
			t.Errorf("%s %s: %v, %v", f.name, f.text, d, err)
		}
	}
}

// TestPlanWritesItsPlan: the agent plan may write its own plan and nothing else.
func TestPlanWritesItsPlan(t *testing.T) {
	l, err := dialect.Load(opencode.Dialect{}, &dialect.Input{Home: "/home/u", Files: []dialect.File{{Name: "opencode.json", Data: []byte(`{"permission": {"bash": "ask"}}`)}}})
	if err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string]obstat.Verdict{".opencode/plans/x.md": obstat.Allow, "src/x.md": obstat.Deny} {
		input, _ := json.Marshal(map[string]string{"filePath": file})
		d := l.Policy.Decide(&obstat.Call{Tool: "edit", Input: input, Mode: "plan", Dir: "/p", Roots: []string{"/p"}}, &obstat.Snapshot{HomeDir: "/home/u"})
		if d.Verdict != want {
			t.Errorf("%s: %v: %s", file, d.Verdict, d.Reason())
		}
	}
}

// TestShellsOfOthers: rules for `bash` hold for any tool that runs commands, whichever argument has the command.
func TestShellsOfOthers(t *testing.T) {
	file := dialect.File{Name: "opencode.json", Data: []byte(`{"permission": {"*": "allow", "bash": {"*": "allow", "rm *": "deny", "git push *": "ask"}}}`)}
	l, err := dialect.Load(opencode.Dialect{}, &dialect.Input{Files: []dialect.File{file}})
	if err != nil {
		t.Fatal(err)
	}
	for _, tool := range []string{"bash", "Bash", "run_command", "run_shell", "execute_bash", "shell"} {
		for _, field := range []string{"command", "cmd"} {
			if field == "cmd" && (tool == "bash" || tool == "Bash") {
				continue // which has its command in one place
			}
			for command, want := range map[string]obstat.Verdict{"rm -rf x": obstat.Deny, "git push origin": obstat.Ask, "ls": obstat.Allow} {
				input, _ := json.Marshal(map[string]string{field: command})
				d := l.Policy.Decide(&obstat.Call{Tool: tool, Input: input, Dir: "/p", Roots: []string{"/p"}}, &obstat.Snapshot{})
				if d.Verdict != want {
					t.Errorf("%s %s: %v, %s", tool, input, d.Verdict, d.Reason())
				}
			}
		}
	}
}
