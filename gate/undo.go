package gate

import (
	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect/native"
	"github.com/obstat/obstat/effect"
)

// An Undoer keeps the files that calls change, so that the changes can be taken back.
type Undoer interface {
	// Reversible tells whether everything that a call does could be taken back, as far as that is known before.
	Reversible(a *effect.Analysis) bool
	// Keep keeps everything that a call is known to change which is allowed, or which the agent asks a person about by
	// itself; all tells whether that is all it changes.
	Keep(c *obstat.Call, d *obstat.Decision, a *effect.Analysis, limits native.Undo) (all bool, err error)
}

// keepAllowed keeps what a call changes that a rule allows. Where that cannot be done, it asks: the rule may have allowed
// it because it can be taken back.
func (p *passage) keepAllowed(d obstat.Decision) obstat.Decision {
	if d.Verdict != obstat.Allow {
		return d
	}
	why := p.keep(&d)
	if why == "" {
		return d
	}
	return obstat.Decision{Verdict: obstat.Ask, By: obstat.By{Kind: obstat.ByGuard}, Stage: "undo", Tool: d.Tool,
		Mode: d.Mode, Note: why}
}

// keep keeps what a call changes that may run, before its caller is told, and says why it could not. A confined run
// keeps by itself, knowing more.
func (p *passage) keep(d *obstat.Decision) (why string) {
	keeper := p.g.opts.Undo
	if keeper == nil || p.kept || d.Confined != nil {
		return ""
	}
	p.kept = true
	limits := p.j.undo()
	if kept := native.KeptBy(d.Rule); kept > 0 {
		limits.Keep = kept
	}
	if limits.Off {
		return ""
	}
	all, err := keeper.Keep(p.call, d, p.j.world.Analysis(p.call), limits)
	switch {
	case err != nil:
		return "what it changes could not be kept for undo: " + err.Error()
	case !all && p.call.Circumstances["reversible"] == "true":
		return "part of what it changes could not be kept for undo"
	}
	return ""
}

// undo returns how much the policies in force want to be kept: of a line of agents, as much as the first of them says.
func (j *judged) undo() native.Undo {
	var out native.Undo
	for _, f := range j.line {
		out = out.Or(f.Undo())
	}
	return out
}
