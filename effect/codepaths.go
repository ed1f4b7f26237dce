package effect

// pathType is the type of pathlib that stands for a file, see importFrom.
const pathType = "pathlib.Path "

// bindPaths notes the names that the code gives to paths: `p = Path("src/a.py")`. Such a name may only be used as pathName says.
func (r *codeReader) bindPaths(t []codeToken) bool {
	for i := range t {
		if t[i].kind != 'n' || !begins(t, i) || !tokenAt(t, i+1).is("=") || r.pathAt(t, i+2) == 0 {
			continue
		}
		if file, end := pathLiteral(t, r.pathAt(t, i+2)); end > 0 && (tokenAt(t, end+1).kind == '\n' || t[end+1].is(";")) {
			if r.paths == nil {
				r.paths = map[string][]string{}
			}
			r.paths[t[i].text] = append(r.paths[t[i].text], file)
		}
	}
	return true
}

// pathAt returns the place of the name Path in `Path(...)` and `pathlib.Path(...)`, 0 if it is something else.
func (r *codeReader) pathAt(t []codeToken, i int) int {
	switch {
	case r.modules[tokenAt(t, i).text] == pathType:
		return i
	case r.modules[tokenAt(t, i).text] == "pathlib" && tokenAt(t, i+1).is(".") && tokenAt(t, i+2).is("Path"):
		return i + 2
	}
	return 0
}

// pathLiteral reads `Path("src/a.py")` and returns the file and the place of the bracket that closes, 0 if it is something else.
func pathLiteral(t []codeToken, i int) (file string, end int) {
	if s := tokenAt(t, i+2); tokenAt(t, i+1).is("(") && s.kind == 's' && s.plain && tokenAt(t, i+3).is(")") {
		return s.text, i + 3
	}
	return "", 0
}

// pathOf judges `Path("a").read_text()` and the assignments that bindPaths has noted.
func (r *codeReader) pathOf(t []codeToken, i int) (end int, ok bool) {
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

// pathName judges a name of a path: it is assigned one, or asked for what is in the file.
func (r *codeReader) pathName(t []codeToken, i int) (end int, ok bool) {
	if begins(t, i) && tokenAt(t, i+1).is("=") && r.pathAt(t, i+2) > 0 {
		return i + 1, true
	}
	return r.pathMethod(t, i, r.paths[t[i].text])
}

// pathMethod judges what is asked of a path that ends at i: `.read_text()`, `.write_text(s)`, `.name`.
func (r *codeReader) pathMethod(t []codeToken, i int, files []string) (end int, ok bool) {
	how, ok := r.lang.paths[tokenAt(t, i+2).text]
	if !ok || !tokenAt(t, i+1).is(".") || how != "" && !tokenAt(t, i+3).is("(") {
		return 0, false
	}
	for _, file := range files {
		if how != "" {
			r.uses = append(r.uses, codeUse{how, file})
		}
	}
	return i + 2, true
}
