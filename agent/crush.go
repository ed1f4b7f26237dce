package agent

import (
	"strings"
	"time"

	"github.com/obstat/obstat"
)

// crush is Crush. An empty reply makes it ask by itself.
func crush() *Agent {
	return &Agent{Name: Crush, Title: "Crush", Patience: 30 * time.Second,
		wire: wire{variable: "CRUSH_EVENT", decode: crushDecode, encode: crushEncode, housekeeping: "todos",
			marks: func(s *sent) likeness { return surelyIf(s.has("event") && !s.has("hook_event_name")) }}}
}

func crushDecode(p *payload, e *Event) {
	p.text(p.root, "event")
	p.keys(p.root, "event session_id cwd tool_name tool_input")
	if strings.ToLower(strings.ReplaceAll(e.Name, "_", "")) != "pretooluse" {
		p.noEvent(e)
		return
	}
	p.claudeCall(e)
	e.Call.Mode = ""
}

func crushEncode(_ *Event, a *answer) Reply {
	if a.none || a.verdict == obstat.Ask {
		return Reply{}
	}
	out := obj("version", 1, "decision", a.verdict.String())
	if a.verdict == obstat.Deny {
		return reply(append(out, obj("reason", a.reason)...), a.reason, exitDeny)
	}
	return reply(with(out, "updated_input", a.input), "", 0)
}
