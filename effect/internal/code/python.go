// Package code reads texts in other languages than the shell's: Python, awk, sed, SQL and patches.
//
// It owns how far such a text is understood: which files it reads and writes, and whether it does
// anything else. It has no effects, resolves no path and reads no file: package effect does.
package code

import (
	"strings"
	"sync"

	"github.com/obstat/obstat/effect/kb"
)

// Agents look into things with a line of Python: `python3 -c 'import json;
// print(json.load(open("a.json"))["version"])'`. Such code is read as far as it only computes and
// prints: by its names, not by a grammar. Everything that it uses has to be in a list
// (kb/python.txt); the files that it opens have to be literals, and are judged as those of any
// program. At the first thing that is not known the reader gives up, and the code is code that
// is not looked into, as all code of other languages is.

// pythonNames are names that code may use. Values say how the first argument is used: `open(open)`.
type pythonNames struct {
	lists   map[string]map[string]string // names, methods, never, any, globals, paths, own
	modules map[string]map[string]string
}

// python reads kb/python.txt, which describes its sections.
var python = sync.OnceValue(func() *pythonNames {
	l := &pythonNames{map[string]map[string]string{}, map[string]map[string]string{}}
	var into map[string]string
	for line := range strings.SplitSeq(kb.Text("python.txt"), "\n") {
		words := strings.Fields(line)
		switch {
		case len(words) == 0 || words[0] == "#":
		case line[0] == '\t':
			for _, w := range words {
				name, how, _ := kb.CutCall(w)
				into[name] = how
			}
		case words[0] == "module":
			into = map[string]string{}
			l.modules[words[1]] = into
		default:
			into = map[string]string{}
			l.lists[words[0]] = into
		}
	}
	return l
})

// has reports whether a list has a name.
func (l *pythonNames) has(list, name string) bool {
	_, ok := l.lists[list][name]
	return ok
}

// of returns how a name of a module may be used.
func (l *pythonNames) of(module, name string) (how string, ok bool) {
	list := l.modules[module]
	if how, ok = list[name]; !ok && !strings.HasPrefix(name, "_") {
		how, ok = list["*"]
	}
	return how, ok
}

// A Use is something outside of the code that it uses: a file that is read, written or looked
// at (list), a module that is loaded, the environment (environ).
type Use struct{ How, Name string }

// A pythonReader reads one piece of code.
type pythonReader struct {
	lang    *pythonNames
	lists   [][]token           // the code, and the expressions inside its strings
	bound   map[string]bool     // names that the code itself gives to values
	modules map[string]string   // names in the code, and the modules they stand for
	paths   map[string][]string // names of pathlib's paths, and the files that they stand for
	uses    []Use
	work    int // tokens that were looked at more than once
}

// maxCodeWork bounds code such as `((((a)=>1)=>1)=>1)=>1`, whose tokens belong to many functions.
const maxCodeWork = 1 << 16

// maxCode is the longest code that is read.
const maxCode = 16 << 10

// Python returns the files and modules that a piece of Python uses; ok is false if not all of them are known.
func Python(text string) (uses []Use, ok bool) {
	// A text that versions of the language read in different ways is not looked into.
	if len(text) > maxCode || strings.ContainsAny(text, "\r\f\v\x00\ufeff\u2028\u2029") {
		return nil, false
	}
	r := &pythonReader{lang: python(), bound: map[string]bool{}, modules: map[string]string{}}
	r.paths = map[string][]string{}
	bound := r.lex(text) && r.each(r.imports) && r.each(r.bind) && r.each(r.bindPaths)
	return r.uses, bound && !r.hidden() && r.each(r.judge)
}

// OwnModule reports whether a module is one of Python's own, or loaded by them.
func OwnModule(name string) bool {
	name, _, _ = strings.Cut(name, ".")
	return python().has("own", name) || strings.HasPrefix(name, "_")
}

// hidden reports whether a name of the code is also that of a module or of something global, as
// process in `function f(process) {} process.env`: which of the two is meant is not looked into.
func (r *pythonReader) hidden() bool {
	names := r.lang.lists["names"]
	for name := range r.bound {
		if _, module := r.modules[name]; module || r.lang.has("globals", name) || names[name] != "" { // `open = ...`
			return true
		}
	}
	for name := range r.modules {
		if names[name] != "" { // `import json as open`
			return true
		}
	}
	return r.work > maxCodeWork
}

