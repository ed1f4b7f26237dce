package shell

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// list walks pipelines and && || lists.
func (w *walker) list(s *syntax.Stmt) {
	var room [8]*syntax.Stmt
	spine, left := leftEdge(room[:0], s)
	w.listAfter(s, spine, left, func() { w.stmt(left) })
}

// leftEdge takes a list apart: its operators from the outside in, and its first command.
// The parser nests lists to the left without a limit. The operators are appended to spine.
func leftEdge(spine []*syntax.Stmt, s *syntax.Stmt) (_ []*syntax.Stmt, left *syntax.Stmt) {
	for left = s; ; {
		b, ok := left.Cmd.(*syntax.BinaryCmd)
		if !ok {
			return spine, left
		}
		spine = append(spine, left)
		left = b.X
	}
}

// listAfter walks a list whose first command is walked by first.
func (w *walker) listAfter(s *syntax.Stmt, spine []*syntax.Stmt, left *syntax.Stmt, first func()) {
	// The innermost operators are pipes, if there are any.
	i := len(spine)
	for i > 0 && isPipe(spine[i-1].Cmd.(*syntax.BinaryCmd).Op) {
		i--
	}
	if pipes := spine[i:]; len(pipes) > 0 {
		old := w.nest
		if pipes[0].Negated && pipes[0] != s {
			w.nest |= Negated
		}
		w.pipeline(first, pipes)
		w.nest = old
	} else {
		first()
	}
	w.andOr(spine[:i], left)
}

func isPipe(op syntax.BinCmdOperator) bool { return op == syntax.Pipe || op == syntax.PipeAll }

// pipeline walks a pipeline, given by its first command and its operators from the
// outside in.
func (w *walker) pipeline(first func(), ops []*syntax.Stmt) {
	stdin, nest, outer := w.stdin, w.nest, w.piped
	part := func(fn func(), last bool) {
		from, traps := len(w.out.Commands), len(w.traps)
		mark, blind := w.env.mark(), w.env.blind
		w.within(InPipe|InSubshell, fn)
		w.runTraps(traps)
		if last { // runs in the shell itself in zsh, or with lastpipe
			w.weaken(mark, "set in a pipeline", false)
		} else {
			w.env.rollback(mark)
			w.env.blind = blind
		}
		w.feed(from)
	}
	part(first, false)
	for i := len(ops) - 1; i >= 0; i-- {
		b := ops[i].Cmd.(*syntax.BinaryCmd)
		w.operator(PipeOp, b)
		if _, ok := b.Y.Cmd.(*syntax.TimeClause); ok {
			w.gap(Syntax, "time is a program, not a keyword, after a pipe", b.Y)
		}
		w.piped = piped{w.stdin, b}
		part(func() { w.stmt(b.Y) }, i == 0)
	}
	w.stdin, w.nest, w.piped = stdin, nest, outer
}

// piped is the pipe that feeds commands, and the index of the one on its left.
type piped struct {
	stdin int
	by    *syntax.BinaryCmd
}

// LineOf begins the reason why a variable is not known that holds one of the lines which some commands print,
// in a loop over `$(find . -name '*.go')` or in `find . -name '*.go' | while read f`. The commands follow.
const LineOf = "a line of "

// linesOf returns the reason for a word that is the output of some commands, as `$(find .)` is.
func linesOf(raw string) (string, bool) {
	inside, ok := strings.CutPrefix(strings.Trim(raw, `"`), "$(")
	if inside, ends := strings.CutSuffix(inside, ")"); ok && ends && len(inside) < maxWhy {
		return LineOf + inside, true
	}
	return "", false
}

// lineOf says that a variable is one of the lines that are piped to `read`, as far as that is so.
func (w *walker) lineOf(args []Word) string {
	by := "read"
	if n := len(args); n == 0 || n > 2 || n == 2 && args[0].Text != "-r" {
		return by
	}
	if w.piped.by == nil || w.stdin != w.piped.stdin || w.nest&MixedStdin != 0 {
		return by
	}
	if at := len(w.out.Commands) - 1; at < 0 || len(w.out.Commands[at].Redirects) > 0 {
		return by
	}
	start, _ := w.text.node(w.piped.by.X)
	end := int(w.piped.by.OpPos.Offset())
	if start < 0 || end > len(w.text.orig) || end-start > maxWhy {
		return by
	}
	return LineOf + w.text.orig[start:end]
}

// feed makes the commands written since from the input of those that follow.
func (w *walker) feed(from int) {
	last, count := -1, 0
	depth := w.nest & InSubst
	for i := from; i < len(w.out.Commands); i++ {
		c := &w.out.Commands[i]
		if c.Nest&InSubst == depth && len(c.Words) > 0 {
			last = i
			count++
		}
	}
	w.stdin = last
	w.nest &^= MixedStdin
	if count > 1 {
		w.nest |= MixedStdin
	}
}

