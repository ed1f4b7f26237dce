package agent

import (
	"slices"

	"github.com/obstat/obstat"
)

// codex is Codex's protocol: Claude Code's, but a key more than it knows, a
// bare allow, an ask or an empty standard error make it run the call.
type codex struct{}

const codexOther = "PostToolUse PreCompact PostCompact SessionStart SessionEnd UserPromptSubmit SubagentStart SubagentStop Stop"

// codexHousekeeping are waiting for and closing subagents, with their namespace
// glued on. Whole names: an MCP server may call its tools as it likes.
const codexHousekeeping = `update_plan wait_agent close_agent list_agents
	multi_agent_v1wait_agent multi_agent_v1close_agent multi_agent_v1list_agents
	collaborationwait_agent collaborationclose_agent collaborationlist_agents`

func (codex) decode(p *payload, e *Event) error {
	if err := p.keys(p.root, append(slices.Clone(claudeKeys), "turn_id", "model")...); err != nil {
		return err
	}
	if among(codexOther, e.Name) {
		return nil
	}
	if e.Name != preToolUse && e.Name != permissionRequest {
		return noEvent(e)
	}
	if err := p.claudeCall(e); err != nil {
		return err
	}
	e.Call.Mode = "" // always the same, whatever the approval policy is
	e.Housekeeping = among(codexHousekeeping, e.Call.Tool)
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
