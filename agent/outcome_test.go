package agent

import "testing"

// TestHonours is the table of how agents took replies when they were run: one row
// for a hook's output and end, one column for an agent. R: the call ran, B: it
// was blocked, A: it was put to the agent's own prompt, -: not tried.
func TestHonours(t *testing.T) {
	own := map[string][3]string{ // deny, allow, ask in the agent's own form
		ClaudeCode: {`{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"no"}}`,
			`{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"allow"}}`,
			`{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"ask","permissionDecisionReason":"?"}}`},
		Gemini:  {`{"decision":"deny","reason":"no"}`, `{"decision":"allow"}`, `{"decision":"ask"}`},
		Copilot: {`{"permissionDecision":"deny","permissionDecisionReason":"no"}`, `{"permissionDecision":"allow"}`, `{"permissionDecision":"ask"}`},
	}
	own[Codex] = own[ClaudeCode]
	columns := []string{ClaudeCode, Codex, Gemini, Copilot}
	const deny, allow, ask, half, plain, none = 0, 1, 2, 3, 4, 5
	for _, row := range []struct {
		name   string
		out    int
		stderr string
		exit   int
		want   string
	}{
		{"nothing, exit 0", none, "", 0, "RRRR"},
		{"allow", allow, "", 0, "RRRR"},
		{"deny, exit 0", deny, "", 0, "BBBB"},
		{"deny, exit 1", deny, "", 1, "BRBB"},
		{"words, exit 2", none, "no", 2, "BBBB"},
		{"exit 2, nothing printed", none, "", 2, "BRRB"},
		{"allow, words, exit 2", allow, "no", 2, "BBRB"},
		{"half an object, words, exit 2", half, "no", 2, "BBBB"},
		{"deny, words, exit 2", deny, "no", 2, "BBBB"},
		{"ask", ask, "", 0, "ARAA"},
		{"words, exit 1", none, "no", 1, "RRRB"},
		{"exit 139", none, "Segmentation fault", 139, "RRBB"},
		{"killed by a signal", none, "", -1, "RRRB"},
		{"half an object, exit 0", half, "", 0, "RRRR"},
		{"plain text, exit 0", plain, "", 0, "RRRR"},
		{"missing", none, "sh: not found", 127, "RRBB"},
	} {
		for i, name := range columns {
			r := &Reply{Stderr: []byte(row.stderr), Exit: row.exit}
			switch row.out {
			case deny, allow, ask:
				r.Stdout = []byte(own[name][row.out])
			case half:
				r.Stdout = []byte(own[name][deny][:20])
			case plain:
				r.Stdout = []byte("denied")
			}
			a := Of(name)
			if got := (&Hook{agent: a, Entry: Entry{Event: a.events[0]}}).Outcome(r); letter(got) != row.want[i:i+1] {
				t.Errorf("%s, %s: %v", name, row.name, got)
			}
		}
	}
}

func letter(o Outcome) string { return [...]string{"R", "A", "B"}[o] }

func TestHonoursForms(t *testing.T) {
	const pre = `"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"no"`
	for _, c := range []struct {
		agent, event, out string
		exit              int
		closed            bool
		want              Outcome
	}{
		{ClaudeCode, "PreToolUse", `{` + pre + `},"decision":"deny"}`, 0, false, Runs},
		{ClaudeCode, "PreToolUse", `{` + pre + `},"unknown":1}`, 0, false, Blocked},
		{ClaudeCode, "PreToolUse", `{"decision":"block","reason":"no"}`, 0, false, Blocked},
		{ClaudeCode, "PreToolUse", `{"hookSpecificOutput":{"hookEventName":"BeforeTool","permissionDecision":"deny"}}`, 0, false, Runs},
		{ClaudeCode, "PreToolUse", `{"hookSpecificOutput":{"permissionDecision":"deny"}}`, 0, false, Runs},
		{ClaudeCode, "PermissionRequest", `{"hookSpecificOutput":{"hookEventName":"PermissionRequest","decision":{"behavior":"deny"}}}`, 0, false, Blocked},
		{ClaudeCode, "PermissionRequest", `{"hookSpecificOutput":{"hookEventName":"PermissionRequest","decision":{"behavior":"allow"}}}`, 0, false, Runs},
		{ClaudeCode, "PermissionRequest", ``, 2, false, Asks},
		{Codex, "PreToolUse", `{` + pre + `,"ruleId":"x"}}`, 0, false, Runs},
		{Codex, "PreToolUse", `{` + pre + `},"x":1}`, 0, false, Runs},
		{Codex, "PreToolUse", `{"decision":"block","reason":"no"}`, 0, false, Blocked},
		{Codex, "PreToolUse", `{"decision":"block"}`, 0, false, Runs},
		{Codex, "PermissionRequest", ``, 0, false, Asks},
		{Codex, "PermissionRequest", `{"hookSpecificOutput":{"hookEventName":"PermissionRequest","decision":{"behavior":"deny"}}}`, 0, false, Blocked},
		{Copilot, "preToolUse", `{` + pre + `}}`, 0, false, Runs},
		{Cursor, "preToolUse", `{"permission":"ask"}`, 0, true, Runs},
		{Cursor, "beforeShellExecution", `{"permission":"ask"}`, 0, true, Asks},
		{Cursor, "beforeShellExecution", `{"permission":"deny"}`, 0, true, Blocked},
		{Cursor, "beforeShellExecution", `{"permission":"allow"}`, 0, true, Runs},
		{Cursor, "beforeShellExecution", `x`, 0, true, Blocked},
		{Cursor, "beforeShellExecution", `x`, 0, false, Runs},
		{Cursor, "beforeShellExecution", ``, 1, false, Runs},
		{Cursor, "beforeShellExecution", ``, 2, false, Blocked},
		{Crush, "PreToolUse", ``, 0, false, Asks},
		{Crush, "PreToolUse", ``, 127, false, Asks},
		{Crush, "PreToolUse", ``, 49, false, Blocked},
		{Crush, "PreToolUse", `{"decision":"deny"}`, 0, false, Blocked},
		{Crush, "PreToolUse", `{"decision":"allow"}`, 0, false, Runs},
		{Crush, "PreToolUse", `{` + pre + `}}`, 0, false, Blocked},
		{OpenCode, "tool.execute.before", `{"decision":"allow"}`, 0, false, Runs},
		{OpenCode, "tool.execute.before", `{"decision":"allow"}`, 1, false, Blocked},
		{OpenCode, "tool.execute.before", ``, 0, false, Blocked},
		{Windsurf, "pre_run_command", ``, 2, false, Blocked},
		{Windsurf, "pre_run_command", `{"decision":"deny"}`, 1, false, Runs},
		{Cline, "PreToolUse", `{"cancel":true}`, 0, false, Blocked},
		{Cline, "PreToolUse", `{"cancel":false}`, 0, false, Runs},
		{Cline, "PreToolUse", ``, 0, false, Runs},
	} {
		if got := (&Hook{agent: Of(c.agent), Entry: Entry{Event: c.event, failClosed: c.closed}}).Outcome(&Reply{Stdout: []byte(c.out), Exit: c.exit}); got != c.want {
			t.Errorf("%s %s, %s, exit %d: %v, want %v", c.agent, c.event, c.out, c.exit, got, c.want)
		}
	}
}