func (w *walker) operator(kind ConstructKind, b *syntax.BinaryCmd) {
	at := int(b.OpPos.Offset())
	w.out.Constructs = append(w.out.Constructs, Construct{kind, w.text.span(at, at+len(b.Op.String()))})
}

// andOr walks the right sides of a && || list, given from the outside in.
func (w *walker) andOr(ops []*syntax.Stmt, left *syntax.Stmt) {
	if len(ops) == 0 {
		return
	}
	mark := w.env.mark()
	prev := left
	var sure sureDir
	defer func() { sure.end(w) }()
	for i := len(ops) - 1; i >= 0; i-- {
		if !w.step() {
			return
		}
		b := ops[i].Cmd.(*syntax.BinaryCmd)
		if b.Op == syntax.AndStmt {
			w.operator(AndOp, b)
			sure.after(w, prev)
			w.within(InCondition, func() { w.stmt(b.Y) })
		} else {
			w.operator(OrOp, b)
			sure.end(w)
			w.weaken(mark, "set in a condition", true)
			w.within(InCondition, func() { w.stmt(b.Y) })
			w.weaken(mark, "set in a condition", false)
			if i == len(ops)-1 && leaves(b.Y) {
				w.checkedCd(left)
			}
		}
		prev = b.Y
	}
	sure.end(w)
	w.weaken(mark, "set in a condition", true)
}

// sureDir is a directory that is certain as long as only && follow the cd: their commands run
// only if it succeeded.
type sureDir struct{ sure, was *dirState }

// after makes the directory certain if the command that succeeded was a cd.
func (s *sureDir) after(w *walker, prev *syntax.Stmt) {
	if d := w.env.dir; d.unsure && w.isCd(prev) {
		sure := *d
		sure.unsure = d.prev != nil && d.prev.unsure && !absolute(d.cur)
		s.sure, s.was = &sure, d
		w.env.dir = &sure
	}
}

// end makes it uncertain again.
func (s *sureDir) end(w *walker) {
	if s.sure != nil && w.env.dir == s.sure {
		w.env.dir = s.was
	}
	s.sure = nil
}

// checkedCd notes that a cd has succeeded: `cd x || exit`.
func (w *walker) checkedCd(s *syntax.Stmt) {
	if d := w.env.dir; d.unsure && d.cur.Known && w.isCd(s) {
		sure := *d
		sure.unsure = d.prev != nil && d.prev.unsure && !absolute(d.cur)
		w.env.setDir(&sure)
	}
}

func absolute(dir Word) bool {
	return dir.Known && (dir.Tilde || len(dir.Text) > 0 && dir.Text[0] == '/')
}

func firstLit(s *syntax.Stmt) string {
	if c, ok := s.Cmd.(*syntax.CallExpr); ok && len(c.Args) > 0 {
		return c.Args[0].Lit()
	}
	return ""
}

// isCd reports whether s is the builtin cd.
func (w *walker) isCd(s *syntax.Stmt) bool {
	_, function := w.env.vars["f:cd"]
	return firstLit(s) == "cd" && !s.Negated && !s.Background && !function && w.aliases["cd"] == nil
}

// leaves reports whether s ends the script or function.
func leaves(s *syntax.Stmt) bool {
	if b, ok := s.Cmd.(*syntax.Block); ok && len(b.Stmts) > 0 {
		s = b.Stmts[len(b.Stmts)-1]
	}
	lit := firstLit(s)
	return lit == "exit" || lit == "return"
}

func (w *walker) ifClause(c *syntax.IfClause) {
	w.within(InCondition, func() { w.stmts(c.Cond) })
	alternatives := []func(){func() { w.stmts(c.Then) }}
	for e := c.Else; e != nil; e = e.Else {
		alternatives = append(alternatives, func() {
			w.stmts(e.Cond)
			w.stmts(e.Then)
		})
	}
	w.branches(0, alternatives...)
}

func (w *walker) caseClause(c *syntax.CaseClause) {
	w.single(c.Word)
	through := false
	alternatives := make([]func(), 0, len(c.Items))
	for _, it := range c.Items {
		through = through || it.Op != syntax.Break
		alternatives = append(alternatives, func() {
			for _, p := range it.Patterns {
				w.single(p)
			}
			w.stmts(it.Stmts)
		})
	}
	if !through {
		w.branches(0, alternatives...)
		return
	}
	// ;& and ;;& run several bodies in a row.
	mark := w.env.mark()
	for _, fn := range alternatives {
		w.within(InCondition, fn)
		w.weaken(mark, "set in a condition", false)
	}
}

