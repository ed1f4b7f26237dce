package obstat

import (
	"encoding/json"
	"strings"

	"github.com/obstat/obstat/effect"
	"github.com/obstat/obstat/pattern"
	"github.com/obstat/obstat/shell"
)

// The floor holds under every dialect. A call that runs commands is judged by
// each command it would run and each file it would touch, with the rules of the
// dialect itself: `git status; rm -rf ~` by the rules for `rm -rf ~` as well. See
// docs/design/floor.md. It only tightens.

// A Part is a part of a call that the floor puts to the rules by itself.
type Part struct {
	Text string     `json:"text"`
	Span shell.Span `json:"span,omitzero"` // in the command's text
	Why  string     `json:"why"`           // how it came to be judged
}

// floorWalk is one call under the floor.
type floorWalk struct {
	*walk
	f    *Facts
	pl   *pipeline
	o    outcome
	tool effect.Tool
	// field is the input field that holds the command, "" if the tool runs none.
	field string
	a     *effect.Analysis
	// server: the tool is a server's, of which only its fields are known.
	server bool
	// by is the rules' answer to the whole call; measured says how much that
	// allows, and is computed when first needed.
	by       outcome
	measured *breadth
	// narrow holds the commands that a rule for some commands allowed. In
	// `make && git log > f`, with `git log *` allowed and `make` allowed whole, the
	// redirect is judged as in `git log > f` alone.
	narrow []int
	parts  partView // the view, if it answers for parts
	part   Part     // that is judged
	tails  int      // bytes of arguments that were judged as commands
}

// floor puts each command and each effect of the call to the rules and tightens o
// where they say less. Tools that are not in the catalogue it leaves alone.
func (w *walk) floor(st *step, f *Facts, pl *pipeline, o *outcome) {
	if o.verdict == Deny || len(f.Call.Subjects) > 0 {
		return
	}
	tool, known := effect.Lookup(f.Call.Tool)
	server := !known || tool.Canonical == "mcp"
	if server && len(w.pol.prog.Faces) == 0 || !server && len(tool.Command) == 0 && len(tool.Paths) == 0 {
		return
	}
	fl := &floorWalk{walk: w, f: f, pl: pl, o: *o, by: *o, tool: tool, field: commandField(f, tool), a: f.Analysis(), server: server}
	if pl.lists {
		fl.parts, _ = w.pol.view.(partView)
	}
	before := fl.o.verdict
	w.probing = true
	defer func() { w.probing = false }()
	if fl.field != "" || tool.Shell() { // `Bash {}`: what it would run is in no field that is known
		fl.gaps()
	}
	if fl.field != "" {
		fl.commands()
		fl.written()
	}
	fl.effects()
	fl.words()
	if before == Allow && fl.o.verdict == Ask && pl.nobody {
		r := fl.o.words()
		r.note = joinNotes(r.note, noteNobody)
		fl.o.verdict, fl.o.said = Deny, &r
	}
	w.trace.amend(true)
	w.trace.step(st, StepTrace{Settled: fl.o.verdict < before, Verdict: fl.o.verdict, Note: fl.o.words().note, Rule: fl.o.rule, Silent: fl.o.verdict == before})
	w.trace.amend(false)
	*o = fl.o
}

// commandField returns the field of the call that holds its command: the first that says
// something, or else the first that is there.
func commandField(f *Facts, tool effect.Tool) string {
	there := ""
	for _, name := range tool.Command {
		text, isString := f.String(name)
		if isString && strings.TrimSpace(text) != "" {
			return name
		}
		if text, ok := f.Field(name); ok {
			if !isString && text != "null" {
				return name
			}
			if there == "" {
				there = name
			}
		}
	}
	return there
}

// breadth tells how much an allowing rule speaks for. A rule whose pattern takes
// every one-line text is wide as well: `.*` is written without newlines in mind.
func (fl *floorWalk) breadth(r *Rule, tool string) breadth {
	if r == nil || r.Whole() {
		return breadth{wide: true}
	}
	if !fl.pl.lists {
		return fl.pol.breadth(r, tool) // a check may make a rule for each call
	}
	plan := fl.pl.plan(tool)
	b, ok := plan.breadths.Load(r)
	if !ok {
		b = fl.pol.breadth(r, tool)
		plan.breadths.Store(r, b)
	}
	return b.(breadth)
}

func (pol *Policy) breadth(r *Rule, tool string) breadth {
	p := pol.compiled(r.Pattern)
	v, ok := pol.view.(outliner)
	if !ok {
		return breadth{p.MustMatch(""), literalOf(p)}
	}
	wide := false
	for _, q := range v.Outline(tool) {
		for i := range q.Subjects {
			wide = wide || r.looksAt(&q.Subjects[i]) && p.MustMatchLine(q.Subjects[i].Text)
		}
	}
	return breadth{wide, literalOf(p)}
}

// literalOf returns the one text that a pattern matches, "" if there may be others.
func literalOf(p *pattern.Pattern) string {
	if shape := p.Shape(); shape.Exact {
		return shape.Prefix
	}
	return ""
}

