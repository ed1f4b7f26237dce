package agent

import (
	"time"

	"github.com/obstat/obstat"
)

// Generic is the name of the agent, as in `obstat hook generic`.
const Generic = "generic"

// generic is obstat's own protocol, for agents that have none of their own:
// {"tool", "input", "cwd", "session"} in, {"decision", "reason", "input"} out.
// Only exit code zero together with "allow" means that the call may run.
func generic() *Agent {
	return &Agent{
		Name: Generic, Title: "another agent", Patience: 30 * time.Second,
		wire: wire{
			marks:  func(s *sent) likeness { return surelyIf(s.told == Generic && !s.has("hook_event_name")) },
			decode: genericDecode, encode: genericEncode, lists: true,
			modes: []Mode{{Name: AnyMode, Allow: Skips, Asks: true,
				Says: "The caller decides; only an allow lets the call run."}},
		},
	}
}

func genericDecode(p *payload, e *Event) {
	r := p.root
	p.keys(r, "tool tool_name input tool_input cwd dir session session_id")
	e.Call = &obstat.Call{Tool: p.need(r, either(r, "tool", "tool_name")),
		Input:   p.input(r, either(r, "input", "tool_input"), false),
		Session: p.text(r, either(r, "session", "session_id")), Dir: p.text(r, either(r, "cwd", "dir"))}
}

func genericEncode(_ *Event, a *answer) Reply {
	if a.none {
		a = &answer{verdict: obstat.Deny, reason: "no rule speaks of this call"}
	}
	out := obj("decision", a.verdict.String(), "reason", a.reason)
	if a.verdict != obstat.Deny {
		out = with(out, "input", a.input)
	}
	if a.verdict == obstat.Allow {
		return reply(out, "", 0)
	}
	return reply(out, a.reason, exitDeny)
}
