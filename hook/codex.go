package hook

import (
	"fmt"
	"slices"
	"strings"

	"github.com/obstat/obstat"
)

// codex is Codex's protocol: Claude Code's, but a key more than it knows, a
// bare allow, an ask or an empty standard error make it run the call.
type codex struct{}

var codexOther = strings.Fields("PostToolUse PreCompact PostCompact SessionStart SessionEnd UserPromptSubmit SubagentStart SubagentStop Stop")

func (codex) decode(p *payload, e *Event) error {
	if err := p.keys(p.root, append(slices.Clone(claudeKeys), "turn_id", "model")...); err != nil {
		return err
	}
	if slices.Contains(codexOther, e.Name) {
		return nil
	}
	if e.Name != preToolUse && e.Name != permissionRequest {
		return fmt.Errorf("there is no event %q", e.Name)
	}
	if err := p.claudeCall(e); err != nil {
		return err
	}
	e.Call.Mode = "" // always the same, whatever the approval policy is
	// Waiting for and closing subagents, with their namespace glued on.
	for _, name := range []string{"wait_agent", "close_agent", "list_agents"} {
		e.Housekeeping = e.Housekeeping || strings.HasSuffix(e.Call.Tool, name)
	}
	e.Housekeeping = e.Housekeeping || e.Call.Tool == "update_plan"
	return nil
}

func (codex) encode(e *Event, a *answer) Reply {
	if e.Name == permissionRequest {
		a = a.fixed()
		if a.none {
			return Reply{}
		}
		a.accepted = nil // reserved there: the answer would be thrown away
		return claudeRequest(a)
	}
	if a = a.denied(); !a.none && a.verdict == obstat.Deny {
		return claudeCode{}.encode(e, a)
	}
	if a.none || a.input == nil {
		return Reply{} // there is no way to allow but to say nothing
	}
	out := object{{Key: "hookEventName", Value: preToolUse}, {Key: "permissionDecision", Value: "allow"}, field("updatedInput", raw(a.input))}
	return reply(object{{Key: "hookSpecificOutput", Value: out}}, "", 0)
}
