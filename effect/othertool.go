package effect

import (
	"maps"
	"net/netip"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/obstat/obstat/effect/internal/word"
	"github.com/obstat/obstat/effect/kb"
	"github.com/obstat/obstat/shell"
)

// Fields of a tool of which nothing is known are taken by their names and by the shape of their values:
// `{"host": "h.example", "port": 443}` connects, `{"dir": "/srv", "name": ".env"}` is one path.
var (
	pathKeys = kb.Table("!path-fields")
	textKeys = kb.Table("!text-fields")
	baseKeys = kb.Table("!base-fields")
	leafKeys = kb.Table("!leaf-fields")
	globKeys = kb.Table("!glob-fields")
	hostKeys = kb.Table("!host-fields")
	lineKeys = kb.Table("!line-fields")
	progKeys = kb.Table("!program-fields")
	argsKeys = kb.Table("!argument-fields")
)

// textKey reports whether a field holds a text, not a place.
func textKey(key string) bool {
	return textKeys().Has(key) && !strings.Contains(key, "file") && !lineKeys().Has(key)
}

// commandKey reports whether a field holds a command, by its name: `cmd`, `shell_command`, `commandLine`.
func commandKey(key string) bool {
	return classOf(key)&commandField != 0 && (strings.Contains(key, "command") || strings.Contains(key, "cmd"))
}

// A Line is a text that a tool of which nothing is known may run as a command.
type Line struct {
	Text string
	Dir  string
	Sure bool // a field with the name of a command holds it
}

// maxNested is how deep the fields of an input are looked at.
const maxNested = 8

// object is the fields of an input, or of an object in it.
type object struct {
	keys   []string
	values []any
	dir    string // that its commands run in
	within string // name of the field that holds it
	depth  int
}

// otherTool analyses a tool that is not known, by its fields alone.
func (a *analyzer) otherTool(tool *Tool, in *input) {
	a.gap(UnknownTool, "what the tool does is not known", shell.Span{}, -1)
	a.otherObject(tool, &object{keys: in.keys, values: in.values, dir: a.opts.Dir})
}

// otherObject is an object: each of its fields, and those that belong together.
func (a *analyzer) otherObject(tool *Tool, o *object) {
	for i, key := range o.keys {
		if dir, ok := o.values[i].(string); ok && classOf(key)&dirField != 0 && dir != "" {
			o.dir = a.chdir(o.dir, &shell.Word{Text: dir, Known: true, Tilde: true})
		}
	}
	joined := a.programOf(o)
	for i, key := range o.keys {
		if !a.afford(1) {
			return
		}
		low := strings.ToLower(key)
		if a.pathText(key) || pathKeys().Has(o.within) && strings.ContainsAny(key, "./") { // {"files": {"a.go": "…"}}
			a.otherPath(tool, key)
		}
		if joined && progKeys().Has(low) {
			continue
		}
		a.otherField(tool, o, low, o.values[i])
	}
	a.joinedPaths(tool, o)
	a.hostAndPort(tool, o)
}

// programOf is a command whose program and arguments are fields: `{"command": "rm", "args": ["x"]}`.
func (a *analyzer) programOf(o *object) bool {
	var argv []string
	for i, key := range o.keys {
		s, ok := o.values[i].(string)
		if ok && progKeys().Has(strings.ToLower(key)) && s != "" && strings.IndexByte(s, ' ') < 0 {
			argv = []string{s}
			break
		}
	}
	if argv == nil {
		return false
	}
	for i, key := range o.keys {
		if !argsKeys().Has(strings.ToLower(key)) {
			continue
		}
		switch v := o.values[i].(type) {
		case string:
			argv = append(argv, strings.Fields(v)...)
		case []any:
			for _, w := range v {
				s, _ := w.(string)
				argv = append(argv, s)
			}
		}
	}
	if len(argv) > 1 {
		a.vector(argv, o.dir)
		a.line(a.an.Source, o.dir, true)
	}
	return len(argv) > 1
}

// line notes a text that the tool may run.
func (a *analyzer) line(text, dir string, sure bool) {
	if strings.TrimSpace(text) != "" && a.afford(1+len(text)/bytesOfWork) {
		a.an.Lines = append(a.an.Lines, Line{text, dir, sure})
	}
}

var (
	shellLanguages = kb.Table("!shell-languages")
	nodeLanguages  = kb.Table("!node-languages")
	languageFields = kb.Table("!language-fields")
)

// codeLines notes the code of a tool that runs code as the command that runs the same: a rule about `rm` is asked of
// `{"code": "os.system('rm x')"}` as it is of `python3 -c "os.system('rm x')"`.
func (a *analyzer) codeLines(tool *Tool, in *input) {
	language := strings.ToLower(tool.Name) // a tool may be called javascript
	for i, key := range in.keys {
		if s, ok := in.values[i].(string); ok && languageFields().Has(strings.ToLower(key)) {
			language = strings.ToLower(s)
		}
	}
	for i, key := range in.keys {
		code, ok := in.values[i].(string)
		switch {
		case !ok || languageFields().Has(strings.ToLower(key)):
		case shellLanguages().Has(language):
			a.line(code, a.opts.Dir, true)
		case nodeLanguages().Has(language):
			a.line("node -e "+shell.Quote(code), a.opts.Dir, false)
		default:
			a.line("python3 -c "+shell.Quote(code), a.opts.Dir, false)
		}
	}
}

