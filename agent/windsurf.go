package agent

import (
	"strings"
	"time"

	"github.com/obstat/obstat"
)

// windsurf is Windsurf: an exit code, and words on standard error.
func windsurf() *Agent {
	return &Agent{Name: Windsurf, Title: "Windsurf", Patience: 30 * time.Second,
		wire: wire{decode: windsurfDecode, encode: windsurfEncode,
			marks: func(s *sent) likeness { return surelyIf(s.has("agent_action_name", "tool_info")) }}}
}

func windsurfDecode(p *payload, e *Event) {
	p.keys(p.root, "agent_action_name trajectory_id tool_info")
	if strings.HasPrefix(e.Name, "post_") || e.Name == "pre_user_prompt" {
		return
	}
	info := p.root.Get("tool_info")
	c := &obstat.Call{Input: p.input(p.root, "tool_info", false), Session: p.text(p.root, "trajectory_id")}
	switch e.Name {
	case "pre_run_command":
		c.Tool = "run_command"
		p.need(info, "command_line")
	case "pre_read_code":
		c.Tool = "view_file"
		p.need(info, "file_path")
	case "pre_write_code":
		c.Tool = "edits"
		p.need(info, "file_path")
	case "pre_mcp_tool_use":
		c.Tool, c.Input = mcp(p.need(info, "mcp_server_name"), p.need(info, "mcp_tool_name")), p.input(info, "mcp_tool_arguments", true)
	default:
		p.noEvent(e)
	}
	c.Dir = p.text(info, "cwd")
	e.Call = c
}

func windsurfEncode(_ *Event, a *answer) Reply {
	if a = a.fixed().denied(); a.none || a.verdict == obstat.Allow {
		return Reply{}
	}
	return reply(nil, a.reason, exitDeny)
}