// each puts every list of tokens to a step.
func (r *pythonReader) each(step func([]token) bool) bool {
	for _, list := range r.lists {
		if !step(list) {
			return false
		}
	}
	return true
}

// member judges the use of a module, from the name at i on, and returns the place of the
// last name that belongs to the module: of `os.path.join(a)` that of join.
func (r *pythonReader) member(t []token, i int, module string) (end int, how string, ok bool) {
	for tokenAt(t, i+1).is(".") && tokenAt(t, i+2).kind == 'n' {
		i += 2
		name := t[i].text
		if r.lang.modules[module+"."+name] != nil {
			module += "." + name
			continue
		}
		if how, ok = r.lang.of(module, name); ok {
			return i, how, true
		}
		if r.lang.has("any", name) {
			return i, "", !tokenAt(t, i+1).is("(") && !tokenAt(t, i+1).is(".")
		}
		if r.lang.modules[module] != nil {
			return i, "", false
		}
		module += "." + name // of a package of which nothing is known
	}
	return i, "", false
}

// takes judges a function whose first argument is a file or a variable; at is the place of its name.
func (r *pythonReader) takes(t []token, at int, how string) bool {
	if how == "environ" {
		r.uses = append(r.uses, Use{how, ""})
		return true
	}
	if !tokenAt(t, at+1).is("(") {
		return false
	}
	first, next := tokenAt(t, at+2), tokenAt(t, at+3)
	switch {
	case how == "one": // `ast.parse(text, ".env")` quotes that file in its errors
		return r.oneArgument(t, at+1)
	case how == "shown":
		return r.oneArgument(t, at+1) && r.shown(t, at)
	case how == "path": // see pathOf
		return false
	case how == "list" && first.is(")"):
		first.text = "."
	case how == "read" && first.is("0"):
		return next.is(")") || next.is(",") // standard input
	case first.kind != 's' || !first.plain || !next.is(")") && !next.is(","):
		return false
	case how == "read" && next.is(",") && !(tokenAt(t, at+4).kind == 's' && tokenAt(t, at+5).is(")")):
		return false // `{flag: "w"}` empties it
	case how == "open":
		if how = openMode(t[at+3 : t[at+1].match]); how == "" {
			return false
		}
	}
	r.uses = append(r.uses, Use{how, first.text})
	return true
}

// oneArgument reports whether brackets hold one argument: neither `a, b` nor `*a`.
func (r *pythonReader) oneArgument(t []token, open int) bool {
	for i := open + 1; i < t[open].match; i++ {
		if t[i].is(",") || i == open+1 && t[i].is("*") {
			return false
		}
		if t[i].match > i {
			i = t[i].match
		}
	}
	return t[open].match > open+1
}

// shown reports whether the type that `type(x)` returns is compared, named or printed: called, that
// of a file opens another one.
func (r *pythonReader) shown(t []token, at int) bool {
	end := t[at+1].match
	next := tokenAt(t, end+1)
	if next.is("==") || next.is(".") && tokenAt(t, end+2).is("__name__") || at == 0 && end+1 == len(t) {
		return true
	}
	for open := at - 1; open >= 0 && r.work <= maxCodeWork; open-- {
		if t[open].match > at {
			return (next.is(")") || next.is(",")) && t[open].is("(") && tokenAt(t, open-1).is("print") && !r.bound["print"]
		}
		r.work++
	}
	return false
}

// openMode tells whether arguments of Python's open, behind the first, read or write the file.
func openMode(t []token) string {
	how := "read"
	for i := 0; i < len(t); i += 4 { // `, 'r'` or `, encoding='utf-8'`
		value := tokenAt(t, i+1)
		if !t[i].is(",") {
			return ""
		}
		if value.kind == 'n' && tokenAt(t, i+2).is("=") {
			name := value.text
			if value = tokenAt(t, i+3); name != "mode" {
				if name != "encoding" && name != "newline" && name != "errors" || value.kind != 's' {
					return ""
				}
				continue
			}
		} else {
			i -= 2
		}
		if value.kind != 's' || !value.plain || strings.Trim(value.text, "rwaxbt+") != "" {
			return ""
		}
		if strings.ContainsAny(value.text, "wax+") {
			how = "write"
		}
	}
	return how
}