func (w *walker) while(c *syntax.WhileClause) {
	kind := WhileLoop
	if c.Until {
		kind = UntilLoop
	}
	w.constructOf(kind, c)
	w.loop(func() {
		w.stmts(c.Cond)
		w.stmts(c.Do)
	})
}

func (w *walker) forLoop(c *syntax.ForClause) {
	switch loop := c.Loop.(type) {
	case *syntax.CStyleLoop:
		w.constructOf(CStyleLoop, c)
		w.arith(loop.Init)
		w.loop(func() {
			w.arith(loop.Cond)
			w.stmts(c.Do)
			w.arith(loop.Post)
		})
	case *syntax.WordIter:
		kind := ForLoop
		if c.Select {
			kind = SelectLoop
		}
		w.constructOf(kind, c)
		w.forWords(c, loop)
	}
}

// maxItems is how many values of a loop variable are tried one by one.
const maxItems = 32

func (w *walker) forWords(c *syntax.ForClause, loop *syntax.WordIter) {
	name := loop.Name.Value
	w.note(name, loop.Name)
	var items []Word
	if loop.InPos.IsValid() {
		for _, it := range loop.Items {
			items = w.fields(items, it)
		}
	} else if args := w.env.get("@"); args.state == varArray {
		items = args.elems
	} else {
		items = []Word{{Why: "arguments", Split: true}}
	}
	body := func() { w.stmts(c.Do) }
	if c.Select || len(items) > maxItems || w.loops > 1 {
		w.loop(func() {
			w.env.set(name, variable{why: "loop variable " + name})
			body()
		})
		return
	}
	from := w.output()
	for _, it := range items {
		v := variable{why: "loop variable " + name, shape: it.Shape(), outside: wholly(it)}
		if lines, ok := linesOf(it.Raw); ok && len(items) == 1 {
			v.why = lines
		} else if strings.HasPrefix(it.Why, LineOf) && len(items) == 1 { // `files=$(git ls-files); for f in $files`
			v.why = it.Why
		}
		if it.Known {
			v = variable{state: varKnown, text: it.Text, tilde: it.Tilde, glob: it.Glob}
		}
		w.env.set(name, v)
		w.loop(body)
	}
	if len(items) > 1 {
		w.dedupe(from)
	}
	after := variable{why: "loop variable " + name}
	if len(items) > 0 {
		after.shape = shapeOf(items[len(items)-1])
	}
	w.env.set(name, after)
}

// maxDedupe is how many commands are compared with each other.
const maxDedupe = 256

// dedupe drops commands that later rounds of a loop repeat word for word.
func (w *walker) dedupe(from output) {
	list := w.out.Commands[from.commands:]
	if len(list) > maxDedupe {
		return
	}
	kept := list[:0]
	moved := make([]int, 0, len(list))
	for _, c := range list {
		if c.Stdin >= from.commands {
			c.Stdin = moved[c.Stdin-from.commands]
		}
		at := slices.IndexFunc(kept, func(k Command) bool { return k.same(&c) })
		if at < 0 {
			at = len(kept)
			kept = append(kept, c)
		}
		moved = append(moved, from.commands+at)
	}
	w.out.Commands = w.out.Commands[:from.commands+len(kept)]
	w.out.Constructs = unique(w.out.Constructs, from.constructs)
	w.out.Gaps = unique(w.out.Gaps, from.gaps)
}

// unique drops repetitions behind from, in lists short enough to compare.
func unique[T comparable](list []T, from int) []T {
	if len(list)-from > 4*maxDedupe {
		return list
	}
	kept := list[:from]
	for _, x := range list[from:] {
		if !slices.Contains(kept[from:], x) {
			kept = append(kept, x)
		}
	}
	return kept
}

func (w *walker) coproc(c *syntax.CoprocClause) {
	w.constructOf(Coproc, c)
	_, first := leftEdge(nil, c.Stmt)
	if c.Name != nil {
		w.single(c.Name)
		if !compoundBody(first) {
			w.gap(Syntax, "a name where shells read the command of a coproc", c)
		}
	}
	if call, ok := first.Cmd.(*syntax.CallExpr); ok && startsWithAssignment(call) {
		w.gap(Syntax, "an assignment that shells read as part of a coproc", c)
	}
	if w.printed > 0 { // bash 5.2 prints a substitution and parses it again, with a name added
		w.gap(Syntax, "a coproc inside a substitution", c)
	}
	w.subshell(InBackground, func() { w.stmt(c.Stmt) })
	w.env.set("COPROC", variable{why: "coproc"})
	if c.Name != nil {
		w.note(w.single(c.Name).Text, c)
	}
}

func startsWithAssignment(c *syntax.CallExpr) bool {
	if len(c.Assigns) > 0 || len(c.Args) == 0 {
		return true
	}
	lit, ok := c.Args[0].Parts[0].(*syntax.Lit)
	return ok && strings.Contains(lit.Value, "=")
}
