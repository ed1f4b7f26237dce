package agent

import (
	"time"

	"github.com/obstat/obstat"
)

// copilot is Copilot CLI. It has its own protocol, in camel case, and speaks
// Claude Code's where it reads that agent's settings.
func copilot() *Agent {
	return &Agent{Name: Copilot, Title: "Copilot CLI", Patience: 30 * time.Second,
		wire: wire{variable: "COPILOT_CLI", marks: copilotMarks, decode: copilotDecode, encode: copilotEncode, housekeeping: "report_intent update_todo read_agent list_agents"}}
}

func copilotMarks(s *sent) likeness {
	switch {
	case s.has("toolName", "toolArgs", "sessionId"):
		return surely
	case !s.has("hook_event_name"):
	case s.told == Copilot || s.getenv("COPILOT_CLI") != "" || s.has("timestamp") && !s.has("permission_mode", "transcript_path"):
		return alike
	}
	return foreign
}

// pascal is the variant of Claude Code's settings, request the event before
// Copilot's own rules.
const (
	pascal  = "pascal"
	request = "permissionRequest"
)

const copilotOther = "sessionStart sessionEnd userPromptSubmitted postToolUse postToolUseFailure errorOccurred agentStop subagentStart subagentStop preCompact notification"

func copilotDecode(p *payload, e *Event) {
	r := p.root
	if r.Get("hook_event_name") != nil {
		e.Variant = pascal
		claudeDecode(p, e)
		e.Housekeeping = e.Call != nil && among(claudeHousekeeping, e.Call.Tool)
		return
	}
	p.keys(r, "sessionId cwd toolName toolArgs toolInput hookName agentType")
	args := "toolArgs"
	switch {
	case among(copilotOther, e.Name):
		return
	case e.Name == request:
		e.Variant, args = request, "toolInput"
	case e.Name != "" && e.Name != "preToolUse":
		p.noEvent(e)
	}
	e.Call = &obstat.Call{Tool: p.need(r, "toolName"), Input: p.input(r, args, true), Session: p.text(r, "sessionId"), Dir: p.text(r, "cwd")}
	e.Subagent = p.text(r, "agentType")
}

func copilotEncode(e *Event, a *answer) Reply {
	switch {
	case a.none:
		return Reply{}
	case e.Variant == pascal:
		return pascalReply(e, a)
	case e.Variant == request:
		return copilotRequest(a)
	}
	out := obj("permissionDecision", a.verdict.String())
	if a.verdict != obstat.Allow {
		out = append(out, obj("permissionDecisionReason", a.reason)...)
	}
	switch {
	case a.failed:
		return reply(out, a.reason, exitDeny)
	case a.verdict == obstat.Deny:
		return reply(out, a.reason, 0) // with another exit code the reason is lost
	}
	return reply(with(out, "modifiedArgs", a.input), "", 0)
}

// pascalReply is Claude Code's reply, with the older keys that both take.
func pascalReply(e *Event, a *answer) Reply {
	if a.verdict != obstat.Deny || e.Name == permissionRequest {
		return claudeEncode(e, a)
	}
	out := obj("hookEventName", preToolUse, "permissionDecision", "deny", "permissionDecisionReason", a.reason)
	return reply(obj("decision", "block", "reason", a.reason, "hookSpecificOutput", out), a.reason, exitDeny)
}

func copilotRequest(a *answer) Reply {
	a = a.fixed()
	switch a.verdict {
	case obstat.Ask:
		return Reply{} // its own prompt
	case obstat.Allow:
		return reply(obj("behavior", "allow"), "", 0)
	}
	return reply(obj("behavior", "deny", "message", a.reason), a.reason, exitDeny)
}
