package effect

import "strings"

const pythonKeywords = " False None True and as assert break continue def del elif else except finally for from global if import in is lambda nonlocal not or pass raise return try while with yield "

// lexPython cuts Python into tokens; the expressions of its f-strings are lists of their own.
func (r *codeReader) lexPython(text string) bool {
	for i, line := range strings.SplitN(text, "\n", 3) {
		if i < 2 && strings.HasPrefix(strings.TrimSpace(line), "#") && strings.Contains(line, "coding") {
			return false // `# coding: utf-7` gives all of it another meaning
		}
	}
	var out []codeToken
	depth := 0
	for i := 0; i < len(text); {
		ch := text[i]
		switch {
		case ch == ' ' || ch == '\t':
			i++
		case ch == '\\' && i+1 < len(text) && text[i+1] == '\n':
			i += 2
		case ch == '\n':
			if depth == 0 {
				out = append(out, codeToken{kind: '\n'})
			}
			i++
		case ch == '#':
			if n := strings.IndexByte(text[i:], '\n'); n >= 0 {
				i += n
			} else {
				i = len(text)
			}
		case ch >= '0' && ch <= '9':
			n := codeNumber(text[i:])
			if n == 0 {
				return false
			}
			out, i = append(out, codeToken{kind: '0', text: text[i : i+n]}), i+n
		case ch == '"' || ch == '\'' || isWordByte(ch):
			start := i
			for i < len(text) && isWordByte(text[i]) {
				i++
			}
			word := text[start:i]
			if !plainWord(word) {
				return false
			}
			if i < len(text) && (text[i] == '"' || text[i] == '\'') && len(word) <= 2 {
				tok, n, ok := r.pythonString(strings.ToLower(word), text[i:])
				if !ok {
					return false
				}
				out, i = append(out, tok), i+n
				continue
			}
			out = append(out, codeToken{kind: 'n', text: word})
		case ch == ':' && i+1 < len(text) && text[i+1] == '=':
			out, i = append(out, codeToken{kind: 'o', text: ":="}), i+2
		case strings.IndexByte("=!<>", ch) >= 0 && i+1 < len(text) && text[i+1] == '=':
			out, i = append(out, codeToken{kind: 'o', text: "=="}), i+2
		case strings.IndexByte("()[]{}", ch) >= 0:
			if strings.IndexByte("([{", ch) >= 0 {
				depth++
			} else {
				depth--
			}
			out, i = append(out, codeToken{kind: 'o', text: text[i : i+1]}), i+1
		case strings.IndexByte(".,;:=+-*/%<>&|^~@!", ch) >= 0:
			out, i = append(out, codeToken{kind: 'o', text: text[i : i+1]}), i+1
		default:
			return false
		}
	}
	return r.add(out)
}

// pythonString reads the string at the beginning of text, n bytes, behind a prefix.
func (r *codeReader) pythonString(prefix, text string) (tok codeToken, n int, ok bool) {
	quote := text[:1]
	if strings.HasPrefix(text, strings.Repeat(quote, 3)) {
		quote = text[:3]
	}
	for n = len(quote); !strings.HasPrefix(text[n:], quote); n++ {
		if n < len(text) && text[n] == '\\' {
			n++
		}
		if n >= len(text) || text[n] == '\n' && len(quote) == 1 {
			return tok, 0, false
		}
	}
	value := text[len(quote):n]
	tok = codeToken{kind: 's', text: value, plain: prefix == "" && !strings.Contains(value, `\`)}
	if strings.ContainsAny(prefix, "ft") && !r.pythonFormat(value) || strings.Trim(prefix, "frbut") != "" {
		return tok, 0, false
	}
	return tok, n + len(quote), true
}

// pythonFormat reads the expressions of an f-string.
func (r *codeReader) pythonFormat(s string) bool {
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '\\' && (i+1 == len(s) || strings.IndexByte(`nt\'"`, s[i+1]) < 0):
			return false
		case strings.HasPrefix(s[i:], "{{"), strings.HasPrefix(s[i:], "}}"), s[i] == '\\':
			i++
		case s[i] == '}':
			return false
		case s[i] == '{':
			end, depth, colon := i+1, 0, -1
			for ; end < len(s) && (depth > 0 || s[end] != '}'); end++ {
				switch ch := s[end]; {
				case ch == '\\' || ch == '#' || colon >= 0 && strings.IndexByte("{'\"", ch) >= 0:
					return false
				case ch == '\'' || ch == '"': // a bracket in there is no bracket
					n := strings.IndexByte(s[end+1:], ch)
					if n < 0 {
						return false
					}
					end += n + 1
				case strings.IndexByte("([{", ch) >= 0:
					depth++
				case strings.IndexByte(")]}", ch) >= 0:
					depth--
				case ch == ':' && depth == 0 && colon < 0:
					colon = end
				}
			}
			if end == len(s) {
				return false
			}
			expr := s[i+1 : end]
			if colon >= 0 {
				expr = s[i+1 : colon]
			}
			expr = strings.TrimSuffix(strings.TrimSpace(expr), "=")
			for _, conversion := range [...]string{"!r", "!s", "!a"} {
				expr = strings.TrimSuffix(expr, conversion)
			}
			if !r.lexPython(strings.TrimSpace(expr)) {
				return false
			}
			i = end
		}
	}
	return true
}

