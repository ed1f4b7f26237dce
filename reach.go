package obstat

import "github.com/obstat/obstat/effect"

// A Reach is the strictest and the loosest verdict that calls to a tool can
// get. A rule that may or may not match counts as matching; faults are left out.
type Reach struct {
	Strictest, Loosest Verdict
}

// An Outliner is a [View] that knows what questions calls to a tool can pose
// before there is a call. [Policy.Reach] and the floor ask it where a call, or a
// word of its command, is not known: without it they have to assume that any
// rule may apply.
type Outliner interface {
	View
	// Outline returns one question for each kind of call to tool. Its subjects
	// are in every such call, and the texts are how they start: a view that
	// matches "run:" + command returns the text "run:".
	Outline(tool string) []Question
}

// Reach returns the verdicts that calls to tool can get in mode ("" is the
// policy's). A tool whose loosest verdict is Deny may be left out of the list
// that an agent is shown; the check at run time stays the gate.
func (pol *Policy) Reach(tool string, mode Mode) Reach {
	if mode == "" {
		mode = pol.prog.Mode
	}
	pl := pol.pipelines[mode]
	if pl == nil {
		return Reach{Deny, Deny}
	}
	s := &space{pol: pol, qs: []Question{{Tool: tool, Subjects: []Subject{{anyField, ""}}}}}
	if v, ok := pol.view.(Outliner); ok {
		s.qs, s.present = v.Outline(tool), true
	} else if pol.view != nil {
		s.openTool = true // a view may ask about any tool it likes
	}
	return s.reach(tool, pl)
}

// A space is a set of calls, described by their questions.
type space struct {
	pol      *Policy
	qs       []Question
	present  bool // the subjects are there in every call
	openTool bool // the questions may be about other names than the tool's
	// The subjects are sets of paths, see floorsets.go: with all that is below, and
	// within a directory inside the project, hidden names passed by.
	sets, below, within, visible bool
	dir                          string // of the call
}

func (s *space) reach(tool string, pl *pipeline) Reach {
	var may Verdicts
	for i := range s.qs {
		may |= s.question(&s.qs[i], pl)
	}
	r := Reach{Allow, Deny}
	for v := Deny; v <= Allow; v++ {
		if may&SetOf(v) != 0 {
			r.Strictest, r.Loosest = min(r.Strictest, v), max(r.Loosest, v)
		}
	}
	for i := range pl.amend {
		r.Strictest = min(r.Strictest, s.amended(tool, &pl.amend[i], pl))
	}
	return r
}

// amended returns the strictest verdict an amendment can lead to.
func (s *space) amended(tool string, st *step, pl *pipeline) Verdict {
	if _, ok := st.stage.(Floor); !ok {
		return Deny
	}
	if _, known := effect.Lookup(tool); !known {
		return Allow
	}
	least := Ask
	if pl.nobody {
		least = Deny
	}
	for _, face := range s.pol.prog.Faces {
		q := Question{face.Tool, []Subject{{face.Field, ""}}}
		if s.question(&q, pl)&SetOf(Deny) != 0 {
			least = Deny
		}
	}
	return least
}

// question collects the verdicts that a question of this form can get.
func (s *space) question(q *Question, pl *pipeline) (may Verdicts) {
	for i := range pl.stages {
		st := &pl.stages[i]
		var final bool
		switch stage := st.stage.(type) {
		case Match:
			var vs Verdicts
			vs, final = s.match(st.list, &stage, q, q)
			may |= vs
		case Check:
			may |= stage.possible()
		case When:
			var vs Verdicts
			vs, final = stage.possible(st, q.Tool)
			may |= vs
		}
		if final {
			return may
		}
	}
	return may | SetOf(pl.def)
}

func (c *Check) possible() (vs Verdicts) {
	for o, v := range map[Outcomes]Verdict{CheckAllow: Allow, CheckDeny: Deny, SafetyAsk: Ask, PlainAsk: Ask} {
		if c.Pass&o != 0 {
			continue
		}
		if v == Ask && c.AskDenies {
			v = Deny
		}
		vs |= SetOf(v)
	}
	return vs
}

func (w *When) possible(st *step, tool string) (vs Verdicts, final bool) {
	if st.pred == nil {
		_, yes := st.tools[tool]
		switch {
		case yes:
			return SetOf(w.Then), true
		case w.Else != nil:
			return SetOf(*w.Else), true
		}
		return 0, false
	}
	vs = SetOf(w.Then)
	if w.Else != nil {
		return vs | SetOf(*w.Else), true
	}
	return vs, false
}

// match collects the verdicts a list can settle a question with that starts
// like q; final says that it surely settles it. sure is q with a text in place
// of the rest that stands for any text.
func (s *space) match(l *list, m *Match, q, sure *Question) (vs Verdicts, final bool) {
	l.ready()
	passes := false // a rule that does not settle may be the one picked
	for _, ranked := range l.ranked {
		r := ranked.Rule
		may, must := s.covers(r, q, sure)
		if !may {
			continue
		}
		passes = passes || !m.Settle.Has(r.Verdict)
		if m.Settle.Has(r.Verdict) {
			v := r.Verdict
			if v == Ask && m.AskDenies {
				v = Deny
			}
			vs |= SetOf(v)
		}
		if must {
			return vs, !passes
		}
	}
	return vs, false
}

// covers tells whether r can match a question like q, and whether it must.
func (s *space) covers(r *Rule, q, sure *Question) (may, must bool) {
	if !r.Tool.IsZero() {
		if ok, err := s.pol.compiled(r.Tool).Match(q.Tool); !ok && err == nil && !s.openTool {
			return false, false
		} else if !ok || s.openTool {
			return true, false
		}
	}
	if r.Whole() {
		return true, !s.openTool
	}
	p := s.pol.compiled(r.Pattern)
	if s.sets {
		for _, sub := range q.Subjects {
			if sub.Field == r.field() || sub.Field == anyField {
				m1, m2 := s.meets(p, sub.Text)
				may, must = may || m1, must || m2
			}
		}
		return may, must
	}
	for _, sub := range q.Subjects {
		may = may || (sub.Field == r.field() || sub.Field == anyField) && p.MayMatch(sub.Text)
	}
	if !s.present || s.openTool {
		return may, false
	}
	for _, sub := range sure.Subjects {
		must = must || (sub.Field == r.field() || sub.Field == anyField) && p.MustMatch(sub.Text)
	}
	return may, must
}
