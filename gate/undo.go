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
	// Keep keeps everything that an allowed call is known to change; all tells whether that is all it changes.
	Keep(c *obstat.Call, d *obstat.Decision, a *effect.Analysis, limits native.Undo) (all bool, err error)
}

// keep keeps what an allowed call changes, before it is told that it may run. Where that cannot be done, it asks: a
// rule may have allowed it because it can be taken back. A confined run keeps by itself, knowing more.
func (p *passage) keep(d obstat.Decision) obstat.Decision {
	keeper := p.g.opts.Undo
	if keeper == nil || p.kept || d.Verdict != obstat.Allow || d.Confined != nil {
		return d
	}
	p.kept = true
	limits := p.j.undo()
	if kept := native.KeptBy(d.Rule); kept > 0 {
		limits.Keep = kept
	}
	if limits.Off {
		return d
	}
	all, err := keeper.Keep(p.call, &d, p.j.world.Analysis(p.call), limits)
	why := ""
	switch {
	case err != nil:
		why = "what it changes could not be kept for undo: " + err.Error()
	case !all && p.call.Circumstances["reversible"] == "true":
		why = "part of what it changes could not be kept for undo"
	default:
		return d
	}
	return obstat.Decision{Verdict: obstat.Ask, By: obstat.By{Kind: obstat.ByGuard}, Stage: "undo", Tool: d.Tool,
		Mode: d.Mode, Note: why}
}

// undo returns how much the policies in force want to be kept: of a line of agents, as much as the first of them says.
func (j *judged) undo() native.Undo {
	var out native.Undo
	for _, f := range j.line {
		out = out.Or(f.Undo())
	}
	return out
}
