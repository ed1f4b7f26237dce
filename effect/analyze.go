package effect

import (
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/obstat/obstat/effect/internal/left"
	"github.com/obstat/obstat/effect/internal/word"
	"github.com/obstat/obstat/effect/kb"
	"github.com/obstat/obstat/paths"
	"github.com/obstat/obstat/shell"
)

// maxWork is how much work one analysis may be, with reading the shell text. It is counted, not
// timed, so that a text has the same answer on every machine: a unit is about a microsecond of the
// analysis, of the rules and of self-protection. Past it nothing is known: a hiding gap says so, and
// the effects that were found until then stay.
const maxWork = 40_000

// The work that things are.
const (
	commandWork = 40 // a command
	effectWork  = 20 // an effect
	gapWork     = 10 // a gap
	globWork    = 40 // a pattern that is held against the sensitive paths
	homeWork    = 40 // the home of a user
	bytesOfWork = 32 // bytes of a command or script for 1: `xargs xargs xargs ...`
	bytesOfWord = 64 // that a word counts for besides its text
	bytesOfName = 4  // bytes of a path for 1, a name that is looked up
)

// Bounds of single things.
const (
	maxDepth   = 32      // commands inside commands
	maxDir     = 1 << 10 // longest working directory that is followed
	maxPattern = 512     // longest pattern
)

// analyzer collects the analysis of one call.
type analyzer struct {
	opts  Options
	dict  *dictionary
	an    *Analysis // draft, until reserve knows how much room it needs
	draft Analysis
	note  string            // a condition of being read-only, in words
	vars  map[string]string // that the parser is told: HOME, PWD
	names []string          // patterns of the names that a search tool looks at
	globs globOptions
	top   *shell.Script // of the call itself
	budget
	scratch
	left leavings
}

// budget is the work of an analysis so far.
type budget struct {
	depth int  // of commands inside commands
	work  int  // see maxWork
	full  bool // there was too much: a TooBig gap has been added
}

// scratch is space that the calls on the stack share.
type scratch struct {
	seen []seen
	ops  []int
}

// analyzers keeps the scratch space of analyses that are done.
var analyzers = sync.Pool{New: func() any { return new(analyzer) }}

func newAnalyzer(o *Options) *analyzer {
	a := analyzers.Get().(*analyzer)
	if o != nil {
		a.opts = *o
	}
	a.an, a.dict = &a.draft, builtin
	return a
}

// small and large are an Analysis with room for the effects of most commands, in one piece of memory.
type (
	small struct {
		Analysis
		commands [1]Command
		effects  [2]Effect
	}
	large struct {
		Analysis
		commands [1]Command
		effects  [4]Effect
	}
)

// reserve moves the draft to a place of its own, with room for the script's effects.
func (a *analyzer) reserve(list []shell.Command) {
	if a.an != &a.draft {
		return
	}
	n := min(len(list), maxReserved)
	switch plain := n == 1 && len(a.draft.Commands)+len(a.draft.Effects) == 0; {
	case plain && len(list[0].Words) <= smallWords && len(list[0].Redirects) == 0:
		r := new(small)
		r.Analysis, a.an = a.draft, &r.Analysis
		a.an.Commands, a.an.Effects = r.commands[:0], r.effects[:0]
	case plain:
		r := new(large)
		r.Analysis, a.an = a.draft, &r.Analysis
		a.an.Commands, a.an.Effects = r.commands[:0], r.effects[:0]
	default:
		a.an = new(Analysis)
		*a.an = a.draft
		a.an.Commands, a.an.Effects = slices.Grow(a.draft.Commands, n), slices.Grow(a.draft.Effects, 5*n/2)
	}
}

// smallWords is how many words a command has that mostly has two effects at most.
const smallWords = 3

// maxReserved is for how many commands room is made before they are looked at.
const maxReserved = 64

// release returns the analysis and keeps the scratch space for the next one.
func (a *analyzer) release() *Analysis {
	out := a.an
	*a = analyzer{vars: a.vars, scratch: scratch{seen: kept(a.seen), ops: kept(a.ops)}}
	analyzers.Put(a)
	return out
}

// kept is a slice to use again. One that became large is let go.
func kept[T any](s []T) []T {
	if cap(s) > 64 {
		return nil
	}
	return s[:0]
}

// frame is the surroundings of a command.
type frame struct {
	dir   string   // where it runs; "" is unknown
	via   []string // programs it runs inside of
	owner int      // command that runs it, or -1
	spans
	standing
	machine
	repository
	found found // the files that a word with whyFound stands for
}

