package agent

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/obstat/obstat"
)

// TestDone: events that tell what became of a call are read, and answered with nothing.
func TestDone(t *testing.T) {
	const claude = `{"session_id":"s","transcript_path":"/t","cwd":"/w","permission_mode":"default","hook_event_name":"EVENT","tool_name":"Bash","tool_input":{"command":"ls"},"tool_use_id":"1"MORE}`
	const cursor = `{"conversation_id":"c","cursor_version":"2","workspace_roots":["/w"],"hook_event_name":"EVENT"MORE}`
	const opencode = `{"hook_event_name":"EVENT","tool":"bash","sessionID":"s","callID":"c","args":{"command":"ls"},"directory":"/w"MORE}`
	const cline = `{"clineVersion":"3","hookName":"EVENT","taskId":"t","workspaceRoots":["/w"],"postToolUse":{"toolName":"execute_command","parameters":{"command":"ls"}MORE}}`
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
		{OpenCode, opencode, "tool.execute.after", `,"output":"x","duration_ms":12`, Done{State: Ran, Took: 12 * time.Millisecond}, `"x"`},
		{OpenCode, opencode, "tool.execute.after", `,"error":"no such file"`, Done{State: Failed, Error: "no such file"}, ""},
		{Cline, cline, "PostToolUse", `,"result":"x","success":true,"executionTimeMs":7`, Done{State: Ran, Took: 7 * time.Millisecond}, `"x"`},
		{Cline, cline, "PostToolUse", `,"result":"exit 1","success":false`, Done{State: Failed, Error: "exit 1"}, `"exit 1"`},
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

// TestInBackground: the entries of these events are obstat's. They do not keep an agent waiting, except where it takes
// another output from them: in the background a masked one would be lost.
func TestInBackground(t *testing.T) {
	for _, a := range All().Installable() {
		for _, event := range strings.Fields(a.after) {
			line := a.lineOf(event, Invocation{"/opt/obstat", []string{a.Name}})
			behind := strings.Contains(line, inBackground) && strings.Contains(line, readFirst)
			if c, ours := a.invocation(splitWords(line)); !ours || c.Program != "/opt/obstat" || strings.Contains(line, "exit 2") {
				t.Errorf("%s %s: %s", a.Name, event, line)
			}
			if behind == a.Replaces(event) {
				t.Errorf("%s %s: in the background %v, though its answer counts: %s", a.Name, event, behind, line)
			}
		}
	}
}

// TestReadFirst: the whole payload reaches the command, also where the agent stops writing when the shell
// has ended.
func TestReadFirst(t *testing.T) {
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip("there is no sh here")
	}
	dir := t.TempDir()
	program, got := filepath.Join(dir, "obstat"), filepath.Join(dir, "got")
	if err := os.WriteFile(program, []byte("#!/bin/sh\nsleep 0.2; cat > "+dir+"/part; mv "+dir+"/part "+got+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	payload := strings.Repeat(`{"x":"\\ %s $y"}`, 20_000) // more than a pipe holds
	cmd := exec.Command("/bin/sh", "-c", copilot().lineOf("postToolUse", Invocation{program, []string{Copilot}}))
	cmd.Stdin = strings.NewReader(payload)
	if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
		t.Fatalf("%s, %v", out, err)
	}
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if b, err := os.ReadFile(got); err == nil {
			if string(b) != payload {
				t.Errorf("%d of %d bytes came", len(b), len(payload))
			}
			return
		}
	}
	t.Error("the command was not run")
}

// TestPrintedForms: each agent that takes another output gets it in its own form.
func TestPrintedForms(t *testing.T) {
	for _, c := range []struct{ agent, payload, masked, want string }{
		{ClaudeCode, `{"session_id":"s","hook_event_name":"PostToolUse","cwd":"/w","tool_name":"Bash","tool_input":{"command":"env"},` +
			`"tool_response":{"stdout":"x"}}`, `{"stdout":"[masked]"}`, `"updatedToolOutput":{"stdout":"[masked]"}`},
		{Codex, `{"session_id":"s","turn_id":"t","hook_event_name":"PostToolUse","cwd":"/w","model":"m","permission_mode":"default",` +
			`"tool_name":"Bash","tool_use_id":"u","tool_input":{"command":"env"},"tool_response":"x"}`, `"A=[masked]"`,
			`{"decision":"block","reason":"obstat has masked a secret in what this tool printed: it stands as [masked]\n\nA=[masked]"}`},
		{Gemini, `{"session_id":"s","hook_event_name":"AfterTool","cwd":"/w","timestamp":"2026-01-01T00:00:00Z","tool_name":"run_shell_command",` +
			`"tool_input":{"command":"env"},"tool_response":{"llmContent":"x"}}`, `{"llmContent":"A=[masked]","returnDisplay":"A=[masked]"}`,
			`{"decision":"deny","reason":"obstat has masked a secret in what this tool printed: it stands as [masked]\n\nA=[masked]"}`},
		{OpenCode, `{"hook_event_name":"tool.execute.after","tool":"bash","sessionID":"s","callID":"c","args":{"command":"env"},` +
			`"directory":"/w","output":"x"}`, `"A=[masked]"`, `{"decision":"allow","output":"A=[masked]"}`},
	} {
		e, err := Decode(c.agent, []byte(c.payload), func(string) string { return "" })
		if err != nil || e.Done == nil {
			t.Errorf("%s: %v %+v", c.agent, err, e)
			continue
		}
		got := e.Encode(&obstat.Decision{}, &Options{Printed: []byte(c.masked), Secrets: 1})
		if got.Exit != 0 || !strings.Contains(string(got.Stdout), c.want) {
			t.Errorf("%s: %d %s, want %s", c.agent, got.Exit, got.Stdout, c.want)
		}
	}
}
