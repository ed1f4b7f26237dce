package drive

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/obstat/obstat/agent"
)

// TestMain lets the test's own program answer hooks, as `obstat doctor --canary` does.
func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == "canary" {
		os.Exit(Canary(os.Args[2], os.Stdin, os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
}

// A stand-in for Claude Code: it asks the model once more for each call that its hook has judged, and HOW says what it
// does with the answer.
const standIn = `#!/bin/sh
hook=$(sed -n 's/.*"command": *"\([^"]*\)".*/\1/p' "$HOME/.claude/settings.json" | head -1 | sed 's/\\"/"/g')
results=
for call in asked denied; do
	payload='{"session_id":"s","transcript_path":"/x","cwd":"'$PWD'","permission_mode":"default","hook_event_name":"PreToolUse","tool_name":"Bash","tool_use_id":"u","tool_input":{"command":"touch '$call'","description":"a step"}}'
	answer=$(printf %s "$payload" | sh -c "$hook") || answer=denied
	case $HOW,$answer in
	as-asked,*|deaf,*) touch $call ;;
	gives-up,*) exit 0 ;;
	hangs,*) sleep 600 ;;
	*,*'"deny"'*) ;;
	*,*'touch changed'*) touch changed ;;
	esac
	case $HOW,$call in *lifts,denied) touch denied ;; esac
	results=$results',{"role":"user","content":[{"type":"tool_result","tool_use_id":"x","content":"ok"}]}'
	body='{"messages":[{"role":"user","content":"Please run the MAIN-SCRIPT."}'$results']}'
	host=${ANTHROPIC_BASE_URL#http://}
	python3 -c 'import sys,urllib.request as u; u.urlopen(u.Request(sys.argv[1]+"/v1/messages",sys.argv[2].encode(),{"Content-Type":"application/json"})).read()' "$ANTHROPIC_BASE_URL" "$body"
done
[ -z "$OPENED" ] || echo "the person's variables are here"
`

// TestRun: an agent is proved where the changed command runs and the denied one does not, and nowhere else.
func TestRun(t *testing.T) {
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("python3 is missing: the stand-in talks to the model by it")
	}
	t.Setenv("OPENED", "1")
	for how, says := range map[string]string{
		"well":     "",
		"as-asked": "and not the changed one",
		"gives-up": "it has made 0 of 2 calls",
		"lifts":    "ran a command that its hook denied",
	} {
		dir := t.TempDir()
		program := filepath.Join(dir, "claude")
		if err := os.WriteFile(program, []byte(strings.Replace(standIn, "#!/bin/sh\n", "#!/bin/sh\nHOW="+how+"\n", 1)), 0o755); err != nil {
			t.Fatal(err)
		}
		self, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		s := &Start{Agent: agent.Of(agent.ClaudeCode), Program: program, Canary: []string{self, "canary", agent.ClaudeCode}, Path: os.Getenv("PATH")}
		err = s.Run(t.Context())
		if (err == nil) != (says == "") || err != nil && !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", how, err)
		}
	}
	if err := (&Start{Agent: agent.Of(agent.Cursor)}).Run(t.Context()); err == nil || !strings.Contains(err.Error(), "was never started so") {
		t.Errorf("Cursor: %v", err)
	}
}
