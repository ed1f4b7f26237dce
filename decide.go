package obstat

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/obstat/obstat/effect"
	"github.com/obstat/obstat/internal/floor"
	"github.com/obstat/obstat/paths"
)

// An outcome is an answer on its way to being a Decision. It is small: outcomes
// are handed around on the hot path, and most have nothing to say.
type outcome struct {
	verdict         Verdict
	safety, faulted bool
	stage           string
	rule            *Rule
	said            *remark
}

// A remark holds the parts of an outcome that most have not: words, the part of
// the call that decided, a fault, another input.
type remark struct {
	note  string
	part  string
	fault string
	input json.RawMessage
	mode  bool // the note is a When stage's
}

// words returns the remark, or an empty one.
func (o *outcome) words() remark {
	if o.said == nil {
		return remark{}
	}
	return *o.said
}

// stageDefault is the stage of a question that no stage settled.
const stageDefault = "default"

// stageFloor is the stage of an answer that the floor tightened.
const stageFloor = "floor"

// A walk is one call's way through a policy. Walks are pooled: whatever a
// Decision keeps must not point into one.
type walk struct {
	pol   *Policy
	facts Facts
	quest Question
	given [1]Subject // of a call with one subject
	trace *Trace
	// rewritten: an amendment gave the call another input.
	rewritten bool
	marks     []string // see [Decision.Marks]
	over      Over     // that all answers so far outrank
	beside    []*Rule  // that allowed further questions of the call than the one whose answer counts
	// probing: the floor asks questions that only tighten, so that an allow decides nothing.
	probing bool
	// confined: the call is judged as if it ran confined; see onlyUnknown. blind: its unknown parts count as harmless
	// then. unseen: the part that is judged cannot be looked into. partly: a rule is about some of the files; see
	// Decision.Partly.
	confined, blind, unseen, partly bool
}

// Decide answers one call. It is pure: it reads the call, the policy and the
// world, and the same three give the same answer. Whatever goes wrong on the
// way denies, with the reason among the faults.
func (pol *Policy) Decide(call *Call, world World) (d Decision) {
	defer recovered(call, &d)
	if !pol.foreign(call) || !pol.decideOwn(call, world, nil, &d) {
		pol.walk(call, world, nil, &d)
	}
	pol.tightenRead(call, world, nil, &d)
	return d
}

// Explain answers like [Policy.Decide] and says how it came to the answer.
func (pol *Policy) Explain(call *Call, world World) (d Decision, t *Trace) {
	t = &Trace{}
	defer recovered(call, &d)
	if !pol.foreign(call) || !pol.decideOwn(call, world, t, &d) {
		pol.walk(call, world, t, &d)
	}
	pol.tightenRead(call, world, t, &d)
	return d, t
}

// recovered, deferred, makes a denial of a panic.
func recovered(call *Call, d *Decision) {
	if r := recover(); r != nil {
		*d = faultyDecision(call.Tool, "", "fault", fmt.Sprintf("deciding failed: %v", r))
	}
}

// faultyDecision returns the denial of a call that could not be decided.
func faultyDecision(tool string, mode Mode, stage, why string) Decision {
	return Decision{Tool: tool, Mode: mode, Stage: stage, By: By{Kind: ByFault}, Faults: []Fault{{Msg: why}}}
}

// walk decides with everything that a call may need.
func (pol *Policy) walk(call *Call, world World, trace *Trace, d *Decision) {
	pl, mode := pol.inForce, pol.prog.Mode
	if call.Mode != "" {
		pl, mode = pol.pipelines[call.Mode], call.Mode
	}
	var o outcome
	plain := trace == nil && len(call.Subjects) == 1 && pl != nil && pl.rulesOnly
	if plain && pl.subject(call.Tool, call.Subjects[0], &o) {
		settle(&o, call, mode, d)
		if o.verdict == Allow && o.rule != nil {
			d.Over = o.rule.Over &^ OverParts
		}
		return
	}
	w := pol.walks.Get().(*walk)
	w.pol, w.trace, w.over, w.beside = pol, trace, overUnset, w.beside[:0]
	w.facts.Call, w.facts.World, w.facts.Mode, w.facts.pol = call, world, mode, pol
	if pol.whole[call.Tool] {
		w.facts.analysis = &effect.Analysis{Full: true}
	}
	w.run(pl, &o)
	settle(&o, call, mode, d)
	d.Marks, d.Over = w.marks, w.outranks(d)
	if d.Verdict == Ask && !d.Safety {
		d.OnlyUnknown = w.onlyUnknown(pl)
		d.Partly = d.OnlyUnknown && w.partly
	}
	if w.rewritten && d.Verdict != Deny {
		d.Input = w.facts.Call.Input // a human approves the rewritten input
	}
	if trace != nil {
		trace.finish(w, d)
	}
	w.free()
}

