package effect

import "strings"

const (
	jsKeywords  = " break case catch const continue default delete do else false finally for function if in instanceof let new null of return switch throw true try typeof var void while "
	jsValues    = " false null true "                                                         // of these, those that are values
	jsOperators = " ( [ { , ; : ? = ! + - * % < & | ^ ~ => == === != !== <= >= && || ?? ... " // a slash behind them begins a regular expression
)

// lexJavaScript cuts JavaScript into tokens; the expressions of its templates are lists of their own.
func (r *codeReader) lexJavaScript(text string) bool {
	if strings.Contains(text, "<!--") || strings.Contains(text, "-->") || strings.Contains(text, "#!") {
		return false // comments of their own kind
	}
	var out []codeToken
	var open []int
	opened := -1 // the bracket that the last one that closes belongs to
	for i := 0; i < len(text); {
		ch := text[i]
		rest := text[i:]
		switch {
		case ch == ' ' || ch == '\t' || ch == '\n':
			i++
		case strings.HasPrefix(rest, "//"):
			if n := strings.IndexByte(rest, '\n'); n >= 0 {
				i += n
			} else {
				i = len(text)
			}
		case strings.HasPrefix(rest, "/*"):
			n := strings.Index(rest[2:], "*/")
			if n < 0 {
				return false
			}
			i += n + 4
		case ch == '/' && !divides(out, opened):
			n := regexpLength(rest)
			if n == 0 || !beginsRegexp(out) {
				return false
			}
			out, i = append(out, codeToken{kind: 's'}), i+n
		case ch >= '0' && ch <= '9':
			n := codeNumber(rest)
			if n == 0 {
				return false
			}
			out, i = append(out, codeToken{kind: '0', text: rest[:n]}), i+n
		case ch == '"' || ch == '\'' || ch == '`':
			tok, n := r.jsString(rest)
			if n == 0 {
				return false
			}
			out, i = append(out, tok), i+n
		case isWordByte(ch) || ch == '$':
			start := i
			for i < len(text) && (isWordByte(text[i]) || text[i] == '$') {
				i++
			}
			if !plainWord(text[start:i]) {
				return false
			}
			out = append(out, codeToken{kind: 'n', text: text[start:i]})
		default:
			n := jsOperator(rest)
			if n == 0 {
				return false
			}
			op := rest[:n]
			switch op {
			case "?.":
				op = "."
			case "(", "[", "{":
				open = append(open, len(out))
			case ")", "]", "}":
				if len(open) == 0 {
					return false
				}
				opened, open = open[len(open)-1], open[:len(open)-1]
			}
			out, i = append(out, codeToken{kind: 'o', text: op}), i+n
		}
	}
	return r.add(out)
}

// jsOperator returns the length of the operator at the beginning of text.
func jsOperator(text string) int {
	for _, op := range [...]string{"...", "===", "!==", "=>", "==", "!=", "<=", ">=", "?.", "&&", "||", "??", "++", "--"} {
		if strings.HasPrefix(text, op) && (op != "?." || len(text) < 3 || text[2] < '0' || text[2] > '9') {
			return len(op)
		}
	}
	if strings.IndexByte("()[]{}.,;:=+-*/%<>&|^~!?", text[0]) >= 0 {
		return 1
	}
	return 0
}

// isValue reports whether the token at i ends a value, so that a bracket behind it is an index or
// a call, and an operator one between two values. `x.in` is one, `in` is not.
func isValue(t []codeToken, i int) bool {
	last := tokenAt(t, i)
	switch last.kind {
	case '0', 's':
		return true
	case 'n':
		return tokenAt(t, i-1).is(".") || !hasWord(jsKeywords, last.text, ' ') || hasWord(jsValues, last.text, ' ')
	}
	return last.is(")") || last.is("]") || last.is("}")
}

// divides reports whether a slash behind the tokens is a division; opened is the place of the
// bracket that the last one that closes belongs to.
func divides(t []codeToken, opened int) bool {
	last := tokenAt(t, len(t)-1)
	switch {
	case last.is(")"):
		switch tokenAt(t, opened-1).text {
		case "if", "while", "for", "with", "await": // `if (x) /a/.test(b)`
			return false
		}
	case last.is("}"): // of a value, or of a block
		return false
	}
	return isValue(t, len(t)-1)
}

// beginsRegexp reports whether a slash behind the tokens, which does not divide, can only begin a regular expression.
func beginsRegexp(t []codeToken) bool {
	last := tokenAt(t, len(t)-1)
	return len(t) == 0 || last.is("return") || last.is("typeof") || last.kind == 'o' && hasWord(jsOperators, last.text, ' ')
}

