package explain

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/effect"
)

// A Walk is one question's way through the stages.
type Walk struct {
	Tool     string           `json:"tool"`
	Subjects []obstat.Subject `json:"subjects,omitempty"`
	// Part is set where the question is about a part of the call.
	Part string `json:"part,omitempty"`
	Why  string `json:"why,omitempty"` // how the part came to be judged
	// Of is the question in words: `delete build` where rules are about effects, else the part, else Text.
	Of   string `json:"of"`
	Span Span   `json:"span,omitzero"` // where it stands in the command
	// Text is the subject that the rules are matched against.
	Text string `json:"text"`
	// Decides: this question's answer is the call's.
	Decides bool           `json:"decides,omitempty"`
	Verdict obstat.Verdict `json:"verdict"`
	Steps   []Step         `json:"steps"`
}

// A Step is one stage of the pipeline with its outcome.
type Step struct {
	Stage string `json:"stage"`
	Kind  string `json:"kind"`
	// Looked is the subject that the stage matched.
	Looked string         `json:"looked,omitempty"`
	Hits   []*Rule        `json:"hits,omitempty"` // every rule that matches, best first
	Rule   *Rule          `json:"rule,omitempty"` // the one that was picked
	State  string         `json:"state"`          // settled, passed, not reached
	As     obstat.Verdict `json:"as"`             // the verdict it settled
	Safety bool           `json:"safety,omitempty"`
	Note   string         `json:"note,omitempty"`
}

// The states of a step.
const (
	Settled    = "settled"
	Passed     = "passed"
	NotReached = "not reached"
)

// maxHits bounds how many of the rules that match are kept for one step.
const maxHits = 20

func (x *explainer) walk() []Walk {
	out := make([]Walk, 0, len(x.tr.Questions))
	decides := x.deciding()
	for i := range x.tr.Questions {
		q := &x.tr.Questions[i]
		w := Walk{Tool: q.Question.Tool, Subjects: q.Question.Subjects, Text: mainSubject(&q.Question).Text,
			Decides: q == decides, Steps: steps(q.Steps, q), Verdict: x.verdictOf(q)}
		if q.Part != nil {
			w.Part, w.Why, w.Span = q.Part.Text, q.Part.Why, Span{q.Part.Span.Start, q.Part.Span.End}
		}
		w.Of = x.questionWords(q)
		out = append(out, w)
	}
	return out
}

// questionWords names a question: `delete build`, or the part of a command that it is about.
func (x *explainer) questionWords(q *obstat.QuestionTrace) string {
	text := mainSubject(&q.Question).Text
	for _, s := range q.Question.Subjects {
		if s.Field == "host" && s.Text != "" {
			text = s.Text
		}
	}
	switch {
	case q.Question.Tool != x.r.Call.Tool && text != "" && text != q.Question.Tool:
		return q.Question.Tool + " " + text
	case q.Part != nil && q.Part.Text != "":
		return q.Part.Text
	}
	return cmp.Or(text, q.Question.Tool)
}

// verdictOf returns the answer to one question.
func (x *explainer) verdictOf(q *obstat.QuestionTrace) obstat.Verdict {
	if s := settling(q); s != nil {
		return s.Verdict
	}
	return x.r.Program.Pipelines[x.d.Mode].Default
}

// settling returns the step that settled a question, nil for none.
func settling(q *obstat.QuestionTrace) *obstat.StepTrace {
	if q == nil {
		return nil
	}
	i := slices.IndexFunc(q.Steps, func(s obstat.StepTrace) bool { return s.Settled })
	if i < 0 {
		return nil
	}
	return &q.Steps[i]
}

// steps turns the steps of a trace, of question q if there is one, into views.
func steps(in []obstat.StepTrace, q *obstat.QuestionTrace) []Step {
	out := make([]Step, 0, len(in))
	for i := range in {
		t := &in[i]
		s := Step{Stage: t.Stage, Kind: t.Kind, Rule: newRule(t.Rule), State: Passed, As: t.Verdict, Safety: t.Safety,
			Note: t.Note}
		switch {
		case t.Skipped:
			s.State = NotReached
		case t.Settled:
			s.State = Settled
		}
		for j, r := range t.Hits {
			if j == maxHits {
				break
			}
			s.Hits = append(s.Hits, newRule(r))
		}
		if q != nil && !t.Skipped {
			s.Looked = looked(q, t)
		}
		out = append(out, s)
	}
	return out
}

