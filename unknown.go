package obstat

import (
	"slices"

	"github.com/obstat/obstat/effect"
)

// onlyUnknown tells whether a call asks for no other reason than that part of it cannot be known:
// of `mkdir out && make`, where writing here is allowed, that nobody can look into the Makefile.
// It decides the call once more as if its unknown parts did nothing that a rule is about. A rule
// that certainly asks, or a program that is known and that no rule allows, is another reason.
// Which of many files a known program touches is unknown as well: `black .`.
func (w *walk) onlyUnknown(pl *pipeline) bool {
	f := &w.facts
	if len(f.Call.Subjects) > 0 || f.analysis == nil || w.rewritten || !isReadable(f.analysis) {
		return false
	}
	blind := hasUnknown(f.analysis)
	if !blind && !slices.ContainsFunc(f.analysis.Effects, isMany) {
		return false
	}
	if !slices.ContainsFunc(pl.amend, func(s step) bool { return s.floor }) {
		return false
	}
	trace, marks := w.trace, w.marks
	w.trace, w.confined, w.blind, w.partly = nil, true, blind, false
	var o outcome
	w.run(pl, &o)
	w.trace, w.marks, w.confined, w.blind, w.unseen = trace, marks, false, false, false
	return o.verdict == Allow && !o.faulted && !(w.partly && slices.ContainsFunc(f.analysis.Effects, isStored))
}

// isReadable tells whether a call is a shell's whose text can be read.
func isReadable(a *effect.Analysis) bool {
	return a.Source != "" && !slices.ContainsFunc(a.Gaps, func(g effect.Gap) bool { return unparsed(g.Kind) })
}

// hasUnknown tells whether a part of a command cannot be looked into, or runs commands in a shell of its own, which are
// judged by themselves: `sh -c ls`.
func hasUnknown(a *effect.Analysis) bool {
	for i := range a.Commands {
		c := &a.Commands[i]
		if a.Unknown(i) || c.Wrapper && !c.Transparent {
			return true
		}
	}
	return len(a.Gaps) > 0
}

// isMany tells whether an effect is on files that are not named one by one: `rm *.o`, `black .`, `tsc`.
func isMany(e effect.Effect) bool {
	set := e.Target()
	return !set.IsZero() && !set.Exact() || e.Tags.Has(effect.Here)
}

// isStored tells whether an effect reads files out of git's store, `git log -p`: no run can keep one of them from git.
func isStored(e effect.Effect) bool {
	return e.Kind == effect.Read && e.Program == "git" && !e.Target().Exact() && !e.Tags.Has(effect.Worktree)
}

// pass lets a question pass that no rule answers, where a confined run holds what it is about: the part that it is
// about cannot be looked into, or it is about the whole call, of which the floor judges each part; or a rule is about
// some of many files, and inside each is judged by itself.
func (w *walk) pass(f *Facts, q *Question, o *outcome) {
	if o.verdict != Ask || o.safety || o.faulted || !o.unruled() {
		return
	}
	held := w.blind && (f.part == nil || w.unseen)
	if v, ok := w.pol.view.(effectView); ok {
		held = w.blind && (v.Unknown(q) || o.stage == StageUnknown) || v.Here(q)
		if !held && v.Partly(q) {
			held, w.partly = true, true
		}
	}
	if held {
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
