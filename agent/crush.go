package agent

import (
	"strings"

	"github.com/obstat/obstat"
)

// crush is Crush's protocol. No opinion makes it ask by itself.
type crush struct{}

func (crush) decode(p *payload, e *Event) error {
	if err := p.keys(p.root, "event", "session_id", "cwd", "tool_name", "tool_input"); err != nil {
		return err
	}
	if strings.ToLower(strings.ReplaceAll(e.Name, "_", "")) != "pretooluse" {
		return noEvent(e)
	}
	err := p.claudeCall(e)
	if err == nil {
		e.Call.Mode = ""
		e.Housekeeping = e.Call.Tool == "todos"
	}
	return err
}

func (crush) encode(_ *Event, a *answer) Reply {
	if a.none || a.verdict == obstat.Ask {
		return Reply{}
	}
	out := object{{Key: "version", Value: 1}, {Key: "decision", Value: a.verdict.String()}}
	if a.verdict == obstat.Deny {
		return reply(append(out, field("reason", a.reason)), a.reason, exitDeny)
	}
	if a.input != nil {
		out = append(out, field("updated_input", raw(a.input)))
	}
	return reply(out, "", 0)
}
