package all_test

import (
	"strings"
	"testing"

	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/dialect/all"
)

// TestWithout takes a rule out of a file of each form: that rule's text goes, and nothing else.
func TestWithout(t *testing.T) {
	for _, c := range []struct{ name, text, rule, want string }{
		{".claude/settings.json", `{"permissions": {"allow": ["Bash(ls *)", "Bash(git *)"], "x": 1}}`, "Bash(git *)", `{"permissions": {"allow": ["Bash(ls *)"], "x": 1}}`},
		{"opencode.json", "{\"permission\": {\"bash\": {\n  \"git *\": \"allow\", // mine\n  \"rm *\": \"deny\"\n}}}", "rm *", "{\"permission\": {\"bash\": {\n  \"git *\": \"allow\" // mine\n}}}"},
		{"config.yaml", "permissions:\n  enabled: true\n  schema: tiered_policy\n  rules:\n    # one\n    - {id: a, tools: [bash], pattern: \"git *\", action: allow}\n    - {id: b, tools: [bash], pattern: \"rm *\", action: deny}\n", "rm *",
			"permissions:\n  enabled: true\n  schema: tiered_policy\n  rules:\n    # one\n    - {id: a, tools: [bash], pattern: \"git *\", action: allow}\n"},
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