// free gives the walk back, keeping its buffers and no pointer that matters.
func (w *walk) free() {
	f := &w.facts
	f.input.reset()
	f.Call, f.World, f.Settled, f.analysis, f.tree = nil, nil, nil, nil, nil
	if s, ok := f.Scratch.(scratch); ok {
		s.Reset()
	} else {
		f.Scratch = nil
	}
	w.trace, w.rewritten, w.marks, w.probing = nil, false, nil, false
	w.pol.walks.Put(w)
}

// settle makes the Decision. It is the only place in the module where a call
// becomes allowed: an outcome says Allow, and nothing went wrong.
func settle(o *outcome, call *Call, mode Mode, d *Decision) {
	d.Verdict, d.Safety, d.Stage, d.Rule = o.verdict, o.safety && o.verdict == Ask, o.stage, o.rule
	d.Mode, d.Tool, d.By.Kind = mode, call.Tool, o.by()
	if o.said != nil {
		d.Note, d.Part, d.Input = o.said.note, o.said.part, o.said.input
	}
	if o.faulted {
		d.Verdict, d.Safety, d.Rule, d.Input = Deny, false, nil, nil
		f := Fault{Msg: o.words().fault}
		if o.rule != nil {
			f.Rule, f.Pos = o.rule, o.rule.Pos
		}
		d.Faults = []Fault{f}
	}
}

// faulted returns the outcome of something that went wrong.
func faulted(stage, msg string, r *Rule) outcome {
	return outcome{verdict: Deny, faulted: true, stage: stage, rule: r, said: &remark{fault: msg}}
}

// run answers the call and amends the answer. Like the functions it calls, it
// fills in an outcome instead of returning one: outcomes returned from function to
// function are copied at each, and that cost more than the work.
func (w *walk) run(pl *pipeline, o *outcome) {
	f := &w.facts
	if pl == nil {
		*o = faulted("mode", fmt.Sprintf("there is no mode %q", f.Mode), nil)
		return
	}
	if f.Call.Tool == "" && f.Call.Input == nil && len(f.Call.Subjects) == 0 {
		*o = faulted("call", "the call is empty", nil)
		return
	}
	w.answer(f, pl, o)
	for i := range pl.amend {
		if o.faulted {
			return
		}
		w.amend(&pl.amend[i], f, pl, o)
	}
}

// answer puts all questions of the call (or part) to the stages; the strictest
// answer counts, the first among equals, and a rule's before the default's.
func (w *walk) answer(f *Facts, pl *pipeline, o *outcome) {
	switch {
	case w.pol.view == nil && f == &w.facts && len(f.Call.Subjects) == 0:
		w.builtinView(f, pl, o)
	case len(f.Call.Subjects) > 0:
		w.givenSubjects(f, pl, o)
	default:
		w.viewed(f, pl, o)
	}
}

// viewed answers a call through its dialect's view.
func (w *walk) viewed(f *Facts, pl *pipeline, o *outcome) {
	qs, err := w.pol.viewInForce().Questions(f)
	if err != nil {
		*o = faulted("view", err.Error(), nil)
		return
	}
	w.posed(f, pl, qs, o)
}

// posed answers the questions that a call, or a part, poses.
func (w *walk) posed(f *Facts, pl *pipeline, qs []Question, o *outcome) {
	switch {
	case len(qs) == 0 && f.part != nil:
		*o = outcome{verdict: Allow, stage: "view"} // the answer to the whole call stands
	case len(qs) == 0:
		*o = faulted("view", "the call poses no question that rules could answer", nil)
	default:
		w.strictest(f, pl, qs, o)
	}
}

// strictest answers questions until one is denied. Of two asks one by a rule counts more than a default.
func (w *walk) strictest(f *Facts, pl *pipeline, qs []Question, o *outcome) {
	w.question(f, pl, &qs[0], o)
	for i := 1; i < len(qs) && !o.faulted && o.verdict != Deny; i++ {
		var p outcome
		w.question(f, pl, &qs[i], &p)
		if p.verdict == Allow && p.rule != nil && p.rule != o.rule && f.part == nil {
			w.beside = append(w.beside, p.rule)
		}
		ruled := p.verdict == Ask && o.stage == stageDefault && p.rule != nil
		if p.verdict < o.verdict || p.faulted || ruled {
			if r := p.words(); r.part == "" {
				r.part = qs[i].label()
				p.said = &r
			}
			*o = p
		}
	}
}

