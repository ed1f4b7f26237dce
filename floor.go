package obstat

import (
	"cmp"
	"encoding/json"
	"iter"
	"path"
	"slices"
	"strings"

	"github.com/obstat/obstat/effect"
	"github.com/obstat/obstat/internal/floor"
	"github.com/obstat/obstat/paths"
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
	server := !known || tool.Canonical == "mcp" || tool.Canonical == "code" // of each the input is all that is seen
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
	return breadth{wide, literalOf(p), p.Shape().Prefix}
}

// literalOf returns the one text that a pattern matches, "" if there may be others. Python's `$` also matches before a
// line break at the end, which changes nothing about a command: `^make && make install$` is one text.
func literalOf(p *pattern.Pattern) string {
	if shape := p.Shape(); shape.Exact {
		return shape.Prefix
	}
	before, ends := strings.CutSuffix(p.String(), "$")
	escaped := (len(before)-len(strings.TrimRight(before, `\`)))%2 == 1
	if !ends || escaped || p.Flavour() != pattern.Search {
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
		fl.flagged(i, c)
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
	if len(c.Via) > 0 && o.verdict == Ask && !fl.speaks(&o, fl.f.Call.Tool) && fl.named(i, c) {
		o.verdict = Allow
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

// named tells whether a rule that allows the command around command i names its program as well: `sudo systemctl *`
// is about the systemctl that sudo runs, `sudo *` is not. A rule with a quote in its beginning, `bash -c 'ls*`, names
// a text that may go on as another command.
func (fl *floorWalk) named(i int, c *effect.Command) bool {
	for j := i - 1; j >= 0; j-- {
		around := &fl.a.Commands[j]
		within := around.Span.Start <= c.Span.Start && c.Span.End <= around.Span.End
		if !around.Wrapper || !within || len(around.Via)+1 != len(c.Via) || len(c.Words) == 0 {
			continue
		}
		trace := fl.trace
		fl.trace = nil // it was told when the command was judged
		o := fl.judgeCommand(j, around.Text, "")
		fl.trace = trace
		if o.verdict != Allow || o.rule == nil || !trailing(around.Words, c.Words) {
			return false
		}
		begins := fl.breadth(o.rule, fl.f.Call.Tool).begins
		end := c.Span.Start - around.Span.Start + len(c.Words[0].Raw)
		return !strings.ContainsAny(begins, "'\"`$;|&\n") && strings.HasPrefix(fl.text(around.Span), begins) &&
			len(begins) >= end
	}
	return false
}

// trailing tells whether the words of a command are the last words of the one around it, `make x` of `sudo make x`,
// and not a text that it reads as a script, as `bash -c x` does.
func trailing(around, inner []shell.Word) bool {
	at := len(around) - len(inner)
	if at < 1 || strings.HasPrefix(around[at-1].Text, "-") && strings.HasSuffix(around[at-1].Text, "c") {
		return false
	}
	for i := range inner {
		if around[at+i].Span != inner[i].Span {
			return false
		}
	}
	return true
}

// doubts lowers the verdict where a rule might stop the command once its unknown
// words are known, as `rm $x` under a rule against `rm -rf *`.
func (fl *floorWalk) doubts(i int, c *effect.Command) {
	if fl.o.verdict < Allow || c.Known && c.Catalogued && len(c.Tails) == 0 || fl.exact() || fl.blind {
		return
	}
	if !c.Known {
		fl.doubted(fl.mayTightenCommand(c.Prefix, c.Dir), fl.text(c.Span),
			"might apply, depending on what a word of it turns out to be")
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
// field, from dir if that is known. The names that a search looks for stay as they are.
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

// lines puts the texts that a server's tool may run to the rules for commands, as a shell tool's calls: of
// `{"command": "rm x"}` the rule Bash(rm *) holds, and of `{"script": "rm x"}`, which may be no command, it asks.
func (fl *floorWalk) lines() {
	for _, line := range fl.a.Lines {
		f, err := fl.asCall("Bash", "command", line.Text, line.Dir)
		if err != nil || fl.o.verdict == Deny {
			return
		}
		d := fl.pol.Decide(f.Call, fl.f.World)
		if d.Rule == nil || d.Verdict == Allow || fl.general(d.Rule, "Bash") {
			continue
		}
		o := outcome{verdict: d.Verdict, stage: stageFloor, rule: d.Rule}
		if !line.Sure {
			o.verdict = Ask
		}
		fl.tighten(o, line.Text, "the tool may run it as a command")
	}
}

// maxTail bounds how many ends of an unknown program's arguments are looked at.
const maxTail = 64

// maxTails bounds the bytes of all of them in a call: each is parsed anew, and counts as minTail bytes at least.
const (
	maxTails = 128 << 10
	minTail  = floor.MaxText
)

// unknownWrapper asks whether a rule would stop the end of an unknown program's arguments if it
// were a command: the program may run it, as in `unknownwrap -x a rm f`. With more arguments than
// are looked at, any rule might.
func (fl *floorWalk) unknownWrapper(i int, c *effect.Command) {
	for at := 1; at < len(c.Words); at++ {
		if at > maxTail || fl.tails > maxTails {
			fl.manyArguments(c)
			return
		}
		if fl.tail(i, at, "is not a program that is known, and might run this") {
			return
		}
	}
}

// manyArguments lowers the verdict of a command with more arguments than are looked at, if a rule
// might stop any command.
func (fl *floorWalk) manyArguments(c *effect.Command) {
	fl.doubted(fl.mayTightenCommand("", c.Dir), fl.text(c.Span),
		"might apply: "+c.Program+" may run its arguments, which are more than are looked at")
}

// tail lowers the verdict if a rule would stop the words of command i from at on as a command, and
// reports that.
func (fl *floorWalk) tail(i, at int, why string) bool {
	c := &fl.a.Commands[i]
	word := c.Words[at].Text
	if !strings.HasPrefix(word, "-") {
		text := joinWords(c.Words[at:])
		if strings.HasPrefix(word, "/") {
			text = text[strings.LastIndexByte(word, '/')+1:] // `/bin/rm x`
		}
		if fl.mayRun(i, text, why) {
			return true
		}
	}
	if raw, ok := strings.CutPrefix(c.Words[at].Raw, "<("); ok { // `modd -f <(echo 'prep: rm x')`
		for text := range floor.CommandsWritten(raw) {
			if fl.alsoRun(i, text, why) {
				return true
			}
		}
		return false
	}
	for text := range floor.CommandsIn(word) {
		if fl.alsoRun(i, text, why) {
			return true
		}
	}
	return false
}

// alsoRun is mayRun for a text that stands inside a word, of which there may be many.
func (fl *floorWalk) alsoRun(i int, text, why string) bool {
	if fl.tails > maxTails {
		fl.manyArguments(&fl.a.Commands[i])
		return true
	}
	return fl.mayRun(i, text, why)
}

// maxWritten bounds how many beginnings of commands are looked at in the files that a call writes.
const maxWritten = 512

// written lowers the verdict of a call that writes code and runs the project's code, if a rule would
// stop a command or a file that stands in it: `exec.Command("rm", "x")` in a test, `RUN curl h` in a
// Dockerfile, `open(".env")`.
func (fl *floorWalk) written() {
	left := maxWritten
	for i := range fl.a.Written {
		left = fl.writtenText(&fl.a.Written[i], left, " writes this into a file that may be run")
	}
	for i := range fl.a.Fed {
		left = fl.writtenText(&fl.a.Fed[i], left, " reads this, and might run it")
	}
}

// writtenText is written for one text; it returns how many more beginnings are looked at.
func (fl *floorWalk) writtenText(t *effect.Text, left int, why string) int {
	if fl.o.verdict < Allow || fl.exact() || fl.blind {
		return left
	}
	c := &fl.a.Commands[t.Command]
	for text := range floor.CommandsWritten(t.Text) {
		if left--; left < 0 {
			fl.manyArguments(c)
			return left
		}
		if r := fl.stops(t.Command, text); r != nil && !fl.general(r, fl.f.Call.Tool) {
			fl.cap(text, c.Program+why)
			return left
		}
	}
	e := effect.Effect{Kind: effect.Read, Origin: effect.Origin{Program: c.Program, Command: t.Command, Span: c.Span}}
	e.Raw = c.Program
	for _, piece := range effect.Pieces(t.Text, true) {
		if left--; left < 0 {
			fl.manyArguments(c)
			return left
		}
		fl.mayReach(c, c.Span, c.Program, piece)
		if strings.Contains(piece, ".") && len(piece) < maxWord {
			for fl.mayTouch(c, e, piece); strings.HasPrefix(piece, "../"); { // as seen from where the file lies
				piece = piece[len("../"):]
				fl.mayTouch(c, e, piece)
			}
			if write := e; fl.inProject(c, piece) {
				write.Kind = effect.Write
				fl.mayTouch(c, write, piece)
			}
		}
	}
	return left
}

// mayRun lowers the verdict if a rule would stop a text that command i might run, and reports that.
func (fl *floorWalk) mayRun(i int, text, why string) bool {
	r := fl.stops(i, text)
	if r != nil {
		fl.cap(text, fl.a.Commands[i].Program+" "+why)
	}
	return r != nil
}

// stops returns the rule that would stop a text if command i ran it.
func (fl *floorWalk) stops(i int, text string) *Rule {
	fl.tails += max(len(text), minTail)
	o := fl.judgeCommand(i, text, "a program might run its arguments")
	if o.rule == nil || o.verdict == Allow || o.rule.Whole() {
		return nil
	}
	return o.rule
}

func joinWords(words []shell.Word) string {
	texts := make([]string, len(words))
	for i, w := range words {
		texts[i] = w.Text
	}
	return strings.Join(texts, " ")
}

// effects puts the files and hosts that the call would touch to the rules about
// these: `echo x > .env` to the rules for writing `.env`.
func (fl *floorWalk) effects() {
	for i := range fl.a.Effects {
		if fl.o.verdict == Deny {
			return
		}
		fl.effect(&fl.a.Effects[i])
	}
}

func (fl *floorWalk) effect(e *effect.Effect) {
	face, ok := fl.face(e)
	if !ok {
		return
	}
	if e.Kind == effect.Connect {
		fl.host(e, face)
		return
	}
	if fl.pl.marks {
		fl.possibleMarks(e, face)
	}
	if e.Path == "" {
		if fl.o.verdict == Allow && !fl.shell() && !fl.wide() && !fl.server {
			fl.cap(fl.text(e.Span), "a path rule might apply to a path that cannot be seen")
		}
		fl.possibly(e, face)
		return
	}
	if e.Unnamed && e.Tags.Has(effect.Books) {
		return
	}
	// The call's own verdict speaks for the file tools' own paths and for what
	// programs do, also with their input; only what a redirect writes has to be allowed by itself.
	must := !fl.shell() && !fl.wide() && !fl.server
	if isRedirect(e) && e.Kind != effect.Read {
		must = must || fl.confined || !fl.exact() && (!fl.wide() || slices.Contains(fl.narrow, e.Command))
	}
	tight, loosest := fl.spellings(e, face)
	fl.tighten(tight, e.Raw, whyEffect(e))
	if must {
		fl.tighten(loosest, e.Raw, whyEffect(e)) // unless it allows
		fl.probing = false
		fl.allowed(&loosest)
		fl.probing = true
	}
	fl.inside(e, face)
	fl.possibly(e, face)
	if reads, ok := fl.pol.prog.Faces[FaceRead]; ok && reads.Tool != face.Tool && fl.searches(e) {
		fl.possibly(e, reads) // what lies in there it reads, whatever the rules for searching say
	}
	if also, ok := fl.alike(e, face); ok {
		tight, _ := fl.spellings(e, also)
		fl.tighten(tight, e.Raw, whyEffect(e))
		fl.possibly(e, also)
	}
}

// inside puts a file without a name, in a directory that a command writes to, to the rules:
// `wget -P src URL`.
func (fl *floorWalk) inside(e *effect.Effect, face Face) {
	if !e.Tags.Has(effect.Into) {
		return
	}
	in := *e
	if in.Path += "/" + placeholder; in.Real != "" {
		in.Real += "/" + placeholder
	}
	tight, _ := fl.spellings(&in, face)
	fl.tighten(tight, e.Raw, "it would write in "+e.Path)
}

// alike returns how the dialect's rules speak of what a file tool does that is none of those that the dialect's
// document knows by their names: a rule against editing a file holds for a tool `move_file`, too.
func (fl *floorWalk) alike(e *effect.Effect, face Face) (Face, bool) {
	if fl.shell() || fl.server || face.Tool != fl.f.Call.Tool || e.Tags.Has(effect.List) || fl.pol.owns(face) {
		return Face{}, false
	}
	also, ok := fl.common(e)
	return also, ok && also != face
}

// faceOf returns the name of the face that an effect of a kind has.
func faceOf(k effect.Kind) string {
	switch k {
	case effect.Read:
		return FaceRead
	case effect.Write:
		return FaceWrite
	case effect.Delete:
		return FaceDelete
	case effect.Connect:
		return FaceConnect
	}
	return ""
}

// searches tells whether e is a search tool's look into the files of a directory.
func (fl *floorWalk) searches(e *effect.Effect) bool {
	return e.Kind == effect.Read && e.Recursive && !fl.shell() && !fl.server
}

// shell tells whether the call runs a command.
func (fl *floorWalk) shell() bool { return fl.field != "" }

// isRedirect tells whether e is the shell's own redirect, not an effect of a
// program.
func isRedirect(e *effect.Effect) bool { return e.Tags.Has(effect.Redirect) }

func whyEffect(e *effect.Effect) string {
	switch {
	case isRedirect(e) && e.Kind == effect.Write:
		return "a redirect's target is a file that is written"
	case e.Kind == effect.Read:
		return "it would read " + e.Path
	case e.Kind == effect.Delete:
		return "it would delete " + e.Path
	}
	return "it would write " + e.Path
}

// face returns how the dialect's rules speak of e: for a file tool, the tool
// itself. Of a tool that fetches, only the file that it writes is looked at here:
// the stages have seen the address.
func (fl *floorWalk) face(e *effect.Effect) (Face, bool) {
	fetches := fl.tool.Canonical == "fetch"
	if fetches && e.Kind != effect.Write {
		return Face{}, false
	}
	if !fl.shell() && !fetches && !fl.server {
		for _, field := range fl.tool.Paths {
			if text, ok := fl.f.Field(field); ok && text == e.Raw {
				return Face{fl.f.Call.Tool, field}, true
			}
		}
		// Else it is a name that a search looks at, `.e*`, one of a list, or an address.
		if e.Raw == "" && !(e.Kind == effect.Read && e.Named()) {
			return Face{}, false
		}
	}
	if fl.server && e.Kind != effect.Connect {
		// The name of a server's tool says whether it reads or writes: `list_issues`.
		reads, writes := effect.Says(fl.f.Call.Tool)
		if reads != writes && (e.Kind == effect.Read) != reads {
			return Face{}, false
		}
	}
	return fl.common(e)
}

// common returns the tool whose rules speak of files that commands touch as e does.
func (fl *floorWalk) common(e *effect.Effect) (Face, bool) {
	face, ok := fl.pol.prog.Faces[faceOf(e.Kind)]
	if !ok && e.Kind == effect.Delete {
		face, ok = fl.pol.prog.Faces[FaceWrite]
	}
	return face, ok
}

// host puts a connection to the rules; a default about it does not count.
func (fl *floorWalk) host(e *effect.Effect, face Face) {
	if e.Raw == "" {
		return
	}
	fl.part = Part{Text: e.Raw, Span: e.Span, Why: "it would connect to " + e.Host}
	o := fl.judge(face.Tool, face.Field, e.Raw, "")
	if o.rule != nil || o.faulted {
		fl.tighten(o, e.Raw, "it would connect to "+e.Host)
	}
}

// spellings judges every way to write the file that e is about. tight is the
// strictest thing a rule says of any of them; loosest is the best of the
// answers, since a rule is free to use any spelling. Both the path as written and the
// one that it leads to have to be allowed: a rule for a place is not about what a link
// inside it leads to.
func (fl *floorWalk) spellings(e *effect.Effect, face Face) (tight, loosest outcome) {
	tight, loosest = outcome{verdict: Allow}, outcome{verdict: Allow}
	fl.part = Part{Span: e.Span}
	if fl.trace != nil {
		fl.part.Why = whyEffect(e)
	}
	for i, p := range [...]string{e.Real, e.Path} {
		if p == "" || i > 0 && p == e.Real {
			continue
		}
		best := outcome{verdict: Deny}
		said, narrow := outcome{verdict: Allow}, false
		for i, o := range fl.judgePath(e, face, p) {
			if o.faulted {
				return o, o
			}
			// A rule for all files has spoken of the one spelling that no other rule names.
			fits := o.rule != nil && !fl.breadth(o.rule, face.Tool).wide
			if fl.speaks(&o, face.Tool) && (o.verdict < said.verdict && fits == narrow || fits && !narrow) {
				said = o
			}
			narrow = narrow || fits
			if i == 0 || o.verdict > best.verdict {
				best = o
			}
		}
		if said.verdict < tight.verdict {
			tight = said
		}
		if loosest.stage == "" || best.verdict < loosest.verdict {
			loosest = best
		}
	}
	return tight, loosest
}

// judgePath puts a path to the rules: once to those of a dialect that are about places,
// and in every spelling to others.
func (fl *floorWalk) judgePath(e *effect.Effect, face Face, p string) iter.Seq2[int, outcome] {
	return func(yield func(int, outcome) bool) {
		if v, ok := fl.parts.(spellingView); ok {
			if ways, ok := v.Spellings(fl.f, face.Tool, p, fl.real(p, e.Real)); ok {
				for i, qs := range ways {
					if !yield(i, fl.judgeQuestions(qs, p)) {
						return
					}
				}
				return
			}
		} else if fl.parts != nil {
			if qs, ok := fl.parts.File(fl.f, face.Tool, p, fl.real(p, e.Real)); ok {
				yield(0, fl.judgeQuestions(qs, p))
				return
			}
		}
		for i, text := range fl.spell(p, p == e.Real) {
			fl.part.Text = text
			if !yield(i, fl.judge(face.Tool, face.Field, text, fl.f.Call.Anchor())) {
				return
			}
		}
	}
}

// judgeQuestions puts the questions about a path to the rules.
func (fl *floorWalk) judgeQuestions(qs []Question, p string) (o outcome) {
	fl.part.Text = p
	fl.answered(qs, &o)
	return o
}

// real returns where links lead from a path, if that is not known yet.
func (fl *floorWalk) real(p, known string) string {
	if known != "" || fl.f.World == nil {
		return known
	}
	if dir, ok := strings.CutSuffix(p, "/"+placeholder); ok { // which is no link
		return (paths.Resolver{FS: fl.f.World}).Literal(dir).Real + "/" + placeholder
	}
	return (paths.Resolver{FS: fl.f.World}).Literal(p).Real
}

// spell returns the ways to write a path: absolute, from where rules start, also as ./src/a where
// rules do so, and from the home directory. A path that links were followed in is also written below the roots as they
// are called: of a project that is itself behind a link.
func (fl *floorWalk) spell(p string, real bool) []string {
	var out []string
	add := func(s string) {
		for _, have := range out {
			if have == s {
				return
			}
		}
		if s != "" {
			out = append(out, s)
		}
	}
	dir, world := fl.f.Call.Anchor(), fl.f.World
	written := func(p string) {
		add(p)
		if dir != "" && paths.Inside(dir, p) && p != dir {
			rel := strings.TrimPrefix(p, strings.TrimSuffix(path.Clean(dir), "/")+"/")
			add(rel)
			if fl.pol.dotted {
				add("./" + rel)
			}
		}
		if world == nil {
			return
		}
		if home, ok := world.Home(""); ok && paths.Inside(home, p) {
			add("~" + strings.TrimPrefix(p, path.Clean(home)))
		}
	}
	written(p)
	if !real || world == nil {
		return out
	}
	for _, root := range append([]string{dir}, fl.f.Call.Workspace()...) {
		at := (paths.Resolver{FS: world}).Literal(root).Real
		if at != "" && at != root && paths.Inside(at, p) {
			written(path.Join(root, strings.TrimPrefix(p, at)))
		}
	}
	return out
}

// A doubt is whether a deny or ask rule may apply to what is not known, and which; a
// stage may, too, that has no rules.
type doubt struct {
	may  bool
	rule *Rule
}

// mayTighten tells whether a deny or ask rule could apply to a hidden part:
// any command, any file.
func (fl *floorWalk) mayTighten() doubt {
	qs := fl.questions(fl.f.Call.Tool, fl.field, "", "")
	if len(qs) == 0 {
		qs = []Question{{fl.f.Call.Tool, nil}}
	}
	for i := range qs {
		if d := fl.mayTightenTool(qs[i].Tool); d.may {
			return d
		}
	}
	for _, name := range sortedKeys(fl.pol.prog.Faces) {
		if d := fl.mayTightenTool(fl.pol.prog.Faces[name].Tool); d.may {
			return d
		}
	}
	return doubt{}
}

// mayTightenTool tells whether a deny or ask rule could apply to some call of a
// tool, whatever its subjects are.
func (fl *floorWalk) mayTightenTool(tool string) doubt {
	qs := []Question{{tool, []Subject{{anyField, ""}}}}
	if v, ok := fl.pol.view.(outliner); ok {
		qs = v.Outline(tool)
	}
	return fl.rulesMay(qs, qs)
}

// mayTightenCommand tells whether a deny or ask rule could apply to a command
// of which only a prefix is known.
func (fl *floorWalk) mayTightenCommand(prefix, dir string) doubt {
	if v, ok := fl.parts.(prefixView); ok {
		return fl.rulesMay([]Question{v.Begins(fl.f, prefix)}, []Question{v.Begins(fl.f, prefix+placeholder)})
	}
	may := fl.questions(fl.f.Call.Tool, fl.field, prefix, dir)
	must := fl.questions(fl.f.Call.Tool, fl.field, prefix+placeholder, dir)
	if len(may) == 0 || len(may) != len(must) {
		return doubt{may: true}
	}
	return fl.rulesMay(may, must)
}

// rulesMay tells whether a rule of the stages may say deny or ask to a question
// that starts like one of may.
func (fl *floorWalk) rulesMay(may, must []Question) doubt {
	s := &space{pol: fl.pol, present: true, facts: fl.f}
	for i := range may {
		if r, yes := s.stricter(fl.pl, &may[i], &must[i]); yes {
			return doubt{true, r}
		}
	}
	return doubt{}
}

// A path that is not one literal is put to the rules as the set that it is: `cat .en?`,
// `cp -r . /tmp/x`, `git show HEAD:$f`. A deny or ask rule that may meet the set makes the
// call an ask that names the rule; one that cannot says nothing.

// possibly asks if a rule may apply to one of the paths that e touches.
func (fl *floorWalk) possibly(e *effect.Effect, face Face) {
	if fl.o.verdict == Deny || !e.Tags.Has(effect.Found|effect.Patch|effect.Contents) && e.Unnamed && e.Path == "" {
		return // a program's own books, git's working tree
	}
	if e.Tags.Has(effect.List) {
		return // names only
	}
	sets := [...]paths.Set{e.Target(), e.RealTarget()}
	if e.Loose() {
		sets[0], sets[1] = paths.Anything(), paths.Anything()
	}
	for i, set := range sets {
		if set.IsZero() || set.Exact() || i > 0 && set == sets[0] {
			continue
		}
		if fl.allBelow(e, face, set, set == sets[1] || sets[1].IsZero()) {
			return
		}
		if fl.onlyWhole(e) || fl.o.verdict < Allow {
			continue
		}
		r := fl.ruleForSome(e, face, &set)
		if r == nil || e.Moved() && r.Tool.IsZero() && r.Whole() { // its child stands for all else in a moved directory
			continue
		}
		if fl.confined {
			fl.partly = true
			continue
		}
		why := "it may " + verbOf(e) + " " + floor.Show(set) + ", and a rule speaks of some of that"
		fl.tighten(outcome{verdict: Ask, stage: stageFloor, rule: r}, fl.origin(e), why)
		return
	}
}

// onlyWhole tells whether only a rule for all that is in the directory is about the files of e: an
// archive's, those that a program makes where it was sent to, and those that a search tool comes by,
// which passes by the ones that it may not read, have no names in the call.
func (fl *floorWalk) onlyWhole(e *effect.Effect) bool {
	if e.Unnamed && !e.Tags.Has(effect.Found|effect.Patch) {
		return true
	}
	return !fl.shell() && e.Recursive && !e.Named()
}

// allBelow tightens by the verdict of a directory, and of a file in it, if e certainly touches all
// that is in there; it tells whether that is stricter than an allow. real: the set is where links lead.
func (fl *floorWalk) allBelow(e *effect.Effect, face Face, set paths.Set, real bool) bool {
	if !set.Below || set.Marked() || e.Path == "" && e.Tags.Has(effect.Patch) {
		return false
	}
	for _, p := range [...]string{set.Text, set.Text + "/" + placeholder} {
		inside := *e
		if inside.Path, inside.Real = p, ""; real {
			inside.Real = p
		}
		if tight, _ := fl.spellings(&inside, face); tight.verdict < Allow {
			fl.tighten(tight, fl.origin(e), "it would "+verbOf(e)+" all that is in "+set.Text)
			return true
		}
	}
	return false
}

// ruleForSome returns a deny or ask rule that may apply to some of the paths of e. set becomes the one
// that the rule is about.
func (fl *floorWalk) ruleForSome(e *effect.Effect, face Face, set *paths.Set) *Rule {
	dir := set.Text
	if e.VisibleOnly() {
		dir = e.Path
	}
	within := set.Below && fl.within(dir)
	r := fl.ruleFor(*set, face, floor.Space{Below: set.Below, Within: within, Visible: e.VisibleOnly(),
		Stars: e.StarDirs(), Tops: starred(e), Changes: e.Kind != effect.Read})
	if r != nil || !within || !set.Marked() || e.VisibleOnly() {
		return r
	}
	set.Below = false // a pattern stands for more than the files in it
	r = fl.ruleFor(*set, face, floor.Space{Stars: e.StarDirs(), Tops: starred(e)})
	if set.Text += "/" + placeholder; r == nil && e.Kind == effect.Delete { // `mv .gi? x` takes .git's files
		r = fl.ruleFor(*set, face, floor.Space{})
	}
	return r
}

// starred tells whether e is on files that a shell pattern with `**/` stands for.
func starred(e *effect.Effect) bool { return e.Glob && strings.Contains(e.Path, "**/") }

// possibleMarks notes the marks that e may get, see [Mark]: `cat .en?` may
// read `.env`.
func (fl *floorWalk) possibleMarks(e *effect.Effect, face Face) {
	if e.Tags.Has(effect.List) || e.Unnamed {
		return
	}
	set := e.Target()
	if e.Loose() {
		set = paths.Anything()
	}
	if set.IsZero() || set.Exact() {
		return
	}
	for i := range fl.pl.stages {
		st := &fl.pl.stages[i]
		if !st.mark {
			continue
		}
		for _, s := range fl.spellSet(set) {
			like := &floor.Space{Below: s.Below, Within: s.Below && fl.within(set.Text),
				Visible: e.VisibleOnly(), Dir: fl.f.Call.Anchor()}
			space := &space{pol: fl.pol, present: true, facts: fl.f, sets: like}
			for _, q := range fl.spelled(face, floor.HideMarks(s.Text)) {
				for j := range q.Subjects {
					q.Subjects[j].Text = floor.ShowMarks(q.Subjects[j].Text)
				}
				for _, r := range st.list.about(q.Tool).all(q.Tool, fl.pol.compiled) {
					if may, _ := space.covers(r, &q, &q); may {
						fl.noteMark(r.ID)
					}
				}
			}
		}
	}
}

// origin returns the part of the command that an effect comes from.
func (fl *floorWalk) origin(e *effect.Effect) string {
	if e.Raw != "" {
		return e.Raw
	}
	return fl.text(e.Span)
}

func verbOf(e *effect.Effect) string {
	switch e.Kind {
	case effect.Read:
		return "read"
	case effect.Delete:
		return "delete"
	}
	return "write"
}

// ruleFor returns a deny or ask rule that may apply to one of a set of paths, however the
// rule spells them; nil if there is none.
func (fl *floorWalk) ruleFor(set paths.Set, face Face, like floor.Space) *Rule {
	like.Dir = fl.f.Call.Anchor()
	for _, s := range fl.spellSet(set) {
		for _, q := range fl.spelled(face, floor.HideMarks(s.Text)) {
			for i := range q.Subjects {
				q.Subjects[i].Text = floor.ShowMarks(q.Subjects[i].Text)
			}
			like.Below = s.Below
			space := &space{pol: fl.pol, present: true, facts: fl.f, sets: &like,
				anyText: strings.IndexByte(set.Text, paths.AnyText) >= 0}
			if r, _ := space.stricter(fl.pl, &q, &q); r != nil {
				return r
			}
		}
	}
	return nil
}

// spelled returns the questions about a file as it is written.
func (fl *floorWalk) spelled(face Face, text string) []Question {
	if fl.parts != nil {
		if at := (paths.Resolver{FS: fl.f.World, Dir: fl.f.Call.Anchor()}).Resolve(text); at.Abs != "" {
			if qs, ok := fl.parts.File(fl.f, face.Tool, at.Abs, at.Real); ok {
				return qs
			}
		}
	}
	return fl.questions(face.Tool, face.Field, text, fl.f.Call.Anchor())
}

// spellSet returns a set as absolute paths, as paths from the working directory and as paths
// from home.
func (fl *floorWalk) spellSet(set paths.Set) []paths.Set {
	out := []paths.Set{set}
	if dir := fl.f.Call.Anchor(); dir != "" {
		out = append(out, set.From(dir)...)
	}
	if fl.f.World == nil {
		return out
	}
	if home, ok := fl.f.World.Home(""); ok {
		for _, s := range set.From(home) {
			out = append(out, paths.Set{Text: "~/" + s.Text, Below: s.Below})
		}
	}
	return out
}

// within tells whether the directories that a text with marks stands for are inside the project. What a rule
// such as `*/.env` is about lies at the top of a project or a home, as far as is known: a
// directory inside is read without a question, unless the rule names a place in it.
func (fl *floorWalk) within(text string) bool {
	tops := append([]string{fl.f.Call.Anchor(), fl.f.Call.Dir}, fl.f.Call.Roots...)
	if fl.f.World != nil {
		if home, ok := fl.f.World.Home(""); ok {
			tops = append(tops, home)
		}
	}
	self := paths.Set{Text: text}
	for _, top := range tops {
		for at := top; at != "" && at != "."; at = path.Dir(at) { // it may be the top, or above it
			if self.Has(at) {
				return false
			}
			if at == "/" {
				break
			}
		}
	}
	return true
}

// maxWords is how many words of a call are taken for files that a program may read or write.
const maxWords = 1000

// words asks where a rule denies, or asks about, reading or writing a file that is a word of a
// command whose use of it is not known: `visidata .env`, `aws s3 cp .env s3://b`, `gcc @.env`,
// `ffmpeg -i a.mp4 locked/b.mp4`.
func (fl *floorWalk) words() {
	if fl.exact() || fl.blind {
		return
	}
	left := maxWords
	for i := range fl.a.Commands {
		if fl.o.verdict < Allow {
			return
		}
		if left = fl.mentions(i, left); left >= 0 {
			left = fl.wordsOf(i, left)
		}
	}
}

// A use is how a command may use words of which nothing is said.
type use struct {
	reads, writes bool // files, see takesFiles
	reaches       bool // hosts
	transfers     bool // a directory goes with all that is in it
	unpacks       bool // files appear whose names are not said
	unnamed       bool // it writes files that it does not name
}

// wordsOf is words for one command; it returns how many more words are looked at.
func (fl *floorWalk) wordsOf(i, left int) int {
	var u use
	u.reads, u.writes = fl.takesFiles(i)
	if u.reaches = u.reads || fl.connects(i); !u.reaches && !u.writes {
		return left
	}
	u.transfers, u.unpacks, u.unnamed = fl.transfers(i), fl.makes(i, effect.Contents), fl.makes(i, 0)
	c := &fl.a.Commands[i]
	for j := range c.Args() {
		if left = fl.word(i, j, &u, left); left < 0 {
			fl.cap(c.Text, "a path rule might apply to one of very many words")
			break
		}
	}
	return left
}

// word is words for argument j of command i.
func (fl *floorWalk) word(i, j int, u *use, left int) int {
	c := &fl.a.Commands[i]
	w := &c.Args()[j]
	text, printed := textOf(w)
	if !oneName(text) {
		return left
	}
	e := effect.Effect{Origin: effect.Origin{Program: c.Program, Command: i, Span: c.Span}}
	e.Raw, e.Glob = w.Raw, w.Glob
	said := fl.said(i, w)
	e.Recursive = u.transfers && !said
	writes := u.writes && !said
	out := writes && fl.isOutput(i, j)
	gets := writes && (u.transfers || u.unpacks) // `unrar x a.rar dir/`
	takes := u.unnamed || u.reads && !said       // `duckdb .git/hooks/z` makes it
	code := printed || !w.Glob && (!c.Catalogued || slices.Contains(c.Tails, j+1))
	for _, piece := range effect.Pieces(text, code) {
		if left--; left < 0 {
			return left
		}
		if u.reaches && (!said || strings.Contains(text, ":")) {
			fl.mayReach(c, w.Span, w.Raw, piece)
		}
		if e.Kind = effect.Read; u.reads {
			fl.mayTouch(c, e, piece)
		}
		if e.Kind = effect.Write; out || (gets || takes && guarded(piece)) && fl.inProject(c, piece) {
			fl.mayTouch(c, e, piece)
		}
	}
	if u.reads && !said {
		return fl.spelledElsewhere(c, w, e, left)
	}
	return left
}

// spelledElsewhere asks where a word that is not known may be a file which the call names elsewhere, in a text that
// no effect is on: `declare -A m=([k]=.env); shar ${m[k]}`.
func (fl *floorWalk) spelledElsewhere(c *effect.Command, w *shell.Word, e effect.Effect, left int) int {
	if w.Known || w.Outside {
		return left
	}
	e.Kind, e.Recursive, e.Glob = effect.Read, false, false
	for at, piece := range effect.FileNames(fl.a.Source) {
		if left--; left < 0 {
			return left
		}
		if !fl.accounted(shell.Span{Start: at, End: at + len(piece)}) {
			fl.mayTouch(c, e, piece)
		}
	}
	return left
}

// accounted tells whether an effect is on the word that holds a part of the call's text.
func (fl *floorWalk) accounted(at shell.Span) bool {
	return slices.ContainsFunc(fl.a.Effects, func(e effect.Effect) bool {
		return e.Path != "" && e.Span.Start <= at.Start && at.End <= e.Span.End
	})
}

// oneName tells whether a text is short enough for a file's name, on one line.
func oneName(text string) bool { return len(text) <= maxWord && strings.IndexByte(text, '\n') < 0 }

// textOf returns what is known of a word, and whether it is the text of a command whose output is a file:
// `vegeta attack <(echo GET h)`.
func textOf(w *shell.Word) (text string, printed bool) {
	if strings.HasPrefix(w.Raw, "<(") {
		return w.Raw, true
	}
	return cmp.Or(w.Shape(), w.Text), false
}

// isOutput tells whether argument j of command i may well be a file that is written.
func (fl *floorWalk) isOutput(i, j int) bool {
	c := &fl.a.Commands[i]
	return !c.Catalogued || floor.IsOutput(c.Args(), j) || fl.unknownFlag(i, j)
}

// mentions asks where a rule is about a file that command i is told of at a place of which nothing is known:
// `last -f .env`, `jo x=%.env`, `tar --transform 's,^,.git/hooks/,'`. It returns how many more words are looked at.
func (fl *floorWalk) mentions(i, left int) int {
	c := &fl.a.Commands[i]
	for _, at := range c.Mentions {
		w := &c.Words[at]
		e := effect.Effect{Origin: effect.Origin{Program: c.Program, Command: i, Span: c.Span}}
		e.Raw, e.Glob = w.Raw, w.Glob
		text := cmp.Or(w.Shape(), w.Text)
		code := strings.ContainsAny(text, " \t\"'`(") // `cqlsh -e "COPY t FROM '.env'"`
		for _, piece := range effect.Pieces(text, code) {
			if left--; left < 0 {
				fl.cap(c.Text, "a path rule might apply to one of very many words")
				return left
			}
			fl.mayReach(c, w.Span, w.Raw, piece)
			e.Kind = effect.Read
			fl.mayTouch(c, e, piece)
			if e.Kind = effect.Write; floor.IsOutput(c.Args(), at-1) || fl.inProject(c, piece) {
				fl.mayTouch(c, e, piece)
			}
		}
	}
	return left
}

// inProject tells whether a path lies in the project. A rule against writing elsewhere is not about a file that a
// command may well only read: `--config=/etc/x`.
func (fl *floorWalk) inProject(c *effect.Command, p string) bool {
	at := (paths.Resolver{FS: fl.f.World, Dir: cmp.Or(c.Dir, fl.f.Call.Dir)}).Resolve(p)
	return paths.Inside(fl.f.Call.Anchor(), at.Abs)
}

// maxWord is the longest word that is taken for a file, or for several with an equals sign or a comma.
const maxWord = 4 << 10

// takesFiles tells whether a command may read files that are words of it, without an effect that
// says so, and whether it may write some of them: a program that is not known, or one that connects,
// runs code or writes files that it does not name.
func (fl *floorWalk) takesFiles(i int) (reads, writes bool) {
	reads = !fl.a.Commands[i].Catalogued
	writes = reads || fl.guesses(i)
	for j := range fl.a.Effects {
		e := &fl.a.Effects[j]
		if e.Command != i {
			continue
		}
		if e.Where != "" {
			return false, false // its files are another machine's
		}
		switch e.Kind {
		case effect.Connect, effect.System:
			reads = reads || !e.Harmless
		case effect.Code:
			reads, writes = reads || !e.Harmless, true
		case effect.Write:
			reads, writes = reads || !e.Harmless && e.Unnamed, true
		}
	}
	return reads, writes
}

// transfers tells whether a command sends files somewhere, or keeps copies of them: a directory that
// it is given goes with all that is in it, `restic backup .`.
func (fl *floorWalk) transfers(i int) bool {
	return slices.ContainsFunc(fl.a.Effects, func(e effect.Effect) bool {
		return e.Command == i && e.Tags.Has(effect.Transfer) && !e.Harmless
	})
}

// connects tells whether a command connects to some host.
func (fl *floorWalk) connects(i int) bool {
	return slices.ContainsFunc(fl.a.Effects, func(e effect.Effect) bool {
		return e.Command == i && e.Kind == effect.Connect
	})
}

// makes tells whether a command writes files that it does not name, with a tag or any: an archiver those of an archive.
func (fl *floorWalk) makes(i int, tag effect.Tags) bool {
	return slices.ContainsFunc(fl.a.Effects, func(e effect.Effect) bool {
		return e.Command == i && e.Kind == effect.Write && e.Unnamed && (tag == 0 || e.Tags.Has(tag))
	})
}

// guarded tells whether a word names a file that programs take orders from, which few read: `.git/hooks/z`.
func guarded(word string) bool {
	entry, ok := paths.Sensitive(word)
	return ok && entry.Guarded && path.Base(word) != ".git" // `git --git-dir=.git log`
}

// mayReach asks if a rule names a host that a word of a command, of which the use is not known, may be:
// `psql -h db.example.com`, `docker pull registry.example.com/x`. A rule for all hosts but some names none.
func (fl *floorWalk) mayReach(c *effect.Command, at shell.Span, raw, word string) {
	host := effect.MayBeHost(word)
	if host == "" || fl.o.verdict < Allow {
		return
	}
	fl.part = Part{Text: host, Span: at, Why: "it may connect to " + host}
	var o outcome
	face, ok := fl.pol.prog.Faces[FaceConnect]
	if v, asks := fl.pol.view.(hostView); asks {
		q := v.Host(host)
		face.Tool, ok = q.Tool, true
		fl.answered([]Question{q}, &o)
	} else if ok {
		o = fl.judge(face.Tool, face.Field, host, "")
	}
	if !ok || o.rule == nil || o.verdict == Allow || fl.general(o.rule, face.Tool) {
		return
	}
	fl.tighten(outcome{verdict: Ask, stage: stageFloor, rule: o.rule}, raw, c.Program+" may connect to "+host)
}

// hostView is a view whose rules speak of hosts.
type hostView interface{ Host(host string) Question }

// guesses tells whether a command has a flag or a subcommand that is not known, so that the word behind it
// may be something else than it seems.
func (fl *floorWalk) guesses(i int) bool {
	return slices.ContainsFunc(fl.a.Gaps, func(g effect.Gap) bool {
		return g.Command == i && (g.Kind == effect.UnknownFlag || g.Kind == effect.UnknownSub)
	})
}

// unknownFlag tells whether a word is a flag that is not known, or behind one of one letter, and may be its value:
// `javac -d src A.java`. Most long ones that are given without a value, as `prettier --check src`, take none.
func (fl *floorWalk) unknownFlag(i, j int) bool {
	args := fl.a.Commands[i].Args()
	letter := j > 0 && len(args[j-1].Text) == 2
	return slices.ContainsFunc(fl.a.Gaps, func(g effect.Gap) bool {
		switch {
		case g.Command != i || g.Kind != effect.UnknownFlag:
			return false
		case !fl.shown(&args[j]): // which flag it is cannot be told
			return letter && args[j-1].Text[0] == '-' || args[j].Text != "" && args[j].Text[0] == '-'
		}
		return g.Span == args[j].Span || letter && g.Span == args[j-1].Span
	})
}

// shown tells whether a word stands in the call's text as it is, so that its place is its own: the words of
// `eval "$x"` all have the place of `"$x"`.
func (fl *floorWalk) shown(w *shell.Word) bool { return w.Raw != "" && fl.text(w.Span) == w.Raw }

// said tells whether an effect is on a word of a command.
func (fl *floorWalk) said(i int, w *shell.Word) bool {
	if !fl.shown(w) {
		return false
	}
	for j := range fl.a.Effects {
		e := &fl.a.Effects[j]
		if e.Command != i || e.Span != w.Span {
			continue
		}
		switch e.Kind {
		case effect.Write, effect.Delete:
			return true
		case effect.Read:
			if !e.Tags.Has(effect.List) && !fl.guesses(i) {
				return true
			}
		}
	}
	return false
}

// mayTouch asks if a rule is about the effect e on a file that a word of a command names.
func (fl *floorWalk) mayTouch(c *effect.Command, e effect.Effect, word string) {
	face, ok := fl.face(&e)
	if !ok || word == "" || word[0] == '-' {
		return
	}
	dir := cmp.Or(c.Dir, fl.f.Call.Dir) // `cd "$x" && gpg -c .env` may well be where it was before
	at := (paths.Resolver{FS: fl.f.World, Dir: dir}).Resolve(word)
	if at.Abs == "" || at.Abs == dir && !e.Recursive {
		return
	}
	e.Path, e.Real = at.Abs, at.Real
	if e.Glob && e.Kind == effect.Read {
		entry, _ := paths.SensitiveGlob(at.Abs) // `haml .en?`
		e.Secret = entry.Secret
	}
	if e.Recursive && e.Kind == effect.Read {
		fl.possibly(&e, face)
	}
	switch {
	case fl.mayBe(c, &e, face):
		return
	case e.Glob:
		fl.possibly(&e, face)
		return
	case e.Kind == effect.Read:
		return
	}
	e.Path, e.Real = at.Abs+"/"+placeholder, at.Real+"/"+placeholder // it may be a directory
	fl.mayBe(c, &e, face)
}

// mayBe asks if a rule is about the effect e.
func (fl *floorWalk) mayBe(c *effect.Command, e *effect.Effect, face Face) bool {
	tight, _ := fl.spellings(e, face)
	if tight.verdict == Allow || tight.rule == nil || fl.general(tight.rule, face.Tool) {
		return false
	}
	why := c.Program + " may " + verbOf(e) + " " + strings.TrimSuffix(e.Path, "/"+placeholder)
	fl.tighten(outcome{verdict: Ask, stage: stageFloor, rule: tight.rule}, e.Raw, why)
	return true
}
