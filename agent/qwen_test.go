package agent

import (
	"strings"
	"testing"

	"github.com/obstat/obstat"
)

// TestQwen: a payload as its document has it is taken for Qwen Code's under any
// name, and an answer is in the form that it reads.
func TestQwen(t *testing.T) {
	const in = `{"session_id":"s","transcript_path":"/t","cwd":"/w","hook_event_name":"PreToolUse","timestamp":"2026-01-01T00:00:00Z","permission_mode":"yolo",
		"tool_name":"run_shell_command","tool_input":{"command":"rm -rf /"},"tool_use_id":"toolu_1","tool_call_id":"call_1","agent_type":"Explore"}`
	for _, told := range []string{"", Qwen, ClaudeCode, Gemini} {
		e, err := Decode(told, []byte(in), nil)
		if err != nil || e.Agent != Qwen || e.Call.Tool != "run_shell_command" || e.Call.Mode != "" || e.Subagent != "Explore" || e.ToolUse != "toolu_1" {
			t.Fatalf("told %q: %+v, %v", told, e, err)
		}
		r := e.Encode(&obstat.Decision{Verdict: obstat.Deny, Note: "no"}, nil)
		h := &Hook{agent: Of(Qwen), Entry: Entry{Event: preToolUse}}
		if h.Outcome(&r) != Blocked || strings.TrimSpace(string(r.Stderr)) != "no" {
			t.Errorf("%+v", r)
		}
		r = e.Encode(&obstat.Decision{Verdict: obstat.Ask, Note: "?"}, nil)
		if h.Outcome(&r) != Asks || !e.CanAsk(nil) {
			t.Errorf("%+v", r)
		}
	}
	for _, event := range strings.Fields("PostToolBatch PermissionRequest SessionDelete TodoCreated") {
		e, err := Decode(Qwen, []byte(strings.Replace(in, preToolUse, event, 1)), nil)
		if err != nil || e.Call != nil {
			t.Errorf("%s: %+v, %v", event, e, err)
		}
	}
}

// TestQwenHonours is read off its hookRunner.ts.
func TestQwenHonours(t *testing.T) {
	const deny = `{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny"}}`
	for _, c := range []struct {
		out, words string
		exit       int
		want       Outcome
	}{
		{"", "no", 2, Blocked}, {deny, "", 2, Runs}, {"", "", 2, Runs}, {deny, "", 0, Blocked}, {deny, "", 1, Blocked}, {"", deny, 0, Blocked},
		{`{"decision":"block"}`, "", 0, Blocked}, {`{"decision":"ask"}`, "", 0, Asks}, {"denied", "", 0, Runs}, {"", "no", 1, Runs}, {"", "", -1, Runs},
	} {
		h := &Hook{agent: Of(Qwen), Entry: Entry{Event: preToolUse}}
		if got := h.Outcome(&Reply{Stdout: []byte(c.out), Stderr: []byte(c.words), Exit: c.exit}); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}
