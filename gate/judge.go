package gate

import (
	"context"
	"os"
	"slices"
	"time"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/internal/protect"
	"github.com/obstat/obstat/internal/statedir"
	"github.com/obstat/obstat/ledger"
)

// A turn is one call on its way through the gate.
type turn struct {
	g    *Gate
	call *obstat.Call
	// digest is the call's, as it was made.
	digest string
	began  time.Time
	world  *obstat.Recorder
	j      *judged
	// proposed are the offers of the face, in place of the dialect's; nil: none.
	proposed []obstat.Offer
	// request is the request that was put to humans, if one was.
	request string
	given   []byte           // the input that takes the place of the call's
	before  []*ledger.Record // to be written together with the decision
}

// judged is what the strictest policy says of a call.
type judged struct {
	by     *Gate // whose policy that is
	loaded *dialect.Loaded
	call   *obstat.Call // as it was put to that policy
	d      obstat.Decision
	said   obstat.Verdict // what the policy said, before anything else spoke
	self   bool           // the call would change what guards the agent
	trace  *obstat.Trace
	broken error // of any gate in the line
}

// judge puts a call to the gate's policy and to those of the agents that
// started this one, each in its own mode; the strictest answer counts.
func (g *Gate) judge(ctx context.Context, c *obstat.Call, world obstat.World) *judged {
	var out *judged
	var broken error
	for p := g; p != nil; p = p.opts.Parent {
		l, err := p.reload(ctx)
		if err != nil && broken == nil {
			broken = err
		}
		put := *c
		if put.Mode == "" || p != g {
			// What a subagent calls its mode is nothing to its parent's policy.
			put.Mode = p.opts.Mode
		}
		d, trace := l.Policy.Explain(&put, world)
		if out != nil && d.Verdict >= out.d.Verdict {
			continue
		}
		if p != g {
			d.Note = join(d.Note, "the agent that started this one may do no more")
		}
		out = &judged{by: p, loaded: l, call: &put, d: d, said: d.Verdict, trace: trace}
	}
	out.broken = broken
	out.self = g.guarded().Tighten(&out.d, out.call, g.opts.World, out.trace.Analysis)
	return out
}

// guarded is what the gate's agent may not change unasked.
func (g *Gate) guarded() *protect.Guarded {
	out := &protect.Guarded{State: g.opts.Guarded, Getenv: os.Getenv}
	if dir, err := statedir.Dir(os.Getenv); err == nil {
		out.State = append(slices.Clone(out.State), dir)
	}
	for p := g; p != nil; p = p.opts.Parent {
		l, _ := p.current()
		for _, f := range l.Input.Files {
			out.Policies = append(out.Policies, f.Name)
		}
	}
	return out
}

// decide puts a call to a policy that is not in force, for an answer that would
// put it there. What guards the agent is as safe from it as from any other.
func (g *Gate) decide(pol *obstat.Policy, c *obstat.Call, world obstat.World) obstat.Decision {
	d := pol.Decide(c, world)
	g.guarded().Tighten(&d, c, g.opts.World, nil)
	return d
}
