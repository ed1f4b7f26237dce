package effect

import (
	_ "embed"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/obstat/obstat/shell"
)

// Agents look into things with a line of Python: `python3 -c 'import json;
// print(json.load(open("a.json"))["version"])'`. Such code is read as far as it only computes and
// prints: by its names, not by a grammar. Everything that it uses has to be in a list
// (kb/python.txt); the files that it opens have to be literals, and are judged as those of any
// program. At the first thing that is not known the reader gives up, and the code is code that
// is not looked into, as all code of other languages is.

//go:embed kb/python.txt
var pythonText string

// codeLang is what code of a language may use. Values say what becomes of the first argument, as
// read of `readFileSync(read)`.
type codeLang struct {
	names, methods, never, any, globals map[string]string
	paths, own                          map[string]string // what may be asked of a path; the language's own modules
	modules                             map[string]map[string]string
}

var python = sync.OnceValue(func() *codeLang { return parseCodeLang(pythonText) })

// parseCodeLang reads a list of the knowledge base.
func parseCodeLang(text string) *codeLang {
	l := &codeLang{names: map[string]string{}, methods: map[string]string{}, never: map[string]string{}, any: map[string]string{}, globals: map[string]string{}, paths: map[string]string{}, own: map[string]string{}, modules: map[string]map[string]string{}}
	into := l.names
	for line := range strings.SplitSeq(text, "\n") {
		words := strings.Fields(line)
		switch {
		case len(words) == 0 || words[0] == "#":
		case line[0] == '\t':
			for _, w := range words {
				name, how, _ := cutCall(w)
				into[name] = how
			}
		case words[0] == "module":
			into = map[string]string{}
			l.modules[words[1]] = into
		default:
			into = map[string]map[string]string{"names": l.names, "methods": l.methods, "never": l.never, "any": l.any, "globals": l.globals, "paths": l.paths, "own": l.own}[words[0]]
		}
	}
	return l
}

// of returns what may be done with a name of a module.
func (l *codeLang) of(module, name string) (how string, ok bool) {
	list := l.modules[module]
	if how, ok = list[name]; !ok && !strings.HasPrefix(name, "_") {
		how, ok = list["*"]
	}
	return how, ok
}

// A codeToken is a name (n), a string (s), a number (0), the end of a line or an operator (o).
type codeToken struct {
	kind  byte
	text  string // of a string, what stands between its quotes
	plain bool   // a string is that very text, without escapes
	match int    // of a bracket that opens: the place of the one that closes it, or -1
}

// A codeUse is something outside of the code that it uses: a file that is read, written or looked
// at (list), a module that is loaded, the environment.
type codeUse struct{ how, name string }

// A codeReader reads one piece of code.
type codeReader struct {
	lang    *codeLang
	lists   [][]codeToken       // the code, and the expressions inside its strings
	bound   map[string]bool     // names that the code itself gives to values
	calls   map[string]bool     // of these, those that are functions
	modules map[string]string   // names in the code, and the modules they stand for
	paths   map[string][]string // names of pathlib's paths, and the files that they stand for
	uses    []codeUse
	work    int // tokens that were looked at more than once
}

// maxCodeWork bounds code such as `((((a)=>1)=>1)=>1)=>1`, whose tokens belong to many functions.
const maxCodeWork = 1 << 16

// maxCode is the longest code that is read.
const maxCode = 16 << 10

// readCode returns what code uses; ok is false if that is not all known.
func readCode(lang, text string) (uses []codeUse, ok bool) {
	r := &codeReader{bound: map[string]bool{}, calls: map[string]bool{}, modules: map[string]string{}}
	// What languages and versions of them read in different ways is not looked into.
	if len(text) > maxCode || strings.ContainsAny(text, "\r\f\v\x00\ufeff\u2028\u2029") {
		return nil, false
	}
	if lang == "Python" {
		r.lang = python()
		ok = r.lexPython(text) && r.each(r.imports) && r.each(r.bindPython) && r.each(r.bindPaths) && !r.hidden() && r.each(r.judgePython)
	}
	return r.uses, ok
}

// hidden reports whether a name of the code is also that of a module or of something global, as
// process in `function f(process) {} process.env`: which of the two is meant is not looked into.
func (r *codeReader) hidden() bool {
	for name := range r.bound {
		_, global := r.lang.globals[name]
		if _, module := r.modules[name]; module || global || r.lang.names[name] != "" { // `open = ...`
			return true
		}
	}
	for name := range r.modules {
		if r.lang.names[name] != "" { // `import json as open`
			return true
		}
	}
	return r.work > maxCodeWork
}

// plainWord reports whether a name is ASCII: Python takes a wide `ｅval` for eval.
func plainWord(s string) bool {
	return strings.IndexFunc(s, func(ch rune) bool { return ch >= 0x80 }) < 0
}

// each puts every list of tokens to a step.
func (r *codeReader) each(step func([]codeToken) bool) bool {
	for _, list := range r.lists {
		if !step(list) {
			return false
		}
	}
	return true
}

// tokenAt returns the token at a place, an end if there is none.
func tokenAt(t []codeToken, i int) codeToken {
	if i < 0 || i >= len(t) {
		return codeToken{kind: '\n'}
	}
	return t[i]
}

func (t codeToken) is(text string) bool { return t.kind != 's' && t.text == text }

