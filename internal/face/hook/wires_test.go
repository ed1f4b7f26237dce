package hook

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/obstat/obstat/agent"
)

// hosts are the agents that calls are sent for, in the order of the tables.
var hosts = []string{agent.ClaudeCode, agent.Codex, agent.Gemini, agent.OpenCode, agent.Copilot, agent.Qwen, agent.Crush, agent.Cursor, agent.Windsurf, agent.Cline}

// tools are the tools of the agents by kind: the name, and the input with ARG in it.
var tools = map[string]map[string][2]string{
	agent.ClaudeCode: {
		"shell": {"Bash", `{"command":ARG}`}, "write": {"Write", `{"file_path":ARG,"content":"x"}`}, "edit": {"Edit", `{"file_path":ARG,"old_string":"a","new_string":"b"}`},
		"read": {"Read", `{"file_path":ARG}`}, "task": {"Agent", `{"description":"d","prompt":"p","subagent_type":"x"}`}, "skill": {"Skill", `{"skill":"x"}`},
		"fetch": {"WebFetch", `{"url":"https://example.com/","prompt":"x"}`}, "search": {"WebSearch", `{"query":"x"}`}, "mcp": {"mcp__canary__poke", `{}`},
		"housekeeping": {"ListAgents", `{}`}, "notebook": {"NotebookEdit", `{"notebook_path":ARG,"new_source":"x"}`}, "background": {"Bash", `{"command":ARG,"run_in_background":true}`},
		"glob": {"Glob", `{"pattern":"*.go","path":ARG}`}, "grep": {"Grep", `{"pattern":"x","path":ARG}`}, "dashed": {"mcp__my-server__get-file", `{}`}, "monitor": {"Monitor", `{"command":ARG,"description":"d"}`},
	},
	agent.Codex: {
		"shell": {"Bash", `{"command":ARG}`}, "write": {"apply_patch", `{"command":"*** Begin Patch\n*** Add File: ARG\n+x\n*** End Patch"}`},
		"edit": {"apply_patch", `{"command":"*** Begin Patch\n*** Update File: ARG\n@@\n-a\n+b\n*** End Patch"}`},
		"two":  {"apply_patch", `{"command":"*** Begin Patch\n*** Add File: src/ok\n+x\n*** Update File: ARG\n@@\n-a\n+b\n*** End Patch"}`},
		"move": {"apply_patch", `{"command":"*** Begin Patch\n*** Update File: src/ok\n*** Move to: ARG\n@@\n-a\n+b\n*** End Patch"}`},
		"task": {"collaborationspawn_agent", `{"message":"p","task_name":"t"}`}, "mcp": {"mcp__canary__poke", `{}`}, "housekeeping": {"get_goal", `{}`}, "dashed": {"mcp__my-server__get-file", `{}`},
	},
	agent.Gemini: {
		"shell": {"run_shell_command", `{"command":ARG}`}, "write": {"write_file", `{"file_path":ARG,"content":"x"}`}, "edit": {"replace", `{"file_path":ARG,"old_string":"a","new_string":"b"}`},
		"read": {"read_file", `{"file_path":ARG}`}, "task": {"invoke_agent", `{"agent_name":"a","prompt":"p"}`}, "skill": {"activate_skill", `{"name":"x"}`},
		"fetch": {"web_fetch", `{"prompt":"see https://example.com/"}`}, "search": {"google_web_search", `{"query":"x"}`}, "mcp": {"mcp_canary_poke", `{}`},
		"housekeeping": {"complete_task", `{"result":"x"}`}, "many": {"read_many_files", `{"include":["a",ARG]}`}, "glob": {"glob", `{"pattern":"*.go","dir_path":ARG}`}, "dashed": {"mcp_my-server_get-file", `{}`},
		"grep": {"grep_search", `{"pattern":"x","dir_path":ARG}`}, "background": {"run_shell_command", `{"command":ARG,"is_background":true}`},
	},
	agent.OpenCode: {
		"shell": {"bash", `{"command":ARG,"description":"x"}`}, "write": {"write", `{"filePath":ARG,"content":"x"}`}, "edit": {"edit", `{"filePath":ARG,"oldString":"a","newString":"b"}`},
		"read": {"read", `{"filePath":ARG}`}, "task": {"task", `{"description":"d","prompt":"p","subagent_type":"x"}`}, "skill": {"skill", `{"name":"x"}`},
		"fetch": {"webfetch", `{"url":"https://example.com/","format":"text"}`}, "search": {"websearch", `{"query":"x"}`}, "mcp": {"canary_poke", `{}`},
		"housekeeping": {"todowrite", `{"todos":[]}`}, "two": {"apply_patch", `{"patchText":"*** Begin Patch\n*** Add File: src/ok\n+x\n*** Delete File: ARG\n*** End Patch"}`}, "glob": {"glob", `{"pattern":"*.go","path":ARG}`},
		"grep": {"grep", `{"pattern":"x","path":ARG}`}, "dashed": {"my-server_get-file", `{}`},
	},
	agent.Copilot: {
		"shell": {"bash", `{"command":ARG,"description":"x"}`}, "write": {"create", `{"path":ARG,"file_text":"x"}`}, "edit": {"edit", `{"path":ARG,"old_str":"a","new_str":"b"}`},
		"read": {"view", `{"path":ARG}`}, "task": {"task", `{"description":"d","prompt":"p","agent_type":"x","name":"n"}`}, "skill": {"skill", `{"skill":"x"}`},
		"fetch": {"web_fetch", `{"url":"https://example.com/"}`}, "search": {"web_search", `{"query":"x"}`}, "mcp": {"canary-poke", `{}`},
		"housekeeping": {"sql", `{"query":"select 1","description":"x"}`}, "dashed": {"my-server-get-file", `{}`}, "background": {"bash", `{"command":ARG,"mode":"async"}`}, "grep": {"grep", `{"pattern":"x","path":ARG}`},
	},
	agent.Qwen: {
		"shell": {"run_shell_command", `{"command":ARG,"is_background":false}`}, "write": {"write_file", `{"file_path":ARG,"content":"x"}`}, "edit": {"edit", `{"file_path":ARG,"old_string":"a","new_string":"b"}`},
		"read": {"read_file", `{"file_path":ARG}`}, "task": {"task", `{"description":"d","prompt":"p","subagent_type":"x"}`}, "skill": {"skill", `{"skill":"x"}`}, "fetch": {"web_fetch", `{"url":"https://example.com/","prompt":"x"}`},
		"search": {"web_search", `{"query":"x"}`}, "mcp": {"mcp__canary__poke", `{}`}, "housekeeping": {"todo_write", `{"todos":[]}`},
	},
	agent.Crush: {
		"shell": {"bash", `{"command":ARG,"description":"x"}`}, "write": {"write", `{"file_path":ARG,"content":"x"}`}, "edit": {"edit", `{"file_path":ARG,"old_string":"a","new_string":"b"}`},
		"read": {"view", `{"file_path":ARG}`}, "task": {"agent", `{"prompt":"p"}`}, "fetch": {"fetch", `{"url":"https://example.com/","format":"text"}`}, "search": {"web_search", `{"query":"x"}`}, "mcp": {"mcp_canary_poke", `{}`},
		"housekeeping": {"todos", `{}`}, "multi": {"multiedit", `{"file_path":ARG,"edits":[]}`},
	},
	agent.Cursor: {
		"shell": {"Shell", `{"command":ARG}`}, "write": {"Write", `{"file_path":ARG,"content":"x"}`}, "read": {"Read", `{"file_path":ARG}`}, "delete": {"Delete", `{"file_path":ARG}`},
		"task": {"Task", `{"subagent_type":"x","prompt":"p"}`}, "mcp": {"canary", `{}`}, "grep": {"Grep", `{"pattern":"x","path":ARG}`},
	},
	agent.Windsurf: {
		"shell": {"pre_run_command", `{"command_line":ARG,"cwd":CWD}`}, "edit": {"pre_write_code", `{"file_path":ARG,"edits":[{"old_string":"a","new_string":"b"}]}`}, "read": {"pre_read_code", `{"file_path":ARG}`},
		"mcp": {"pre_mcp_tool_use", `{"mcp_server_name":"canary","mcp_tool_name":"poke","mcp_tool_arguments":{}}`},
	},
	agent.Cline: {
		"shell": {"execute_command", `{"command":ARG,"requires_approval":"false"}`}, "write": {"write_to_file", `{"path":ARG,"content":"x"}`}, "edit": {"replace_in_file", `{"path":ARG,"diff":"x"}`},
		"read": {"read_file", `{"path":ARG}`}, "fetch": {"web_fetch", `{"url":"https://example.com/"}`}, "mcp": {"use_mcp_tool", `{"server_name":"canary","tool_name":"poke","arguments":"{}"}`}, "task": {"new_task", `{"context":"p"}`},
	},
}

