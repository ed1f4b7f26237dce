package obstat

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/obstat/obstat/effect"
	"github.com/obstat/obstat/internal/floor"
	"github.com/obstat/obstat/pattern"
	"github.com/obstat/obstat/shell"
)

// The floor holds under every dialect. A call that runs commands is judged by
// each command it would run and each file it would touch, with the rules of the
// dialect itself: `git status; rm -rf ~` by the rules for `rm -rf ~` as well. See
// docs/design/floor.md. It only tightens.

// placeholder stands for a name that nothing has.
const placeholder = floor.Placeholder

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
	server := isServers(tool, known)
	if server && len(w.pol.prog.Faces) == 0 || !server && len(tool.Command) == 0 && len(tool.Paths) == 0 {
		return
	}
	fl := &floorWalk{walk: w, f: f, pl: pl, o: *o, by: *o, tool: tool, server: server}
	fl.field, fl.a = commandField(f, tool), f.Analysis()
	if pl.lists {
		fl.parts, _ = w.pol.view.(partView)
	}
	before := fl.o.verdict
	w.probing = true
	defer func() { w.probing = false }()
	for _, step := range [...]struct {
		applies bool
		look    func()
	}{
		{fl.shell() || tool.Shell(), fl.gaps}, // `Bash {}` has its command in no field that is known
		{fl.shell(), fl.deceives},
		{fl.shell(), fl.commands},
		{fl.shell(), fl.chains},
		{fl.shell(), fl.written},
		{true, fl.effects},
		{server, fl.lines},
		{fl.shell(), fl.words},
	} {
		if step.applies {
			step.look()
		}
	}
	if before == Allow && fl.o.verdict == Ask && pl.nobody {
		r := fl.o.words()
		r.note = joinNotes(r.note, noteNobody)
		fl.o.verdict, fl.o.said = Deny, &r
	}
	w.trace.amend(true)
	w.trace.step(st, StepTrace{Settled: fl.o.verdict < before, Silent: fl.o.verdict == before,
		Verdict: fl.o.verdict, Note: fl.o.words().note, Rule: fl.o.rule})
	w.trace.amend(false)
	*o = fl.o
}

// isServers tells whether a tool is one of which the input is all that is seen.
func isServers(tool effect.Tool, known bool) bool {
	return !known || tool.Canonical == "mcp" || tool.Canonical == "code"
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

// general tells whether a rule names nothing, so that a mere mention is not about it: `"*": "ask"`, which in minimatch
// leaves out what lies in directories.
func (fl *floorWalk) general(r *Rule, tool string) bool {
	return fl.breadth(r, tool).wide || strings.Trim(r.Pattern.Text, "*/") == ""
}

func (pol *Policy) breadth(r *Rule, tool string) breadth {
	p := pol.compiled(r.Pattern)
	v, ok := pol.view.(outliner)
	if !ok {
		return breadth{p.MustMatch(""), literalOf(p), p.Shape().Prefix}
	}
	wide := false
	for _, q := range v.Outline(tool) {
		for i := range q.Subjects {
			wide = wide || r.looksAt(&q.Subjects[i]) && p.MustMatchLine(q.Subjects[i].Text)
		}
	}
	return breadth{wide, cmp.Or(givenText(r, tool), literalOf(p)), p.Shape().Prefix}
}

// givenText returns the one command that a condition of the rule holds a tool to, "" where there may be others: of
// `tool PowerShell where input.command is "git stash"`.
func givenText(r *Rule, tool string) string {
	t, _ := effect.Lookup(tool)
	for i := range r.If {
		c := &r.If[i]
		name, input := strings.CutPrefix(c.Field, inputField)
		if !input || c.Not || len(c.Any) != 1 || !slices.Contains(t.Command, name) {
			continue
		}
		var text string
		if c.Any[0].Flavour == pattern.JSON && json.Unmarshal([]byte(c.Any[0].Text), &text) == nil {
			return text
		}
	}
	return ""
}

// literalOf returns the one text that a pattern matches, "" if there may be others. Python's `$` also matches before a
// line break at the end, which changes nothing about a command: `^make && make install$` is one text. Where the dollar
// is escaped, so is the backslash of `\Z`, and the text may go on.
func literalOf(p *pattern.Pattern) string {
	if shape := p.Shape(); shape.Exact {
		return shape.Prefix
	}
	before, ends := strings.CutSuffix(p.String(), "$")
	if !ends || p.Flavour() != pattern.Search {
		return ""
	}
	if q, err := pattern.Compile(p.Flavour(), before+`\Z`); err == nil && q.Shape().Exact {
		return q.Shape().Prefix
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
	if fl.blind {
		return
	}
	fl.tighten(outcome{verdict: Ask, stage: stageFloor}, part, why)
}

// doubted lowers the verdict to an ask where a rule may apply, and names it.
func (fl *floorWalk) doubted(d doubt, part, why string) {
	switch {
	case !d.may || fl.blind:
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
		case g.Kind == effect.ForeignShell && fl.exact():
			fl.doubted(fl.mayTighten(), text, "might apply to what cannot be seen: "+g.Why)
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
	// begins is how every text begins that the rule is about: `npx tsc` of `npx tsc *`.
	begins string
}

func (fl *floorWalk) wide() bool { return fl.measure().wide }

// exact tells whether the call is allowed by a rule that is this very command; a human
// has seen all of it. `ls` is not the whole of `export PATH=/tmp/x; ls`, nor of `PATH=/tmp/x ls`. Of `cd x && make` the
// rule may have allowed make alone, and one that is built in the cd.
func (fl *floorWalk) exact() bool {
	return fl.says(fl.measure().text) || fl.by.verdict == Allow && slices.ContainsFunc(fl.beside, func(r *Rule) bool {
		return fl.says(fl.breadth(r, fl.f.Call.Tool).text)
	})
}

// says tells whether the one text of a rule is the call's command.
func (fl *floorWalk) says(text string) bool {
	return text != "" && (strings.HasSuffix(text, strings.TrimSpace(fl.a.Source)) || text == fl.onlyCommand())
}

// onlyCommand returns the command that the whole line is, as rules see it: cmd /c 'dir | more' of
// `cmd /c "dir | more"`; "" where there is more to the line, or a word that is known only when it runs.
func (fl *floorWalk) onlyCommand() string {
	if len(fl.a.Commands) == 0 {
		return ""
	}
	c := &fl.a.Commands[0]
	unknown := func(w shell.Word) bool { return !w.Known }
	if len(c.Words) == 0 || slices.ContainsFunc(c.Words, unknown) {
		return ""
	}
	from, to := c.Words[0].Span.Start, c.Words[len(c.Words)-1].Span.End
	if fl.text(shell.Span{Start: from, End: to}) != strings.TrimSpace(fl.a.Source) {
		return ""
	}
	return c.Text
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
