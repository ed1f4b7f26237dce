package explain

import (
	"fmt"
	"strings"

	"github.com/obstat/obstat"
)

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
	for _, q := range x.tr.Questions {
		for _, s := range q.Steps {
			if s.Stage == stage {
				return s.Kind
			}
		}
	}
	for _, s := range x.tr.Amend {
		if s.Stage == stage {
			return s.Kind
		}
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
	switch {
	case strings.HasPrefix(d.Note, "read-only? no") && !x.a.ReadOnly && x.a.Why != "":
		add("%s: %s", d.Note, x.a.Why)
	case d.Note != "":
		add("%s", d.Note)
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

// plainWhy words a reason for decisions that carry no note of their own.
func (x *explainer) plainWhy() string {
	d := x.d
	if d.Rule == nil {
		if d.Stage == "default" {
			return fmt.Sprintf("no rule settles it, and what no rule settles is %s", pastOf(d.Verdict))
		}
		return fmt.Sprintf("%s settles it", d.Stage)
	}
	step := x.settling()
	subject := "every call to " + d.Tool
	if !d.Rule.Whole() {
		subject = "this call"
	}
	if step == nil || len(step.Hits) < 2 {
		return fmt.Sprintf("the rule is about %s, and no rule before it is", subject)
	}
	return fmt.Sprintf("of the %d rules in %s that match, this one counts: %s", len(step.Hits), step.Stage, x.pick(step.Stage))
}

// settling returns the step that settled the deciding question.
func (x *explainer) settling() *obstat.StepTrace {
	q := x.deciding()
	if q == nil {
		return nil
	}
	for i := range q.Steps {
		if q.Steps[i].Settled {
			return &q.Steps[i]
		}
	}
	return nil
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

func pastOf(v obstat.Verdict) string {
	switch v {
	case obstat.Allow:
		return "allowed"
	case obstat.Ask:
		return "asked about"
	}
	return "denied"
}

// deciding returns the question that decided: the one about the deciding part,
// else the first that the decision's rule settled, else the first of the whole.
func (x *explainer) deciding() *obstat.QuestionTrace {
	best, rank := -1, 0
	for i := range x.tr.Questions {
		if n := x.fits(&x.tr.Questions[i]); n > rank {
			best, rank = i, n
		}
	}
	if best < 0 {
		return nil
	}
	return &x.tr.Questions[best]
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
	for i := range q.Steps {
		if q.Steps[i].Settled {
			return q.Steps[i].Rule == r
		}
	}
	return r == nil
}

// mark returns where in text the deciding part stands, zero for the whole.
func (x *explainer) mark(text string) Span {
	if x.d.Part == "" {
		return Span{}
	}
	if q := x.deciding(); q != nil && q.Part != nil && text == x.a.Source {
		if s := q.Part.Span; s.Start >= 0 && s.End <= len(text) && s.Start < s.End && (q.Part.Text == x.d.Part || settledBy(q, x.d.Rule)) {
			return Span{s.Start, s.End}
		}
	}
	if i := strings.Index(text, x.d.Part); i >= 0 {
		return Span{i, i + len(x.d.Part)}
	}
	return Span{}
}