// otherField is a field, or one inside another: `{"options": {"path": ".env"}}`.
func (a *analyzer) otherField(tool *Tool, o *object, key string, v any) {
	switch v := v.(type) {
	case string:
		a.otherString(tool, o, key, v)
	case []any:
		a.otherList(tool, o, key, v)
	case map[string]any:
		in := &object{keys: slices.Sorted(maps.Keys(v)), dir: o.dir, within: key, depth: o.depth + 1}
		for _, k := range in.keys {
			in.values = append(in.values, v[k])
		}
		if in.depth <= maxNested && a.afford(1) {
			a.otherObject(tool, in)
		}
	}
}

// otherList is a list: of words of one command, of commands, of anything.
func (a *analyzer) otherList(tool *Tool, o *object, key string, v []any) {
	argv := (&input{keys: []string{key}, values: []any{v}}).words([]string{key})
	switch {
	case len(argv) > 1 && commandKey(key):
		a.vector(argv, o.dir)
		a.line(a.an.Source, o.dir, true)
		if !strings.HasSuffix(key, "s") {
			return
		}
	case len(argv) > 1 && classOf(key)&commandField != 0: // {"args": ["rm", "x"]}
		typed := make([]string, len(argv))
		for i, w := range argv {
			typed[i] = asTyped(w)
		}
		a.line(strings.Join(typed, " "), o.dir, false)
	}
	in := *o
	in.depth++
	for i := 0; i < len(v) && in.depth <= maxNested && a.afford(1); i++ {
		a.otherField(tool, &in, key, v[i])
	}
}

// otherString is a text: a command, JSON, an address, a path or nothing of these, by its field and its shape.
func (a *analyzer) otherString(tool *Tool, o *object, key, v string) {
	text := textKey(key)
	if inner, ok := embedded(v); ok && !text && o.depth < maxNested { // {"payload": "{\"path\": \".env\"}"}
		in := *o
		in.depth++
		a.otherField(tool, &in, key, inner)
		return
	}
	switch {
	case commandKey(key):
		a.an.Source = v
		a.script(v, &frame{dir: o.dir, owner: -1})
		a.line(v, o.dir, true)
		return
	case lineKeys().Has(key) || lineKeys().Has(o.within) && !text:
		a.otherLine(o, key, v)
	}
	a.otherText(tool, key, v)
}

// otherLine is a text that may be a command. The name of a shell is none, nor is code that begins with a word that
// is no program: `{"code": "const rm = 1"}`.
func (a *analyzer) otherLine(o *object, key, v string) {
	first := v
	if words := strings.Fields(v); len(words) > 0 {
		first = words[0]
	}
	program, _ := programName(first)
	if v != "" && !shellName(v) && (!textKeys().Has(key) || builtin.lookup(program) != nil) {
		a.line(v, o.dir, false)
	}
}

// embedded reads a text that is a JSON object or list.
func embedded(v string) (any, bool) {
	v = strings.TrimSpace(v)
	if len(v) < 2 || v[0] != '{' && v[0] != '[' || len(v) > maxEmbedded {
		return nil, false
	}
	var in input
	if in.decode([]byte(`{"":`+v+`}`)) != nil || len(in.values) != 1 {
		return nil, false
	}
	return in.values[0], true
}

// maxEmbedded bounds the JSON that is looked for in a text.
const maxEmbedded = 64 << 10

func (a *analyzer) otherText(tool *Tool, key, v string) {
	switch {
	case v == "" || len(v) > maxPattern || strings.IndexByte(v, '\n') >= 0:
	case hasScheme(v, "file:"):
		a.otherPath(tool, filePath(v))
	case strings.Contains(v, "://") && !textKey(key):
		words := strings.Fields(v)
		for i := 0; i < len(words) && len(words) <= maxRequest; i++ { // `POST http://h.example/x`
			if strings.Contains(words[i], "://") {
				a.otherHost(tool, words[i])
			}
		}
	case strings.Contains(v, "://"):
		if strings.IndexByte(v, ' ') < 0 {
			a.otherHost(tool, v)
		}
	case hostKeys().Has(key) && hostShaped(v):
		a.otherHost(tool, v)
	case globKeys().Has(key):
		if plainPattern(v) {
			a.otherPath(tool, v)
		}
	case pathKeys().Has(key) || !textKey(key) && a.pathText(v):
		if _, err := netip.ParseAddrPort(v); err == nil { // {"target": "203.0.113.9:80"}
			a.otherHost(tool, v)
			return
		}
		a.otherPath(tool, v)
	}
}