// begins reports whether a statement begins at i.
func begins(t []codeToken, i int) bool {
	before := tokenAt(t, i-1)
	return before.kind == '\n' || before.is(";") || before.is(":")
}

// imports notes the modules that are loaded.
func (r *codeReader) imports(t []codeToken) bool {
	for i := 0; i < len(t); i++ {
		switch {
		case t[i].is("import") && begins(t, i):
			end, ok := r.importNames(t, i+1)
			if !ok {
				return false
			}
			i = end
		case t[i].is("from") && begins(t, i):
			end, ok := r.importFrom(t, i+1)
			if !ok {
				return false
			}
			i = end
		case t[i].kind == 'n' && t[i].text == "import":
			return false
		}
	}
	return true
}

// dotted reads the name of a module.
func dotted(t []codeToken, i int) (name string, end int) {
	for tokenAt(t, i).kind == 'n' {
		name += t[i].text
		if i++; !tokenAt(t, i).is(".") {
			break
		}
		name, i = name+".", i+1
	}
	return name, i
}

// runsItself reports whether a module is none, or does something as soon as it is loaded: `venv.__main__`.
func runsItself(module string) bool {
	first, _, _ := strings.Cut(module, ".")
	switch first {
	case "", "antigravity", "idlelib", "turtledemo", "test":
		return true
	}
	return strings.HasSuffix(module, ".") || strings.Contains("."+strings.TrimPrefix(module, "__future__"), "._")
}

// importNames reads `a.b as c, d` and returns the place of its last token.
func (r *codeReader) importNames(t []codeToken, i int) (end int, ok bool) {
	for {
		module, next := dotted(t, i)
		as, _, _ := strings.Cut(module, ".")
		known := as
		if tokenAt(t, next).is("as") && tokenAt(t, next+1).kind == 'n' {
			as, known, next = t[next+1].text, module, next+2
		}
		if runsItself(module) || !r.module(as, known) {
			return 0, false
		}
		r.uses = append(r.uses, codeUse{"module", module})
		if !tokenAt(t, next).is(",") {
			return next - 1, tokenAt(t, next).kind == '\n' || t[next].is(";")
		}
		i = next + 1
	}
}

// module gives a module a name in the code, which must not be that of another one.
func (r *codeReader) module(as, module string) bool {
	if have, ok := r.modules[as]; ok && have != module {
		return false
	}
	r.modules[as] = module
	return true
}

// importFrom reads `a.b import c as d, e`.
func (r *codeReader) importFrom(t []codeToken, i int) (end int, ok bool) {
	module, next := dotted(t, i)
	if runsItself(module) || !tokenAt(t, next).is("import") {
		return 0, false
	}
	r.uses = append(r.uses, codeUse{"module", module})
	brackets := tokenAt(t, next+1).is("(")
	if brackets {
		next++
	}
	if tokenAt(t, next+1).kind != 'n' {
		return 0, false // `import *`
	}
	for i = next + 1; tokenAt(t, i).kind == 'n'; i++ {
		name := t[i].text
		if runsItself(module + "." + name) {
			return 0, false
		}
		as := name
		if tokenAt(t, i+1).is("as") && tokenAt(t, i+2).kind == 'n' {
			as, i = t[i+2].text, i+2
		}
		how, plain := r.lang.of(module, name)
		switch {
		case r.lang.modules[module+"."+name] != nil:
			ok = r.module(as, module+"."+name)
		case plain && how == "" && r.lang.names[as] == "" && !r.refused(as) && r.modules[as] == "":
			r.bound[as], ok = true, true
		default:
			ok = r.module(as, module+"."+name+" ") // of which nothing may be used
			r.uses = append(r.uses, codeUse{"module", module + "." + name})
		}
		if !ok {
			return 0, false
		}
		if !tokenAt(t, i+1).is(",") {
			break
		}
		i++
	}
	if i++; brackets {
		if !tokenAt(t, i).is(")") {
			return 0, false
		}
		i++
	}
	return i - 1, tokenAt(t, i).kind == '\n' || t[i].is(";")
}

// refused reports whether a name reaches more than values.
func (r *codeReader) refused(name string) bool {
	_, never := r.lang.never[name]
	_, listed := r.lang.names[name]
	return never || strings.HasPrefix(name, "_") && !listed
}