// spans maps places in a text to places in the call's source.
type spans struct {
	shift  int        // if pinned is false
	pin    shell.Span // of everything inside, if pinned
	pinned bool
}

// standing is the command's place in a script, to find its standard input by.
type standing struct {
	script   *shell.Script
	at       int
	source   string // text that the words' spans refer to; "" if they are made up
	reported bool   // the shell parser has already said that the program is dynamic
}

// machine is another machine that a command runs on, or a container.
type machine struct {
	where  string // "" is this machine
	host   string
	mounts []left.Mount // of the container
}

// repository is one that a flag names, `git --git-dir=x`, rather than the working directory.
type repository struct {
	repo      string
	otherRepo bool
}

func (s *spans) span(at shell.Span) shell.Span {
	if s.pinned {
		return s.pin
	}
	return shell.Span{Start: at.Start + s.shift, End: at.End + s.shift}
}

// effect is an effect in these surroundings.
func (f *frame) effect(k Kind, raw string, at shell.Span, cmd int) Effect {
	return Effect{Kind: k, Origin: Origin{Command: cmd, Span: at}, Place: Place{Raw: raw, Where: f.where, Host: f.host}}
}

// inner is the frame of a command that program name runs.
func (f *frame) inner(name string, owner int) frame {
	in := *f
	in.via = append(f.via[:len(f.via):len(f.via)], name)
	in.owner = owner
	in.reported = false
	return in
}

// script analyses shell text. It is the only way in for text, however deep.
func (a *analyzer) script(src string, f *frame) {
	size := len(src)
	if a.depth == 0 {
		size = 0 // as much as it takes to read it
	}
	if !a.room(size, f.span(shell.Span{End: len(src)}), f.owner) {
		return
	}
	a.depth++
	opts := shell.Options{Lang: a.opts.Lang, Vars: a.known(src, f.dir), MaxWork: maxWork - a.work}
	opts.MaxCommands = maxWork / (commandWork + effectWork)
	s := shell.Parse(src, &opts)
	a.afford(s.Work)
	if a.depth == 1 {
		a.reserve(s.Commands)
		a.an.Findings, a.an.Constructs = s.Findings, s.Constructs
		if a.top == nil {
			a.top = s
		}
		if opts.Vars == nil {
			a.an.script = s
		}
	}
	for i := range s.Gaps {
		g := &s.Gaps[i]
		a.gap(shellGap(g.Kind), g.Why, f.span(g.Span), f.owner)
	}
	for i := range s.Implied {
		a.assign(s.Implied[i].Name, &shell.Word{}, f.span(s.Implied[i].Span), f.owner)
	}
	f.script, f.source, f.reported = s, src, true
	dir := f.dir
	for i := range s.Commands {
		f.at, f.dir = i, dir
		a.simple(&s.Commands[i], f)
	}
	if a.depth--; a.depth == 0 && f.owner < 0 {
		a.runWritten()
		a.loadWritten()
	}
}

func shellGap(k shell.GapKind) GapKind {
	switch k {
	case shell.Syntax:
		return Syntax
	case shell.TooBig, shell.Timeout:
		return TooBig
	case shell.TooDeep:
		return TooDeep
	case shell.ForeignShell:
		return ForeignShell
	case shell.DynamicProgram:
		return DynamicProgram
	}
	return DynamicCode
}

// simple analyses one simple command: words, assignments and redirections.
func (a *analyzer) simple(c *shell.Command, f *frame) {
	start := f.dir
	f.dir = a.chdir(f.dir, &c.Dir)
	before := len(a.an.Effects)
	cmd := f.owner
	if len(c.Words) > 0 {
		cmd = len(a.an.Commands)
		a.command(c.Words, c.Assigns, f)
	}
	for i := range c.Assigns {
		as := &c.Assigns[i]
		if splitsLine(as, c, f.script) || a.aloneInLine(as, c, f) {
			continue
		}
		a.assign(as.Name, &as.Value, f.span(as.Span), min(cmd, len(a.an.Commands)-1))
		a.handed(as, c, cmd, f)
	}
	for i := range c.Redirects {
		a.redirect(&c.Redirects[i], min(cmd, len(a.an.Commands)-1), f)
	}
	if c.Nest&shell.UnsureDir != 0 {
		a.alsoFrom(start, f, before)
	}
	a.wrote(before, f)
	if c.Nest&(shell.Uncertain|shell.InCondition|shell.InTrap) != 0 {
		for i := before; i < len(a.an.Effects); i++ {
			a.an.Effects[i].Certain = false
		}
	}
}