// codeNumber returns the length of the number at the beginning of text, 0 where what follows could belong to it.
func codeNumber(text string) int {
	n := 0
	digits := func() {
		for n < len(text) && (text[n] >= '0' && text[n] <= '9' || text[n] == '_') {
			n++
		}
	}
	if digits(); n+1 < len(text) && text[n] == '.' && text[n+1] >= '0' && text[n+1] <= '9' {
		n++
		digits()
	} else if len(text) > 2 && (text[:2] == "0x" || text[:2] == "0X") {
		for n = 2; n < len(text) && strings.IndexByte("0123456789abcdefABCDEF_", text[n]) >= 0; n++ {
		}
	}
	if n < len(text) && (isWordByte(text[n]) || text[n] == '.') {
		return 0
	}
	return n
}

// add keeps a list of tokens, with its brackets matched.
func (r *codeReader) add(t []codeToken) bool {
	var open []int
	for i := range t {
		switch t[i].match = -1; {
		case t[i].kind != 'o':
		case strings.Contains("([{", t[i].text):
			open = append(open, i)
		case strings.Contains(")]}", t[i].text):
			if len(open) == 0 {
				return false
			}
			t[open[len(open)-1]].match = i
			open = open[:len(open)-1]
		}
	}
	r.lists = append(r.lists, t)
	return len(open) == 0 && len(r.lists) < maxLists
}

// maxLists bounds the expressions inside strings.
const maxLists = 200

// member judges what is asked of a module, from the name at i on, and returns the place of the
// last name that belongs to the module: of `os.path.join(a)` that of join.
func (r *codeReader) member(t []codeToken, i int, module string) (end int, how string, ok bool) {
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
		if _, ok = r.lang.any[name]; ok {
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
func (r *codeReader) takes(t []codeToken, at int, how string) bool {
	if how == "environ" {
		r.uses = append(r.uses, codeUse{how, ""})
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
	r.uses = append(r.uses, codeUse{how, first.text})
	return true
}

// oneArgument reports whether brackets hold one argument: neither `a, b` nor `*a`.
func (r *codeReader) oneArgument(t []codeToken, open int) bool {
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
func (r *codeReader) shown(t []codeToken, at int) bool {
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
func openMode(t []codeToken) string {
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

// inline gives code in a language its effects, if it is understood.
func (c *call) inline(lang string, w *shell.Word) bool {
	if !w.Known || !c.a.afford(len(w.Text)/8) {
		return false
	}
	uses, ok := readCode(lang, w.Text)
	if !ok {
		return false
	}
	packages := slices.ContainsFunc(uses, func(u codeUse) bool { return u.how == "module" && !ownModule(u.name) })
	c.a.inlines = append(c.a.inlines, inlined{packages, c.f.dir, c.f.span(w.Span), c.cmd})
	for _, u := range uses {
		v := shell.Word{Text: u.name, Raw: u.name, Known: true, Span: w.Span}
		switch u.how {
		case "read":
			c.readFile(&v, true)
		case "write":
			c.changeFile(Write, &v)
		case "list":
			c.listFile(&v)
		case "environ":
			c.environ(&v)
		case "module":
			c.loads(&v)
		}
	}
	return true
}

// loads is a module that code loads: of the language, of a package, or a file of the project.
func (c *call) loads(w *shell.Word) {
	e := c.newEffect(Code, w)
	e.Raw, e.Detail, e.Tags = "", "loads "+w.Text, Script
	c.a.effect(e)
}

// inlined is code of a line that was read: it may load files that the command itself writes.
type inlined struct {
	packages bool   // it loads more than the modules of the language
	dir      string // where these are looked for first
	span     shell.Span
	cmd      int
}

// loadWritten finds code that may load a file which the command itself writes. Python looks for every
// module in the directory where it is run, for those that its own modules load too, as _strptime for datetime.
func (a *analyzer) loadWritten() {
	for _, in := range a.inlines {
		for i := range a.an.Effects {
			e := &a.an.Effects[i]
			if e.Kind == Write && a.afford(1) && !a.keeps(e) && a.loadable(&in, e) && !slices.Contains(a.plain, or(e.Path, e.Raw)) {
				a.gap(DynamicCode, "may load a file that the command itself writes", in.span, in.cmd)
				break
			}
		}
	}
}

// shadowed reports whether a file may be taken for one of Python's own modules: `json.py`, or a file of a package `json/`, where
// Python looks for them. One of another name is loaded by nothing.
func (in *inlined) shadowed(file string) bool {
	rest, below := strings.CutPrefix(file, in.dir+"/")
	for name := range strings.SplitSeq(strings.TrimSuffix(rest, ".py"), "/") {
		if ownModule(name) || strings.HasSuffix(name, "-packages") || hasGlob(name) {
			return true
		}
		if below && in.dir != "" && !strings.Contains(rest, "-packages") {
			return false
		}
	}
	return false
}

// ownModule reports whether a module is one of Python's own, or loaded by them.
func ownModule(name string) bool {
	name, _, _ = strings.Cut(name, ".")
	_, own := python().own[name]
	return own || strings.HasPrefix(name, "_")
}

// loadable reports whether a file that is written may be a module, or a directory of modules.
func (a *analyzer) loadable(in *inlined, e *Effect) bool {
	file := or(e.Path, e.Raw)
	switch path.Ext(file) {
	case ".py":
		return in.packages || in.shadowed(file)
	case ".pyc", ".pyd", ".so", ".pth", ".zip", ".egg", ".cfg":
		return true
	case "", ".":
		_, copied := copiedFrom(a.wordsOf(e), e)
		return copied || e.Recursive
	}
	return false
}
