package effect

import (
	"cmp"
	"errors"
	"slices"
	"strings"

	"github.com/obstat/obstat/effect/internal/word"
	"github.com/obstat/obstat/effect/kb"
	"github.com/obstat/obstat/internal/format/jsonx"
	"github.com/obstat/obstat/internal/format/tree"
	"github.com/obstat/obstat/shell"
)

// Analyze analyses a call of a tool. A tool that is not in the catalogue, or an
// input that the tool would not take, is a gap.
func Analyze(req *Request) *Analysis {
	tool, known := Lookup(req.Tool)
	a := newAnalyzer(&req.Options)
	a.an.Tool = tool.Canonical
	in := input{text: req.Command, given: req.Command != ""}
	if !in.given && (known || len(req.Input) > 0) { // a call of another tool may come without an input
		if err := in.decode(req.Input); err != nil {
			a.gap(BadInput, err.Error(), shell.Span{}, -1)
			return a.finish()
		}
	}
	a.opts.Lang = tool.lang(req.Lang)
	switch {
	case tool.Shell():
		a.shellTool(&tool, &in)
	case !known || tool.Canonical == "mcp":
		a.otherTool(&tool, &in)
	default:
		a.fileTool(&tool, &in)
	}
	return a.finish()
}

// known tells the shell parser the values of $HOME and $PWD, if the text may ask.
func (a *analyzer) known(text, dir string) map[string]string {
	if strings.IndexByte(text, '$') < 0 {
		return nil
	}
	home := ""
	if a.opts.FS != nil {
		home, _ = a.opts.FS.Home("")
	}
	if a.vars["HOME"] != home || a.vars["PWD"] != dir { // most often they are those of the analysis before
		a.vars = map[string]string{}
		if home != "" {
			a.vars["HOME"] = home
		}
		if dir != "" {
			a.vars["PWD"] = dir
		}
	}
	return a.vars
}

// input is a tool's decoded input.
type input struct {
	text   string
	given  bool
	keys   []string // in order
	values []any
}

// value returns the value of a field; ok is false if there is none.
func (in *input) value(key string) (v any, ok bool) {
	if i := slices.Index(in.keys, key); i >= 0 {
		return in.values[i], true
	}
	return nil, false
}

var errInput = errors.New("the input is not a JSON object")

// decode reads a JSON object. It refuses one that names a field twice, or in two
// spellings: which of the two the tool would take is not known.
func (in *input) decode(data []byte) error {
	var s jsonx.Scanner
	s.Reset(string(data), jsonx.Options{NUL: true, NoMark: true, Fold: 1})
	if s.Next() != jsonx.ObjectStart {
		return errInput
	}
	for s.Next() == jsonx.Key {
		key := s.Text
		v, ok := s.Any(s.Next())
		if !ok {
			break
		}
		in.keys, in.values = append(in.keys, key), append(in.values, v)
	}
	switch p := s.Err(); {
	case p != nil && p.Code == tree.CodeDuplicate:
		return errors.New("the input cannot be read: " + p.Msg)
	case p != nil || s.Next() != jsonx.End:
		return errInput
	}
	return nil
}

// str returns the first of the fields that says something, or else the first that is there; ok is
// false if it is not a string. A null is not there.
func (in *input) str(names []string) (value string, there, ok bool) {
	for _, n := range names {
		v, has := in.value(n)
		if !has || v == nil {
			continue
		}
		s, isString := v.(string)
		if !isString || strings.TrimSpace(s) != "" {
			return s, true, isString
		}
		there = true
	}
	return "", there, true
}

// words returns the argument vector of a command that is given as a list.
func (in *input) words(names []string) []string {
	for _, n := range names {
		v, _ := in.value(n)
		list, ok := v.([]any)
		if !ok {
			continue
		}
		var out []string
		for _, v := range list {
			s, ok := v.(string)
			if !ok {
				return nil
			}
			out = append(out, s)
		}
		return out
	}
	return nil
}

func (a *analyzer) shellTool(tool *Tool, in *input) {
	text := in.text
	dir := a.opts.Dir
	if !in.given {
		argv := in.words(tool.Command)
		s, there, ok := in.str(tool.Command)
		if argv == nil && (!there || !ok) {
			a.gap(BadInput, "the command is not a text", shell.Span{}, -1)
			return
		}
		d, there, ok := in.str(tool.Dir)
		if !ok {
			a.gap(BadInput, "the working directory is not a text", shell.Span{}, -1)
			dir = ""
		}
		if ok && there && d != "" {
			dir = a.chdir(dir, &shell.Word{Text: d, Known: ok, Tilde: true})
		}
		if argv != nil {
			a.vector(argv, dir)
			return
		}
		text = s
	}
	a.an.Source = text
	a.script(text, &frame{dir: dir, owner: -1})
}

