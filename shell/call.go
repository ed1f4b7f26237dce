package shell

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// call walks a simple command: assignments, words and redirections.
func (w *walker) call(s *syntax.Stmt, c *syntax.CallExpr) {
	at := w.emit(s)
	if len(c.Args) > 0 {
		w.constructOf(SimpleCommand, c)
		w.misread(c)
	} else {
		w.constructOf(Assignment, c)
	}
	words := w.words(c.Args)
	w.out.Commands[at].Words = words
	mark := w.env.mark()
	if len(c.Assigns) > 0 {
		w.assigns(at, c.Assigns, len(words) == 0)
	}
	if len(s.Redirs) > 0 {
		w.redirects(at, s.Redirs)
	}
	if len(words) > 0 {
		if w.keywords {
			w.keywordArgs(words)
		}
		w.run(at, c.Args)
	}
	if len(s.Redirs) > 0 { // a redirection that fails keeps a builtin from running
		w.weaken(mark, "set by a command whose redirection may fail", true)
	}
}

// keywordArgs refuses words that set -k makes assignments of: `git diff GIT_EXTERNAL_DIFF=./x`.
func (w *walker) keywordArgs(words []Word) {
	for i := range words[1:] {
		x := &words[1+i]
		name, _, ok := strings.Cut(x.Text, "=")
		if ok && validName(strings.TrimSuffix(name, "+")) || !x.Known && x.Split {
			w.out.gap(DynamicCode, "a word that set -k makes an assignment", x.Span)
			return
		}
	}
}

// words expands the arguments of a command into a slice of its own.
func (w *walker) words(args []*syntax.Word) []Word {
	if len(args) == 0 {
		return nil
	}
	out := make([]Word, 0, len(args))
	w.out.Work += len(args) // of the command that goes beyond the limit they are still said
	for _, a := range args {
		out = w.fields(out, a)
	}
	return out
}

// misread handles words that the parser takes for a program and bash does not: keywords, and
// `!(a; b)`, which is an extended pattern or, without extglob, a negated subshell.
func (w *walker) misread(c *syntax.CallExpr) {
	if lit := c.Args[0].Lit(); (lit == "else" || lit == "in") && len(c.Assigns) == 0 {
		w.gap(Syntax, lit+" where a command is expected", c.Args[0])
	}
	g, ok := c.Args[0].Parts[0].(*syntax.ExtGlob)
	if !ok || g.Op != syntax.GlobExcept {
		return
	}
	w.gap(Syntax, "!( is a pattern or a negated subshell, depending on extglob", c.Args[0])
	start, end := w.text.clamp(int(g.Pattern.Pos().Offset()), int(g.Pattern.End().Offset()))
	w.evalText(w.text.orig[start:end], InSubshell|Negated|Uncertain, w.text.span(start, end), true)
}

// run follows a command with words: an alias, a function, or a builtin that changes the shell.
func (w *walker) run(at int, args []*syntax.Word) {
	c0 := &w.out.Commands[at]
	prog := c0.Words[0]
	if !prog.Known || prog.Glob {
		why := prog.Why
		if prog.Known {
			why = "a pattern"
		}
		w.out.gap(DynamicProgram, "the program is "+why, prog.Span)
		return
	}
	if len(w.aliases) > 0 {
		w.alias(at, prog, args)
	}
	if len(w.env.vars) > 0 {
		if f, ok := w.env.vars["f:"+prog.Text]; ok && len(f.fns) > 0 {
			w.invoke(at, prog.Text, f)
			return
		}
	}
	w.builtin(at, prog.Text)
}

// assigns records assignments; persist says that they change the shell's own variables.
func (w *walker) assigns(at int, list []*syntax.Assign, persist bool) {
	out := make([]Assign, 0, len(list))
	for _, a := range list {
		as, v := w.assignment(a)
		out = append(out, as)
		if persist {
			w.store(a, as, v)
		}
		w.promptVariable(as, a)
	}
	w.out.Commands[at].Assigns = out
}

// assignment resolves one assignment; for an array also its elements.
func (w *walker) assignment(a *syntax.Assign) (Assign, variable) {
	start, end := w.text.node(a)
	as := Assign{Append: a.Append, Span: w.text.span(start, end)}
	if a.Name != nil {
		as.Name = a.Name.Value
		if !validName(as.Name) { // the parser takes ]=1[[ for an assignment
			w.gap(Syntax, "an assignment that shells read as a word", a)
		}
	}
	if a.Index != nil {
		from, to := w.text.node(a.Index)
		as.Name += "[" + w.text.orig[from:to] + "]"
		w.arith(a.Index)
	}
	if a.Array == nil {
		as.Value = w.value(a.Value)
		return as, wordValue(as.Value)
	}
	v := variable{state: varArray}
	for _, e := range a.Array.Elems {
		if e.Index != nil {
			w.arith(e.Index)
			v.state = varUnknown
		}
		if e.Value != nil {
			v.elems = w.fields(v.elems, e.Value)
		}
	}
	from, to := w.text.node(a.Array)
	if to < len(w.text.src) && strings.IndexByte(" \t\n;&|)<>`", w.text.src[to]) < 0 {
		w.gap(Syntax, "text behind an array, which makes it a word", a)
	}
	as.Value = Word{Why: "array", Raw: w.text.orig[from:to], Span: w.text.span(from, to)}
	for _, e := range v.elems {
		if (!e.Known && e.Split) || e.Glob || len(v.elems) > maxFields {
			v.state = varUnknown // how many elements there are is not known
		}
	}
	if v.state == varUnknown {
		return as, variable{why: "array"}
	}
	return as, v
}

