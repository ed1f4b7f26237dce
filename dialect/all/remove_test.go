package all_test

import (
	"strings"
	"testing"

	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/dialect/all"
)

// Tables of Gemini CLI's rules.
const (
	gitStatus = "[[rule]]\ntoolName = \"run_shell_command\"\ncommandPrefix = \"git status\"\ndecision = \"allow\"\npriority = 100\n"
	gitPush   = "[[rule]]\ntoolName = \"run_shell_command\"\ncommandPrefix = \"git push\"\ndecision = \"deny\"\npriority = 200 # above\n"
	gitLog    = "[[rule]]\ntoolName = \"run_shell_command\"\ncommandPrefix = [\n  \"git log\", # and what follows\n]\ndecision = \"allow\"\npriority = 100\n"
)

// TestWithout takes a rule out of a file of each form: that rule's text goes, and nothing else.
func TestWithout(t *testing.T) {
	for _, c := range []struct{ name, text, rule, want string }{
		{".claude/settings.json", `{"permissions": {"allow": ["Bash(ls *)", "Bash(git *)"], "x": 1}}`, "Bash(git *)", `{"permissions": {"allow": ["Bash(ls *)"], "x": 1}}`},
		{"opencode.json", "{\"permission\": {\"bash\": {\n  \"git *\": \"allow\", // mine\n  \"rm *\": \"deny\"\n}}}", "rm *", "{\"permission\": {\"bash\": {\n  \"git *\": \"allow\" // mine\n}}}"},
		{"config.yaml", "permissions:\n  enabled: true\n  schema: tiered_policy\n  rules:\n    # one\n    - {id: a, tools: [bash], pattern: \"git *\", action: allow}\n    - {id: b, tools: [bash], pattern: \"rm *\", action: deny}\n", "rm *",
			"permissions:\n  enabled: true\n  schema: tiered_policy\n  rules:\n    # one\n    - {id: a, tools: [bash], pattern: \"git *\", action: allow}\n"},
		// A comment goes with the rule that it is about alone; one that may head a group, or the file, stays.
		{"obstat.yaml", "version: 1\nallow:\n  # to look at\n  - read src\n\n  # to build\n  - run make # all\n\ndeny: [read secrets]\n", "run make", "version: 1\nallow:\n  # to look at\n  - read src\n\ndeny: [read secrets]\n"},
		{"obstat.yaml", "version: 1\nallow:\n  # to build\n  - run make\n  - run ninja\n", "run make", "version: 1\nallow:\n  # to build\n  - run ninja\n"},
		{"obstat.yaml", "version: 1\r\nallow:\r\n  - read src\r\n  # to build\r\n  - run make", "run make", "version: 1\r\nallow:\r\n  - read src"},
		{"obstat.yaml", "version: 1\nallow:\n  - read src\n  - rule: run make # all\n    reason: it builds\n", "run make", "version: 1\nallow:\n  - read src\n"},
		{"obstat.yaml", "version: 1\nallow: [read src, {reason: x, rule: run make}]\n", "run make", "version: 1\nallow: [read src]\n"},
		{"obstat.yaml", "version: 1\nallow: [read src, run make]", "run make", "version: 1\nallow: [read src]"},
		{".codex/rules/x.rules", "prefix_rule([\"make\"])", "make", ""},
		{".gemini/policies/p.toml", gitStatus + "\n# no pushes\n" + gitPush + "\n# logs\n" + gitLog, "git push", gitStatus + "\n# logs\n" + gitLog},
		{".gemini/policies/p.toml", "# mine\n" + gitPush + "\n" + gitStatus, "git push", "# mine\n\n" + gitStatus},
		{".gemini/policies/p.toml", gitStatus + "\n" + gitPush, "git push", gitStatus},
		{".codex/rules/x.rules", "prefix_rule([\"ls\"])\n\n# no pushes\nprefix_rule(\n    pattern = [\"git\", \"push\"], # none\n    decision = \"forbidden\",\n)\n\n# logs\nprefix_rule([\"git\", \"log\"])\n", `"push"`,
			"prefix_rule([\"ls\"])\n\n# logs\nprefix_rule([\"git\", \"log\"])\n"},
	} {
		f := dialect.File{Name: c.name, Data: []byte(c.text)}
		d, err := all.Of("", []dialect.File{f})
		if err != nil {
			t.Fatal(err)
		}
		l, err := dialect.Load(d, &dialect.Input{Files: []dialect.File{f}})
		if err != nil {
			t.Fatal(err)
		}
		found := false
		for _, rules := range l.Program.Rules {
			for i := range rules {
				if r := &rules[i]; !found && r.Pos.IsValid() && (strings.Contains(r.Source, c.rule) || r.Pattern.Text == c.rule) {
					found = true
					_, text, err := l.Without(r.Pos)
					if err != nil || string(text) != c.want {
						t.Errorf("%s without %s: %v\n%s\nwant\n%s", c.name, c.rule, err, text, c.want)
					}
				}
			}
		}
		if !found {
			t.Errorf("%s has no rule %s", c.name, c.rule)
		}
	}
}

// TestWithoutOthers: a rule that shares its line, or is made in a loop, stays where it is.
func TestWithoutOthers(t *testing.T) {
	for _, text := range []string{
		"prefix_rule([\"ls\"]); prefix_rule([\"cat\"])\n",
		"for x in [\"ls\", \"cat\"]:\n    prefix_rule([x])\n",
		"prefix_rule([\"ls\"]) if True else prefix_rule([\"cat\"])\n" + "y = prefix_rule([\"cat\"])\n",
	} {
		f := dialect.File{Name: ".codex/rules/x.rules", Data: []byte(text)}
		d, err := all.Of("", []dialect.File{f})
		if err != nil {
			t.Fatal(err)
		}
		l, err := dialect.Load(d, &dialect.Input{Files: []dialect.File{f}})
		if err != nil {
			t.Fatal(err)
		}
		for _, rules := range l.Program.Rules {
			for i := range rules {
				if r := &rules[i]; r.Pos.IsValid() && r.Pos.Line > 1 {
					if _, text, err := l.Without(r.Pos); err == nil {
						t.Errorf("%s was taken out of\n%s\nwhich left\n%s", r, f.Data, text)
					}
				}
			}
		}
	}
}
