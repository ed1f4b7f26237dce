package obstat

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/obstat/obstat/effect"
	"github.com/obstat/obstat/internal/floor"
	"github.com/obstat/obstat/pattern"
	"github.com/obstat/obstat/shell"
)

// The floor puts each command that a call would run to the rules, and each end of an unknown program's arguments
// that may be one: `timeout 5 rm x` as `rm x`, too.

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
		fl.around(i, c)
		fl.alternatives(i, c)
		fl.flagged(i, c)
		fl.doubts(i, c)
	}
	fl.unseen = false
}

// alternatives tries other spellings of a command: a rule against `git push` is
// meant for `git -C x push` as well, and one against `CI=1 make` for `A=2 CI="1" make`.
func (fl *floorWalk) alternatives(i int, c *effect.Command) {
	for _, alt := range c.Alts {
		fl.alternative(i, alt)
	}
	if len(c.Sets) > effect.MaxSets {
		fl.cap(c.Text, "more variables are set for it than are looked at")
		return
	}
	for _, set := range c.Sets {
		fl.alternative(i, set+" "+c.Text)
	}
}

func (fl *floorWalk) alternative(i int, alt string) {
	why := "it is another way to write " + alt
	if o := fl.judgeCommand(i, alt, why); fl.speaks(&o, fl.f.Call.Tool) {
		fl.tighten(o, alt, why)
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
	if o.verdict < Allow && !fl.speaks(&o, fl.f.Call.Tool) {
		o = fl.asWritten(i, c, o, why)
	}
	fl.probing = true
	if o.verdict == Allow && c.Set.Start < c.Set.End {
		fl.starred(i, c, append(slices.Clip(fl.beside), o.rule, fl.by.rule))
	}
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

// asWritten puts a command to the rules as it is written, by its program's path and with the variables that are set for
// it. A rule of a file for `/usr/bin/make *` counts, and one that begins with such a variable, `CI=1 make *`.
func (fl *floorWalk) asWritten(i int, c *effect.Command, o outcome, why string) outcome {
	counts := func(w *outcome) bool { return w.users() && fl.speaks(w, fl.f.Call.Tool) }
	if text := c.Written(); text != "" {
		if w := fl.judgeCommand(i, text, why); counts(&w) {
			return w
		}
	}
	if c.Set.Start < c.Set.End {
		text := fl.text(shell.Span{Start: c.Set.Start, End: c.Span.End})
		if w := fl.judgeCommand(i, text, why); counts(&w) && fl.sets(c, w.rule) {
			return w
		}
	}
	return o
}

// sets tells whether a rule begins with the variable that is set for a command first.
func (fl *floorWalk) sets(c *effect.Command, rule *Rule) bool {
	if c.Set.Start >= c.Set.End || rule == nil || !rule.Pos.IsValid() || len(c.Env) == 0 {
		return false
	}
	return strings.Contains(fl.breadth(rule, fl.f.Call.Tool).begins, c.Env[0]+"=") // Chorus's: tool:Bash:CI=1 make
}

// starred asks about a command where a star of a rule that allows it stands for its program.
func (fl *floorWalk) starred(i int, c *effect.Command, rules []*Rule) {
	for _, r := range rules {
		if fl.sets(c, r) && fl.swallows(i, c, r) {
			fl.cap(c.Text, "a star of the rule "+r.String()+" would stand for its program, or for further variables")
			return
		}
	}
}

// swallows tells whether a star of a rule that begins with a variable stands for more than a value or arguments: `CI=*
// make` matches `CI=1 rm x make`, but is not about rm. The program and the other variables get other names, and the
// rule must match no more.
func (fl *floorWalk) swallows(i int, c *effect.Command, rule *Rule) bool {
	trace := fl.trace
	fl.trace = nil // nobody wrote these
	defer func() { fl.trace = trace }()
	matches := func(text string) bool { o := fl.judgeCommand(i, text, ""); return o.rule == rule }
	set, line := fl.text(c.Set), fl.text(c.Span)
	if matches(set + " _" + strings.TrimPrefix(line, c.Words[0].Raw)) {
		return true
	}
	for _, name := range c.Env[1:] {
		for at := range set {
			if rest, ok := strings.CutPrefix(set[at:], name+"="); ok && matches(set[:at]+"_="+rest+" "+line) {
				return true
			}
		}
	}
	return false
}

// around asks about a program by a way around, ./bin/../x under a rule for ./bin/*, which may be another where bin is a
// link. A rule that says that way is about it.
func (fl *floorWalk) around(i int, c *effect.Command) {
	if fl.o.verdict < Allow || !c.Around() || fl.exact() {
		return
	}
	o := fl.judgeCommand(i, c.Text, "")
	narrow := false
	for _, r := range append(slices.Clip(fl.beside), o.rule, fl.by.rule) {
		if r == nil || !r.Pos.IsValid() {
			continue
		}
		b := fl.breadth(r, fl.f.Call.Tool)
		if b.wide || strings.Contains(b.begins, c.Path) {
			return
		}
		narrow = true
	}
	if narrow {
		fl.cap(c.Text, "where its program lies depends on links, and no rule says this way")
	}
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

// users tells whether a rule of a file spoke, not one that is built in.
func (o *outcome) users() bool { return o.rule != nil && o.rule.Pos.IsValid() }

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
	return o.verdict != Ask || !fl.pol.forAll(o.rule)
}

// forAll tells whether a rule is about every call of every tool.
func (pol *Policy) forAll(r *Rule) bool {
	every := func(t Text) bool { return t.IsZero() || t.Flavour != pattern.Exact && pol.compiled(t).MustMatch("") }
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
	f := fl.asCall(tool, field, text, dir)
	f.part = &fl.part
	fl.answer(f, fl.pl, &o)
	return o
}

// questions returns the questions that a call of tool with text in field poses.
func (fl *floorWalk) questions(tool, field, text, dir string) []Question {
	qs, _ := fl.pol.viewInForce().Questions(fl.asCall(tool, field, text, dir)) // one that cannot be asked about has none
	return qs
}

// asCall makes a part of the call a call of its own: tool, with text in one
// field, from dir if that is known. The names that a search looks for stay as they are.
func (fl *floorWalk) asCall(tool, field, text, dir string) *Facts {
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
	call := *fl.f.Call
	call.Tool = tool
	call.Input, _ = json.Marshal(fields) // texts can be written
	if dir != "" {
		call.Dir = dir
	}
	return &Facts{Call: &call, World: fl.f.World, Mode: fl.f.Mode, pol: fl.pol}
}

// lines puts the texts that a server's tool may run to the rules for commands, as a shell tool's calls: of
// `{"command": "rm x"}` the rule Bash(rm *) holds, and of `{"script": "rm x"}`, which may be no command, it asks.
func (fl *floorWalk) lines() {
	for _, line := range fl.a.Lines {
		d := fl.pol.Decide(fl.asCall("Bash", "command", line.Text, line.Dir).Call, fl.f.World)
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
