package protect

import (
	"encoding/json"
	"net/url"
	"slices"
	"strings"

	"github.com/obstat/obstat/effect"
	"github.com/obstat/obstat/paths"
)

// maxNest bounds how deep an input is looked into.
const maxNest = 64

// walk hands every text in a JSON value, with the key it stands under, to visit.
func walk(v any, key string, depth int, visit func(key, text string)) {
	if depth > maxNest {
		return
	}
	switch v := v.(type) {
	case string:
		visit(key, v)
	case []any:
		for _, e := range v {
			walk(e, key, depth+1, visit)
		}
	case map[string]any:
		for k, e := range v {
			walk(e, k, depth+1, visit)
		}
	}
}

// The names that tools give to fields that hold code, what is written instead of where,
// and where a tool puts what it reads.
var (
	codeKeys    = []string{"command", "cmd", "code", "script", "args", "argv", "arguments", "query", "sql", "expression", "expr", "input", "source", "program", "stdin"}
	contentKeys = []string{"content", "contents", "text", "body", "file_text", "new_string", "old_string", "new_str", "old_str", "newstring", "oldstring", "newtext", "oldtext",
		"new_source", "insert_text", "code_edit", "instructions", "description", "title", "message", "prompt"}
	outputKeys = []string{"out", "output", "outfile", "output_file", "output_path", "outputpath", "out_path", "save_to", "save_path", "saveto", "savepath", "save_as", "dest", "destination",
		"target", "target_path", "download_to", "download_path", "local_path"}
)

// input looks at the texts of a call that is no shell command: a tool may take
// paths under any name, in lists and in objects.
func (k *check) input() *Finding {
	tool := k.a.Tool.Canonical
	switch tool {
	case "shell", "powershell":
		if tool == "powershell" || k.a.Source == "" {
			return k.mentions(string(k.call.Input))
		}
		return nil
	case "read", "list", "glob", "grep", "search", "fetch", "task", "skill", "none", "kill":
		return nil
	}
	unknown := tool == "mcp" || tool == ""
	reads, removes := unknown && onlyReads(k.call.Tool), unknown && toolSays(k.call.Tool, removing)
	var v any
	if json.Unmarshal(k.call.Input, &v) != nil {
		return nil // no tool takes it
	}
	var f *Finding
	walk(v, "", 0, func(key, s string) {
		key = strings.ToLower(key)
		switch {
		case f != nil || reads && !slices.Contains(outputKeys, key) && !(key == "sql" && changesSQL(s)):
			return
		case !slices.Contains(contentKeys, key):
			f = k.field(s, removes)
		}
		if f == nil && (tool == "code" || unknown && slices.Contains(codeKeys, key)) {
			f = k.mentions(s)
		}
	})
	if f == nil && unknown && !reads {
		f = k.gitTool()
	}
	return f
}

// field looks at a text that may be a path, however it is written, or a patch.
func (k *check) field(s string, removes bool) *Finding {
	if strings.Contains(s, "\n") {
		for line := range strings.SplitSeq(s, "\n") {
			if f := k.header(strings.TrimSpace(line)); f != nil {
				return f
			}
		}
	}
	if len(s) > maxPath {
		return nil
	}
	t, _, _ := strings.Cut(s, "\x00")
	t = strings.TrimSpace(t)
	if u, err := url.Parse(t); err == nil && strings.EqualFold(u.Scheme, "file") {
		t = u.Path
	}
	if t == "" || strings.Contains(t, "\n") {
		return nil
	}
	if f := k.text(t, k.call.Dir, clip(s), false); f != nil || !removes {
		return f
	}
	if p := k.resolve(k.call.Dir, t); p.Real != "" && k.exists(p.Abs) {
		return k.touches(paths.Under(p.Real), clip(s), there)
	}
	return nil
}

// header looks at a line of a patch that names a file.
func (k *check) header(line string) *Finding {
	switch {
	case strings.HasPrefix(line, "***"):
		_, line, _ = strings.Cut(line, ":")
	case strings.HasPrefix(line, "+++"), strings.HasPrefix(line, "---"):
		line, _, _ = strings.Cut(line[3:], "\t")
	default:
		return nil
	}
	line = strings.TrimSpace(line)
	for _, p := range []string{line, strings.TrimPrefix(strings.TrimPrefix(line, "a/"), "b/")} {
		if f := k.text(p, k.call.Dir, p, false); f != nil {
			return f
		}
	}
	return nil
}

// gitTool looks at a tool that does what a subcommand of git does.
func (k *check) gitTool() *Finding {
	verb, ok := strings.CutPrefix(toolName(k.call.Tool), "git_")
	if !ok {
		return nil
	}
	a := effect.AnalyzeCommand("git "+strings.ReplaceAll(verb, "_", "-")+" x", &effect.Options{Dir: k.call.Dir, FS: k.world})
	return (&check{g: k.g, call: k.call, world: k.world, a: a}).look()
}

// subjects looks at a call whose subjects were given: action:target.
func (k *check) subjects() *Finding {
	for _, s := range k.call.Subjects {
		verb, target, ok := strings.Cut(strings.TrimPrefix(s, "tool:"), ":")
		if !ok {
			verb, target = "", s
		}
		if onlyReads(verb) {
			continue
		}
		if f := k.text(target, k.call.Dir, s, strings.ContainsAny(target, "*?[")); f != nil {
			return f
		}
		if strings.ContainsAny(target, " \t\n") {
			inner := *k.call
			inner.Subjects, inner.Tool = nil, "Bash"
			inner.Input, _ = json.Marshal(map[string]string{"command": target})
			if f := k.g.check(&inner, k.world, nil); f != nil {
				return f
			}
		}
	}
	return nil
}

// readers are the beginnings of the names of tools that only read; writing are words in
// the name of a tool that does not only read, and removing those of one that takes away
// what it is given, with everything in it.
var (
	readers = []string{"read", "get", "list", "search", "find", "view", "stat", "show", "fetch", "describe", "query", "head", "tail", "tree", "directory_tree"}
	writing = []string{"write", "replace", "append", "create", "update", "edit", "save", "set", "put", "insert", "patch", "copy", "upload", "download", "modify",
		"apply", "run", "exec", "execute"}
	removing = []string{"delete", "remove", "rm", "rmdir", "unlink", "move", "mv", "rename", "trash", "clean", "clear", "purge"}
)

// toolName returns the name that a server gives its tool, folded.
func toolName(tool string) string {
	name := fold(tool)
	if i := strings.LastIndex(name, "__"); i >= 0 {
		name = name[i+2:]
	}
	return name
}

// toolSays tells whether one of the words is in the name of a tool.
func toolSays(tool string, words []string) bool {
	return slices.ContainsFunc(strings.FieldsFunc(toolName(tool), func(r rune) bool { return r == '_' || r == '-' || r == '.' }), func(w string) bool {
		return slices.Contains(words, w)
	})
}

// onlyReads tells whether a tool of a server says that it reads, and nothing
// else.
func onlyReads(tool string) bool {
	name := toolName(tool)
	for _, r := range readers {
		rest, ok := strings.CutPrefix(name, r)
		if ok && (rest == "" || rest[0] == '_' || rest[0] == '-') {
			return !strings.Contains(rest, "to_file") && !toolSays(rest, writing) && !toolSays(rest, removing)
		}
	}
	return false
}

// changesSQL tells whether a query does more than to look.
func changesSQL(s string) bool {
	s = strings.ToLower(strings.TrimSpace(s))
	return !strings.HasPrefix(s, "select") || strings.Contains(s, "into outfile") || strings.Contains(s, "into dumpfile")
}
