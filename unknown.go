package obstat

import (
	"slices"

	"github.com/obstat/obstat/effect"
)

// onlyUnknown tells whether a call asks for no other reason than that part of it cannot be known:
// of `mkdir out && make`, where writing here is allowed, that nobody can look into the Makefile.
// It decides the call once more as if its unknown parts did nothing that a rule is about. A rule
// that certainly asks, or a program that is known and that no rule allows, is another reason.
func (w *walk) onlyUnknown(pl *pipeline) bool {
	f := &w.facts
	if len(f.Call.Subjects) > 0 || f.analysis == nil || w.rewritten || w.ruled || !hasUnknown(f.analysis) {
		return false
	}
	if !slices.ContainsFunc(pl.amend, func(s step) bool { return s.floor }) {
		return false
	}
	trace, marks := w.trace, w.marks
	w.trace, w.confined = nil, true
	var o outcome
	w.run(pl, &o)
	w.trace, w.marks, w.confined, w.unseen = trace, marks, false, false
	return o.verdict == Allow && !o.faulted
}

// hasUnknown tells whether a call is a shell's whose text can be read, and of which a part
// cannot be looked into, or runs commands in a shell of its own, which are judged by themselves: `sh -c ls`,
// or writes files that it does not name one by one: `black .`.
func hasUnknown(a *effect.Analysis) bool {
	if a.Source == "" || slices.ContainsFunc(a.Gaps, func(g effect.Gap) bool { return unparsed(g.Kind) }) {
		return false
	}
	for i := range a.Commands {
		c := &a.Commands[i]
		if a.Unknown(i) || c.Wrapper && !c.Transparent {
			return true
		}
	}
	return len(a.Gaps) > 0 || slices.ContainsFunc(a.Effects, func(e effect.Effect) bool {
		return e.Kind == effect.Write && e.Command >= 0 && !e.Unnamed && !e.Target().Exact()
	})
}

// pass lets a question pass that no rule answers, where a confined run holds what it is about: the
// part that it is about cannot be looked into, or it is about the whole call, of which the
// floor judges each part.
func (w *walk) pass(f *Facts, q *Question, o *outcome) {
	if o.verdict != Ask || o.safety || o.faulted || !o.unruled() {
		return
	}
	unknown := f.part == nil || w.unseen
	if v, ok := w.pol.view.(effectView); ok {
		unknown = v.Unknown(q) || o.stage == StageUnknown
	}
	if unknown {
		o.verdict = Allow
	}
}

// unruled tells whether no rule that stands in a file has answered: a default has, or a built-in
// rule for everything, or for every call of a tool, as Gemini CLI's own for its shell, or one of [StageUnknown].
// One that only may be about the path, as `read secrets` about that of `cat "$f"`, holds inside for every path.
func (o *outcome) unruled() bool {
	if o.stage == StageMaybe {
		return true
	}
	if o.rule == nil {
		return o.stage == stageDefault
	}
	return !o.rule.Pos.IsValid() && (o.rule.Whole() || o.stage == StageUnknown)
}

// StageUnknown is the stage of built-in rules that ask where a policy denies all else. They are about things that a
// confined run holds by itself: of `go test` the code, and that it may fetch packages.
const StageUnknown = "unknown code"

// StageMaybe is the stage of rules about places that ask where a path cannot be seen, and so may lie in such a place.
const StageMaybe = "maybe"
