package agent

import (
	"time"

	"github.com/obstat/obstat"
)

// cline is Cline, in both of its documented generations.
func cline() *Agent {
	return &Agent{Name: Cline, Title: "Cline", Patience: 30 * time.Second,
		wire: wire{decode: clineDecode, encode: clineEncode, housekeeping: "attempt_completion plan_mode_respond ask_followup_question condense summarize_task",
			marks: func(s *sent) likeness { return surelyIf(s.has("clineVersion")) }}}
}

// clineOther are the events that ask for no permission.
const clineOther = "TaskStart TaskResume TaskCancel TaskComplete PostToolUse UserPromptSubmit PreCompact"

func clineDecode(p *payload, e *Event) {
	r := p.root
	p.keys(r, "clineVersion hookName taskId workspaceRoots workspacePath preToolUse")
	use := r.Get("preToolUse")
	switch {
	case among(clineOther, e.Name) && use == nil:
		return
	case e.Name != "" && e.Name != preToolUse:
		p.noEvent(e)
	case use == nil:
		p.fail("preToolUse is missing")
	}
	p.keys(use, "toolName tool parameters")
	if use.Get("toolName") != nil && use.Get("tool") != nil {
		p.fail("the tool is named twice")
	}
	c := &obstat.Call{Tool: p.need(use, either(use, "toolName", "tool")), Input: p.input(use, "parameters", false),
		Session: p.text(r, "taskId"), Dir: p.text(r, "workspacePath"), Roots: p.roots(r.Get("workspaceRoots"))}
	if c.Tool == "use_mcp_tool" {
		params := use.Get("parameters")
		c.Tool, c.Input = mcp(p.need(params, "server_name"), p.need(params, "tool_name")), nil
		if params.Get("arguments") != nil {
			c.Input = p.input(params, "arguments", true)
		}
	}
	if c.Dir == "" && len(c.Roots) > 0 {
		c.Dir = c.Roots[0]
	}
	e.Call = c
}

func clineEncode(_ *Event, a *answer) Reply {
	if a = a.fixed().denied(); a.none || a.verdict == obstat.Allow {
		return reply(obj("cancel", false), "", 0)
	}
	exit := 0
	if a.failed {
		exit = exitDeny
	}
	return reply(obj("cancel", true, "errorMessage", a.reason), a.reason, exit)
}
