package shell

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// param adds a parameter expansion.
func (b *builder) param(p *syntax.ParamExp, quoted bool) {
	w := b.w
	if p.Short {
		w.constructOf(SimpleParam, p)
	} else {
		w.constructOf(BraceParam, p)
	}
	if p.Param == nil {
		b.unknown("a nested expansion", quoted)
		return
	}
	name := p.Param.Value
	if quoted {
		w.quotedDefault(p)
	}
	if list, ok := w.listParam(p); ok {
		b.list(list, name, p, quoted)
		return
	}
	v := w.env.get(name)
	if name[0] >= '1' && name[0] <= '9' {
		v = argument(w.env.get("@"), name)
	}
	if p.Index != nil {
		w.arith(p.Index)
		v = element(v, p.Index)
	} else if v.state == varArray {
		v = first(v)
	}
	switch {
	case p.Excl:
		b.indirect(v, p, quoted)
	case p.Length || p.Width || p.IsSet || p.Names != 0:
		b.unknown("a property of variable "+name, quoted)
	case p.Slice != nil:
		w.slice(p.Slice)
		b.shaped("part of variable "+name, changed(v, p), quoted)
	case p.Repl != nil:
		w.aside(p.Repl.Orig)
		w.aside(p.Repl.With)
		b.shaped("variable "+name+", changed", changed(v, p), quoted)
	case p.Exp != nil:
		b.operator(name, v, p, quoted)
	default:
		b.plain(name, v, quoted)
	}
}

// quotedDefault refuses "${x:-'...'}": the parser takes the single quotes for quotes, bash
// for characters, so that the string and the expansion end in different places.
func (w *walker) quotedDefault(p *syntax.ParamExp) {
	if p.Exp == nil || p.Exp.Word == nil {
		return
	}
	switch p.Exp.Op {
	case syntax.AlternateUnset, syntax.AlternateUnsetOrNull, syntax.DefaultUnset, syntax.DefaultUnsetOrNull,
		syntax.ErrorUnset, syntax.ErrorUnsetOrNull, syntax.AssignUnset, syntax.AssignUnsetOrNull:
		for _, part := range p.Exp.Word.Parts {
			if q, ok := part.(*syntax.SglQuoted); ok {
				w.gap(Syntax, "single quotes inside a quoted expansion", q)
			}
		}
	}
}

// aside walks a word for its substitutions only, and returns its shape.
func (w *walker) aside(sw *syntax.Word) (shape string) {
	if sw != nil {
		w.within(InCondition, func() { shape = shapeOf(w.single(sw)) })
	}
	return shape
}

// slice walks the numbers of ${x:1:2}, which count only if x is set.
func (w *walker) slice(p *syntax.Slice) {
	w.within(InCondition, func() {
		w.arith(p.Offset)
		w.arith(p.Length)
	})
}

// listParam returns the elements of $@, $*, ${a[@]} and ${a[*]}, if p is one.
func (w *walker) listParam(p *syntax.ParamExp) (variable, bool) {
	name := p.Param.Value
	if name == "@" || name == "*" {
		return w.env.get("@"), true
	}
	if word, ok := p.Index.(*syntax.Word); ok {
		if lit := word.Lit(); lit == "@" || lit == "*" {
			return w.env.get(name), true
		}
	}
	return variable{}, false
}

// list adds all elements of an array, or of the arguments.
func (b *builder) list(v variable, name string, p *syntax.ParamExp, quoted bool) {
	changed := p.Slice != nil || p.Repl != nil || p.Exp != nil
	simple := !changed && !p.Excl && !p.Length && p.Names == 0
	if !simple {
		b.properties(p)
	}
	star := name == "*" || (p.Index != nil && p.Index.(*syntax.Word).Lit() == "*")
	if v.state != varArray || !simple || (star && quoted) || b.whole {
		v.outside = v.outside && !changed
		b.ofVariable(&v, "list "+name, v.shape, false)
		return
	}
	for i, e := range v.elems {
		if i > 0 && b.has {
			b.end1()
		}
		b.has = b.has || quoted
		b.plain(name, elementOf(e), quoted)
	}
}

// properties walks the arguments of an operator for their substitutions.
func (b *builder) properties(p *syntax.ParamExp) {
	if p.Slice != nil {
		b.w.slice(p.Slice)
	}
	if p.Repl != nil {
		b.w.aside(p.Repl.Orig)
		b.w.aside(p.Repl.With)
	}
	if p.Exp != nil {
		b.w.aside(p.Exp.Word)
		b.prompt(variable{}, p)
	}
}

