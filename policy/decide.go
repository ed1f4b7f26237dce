package policy

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/dialect/all"
	"github.com/obstat/obstat/dialect/native"
	"github.com/obstat/obstat/paths"
)

// A Ruling is the strictest decision of the policies in force.
type Ruling struct {
	obstat.Decision
	// From is the policy that made the decision; nil where nothing that was found could be loaded.
	From *Policy
	// Call is the call as it was put to From.
	Call obstat.Call
	// Trace is how the decision came about, with [InForce.Explain].
	Trace *obstat.Trace
	// Waits is the directory whose files would be looser and wait for a person to
	// accept them (`obstat trust DIR`); "" where none would.
	Waits string
	// Bounded: the files cannot be loaded, and the reason says so.
	Bounded bool
}

// Decide puts a call to all policies in force; the strictest answer counts, the
// first among equals.
func (f *InForce) Decide(call *obstat.Call, world obstat.World) Ruling {
	return f.decide(call, func(p *Policy, c *obstat.Call) (obstat.Decision, *obstat.Trace) {
		return p.Loaded.Policy.Decide(c, world), nil
	})
}

// Explain answers like [InForce.Decide] and says how it came to the answer.
func (f *InForce) Explain(call *obstat.Call, world obstat.World) Ruling {
	return f.decide(call, func(p *Policy, c *obstat.Call) (obstat.Decision, *obstat.Trace) {
		return p.Loaded.Policy.Explain(c, world)
	})
}

func (f *InForce) decide(call *obstat.Call, ask func(*Policy, *obstat.Call) (obstat.Decision, *obstat.Trace)) (out Ruling) {
	if why := f.unusable(); why != "" {
		out.Decision, out.Bounded = obstat.Decision{Tool: call.Tool, By: obstat.By{Kind: obstat.ByFault}, Faults: []obstat.Fault{{Msg: why}}}, len(f.Broken) > 0
		return out
	}
	var disk Ruling    // of the files alone, accepted or not
	var marks []string // of all policies
	unknown := true    // every ask is only for an unknown part
	partly := false    // one is about some of many files
	over := ^obstat.Over(0)
	for _, p := range f.Policies {
		c := f.put(call, p)
		d, trace := ask(p, &c)
		for _, m := range d.Marks {
			if !slices.Contains(marks, m) {
				marks = append(marks, m)
			}
		}
		if !p.counts(&d) {
			continue
		}
		unknown = unknown && (d.Verdict != obstat.Ask || d.OnlyUnknown)
		partly = partly || d.Partly
		over &= d.Over // a word that one of them has not accepted outranks nothing
		if p.OnDisk && (disk.From == nil || d.Verdict < disk.Verdict) {
			disk = Ruling{Decision: d, From: p}
		}
		if out.From == nil || d.Verdict < out.Verdict {
			out = Ruling{Decision: d, From: p, Call: c, Trace: trace}
		}
	}
	if out.unruled() && out.From.Dialect.Name() == native.BuiltinName {
		out.Note = join(out.Note, native.NoPolicy)
	}
	if len(f.Broken) > 0 {
		f.bounded(&out)
	} else if disk.Verdict > out.Verdict {
		f.waiting(&out, &disk)
	}
	out.OnlyUnknown = out.OnlyUnknown && unknown && len(f.Broken) == 0
	out.Partly = out.OnlyUnknown && partly
	if out.Marks, out.Over = marks, 0; out.Verdict == obstat.Allow {
		out.Over = over
	}
	return out
}

// unruled tells whether it asks since no rule is about the call, or about a part of it.
func (r *Ruling) unruled() bool {
	return r.Verdict == obstat.Ask && r.Rule == nil && (r.By.Kind == obstat.ByDefault || r.By.Kind == obstat.ByFloor)
}

// unusable says why there is nothing to decide by.
func (f *InForce) unusable() string {
	for _, b := range f.Broken {
		if !b.Bound {
			return "the policy cannot be loaded: " + firstLine(b.Err)
		}
	}
	if len(f.Policies) == 0 {
		return "no policy is in force"
	}
	return ""
}

// bounded asks where the accepted policy allows and the files cannot be loaded:
// they may deny it by now.
func (f *InForce) bounded(out *Ruling) {
	if out.Verdict == obstat.Deny && f.Broken[0].Err == errCrowded {
		return // nothing is stricter, whatever the other projects say
	}
	if out.Verdict == obstat.Allow {
		out.Verdict, out.Rule = obstat.Ask, nil
	}
	why := firstLine(f.Broken[0].Err)
	if f.Broken[0].Err != errCrowded {
		out.Bounded = true
		why = "the policy cannot be loaded, and what was accepted before decides, and asks: " + why
	}
	out.Note = join(out.Note, why)
}

