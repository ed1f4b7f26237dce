package code

import (
	"strings"

	"github.com/obstat/obstat/effect/kb"
)

// imports notes the modules that are loaded.
func (r *pythonReader) imports(t []token) bool {
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
func dotted(t []token, i int) (name string, end int) {
	for tokenAt(t, i).kind == 'n' {
		name += t[i].text
		if i++; !tokenAt(t, i).is(".") {
			break
		}
		name, i = name+".", i+1
	}
	return name, i
}

var pythonRuns = kb.Table("!python-runs")

// runsItself reports whether a module is none, or does something as soon as it is loaded: `venv.__main__`.
func runsItself(module string) bool {
	first, _, _ := strings.Cut(module, ".")
	if first == "" || pythonRuns().Has(first) {
		return true
	}
	return strings.HasSuffix(module, ".") || strings.Contains("."+strings.TrimPrefix(module, "__future__"), "._")
}

// importNames reads `a.b as c, d` and returns the place of its last token.
func (r *pythonReader) importNames(t []token, i int) (end int, ok bool) {
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
		r.uses = append(r.uses, Use{"module", module})
		if !tokenAt(t, next).is(",") {
			return next - 1, tokenAt(t, next).kind == '\n' || t[next].is(";")
		}
		i = next + 1
	}
}

// module gives a module a name in the code, which must not be that of another one.
func (r *pythonReader) module(as, module string) bool {
	if have, ok := r.modules[as]; ok && have != module {
		return false
	}
	r.modules[as] = module
	return true
}

// importFrom reads `a.b import c as d, e`.
func (r *pythonReader) importFrom(t []token, i int) (end int, ok bool) {
	module, next := dotted(t, i)
	if runsItself(module) || !tokenAt(t, next).is("import") {
		return 0, false
	}
	r.uses = append(r.uses, Use{"module", module})
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
		case plain && how == "" && r.lang.lists["names"][as] == "" && !r.refused(as) && r.modules[as] == "":
			r.bound[as], ok = true, true
		default:
			ok = r.module(as, module+"."+name+" ") // of which nothing may be used
			r.uses = append(r.uses, Use{"module", module + "." + name})
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
func (r *pythonReader) refused(name string) bool {
	return r.lang.has("never", name) || strings.HasPrefix(name, "_") && !r.lang.has("names", name)
}

// pathType is the type of pathlib that stands for a file, see importFrom.
const pathType = "pathlib.Path "

// bindPaths notes the names that the code gives to paths: `p = Path("src/a.py")`. See pathName.
func (r *pythonReader) bindPaths(t []token) bool {
	for i := range t {
		if t[i].kind != 'n' || !begins(t, i) || !tokenAt(t, i+1).is("=") || r.pathAt(t, i+2) == 0 {
			continue
		}
		if file, end := pathLiteral(t, r.pathAt(t, i+2)); end > 0 && (tokenAt(t, end+1).kind == '\n' || t[end+1].is(";")) {
			r.paths[t[i].text] = append(r.paths[t[i].text], file)
		}
	}
	return true
}

// pathAt returns the place of the name Path in `Path(...)` and `pathlib.Path(...)`, 0 if it is something else.
func (r *pythonReader) pathAt(t []token, i int) int {
	switch {
	case r.modules[tokenAt(t, i).text] == pathType:
		return i
	case r.modules[tokenAt(t, i).text] == "pathlib" && tokenAt(t, i+1).is(".") && tokenAt(t, i+2).is("Path"):
		return i + 2
	}
	return 0
}

// pathLiteral reads `Path("src/a.py")` and returns the file and the place of the last bracket, or 0.
func pathLiteral(t []token, i int) (file string, end int) {
	if s := tokenAt(t, i+2); tokenAt(t, i+1).is("(") && s.kind == 's' && s.plain && tokenAt(t, i+3).is(")") {
		return s.text, i + 3
	}
	return "", 0
}

// pathOf judges `Path("a").read_text()` and the assignments that bindPaths has noted.
func (r *pythonReader) pathOf(t []token, i int) (end int, ok bool) {
	file, end := pathLiteral(t, i)
	if end == 0 {
		return 0, false
	}
	from := i
	if tokenAt(t, i-1).is(".") {
		from = i - 2
	}
	if tokenAt(t, from-1).is("=") && r.paths[tokenAt(t, from-2).text] != nil && begins(t, from-2) {
		return end, tokenAt(t, end+1).kind == '\n' || t[end+1].is(";")
	}
	return r.pathMethod(t, end, []string{file})
}

// pathName judges a name of a path: it is assigned one, or asked for the file's content.
func (r *pythonReader) pathName(t []token, i int) (end int, ok bool) {
	if begins(t, i) && tokenAt(t, i+1).is("=") && r.pathAt(t, i+2) > 0 {
		return i + 1, true
	}
	return r.pathMethod(t, i, r.paths[t[i].text])
}

// pathMethod judges the use of a path that ends at i: `.read_text()`, `.write_text(s)`, `.name`.
func (r *pythonReader) pathMethod(t []token, i int, files []string) (end int, ok bool) {
	how, ok := r.lang.lists["paths"][tokenAt(t, i+2).text]
	if !ok || !tokenAt(t, i+1).is(".") || how != "" && !tokenAt(t, i+3).is("(") {
		return 0, false
	}
	for _, file := range files {
		if how != "" {
			r.uses = append(r.uses, Use{how, file})
		}
	}
	return i + 2, true
}
