package effect

import "strings"

const (
	jsKeywords  = " break case catch const continue default delete do else false finally for function if in instanceof let new null of return switch throw true try typeof var void while "
	jsBeforeOps = " case delete do else in instanceof new of return throw typeof void " // a slash behind them begins a regular expression
)

// lexJavaScript cuts JavaScript into tokens; the expressions of its templates are lists of their own.
func (r *codeReader) lexJavaScript(text string) bool {
	if strings.Contains(text, "<!--") || strings.Contains(text, "-->") || strings.Contains(text, "#!") {
		return false // comments of their own kind
	}
	var out []codeToken
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
		case ch == '/' && !divides(out):
			n := regexpLength(rest)
			if n == 0 {
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
			out = append(out, codeToken{kind: 'n', text: text[start:i]})
		default:
			n := jsOperator(rest)
			if n == 0 {
				return false
			}
			op := rest[:n]
			if op == "?." {
				if n < len(rest) && (rest[n] == '(' || rest[n] == '[') {
					return false
				}
				op = "."
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

// divides reports whether a slash behind the tokens is a division.
func divides(t []codeToken) bool {
	last := tokenAt(t, len(t)-1)
	switch last.kind {
	case '0', 's':
		return true
	case 'n':
		return !strings.Contains(jsBeforeOps, " "+last.text+" ")
	}
	return last.is("]") || last.is(")") && !condition(t)
}

// condition reports whether the bracket that ends the tokens closes that of `if (x)`, behind which an expression begins.
func condition(t []codeToken) bool {
	depth := 0
	for i := len(t) - 1; i >= 0; i-- {
		switch {
		case t[i].is(")"):
			depth++
		case t[i].is("("):
			if depth--; depth == 0 {
				before := tokenAt(t, i-1)
				return before.is("if") || before.is("while") || before.is("for") || before.is("with") || before.is("await")
			}
		}
	}
	return true
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
		for i := max(from, 0); i < to && i < len(t); i++ {
			if t[i].kind == 'n' && !strings.Contains(jsKeywords, " "+t[i].text+" ") {
				r.bound[t[i].text] = true
			}
		}
	}
	for i := range t {
		switch next := tokenAt(t, i+1); {
		case t[i].is("const") || t[i].is("let") || t[i].is("var"):
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
			r.arrow(t, i, bind)
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
		}
	}
	bind(start, i)
	if name := tokenAt(t, start-2); tokenAt(t, start-1).is("=") && name.kind == 'n' && !tokenAt(t, start-3).is(".") {
		r.calls[name.text] = true
	}
}

// judgeJavaScript looks at every name that is used, and at every call.
func (r *codeReader) judgeJavaScript(t []codeToken) bool {
	var open []string
	for i := 0; i < len(t); i++ {
		before, next := tokenAt(t, i-1), tokenAt(t, i+1)
		value := before.kind == 'n' && !strings.Contains(jsKeywords, " "+before.text+" ") || before.kind == 's' || before.kind == '0' || before.is(")") || before.is("]") || before.is("}")
		switch {
		case t[i].kind == 's':
			if next.is(":") && (!t[i].plain || r.refused(t[i].text)) { // a key
				return false
			}
		case t[i].is("["):
			if value && !r.literalIndex(t, i) || before.is("{") || before.is(",") && len(open) > 0 && open[len(open)-1] == "{" {
				return false
			}
			open = append(open, "[")
		case t[i].is("("):
			if before.is(")") || before.is("]") || before.is("}") || before.kind == 's' {
				return false // what is called is not plain
			}
			open = append(open, "(")
		case t[i].is("{"):
			open = append(open, "{")
		case t[i].is(")") || t[i].is("]") || t[i].is("}"):
			if len(open) > 0 {
				open = open[:len(open)-1]
			}
		case t[i].kind != 'n' || strings.Contains(jsKeywords, " "+t[i].text+" "):
		case r.refused(t[i].text):
			return false
		case next.is(":") && (before.is("{") || before.is(",")): // a key
		case before.is("."):
			if _, ok := r.lang.methods[t[i].text]; next.is("(") && !ok {
				return false
			}
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
		return end, ok && (how == "" || r.takes(t, end, how))
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
	case data && strings.HasPrefix(module, "."):
		r.uses = append(r.uses, codeUse{"read", module})
	case r.lang.modules[module] == nil && !data:
		r.uses = append(r.uses, codeUse{"module", module})
	}
	switch next := tokenAt(t, end+1); {
	case data, bound && r.modules[tokenAt(t, i-2).text] == module:
		return end, true
	case next.is("."):
		at, how, ok := r.member(t, end, module)
		return at, ok && (how == "" || r.takes(t, at, how))
	case next.kind == '\n' || next.is(";"):
		return end, i == 0 || t[i-1].is(";") // only loaded
	}
	return 0, false
}