// regexpLength returns the length of a regular expression, 0 if there is none, or if it could be something else.
func regexpLength(text string) int {
	class := false
	for i := 1; i < len(text) && text[i] != '\n'; i++ {
		switch ch := text[i]; {
		case ch == '\\':
			i++
		case ch == '"' || ch == '\'' || ch == '`':
			return 0
		case ch == '[':
			class = true
		case ch == ']':
			class = false
		case ch == '/' && !class:
			for i++; i < len(text) && isWordByte(text[i]); i++ {
			}
			return i
		}
	}
	return 0
}

// jsString reads the string or the template at the beginning of text.
func (r *codeReader) jsString(text string) (tok codeToken, n int) {
	quote := text[0]
	for n = 1; n < len(text) && text[n] != quote; n++ {
		switch {
		case text[n] == '\\':
			n++
		case text[n] == '\n' && quote != '`':
			return tok, 0
		case quote == '`' && strings.HasPrefix(text[n:], "${"):
			end := strings.IndexByte(text[n:], '}')
			if end < 0 || strings.ContainsAny(text[n+2:n+end], "{`'\"\\\n/") || !r.lexJavaScript(text[n+2:n+end]) {
				return tok, 0
			}
			n += end
		}
	}
	if n >= len(text) {
		return tok, 0
	}
	value := text[1:n]
	return codeToken{kind: 's', text: value, plain: !strings.ContainsAny(value, "\\$")}, n + 1
}

// bindJavaScript notes the names that the code gives to values, functions and modules.
func (r *codeReader) bindJavaScript(t []codeToken) bool {
	bind := func(from, to int) {
		for i := max(from, 0); i < to && i < len(t) && r.work <= maxCodeWork; i++ {
			r.work++
			if t[i].kind == 'n' && !hasWord(jsKeywords, t[i].text, ' ') {
				r.bound[t[i].text] = true
			}
		}
	}
	for i := range t {
		switch next := tokenAt(t, i+1); {
		case declares(t[i]):
			if next.is("{") || next.is("[") {
				bind(i+2, tokenAt(t, i+1).match)
			} else if module, ok := requires(t, i+3); ok && tokenAt(t, i+2).is("=") && !strings.HasSuffix(module, ".json") && !tokenAt(t, i+7).is(".") {
				if !r.module(next.text, module) {
					return false
				}
			} else {
				bind(i+1, i+2)
			}
		case t[i].is(",") && next.kind == 'n' && tokenAt(t, i+2).is("="): // `let a = 1, b = 2`
			bind(i+1, i+2)
		case t[i].is("function"):
			if next.kind == 'n' {
				r.bound[next.text], r.calls[next.text] = true, true
				i++
			}
			bind(i+2, tokenAt(t, i+1).match)
		case t[i].is("catch") && next.is("("):
			bind(i+2, i+3)
		case t[i].is("=>"):
			if r.arrow(t, i, bind); r.work > maxCodeWork {
				return false
			}
		}
	}
	return true
}

// requires returns the module of `require("x")` at a place.
func requires(t []codeToken, i int) (module string, ok bool) {
	name := tokenAt(t, i+2)
	ok = tokenAt(t, i).is("require") && tokenAt(t, i+1).is("(") && name.kind == 's' && name.plain && tokenAt(t, i+3).is(")")
	return strings.TrimPrefix(name.text, "node:"), ok
}

// arrow notes the parameters of the function whose arrow is at i, and its name: `const f = (a, b) =>`.
func (r *codeReader) arrow(t []codeToken, i int, bind func(from, to int)) {
	start := i - 1
	if tokenAt(t, start).is(")") {
		for start--; start >= 0 && t[start].match != i-1; start-- {
			r.work++
		}
	}
	bind(start, i)
	if name := tokenAt(t, start-2); tokenAt(t, start-1).is("=") && name.kind == 'n' && !tokenAt(t, start-3).is(".") {
		r.calls[name.text] = true
	}
}

// judgeJavaScript looks at every name that is used, and at every call.
func (r *codeReader) judgeJavaScript(t []codeToken) bool {
	var open []int
	for i := 0; i < len(t); i++ {
		before, next := tokenAt(t, i-1), tokenAt(t, i+1)
		switch {
		case t[i].kind == 's':
			if isValue(t, i-1) || next.is(":") && (!t[i].plain || r.refused(t[i].text)) { // `f`x``, or a key
				return false
			}
		case t[i].is("["):
			if isValue(t, i-1) && !r.literalIndex(t, i) || before.is(".") || before.is("{") || before.is(",") && len(open) > 0 && t[open[len(open)-1]].is("{") {
				return false
			}
			open = append(open, i)
		case t[i].is("("):
			// What is called is not plain: `x[0](1)`, `x?. (1)`, and in TypeScript `x<y>(1)`.
			if isValue(t, i-1) && before.kind != 'n' || before.is(".") || before.is(">") {
				return false
			}
			open = append(open, i)
		case t[i].is("{"):
			open = append(open, i)
		case t[i].is(")") || t[i].is("]") || t[i].is("}"):
			if len(open) == 0 || !t[i].is(")") && assigns(t, i) && !declares(tokenAt(t, open[len(open)-1]-1)) {
				return false // `[a.get] = [b.other]`
			}
			open = open[:len(open)-1]
		case t[i].is("!") && isValue(t, i-1), t[i].is("<") && (!isValue(t, i-1) || before.is("}")):
			return false // `x![y]` of TypeScript, `<a>'</a>` of JSX
		case t[i].kind != 'n':
		case r.refused(t[i].text):
			return false
		case before.is("."):
			_, ok := r.lang.methods[t[i].text]
			if next.is("(") && !ok || ok && assigns(t, i) {
				return false
			}
		case hasWord(jsKeywords, t[i].text, ' '):
			if !r.jsKeyword(t, i) {
				return false
			}
		case next.is(":") && (before.is("{") || before.is(",")): // a key
		default:
			end, ok := r.jsName(t, i)
			if !ok {
				return false
			}
			i = end
		}
	}
	return true
}

