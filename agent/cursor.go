package agent

import (
	"time"

	"github.com/obstat/obstat"
)

// cursor is Cursor. It has one event for tools, and older ones for commands, MCP
// calls, files and subagents.
func cursor() *Agent {
	return &Agent{Name: Cursor, Title: "Cursor", Patience: 30 * time.Second,
		wire: wire{variable: "CURSOR_VERSION", decode: cursorDecode, encode: cursorEncode,
			marks: func(s *sent) likeness { return surelyIf(s.has("cursor_version", "conversation_id")) }}}
}

const (
	cursorTool  = "preToolUse"
	cursorShell = "beforeShellExecution"
	cursorMCP   = "beforeMCPExecution"
	cursorRead  = "beforeReadFile"
	cursorTab   = "beforeTabFileRead"
	cursorAgent = "subagentStart"
)

const cursorOther = "sessionStart sessionEnd postToolUse postToolUseFailure subagentStop afterShellExecution afterMCPExecution afterFileEdit beforeSubmitPrompt preCompact stop afterAgentResponse afterAgentThought afterTabFileEdit workspaceOpen"

func cursorDecode(p *payload, e *Event) {
	r := p.root
	p.keys(r, "conversation_id hook_event_name workspace_roots tool_name tool_input tool_use_id cwd command mcp_server_name file_path subagent_type task")
	c := &obstat.Call{}
	switch e.Name {
	case cursorTool:
		c.Tool, c.Input = p.need(r, "tool_name"), p.input(r, "tool_input", true)
	case cursorShell:
		c.Tool, c.Input = "Shell", p.made("command", p.need(r, "command"))
	case cursorMCP:
		c.Tool = "MCP:" + p.need(r, "tool_name")
		if server := p.text(r, "mcp_server_name"); server != "" {
			c.Tool = mcp(server, p.need(r, "tool_name"))
		}
		c.Input = p.input(r, "tool_input", true)
	case cursorRead, cursorTab:
		c.Tool, c.Input = "Read", p.made("file_path", p.need(r, "file_path"))
	case cursorAgent:
		c.Tool, c.Input = "Task", p.made("subagent_type", p.text(r, "subagent_type"), "prompt", p.text(r, "task"))
	default:
		p.asks(e, "", cursorOther)
		return
	}
	c.Session, c.Dir, e.ToolUse = p.text(r, "conversation_id"), p.text(r, "cwd"), p.text(r, "tool_use_id")
	if c.Roots = p.roots(r.Get("workspace_roots")); c.Dir == "" && len(c.Roots) > 0 {
		c.Dir = c.Roots[0]
	}
	e.Call = c
}

func cursorEncode(e *Event, a *answer) Reply {
	if e.Name != cursorShell && e.Name != cursorMCP {
		a = a.denied() // an ask is read there, and not enforced
	}
	if e.Name != cursorTool {
		a = a.fixed()
	}
	switch {
	case a.none && e.Call == nil:
		return Reply{}
	case a.none:
		return reply(obj("permission", "allow"), "", 0)
	case a.verdict == obstat.Allow:
		return reply(with(obj("permission", "allow"), "updated_input", a.input), "", 0)
	}
	out := obj("permission", a.verdict.String(), "user_message", a.reason, "agent_message", a.reason)
	if a.verdict == obstat.Ask {
		return reply(out, "", 0)
	}
	return reply(out, a.reason, exitDeny)
}