func wordValue(val Word) variable {
	if !val.Known {
		v := variable{why: val.Why, shape: val.Shape(), outside: wholly(val)}
		if lines, ok := linesOf(val.Raw); ok && v.shape == Unknown && !strings.HasPrefix(v.why, whyPrinted) {
			v.why = lines
		}
		return v
	}
	if val.Tilde && (!strings.HasPrefix(val.Text, "~") || strings.Contains(val.Text, ":~")) {
		return variable{why: "a home directory in it"}
	}
	return variable{state: varKnown, text: val.Text, tilde: val.Tilde, glob: val.Glob}
}

// wholly reports whether all of a word is the value of a variable that the script does not set: of `x=--$Y`
// the script chose a part.
func wholly(val Word) bool { return val.Outside && (val.Shape() == Unknown || val.Shape() == "") }

// store changes the shell's variable.
func (w *walker) store(a *syntax.Assign, as Assign, v variable) {
	name := a.Name.Value
	old := w.env.get(name)
	switch {
	case a.Index != nil:
		v = variable{why: "array"}
	case old.calc:
		v = variable{why: "arithmetic", calc: true}
	case a.Append && a.Array != nil && old.state == varArray && v.state == varArray:
		v.elems = append(old.elems[:len(old.elems):len(old.elems)], v.elems...)
	case a.Append && a.Array == nil && old.state == varKnown && v.state == varKnown:
		v.text, v.tilde = old.text+v.text, old.tilde
	case a.Append && old.state != varUnset:
		v = variable{why: "appended to"}
	case a.Array == nil && old.state == varArray: // sets the first element
		v = variable{why: "array"}
	}
	if name == "BASH_ALIASES" || name == "BASH_CMDS" {
		w.gap(DynamicCode, "a name is made to run something else", a)
	}
	if as.Value.Known && old.calc {
		w.evalArith(as.Value.Text, a)
	}
	w.env.set(name, v)
}

// assign sets a variable to a word.
func (w *walker) assign(name string, val Word, calc bool) {
	v := wordValue(val)
	if calc || w.env.get(name).calc {
		v = variable{why: "arithmetic", calc: true}
	}
	w.env.set(name, v)
}

// promptVariable follows PS4 and its like, whose substitutions the shell runs.
func (w *walker) promptVariable(as Assign, n syntax.Node) {
	switch as.Name {
	case "PS0", "PS1", "PS2", "PS4", "PROMPT_COMMAND", "PROMPT", "RPROMPT":
		if as.Value.Known {
			w.within(Uncertain, func() {
				w.evalDocument(as.Value.Text, InEval, n)
				if as.Name == "PROMPT_COMMAND" {
					w.evalText(as.Value.Text, InEval, as.Value.Span, false)
				}
			})
		}
	}
}

// redirects records the redirections of a command.
func (w *walker) redirects(at int, list []*syntax.Redirect) {
	out := make([]Redirect, 0, len(list))
	for i, r := range list {
		if r.Word == nil {
			continue
		}
		if i > 0 && r.N == nil && list[i-1].Word != nil && list[i-1].Word.End() == r.OpPos && digits(list[i-1].Word.Lit()) {
			w.gap(Syntax, "digits that belong to the next redirection", r)
		}
		start, _ := w.text.node(r)
		_, end := w.text.node(r.Word)
		rd := Redirect{Op: r.Op.String(), Span: w.text.span(start, end)}
		if r.N != nil {
			rd.Fd = r.N.Value
			if i := strings.IndexByte(rd.Fd, '['); i > 0 {
				w.evalArith(rd.Fd[i:], r.N)
			}
		}
		w.redirect(&rd, r)
		out = append(out, rd)
	}
	w.out.Commands[at].Redirects = out
}

func (w *walker) redirect(rd *Redirect, r *syntax.Redirect) {
	kind := RedirectOut
	switch r.Op {
	case syntax.Hdoc, syntax.DashHdoc:
		w.heredoc(rd, r)
		kind = HereDoc
	case syntax.WordHdoc:
		body := w.single(r.Word)
		rd.Target, rd.Body = body, &body
		kind = HereString
	default:
		rd.Target = w.target(r.Word)
		if (r.Op == syntax.DplOut || r.Op == syntax.DplIn) && len(rd.Target.Raw) > 1 && rd.Target.Raw[0] == '-' {
			w.gap(Syntax, "a descriptor is closed and a word follows", r.Word)
		}
		if r.Op == syntax.RdrIn || r.Op == syntax.DplIn {
			kind = RedirectIn
		}
	}
	w.out.Constructs = append(w.out.Constructs, Construct{kind, rd.Span})
}

// target expands the file name of a redirection, which must become one word.
func (w *walker) target(sw *syntax.Word) Word {
	list := w.fields(nil, sw)
	if len(list) == 1 {
		return list[0]
	}
	start, end := w.text.node(sw)
	return Word{Why: "expands to several words or none", Raw: w.text.orig[start:end], Span: w.text.span(start, end), Split: true}
}

// same reports whether two commands differ in nothing.
func (c *Command) same(d *Command) bool {
	if c.Span != d.Span || c.Nest != d.Nest || c.Stdin != d.Stdin || c.Dir != d.Dir {
		return false
	}
	if !slices.Equal(c.Words, d.Words) || !slices.Equal(c.Assigns, d.Assigns) {
		return false
	}
	return slices.EqualFunc(c.Redirects, d.Redirects, func(x, y Redirect) bool {
		body := x.Body == y.Body || x.Body != nil && y.Body != nil && *x.Body == *y.Body
		return body && x.Op == y.Op && x.Fd == y.Fd && x.Target == y.Target && x.Span == y.Span
	})
}