// bind notes the names that the code gives to values: in assignments, loops and functions.
func (r *pythonReader) bind(t []token) bool {
	start, depth := 0, 0
	for i := range t {
		switch {
		case t[i].kind == '\n' || t[i].is(";"):
			start = i + 1
		case t[i].opens():
			depth++
		case t[i].closes():
			depth--
		case t[i].is(":="):
			r.bindNames(t, i-1, i)
		case t[i].is("=") && depth == 0:
			r.bindNames(t, start, i)
			start = i + 1
		case t[i].is("def"):
			r.bound[tokenAt(t, i+1).text] = true
			r.bindNames(t, i+3, tokenAt(t, i+2).match)
		case t[i].is("as"):
			if _, module := r.modules[tokenAt(t, i+1).text]; !module { // of which judge knows
				r.bindNames(t, i+1, i+2)
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
			r.bindNames(t, i+1, end)
		}
	}
	return true
}

// bindNames notes the names among some tokens.
func (r *pythonReader) bindNames(t []token, from, to int) {
	for i := max(from, 0); i < to && i < len(t) && r.work <= maxCodeWork; i++ {
		r.work++
		if t[i].kind == 'n' && !tokenAt(t, i+1).is("(") && !keyword(t[i].text) {
			r.bound[t[i].text] = true
		}
	}
}

// judge looks at every name that is used.
func (r *pythonReader) judge(t []token) bool {
	for i := 0; i < len(t); i++ {
		if t[i].kind != 'n' || keyword(t[i].text) {
			if (t[i].is("import") || t[i].is("from")) && begins(t, i) { // it has been read
				for i+1 < len(t) && t[i+1].kind != '\n' && !t[i+1].is(";") {
					i++
				}
			}
			continue
		}
		end, ok := r.judgeName(t, i)
		if !ok {
			return false
		}
		i = end
	}
	return true
}

// judgeName judges the name at i and returns the place of the last token that belongs to it.
func (r *pythonReader) judgeName(t []token, i int) (end int, ok bool) {
	name := t[i].text
	argument := tokenAt(t, i+1).is("=") && (tokenAt(t, i-1).is("(") || tokenAt(t, i-1).is(",")) // `sep=""`
	switch {
	case tokenAt(t, i-1).is("."):
		return i, (r.lang.has("methods", name) || r.named(t, i)) && (name != "format" || plainFormat(t, i-2))
	case r.paths[name] != nil:
		return r.pathName(t, i)
	case r.modules[name] == pathType:
		return r.pathOf(t, i)
	case r.modules[name] != "":
		return r.judgeModule(t, i)
	case r.refused(name):
		return i, false
	case r.bound[name] || argument:
		return i, true
	}
	how, ok := r.lang.lists["names"][name]
	return i, ok && (how == "" || r.takes(t, i, how))
}

// judgeModule judges the use of a module whose name is at i.
func (r *pythonReader) judgeModule(t []token, i int) (end int, ok bool) {
	end, how, ok := r.member(t, i, r.modules[t[i].text])
	if how == "path" { // `pathlib.Path("a").read_text()`
		end, ok = r.pathOf(t, end)
		how = ""
	}
	return end, ok && (how == "" || r.takes(t, end, how)) && !r.assigned(t, end)
}

// named reports whether the name at i is that of `type(x).__name__`.
func (r *pythonReader) named(t []token, i int) bool {
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
func plainFormat(t []token, i int) bool {
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
func (r *pythonReader) assigned(t []token, i int) bool {
	if tokenAt(t, i+1).is("(") {
		return false
	}
	start := i
	for start > 0 && t[start-1].kind != '\n' && !t[start-1].is(";") {
		start--
	}
	target, depth := false, 0 // names behind `for` and `as`; brackets, as of `f(a, end="")`
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
