package agent

import (
	"github.com/obstat/obstat"
)

// cursor is Cursor's protocol: one event for tools, and older ones for
// commands, MCP calls, files and subagents.
type cursor struct{}

const (
	cursorTool  = "preToolUse"
	cursorShell = "beforeShellExecution"
	cursorMCP   = "beforeMCPExecution"
	cursorRead  = "beforeReadFile"
	cursorTab   = "beforeTabFileRead"
	cursorAgent = "subagentStart"
)

const cursorOther = "sessionStart sessionEnd postToolUse postToolUseFailure subagentStop afterShellExecution afterMCPExecution afterFileEdit beforeSubmitPrompt preCompact stop afterAgentResponse afterAgentThought afterTabFileEdit workspaceOpen"

func (cursor) decode(p *payload, e *Event) (err error) {
	if err := p.keys(p.root, "conversation_id", "hook_event_name", "workspace_roots", "tool_name", "tool_input", "tool_use_id", "cwd", "command", "mcp_server_name", "file_path", "subagent_type", "task"); err != nil {
		return err
	}
	if among(cursorOther, e.Name) {
		return nil
	}
	c := &obstat.Call{}
	switch e.Name {
	case cursorTool:
		if c.Tool, err = p.need(p.root, "tool_name"); err == nil {
			c.Input, err = p.input(p.root, "tool_input", true)
		}
	case cursorShell:
		err = p.shellCall(c)
	case cursorMCP:
		err = p.cursorMCP(c)
	case cursorRead, cursorTab:
		c.Tool = "Read"
		var file string
		if file, err = p.need(p.root, "file_path"); err == nil {
			c.Input, err = made(field("file_path", file))
		}
	case cursorAgent:
		c.Tool = "Task"
		var kind, task string
		if err = p.texts(p.root, map[string]*string{"subagent_type": &kind, "task": &task}); err == nil {
			c.Input, err = made(field("subagent_type", kind), field("prompt", task))
		}
	default:
		err = noEvent(e)
	}
	if err != nil {
		return err
	}
	e.Call = c
	return p.cursorPlace(e)
}

func (p *payload) shellCall(c *obstat.Call) error {
	command, err := p.need(p.root, "command")
	if err != nil {
		return err
	}
	c.Tool = "Shell"
	c.Input, err = made(field("command", command))
	return err
}

func (p *payload) cursorMCP(c *obstat.Call) error {
	tool, err := p.need(p.root, "tool_name")
	if err != nil {
		return err
	}
	server, err := p.text(p.root, "mcp_server_name")
	if err != nil {
		return err
	}
	if c.Tool = "MCP:" + tool; server != "" {
		c.Tool = mcp(server, tool)
	}
	c.Input, err = p.input(p.root, "tool_input", true)
	return err
}

func (p *payload) cursorPlace(e *Event) (err error) {
	c := e.Call
	if err = p.texts(p.root, map[string]*string{"conversation_id": &c.Session, "cwd": &c.Dir, "tool_use_id": &e.ToolUse}); err != nil {
		return err
	}
	if c.Roots, err = p.roots(p.root.Get("workspace_roots")); err == nil && c.Dir == "" && len(c.Roots) > 0 {
		c.Dir = c.Roots[0]
	}
	return err
}

func (cursor) encode(e *Event, a *answer) Reply {
	if e.Name != cursorShell && e.Name != cursorMCP {
		a = a.denied() // an ask is taken there, and not enforced
	}
	if e.Name != cursorTool {
		a = a.fixed()
	}
	switch {
	case a.none && e.Call == nil:
		return Reply{}
	case a.none || a.verdict == obstat.Allow:
		out := object{{Key: "permission", Value: "allow"}}
		if a.input != nil && !a.none {
			out = append(out, field("updated_input", raw(a.input)))
		}
		return reply(out, "", 0)
	}
	out := object{{Key: "permission", Value: a.verdict.String()}, {Key: "user_message", Value: a.reason}, {Key: "agent_message", Value: a.reason}}
	if a.verdict == obstat.Ask {
		return reply(out, "", 0)
	}
	return reply(out, a.reason, exitDeny)
}