// vector analyses a command that is given as a list of words: no shell is in between.
func (a *analyzer) vector(argv []string, dir string) {
	if len(argv) == 0 {
		a.gap(BadInput, "an empty command", shell.Span{}, -1)
		return
	}
	words, typed := make([]shell.Word, len(argv)), make([]string, len(argv))
	for i, s := range argv {
		words[i], typed[i] = shell.Word{Text: s, Raw: s, Known: true}, asTyped(s)
	}
	a.an.Source = strings.Join(typed, " ")
	a.command(words, nil, &frame{dir: dir, owner: -1})
}

// asTyped returns a word in the quotes in which a shell takes it for the same one.
func asTyped(s string) string {
	if s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return r > 'z' || r < '%' || strings.ContainsRune("&'()*;<>?[\\]^`", r)
	}) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// fileTool analyses a tool that works on paths or addresses.
func (a *analyzer) fileTool(tool *Tool, in *input) {
	switch tool.Canonical {
	case "none", "todo", "question", "plan":
	case "patch":
		a.patchTool(tool, in)
	case "fetch":
		a.fetchTool(tool, in)
	case "search":
		e := toolDoes(Connect, "search")
		e.Harmless = true
		a.effect(e)
	case "task", "skill":
		a.effect(toolDoes(Code, "starts an agent, whose calls are judged themselves"))
	case "code":
		e := toolDoes(Code, "inline code")
		e.Tags = Inline
		a.effect(e)
		a.gap(InlineCode, "code that is not looked into", shell.Span{}, -1)
		a.codeLines(tool, in)
	case "kill":
		a.effect(toolDoes(System, "stops a process"))
	default:
		a.pathTool(tool, in)
	}
}

// toolDoes is an effect of a tool that names nothing.
func toolDoes(k Kind, detail string) Effect {
	return Effect{Kind: k, Detail: detail, Certain: true, Origin: Origin{Command: -1}}
}

// effect is an effect of a tool on a path or address.
func (t *Tool) effect(k Kind, raw string) Effect {
	e := toolDoes(k, "")
	e.Program, e.Raw = t.Name, raw
	return e
}

func (a *analyzer) pathTool(tool *Tool, in *input) {
	kind := Read
	switch {
	case tool.Canonical == "delete":
		kind = Delete
	case tool.Write:
		kind = Write
	}
	found := false
	for i, key := range in.keys {
		if slices.Contains(tool.Paths, key) {
			found = a.pathField(tool, kind, in.values[i]) || found
		}
		if slices.Contains(tool.From, key) {
			a.pathField(tool, Read, in.values[i])
		}
		if slices.Contains(tool.Names, key) {
			a.nameField(tool, in.values[i])
		}
		if uri, ok := in.values[i].(string); ok && key == "uri" && hasScheme(uri, "file:") {
			a.path(tool, kind, filePath(uri))
			found = true
		}
	}
	defer a.nameEffects()
	if found {
		return
	}
	if tool.Write || tool.Canonical == "read" {
		a.gap(BadInput, "no path", shell.Span{}, -1)
		// Another program's tool of the same name may have its path elsewhere: `read {"id": ".env"}`.
		a.otherObject(tool, &object{keys: in.keys, values: in.values, dir: a.opts.Dir})
		return
	}
	a.path(tool, Read, ".")
}

// pathField gives a path, or a list of paths, its effects.
func (a *analyzer) pathField(tool *Tool, kind Kind, v any) bool {
	switch v := v.(type) {
	case string:
		a.path(tool, kind, v)
		return true
	case []any:
		ok := len(v) > 0
		for _, e := range v {
			ok = a.pathField(tool, kind, e) && ok
		}
		return ok
	case map[string]any:
		return a.pathField(tool, kind, cmp.Or(v["path"], v["file_path"]))
	}
	a.gap(BadInput, "a path is not a text", shell.Span{}, -1)
	return true
}

