package shell

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// arith walks an arithmetic expression. Bash evaluates the values of the variables in it
// as expressions in turn, and runs the substitutions in their subscripts.
func (w *walker) arith(x syntax.ArithmExpr) {
	var right []*syntax.BinaryArithm // the left side nests without a limit, so it is a loop
	for x != nil && w.step() {
		switch e := x.(type) {
		case *syntax.BinaryArithm:
			right = append(right, e)
			x = e.X
			continue
		case *syntax.UnaryArithm:
			if e.Op == syntax.Inc || e.Op == syntax.Dec {
				w.arithSet(e.X)
			}
			x = e.X
			continue
		case *syntax.ParenArithm:
			x = e.X
			continue
		case *syntax.FlagsArithm:
			x = e.X
			continue
		case *syntax.Word:
			if e != nil {
				w.arithWord(e)
			}
		}
		break
	}
	for _, e := range slices.Backward(right) {
		w.arith(e.Y)
		if isAssignment(e.Op) {
			w.arithSet(e.X)
		}
	}
}

// arithText walks (( )) and $(( )). Bash takes them for arithmetic only if the parentheses in
// them pair up, quotes or not, and for a subshell otherwise.
func (w *walker) arithText(n syntax.Node, x syntax.ArithmExpr) {
	start, end := w.text.node(n)
	depth, ok := 0, true
	for i := start; i < end; i++ {
		switch w.text.src[i] {
		case '(':
			depth++
		case ')':
			depth--
			ok = ok && depth >= 0 && (depth > 0 || i == end-1)
		}
	}
	if !ok || depth != 0 {
		w.gap(Syntax, "parentheses inside arithmetic that do not pair up", n)
	}
	w.arith(x)
}

func isAssignment(op syntax.BinAritOperator) bool {
	switch op {
	case syntax.Assgn, syntax.AddAssgn, syntax.SubAssgn, syntax.MulAssgn, syntax.QuoAssgn, syntax.RemAssgn,
		syntax.AndAssgn, syntax.OrAssgn, syntax.XorAssgn, syntax.ShlAssgn, syntax.ShrAssgn,
		syntax.AndBoolAssgn, syntax.OrBoolAssgn, syntax.XorBoolAssgn, syntax.PowAssgn:
		return true
	}
	return false
}

// arithSet notes an assignment to a variable: x, a[i], or whatever $x or "x" stands for.
func (w *walker) arithSet(x syntax.ArithmExpr) {
	word, ok := x.(*syntax.Word)
	if !ok {
		return
	}
	start, end := w.text.node(word)
	at := w.text.span(start, end)
	if pe, ok := word.Parts[0].(*syntax.ParamExp); ok && !pe.Dollar.IsValid() && pe.Param != nil {
		w.implies(pe.Param.Value, at)
		return
	}
	name := w.single(word)
	if !name.Known {
		w.out.gap(DynamicCode, "arithmetic sets a variable that is known only at run time", at)
		w.forget("may be set by arithmetic")
		return
	}
	w.implies(name.Text, at)
}

// implies notes that a variable is set without an assignment.
func (w *walker) implies(name string, at Span) {
	if i := strings.IndexByte(name, '['); i > 0 {
		name = name[:i]
	}
	if !validName(name) {
		return
	}
	w.env.set(name, variable{why: "arithmetic"})
	if it := (Implied{name, at}); !slices.Contains(w.out.Implied[max(0, len(w.out.Implied)-8):], it) {
		w.out.Implied = append(w.out.Implied, it)
	}
}

// sets reports whether text that is evaluated as arithmetic may assign: it has `=`, not as a part of a
// comparison, or `++` or `--`.
func sets(s string) bool {
	for i := range len(s) {
		switch s[i] {
		case '=':
			before, after := byte(0), byte(0)
			if i > 0 {
				before = s[i-1]
			}
			if i+1 < len(s) {
				after = s[i+1]
			}
			shift := i > 1 && (before == '<' || before == '>') && s[i-2] == before // <<= and >>=
			comparison := after == '=' || before == '=' || before == '!'
			if !comparison && (before != '<' && before != '>' || shift) {
				return true
			}
		case '+', '-':
			if i > 0 && s[i-1] == s[i] {
				return true
			}
		}
	}
	return false
}

// arithWord walks an operand: its substitutions, then its value.
func (w *walker) arithWord(sw *syntax.Word) {
	for _, p := range sw.Parts {
		if pe, ok := p.(*syntax.ParamExp); ok && !pe.Dollar.IsValid() {
			w.arith(pe.Index) // a[i]
			if pe.Param != nil {
				w.evalArith(pe.Param.Value, sw)
			}
			continue
		}
		w.arithPart(p, sw)
	}
}

