package hook

import (
	"testing"

	"github.com/obstat/obstat/agent"
)

// TestOutside: a directory that the model chose for a command does not become the workspace, and rules
// for what lies outside hold there.
func TestOutside(t *testing.T) {
	for name, p := range map[string][2]string{
		"native":   {"obstat.yaml", "version: 1\nallow: [read workspace, write workspace, run anything]\ndeny: [write outside workspace]\n"},
		"opencode": {"opencode.json", `{"permission":{"*":"allow","external_directory":"deny"}}`},
	} {
		home := place(t, map[string]string{"p/" + p[0]: p[1], "p/src/a": "", "other/x": ""})
		for _, cwd := range []string{home + "/p", home + "/p/src"} {
			check(t, name, home, cwd, cell{kind: "shell", arg: "touch ok", want: "allow"}, cell{kind: "shell", arg: "touch " + home + "/other/n", want: "deny"},
				cell{kind: "write", arg: home + "/other/n", want: "deny"}, cell{kind: "shell", arg: "cd " + home + "/other && touch n", want: "deny"},
				cell{kind: "shell", arg: "touch " + home + "/p/n", want: "allow"}, cell{kind: "write", arg: home + "/p/n", want: "allow"})
			for _, who := range []string{agent.Codex, agent.OpenCode, agent.Gemini, agent.Crush} {
				if got, why := answer(t, who, home, cwd, cell{kind: "shell", arg: "touch n", workdir: home + "/other"}); got != "deny" {
					t.Errorf("%s, %s in %s with a directory outside: %s: %s", name, who, cwd, got, why)
				}
			}
		}
	}
}
