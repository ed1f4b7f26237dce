package obstat

import (
	"slices"
	"strings"

	"github.com/obstat/obstat/effect"
	"github.com/obstat/obstat/internal/floor"
	"github.com/obstat/obstat/paths"
)

// A Trace tells how a decision came about: every question that was put to the
// rules, each stage's answer, and what the amendments did. [Policy.Explain]
// builds it; [Policy.Decide] builds none.
type Trace struct {
	Policy    string          `json:"policy"` // digest
	Mode      Mode            `json:"mode"`
	Questions []QuestionTrace `json:"questions"`
	Amend     []StepTrace     `json:"amend,omitempty"`
	// Analysis says which commands, files and hosts the call would touch; nil where
	// no stage asked.
	Analysis *effect.Analysis `json:"-"`

	amending bool
}

// A QuestionTrace is one question's way through the stages.
type QuestionTrace struct {
	Question Question    `json:"question"`
	Part     *Part       `json:"part,omitempty"` // of which part of the call, nil for the whole
	Steps    []StepTrace `json:"steps"`
}

// A StepTrace is one stage's answer to a question.
type StepTrace struct {
	Stage   string  `json:"stage"`
	Kind    string  `json:"kind"` // match, check, when, mark, floor
	Hits    []*Rule `json:"-"`    // every rule that matches, best first
	Rule    *Rule   `json:"-"`    // the one that was picked
	Settled bool    `json:"settled"`
	Verdict Verdict `json:"verdict"` // as which it settled
	Safety  bool    `json:"safety,omitempty"`
	Silent  bool    `json:"silent,omitempty"` // it had nothing to say
	Skipped bool    `json:"skipped,omitempty"`
	Note    string  `json:"note,omitempty"`
}

// open starts the trace of a question. Like the methods below it does nothing on
// a nil Trace, so that one walk serves Decide and Explain.
func (t *Trace) open(q *Question, part *Part) {
	if t == nil {
		return
	}
	c := Question{q.Tool, make([]Subject, len(q.Subjects))}
	for i, s := range q.Subjects {
		text := strings.Clone(s.Text)
		if floor.Marked(text) {
			text = floor.Show(paths.Set{Text: text})
		}
		c.Subjects[i] = Subject{strings.Clone(s.Field), text}
	}
	if part != nil {
		of := *part
		part = &of
	}
	t.Questions = append(t.Questions, QuestionTrace{Question: c, Part: part})
}

// amend says whether the steps that follow are amendments.
func (t *Trace) amend(on bool) {
	if t != nil {
		t.amending = on
	}
}

func (t *Trace) step(st *step, s StepTrace) {
	if t == nil {
		return
	}
	s.Stage, s.Kind = st.name, kindOf(st.stage)
	if t.amending || len(t.Questions) == 0 {
		t.Amend = append(t.Amend, s)
		return
	}
	q := &t.Questions[len(t.Questions)-1]
	q.Steps = append(q.Steps, s)
}

// rest records the stages that were not reached.
func (t *Trace) rest(steps []step) {
	if t == nil {
		return
	}
	for i := range steps {
		t.step(&steps[i], StepTrace{Skipped: true})
	}
}

func kindOf(s Stage) string {
	switch s.(type) {
	case Match:
		return "match"
	case Check:
		return "check"
	case When:
		return "when"
	case Mark:
		return "mark"
	}
	return "floor"
}

func (t *Trace) finish(w *walk, d *Decision) {
	t.Policy, t.Mode = w.pol.Digest(), d.Mode
	t.Analysis = w.facts.analysis
}

// PartOf returns the text that the rule of a decision matched where that is a part of the call:
// `rm -rf build` in `env CI=1 rm -rf build && make`, which a dialect asks about in one question.
// It decides the call anew, and is for answers that somebody reads.
func (pol *Policy) PartOf(call *Call, world World, d *Decision) string {
	if d.Rule == nil || d.Part != "" || d.Rule.Whole() {
		return ""
	}
	_, tr := pol.Explain(call, world)
	p, whole, part := pol.compiled(d.Rule.Pattern), call.Text(), ""
	for i := range tr.Questions {
		q := &tr.Questions[i]
		if !slices.ContainsFunc(q.Steps, func(s StepTrace) bool { return s.Settled && s.Rule == d.Rule }) {
			continue
		}
		for j := range q.Question.Subjects {
			s := &q.Question.Subjects[j]
			if !d.Rule.looksAt(s) || part != "" && len(s.Text) >= len(part) || !strings.Contains(whole, s.Text) {
				continue
			}
			if ok, err := p.Match(s.Text); ok && err == nil {
				part = s.Text
			}
		}
	}
	if part == strings.TrimSpace(whole) {
		return ""
	}
	return part
}
