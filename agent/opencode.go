package agent

import (
	"slices"

	"github.com/obstat/obstat"
)

// openCode is the protocol between opencode's plugin, which obstat writes, and
// obstat: opencode itself has hooks in JavaScript only.
type openCode struct{}

const executeBefore = "tool.execute.before"

var openCodeHousekeeping = []string{"todowrite", "todoread", "invalid"}

func (openCode) decode(p *payload, e *Event) (err error) {
	if err := p.keys(p.root, "hook_event_name", "tool", "sessionID", "callID", "args", "directory"); err != nil {
		return err
	}
	if e.Name != "" && e.Name != executeBefore {
		return noEvent(e)
	}
	c := &obstat.Call{}
	if c.Tool, err = p.need(p.root, "tool"); err != nil {
		return err
	}
	if c.Input, err = p.input(p.root, "args", false); err != nil {
		return err
	}
	e.Housekeeping = slices.Contains(openCodeHousekeeping, c.Tool)
	e.Call = c
	return p.texts(p.root, map[string]*string{"sessionID": &c.Session, "directory": &c.Dir, "callID": &e.ToolUse})
}

// encode: the plugin throws unless it reads an allow and the exit code is zero.
func (openCode) encode(_ *Event, a *answer) Reply {
	if a = a.denied(); !a.none && a.verdict == obstat.Deny {
		return reply(object{{Key: "decision", Value: "deny"}, {Key: "reason", Value: a.reason}}, a.reason, exitDeny)
	}
	out := object{{Key: "decision", Value: "allow"}}
	if a.input != nil && !a.none {
		out = append(out, field("args", raw(a.input)))
	}
	return reply(out, "", 0)
}