// alsoFrom repeats the effects from a place on as they would be if the directory
// had not been changed: `cd x; rm y` runs rm even where cd fails.
func (a *analyzer) alsoFrom(start string, f *frame, from int) {
	if start == f.dir || f.where != "" {
		return
	}
	for _, e := range a.an.Effects[from:len(a.an.Effects):len(a.an.Effects)] {
		if e.Raw == "" || e.Raw[0] == '/' || e.Raw[0] == '~' || e.Path == "" && e.Shape() != fromAnywhere(e.Raw) {
			continue
		}
		w := shell.Word{Text: e.Raw, Known: true, Glob: e.Glob}
		p := a.resolve(start, &w)
		e.Path, e.Real, e.Sensitive, e.Certain = p.Abs, p.Real, "", false
		a.classify(&e, p.Text, e.Glob)
		a.effect(e)
	}
}

// chdir is the directory that a command runs in, given where its script began.
func (a *analyzer) chdir(dir string, to *shell.Word) string {
	if !to.Known {
		return ""
	}
	if to.Text == "" {
		return dir
	}
	p := a.resolve(dir, to)
	if dir = word.Or(p.Real, p.Abs); len(dir) > maxDir {
		return ""
	}
	return dir
}

func (a *analyzer) resolve(dir string, w *shell.Word) paths.Path {
	r := paths.Resolver{FS: a.opts.FS, Dir: dir}
	cost := (len(dir)+len(w.Text))/bytesOfName + 1
	if w.Tilde && len(w.Text) > 1 && w.Text[1] != '/' {
		cost += homeWork
	}
	if !a.afford(cost) {
		r.FS = nil
	}
	if w.Tilde {
		return r.Resolve(w.Text)
	}
	return r.Literal(w.Text)
}

// command analyses one program with its arguments; words is not empty.
func (a *analyzer) command(words []shell.Word, assigns []shell.Assign, f *frame) {
	size := 0
	for i := range words {
		size += len(words[i].Text) + bytesOfWord
	}
	if !a.room(size, f.span(words[0].Span), f.owner) {
		return
	}
	a.depth++
	name, ok := strings.CutPrefix(words[0].Text, "=") // zsh: `=rm x`
	if ok && name != "" && words[0].Known {
		words = slices.Clone(words)
		words[0].Text, words[0].Raw = name, name
	}
	cmd := a.addCommand(words, assigns, f)
	w := &words[0]
	if ok && strings.Contains(name, "/") {
		a.gap(DynamicProgram, "zsh runs "+name+", and other shells a file of that name with its =", f.span(w.Span), cmd)
	}
	switch {
	case !w.Known || w.Glob:
		if !f.reported || w.Known {
			a.gap(DynamicProgram, "the program's name is known only at run time", f.span(w.Span), cmd)
		}
		a.effect(f.effect(Run, w.Raw, f.span(w.Span), cmd))
	case w.Text == "":
		a.gap(UnknownProgram, "an empty program name", f.span(w.Span), cmd)
	default:
		a.program(words, cmd, f)
	}
	a.depth--
}

// program analyses a command whose program is known by name.
func (a *analyzer) program(words []shell.Word, cmd int, f *frame) {
	w := &words[0]
	name, standard := programName(w.Text)
	e := f.effect(Run, w.Text, f.span(w.Span), cmd)
	e.Program, e.Certain, e.Harmless = name, true, true
	if !standard {
		p := a.resolve(f.dir, w)
		e.Path, e.Real = p.Abs, p.Real
		a.starts(w, words, "", cmd, f)
	}
	a.effect(e)
	if e.Real != e.Path && standardDir(path.Dir(e.Real)) {
		a.runAs(words, e.Real, cmd, f) // a link to a program
		return
	}
	sp := a.dict.lookup(name)
	if sp == nil || !standard {
		a.gap(UnknownProgram, "what the program does is not known", f.span(w.Span), cmd)
		a.fed(cmd, f)
		unknown := &call{a: a, f: *f, words: words, cmd: cmd, name: name}
		for i := 1; i < len(words) && a.afford(1); i++ {
			unknown.mayConnect(&words[i])
		}
		return
	}
	if sp.style&styleBuiltin != 0 && !f.reported && !runsBuiltins(f.via) {
		a.gap(UnknownProgram, "a part of the shell, run as if it were a program", f.span(w.Span), cmd)
	}
	a.an.Commands[cmd].Catalogued = true
	c := a.newCall(words, name, sp, cmd, f)
	c.run()
	a.seen, a.ops = a.seen[:c.seenAt], a.ops[:c.opsAt]
}

