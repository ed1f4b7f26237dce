package claudecode_test

import (
	"encoding/json"
	"fmt"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/dialect/claudecode"
)

// A user's settings decide for any agent's tools.
func Example() {
	settings := `{"permissions": {"allow": ["Bash(npm run *)"], "deny": ["Read(.env)"]}}`
	l, err := dialect.Load(claudecode.Dialect{}, &dialect.Input{Files: []dialect.File{{Name: ".claude/settings.json", Data: []byte(settings)}}})
	if err != nil {
		panic(err)
	}
	for _, c := range []obstat.Call{
		{Tool: "Bash", Input: json.RawMessage(`{"command": "npm run build"}`), Dir: "/w"},
		{Tool: "run_shell_command", Input: json.RawMessage(`{"command": "npm run build && cat .env"}`), Dir: "/w"},
	} {
		d := l.Policy.Decide(&c, nil)
		fmt.Println(d.Verdict, d.Reason())
	}
	// Output:
	// allow allow rule Bash(npm run *) (.claude/settings.json:1:28)
	// deny deny rule Read(.env) (.claude/settings.json:1:57), on .env: it would read /w/.env
}