// payload returns a call in an agent's own form, "" where it has no such tool; workdir is the
// directory that the model chose for it, where the agent has such a thing.
func payload(t *testing.T, who, kind, arg, cwd, workdir string) string {
	t.Helper()
	tool := tools[who][kind]
	if tool[0] == "" {
		return ""
	}
	quoted, _ := json.Marshal(arg)
	if !strings.Contains(tool[1], ":ARG") && !strings.Contains(tool[1], ",ARG") {
		quoted = quoted[1 : len(quoted)-1]
	}
	input := strings.ReplaceAll(strings.ReplaceAll(tool[1], "ARG", string(quoted)), "CWD", fmt.Sprintf("%q", cwd))
	if field := map[string]string{agent.OpenCode: "workdir", agent.Gemini: "dir_path", agent.Crush: "working_dir"}[who]; workdir != "" && kind == "shell" && field != "" {
		input = strings.TrimSuffix(input, "}") + fmt.Sprintf(`,%q:%q}`, field, workdir)
	}
	switch who {
	case agent.ClaudeCode:
		return fmt.Sprintf(`{"session_id":"s","transcript_path":"/t","cwd":%q,"permission_mode":"default","hook_event_name":"PreToolUse","tool_name":%q,"tool_input":%s,"tool_use_id":"1"}`, cwd, tool[0], input)
	case agent.Codex:
		if workdir != "" {
			cwd = workdir
		}
		return fmt.Sprintf(`{"session_id":"s","turn_id":"t","transcript_path":"/t","cwd":%q,"permission_mode":"bypassPermissions","model":"m","hook_event_name":"PreToolUse","tool_name":%q,"tool_input":%s,"tool_use_id":"1"}`, cwd, tool[0], input)
	case agent.Gemini:
		more := ""
		if kind == "mcp" {
			more = `,"mcp_context":{"server_name":"canary","tool_name":"poke"}`
		} else if kind == "dashed" {
			more = `,"mcp_context":{"server_name":"my-server","tool_name":"get-file"}`
		}
		return fmt.Sprintf(`{"session_id":"s","transcript_path":"/t","cwd":%q,"hook_event_name":"BeforeTool","timestamp":"2026-01-01T00:00:00Z","tool_name":%q,"tool_input":%s%s}`, cwd, tool[0], input, more)
	case agent.OpenCode:
		return fmt.Sprintf(`{"hook_event_name":"tool.execute.before","tool":%q,"sessionID":"s","callID":"c","args":%s,"directory":%q}`, tool[0], input, cwd)
	case agent.Qwen:
		return fmt.Sprintf(`{"session_id":"s","transcript_path":"/t","cwd":%q,"permission_mode":"default","hook_event_name":"PreToolUse","timestamp":"2026-01-01T00:00:00Z","tool_name":%q,"tool_input":%s,"tool_use_id":"1"}`, cwd, tool[0], input)
	case agent.Crush:
		return fmt.Sprintf(`{"event":"PreToolUse","session_id":"s","cwd":%q,"tool_name":%q,"tool_input":%s}`, cwd, tool[0], input)
	case agent.Cursor:
		base := fmt.Sprintf(`{"conversation_id":"c","generation_id":"g","model":"m","cursor_version":"2.4","workspace_roots":[%q],"cwd":%q,`, cwd, cwd)
		switch kind {
		case "shell":
			return base + fmt.Sprintf(`"hook_event_name":"beforeShellExecution","command":%s}`, quoted)
		case "mcp":
			return base + `"hook_event_name":"beforeMCPExecution","tool_name":"poke","tool_input":"{}","mcp_server_name":"canary"}`
		}
		return base + fmt.Sprintf(`"hook_event_name":"preToolUse","tool_name":%q,"tool_input":%s,"tool_use_id":"1"}`, tool[0], input)
	case agent.Windsurf:
		return fmt.Sprintf(`{"agent_action_name":%q,"trajectory_id":"t","execution_id":"e","timestamp":"2026-01-01T00:00:00Z","tool_info":%s}`, tool[0], input)
	case agent.Cline:
		return fmt.Sprintf(`{"clineVersion":"3","hookName":"PreToolUse","timestamp":"1","taskId":"t","workspaceRoots":[%q],"preToolUse":{"toolName":%q,"parameters":%s}}`, cwd, tool[0], input)
	}
	return fmt.Sprintf(`{"sessionId":"s","timestamp":1767225600000,"cwd":%q,"toolName":%q,"toolArgs":%s}`, cwd, tool[0], input)
}
