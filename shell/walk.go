package shell

import (
	"mvdan.cc/sh/v3/syntax"
)

// walker follows a parsed text the way the shell would run it, as far as that is certain,
// and writes down every simple command it meets.
type walker struct {
	out    *Script
	opts   Options
	engine engine
	plain  plainTree
	text   text
	env    env
	place
	later

	aliases  map[string][]string // every meaning that an alias was given
	aliasing []string            // aliases being followed
	frames   []frame
	seen     seen
}

// place is where the walker is.
type place struct {
	nest     Nest
	stdin    int // index of the command that feeds the current one, or -1
	piped    piped
	loops    int  // around the current command
	printed  int  // substitutions around the current text, which bash prints and parses again
	calls    int  // functions, evals and aliases around the current command
	returned bool // a return, break or continue was met since the flag was cleared
	testing  bool // inside [[ ]]
	keywords bool // set -k: words NAME=value anywhere in a command are assignments
	errexit  bool // set -e: a command that fails ends the script
}

// later is code that runs when the script ends, or when arithmetic meets it.
type later struct {
	traps   []trap
	bombs   []bomb   // values that run a command if arithmetic ever sees them
	defused []string // texts that arithmetic has been followed into
	vague   bool     // arithmetic on an unknown variable was met
}

// seen notes things that the walker met.
type seen struct {
	heredocs int  // here-documents so far
	stopped  bool // a limit was reached
	extended bool // an extended pattern was met
}

// borrowWalker takes a walker from the pool.
func borrowWalker(s *Script, o Options) *walker {
	w := walkers.Get().(*walker)
	w.out, w.opts, w.stdin = s, o, -1
	w.env.dir, w.env.given = &unmoved, o.Vars
	return w
}

// unmoved is the directory that every script starts in; it is never written to.
var unmoved = dirState{cur: Word{Known: true}}

// release puts the walker back, without anything that belongs to the script. A walker that
// panicked is not put back.
func (w *walker) release() {
	if n := len(w.out.Commands); n > w.opts.MaxCommands {
		w.out.Commands = w.out.Commands[:w.opts.MaxCommands]
	}
	w.plain.release()
	parser, plain, vars, log := w.engine.parser, w.plain, w.env.vars, w.env.log
	*w = walker{}
	w.engine.parser, w.plain = parser, plain
	if len(vars) <= 16 && cap(log) <= 64 { // usual scripts: their room is used again
		clear(vars)
		clear(log)
		w.env.vars, w.env.log = vars, log[:0]
	}
	walkers.Put(w)
}

// step counts work; it reports false when there was too much.
func (w *walker) step() bool {
	if w.seen.stopped {
		return false
	}
	if !w.afford(stepCost) {
		w.halt(Timeout, "too much work to follow the script")
		return false
	}
	return true
}

// afford counts work and reports whether there was not too much so far.
func (w *walker) afford(n int) bool {
	w.out.Work += n
	return w.out.Work <= w.opts.MaxWork
}

// weaken and forget are those of the environment, and count the work.
func (w *walker) weaken(mark int, why string, keepDir bool) {
	w.out.Work += w.env.weaken(mark, why, keepDir)
}

func (w *walker) forget(why string) {
	w.env.forget(why)
	w.out.Work += len(w.env.vars)
}

func (w *walker) halt(kind GapKind, why string) {
	if !w.seen.stopped {
		w.seen.stopped = true
		w.out.gap(kind, why, Span{0, len(w.out.Source)})
	}
}

func (w *walker) gap(kind GapKind, why string, n syntax.Node) {
	start, end := w.text.node(n)
	w.out.gap(kind, why, w.text.span(start, end))
}

func (w *walker) construct(kind ConstructKind, start, end syntax.Pos) {
	w.out.Constructs = append(w.out.Constructs,
		Construct{kind, w.text.span(int(start.Offset()), int(end.Offset()))})
}

func (w *walker) constructOf(kind ConstructKind, n syntax.Node) {
	start, end := w.text.node(n)
	w.out.Constructs = append(w.out.Constructs, Construct{kind, w.text.span(start, end)})
}

// within runs fn with more nesting bits.
func (w *walker) within(n Nest, fn func()) {
	old := w.nest
	w.nest |= n
	fn()
	w.nest = old
}

