package agent

import (
	"time"

	"github.com/obstat/obstat"
)

// codex is Codex. Its protocol is Claude Code's, but an unknown key, a bare allow,
// an ask or an empty standard error make it run the call.
func codex() *Agent {
	return &Agent{Name: Codex, Title: "Codex", ModelDir: true, Patience: 5 * time.Minute,
		wire: wire{marks: codexMarks, decode: codexDecode, encode: codexEncode, housekeeping: codexHousekeeping}}
}

func codexMarks(s *sent) likeness {
	switch {
	case s.has("turn_id"):
		return surely
	case s.told == Codex && s.has("hook_event_name") && !s.has("permission_mode"):
		return alike
	}
	return foreign
}

const codexOther = "PostToolUse PreCompact PostCompact SessionStart SessionEnd UserPromptSubmit SubagentStart SubagentStop Stop"

// codexHousekeeping are waiting for and closing subagents, with their namespace
// glued on. Whole names: an MCP server may call its tools as it likes.
const codexHousekeeping = `update_plan wait_agent close_agent list_agents
	multi_agent_v1wait_agent multi_agent_v1close_agent multi_agent_v1list_agents
	collaborationwait_agent collaborationclose_agent collaborationlist_agents`

func codexDecode(p *payload, e *Event) {
	p.keys(p.root, claudeKeys+" turn_id model")
	if p.asks(e, claudeAsking, codexOther) {
		p.claudeCall(e)
		e.Call.Mode = "" // always the same, whatever the approval policy is
	}
}

func codexEncode(e *Event, a *answer) Reply {
	if e.Name == permissionRequest {
		if a = a.fixed(); a.none {
			return Reply{}
		}
		a.accepted = nil // reserved there: the answer would be thrown away
		return claudeRequest(a)
	}
	if a = a.denied(); !a.none && a.verdict == obstat.Deny {
		return claudeEncode(e, a)
	}
	if a.none || a.input == nil {
		return Reply{} // an empty reply is the only allow
	}
	return reply(obj("hookSpecificOutput", with(obj("hookEventName", preToolUse, "permissionDecision", "allow"), "updatedInput", a.input)), "", 0)
}