func (a *analyzer) path(tool *Tool, kind Kind, p string) {
	w := shell.Word{Text: p, Known: true, Tilde: true, Glob: word.HasGlob(p) && kind == Read}
	e := tool.effect(kind, p)
	if strings.HasPrefix(p, "-") && !tool.Write {
		a.gap(BadInput, "a path that looks like a flag", shell.Span{}, -1)
	}
	a.place(&e, &w, &frame{dir: a.opts.Dir})
	if e.Path == "" {
		a.gap(BadInput, "where the path leads is not known", shell.Span{}, -1)
	}
	e.isDir = kind == Delete && a.dirAt(&e)
	switch tool.Canonical {
	case "list", "glob":
		e.Secret, e.Detail, e.Tags = false, "list", List
	case "grep":
		e.Recursive = true
	}
	e.Harmless = kind == Read && !e.Secret
	a.effect(e)
}

func (a *analyzer) fetchTool(tool *Tool, in *input) {
	for i, key := range in.keys {
		if !slices.Contains(tool.URL, key) {
			continue
		}
		for addr := range strings.FieldsSeq(text(in.values[i])) {
			scheme, host := urlHost(addr)
			switch {
			case scheme == "file":
				a.path(tool, Read, strings.TrimPrefix(addr, "file://"))
			case scheme != "" || key != "prompt":
				e := tool.effect(Connect, addr)
				e.Host = host
				a.effect(e)
			}
		}
	}
	if len(a.an.Effects) == 0 {
		e := tool.effect(Connect, "")
		e.Certain = false
		a.effect(e)
		a.gap(BadInput, "no address", shell.Span{}, -1)
	}
	for i, key := range in.keys { // where the download goes
		if slices.Contains(tool.Paths, key) {
			a.pathField(tool, Write, in.values[i])
		}
	}
}

func text(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case []any:
		var b strings.Builder
		for _, e := range v {
			b.WriteString(text(e))
			b.WriteByte(' ')
		}
		return b.String()
	}
	return ""
}

// patchTool reads the file headers of a patch in the *** Begin Patch format.
func (a *analyzer) patchTool(tool *Tool, in *input) {
	body := in.text
	if !in.given {
		s, there, ok := in.str(tool.Command)
		if !there || !ok {
			if argv := in.words(tool.Command); len(argv) == 2 {
				s, ok = argv[1], true
			} else {
				a.gap(BadInput, "no patch", shell.Span{}, -1)
				return
			}
		}
		body = s
	}
	n := len(a.an.Effects)
	for line := range strings.SplitSeq(body, "\n") {
		line = strings.TrimSuffix(line, "\r")
		switch {
		case strings.HasPrefix(line, "*** Add File: "):
			a.path(tool, Write, line[len("*** Add File: "):])
		case strings.HasPrefix(line, "*** Update File: "):
			a.path(tool, Write, line[len("*** Update File: "):])
		case strings.HasPrefix(line, "*** Delete File: "):
			a.path(tool, Delete, line[len("*** Delete File: "):])
		case strings.HasPrefix(line, "*** Move to: "):
			a.path(tool, Write, line[len("*** Move to: "):])
		case strings.HasPrefix(line, "+++ ") || strings.HasPrefix(line, "--- "):
			a.unified(tool, line[4:])
		}
	}
	if len(a.an.Effects) == n {
		a.gap(BadInput, "the patch names no file", shell.Span{}, -1)
	}
}

// unified is a header of a unified diff. A line of a patch may look like one: a path too
// many is judged, none is missed.
func (a *analyzer) unified(tool *Tool, p string) {
	p, _, _ = strings.Cut(p, "\t")
	if p == "/dev/null" || p == "" {
		return
	}
	if rest, ok := strings.CutPrefix(p, "a/"); ok {
		p = rest
	} else if rest, ok := strings.CutPrefix(p, "b/"); ok {
		p = rest
	}
	a.path(tool, Write, p)
}

var (
	readVerbs  = kb.Table("!tool-reads")
	writeVerbs = kb.Table("!tool-writes")
)

// Says reports whether the name of a server's tool says that it reads, and that it writes.
func Says(name string) (reads, writes bool) {
	if i := strings.LastIndex(name, "__"); i >= 0 {
		name = name[i+2:]
	}
	between := func(r rune) bool { return r == '_' || r == '-' || r == '.' }
	for w := range strings.FieldsFuncSeq(strings.ToLower(name), between) {
		reads = reads || readVerbs().Has(w)
		writes = writes || writeVerbs().Has(w)
	}
	return reads, writes
}