// label names the question in a Decision.
func (q *Question) label() string {
	if len(q.Subjects) == 0 {
		return q.Tool
	}
	if text := q.Subjects[0].Text; floor.Marked(text) {
		return floor.Show(paths.Set{Text: text})
	}
	return strings.Clone(q.Subjects[0].Text)
}

// givenSubjects answers a call whose subjects the host has derived itself: a
// question for each.
func (w *walk) givenSubjects(f *Facts, pl *pipeline, o *outcome) {
	if len(f.Call.Subjects) == 1 {
		w.given[0] = Subject{anyField, f.Call.Subjects[0]}
		w.quest.Tool, w.quest.Subjects = f.Call.Tool, w.given[:]
		w.question(f, pl, &w.quest, o)
		return
	}
	qs := make([]Question, len(f.Call.Subjects))
	for i, s := range f.Call.Subjects {
		qs[i] = Question{f.Call.Tool, []Subject{{anyField, s}}}
	}
	w.strictest(f, pl, qs, o)
}

// builtinView is fieldView without its allocations.
func (w *walk) builtinView(f *Facts, pl *pipeline, o *outcome) {
	// Field by field: as a whole the question would be made on the stack first.
	w.quest.Tool = f.Call.Tool
	if f.input.read(f.Call.Input); f.input.err != nil {
		*o = faulted("view", f.input.err.Error(), nil)
		return
	}
	// The subject for the whole input is put behind the fields, where the next
	// call's fields will overwrite it.
	fields := append(f.input.fields, Subject{WholeInput, bytesAsString(f.Call.Input)})
	f.input.fields = fields[:len(fields)-1]
	w.quest.Subjects = w.pol.aliases(f.Call, fields)
	w.question(f, pl, &w.quest, o)
}

// question answers one question.
func (w *walk) question(f *Facts, pl *pipeline, q *Question, o *outcome) {
	w.stages(f, pl, q, o)
	if w.confined {
		w.pass(f, q, o)
	}
}

// stages asks the stages in order until one settles.
func (w *walk) stages(f *Facts, pl *pipeline, q *Question, o *outcome) {
	if w.trace != nil {
		w.trace.open(q, f.part)
	}
	plan := pl.plan(q.Tool)
	for i := range pl.stages {
		st := &pl.stages[i]
		var about *toolRules
		if st.list != nil {
			about = plan.about(pl, i)
			if st.mark {
				w.mark(st, f, q, about)
				continue
			}
			if w.trace == nil {
				rank, err := about.best(f, q)
				switch st.byRule(rank, err, o) {
				case settled:
					w.allowed(o)
					return
				case passed:
					continue
				}
			}
		}
		if p, ok := w.step(st, f, q, about); ok {
			*o = p
			w.allowed(o)
			if w.trace != nil {
				w.trace.rest(pl.stages[i+1:])
			}
			return
		}
	}
	*o = outcome{verdict: pl.def, stage: stageDefault}
	w.allowed(o)
}

type stepEnd uint8

const (
	unusual stepEnd = iota // a fault, or words
	passed
	settled
)

// byRule answers with the rule that a list has found. It settles the question or passes,
// which most stages do with most calls; anything else is left to match.
func (st *step) byRule(rank uint32, err error, o *outcome) stepEnd {
	if err != nil {
		return unusual
	}
	if rank == none {
		return passed
	}
	switch r := &st.list.ranked[rank]; {
	case !st.settles.Has(r.verdict):
		return passed
	case r.verdict == Ask && st.askDenies:
		return unusual
	default:
		o.verdict, o.stage, o.rule = r.verdict, st.name, r.Rule
		return settled
	}
}

func (w *walk) step(st *step, f *Facts, q *Question, about *toolRules) (outcome, bool) {
	switch {
	case st.list != nil:
		return w.match(st, f, q, about)
	case st.check != nil:
		return w.check(st, f)
	case st.when != nil:
		return w.when(st, f)
	}
	return faulted(st.name, "a stage that cannot settle a question", nil), true
}