// waiting says in the note that the files would be looser, and how to accept them.
func (f *InForce) waiting(out, disk *Ruling) {
	out.Waits = disk.From.Place
	for _, nw := range f.New {
		if out.Waits == "" {
			out.Waits = nw.Place
		}
	}
	says := "only the default of " + strings.Join(disk.From.Input.Names(), ", ")
	if disk.Rule != nil {
		says = "only " + disk.Rule.String()
		if disk.Rule.Pos.IsValid() { // the built-in policy's rules are in no file
			says += fmt.Sprintf(" (%s)", disk.Rule.Pos)
		}
	}
	if out.Verdict == obstat.Ask && !out.Safety {
		// That no accepted rule allows it goes without saying.
		out.By.Kind, out.Stage, out.Rule, out.Part, out.Note = obstat.ByGuard, "not accepted", nil, "", ""
	}
	how := fmt.Sprintf("`obstat trust %s` shows what is new and accepts it", out.Waits)
	if out.Waits == "" { // no project's: `OPENCODE_CONFIG=x` of an agent's settings leads there
		how = "it counts if the variable that leads to it is set by who starts the agent"
	}
	would := map[obstat.Verdict]string{obstat.Allow: "allow it", obstat.Ask: "ask about it"}[disk.Verdict]
	if f.Pins != "on" {
		how += "; what was accepted before does not count: " + f.Pins
	}
	out.Note = join(out.Note, fmt.Sprintf("%s would %s, which nobody has accepted yet; %s", says, would, how))
}

func join(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + "; " + b
}

// counts tells whether a decision of p counts, by p's role.
func (p *Policy) counts(d *obstat.Decision) bool {
	if p.aside() {
		return false
	}
	switch p.Role {
	case Inner:
		return d.Stage != "default" && d.Verdict != obstat.Allow || len(d.Faults) > 0
	case User: // only a rule's deny; no default lifts or stops a project's answer
		return d.Verdict == obstat.Deny && (d.Stage != "default" || len(d.Faults) > 0)
	}
	return true
}

// project returns the directory that p's path rules start from: where they were
// written, or, of a user's and the machine's, the project that the call is made in.
func (f *InForce) project(p *Policy, c *obstat.Call) string {
	switch {
	case p.Place != "":
		return p.Place
	case p.from != "" && paths.Inside(p.from, c.Dir):
		return p.from
	}
	return f.home
}

// put returns the call as it is put to p. An agent's mode means nothing to a policy
// that has no such mode, and a call that names no workspace is made in its working
// directory: else no path would be outside of it. The
// policy's path rules start where they were written.
func (f *InForce) put(call *obstat.Call, p *Policy) obstat.Call {
	c := *call
	if len(c.Roots) == 0 && c.Dir != "" {
		c.Roots = []string{c.Dir}
	}
	if c.Project == "" {
		c.Project = f.project(p, &c)
	}
	if f.agent != "" && c.Mode != "" && !p.hasMode(c.Mode, f.agent) {
		c.Mode = ""
	}
	return c
}

// Reach returns the verdicts that calls to a tool can get of the policies in force; a broken
// one asks at most.
func (f *InForce) Reach(tool string, mode obstat.Mode) obstat.Reach {
	if f.unusable() != "" {
		return obstat.Reach{}
	}
	out := obstat.Reach{Strictest: obstat.Allow, Loosest: obstat.Allow}
	for _, p := range f.Policies {
		if p.aside() {
			continue
		}
		m := mode
		if _, has := p.Program.Pipelines[m]; !has {
			m = ""
		}
		r := p.Loaded.Policy.Reach(tool, m)
		switch {
		case p.Role == Inner: // only its rules count, not its default
			r.Loosest = obstat.Allow
		case p.Role == User && r.Strictest == obstat.Ask: // only its denials count
			r.Strictest = obstat.Allow
		}
		denies := p.Program.Pipelines[cmp.Or(m, p.Program.Mode)].Default == obstat.Deny // which does not count
		if p.Role == User && (r.Loosest == obstat.Ask || denies) {
			r.Loosest = obstat.Allow
		}
		out.Strictest, out.Loosest = min(out.Strictest, r.Strictest), min(out.Loosest, r.Loosest)
	}
	if len(f.Broken) > 0 {
		out.Strictest, out.Loosest = min(out.Strictest, obstat.Ask), min(out.Loosest, obstat.Ask)
	}
	return out
}

// ModeOf returns the mode of a call for a policy of another machine: "", the policy's own, where
// the agent's word for it is none of the policy's.
func (p *Policy) ModeOf(c *obstat.Call) obstat.Mode {
	if c.Mode != "" && p.hasMode(c.Mode, c.Agent) {
		return c.Mode
	}
	return ""
}

// hasMode tells whether an agent's word for its mode is one of the policy's: Claude Code's
// `default` is not adk-fluent's, whose policy may be in the mode `plan`.
func (p *Policy) hasMode(m obstat.Mode, agent string) bool {
	of := p.Dialect
	if name := p.Program.Dialect; name != "" && name != of.Name() { // printed from another dialect's files
		if d, err := all.Find(name); err == nil {
			of = d
		}
	}
	_, has := p.Program.Pipelines[m]
	return has && (dialect.OwnedBy(of, agent) || dialect.OwnedBy(of, "*"))
}