// stricter tells whether an outcome tightens the call's.
func (fl *floorWalk) stricter(o *outcome) bool { return o.faulted || o.verdict < fl.o.verdict }

// tighten takes over a stricter verdict; it never loosens.
func (fl *floorWalk) tighten(o outcome, part, why string) {
	if !fl.stricter(&o) {
		return
	}
	if o.stage == stageDefault {
		o.stage, why = stageFloor, "no rule is about it, and "+why
	}
	said := o.words()
	said.part, said.note = strings.Clone(part), joinNotes(said.note, why)
	o.said = &said
	fl.o = o
}

// cap lowers the verdict to an ask because of something that cannot be seen.
func (fl *floorWalk) cap(part, why string) {
	if fl.confined {
		return
	}
	fl.tighten(outcome{verdict: Ask, stage: stageFloor}, part, why)
}

// doubted lowers the verdict to an ask where a rule may apply, and names it.
func (fl *floorWalk) doubted(d doubt, part, why string) {
	switch {
	case !d.may || fl.confined:
	case d.rule == nil:
		fl.cap(part, "a deny or ask rule "+why)
	default:
		fl.tighten(outcome{verdict: Ask, stage: stageFloor, rule: d.rule}, part, "the rule "+why)
	}
}

// gaps lowers the verdict for parts of the command that cannot be seen, such as
// the program in `$x -rf y`.
func (fl *floorWalk) gaps() {
	for i := range fl.a.Gaps {
		g := &fl.a.Gaps[i]
		if !g.Hides || fl.o.verdict < Allow {
			continue
		}
		text := fl.text(g.Span)
		switch {
		case unparsed(g.Kind) && fl.field != "":
			fl.cap(text, "what cannot be parsed is not allowed: "+g.Why)
		case fl.exact():
		case !fl.wide():
			fl.cap(text, "a rule for some commands cannot allow what cannot be seen: "+g.Why)
		default:
			fl.doubted(fl.mayTighten(), text, "might apply to what cannot be seen: "+g.Why)
		}
	}
}

// unparsed tells whether a gap is text that could not be read at all.
func unparsed(k effect.GapKind) bool {
	switch k {
	case effect.Syntax, effect.TooBig, effect.TooDeep, effect.ForeignShell, effect.BadInput:
		return true
	}
	return false
}

// A breadth is how much an answer speaks for.
type breadth struct {
	// wide: the call is allowed by something that speaks for every call to the
	// tool: a rule without a pattern, a mode, a default. It need not be allowed
	// piece by piece.
	wide bool
	// text is the one text that the rule is about, "" if there may be others.
	text string
}

func (fl *floorWalk) wide() bool { return fl.measure().wide }

// exact tells whether the call is allowed by a rule that is this very command; a human
// has seen all of it. `ls` is not the whole of `export PATH=/tmp/x; ls`, nor of `PATH=/tmp/x ls`.
func (fl *floorWalk) exact() bool {
	text := fl.measure().text
	return text != "" && strings.HasSuffix(text, strings.TrimSpace(fl.a.Source))
}

// measure looks at the pattern of the rule that decided: most calls do not need
// it, and it is a good part of the cost of a process's first decision.
func (fl *floorWalk) measure() *breadth {
	if fl.measured == nil {
		b := fl.breadth(fl.by.rule, fl.f.Call.Tool)
		b.wide = b.wide && fl.by.verdict == Allow
		fl.measured = &b
	}
	return fl.measured
}

// text returns the part of the command that a span covers.
func (fl *floorWalk) text(s shell.Span) string {
	cmd := fl.a.Source
	if s.Start < 0 || s.End > len(cmd) || s.Start >= s.End {
		return ""
	}
	return cmd[s.Start:s.End]
}

// commands puts every command that would run to the rules.
func (fl *floorWalk) commands() {
	for i := range fl.a.Commands {
		c := &fl.a.Commands[i]
		if fl.o.verdict == Deny {
			return
		}
		if c.Text == "" {
			continue
		}
		fl.unseen = fl.confined && fl.a.Unknown(i) && !fl.a.Departs(i)
		if len(fl.a.Commands) > 1 || c.Text != fl.a.Source || fl.confined { // else it is the whole call, and was judged
			fl.command(i, c)
		}
		fl.alternatives(i, c)
		fl.doubts(i, c)
	}
	fl.unseen = false
}

// alternatives tries other spellings of a command: a rule against `git push` is
// meant for `git -C x push` as well.
func (fl *floorWalk) alternatives(i int, c *effect.Command) {
	for _, alt := range c.Alts {
		why := "it is another way to write " + alt
		if o := fl.judgeCommand(i, alt, why); fl.speaks(&o, fl.f.Call.Tool) {
			fl.tighten(o, alt, why)
		}
	}
}

