package agent

import (
	"slices"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/internal/tree"
)

// gemini is Gemini CLI's protocol for hooks, and for its external safety
// checkers.
type gemini struct{}

const (
	beforeTool    = "BeforeTool"
	safetyChecker = "safety checker"
)

// geminiOther are the events that ask for no permission.
const geminiOther = "AfterTool BeforeAgent AfterAgent BeforeModel AfterModel BeforeToolSelection SessionStart SessionEnd Notification PreCompress"

var (
	// Without complete_task a subagent never ends.
	geminiHousekeeping = []string{"complete_task", "update_topic", "write_todos", "enter_plan_mode"}
)

func (gemini) decode(p *payload, e *Event) error {
	if call := p.root.Get("toolCall"); call != nil {
		return p.safetyCall(e, call)
	}
	if err := p.keys(p.root, "session_id", "cwd", "hook_event_name", "tool_name", "tool_input", "mcp_context"); err != nil {
		return err
	}
	if among(geminiOther, e.Name) {
		return nil
	}
	if e.Name != beforeTool {
		return noEvent(e)
	}
	if err := p.claudeCall(e); err != nil {
		return err
	}
	e.Call.Mode = ""
	if ctx := p.root.Get("mcp_context"); ctx != nil && !ctx.Is(tree.Null) {
		if err := p.folded(ctx); err != nil {
			return err
		}
		if err := p.keys(ctx, "server_name", "tool_name"); err != nil {
			return err
		}
		server, err := p.need(ctx, "server_name")
		if err != nil {
			return err
		}
		tool, err := p.need(ctx, "tool_name")
		if err != nil {
			return err
		}
		e.Call.Tool = mcp(server, tool) // the name alone does not say where the server's ends
	}
	e.Housekeeping = slices.Contains(geminiHousekeeping, e.Call.Tool)
	if root := p.getenv("GEMINI_PROJECT_DIR"); absolute(root) {
		e.Call.Roots = []string{root}
	}
	return nil
}

func (p *payload) safetyCall(e *Event, call *tree.Node) error {
	e.Variant = safetyChecker
	c, err := p.toolCall(call)
	if err != nil {
		return err
	}
	env := p.root.At("context", "environment")
	if c.Dir, err = p.text(env, "cwd"); err != nil {
		return err
	}
	c.Roots, err = p.roots(env.Get("workspaces"))
	e.Call = c
	return err
}

func (gemini) encode(e *Event, a *answer) Reply {
	if e.Variant == safetyChecker {
		return safetyReply(a)
	}
	if !a.interactive {
		a = a.denied() // an ask without a terminal waits for ever
	}
	switch {
	case a.none:
		return reply(object{}, "", 0)
	case a.verdict == obstat.Deny:
		return reply(object{{Key: "decision", Value: "deny"}, {Key: "reason", Value: a.reason}}, a.reason, exitDeny)
	}
	out := object{{Key: "decision", Value: a.verdict.String()}}
	if a.verdict == obstat.Ask {
		out = append(out, field("reason", a.reason), field("systemMessage", a.reason))
	}
	if a.input != nil {
		out = append(out, field("hookSpecificOutput", object{{Key: "hookEventName", Value: beforeTool}, {Key: "tool_input", Value: raw(a.input)}}))
	}
	return reply(out, "", 0)
}

// safetyReply answers a safety checker's call: an error there is a denial, so
// the exit code need not be one.
func safetyReply(a *answer) Reply {
	a = a.fixed()
	switch {
	case a.none || a.verdict == obstat.Allow:
		return reply(object{{Key: "decision", Value: "allow"}}, "", 0)
	case a.verdict == obstat.Ask:
		return reply(object{{Key: "decision", Value: "ask_user"}, {Key: "reason", Value: a.reason}}, "", 0)
	}
	return reply(object{{Key: "decision", Value: "deny"}, {Key: "reason", Value: a.reason}}, a.reason, 0)
}