// looked returns the subject of a step: the field that its rule matches, else
// the call's main field.
func looked(q *obstat.QuestionTrace, t *obstat.StepTrace) string {
	if t.Rule != nil && t.Rule.Field != "" && t.Rule.Field != "place" { // `secrets` is seen in the path, .env
		for _, s := range q.Question.Subjects {
			if s.Field == t.Rule.Field {
				return s.Text
			}
		}
	}
	if t.Kind != "match" || t.Rule != nil && t.Rule.Whole() {
		return q.Question.Tool
	}
	if q.Part != nil {
		return q.Part.Text
	}
	return mainSubject(&q.Question).Text
}

// mainSubject returns the subject that a question is about.
func mainSubject(q *obstat.Question) obstat.Subject {
	for _, name := range effect.MainFields(q.Tool) {
		for _, s := range q.Subjects {
			if s.Field == name {
				return s
			}
		}
	}
	if len(q.Subjects) > 0 && q.Subjects[0].Field != "$input" {
		return q.Subjects[0]
	}
	return obstat.Subject{Text: q.Tool}
}

// floor describes the floor's part in one line.
func (x *explainer) floor() string {
	on := false
	for _, s := range x.r.Program.Pipelines[x.d.Mode].Amend {
		_, isFloor := s.(obstat.Floor)
		on = on || isFloor
	}
	if !on {
		return "off"
	}
	for _, s := range x.tr.Amend {
		if s.Kind == "floor" {
			return x.floorDid(&s)
		}
	}
	switch t, known := effect.Lookup(x.r.Call.Tool); {
	case len(x.r.Call.Subjects) > 0:
		return "not for calls that name their subjects themselves"
	case !known || len(t.Command) == 0 && len(t.Paths) == 0:
		return "nothing to look at: no command, no path"
	}
	return "not needed"
}

func (x *explainer) floorDid(s *obstat.StepTrace) string {
	parts := 0
	for i := range x.tr.Questions {
		if x.tr.Questions[i].Part != nil {
			parts++
		}
	}
	what := "only the call itself"
	switch {
	case parts == 1:
		what = "1 part looked at"
	case parts > 1:
		what = fmt.Sprintf("%d parts looked at", parts)
	}
	if !s.Settled {
		return what + ", nothing to add"
	}
	return fmt.Sprintf("%s, tightened to %s", what, s.Verdict)
}

// by names the stage, the rule and its place that decided.
func (x *explainer) by() By {
	d := x.d
	switch {
	case len(d.Faults) > 0:
		return By{Kind: "fault", Text: "a fault (" + d.Stage + ")", Pos: d.Faults[0].Pos}
	case d.Rule != nil:
		return By{Kind: "rule", Text: fmt.Sprintf("%s rule %s", d.Rule.Verdict, d.Rule), Pos: d.Rule.Pos}
	case d.Stage == "floor":
		return By{Kind: "floor", Text: "the floor"}
	case d.Stage == "default":
		return By{Kind: "default", Text: fmt.Sprintf("the default of mode %s", d.Mode)}
	}
	by := By{Kind: x.kindOf(d.Stage), Text: d.Stage}
	if by.Kind == "when" {
		by.Text = "the stage " + d.Stage
	}
	return by
}

func (x *explainer) kindOf(stage string) string {
	steps := x.tr.Amend
	for _, q := range x.tr.Questions {
		steps = slices.Concat(q.Steps, steps)
	}
	if i := slices.IndexFunc(steps, func(s obstat.StepTrace) bool { return s.Stage == stage }); i >= 0 {
		return steps[i].Kind
	}
	return "check"
}

// why gives the reason for the verdict in a sentence or two.
func (x *explainer) why() string {
	d := x.d
	var parts []string
	add := func(format string, args ...any) { parts = append(parts, fmt.Sprintf(format, args...)) }
	for _, f := range d.Faults {
		add("%s", f.Msg)
	}
	if len(d.Faults) > 0 {
		add("a call that cannot be judged is denied")
		return strings.Join(parts, "; ")
	}
	if d.Rule != nil && d.Rule.Reason != "" {
		add("%s", d.Rule.Reason)
	}
	byReading := d.By.Kind == obstat.ByMode && d.Stage == "read-only" && d.Verdict != obstat.Allow
	switch {
	case byReading && !x.a.ReadOnly && x.a.Why != "":
		add("%s: %s", d.Note, x.a.Why)
	case d.Note != "":
		add("%s", d.Note)
	case d.Part != "":
		inner := func(c effect.Command) bool { return c.Text == d.Part && len(c.Via) > 0 }
		if i := slices.IndexFunc(x.a.Commands, inner); i >= 0 {
			add("%s runs inside %s", x.a.Commands[i].Program, strings.Join(x.a.Commands[i].Via, " and "))
		}
	}
	switch {
	case d.Part != "" && d.Verdict == obstat.Deny:
		add("a denied part denies the whole call")
	case d.Part != "" && d.Verdict == obstat.Ask && d.Stage != "floor":
		add("a call is as free as its strictest part")
	case d.Safety:
		add("no allow rule silences this ask")
	}
	if len(parts) == 0 {
		parts = append(parts, x.plainWhy())
	}
	return strings.Join(parts, "; ")
}