func elementOf(e Word) variable {
	if !e.Known {
		return variable{why: e.Why, shape: e.Shape(), outside: wholly(e)}
	}
	return variable{state: varKnown, text: e.Text, tilde: e.Tilde, glob: e.Glob}
}

func first(v variable) variable {
	if len(v.elems) == 0 {
		return variable{state: varUnset}
	}
	return elementOf(v.elems[0])
}

// element returns ${v[i]} for a literal i.
func element(v variable, index syntax.ArithmExpr) variable {
	word, ok := index.(*syntax.Word)
	if !ok || v.state != varArray {
		return variable{}
	}
	return nth(v, word.Lit())
}

// argument returns $1, $2, ...
func argument(v variable, name string) variable {
	if v.state != varArray {
		return variable{shape: v.shape, outside: v.outside}
	}
	v.elems = append([]Word{{}}, v.elems...) // $0 is none of them
	if n := len(v.elems); name != "0" && len(name) < 3 && atoi(name) >= n {
		return variable{state: varUnset}
	}
	return nth(v, name)
}

func atoi(s string) int {
	n := 0
	for i := 0; i < len(s) && s[i] >= '0' && s[i] <= '9'; i++ {
		n = n*10 + int(s[i]-'0')
	}
	return n
}

// nth returns the element with a literal index.
func nth(v variable, lit string) variable {
	if lit == "" || len(lit) > 3 || strings.Trim(lit, "0123456789") != "" || (lit[0] == '0' && len(lit) > 1) {
		return variable{}
	}
	n := atoi(lit)
	if n >= len(v.elems) {
		return variable{}
	}
	return elementOf(v.elems[n])
}

// plain adds the value of a variable.
func (b *builder) plain(name string, v variable, quoted bool) {
	switch v.state {
	case varUnset:
	case varKnown:
		if v.tilde && len(b.buf) > 0 {
			b.unknown("a home directory in variable "+name, quoted)
			return
		}
		b.f.Tilde = b.f.Tilde || v.tilde && !b.frozen
		if v.glob { // one of the files that match: quoted it is one word, unquoted it may be split
			if !quoted && !b.whole {
				b.shaped(whyName+name, v.text, false)
				return
			}
			b.f.Glob = true
		}
		b.splice(v.text, quoted)
	default:
		why := "variable " + name
		if strings.HasPrefix(v.why, LineOf) || onePrinted(v) {
			why = v.why
		} else if v.why != "" && len(v.why) < maxWhy && !strings.Contains(v.why, name) {
			why += ", " + v.why
		}
		if name == "PWD" && v.shape == "" {
			v.shape = here
		}
		b.ofVariable(&v, why, v.shape, quoted)
	}
}

// splice adds a known value; unquoted it is split at blanks and may be a pattern.
func (b *builder) splice(s string, quoted bool) {
	if quoted || b.whole {
		if s != "" || quoted {
			b.add(s)
		}
		return
	}
	if ifs := b.w.env.get("IFS"); ifs.state != varKnown || ifs.text != " \t\n" {
		if ifs.state != varUnset {
			b.unknown("splitting at a changed IFS", false)
			return
		}
	}
	for s != "" {
		i := strings.IndexAny(s, " \t\n")
		if i == 0 {
			if b.has {
				b.end1()
			}
			s = strings.TrimLeft(s, " \t\n")
			continue
		}
		if i < 0 {
			i = len(s)
		}
		if hasGlob(s[:i], false) || (strings.ContainsAny(s[:i], "[]*?") && strings.Contains(s[:i], "\\")) {
			b.f.Glob = true
		}
		b.add(s[:i])
		s = s[i:]
	}
}

// operator adds ${x:-word} and its relatives.
func (b *builder) operator(name string, v variable, p *syntax.ParamExp, quoted bool) {
	empty := v.state == varUnset || (v.state == varKnown && v.text == "")
	unset := v.state == varUnset
	known := v.state == varKnown || unset
	colon := empty
	switch p.Exp.Op {
	case syntax.DefaultUnset, syntax.AssignUnset, syntax.ErrorUnset, syntax.AlternateUnset:
		colon = unset
	}
	switch p.Exp.Op {
	case syntax.DefaultUnset, syntax.DefaultUnsetOrNull, syntax.AssignUnset, syntax.AssignUnsetOrNull,
		syntax.ErrorUnset, syntax.ErrorUnsetOrNull:
		b.fallback(name, v, known, colon, p, quoted)
	case syntax.AlternateUnset, syntax.AlternateUnsetOrNull:
		switch {
		case known && colon:
			b.w.aside(p.Exp.Word)
		case known:
			b.inner(p.Exp.Word, quoted)
		default:
			b.shaped("variable "+name, Unknown+b.w.aside(p.Exp.Word), quoted)
		}
	default:
		b.w.aside(p.Exp.Word)
		b.prompt(v, p)
		if v.state == varKnown && v.glob && !v.tilde {
			if rest, ok := changedName(v.text, p); ok && rest != "" {
				b.plain(name, variable{state: varKnown, text: rest, glob: hasGlob(rest, false)}, quoted)
				return
			}
		}
		v.outside = v.outside && !isUsual(name) // `${TERM#xterm}` is `-256color`
		b.ofVariable(&v, "variable "+name+", changed", changed(v, p), quoted)
	}
}

