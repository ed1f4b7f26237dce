package policy_test

import (
	"os"
	"path"
	"strings"
	"testing"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect/all"
)

// TestAgentFiles: an agent's own rules are in force for it, also beside another agent's; each
// kind of file is found in the project and in the user's home, and what it loosens waits.
func TestAgentFiles(t *testing.T) {
	const (
		rules    = "prefix_rule(pattern=[\"make\"])\nprefix_rule(pattern=[\"npm\"], decision=\"forbidden\")\n"
		policies = "[[rule]]\ntoolName = \"run_shell_command\"\ncommandPrefix = \"make\"\ndecision = \"allow\"\npriority = 10\n\n[[rule]]\ntoolName = \"run_shell_command\"\ncommandPrefix = \"npm\"\ndecision = \"deny\"\npriority = 10\n"
	)
	for agent, file := range map[string]string{"codex": ".codex/rules/a.rules", "gemini": ".gemini/policies/a.toml"} {
		text := map[string]string{"codex": rules, "gemini": policies}[agent]
		w := pinned(t, map[string]string{claudeFile: `{"permissions":{"deny":["Bash(make *)"]}}`, "work/p/" + file: text})
		at := w.where(agent)
		w.check(at, "npm test", obstat.Deny) // denials count at once
		w.check(at, "make x", obstat.Ask, "obstat trust")
		w.trust(at)
		w.check(at, "make x", obstat.Allow)
		w.check(at, "npm test", obstat.Deny)
		w.check(w.where("claude-code"), "make x", obstat.Deny) // whose own file it is not

		w = pinned(t, map[string]string{"home/" + file: text})
		at = w.where(agent)
		w.check(at, "make x", obstat.Allow)
		w.check(at, "npm test", obstat.Deny)
		if t.Failed() {
			t.Fatal(agent)
		}
	}
}

// TestPageListsFiles: docs/policy.md names every file of a project that is found, and the order in which
// systems count names obstat's own.
func TestPageListsFiles(t *testing.T) {
	page, err := os.ReadFile("../docs/policy.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range all.All() {
		for _, file := range d.Info().Files {
			named := false
			for name := file; name != "."; name = path.Dir(name) { // a file, or a directory of such files
				short := strings.TrimSuffix(name, "c")
				named = named || strings.Contains(string(page), "`"+name) || strings.Contains(string(page), "`"+path.Base(name)+"`") || strings.Contains(string(page), "`"+short+"(c)`")
			}
			if !named {
				t.Errorf("%s: %s is not named", d.Name(), file)
			}
		}
	}
	if !strings.Contains(string(page), "`obstat.yaml` or `obstat.json` decides") {
		t.Error("it is not said whose files decide")
	}
}
