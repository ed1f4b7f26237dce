package agent

import (
	"time"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/internal/tree"
)

// gemini is Gemini CLI, with its hooks and its external safety checkers.
func gemini() *Agent {
	return &Agent{Name: Gemini, Title: "Gemini CLI", Patience: time.Minute,
		wire: wire{variable: "GEMINI_SESSION_ID", marks: geminiMarks, decode: geminiDecode, encode: geminiEncode,
			housekeeping: "complete_task update_topic write_todos enter_plan_mode"}} // without complete_task a subagent never ends
}

func geminiMarks(s *sent) likeness {
	return surelyIf(s.has("toolCall") && s.has("protocolVersion") || s.event == beforeTool || s.event == "AfterTool")
}

const (
	beforeTool    = "BeforeTool"
	safetyChecker = "safety checker"
)

// geminiOther are the events that ask for no permission.
const geminiOther = "AfterTool BeforeAgent AfterAgent BeforeModel AfterModel BeforeToolSelection SessionStart SessionEnd Notification PreCompress"

func geminiDecode(p *payload, e *Event) {
	if call := p.root.Get("toolCall"); call != nil {
		e.Variant, e.Call = safetyChecker, p.toolCall(call)
		env := p.root.At("context", "environment")
		e.Call.Dir, e.Call.Roots = p.text(env, "cwd"), p.roots(env.Get("workspaces"))
		return
	}
	p.keys(p.root, "session_id cwd hook_event_name tool_name tool_input mcp_context")
	if !p.asks(e, beforeTool, geminiOther) {
		return
	}
	p.claudeCall(e)
	e.Call.Mode = ""
	if ctx := p.root.Get("mcp_context"); ctx != nil && !ctx.Is(tree.Null) {
		p.folded(ctx)
		p.keys(ctx, "server_name tool_name")
		// tool_name alone does not say where the server's name ends.
		e.Call.Tool = mcp(p.need(ctx, "server_name"), p.need(ctx, "tool_name"))
	}
	e.Call.Roots = p.project("GEMINI_PROJECT_DIR")
}

func geminiEncode(e *Event, a *answer) Reply {
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
		return reply(obj("decision", "deny", "reason", a.reason), a.reason, exitDeny)
	}
	out := obj("decision", a.verdict.String())
	if a.verdict == obstat.Ask {
		out = append(out, obj("reason", a.reason, "systemMessage", a.reason)...)
	}
	if a.input != nil {
		out = append(out, obj("hookSpecificOutput", with(obj("hookEventName", beforeTool), "tool_input", a.input))...)
	}
	return reply(out, "", 0)
}

// safetyReply answers a safety checker's call: an error there is a denial, so
// the exit code need not be one.
func safetyReply(a *answer) Reply {
	a = a.fixed()
	switch {
	case a.none || a.verdict == obstat.Allow:
		return reply(obj("decision", "allow"), "", 0)
	case a.verdict == obstat.Ask:
		return reply(obj("decision", "ask_user", "reason", a.reason), "", 0)
	}
	return reply(obj("decision", "deny", "reason", a.reason), a.reason, 0)
}
