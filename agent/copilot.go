package agent

import (
	"fmt"
	"slices"

	"github.com/obstat/obstat"
)

// copilot is Copilot CLI's protocol: its own, in camel case, and the one of
// Claude Code that it speaks where it reads that agent's settings.
type copilot struct{}

// pascal is the variant of Claude Code's settings, request the event before
// Copilot's own rules.
const (
	pascal  = "pascal"
	request = "permissionRequest"
)

const copilotOther = "sessionStart sessionEnd userPromptSubmitted postToolUse postToolUseFailure errorOccurred agentStop subagentStart subagentStop preCompact notification"

func (copilot) decode(p *payload, e *Event) (err error) {
	if p.root.Get("hook_event_name") != nil {
		e.Variant = pascal
		if err := (claudeCode{}).decode(p, e); err != nil {
			return err
		}
		return nil
	}
	if err := p.keys(p.root, "sessionId", "cwd", "toolName", "toolArgs", "toolInput", "hookName", "agentType"); err != nil {
		return err
	}
	if p.root.Get("toolName") == nil && (e.Name == "" || among(copilotOther, e.Name)) && p.root.Get("toolArgs") == nil {
		if e.Name == "" {
			return fmt.Errorf("toolName is missing")
		}
		return nil
	}
	args := "toolArgs"
	switch {
	case e.Name == request:
		e.Variant, args = request, "toolInput"
	case among(copilotOther, e.Name):
		return nil
	case e.Name != "" && e.Name != cursorTool:
		return noEvent(e)
	}
	c := &obstat.Call{}
	if c.Tool, err = p.need(p.root, "toolName"); err != nil {
		return err
	}
	if c.Input, err = p.input(p.root, args, true); err != nil {
		return err
	}
	e.Call = c
	e.Housekeeping = slices.Contains([]string{"report_intent", "update_todo", "read_agent", "list_agents"}, c.Tool)
	return p.texts(p.root, map[string]*string{"sessionId": &c.Session, "cwd": &c.Dir, "agentType": &e.Subagent})
}

func (copilot) encode(e *Event, a *answer) Reply {
	switch {
	case a.none:
		return Reply{}
	case e.Variant == pascal:
		return pascalReply(e, a)
	case e.Variant == request:
		return copilotRequest(a)
	}
	out := object{{Key: "permissionDecision", Value: a.verdict.String()}}
	if a.verdict != obstat.Allow {
		out = append(out, field("permissionDecisionReason", a.reason))
	}
	switch {
	case a.failed:
		return reply(out, a.reason, exitDeny)
	case a.verdict == obstat.Deny:
		return reply(out, a.reason, 0) // with another exit code the reason is lost
	case a.input != nil:
		out = append(out, field("modifiedArgs", raw(a.input)))
	}
	return reply(out, "", 0)
}

// pascalReply is Claude Code's reply, with the older keys that both take.
func pascalReply(e *Event, a *answer) Reply {
	if a.verdict != obstat.Deny || e.Name == permissionRequest {
		return claudeCode{}.encode(e, a)
	}
	return reply(object{{Key: "decision", Value: "block"}, {Key: "reason", Value: a.reason}, {Key: "hookSpecificOutput", Value: object{
		{Key: "hookEventName", Value: preToolUse}, {Key: "permissionDecision", Value: "deny"}, {Key: "permissionDecisionReason", Value: a.reason}}}}, a.reason, exitDeny)
}

func copilotRequest(a *answer) Reply {
	a = a.fixed()
	switch a.verdict {
	case obstat.Ask:
		return Reply{} // its own prompt
	case obstat.Allow:
		return reply(object{{Key: "behavior", Value: "allow"}}, "", 0)
	}
	return reply(object{{Key: "behavior", Value: "deny"}, {Key: "message", Value: a.reason}}, a.reason, exitDeny)
}
