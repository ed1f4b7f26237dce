package explain

import (
	"fmt"

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
		w := Walk{Tool: q.Question.Tool, Subjects: q.Question.Subjects, Text: mainSubject(&q.Question).Text, Decides: q == decides, Steps: steps(q.Steps, q), Verdict: x.verdictOf(q)}
		if q.Part != nil {
			w.Part, w.Why, w.Span = q.Part.Text, q.Part.Why, Span{q.Part.Span.Start, q.Part.Span.End}
		}
		out = append(out, w)
	}
	return out
}

// verdictOf returns the answer to one question.
func (x *explainer) verdictOf(q *obstat.QuestionTrace) obstat.Verdict {
	for i := range q.Steps {
		if q.Steps[i].Settled {
			return q.Steps[i].Verdict
		}
	}
	return x.r.Program.Pipelines[x.d.Mode].Default
}

// steps turns the steps of a trace, of question q if there is one, into views.
func steps(in []obstat.StepTrace, q *obstat.QuestionTrace) []Step {
	out := make([]Step, 0, len(in))
	for i := range in {
		t := &in[i]
		s := Step{Stage: t.Stage, Kind: t.Kind, Rule: NewRule(t.Rule), State: Passed, As: t.Verdict, Safety: t.Safety, Note: t.Note}
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
			s.Hits = append(s.Hits, NewRule(r))
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
	if t.Rule != nil && t.Rule.Field != "" {
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
	for _, name := range mainFields(q.Tool) {
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
