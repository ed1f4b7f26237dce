package obstat

import (
	"maps"
	"slices"

	"github.com/obstat/obstat/effect"
	"github.com/obstat/obstat/internal/floor"
)

// A Reach is the strictest and the loosest verdict that calls to a tool can
// get. A rule that may or may not match counts as matching; faults are left out.
type Reach struct {
	Strictest, Loosest Verdict
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
	if v, ok := pol.view.(outliner); ok {
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
	present  bool         // the subjects are there in every call
	openTool bool         // the questions may be about other names than the tool's
	sets     *floor.Space // the subjects are sets of paths; nil: texts
	anyText  bool         // a part of the set is not known, and may be `../..`
	facts    *Facts       // of the call, for conditions; nil: they may hold
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
	t, known := effect.Lookup(tool)
	server := isServers(t, known)
	if server && len(s.pol.prog.Faces) == 0 {
		return Allow
	}
	least := Ask
	if pl.nobody {
		least = Deny
	}
	faces := slices.Collect(maps.Values(s.pol.prog.Faces))
	if server { // which may run a text of its input
		faces = append(faces, Face{"Bash", "command"})
	}
	for _, face := range faces {
		qs := []Question{{face.Tool, []Subject{{face.Field, ""}}}}
		if v, ok := s.pol.view.(outliner); ok {
			// Rules may look at more of a file than the floor names it by: `read secrets` at the
			// place where it is, for `cat .env` as well.
			qs = append(qs, v.Outline(face.Tool)...)
		}
		for i := range qs {
			if s.question(&qs[i], pl)&SetOf(Deny) != 0 {
				least = Deny
			}
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
			vs, final = s.match(st, &stage, q)
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
		switch {
		case st.has(tool):
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

// match collects the verdicts that a stage can settle a question with that starts
// like q; final says that it surely settles it.
func (s *space) match(st *step, m *Match, q *Question) (vs Verdicts, final bool) {
	passes := false // a rule that does not settle may be the one picked
	for _, r := range s.rules(st, q.Tool) {
		may, must := s.covers(r, q, q)
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

// rules returns the rules of a stage that may be about a tool.
func (s *space) rules(st *step, tool string) []aboutRule {
	if !s.openTool {
		return st.list.about(tool).all(tool, s.pol.compiled)
	}
	st.list.ready()
	out := make([]aboutRule, 0, len(st.list.ranked))
	for _, r := range st.list.ranked {
		out = append(out, aboutRule{r.Rule, r.Tool.IsZero()})
	}
	return out
}

// covers tells whether r can match a question that starts like q, and whether it
// must. sure is q with a text in place of the rest that stands for any text.
func (s *space) covers(r aboutRule, q, sure *Question) (may, must bool) {
	may, must = s.patternCovers(r, q, sure)
	if !may || !r.guarded() {
		return may, must
	}
	for i := range r.If {
		if s.facts != nil && !r.If[i].holds(s.facts, q, r.Verdict, s.pol.compiled) {
			return false, false
		}
	}
	for i := range r.Except {
		if s.leftOut(&r.Except[i], q) {
			return false, false
		}
		must = must && s.passesBy(&r.Except[i], q)
	}
	return may, must && s.facts != nil
}

// passesBy tells whether an exception is about none of a set of paths: `except .git/**` about none below `src`.
func (s *space) passesBy(c *Cond, q *Question) bool {
	seen := false
	for i := range q.Subjects {
		sub := &q.Subjects[i]
		if s.sets == nil || sub.Field != c.Field || s.holdsBelow(sub) {
			continue
		}
		seen = true
		for _, t := range c.Any {
			if p := s.pol.compiled(t); p.MayMeet(sub.Text, s.sets.Below) {
				return false
			}
		}
	}
	return seen
}

// holdsBelow tells whether a subject says of every path of a set what it says of the one that it was made of.
func (s *space) holdsBelow(sub *Subject) bool {
	v, ok := s.pol.view.(placer)
	return ok && s.sets != nil && v.HoldsBelow(*sub)
}

// leftOut tells whether an exception is about everything that starts like q.
func (s *space) leftOut(c *Cond, q *Question) bool {
	for i := range q.Subjects {
		sub := &q.Subjects[i]
		if sub.Field != c.Field || s.openTool || !s.present {
			continue
		}
		for _, t := range c.Any {
			p := s.pol.compiled(t)
			if p.MustMatch(sub.Text) {
				return true
			}
			ok, err := p.Match(sub.Text)
			if s.sets == nil || !ok || err != nil {
				continue
			}
			if !s.sets.Below || p.MustMatch(sub.Text+"/") || s.holdsBelow(sub) {
				return true
			}
		}
	}
	return false
}

// patternCovers is covers without the rule's conditions.
func (s *space) patternCovers(r aboutRule, q, sure *Question) (may, must bool) {
	switch {
	case !r.sure:
		return true, false
	case r.Whole():
		return true, !s.openTool
	}
	p := s.pol.compiled(r.Pattern)
	for i := range q.Subjects {
		if sub := &q.Subjects[i]; r.looksAt(sub) {
			if s.sets == nil {
				may = may || p.MayMatch(sub.Text)
				continue
			}
			m1, m2 := s.sets.Meets(p, sub.Text)
			if !m2 && !s.anyText && s.holdsBelow(sub) {
				m2, _ = p.Match(sub.Text) // an error is no match
				m1 = m1 || m2
			}
			may, must = may || m1, must || m2
		}
	}
	if s.sets != nil || !s.present || s.openTool {
		return may, must
	}
	for i := range sure.Subjects {
		must = must || r.looksAt(&sure.Subjects[i]) && p.MustMatch(sure.Subjects[i].Text)
	}
	return may, must
}

// stricter returns the first deny or ask rule that may settle a question that starts like q,
// precedence among the rules considered. may also tells of a stage that denies or asks for
// all calls to its tools.
func (s *space) stricter(pl *pipeline, q, sure *Question) (r *Rule, may bool) {
	plan := pl.plan(q.Tool)
	for i, last := 0, plan.strict(pl, s.pol.compiled); i < last; i++ {
		st := &pl.stages[i]
		final := false
		switch stage := st.stage.(type) {
		case Match:
			about := plan.about(pl, i)
			rules := about.all(q.Tool, s.pol.compiled)
			if i == last-1 {
				rules = rules[:about.strict]
			}
			r, final = s.first(rules, &stage, q, sure)
		case When:
			if stage.Is != "" {
				continue // code decides; it is no rule
			}
			var vs Verdicts
			vs, final = stage.possible(st, q.Tool)
			may = s.sets == nil && vs&SetOf(Deny, Ask) != 0
		}
		if r != nil || may || final {
			return r, r != nil || may
		}
	}
	return nil, false
}

// first returns the first deny or ask rule that may settle a question; final says that
// another surely settles it. Of files, a rule that asks about every call is a default, and none of these.
func (s *space) first(rules []aboutRule, m *Match, q, sure *Question) (r *Rule, final bool) {
	passes := false
	for _, r := range rules {
		may, must := s.covers(r, q, sure)
		switch {
		case !may:
			continue
		case !m.Settle.Has(r.Verdict):
			passes = true
		case r.Verdict == Deny || r.Verdict == Ask && (s.sets == nil || !s.pol.forAll(r.Rule)):
			return r.Rule, false
		}
		if must {
			return nil, !passes
		}
	}
	return nil, false
}
