package agent

import (
	"fmt"
	"slices"

	"github.com/obstat/obstat"
)

// cline is Cline's protocol, in both of its documented generations.
type cline struct{}

// clineOther are the events that ask for no permission.
const clineOther = "TaskStart TaskResume TaskCancel TaskComplete PostToolUse UserPromptSubmit PreCompact"

var (
	clineHousekeeping = []string{"attempt_completion", "plan_mode_respond", "ask_followup_question", "condense", "summarize_task"}
)

func (cline) decode(p *payload, e *Event) (err error) {
	if err := p.keys(p.root, "clineVersion", "hookName", "taskId", "workspaceRoots", "workspacePath", "preToolUse"); err != nil {
		return err
	}
	use := p.root.Get("preToolUse")
	switch {
	case among(clineOther, e.Name) && use == nil:
		return nil
	case e.Name != "" && e.Name != preToolUse:
		return noEvent(e)
	case use == nil:
		return fmt.Errorf("preToolUse is missing")
	}
	if err := p.keys(use, "toolName", "tool", "parameters"); err != nil {
		return err
	}
	key := "toolName"
	if use.Get(key) == nil {
		key = "tool"
	} else if use.Get("tool") != nil {
		return fmt.Errorf("the tool is named twice")
	}
	c := &obstat.Call{}
	if c.Tool, err = p.need(use, key); err != nil {
		return err
	}
	if c.Input, err = p.input(use, "parameters", false); err != nil {
		return err
	}
	if c.Tool == "use_mcp_tool" {
		if err := p.clineMCP(c); err != nil {
			return err
		}
	}
	e.Call = c
	e.Housekeeping = slices.Contains(clineHousekeeping, c.Tool)
	return p.clinePlace(e)
}

func (p *payload) clineMCP(c *obstat.Call) error {
	params := p.root.At("preToolUse", "parameters")
	server, err := p.need(params, "server_name")
	if err != nil {
		return err
	}
	tool, err := p.need(params, "tool_name")
	if err != nil {
		return err
	}
	c.Tool = mcp(server, tool)
	c.Input = nil
	if params.Get("arguments") != nil {
		c.Input, err = p.input(params, "arguments", true)
	}
	return err
}

func (p *payload) clinePlace(e *Event) (err error) {
	c := e.Call
	if err = p.texts(p.root, map[string]*string{"taskId": &c.Session, "workspacePath": &c.Dir}); err != nil {
		return err
	}
	if c.Roots, err = p.roots(p.root.Get("workspaceRoots")); err == nil && c.Dir == "" && len(c.Roots) > 0 {
		c.Dir = c.Roots[0]
	}
	return err
}

func (cline) encode(_ *Event, a *answer) Reply {
	if a = a.fixed().denied(); a.none || a.verdict == obstat.Allow {
		return reply(object{{Key: "cancel", Value: false}}, "", 0)
	}
	exit := 0
	if a.failed {
		exit = exitDeny
	}
	return reply(object{{Key: "cancel", Value: true}, {Key: "errorMessage", Value: a.reason}}, a.reason, exit)
}