// command puts a command to the rules.
func (fl *floorWalk) command(i int, c *effect.Command) {
	why := "every command that would run is judged by itself"
	if len(c.Via) > 0 {
		why = c.Program + " runs inside " + strings.Join(c.Via, " and ")
	}
	fl.probing = false
	o := fl.judgeCommand(i, c.Text, why)
	fl.probing = true
	if fl.exact() && !fl.speaks(&o, fl.f.Call.Tool) {
		o.verdict = Allow // no rule is about it, and the command around it is judged
	}
	if !fl.speaks(&o, fl.f.Call.Tool) && fl.by.verdict == Allow && fl.by.rule != nil && fl.a.Given(i) {
		o.verdict = Allow // as that around it is
	}
	if fl.by.rule == nil && c.ReadOnly && fl.a.ReadOnly && !o.ruled() {
		o.verdict = Allow // the call is allowed since all of it only reads, and this is a part of it
	}
	if fl.wide() {
		if !fl.breadth(o.rule, fl.f.Call.Tool).wide || o.verdict != Allow {
			fl.narrow = append(fl.narrow, i)
		}
	}
	fl.tighten(o, c.Text, why)
}

// doubts lowers the verdict where a rule might stop the command once its unknown
// words are known, as `rm $x` under a rule against `rm -rf *`.
func (fl *floorWalk) doubts(i int, c *effect.Command) {
	if fl.o.verdict < Allow || c.Known && c.Catalogued && len(c.Tails) == 0 || fl.exact() || fl.confined {
		return
	}
	if !c.Known {
		fl.doubted(fl.mayTightenCommand(c.Prefix, c.Dir), fl.text(c.Span), "might apply, depending on what a word of it turns out to be")
	}
	if !c.Catalogued {
		fl.unknownWrapper(i, c)
	}
	for n, at := range c.Tails {
		if n == maxTail || fl.tails > maxTails {
			fl.manyArguments(c)
			return
		}
		if fl.tail(i, at, "runs other programs, and might run this") {
			return
		}
	}
}

// ruled tells whether a rule, a safety check or a fault spoke, not a default.
func (o *outcome) ruled() bool { return o.rule != nil || o.safety || o.faulted }

// speaks tells whether a rule speaks of a part in particular. One for the whole
// tool does not: it has spoken for the whole call, and was overruled there. Nor does
// one that asks about every tool there is, `"*": "ask"`: it is a default.
func (fl *floorWalk) speaks(o *outcome, tool string) bool {
	switch {
	case o.rule == nil || o.safety || o.faulted:
		return o.ruled()
	case tool == fl.f.Call.Tool:
		return !fl.breadth(o.rule, tool).wide
	}
	return o.verdict != Ask || !fl.forAll(o.rule)
}

// forAll tells whether a rule is about every call of every tool.
func (fl *floorWalk) forAll(r *Rule) bool {
	every := func(t Text) bool { return t.IsZero() || t.Flavour != pattern.Exact && fl.pol.compiled(t).MustMatch("") }
	return every(r.Tool) && every(r.Pattern)
}

// judgeCommand puts a spelling of command i to the rules.
func (fl *floorWalk) judgeCommand(i int, text, why string) (o outcome) {
	c := &fl.a.Commands[i]
	fl.part = Part{Text: text, Span: c.Span, Why: why}
	if fl.parts != nil && text == c.Text {
		if qs, ok := fl.parts.Command(fl.f, i); ok {
			fl.answered(qs, &o)
			return o
		}
	}
	return fl.judge(fl.f.Call.Tool, fl.field, text, c.Dir)
}

// answered puts the questions about the part to the stages.
func (fl *floorWalk) answered(qs []Question, o *outcome) {
	fl.f.part = &fl.part
	fl.posed(fl.f, fl.pl, qs, o)
	fl.f.part = nil
}

// judge puts a call to tool with one field, which is a part of the call, to the
// stages, as if an agent had made it.
func (fl *floorWalk) judge(tool, field, text, dir string) (o outcome) {
	f, err := fl.asCall(tool, field, text, dir)
	if err != nil {
		return faulted(stageFloor, err.Error(), nil)
	}
	f.part = &fl.part
	fl.answer(f, fl.pl, &o)
	return o
}

// questions returns the questions that a call of tool with text in field poses.
func (fl *floorWalk) questions(tool, field, text, dir string) []Question {
	f, err := fl.asCall(tool, field, text, dir)
	if err != nil {
		return nil
	}
	qs, err := fl.pol.viewInForce().Questions(f)
	if err != nil {
		return nil
	}
	return qs
}

// asCall makes a part of the call a call of its own: tool, with text in one
// field, from dir if that is known. What a search looks for stays as it is.
func (fl *floorWalk) asCall(tool, field, text, dir string) (*Facts, error) {
	fields := map[string]string{field: text}
	if tool == fl.f.Call.Tool {
		for _, name := range fl.tool.Names {
			if sought, ok := fl.f.String(name); ok && name != field {
				fields[name] = sought
			}
		}
		if sought, ok := fl.f.String("pattern"); ok && fl.tool.Canonical == "grep" {
			fields["pattern"] = sought
		}
	}
	input, err := json.Marshal(fields)
	if err != nil {
		return nil, err
	}
	call := *fl.f.Call
	call.Tool, call.Input = tool, input
	if dir != "" {
		call.Dir = dir
	}
	return &Facts{Call: &call, World: fl.f.World, Mode: fl.f.Mode, pol: fl.pol}, nil
}