// bindPython notes the names that the code gives to values: in assignments, loops and functions.
func (r *codeReader) bindPython(t []codeToken) bool {
	bind := func(from, to int) {
		for i := max(from, 0); i < to && i < len(t) && r.work <= maxCodeWork; i++ {
			r.work++
			if t[i].kind == 'n' && !tokenAt(t, i+1).is("(") && !hasWord(pythonKeywords, t[i].text, ' ') {
				r.bound[t[i].text] = true
			}
		}
	}
	start, depth := 0, 0
	for i := range t {
		switch {
		case t[i].kind == '\n' || t[i].is(";"):
			start = i + 1
		case t[i].is("(") || t[i].is("[") || t[i].is("{"):
			depth++
		case t[i].is(")") || t[i].is("]") || t[i].is("}"):
			depth--
		case t[i].is(":="):
			bind(i-1, i)
		case t[i].is("=") && depth == 0:
			bind(start, i)
			start = i + 1
		case t[i].is("def"):
			r.bound[tokenAt(t, i+1).text] = true
			bind(i+3, tokenAt(t, i+2).match)
		case t[i].is("as"):
			if _, module := r.modules[tokenAt(t, i+1).text]; !module { // of which judgePython knows
				bind(i+1, i+2)
			}
		case t[i].is("for"), t[i].is("lambda"):
			end := i
			for end < len(t) && !t[end].is("in") && !t[end].is(":") {
				end++
				r.work++
			}
			if r.work > maxCodeWork {
				return false
			}
			bind(i+1, end)
		}
	}
	return true
}

// judgePython looks at every name that is used.
func (r *codeReader) judgePython(t []codeToken) bool {
	for i := 0; i < len(t); i++ {
		name := t[i].text
		switch {
		case t[i].kind != 'n' || hasWord(pythonKeywords, name, ' '):
			if (t[i].is("import") || t[i].is("from")) && begins(t, i) { // it has been read
				for i+1 < len(t) && t[i+1].kind != '\n' && !t[i+1].is(";") {
					i++
				}
			}
		case tokenAt(t, i-1).is("."):
			if _, ok := r.lang.methods[name]; !ok && !r.named(t, i) || name == "format" && !plainFormat(t, i-2) {
				return false
			}
		case r.paths[name] != nil:
			end, ok := r.pathName(t, i)
			if !ok {
				return false
			}
			i = end
		case r.modules[name] == pathType:
			end, ok := r.pathOf(t, i)
			if !ok {
				return false
			}
			i = end
		case r.modules[name] != "":
			end, how, ok := r.member(t, i, r.modules[name])
			if how == "path" { // `pathlib.Path("a").read_text()`
				end, ok = r.pathOf(t, end)
				how = ""
			}
			if !ok || how != "" && !r.takes(t, end, how) || r.assigned(t, end) {
				return false
			}
			i = end
		case r.refused(name):
			return false
		case r.bound[name], tokenAt(t, i+1).is("=") && (tokenAt(t, i-1).is("(") || tokenAt(t, i-1).is(",")): // or `sep=""`
		default:
			how, ok := r.lang.names[name]
			if !ok || how != "" && !r.takes(t, i, how) {
				return false
			}
		}
	}
	return true
}

// named reports whether the name at i is that of `type(x).__name__`.
func (r *codeReader) named(t []codeToken, i int) bool {
	if !t[i].is("__name__") || !tokenAt(t, i-2).is(")") {
		return false
	}
	for open := i - 3; open > 0 && r.work <= maxCodeWork; open-- {
		r.work++
		if t[open].match == i-2 {
			return t[open-1].is("type")
		}
	}
	return false
}

// plainFormat reports whether the token at i is a string whose fields are plain: `{0.__globals__}`
// prints more than the code names.
func plainFormat(t []codeToken, i int) bool {
	s := tokenAt(t, i)
	if s.kind != 's' || !s.plain || tokenAt(t, i-1).kind == 's' {
		return false
	}
	for _, field := range strings.Split(s.text, "{")[1:] {
		if end := strings.IndexAny(field, ":!}"); strings.ContainsAny(field[:max(end, 0)], ".[") || end < 0 && field != "" {
			return false
		}
	}
	return true
}

// assigned reports whether something of a module, whose name ends at i, may be given another value:
// `os.path.join = f`, `for json.loads in [f]`, `with x as (a, sys.stdout)`.
func (r *codeReader) assigned(t []codeToken, i int) bool {
	if tokenAt(t, i+1).is("(") {
		return false
	}
	start := i
	for start > 0 && t[start-1].kind != '\n' && !t[start-1].is(";") {
		start--
	}
	target, depth := false, 0 // what stands behind `for` and `as`; brackets, as of `f(a, end="")`
	for at := start; at < len(t) && t[at].kind != '\n' && !t[at].is(";"); at++ {
		switch r.work++; {
		case r.work > maxCodeWork, at == i && target, at > i && depth == 0 && t[at].is("="):
			return true
		case t[at].is("for") || t[at].is("as"):
			target = true
		case t[at].is("in") || t[at].is(":"):
			target = false
		case t[at].match > at:
			depth++
		case t[at].is(")") || t[at].is("]") || t[at].is("}"):
			depth--
		}
	}
	return false
}
