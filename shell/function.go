package shell

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// function is a shell function: its body, and the text that the body is part of.
type function struct {
	name   string
	body   *syntax.Stmt
	text   text
	active int // calls of it under way
	calls  int // calls of it so far
	any    *anyCall
}

// anyCall is the changes that any call of a function makes, with any arguments and variables. Its
// commands are written down already.
type anyCall struct {
	epoch   int // of the functions that it may have called
	changes map[string]variable
	moved   bool
}

// maxExact is how many calls of a function are followed one by one.
const maxExact = 8

// frame is a function call under way.
type frame struct {
	locals []undo // the values that local variables hid
}

// maxCandidates is how many definitions of one name are kept apart.
const maxCandidates = 8

// joinFns merges two sets of candidates.
func joinFns(a, b []*function) []*function {
	if len(b) == 0 {
		return a
	}
	out := slices.Clone(a)
	for _, f := range b {
		if !slices.Contains(out, f) {
			out = append(out, f)
		}
	}
	return out
}

// function records a definition; its body is walked where it is called. The parser takes
// the rest of a list, `f() { a; } && b`, for part of the body.
func (w *walker) function(c *syntax.FuncDecl) {
	w.constructOf(Function, c)
	spine, body := leftEdge(nil, c.Body)
	if !compoundBody(body) {
		w.gap(Syntax, "the body of a function must be a compound command", c)
	}
	w.listAfter(c.Body, spine, body, func() { w.defineFunction(c, body) })
}

func compoundBody(s *syntax.Stmt) bool {
	switch s.Cmd.(type) {
	case *syntax.CallExpr, *syntax.DeclClause, *syntax.LetClause, *syntax.TimeClause, *syntax.CoprocClause, *syntax.FuncDecl, nil:
		return false
	}
	return !s.Negated
}

func (w *walker) defineFunction(c *syntax.FuncDecl, body *syntax.Stmt) {
	name := c.Name.Value // with its backslashes, which bash takes as they are
	f := &function{name: name, body: body, text: w.text}
	w.env.set("f:"+name, variable{state: varKnown, fns: []*function{f}})
	if slices.Contains(known().hook, name) || strings.HasPrefix(name, "TRAP") { // the shell calls it by itself
		w.branches(Uncertain, func() { w.enter(f, variable{}) })
	}
}

// invoke follows a call of a function: the call itself is no command, its body is.
func (w *walker) invoke(at int, name string, f variable) {
	c := &w.out.Commands[at]
	args := argList(c.Words[1:])
	certain := f.state == varKnown && len(f.fns) == 1
	span, stdin := c.Span, w.stdin
	keep := len(c.Redirects) > 0 || len(c.Assigns) > 0
	prefix := c.Assigns
	for _, r := range c.Redirects {
		if r.Op[0] == '<' {
			w.stdin = at
		}
	}
	old, mark := w.nest, w.env.mark()
	switch {
	case !certain:
		c.Nest |= InCondition
		w.nest |= InCondition
		w.builtin(at, name)
		w.weaken(mark, "set by a name that may be a function", false)
	case keep:
		c.Words = nil
	default:
		w.remove(at)
	}
	if len(f.fns) > maxCandidates {
		w.out.gap(DynamicCode, "a function with very many definitions", span)
	}
	for i, fn := range f.fns {
		if i == maxCandidates {
			break
		}
		if fn.active >= 2 || w.calls >= maxCalls {
			w.out.gap(DynamicCode, "a function that calls itself", span)
			continue
		}
		if fn.calls++; fn.calls > maxExact && fn.active == 0 && w.stdin < 0 {
			w.enterAny(fn)
			continue
		}
		w.withPrefix(prefix, func() { w.enter(fn, args) })
		if !certain {
			w.weaken(mark, "set in a function that may not be called", false)
		}
	}
	w.stdin, w.nest = stdin, old
}

// withPrefix runs fn with the assignments in front of a call.
func (w *walker) withPrefix(prefix []Assign, fn func()) {
	var hidden []undo
	for _, a := range prefix {
		old, had := w.env.vars[a.Name]
		hidden = append(hidden, undo{name: a.Name, old: old, had: had})
		w.assign(a.Name, a.Value, false)
	}
	fn()
	w.uncover(hidden)
}

// uncover gives hidden variables their old values back.
func (w *walker) uncover(hidden []undo) {
	for _, u := range slices.Backward(hidden) {
		old := u.old
		if !u.had {
			if text, ok := w.env.given[u.name]; ok && !w.env.blind {
				old = variable{state: varKnown, text: text}
			}
		}
		w.env.set(u.name, old)
	}
}

// argList is the value of $@ for the words of a call.
func argList(words []Word) variable {
	v := variable{state: varArray, elems: words}
	for i := range words {
		if (!words[i].Known && words[i].Split) || words[i].Glob {
			return variable{why: "arguments", shape: shapeOf(words[i])}
		}
	}
	return v
}

// enter walks the body of a function.
func (w *walker) enter(f *function, args variable) {
	outer, oldText, returned, loops, printed := w.env.get("@"), w.text, w.returned, w.loops, w.printed
	mark := w.env.mark()
	w.env.set("@", args)
	w.frames = append(w.frames, frame{})
	f.active++
	w.calls++
	w.returned, w.text, w.printed = false, f.text, 0
	w.within(InFunction, func() { w.stmt(f.body) })
	early := w.returned
	w.text, w.returned, w.loops, w.printed = oldText, returned, loops, printed
	f.active--
	w.calls--
	top := w.frames[len(w.frames)-1]
	w.frames = w.frames[:len(w.frames)-1]
	w.uncover(top.locals)
	if early { // commands behind the return may not have run
		w.weaken(mark, "set in a function", false)
	}
	if w.env.mark() == mark+1 { // nothing but the arguments changed
		w.env.rollback(mark)
		return
	}
	w.env.set("@", outer)
}

// enterAny follows a call of a function that is called very often: its body is walked once more
// with nothing known, and not again.
func (w *walker) enterAny(f *function) {
	if f.any == nil || f.any.epoch != w.env.epoch {
		mark, blind := w.env.mark(), w.env.blind
		w.forget("varies between calls")
		w.env.setDir(&dirState{cur: Word{Why: "varies between calls"}, unsure: true})
		inner := w.env.mark()
		w.enter(f, variable{why: "arguments"})
		a := &anyCall{}
		a.moved = w.env.changes(inner, &a.changes)
		w.env.rollback(mark)
		w.env.blind = blind
		a.epoch = w.env.epoch
		f.any = a
	}
	for name, v := range f.any.changes {
		w.env.set(name, variable{why: "set in a function", calc: v.calc, fns: joinFns(v.fns, w.env.get(name).fns)})
	}
	w.out.Work += len(f.any.changes)
	if f.any.moved {
		w.env.setDir(&dirState{cur: Word{Why: "cd in a function"}, unsure: true})
	}
}

// local notes that a variable is restored when the function ends.
func (w *walker) local(name string) {
	if len(w.frames) == 0 {
		return
	}
	old, had := w.env.vars[name]
	top := &w.frames[len(w.frames)-1]
	top.locals = append(top.locals, undo{name: name, old: old, had: had})
}

// remove deletes a command and moves the indices behind it.
func (w *walker) remove(at int) {
	w.out.Commands = slices.Delete(w.out.Commands, at, at+1)
	for i := at; i < len(w.out.Commands); i++ {
		if w.out.Commands[i].Stdin > at {
			w.out.Commands[i].Stdin--
		}
	}
}