func (w *walk) match(st *step, f *Facts, q *Question, about *toolRules) (outcome, bool) {
	rank, err := about.best(f, q)
	var r *Rule
	if rank != none {
		r = st.list.ranked[rank].Rule
	}
	if err != nil {
		w.trace.step(st, StepTrace{Note: err.Error(), Rule: r, Settled: true})
		return faulted(st.name, fmt.Sprintf("rule %s: %v", r, err), r), true
	}
	ok := r != nil && st.settles.Has(r.Verdict)
	var o outcome
	if ok {
		o = outcome{verdict: r.Verdict, stage: st.name, rule: r}
		if r.Verdict == Ask && st.askDenies {
			o.verdict, o.said = Deny, &remark{note: noteNobody}
		}
	}
	if w.trace != nil {
		w.trace.step(st, StepTrace{Hits: about.hits(f, q, w.pol.compiled), Rule: r, Settled: ok, Verdict: o.verdict})
	}
	return o, ok
}

// noteNobody says why an ask became a deny.
const noteNobody = "this would ask, and in this mode nobody is there to answer"

func (w *walk) check(st *step, f *Facts) (outcome, bool) {
	fd := st.check.Check(f)
	pass := fd.Pass || st.pass&fd.outcome() != 0
	o := outcome{verdict: fd.Verdict, safety: fd.Safety, stage: st.name, rule: fd.Rule}
	if pass {
		w.trace.step(st, StepTrace{Note: fd.Note, Rule: fd.Rule, Verdict: o.verdict, Silent: fd.Pass, Safety: fd.Safety})
		return outcome{}, false
	}
	said := remark{note: fd.Note, part: fd.Part, input: fd.Input}
	if st.askDenies && fd.Verdict == Ask {
		o.verdict, said.note = Deny, joinNotes(fd.Note, noteNobody)
	}
	o.said = &said
	w.trace.step(st, StepTrace{Note: fd.Note, Rule: fd.Rule, Settled: true, Verdict: o.verdict, Safety: fd.Safety})
	return o, true
}

func joinNotes(a, b string) string {
	if a == "" {
		return b
	}
	return a + "; " + b
}

func (fd *Finding) outcome() Outcomes {
	switch {
	case fd.Verdict == Allow:
		return CheckAllow
	case fd.Verdict == Deny:
		return CheckDeny
	case fd.Safety:
		return SafetyAsk
	}
	return PlainAsk
}

func (w *walk) when(st *step, f *Facts) (outcome, bool) {
	yes, err := true, error(nil)
	if st.pred != nil {
		yes, err = st.pred.Holds(f)
	} else {
		yes = st.has(f.Call.Tool)
	}
	if err != nil {
		w.trace.step(st, StepTrace{Note: err.Error(), Settled: true})
		return faulted(st.name, err.Error(), nil), true
	}
	o, ok, said := outcome{verdict: st.when.Then, stage: st.name, said: st.yes}, yes, "yes"
	if !yes && st.when.Else != nil {
		o, ok, said = outcome{verdict: *st.when.Else, stage: st.name, said: st.no}, true, "no"
	}
	w.trace.step(st, StepTrace{Settled: ok, Verdict: o.verdict, Silent: !ok, Note: said})
	return o, ok
}

// amend runs one amendment; the outcome becomes the stricter of the two.
func (w *walk) amend(st *step, f *Facts, pl *pipeline, o *outcome) {
	if st.floor {
		w.floor(st, f, pl, o)
		return
	}
	w.trace.amend(true)
	defer w.trace.amend(false)
	if s, ok := st.stage.(Check); ok {
		if slices.Contains(s.Unless, o.stage) {
			return
		}
		f.Settled = &Decision{Verdict: o.verdict, Stage: o.stage, Rule: o.rule}
	}
	q := &Question{Tool: f.Call.Tool}
	var about *toolRules
	if st.list != nil {
		about = st.list.about(q.Tool)
	}
	a, ok := w.step(st, f, q, about)
	switch {
	case !ok:
	case a.faulted || a.verdict < o.verdict:
		*o = a
	case a.words().input != nil && a.verdict == o.verdict:
		*o = w.rewrite(f, pl, *o, a.words().input)
	}
}

// rewrite gives the call another input, which an amendment wants. It is another
// call then, so the stages and the amendments that follow judge that one; the
// outcome is the stricter of the two.
func (w *walk) rewrite(f *Facts, pl *pipeline, o outcome, input json.RawMessage) outcome {
	call := *f.Call
	call.Input = input
	f.Call, f.input, f.analysis, f.tree, f.Scratch, w.rewritten = &call, inputFields{}, nil, nil, nil, true
	var again outcome
	if w.answer(f, pl, &again); again.faulted || again.verdict < o.verdict {
		return again
	}
	return o
}
