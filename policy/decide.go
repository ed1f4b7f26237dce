package policy

import (
	"github.com/obstat/obstat"
)

// An Answer is the strictest decision of the policies in force.
type Answer struct {
	obstat.Decision
	// By made the decision; nil where nothing that was found could be loaded.
	By *Policy
	// Call is the call as it was put to By.
	Call obstat.Call
	// Trace is how the decision came about, with [InForce.Explain].
	Trace *obstat.Trace
}

// Decide puts a call to all policies in force; the strictest answer counts, the
// first among equals.
func (f *InForce) Decide(call *obstat.Call, world obstat.World) Answer {
	return f.decide(call, func(p *Policy, c *obstat.Call) (obstat.Decision, *obstat.Trace) {
		return p.Loaded.Policy.Decide(c, world), nil
	})
}

// Explain answers like [InForce.Decide] and says how it came to the answer.
func (f *InForce) Explain(call *obstat.Call, world obstat.World) Answer {
	return f.decide(call, func(p *Policy, c *obstat.Call) (obstat.Decision, *obstat.Trace) {
		return p.Loaded.Policy.Explain(c, world)
	})
}

func (f *InForce) decide(call *obstat.Call, ask func(*Policy, *obstat.Call) (obstat.Decision, *obstat.Trace)) (out Answer) {
	if len(f.Broken) > 0 || len(f.Policies) == 0 {
		why := "no policy is in force"
		if len(f.Broken) > 0 {
			why = "the policy cannot be loaded: " + firstLine(f.Broken[0].Err)
		}
		out.Decision = obstat.Decision{Tool: call.Tool, Faults: []obstat.Fault{{Msg: why}}}
		return out
	}
	for _, p := range f.Policies {
		c := f.put(call, p)
		d, trace := ask(p, &c)
		if !p.counts(&d) || out.By != nil && d.Verdict >= out.Verdict {
			continue
		}
		out = Answer{Decision: d, By: p, Call: c, Trace: trace}
	}
	return out
}

// counts tells whether a decision of p counts, by p's role.
func (p *Policy) counts(d *obstat.Decision) bool {
	switch p.Role {
	case Inner:
		return d.Stage != "default" && d.Verdict != obstat.Allow || len(d.Faults) > 0
	case User:
		return d.Verdict == obstat.Deny
	}
	return true
}

// put returns the call as it is put to p. What an agent calls its mode means
// nothing to a policy that has no such mode.
func (f *InForce) put(call *obstat.Call, p *Policy) obstat.Call {
	c := *call
	if _, has := p.Program.Pipelines[c.Mode]; !has && f.agent != "" {
		c.Mode = ""
	}
	return c
}
