package agent

import (
	"errors"
	"fmt"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/internal/tree"
)

// generic is obstat's own protocol, for agents that have none of their own:
// {"tool", "input", "cwd", "session"} in, {"decision", "reason", "input"} out.
// Only exit code zero together with "allow" means that the call may run.
type generic struct{}

func (generic) decode(p *payload, e *Event) (err error) {
	if err := p.keys(p.root, "tool", "tool_name", "input", "tool_input", "cwd", "dir", "session", "session_id"); err != nil {
		return err
	}
	c := &obstat.Call{}
	if c.Tool, err = p.need(p.root, either(p.root, "tool", "tool_name")); err != nil {
		return err
	}
	if c.Input, err = p.input(p.root, either(p.root, "input", "tool_input"), false); err != nil {
		return err
	}
	e.Call = c
	return p.texts(p.root, map[string]*string{either(p.root, "session", "session_id"): &c.Session, either(p.root, "cwd", "dir"): &c.Dir})
}

// either returns b where only that key is there.
func either(n *tree.Node, a, b string) string {
	if n.Get(a) == nil && n.Get(b) != nil {
		return b
	}
	return a
}

func (generic) encode(_ *Event, a *answer) Reply {
	if a.none {
		a = &answer{verdict: obstat.Deny, reason: "no rule speaks of this call"}
	}
	out := object{{Key: "decision", Value: a.verdict.String()}, {Key: "reason", Value: a.reason}}
	if a.input != nil && a.verdict != obstat.Deny {
		out = append(out, field("input", raw(a.input)))
	}
	if a.verdict == obstat.Allow {
		return reply(out, "", 0)
	}
	return reply(out, a.reason, exitDeny)
}

// antigravity is Antigravity's protocol: the JSON decides, exit codes do not.
type antigravity struct{}

func (antigravity) decode(p *payload, e *Event) error {
	call := p.root.Get("toolCall")
	if err := p.keys(p.root, "toolCall", "conversationId"); err != nil {
		return err
	}
	c, err := p.toolCall(call)
	if err != nil {
		return err
	}
	args := call.Get("args")
	if err = p.texts(args, map[string]*string{"Cwd": &c.Dir}); err != nil {
		return err
	}
	if line := args.Get("CommandLine"); line.Is(tree.String) {
		if c.Input, err = made(field("command", line.Str)); err != nil {
			return err
		}
	}
	e.Call = c
	return p.texts(p.root, map[string]*string{"conversationId": &c.Session})
}

// toolCall reads {"name", "args"}.
func (p *payload) toolCall(call *tree.Node) (c *obstat.Call, err error) {
	if !call.Is(tree.Object) {
		return nil, fmt.Errorf("toolCall must be an object, not %s", call.Kind)
	}
	if err := errors.Join(p.folded(call), p.keys(call, "name", "args")); err != nil {
		return nil, err
	}
	c = &obstat.Call{}
	if c.Tool, err = p.need(call, "name"); err != nil {
		return nil, err
	}
	c.Input, err = p.input(call, "args", false)
	return c, err
}

func (antigravity) encode(_ *Event, a *answer) Reply {
	if a = a.fixed().denied(); a.none || a.verdict == obstat.Allow {
		return reply(object{{Key: "decision", Value: "allow"}}, "", 0)
	}
	return reply(object{{Key: "decision", Value: "block"}, {Key: "reason", Value: a.reason}}, a.reason, 0)
}