// subshell runs fn in an environment of its own.
func (w *walker) subshell(n Nest, fn func()) {
	mark, blind, errexit, traps := w.env.mark(), w.env.blind, w.errexit, len(w.traps)
	w.within(n|InSubshell, fn)
	w.runTraps(traps)
	w.env.rollback(mark)
	w.env.blind, w.errexit = blind, errexit
}

// branches runs alternatives of which any, or none, may run.
func (w *walker) branches(n Nest, alternatives ...func()) {
	var names map[string]variable
	var moved bool
	for _, fn := range alternatives {
		mark := w.env.mark()
		w.within(n|InCondition, fn)
		dir := w.env.changes(mark, &names)
		moved = moved || dir
		w.env.rollback(mark)
	}
	for name, changed := range names {
		old := w.env.get(name)
		w.env.set(name, variable{why: "set in a condition", shape: changed.text, calc: old.calc || changed.calc, fns: joinFns(changed.fns, old.fns)})
	}
	if moved {
		w.env.setDir(&dirState{cur: Word{Why: "cd in a condition"}, unsure: true})
	}
}

// loop runs a body that may run any number of times: whatever it changes is
// unknown from its start.
func (w *walker) loop(body func()) {
	w.loops++
	defer func() { w.loops-- }()
	mark := w.env.mark()
	if w.loops > 3 { // running each body twice would double per level
		w.forget("set in a loop")
		w.env.setDir(&dirState{cur: Word{Why: "cd in a loop"}, unsure: true})
		w.within(InLoop|InCondition, body)
		return
	}
	at := w.output()
	w.within(InLoop|InCondition, body)
	if w.env.mark() > mark {
		w.weaken(mark, "set in a loop", false)
		w.truncate(at)
		w.within(InLoop|InCondition, body)
		w.weaken(mark, "set in a loop", false)
	}
}

// output remembers how much was written, so that a first pass can be thrown away.
type output struct{ commands, gaps, constructs, findings, traps, implied int }

func (w *walker) output() output {
	return output{len(w.out.Commands), len(w.out.Gaps), len(w.out.Constructs), len(w.out.Findings), len(w.traps), len(w.out.Implied)}
}

func (w *walker) truncate(o output) {
	if w.seen.stopped {
		return
	}
	w.env.epoch++ // the commands written down for functions are gone, too
	w.out.Commands = w.out.Commands[:o.commands]
	w.out.Gaps = w.out.Gaps[:o.gaps]
	w.out.Constructs = w.out.Constructs[:o.constructs]
	w.out.Findings = w.out.Findings[:o.findings]
	w.traps = w.traps[:o.traps]
	w.out.Implied = w.out.Implied[:o.implied]
}

// stmts walks a list.
func (w *walker) stmts(list []*syntax.Stmt) {
	nest := w.nest
	defer func() { w.nest = nest }()
	for i, s := range list {
		if w.returned { // commands behind a return or break may not run
			w.nest |= InCondition
		}
		if !w.step() {
			return
		}
		docs := w.seen.heredocs
		w.stmt(s)
		if w.seen.heredocs > docs && w.printed > 0 && i+1 < len(list) {
			// Bash 5.2 prints a substitution and parses it again, and loses a semicolon there.
			w.gap(Syntax, "a here-document inside a substitution, with commands after it", s)
		}
		switch {
		case s.Semicolon.IsValid():
			if !s.Background && !s.Coprocess && !s.Disown {
				at := w.text.span(int(s.Semicolon.Offset()), int(s.Semicolon.Offset())+1)
				w.out.Constructs = append(w.out.Constructs, Construct{Semicolon, at})
			}
		case i+1 < len(list):
			w.construct(Newline, s.End(), list[i+1].Pos())
		}
	}
}

func (w *walker) stmt(s *syntax.Stmt) {
	if s.Background || s.Coprocess || s.Disown {
		end := int(s.Semicolon.Offset())
		w.out.Constructs = append(w.out.Constructs, Construct{BackgroundOp, w.text.span(end, end+1)})
		w.subshell(InBackground, func() { w.foreground(s) })
		return
	}
	w.foreground(s)
}

