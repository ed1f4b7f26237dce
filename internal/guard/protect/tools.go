package protect

import (
	"encoding/json"
	"net/url"
	"slices"
	"strings"

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

// input looks at the texts of a call that is no shell command: a tool may take
// paths under any name, in lists and in objects.
func (k *check) input() *Finding {
	tool := k.a.Tool
	switch {
	case tool == "powershell", tool == "shell" && k.a.Source == "":
		return k.mentions(string(k.call.Input))
	case tool == "shell", is("harmless", tool):
		return nil
	}
	unknown := tool == "mcp" || tool == ""
	reads, removes := unknown && onlyReads(k.call.Tool), unknown && toolSays(k.call.Tool, "takesoff")
	var v any
	if json.Unmarshal(k.call.Input, &v) != nil {
		return nil // no tool takes it
	}
	var f *Finding
	walk(v, "", 0, func(key, s string) {
		key = strings.ToLower(key)
		switch {
		case f != nil || reads && !is("output", key) && !(key == "sql" && changesSQL(s)):
			return
		case !is("content", key):
			f = k.field(s, removes)
		}
		if f == nil && (tool == "code" || unknown && is("code", key)) {
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

// gitTool looks at a tool that does the work of a subcommand of git.
func (k *check) gitTool() *Finding {
	verb, ok := strings.CutPrefix(toolName(k.call.Tool), "git_")
	if !ok {
		return nil
	}
	return k.run("git "+strings.ReplaceAll(verb, "_", "-")+" x", k.call.Dir)
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
			if f := k.run(target, k.call.Dir); f != nil {
				return f
			}
		}
	}
	return nil
}

// toolName returns the name that a server gives its tool, folded.
func toolName(tool string) string {
	name := fold(tool)
	if i := strings.LastIndex(name, "__"); i >= 0 {
		name = name[i+2:]
	}
	return name
}

// toolSays tells whether a word of a list is in the name of a tool.
func toolSays(tool, list string) bool {
	return slices.ContainsFunc(strings.FieldsFunc(toolName(tool), func(r rune) bool {
		return r == '_' || r == '-' ||
			r == '.'
	}), func(w string) bool {
		return is(list, w)
	})
}

// onlyReads tells whether a tool of a server says that it reads, and nothing
// else.
func onlyReads(tool string) bool {
	name := toolName(tool)
	for _, r := range listed("reads") {
		rest, ok := strings.CutPrefix(name, r)
		if ok && (rest == "" || rest[0] == '_' || rest[0] == '-') {
			return !strings.Contains(rest, "to_file") && !toolSays(rest, "writes") && !toolSays(rest, "takesoff")
		}
	}
	return false
}

// changesSQL tells whether a query does more than to look.
func changesSQL(s string) bool {
	s = strings.ToLower(strings.TrimSpace(s))
	return !strings.HasPrefix(s, "select") || strings.Contains(s, "into outfile") || strings.Contains(s, "into dumpfile")
}