// fallback adds ${x-w}, ${x=w} and ${x?w}.
func (b *builder) fallback(name string, v variable, known, missing bool, p *syntax.ParamExp, quoted bool) {
	op := p.Exp.Op
	assigns := op == syntax.AssignUnset || op == syntax.AssignUnsetOrNull
	switch {
	case known && !missing:
		b.w.aside(p.Exp.Word)
		b.plain(name, v, quoted)
	case known && !assigns && op != syntax.ErrorUnset && op != syntax.ErrorUnsetOrNull:
		b.inner(p.Exp.Word, quoted)
	case known && assigns:
		val := Word{Known: true}
		if p.Exp.Word != nil {
			val = b.w.single(p.Exp.Word)
		}
		b.w.assign(name, val, false)
		b.w.note(name, p)
		b.plain(name, b.w.env.get(name), quoted)
	default:
		shape := Unknown + b.w.aside(p.Exp.Word)
		if op == syntax.ErrorUnset || op == syntax.ErrorUnsetOrNull {
			shape = Unknown
		}
		if assigns {
			b.w.env.set(name, variable{why: "or a default", shape: shape})
			b.w.note(name, p)
		}
		b.shaped("variable "+name, shape, quoted)
	}
}

// inner adds the word of ${x:-word}.
func (b *builder) inner(sw *syntax.Word, quoted bool) {
	if sw == nil {
		return
	}
	if !quoted {
		b.innerParts(sw.Parts)
		return
	}
	old := b.braced
	b.braced = true
	for _, p := range sw.Parts {
		b.quotedPart(p)
	}
	b.braced = old
}

// innerParts adds an unquoted default, whose blanks split it.
func (b *builder) innerParts(list []syntax.WordPart) {
	for i, p := range list {
		lit, ok := p.(*syntax.Lit)
		switch {
		case !ok:
			b.parts([]syntax.WordPart{p})
		case !strings.ContainsAny(lit.Value, " \t\n"):
			b.lit(lit.Value, i == 0, i == len(list)-1)
		case strings.Contains(lit.Value, "\\"):
			b.unknown("a default of several words", false)
		default:
			b.splice(lit.Value, false)
		}
	}
}

// indirect adds ${!x}.
func (b *builder) indirect(v variable, p *syntax.ParamExp, quoted bool) {
	b.properties(p)
	if p.Exp != nil && (p.Exp.Op == syntax.AssignUnset || p.Exp.Op == syntax.AssignUnsetOrNull) {
		if v.state == varKnown {
			b.w.note(v.text, p)
		} else {
			b.w.gap(DynamicCode, "a variable is set that is known only at run time", p)
			b.w.forget("may be set by an expansion")
		}
	}
	if v.state == varKnown {
		b.w.evalArith(v.text, p)
		if syntax.ValidName(v.text) && p.Exp == nil && p.Slice == nil && p.Repl == nil && p.Names == 0 {
			b.plain(v.text, b.w.env.get(v.text), quoted)
			return
		}
	} else {
		b.w.vague = true
	}
	b.unknown("an indirect variable", quoted)
}

// note records a variable that an expansion, a loop or a coproc sets.
func (w *walker) note(name string, n syntax.Node) {
	if validName(name) {
		start, end := w.text.node(n)
		w.out.Implied = append(w.out.Implied, Implied{name, w.text.span(start, end)})
	}
}

// prompt follows ${x@P}, which runs the substitutions in the value.
func (b *builder) prompt(v variable, p *syntax.ParamExp) {
	if p.Exp == nil || p.Exp.Op != syntax.OtherParamOps || p.Exp.Word.Lit() != "P" {
		return
	}
	if v.state == varKnown {
		b.w.evalDocument(v.text, InEval, p)
		return
	}
	b.w.gap(DynamicCode, "a prompt string that is expanded", p)
}
