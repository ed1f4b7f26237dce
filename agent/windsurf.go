package agent

import (
	"strings"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/internal/tree"
)

// windsurf is Windsurf's protocol: an exit code, and words on standard error.
type windsurf struct{}

// windsurfTool returns the tool that an event stands for.
func windsurfTool(event string) (tool string, known bool) {
	switch event {
	case "pre_run_command":
		return "run_command", true
	case "pre_read_code":
		return "view_file", true
	case "pre_write_code":
		return "edits", true
	}
	return "", event == "pre_mcp_tool_use"
}

func (windsurf) decode(p *payload, e *Event) (err error) {
	if err := p.keys(p.root, "agent_action_name", "trajectory_id", "tool_info"); err != nil {
		return err
	}
	tool, known := windsurfTool(e.Name)
	switch {
	case strings.HasPrefix(e.Name, "post_") || e.Name == "pre_user_prompt":
		return nil
	case !known:
		return noEvent(e)
	}
	c := &obstat.Call{Tool: tool}
	if c.Input, err = p.input(p.root, "tool_info", false); err != nil {
		return err
	}
	info := p.root.Get("tool_info")
	if tool == "" {
		err = p.windsurfMCP(c, info)
	} else {
		err = p.windsurfNeeds(tool, info)
	}
	if err != nil {
		return err
	}
	e.Call = c
	if err := p.texts(p.root, map[string]*string{"trajectory_id": &c.Session}); err != nil {
		return err
	}
	return p.texts(info, map[string]*string{"cwd": &c.Dir})
}

func (p *payload) windsurfNeeds(tool string, info *tree.Node) error {
	key := "file_path"
	if tool == "run_command" {
		key = "command_line"
	}
	_, err := p.need(info, key)
	return err
}

func (p *payload) windsurfMCP(c *obstat.Call, info *tree.Node) error {
	server, err := p.need(info, "mcp_server_name")
	if err != nil {
		return err
	}
	tool, err := p.need(info, "mcp_tool_name")
	if err != nil {
		return err
	}
	c.Tool = mcp(server, tool)
	c.Input, err = p.input(info, "mcp_tool_arguments", true)
	return err
}

func (windsurf) encode(_ *Event, a *answer) Reply {
	if a = a.fixed().denied(); a.none || a.verdict == obstat.Allow {
		return Reply{}
	}
	return reply(nil, a.reason, exitDeny)
}
