package shell

import (
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// names marks the variables that a builtin reads into as unknown. takes lists the options
// that have an argument of their own.
func (w *walker) names(args []Word, takes, by string) {
	skip := false
	for i := range args {
		a := &args[i]
		w.evalName(*a)
		if skip {
			skip = false
			if i > 0 && strings.HasSuffix(args[i-1].Text, "a") {
				w.unknownVar(a.Text, by)
			}
			continue
		}
		if a.Known && len(a.Text) > 1 && a.Text[0] == '-' {
			skip = strings.IndexByte(takes, a.Text[len(a.Text)-1]) >= 0
			continue
		}
		if !a.Known {
			w.forget("may be set by " + by)
			continue
		}
		w.unknownVar(a.Text, by)
	}
}

func (w *walker) unknownVar(name, by string) {
	if i := strings.IndexByte(name, '['); i > 0 {
		name = name[:i]
	}
	if validName(name) {
		w.env.set(name, variable{why: by})
	}
}

// option follows `printf -v name`, `wait -p name`, `test -v name`.
func (w *walker) option(args []Word, options ...string) {
	for i := range args {
		for _, o := range options {
			t := args[i].Text
			switch {
			case t == o && i+1 < len(args):
				w.evalName(args[i+1])
				w.unknownVar(args[i+1].Text, "a builtin")
				w.printsInto(args[i+1].Text, args[i+2:])
			case strings.HasPrefix(t, o) && len(t) > len(o):
				w.evalName(Word{Text: t[len(o):], Known: args[i].Known, Span: args[i].Span})
				w.unknownVar(t[len(o):], "a builtin")
			}
		}
	}
}

// evalName evaluates the subscript of a variable name that is given as text.
func (w *walker) evalName(a Word) {
	if !a.Known || strings.IndexByte(a.Text, '[') >= 0 {
		w.evalArithWord(a)
	}
}

func (w *walker) unset(args []Word) {
	flags, rest := splitFlags(args)
	for _, a := range rest {
		w.evalName(a)
		if !a.Known {
			w.forget("may be unset")
			continue
		}
		if !strings.Contains(flags, "v") {
			if f, ok := w.env.vars["f:"+a.Text]; ok {
				if strings.Contains(flags, "f") {
					w.env.set("f:"+a.Text, variable{state: varUnset})
				} else {
					w.env.set("f:"+a.Text, variable{fns: f.fns})
				}
			}
		}
		if !strings.Contains(flags, "f") && validName(a.Text) {
			w.env.set(a.Text, variable{state: varUnset})
		}
	}
}

// setOptions follows set: options, and new arguments.
func (w *walker) setOptions(args []Word) {
	for i := 0; i < len(args); i++ {
		t := args[i].Text
		flag := len(t) > 1 && (t[0] == '-' || t[0] == '+')
		switch {
		case !args[i].Known:
			w.env.set("@", variable{why: "set"})
			w.keywords = w.keywords || args[i].Split || t == "" || t[0] == '-'
			return
		case t == "--" || t == "-":
			w.env.set("@", argList(args[i+1:]))
			return
		case !flag:
			w.env.set("@", argList(args[i:]))
			return
		case strings.Trim(t[1:], "abefhkmnptuvxBCEHPTo") != "":
			w.env.set("@", variable{why: "set with an unknown option"})
			return
		}
		w.setLetters(t)
		if strings.HasSuffix(t, "o") {
			if i++; i < len(args) {
				w.setNamed(t, args[i])
			}
		}
	}
}

// setLetters follows `set -ek`.
func (w *walker) setLetters(t string) {
	if strings.Contains(t, "e") {
		w.errexit = t[0] == '-'
	}
	w.keywords = w.keywords || t[0] == '-' && strings.Contains(t, "k")
}

// setNamed follows `set -o errexit`, and `+o`; t is the word with the o.
func (w *walker) setNamed(t string, name Word) {
	if name.Text == "errexit" {
		w.errexit = t[0] == '-'
	}
	w.keywords = w.keywords || t[0] == '-' && (name.Text == "keyword" || !name.Known)
}

func (w *walker) shift(args []Word) {
	n := 1
	if len(args) > 0 {
		var err error
		if n, err = strconv.Atoi(args[0].Text); err != nil || !args[0].Known {
			n = -1
		}
	}
	v := w.env.get("@")
	if v.state != varArray || n < 0 || n > len(v.elems) {
		w.env.set("@", variable{why: "shift"})
		return
	}
	v.elems = v.elems[n:]
	w.env.set("@", v)
}

// declaration walks export, declare, local and their like, which the parser reads apart. All their
// words are expanded before the first of them is assigned: in `A=rm; declare A=echo B=$A` B is rm.
func (w *walker) declaration(s *syntax.Stmt, c *syntax.DeclClause) {
	at := w.emit(s)
	w.constructOf(Declaration, c)
	start, end := w.text.node(c.Variant)
	words := append(make([]Word, 0, len(c.Args)+1), w.literal(start, end))
	var assigns []Assign
	items := make([]declItem, 0, len(c.Args))
	for _, a := range c.Args {
		if !w.step() {
			break
		}
		it := declItem{arg: a, from: len(words)}
		if a.Name == nil {
			words = w.fields(words, a.Value)
		} else {
			it.as, it.value = w.assignment(a)
			if w.hasBraces(a.Value) { // expanded here, unlike in a plain assignment
				it.as.Value.Known, it.as.Value.Why = false, "braces"
				it.value = variable{why: "braces"}
			}
			words = append(words, w.declWord(a, it.as))
			if !a.Naked {
				assigns = append(assigns, it.as)
			}
		}
		it.to = len(words)
		items = append(items, it)
	}
	w.out.Commands[at].Words, w.out.Commands[at].Assigns = words, assigns
	w.exportsFunctions(c.Variant.Value, words[1:])
	flags := ""
	for i := range items {
		it := &items[i]
		if it.arg.Name != nil {
			w.declare(c.Variant.Value, flags, it)
			continue
		}
		for _, x := range words[it.from:it.to] {
			flags += declFlags(x)
			w.declareWord(c.Variant.Value, flags, x)
		}
	}
	if len(s.Redirs) > 0 {
		w.redirects(at, s.Redirs)
	}
	if f, ok := w.env.vars["f:"+c.Variant.Value]; ok && len(f.fns) > 0 {
		w.invoke(at, c.Variant.Value, variable{fns: f.fns})
	}
}

// declItem is an argument of a declaration after its expansion: an assignment, or the words from..to.
type declItem struct {
	arg      *syntax.Assign
	as       Assign
	value    variable
	from, to int
}

// declare carries out an assignment of a declaration.
func (w *walker) declare(variant, flags string, it *declItem) {
	name := it.arg.Name.Value
	w.declared(variant, flags, name)
	if it.arg.Naked {
		if len(w.frames) > 0 && variant == "local" {
			w.env.set(name, variable{state: varUnset, calc: strings.Contains(flags, "i")})
		}
		return
	}
	w.promptVariable(it.as, it.arg)
	if variant != "local" || len(w.frames) > 0 { // an error outside a function
		w.store(it.arg, it.as, w.filtered(flags, it.value))
	}
}

// isReference reports whether a declaration makes a name stand for another.
func isReference(variant, flags string) bool {
	return strings.Contains(flags, "n") && variant != "export" && variant != "readonly" || variant == "nameref"
}

// declWord is an assignment as the word that the builtin gets.
func (w *walker) declWord(a *syntax.Assign, as Assign) Word {
	start, end := w.text.node(a)
	x := Word{Raw: w.text.orig[start:end], Span: as.Span, Known: as.Value.Known, Why: as.Value.Why, Tilde: as.Value.Tilde}
	x.Text = as.Name
	if a.Naked {
		x.Known, x.Why = true, ""
		return x
	}
	if a.Append {
		x.Text += "+"
	}
	x.Text += "=" + as.Value.Text
	return x
}

func declFlags(x Word) string {
	if x.Known && len(x.Text) > 1 && x.Text[0] == '-' {
		return x.Text[1:]
	}
	return ""
}

// declared follows the attributes that a declaration gives to a name.
func (w *walker) declared(variant, flags, name string) {
	if variant == "local" || variant == "declare" || variant == "typeset" {
		if !strings.Contains(flags, "g") {
			w.local(name)
		}
	}
	if isReference(variant, flags) {
		w.lostNames()
	}
	if strings.Contains(flags, "i") || variant == "integer" {
		w.env.set(name, variable{why: "arithmetic", calc: true})
		w.vague = true // read, printf -v, for and defaults calculate its values
	}
}

// lostNames gives up on variables: a name may now stand for another.
func (w *walker) lostNames() {
	w.forget("a reference to another name")
	w.env.refs = true
}

// filtered returns a value as the flags of its declaration change it.
func (w *walker) filtered(flags string, v variable) variable {
	if strings.ContainsAny(flags, "luc") || (strings.ContainsAny(flags, "A") && v.state == varArray) {
		return variable{why: "changed by its declaration"}
	}
	return v
}

// declareWords is declaration for a builtin that was called as a plain command.
func (w *walker) declareWords(variant string, args []Word) {
	flags := ""
	for _, a := range args {
		flags += declFlags(a)
		w.declareWord(variant, flags, a)
	}
}

// declareWord follows an argument of a declaration that was given as text.
func (w *walker) declareWord(variant, flags string, a Word) {
	if declFlags(a) != "" {
		if isReference(variant, flags) {
			w.lostNames()
		}
		return
	}
	w.evalName(a)
	name, value, ok := strings.Cut(a.Text, "=")
	name = strings.TrimSuffix(name, "+")
	switch {
	case !ok && !a.Known:
		w.forget("may be set by " + variant)
	case strings.Contains(name, "["):
		w.unknownVar(name, "array")
	case validName(name):
		w.declared(variant, flags, name)
		if ok {
			val := Word{Text: value, Known: a.Known && !strings.HasSuffix(a.Text[:len(a.Text)-len(value)-1], "+"), Why: "declared", Tilde: a.Tilde, Span: a.Span}
			if strings.HasPrefix(value, "(") || strings.ContainsAny(flags, "luc") {
				val.Known = false
			}
			w.assign(name, val, strings.Contains(flags, "i"))
			if strings.Contains(flags, "i") {
				w.evalArithWord(val)
			}
		}
	}
}
