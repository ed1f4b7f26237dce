package doctor

import (
	"path/filepath"

	"github.com/obstat/obstat/internal/agents"
	"github.com/obstat/obstat/internal/jsonx"
)

// A kind is what a forged call is.
type kind uint8

const (
	shell   kind = iota // run a command
	write               // write a file
	unknown             // a tool with this name
)

// A call is forged in the form of each agent.
type call struct {
	kind kind
	text string
}

// session is how doctor's calls can be told from others.
const session = "obstat-doctor"

type object = jsonx.Object

func obj(kv ...any) object {
	var o object
	for i := 0; i+1 < len(kv); i += 2 {
		o = append(o, jsonx.Field{Key: kv[i].(string), Value: kv[i+1]})
	}
	return o
}

// tools are the names that agents have for running a command and writing a
// file.
var tools = map[string][2]string{
	agents.ClaudeCode: {"Bash", "Write"}, agents.Codex: {"Bash", "apply_patch"}, agents.Gemini: {"run_shell_command", "write_file"},
	agents.OpenCode: {"bash", "write"}, agents.Crush: {"bash", "write"}, agents.Copilot: {"bash", "create"}, agents.Cline: {"execute_command", "write_to_file"},
	agents.Cursor: {"Shell", "Write"},
}

// pathKeys are the arguments that hold the path of a file to write.
var pathKeys = map[string]string{agents.OpenCode: "filePath", agents.Copilot: "path", agents.Cline: "path"}

// toolCall returns a call's tool and arguments in the agent's words.
func (x *exam) toolCall(c call) (string, object) {
	names := tools[x.agent.Name]
	switch {
	case c.kind == shell:
		return names[0], obj("command", c.text)
	case c.kind == unknown:
		return c.text, obj("x", 1)
	case x.agent.Name == agents.Codex:
		return names[1], obj("command", "*** Begin Patch\n*** Update File: "+c.text+"\n@@\n-a\n+b\n*** End Patch")
	}
	key := pathKeys[x.agent.Name]
	if key == "" {
		key = "file_path"
	}
	content := "content"
	if x.agent.Name == agents.Copilot {
		content = "file_text"
	}
	return names[1], obj(key, c.text, content, "")
}

// payload returns what the agent writes to its hook, nil where the event has no
// such calls.
func (x *exam) payload(event string, c call) []byte {
	var o object
	switch x.agent.Name {
	case agents.Cursor:
		o = x.cursor(event, c)
	case agents.Windsurf:
		o = x.windsurf(event, c)
	default:
		tool, args := x.toolCall(c)
		o = x.toolPayload(event, tool, args)
	}
	if o == nil {
		return nil
	}
	b, err := jsonx.Marshal(o)
	if err != nil {
		return nil
	}
	return b
}

func (x *exam) toolPayload(event, tool string, args object) object {
	transcript := filepath.Join(x.Dir, "transcript.jsonl")
	switch x.agent.Name {
	case agents.ClaudeCode:
		o := obj("session_id", session, "transcript_path", transcript, "cwd", x.Dir, "prompt_id", session, "permission_mode", "default", "hook_event_name", event, "tool_name", tool, "tool_input", args)
		if event == "PreToolUse" {
			o = append(o, jsonx.Field{Key: "tool_use_id", Value: "toolu_canary"})
		}
		return o
	case agents.Codex:
		o := obj("session_id", session, "turn_id", session, "transcript_path", transcript, "cwd", x.Dir, "hook_event_name", event, "model", "canary", "permission_mode", "default", "tool_name", tool, "tool_input", args)
		if event == "PreToolUse" {
			o = append(o, jsonx.Field{Key: "tool_use_id", Value: "call_canary"})
		}
		return o
	case agents.Gemini:
		return obj("session_id", session, "transcript_path", transcript, "cwd", x.Dir, "hook_event_name", event, "timestamp", "2026-01-01T00:00:00.000Z", "tool_name", tool, "tool_input", args)
	case agents.OpenCode:
		return obj("hook_event_name", event, "tool", tool, "sessionID", session, "callID", "canary", "args", args, "directory", x.Dir)
	case agents.Crush:
		return obj("event", event, "session_id", session, "cwd", x.Dir, "tool_name", tool, "tool_input", args)
	case agents.Copilot:
		return obj("sessionId", session, "timestamp", int64(1767225600000), "cwd", x.Dir, "toolName", tool, "toolArgs", args)
	case agents.Cline:
		return obj("clineVersion", "3.0.0", "hookName", event, "timestamp", "1767225600000", "taskId", session, "workspaceRoots", []any{x.Dir}, "userId", session,
			"preToolUse", obj("toolName", tool, "parameters", args))
	}
	return nil
}

func (x *exam) cursor(event string, c call) object {
	o := obj("conversation_id", session, "generation_id", session, "model", "canary", "hook_event_name", event, "cursor_version", "2.4", "workspace_roots", []any{x.Dir})
	switch {
	case event == "beforeShellExecution" && c.kind == shell:
		return append(o, obj("command", c.text, "cwd", x.Dir, "sandbox", false)...)
	case event == "beforeMCPExecution" && c.kind == unknown:
		return append(o, obj("tool_name", c.text, "tool_input", `{"x":1}`, "mcp_server_name", "canary", "command", "canary")...)
	case event == "preToolUse" && c.kind == write:
		tool, args := x.toolCall(c)
		return append(o, obj("tool_name", tool, "tool_input", args, "tool_use_id", "canary", "cwd", x.Dir)...)
	case c.kind == shell && c.text == "true": // to be cut short
		return append(o, obj("file_path", filepath.Join(x.Dir, "a"), "subagent_type", "explore", "task", "a", "tool_name", "Write", "command", "true")...)
	}
	return nil
}

func (x *exam) windsurf(event string, c call) object {
	o := obj("agent_action_name", event, "trajectory_id", session, "execution_id", session, "timestamp", "2026-01-01T00:00:00Z", "model_name", "canary")
	info := func(kv ...any) object { return append(o, jsonx.Field{Key: "tool_info", Value: obj(kv...)}) }
	switch {
	case event == "pre_run_command" && c.kind == shell:
		return info("command_line", c.text, "cwd", x.Dir)
	case event == "pre_write_code" && c.kind == write:
		return info("file_path", c.text, "edits", []any{obj("old_string", "a", "new_string", "b")})
	case event == "pre_mcp_tool_use" && c.kind == unknown:
		return info("mcp_server_name", "canary", "mcp_tool_name", c.text, "mcp_tool_arguments", obj("x", 1))
	case c.kind == shell && c.text == "true":
		return info("file_path", filepath.Join(x.Dir, "a"))
	}
	return nil
}
