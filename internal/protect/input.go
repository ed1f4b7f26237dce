package protect

import (
	"encoding/json"
	"slices"
	"strings"
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

// codeKeys are the names that tools give to fields that hold code.
var codeKeys = []string{"command", "cmd", "code", "script", "args", "argv", "arguments", "query", "sql", "expression", "expr", "input", "source", "program", "stdin"}

// contentKeys are the names of fields that hold what is written, not where.
var contentKeys = []string{"content", "contents", "text", "body", "file_text", "new_string", "old_string", "new_str", "old_str", "newstring", "oldstring", "newtext", "oldtext",
	"new_source", "insert_text", "code_edit", "instructions", "description", "title", "message", "prompt"}

// input looks at the texts of a call that is no shell command: a tool may take
// paths under any name, in lists and in objects.
func (k *check) input() *Finding {
	code := false
	switch k.a.Tool.Canonical {
	case "shell", "powershell":
		return k.foreign()
	case "read", "list", "glob", "grep", "search", "fetch", "task", "skill", "none", "kill":
		return nil
	case "code":
		code = true
	}
	unknown := k.a.Tool.Canonical == "mcp" || k.a.Tool.Canonical == ""
	reads := unknown && onlyReads(k.call.Tool)
	var v any
	if json.Unmarshal(k.call.Input, &v) != nil {
		return nil // it was told to be none by the analysis, and no tool takes it
	}
	var f *Finding
	removes := unknown && toolSays(k.call.Tool, removing)
	walk(v, "", 0, func(key, s string) {
		key = fold(key)
		switch {
		case f != nil || reads && !slices.Contains(outputKeys, key) && !(key == "sql" && changesSQL(s)):
			return
		case !slices.Contains(contentKeys, key):
			if f = k.anyPath(s); f == nil && removes {
				f = k.removed(s)
			}
		}
		if f == nil && (code || unknown && slices.Contains(codeKeys, key)) {
			f = k.mentions(s)
		}
	})
	if f == nil && unknown {
		f = k.gitTool()
	}
	return f
}

// foreign is a command in a language that is not looked into.
func (k *check) foreign() *Finding {
	if k.a.Tool.Canonical == "powershell" || k.a.Source == "" {
		return k.mentions(string(k.call.Input))
	}
	return nil
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
		if f := k.path(target, k.call.Dir, s, strings.ContainsAny(target, "*?[")); f != nil {
			return f
		}
		if strings.ContainsAny(target, " \t\n") {
			inner := *k.call
			inner.Subjects = nil
			inner.Tool = "Bash"
			inner.Input, _ = json.Marshal(map[string]string{"command": target})
			if f := k.g.Check(&inner, k.world, nil); f != nil {
				return f
			}
		}
	}
	return nil
}
