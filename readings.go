package obstat

import (
	"slices"
	"strconv"

	"github.com/obstat/obstat/effect"
)

// Readings returns the calls that a call may be taken for besides itself: a tool may look at another
// field of its input than the one that the tool of that name is known for. Of
// `run_shell {"command": "git status", "cmd": "rm -rf ~"}` one is `run_shell {"command": "rm -rf ~"}`. [Policy.Decide]
// counts the strictest of all; most calls have none.
func (c *Call) Readings() (out []*Call) {
	if len(c.Subjects) > 0 {
		return nil // they are matched in place of the input
	}
	for _, r := range effect.Readings(c.Tool, c.Input) {
		out = append(out, c.read(&r))
	}
	return out
}

// read returns the call with the input of a reading.
func (c *Call) read(r *effect.Reading) *Call {
	as := *c
	as.Input = r.Input
	return &as
}

// tightenRead tightens a decision by the readings of its call, with the floor on: without it the document's own
// choice of a field stands.
func (pol *Policy) tightenRead(call *Call, world World, trace *Trace, d *Decision) {
	if d.Verdict == Deny || len(call.Subjects) > 0 || !pol.prog.HasFloor() {
		return
	}
	for _, r := range effect.Readings(call.Tool, call.Input) {
		var one Decision
		as := call.read(&r)
		var way *Trace
		if trace != nil {
			way = &Trace{}
		}
		if !pol.foreign(as) || !pol.decideOwn(as, world, way, &one) {
			pol.walk(as, world, way, &one)
		}
		if one.Input != nil {
			one = faultyDecision(call.Tool, one.Mode, one.Stage,
				"the call is allowed only with other arguments, and more than one field holds them")
		}
		marks := d.Marks
		for _, m := range one.Marks {
			if !slices.Contains(marks, m) {
				marks = append(marks, m)
			}
		}
		if one.Verdict < d.Verdict {
			*d = one
			if trace != nil {
				*trace = *way
			}
			d.Note = joinNotes(d.Note,
				"the tool may take its field "+strconv.Quote(r.Field)+" for it, and of several the strictest counts")
		}
		d.Marks, d.OnlyUnknown = marks, d.OnlyUnknown && (one.Verdict == Allow || one.OnlyUnknown)
		d.Partly = d.Partly || one.Partly
	}
}
