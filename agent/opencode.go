package agent

import (
	"time"

	"github.com/obstat/obstat"
)

// openCode is opencode. It has hooks in JavaScript only, so the protocol is
// between the plugin that obstat writes and obstat.
func openCode() *Agent {
	return &Agent{Name: OpenCode, Title: "opencode", Dialect: "opencode", Patience: time.Minute,
		wire: wire{decode: openCodeDecode, encode: openCodeEncode, housekeeping: "todowrite todoread invalid",
			marks: func(s *sent) likeness {
				return surelyIf(s.event == executeBefore || s.has("sessionID") && s.has("callID"))
			}}}
}

const executeBefore = "tool.execute.before"

func openCodeDecode(p *payload, e *Event) {
	r := p.root
	p.keys(r, "hook_event_name tool sessionID callID args directory")
	if e.Name != "" && e.Name != executeBefore {
		p.noEvent(e)
	}
	e.Call = &obstat.Call{Tool: p.need(r, "tool"), Input: p.input(r, "args", false), Session: p.text(r, "sessionID"), Dir: p.text(r, "directory")}
	e.ToolUse = p.text(r, "callID")
}

// openCodeEncode: the plugin throws unless it reads an allow and the exit code is
// zero.
func openCodeEncode(_ *Event, a *answer) Reply {
	if a = a.denied(); !a.none && a.verdict == obstat.Deny {
		return reply(obj("decision", "deny", "reason", a.reason), a.reason, exitDeny)
	}
	if a.none {
		a.input = nil
	}
	return reply(with(obj("decision", "allow"), "args", a.input), "", 0)
}