func (w *walker) foreground(s *syntax.Stmt) {
	if !s.Negated {
		w.command(s)
		return
	}
	w.construct(Negation, s.Position, s.End())
	w.within(Negated, func() { w.command(s) })
}

// command walks one statement without its terminator.
func (w *walker) command(s *syntax.Stmt) {
	switch c := s.Cmd.(type) {
	case *syntax.CallExpr:
		w.call(s, c)
	case *syntax.BinaryCmd:
		w.list(s)
	case *syntax.DeclClause:
		w.declaration(s, c)
	case *syntax.LetClause:
		w.let(s, c)
	case nil:
		w.bare(s)
	default:
		w.compound(s)
	}
}

// compound walks a statement whose redirections apply to all commands in it.
func (w *walker) compound(s *syntax.Stmt) {
	old := w.stdin
	if len(s.Redirs) > 0 {
		w.redirected(s)
	}
	switch c := s.Cmd.(type) {
	case *syntax.Subshell:
		w.constructOf(Subshell, c)
		w.subshell(0, func() { w.stmts(c.Stmts) })
	case *syntax.Block:
		w.constructOf(Group, c)
		w.within(InGroup, func() { w.stmts(c.Stmts) })
	case *syntax.IfClause:
		w.constructOf(IfClause, c)
		w.ifClause(c)
	case *syntax.WhileClause:
		w.while(c)
	case *syntax.ForClause:
		w.forLoop(c)
	case *syntax.CaseClause:
		w.constructOf(CaseClause, c)
		w.caseClause(c)
	case *syntax.FuncDecl:
		w.function(c)
	case *syntax.ArithmCmd:
		w.constructOf(ArithCommand, c)
		w.arithText(c, c.X)
	case *syntax.TestClause:
		w.constructOf(TestClause, c)
		old := w.testing
		w.testing = true
		w.test(c.X)
		w.testing = old
	case *syntax.TimeClause:
		w.constructOf(Time, c)
		if c.Stmt != nil {
			w.stmt(c.Stmt)
		} else if s.Background {
			w.gap(Syntax, "time of nothing, in the background", s)
		}
	case *syntax.CoprocClause:
		w.coproc(c)
	default:
		w.gap(Syntax, "syntax of another shell", s)
	}
	w.stdin = old
}

// redirected writes down the redirections of a compound command; its input becomes
// the input of the commands in it.
func (w *walker) redirected(s *syntax.Stmt) {
	at := w.emit(s)
	w.redirects(at, s.Redirs)
	for _, r := range w.out.Commands[at].Redirects {
		if r.Op[0] == '<' {
			w.stdin = at
		}
	}
}

func (w *walker) bare(s *syntax.Stmt) {
	if len(s.Redirs) == 0 {
		return
	}
	at := w.emit(s)
	w.redirects(at, s.Redirs)
}

// emit adds an empty command and returns its index.
func (w *walker) emit(s *syntax.Stmt) int {
	start, end := stmtBounds(s)
	return w.emitAt(w.text.span(start, end))
}

func (w *walker) emitAt(at Span) int {
	if len(w.out.Commands) >= w.opts.MaxCommands {
		w.halt(TooBig, "more commands than the limit")
	}
	n := w.nest
	d := w.env.dir
	if d.unsure {
		n |= UnsureDir
	}
	w.out.Commands = append(w.out.Commands, Command{Span: at, Dir: d.cur, Nest: n, Stdin: w.stdin})
	return len(w.out.Commands) - 1
}

// stmtBounds returns the offsets of a simple command with its redirections but without
// here-document bodies and terminator.
func stmtBounds(s *syntax.Stmt) (start, end int) {
	start = int(s.Position.Offset())
	if s.Negated && s.Cmd != nil {
		start = int(s.Cmd.Pos().Offset())
	}
	switch s.Cmd.(type) {
	case nil:
		end = start
	case *syntax.CallExpr, *syntax.DeclClause, *syntax.LetClause:
		start = int(s.Cmd.Pos().Offset())
		end = int(s.Cmd.End().Offset())
	default:
		end = int(s.Cmd.End().Offset())
	}
	for _, r := range s.Redirs {
		start = min(start, int(r.Pos().Offset()))
		if r.Word != nil {
			end = max(end, int(r.Word.End().Offset()))
		}
	}
	return start, end
}
