package claudecode_test

import (
	"encoding/json"
	"testing"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/dialect/claudecode"
)

// TestReadRules: commands that only read pass by a rule that allows reading their files, as Claude Code 2.1.326 was seen
// to let them pass; all others go on as without it.
func TestReadRules(t *testing.T) {
	const text = `{"permissions": {"allow": ["Read(//opt/x/**)", "Read(~/notes/a.txt)", "Edit(/src/**)"],
		"deny": ["Read(//opt/x/private/**)"]}}`
	l, err := dialect.Load(claudecode.Dialect{}, &dialect.Input{Home: "/home/u",
		Files: []dialect.File{{Name: "/p/.claude/settings.json", Data: []byte(text)}}})
	if err != nil {
		t.Fatal(err)
	}
	for command, want := range map[string]obstat.Verdict{
		"cat /opt/x/a": obstat.Allow, "ls /opt/x": obstat.Allow, "find /opt/x/sub -name a": obstat.Allow,
		"head -1 /opt/x/a | wc -l": obstat.Allow, "cat /opt/x/sub/*.md": obstat.Allow, "cat ~/notes/a.txt": obstat.Allow,
		"cat /opt/y/a": obstat.Ask, "cat /opt/x/../y/a": obstat.Ask, "ls /opt": obstat.Ask, "cat /opt/*/a": obstat.Ask,
		"ls ~/notes": obstat.Ask, "cat ~/notes/*": obstat.Ask, "cat ~/notes/b.txt": obstat.Ask, "cat /opt/x/.env": obstat.Ask,
		"cp /opt/x/a src/a": obstat.Ask, "sort -o /opt/x/y /opt/x/a": obstat.Ask, "cat /opt/x/a > /opt/x/b": obstat.Ask,
		"grep -rn x /opt/x": obstat.Ask, "cat /opt/x/private/a": obstat.Deny, "touch /opt/x/a": obstat.Ask,
		"cat /opt/x/a $F": obstat.Ask,
	} {
		input, _ := json.Marshal(map[string]string{"command": command})
		call := &obstat.Call{Tool: "Bash", Input: input, Dir: "/p", Roots: []string{"/p"}}
		if d := l.Policy.Decide(call, &obstat.Snapshot{HomeDir: "/home/u"}); d.Verdict != want {
			t.Errorf("%s: %s, want %s: %s", command, d.Verdict, want, d.Reason())
		}
	}
}