// verbWords are the verbs of questions that do not read as verbs.
var verbWords = map[string]string{"connect": "connect to", "code": "run as code", "system": "change of the system",
	"tool": "call"}

// plainWhy words a reason for decisions that carry no note of their own.
func (x *explainer) plainWhy() string {
	d := x.d
	if d.Rule == nil {
		if d.Stage == "default" {
			return fmt.Sprintf("no rule is about it, and mode %s %s", d.Mode, modeDoes(d.Verdict))
		}
		return fmt.Sprintf("%s settles it", d.Stage)
	}
	q := x.deciding()
	step := settling(q)
	subject := "every call to " + d.Tool
	if q != nil && q.Question.Tool != d.Tool { // `delete anything` is about deletions, by any tool
		subject = "all that a call would " + cmp.Or(verbWords[q.Question.Tool], q.Question.Tool)
	}
	switch {
	case d.Rule.Whole():
	case q != nil && q.Question.Tool != d.Tool:
		subject = x.questionWords(q)
	default:
		subject = "this call"
	}
	if step == nil || len(step.Hits) < 2 {
		return fmt.Sprintf("the rule is about %s, and none before it is", subject)
	}
	return fmt.Sprintf("of the %d rules in %s that match, this one counts: %s", len(step.Hits), step.Stage,
		x.pick(step.Stage))
}

// pick says how a stage chooses among the rules that match.
func (x *explainer) pick(stage string) string {
	for _, s := range x.r.Program.Pipelines[x.d.Mode].Stages {
		if m, ok := s.(obstat.Match); ok && m.Name == stage {
			return fmt.Sprintf("the %s wins", m.Pick)
		}
	}
	return "it was picked"
}

// modeDoes says how a mode answers calls that no rule settles.
func modeDoes(v obstat.Verdict) string {
	switch v {
	case obstat.Allow:
		return "allows what no rule stops"
	case obstat.Ask:
		return "asks then"
	}
	return "denies what no rule allows"
}

// deciding returns the question that decided: the one about the deciding part,
// else the first that the decision's rule settled, else the first of the whole.
func (x *explainer) deciding() *obstat.QuestionTrace {
	var best *obstat.QuestionTrace
	rank := 0
	for i := range x.tr.Questions {
		if n := x.fits(&x.tr.Questions[i]); n > rank {
			best, rank = &x.tr.Questions[i], n
		}
	}
	return best
}

// fits says how well a question accounts for the decision.
func (x *explainer) fits(q *obstat.QuestionTrace) int {
	n := 0
	if settledBy(q, x.d.Rule) {
		n += 2
	}
	switch {
	case q.Part == nil && x.d.Part == "":
		n += 2
	case q.Part != nil && q.Part.Text == x.d.Part:
		n += 4
	}
	return n
}

func settledBy(q *obstat.QuestionTrace, r *obstat.Rule) bool {
	s := settling(q)
	return s == nil && r == nil || s != nil && s.Rule == r
}

// mark returns where in text the deciding part stands, zero for the whole.
func (x *explainer) mark(text string) Span {
	if x.d.Part == "" {
		return x.commandSpan(text)
	}
	if q := x.deciding(); q != nil && q.Part != nil && text == x.a.Source {
		s := q.Part.Span
		decides := q.Part.Text == x.d.Part || settledBy(q, x.d.Rule)
		if decides && s.Start >= 0 && s.End <= len(text) && s.Start < s.End {
			return Span{s.Start, s.End}
		}
	}
	if i := strings.Index(text, x.d.Part); i >= 0 {
		return Span{i, i + len(x.d.Part)}
	}
	return x.commandSpan(text) // the part is a path, written otherwise there
}

// commandSpan returns where the command stands that the deciding question is about, as `rm -rf build` is the
// command of a `delete build`; zero where it is the whole call.
func (x *explainer) commandSpan(text string) Span {
	q := x.deciding()
	if q == nil || text != x.a.Source || len(x.a.Commands) < 2 || x.d.Verdict == obstat.Allow {
		return Span{}
	}
	for _, s := range q.Question.Subjects {
		for i := range x.a.Commands {
			c := &x.a.Commands[i]
			within := c.Span.Start >= 0 && c.Span.Start < c.Span.End && c.Span.End <= len(text)
			if within && s.Field == "command" && s.Text == c.Text && c.Span.End-c.Span.Start < len(strings.TrimSpace(text)) {
				return Span{c.Span.Start, c.Span.End}
			}
		}
	}
	return Span{}
}