// declares reports whether a token begins a declaration.
func declares(t codeToken) bool { return t.is("const") || t.is("let") || t.is("var") }

// assigns reports whether what ends at i is given a value: `x =`, `x ||=`, `for (x of y)`.
func assigns(t []codeToken, i int) bool {
	next := tokenAt(t, i+1)
	return next.is("=") || next.is("of") || next.is("in") || next.kind == 'o' && tokenAt(t, i+2).is("=")
}

// jsKeyword judges a keyword: some of them are names too, as in `let of = 1`, and `new a.b` is a call.
func (r *codeReader) jsKeyword(t []codeToken, i int) bool {
	next := tokenAt(t, i+1)
	switch {
	case t[i].is("new"):
		return next.kind == 'n' && r.lang.names[next.text] == "call" && !tokenAt(t, i+2).is(".")
	case t[i].is("of"):
		return (isValue(t, i-1)) && !next.is("=") && !next.is("(") && !next.is(".")
	case declares(t[i]):
		return next.is("{") || next.is("[") || next.kind == 'n' && !hasWord(jsKeywords, next.text, ' ')
	}
	return true
}

// literalIndex reports whether what stands in brackets behind a value is a number, or a name in quotes.
func (r *codeReader) literalIndex(t []codeToken, i int) bool {
	index := tokenAt(t, i+1)
	return tokenAt(t, i+2).is("]") && (index.kind == '0' || index.kind == 's' && index.plain && !r.refused(index.text)) && !tokenAt(t, i+3).is("(")
}

// jsName judges a name that is no member, and returns the place of the last one that belongs to it.
func (r *codeReader) jsName(t []codeToken, i int) (end int, ok bool) {
	name, next := t[i].text, tokenAt(t, i+1)
	if name == "require" {
		return r.jsRequire(t, i)
	}
	module := r.modules[name]
	if module == "" && r.lang.modules[name] != nil && !r.bound[name] {
		module = name
	}
	how, known := r.lang.names[name]
	switch {
	case module != "" && next.is("."):
		end, how, ok = r.member(t, i, module)
		return end, ok && (how == "" || r.takes(t, end, how)) && (t[end].is("exitCode") || !assigns(t, end))
	case module != "" && tokenAt(t, i-1).kind == 'n' && next.is("="): // `const fs = require("fs")`
		return i, true
	case next.is("("):
		return i, known && how == "call" && !r.bound[name] || r.calls[name]
	}
	return i, r.modules[name] == "" && (known || r.bound[name])
}

// jsRequire judges `require("x")`, and what is asked of the module at once.
func (r *codeReader) jsRequire(t []codeToken, i int) (end int, ok bool) {
	module, ok := requires(t, i)
	if !ok {
		return 0, false
	}
	end = i + 3
	bound := tokenAt(t, i-1).is("=") && tokenAt(t, i-3).kind == 'n' && !tokenAt(t, i-3).is("=") // `const x = require("x")`
	data := strings.HasSuffix(module, ".json")
	switch {
	case data && (module[0] == '.' || module[0] == '/'):
		r.uses = append(r.uses, codeUse{"read", module})
	case data && (strings.Contains(module, "..") || strings.Contains(module, ":")):
		return 0, false
	case data:
		r.uses = append(r.uses, codeUse{"read", "node_modules/" + module})
	case r.lang.modules[module] == nil:
		r.uses = append(r.uses, codeUse{"module", module})
	case module != strings.ToLower(module): // JSON is no module of Node's: another one of that name is loaded
		return 0, false
	}
	switch next := tokenAt(t, end+1); {
	case data, bound && r.modules[tokenAt(t, i-2).text] == module:
		return end, true
	case next.is("."):
		at, how, ok := r.member(t, end, module)
		return at, ok && (how == "" || r.takes(t, at, how)) && !assigns(t, at)
	case next.kind == '\n' || next.is(";"):
		return end, i == 0 || t[i-1].is(";") // only loaded
	}
	return 0, false
}