// newCall is a call of a program that the knowledge base has.
func (a *analyzer) newCall(words []shell.Word, name string, sp *spec, cmd int, f *frame) call {
	c := call{a: a, f: *f, words: words, cmd: cmd, name: name, match: match{root: sp, spec: sp, rest: -1}}
	c.part = part{len(a.seen), len(a.ops)}
	return c
}

var builtinRunners = kb.Table("!runs-builtins")

// runsBuiltins reports whether every wrapper is one that the shell itself runs: a
// program in between, as in `env command trap`, runs no part of this shell.
func runsBuiltins(via []string) bool {
	return len(via) > 0 && !slices.ContainsFunc(via, func(v string) bool { return !builtinRunners().Has(v) })
}

// room counts a command or script of so many bytes, and reports whether it is still looked at.
func (a *analyzer) room(size int, at shell.Span, owner int) bool {
	if a.depth >= maxDepth {
		a.gap(TooDeep, "commands inside commands inside commands", at, owner)
		return false
	}
	return a.afford(commandWork + size/bytesOfWork)
}

// afford counts work and reports whether there was not too much so far. Effects behind that are left out.
func (a *analyzer) afford(n int) bool {
	if a.work += n; a.work > maxWork && !a.full {
		a.full = true
		a.addGap(TooBig, "more commands, files and patterns than are looked at", shell.Span{End: len(a.an.Source)}, -1)
	}
	return !a.full
}

func (a *analyzer) effect(e Effect) {
	if a.afford(effectWork) {
		a.an.Effects = append(a.an.Effects, e)
		a.throughCopies(&e)
		a.twins(&e)
	}
}

func (a *analyzer) gap(k GapKind, why string, span shell.Span, cmd int) {
	if n := len(a.an.Gaps); n > 0 {
		if last := &a.an.Gaps[n-1]; last.Kind == k && last.Span == span && last.Command == cmd {
			return
		}
	}
	if a.afford(gapWork) {
		a.addGap(k, why, span, cmd)
	}
}

func (a *analyzer) addGap(k GapKind, why string, span shell.Span, cmd int) {
	a.an.Gaps = append(a.an.Gaps, Gap{Kind: k, Why: why, Span: span, Command: cmd, Hides: k.hides()})
}

// finish decides what is read-only, and why not, and returns the analysis.
func (a *analyzer) finish() *Analysis {
	an := a.an
	for i := range an.Commands {
		c := &an.Commands[i]
		if c.ReadOnly = true; switching().Has(c.Program) {
			c.Steered = "a file of the project can choose the program that runs"
		}
	}
	an.ReadOnly, an.Full = true, len(an.Gaps) == 0
	for i := range an.Gaps {
		a.refute(an.Gaps[i].Command, an.Gaps[i].Why)
	}
	for i := range an.Effects {
		e := &an.Effects[i]
		if e.Harmless || !an.ReadOnly && e.Command >= 0 && e.Command < len(an.Commands) && !an.Commands[e.Command].ReadOnly {
			continue
		}
		a.refute(e.Command, e.sentence())
		for j := 0; j < len(an.Commands) && e.Command < 0; j++ { // of a redirect around commands: `{ cat; } < .env`
			a.refute(j, e.sentence())
		}
	}
	if isShell(an.Tool) && len(an.Commands) == 0 && strings.TrimSpace(an.Source) == "" {
		an.ReadOnly, an.Why = false, "nothing to run"
	}
	if an.ReadOnly {
		an.Why = a.note
	}
	a.reserve(nil)
	return a.release()
}

// refute records that a command, and the one that runs it, is not read-only.
func (a *analyzer) refute(cmd int, why string) {
	if a.an.ReadOnly {
		a.an.ReadOnly, a.an.Why = false, why
	}
	for cmd >= 0 && cmd < len(a.an.Commands) {
		c := &a.an.Commands[cmd]
		if !c.ReadOnly {
			return
		}
		c.ReadOnly, c.Why = false, why
		cmd = c.owner
	}
}

// sentence describes an effect for a person.
func (e *Effect) sentence() string {
	var s string
	switch e.Kind {
	case Read:
		s = "reads a secret"
	case Write:
		s = "writes"
	case Delete:
		s = "removes"
	case Connect:
		s = "connects"
	case Code:
		s = "runs code"
	case System:
		s = "changes the system"
	default:
		s = "runs something"
	}
	switch {
	case e.Detail != "":
		return s + ": " + e.Detail
	case e.Raw != "":
		return s + " " + e.Raw
	}
	return s
}