func (w *walker) arithPart(p syntax.WordPart, sw *syntax.Word) {
	switch p := p.(type) {
	case *syntax.Lit:
		w.evalArith(unescapeDouble(p.Value, "\""), sw)
	case *syntax.SglQuoted:
		w.evalArith(p.Value, sw)
	case *syntax.DblQuoted:
		for _, q := range p.Parts {
			w.arithPart(q, sw)
		}
	default:
		start, end := w.text.node(sw)
		b := w.builder(nil, start, end)
		b.whole = true
		b.expansion(p, true)
		val := b.one()
		if _, ok := p.(*syntax.ArithmExp); !ok { // that is a number
			w.evalArithWord(val)
		}
	}
}

func (w *walker) evalArithWord(val Word) {
	if val.Known {
		w.evalArithAt(val.Text, val.Span, 0)
	} else {
		w.vague = true
	}
}

func (w *walker) evalArith(s string, n syntax.Node) {
	if strings.Trim(s, "0123456789 \t") == "" {
		return
	}
	start, end := w.text.node(n)
	w.evalArithAt(s, w.text.span(start, end), 0)
}

// maxChain is how many variables that name each other are followed.
const maxChain = 8

// evalArithAt evaluates text as an expression: its substitutions run, and so do those in the
// values of the variables that it names.
func (w *walker) evalArithAt(s string, at Span, depth int) {
	if !w.step() {
		return
	}
	if strings.ContainsAny(s, "$`") {
		w.evalDocumentAt(s, InArith, at)
	}
	assigns := sets(s)
	for i := 0; i < len(s); {
		if !nameByte(s[i]) {
			i++
			continue
		}
		j := i
		for j < len(s) && nameByte(s[j]) {
			j++
		}
		name := s[i:j]
		i = j
		if name[0] <= '9' { // a number
			continue
		}
		w.evalVariable(name, at, depth)
		if assigns {
			w.implies(name, at)
		}
	}
}

func (w *walker) evalVariable(name string, at Span, depth int) {
	v := w.env.get(name)
	if v.state == varArray {
		v = first(v)
	}
	switch {
	case v.state == varUnset:
	case v.state != varKnown:
		w.vague = true
	case strings.Trim(v.text, "0123456789 \t") == "":
	case depth >= maxChain:
		w.out.gap(DynamicCode, "arithmetic on variables that name each other", at)
	default:
		w.evalArithAt(v.text, at, depth+1)
	}
}

func nameByte(c byte) bool {
	return c == '_' || '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'z'
}

// let walks the let builtin, which the parser reads apart.
func (w *walker) let(s *syntax.Stmt, c *syntax.LetClause) {
	at := w.emit(s)
	w.constructOf(Let, c)
	start := int(c.Let.Offset())
	words := append(make([]Word, 0, len(c.Exprs)+1), w.literal(w.text.clamp(start, start+len("let"))))
	for _, x := range c.Exprs {
		w.arith(x)
		from, to := w.text.node(x)
		words = append(words, Word{Why: "arithmetic", Raw: w.text.orig[from:to], Span: w.text.span(from, to)})
	}
	w.out.Commands[at].Words = words
	if len(s.Redirs) > 0 {
		w.redirects(at, s.Redirs)
	}
	if f, ok := w.env.vars["f:let"]; ok && len(f.fns) > 0 {
		w.invoke(at, "let", variable{fns: f.fns})
	}
}

// test walks [[ ]].
func (w *walker) test(x syntax.TestExpr) {
	for x != nil && w.step() {
		switch e := x.(type) {
		case *syntax.BinaryTest:
			w.binaryTest(e)
		case *syntax.UnaryTest:
			word, ok := e.X.(*syntax.Word)
			if !ok {
				x = e.X
				continue
			}
			val := w.single(word)
			if e.Op == syntax.TsVarSet || e.Op == syntax.TsRefVar {
				w.evalName(val)
			}
		case *syntax.ParenTest:
			x = e.X
			continue
		case *syntax.Word:
			w.single(e)
		}
		return
	}
}

func (w *walker) binaryTest(e *syntax.BinaryTest) {
	x, okX := e.X.(*syntax.Word)
	y, okY := e.Y.(*syntax.Word)
	if !okX || !okY {
		w.test(e.X)
		w.test(e.Y)
		return
	}
	a, b := w.single(x), w.single(y)
	switch e.Op {
	case syntax.TsEql, syntax.TsNeq, syntax.TsLeq, syntax.TsGeq, syntax.TsLss, syntax.TsGtr:
		w.evalArithWord(a)
		w.evalArithWord(b)
	}
}
