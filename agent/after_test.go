package agent

import (
	"strings"
	"testing"
	"time"

	"github.com/obstat/obstat"
)

// TestDone: events that tell what became of a call are read, and answered with nothing.
func TestDone(t *testing.T) {
	const claude = `{"session_id":"s","transcript_path":"/t","cwd":"/w","permission_mode":"default","hook_event_name":"EVENT","tool_name":"Bash","tool_input":{"command":"ls"},"tool_use_id":"1"MORE}`
	const cursor = `{"conversation_id":"c","cursor_version":"2","workspace_roots":["/w"],"hook_event_name":"EVENT"MORE}`
	for _, c := range []struct {
		agent, in, event, more string
		want                   Done
		result                 string
	}{
		{ClaudeCode, claude, "PostToolUse", `,"tool_response":{"stdout":"x"},"duration_ms":1500`, Done{State: Ran, Took: 1500 * time.Millisecond}, `{"stdout":"x"}`},
		{ClaudeCode, claude, "PostToolUseFailure", `,"error":"exit 1"`, Done{State: Failed, Error: "exit 1"}, ""},
		{ClaudeCode, claude, "PermissionDenied", `,"reason":"no"`, Done{State: NotRun, Error: "no"}, ""},
		{Codex, strings.Replace(claude, `"session_id"`, `"turn_id":"t","model":"m","session_id"`, 1), "PostToolUse", `,"tool_response":"out"`, Done{State: Ran}, `"out"`},
		{Gemini, strings.Replace(claude, `,"permission_mode":"default"`, "", 1), "AfterTool", `,"tool_response":{"llmContent":"x","error":{"message":"broken"}}`, Done{State: Failed, Error: "broken"}, `{"llmContent":"x","error":{"message":"broken"}}`},
		{Gemini, strings.Replace(claude, `,"permission_mode":"default"`, "", 1), "AfterTool", `,"tool_response":{"llmContent":"x","error":null}`, Done{State: Ran}, `{"llmContent":"x","error":null}`},
		{Copilot, `{"sessionId":"s","timestamp":1,"cwd":"/w","toolName":"bash","toolArgs":{"command":"ls"}MORE}`, "", `,"toolResult":{"resultType":"success","textResultForLlm":"x"}`, Done{State: Ran}, `{"resultType":"success","textResultForLlm":"x"}`},
		{Copilot, `{"sessionId":"s","timestamp":1,"cwd":"/w","toolName":"bash","toolArgs":{"command":"ls"}MORE}`, "", `,"toolResult":{"resultType":"denied"}`, Done{State: NotRun}, `{"resultType":"denied"}`},
		{Qwen, strings.Replace(claude, `"cwd"`, `"timestamp":"x","cwd"`, 1), "PostToolUse", `,"tool_response":{}`, Done{State: Ran}, `{}`},
		{Cursor, cursor, "afterShellExecution", `,"command":"ls","output":"x","duration":20,"cwd":"/w"`, Done{State: Ran, Took: 20 * time.Millisecond}, `"x"`},
		{Cursor, cursor, "afterMCPExecution", `,"tool_name":"poke","tool_input":"{}","mcp_server_name":"canary","result_json":"{}","duration":1`, Done{State: Ran, Took: time.Millisecond}, `"{}"`},
		{Windsurf, `{"agent_action_name":"EVENT","trajectory_id":"t","tool_info":{"command_line":"ls","cwd":"/w"}}`, "post_run_command", "", Done{State: Ran}, ""},
	} {
		in := strings.NewReplacer("EVENT", c.event, "MORE", c.more).Replace(c.in)
		e, err := Decode(c.agent, []byte(in), nil)
		if err != nil || e.Agent != c.agent || e.Call == nil || e.Call.Tool == "" || e.Done == nil {
			t.Errorf("%s %s: %+v, %v", c.agent, c.event, e, err)
			continue
		}
		got := *e.Done
		if string(got.Result) != c.result || got.State != c.want.State || got.Took != c.want.Took || got.Error != c.want.Error {
			t.Errorf("%s %s: %+v, %s", c.agent, c.event, got, got.Result)
		}
		for _, r := range []Reply{e.Encode(&obstat.Decision{}, nil), e.Refuse("x")} {
			if r.Exit != 0 || len(r.Stdout)+len(r.Stderr) > 0 {
				t.Errorf("%s %s is answered: %+v", c.agent, c.event, r)
			}
		}
	}
}

// TestInBackground: the entries of these events do not keep an agent waiting, and are obstat's.
func TestInBackground(t *testing.T) {
	for _, a := range All().Installable() {
		for _, event := range strings.Fields(a.after) {
			line := a.lineOf(event, Invocation{"/opt/obstat", []string{a.Name}})
			if c, ours := a.invocation(splitWords(line)); !ours || c.Program != "/opt/obstat" || !strings.Contains(line, inBackground) || strings.Contains(line, "exit 2") {
				t.Errorf("%s %s: %s", a.Name, event, line)
			}
		}
	}
}