// maxRequest is how many words a text with an address has at most that is no prose.
const maxRequest = 3

// plainPattern reports whether a pattern is one of file names, `**/.env` or `.e*v`, not a regular expression such as
// `.*` or `\.env`.
func plainPattern(v string) bool {
	name := path.Base(v)
	named := strings.ContainsFunc(name, func(r rune) bool { return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' })
	dotted := strings.Contains(name, ".") || strings.Contains(v, "/")
	return named && dotted && !strings.ContainsAny(v, ` \()+^$|"'<>=`) && (word.HasGlob(v) || v[0] == '.')
}

// hostShaped reports whether a text is a host: `h.example`, `h.example:443/x`, `//h/x`, `203.0.113.9`.
func hostShaped(v string) bool {
	rest, slashes := strings.CutPrefix(v, "//")
	_, host := urlHost(rest)
	if _, err := netip.ParseAddr(host); err == nil || host == "" {
		return host != ""
	}
	last := host[strings.LastIndexByte(host, '.')+1:]
	letters := strings.Trim(strings.ToLower(last), "abcdefghijklmnopqrstuvwxyz") == ""
	valid := strings.Trim(strings.ToLower(host), "abcdefghijklmnopqrstuvwxyz0123456789-._") == ""
	return valid && letters && (slashes || len(last) < len(host)-1 && len(last) > 1)
}

// otherHost is an address that the tool may connect to.
func (a *analyzer) otherHost(tool *Tool, v string) {
	_, host := urlHost(strings.TrimPrefix(v, "//"))
	e := tool.effect(Connect, v)
	e.Host, e.Certain = host, false
	a.effect(e)
}

// hostAndPort is a host without a dot that stands beside a port: `{"host": "db", "port": 5432}`.
func (a *analyzer) hostAndPort(tool *Tool, o *object) {
	port := slices.ContainsFunc(o.keys, func(k string) bool { return strings.HasSuffix(strings.ToLower(k), "port") })
	for i, key := range o.keys {
		v, ok := o.values[i].(string)
		simple := ok && v != "" && !strings.ContainsAny(v, " /.:")
		if port && simple && hostKeys().Has(strings.ToLower(key)) {
			a.otherHost(tool, v)
		}
	}
}

// joinedPaths is a path whose directory and name are fields: `{"dir": "/srv", "name": ".env"}`.
func (a *analyzer) joinedPaths(tool *Tool, o *object) {
	for i, base := range o.keys {
		dir, ok := o.values[i].(string)
		if !ok || dir == "" || !baseKeys().Has(strings.ToLower(base)) || strings.Contains(dir, "://") {
			continue
		}
		for j, leaf := range o.keys {
			name, ok := o.values[j].(string)
			relative := ok && name != "" && len(name) < maxPattern && !strings.ContainsAny(name[:1], "/~")
			if i == j || !relative || !leafKeys().Has(strings.ToLower(leaf)) || !a.afford(1) {
				continue
			}
			if !strings.ContainsAny(name, " \n") && !strings.Contains(name, "://") {
				a.otherPath(tool, strings.TrimSuffix(dir, "/")+"/"+name)
			}
		}
	}
}

// pathText reports whether a text that stands anywhere is a path: `.env`, `~/x`, `src/../x`, one in the project.
func (a *analyzer) pathText(v string) bool {
	if strings.ContainsAny(v, " \n") || len(v) < 2 || len(v) > maxPattern || strings.Contains(v, "://") {
		return false
	}
	dotted := v[0] == '.' && (v[1] == '/' || v[1] == '.' || v[1] >= 'a' && v[1] <= 'z')
	inside := a.opts.Dir != "" && strings.HasPrefix(v, strings.TrimSuffix(a.opts.Dir, "/")+"/")
	return dotted || inside || strings.HasPrefix(v, "~/") || strings.Contains(v, "/.")
}

func hasScheme(v, scheme string) bool {
	return len(v) > len(scheme) && strings.EqualFold(v[:len(scheme)], scheme)
}

// filePath returns the path of an address such as `file://localhost/x%2fy`.
func filePath(uri string) string {
	p := uri[len("file:"):]
	if rest, ok := strings.CutPrefix(p, "//"); ok {
		if i := strings.IndexByte(rest, '/'); i >= 0 && (i == 0 || strings.EqualFold(rest[:i], "localhost")) {
			rest = rest[i:]
		}
		p = "/" + strings.TrimLeft(rest, "/")
	}
	if plain, err := url.PathUnescape(p); err == nil {
		return plain
	}
	return p
}

// otherPath is a path that a tool of which nothing is known may read and may write.
func (a *analyzer) otherPath(tool *Tool, p string) {
	from := len(a.an.Effects)
	a.path(tool, Read, p)
	if tool.Canonical != "read" { // a tool that is known to read has its path in another field
		a.path(tool, Write, p)
	}
	for i := from; i < len(a.an.Effects); i++ {
		a.an.Effects[i].Certain = false
	}
}
