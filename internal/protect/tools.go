package protect

import (
	"slices"
	"strconv"
	"strings"

	"github.com/obstat/obstat/effect"
)

// readers are the beginnings of the names of tools that only read.
var readers = []string{"read", "get", "list", "search", "find", "view", "stat", "show", "fetch", "describe", "query", "head", "tail", "tree", "directory_tree"}

// writing are words in the name of a tool that does not only read; removing are
// those of one that takes away what it is given, with everything in it.
var (
	writing = []string{"write", "replace", "append", "create", "update", "edit", "save", "set", "put", "insert", "patch", "copy", "upload", "download", "modify",
		"apply", "run", "exec", "execute"}
	removing = []string{"delete", "remove", "rm", "rmdir", "unlink", "move", "mv", "rename", "trash", "clean", "clear", "purge"}
)

// outputKeys are the names of fields that say where a tool puts what it reads.
var outputKeys = []string{"out", "output", "outfile", "output_file", "output_path", "outputpath", "out_path", "save_to", "save_path", "saveto", "savepath", "save_as", "dest", "destination",
	"target", "target_path", "download_to", "download_path", "local_path"}

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

// anyPath looks at a text that may be a path, however it is written, or a patch.
func (k *check) anyPath(s string) *Finding {
	if f := k.path(s, k.call.Dir, clip(s), false); f != nil {
		return f
	}
	if strings.Contains(s, "\n") && (strings.Contains(s, "+++") || strings.Contains(s, "***")) {
		if f := k.headers(s); f != nil {
			return f
		}
	}
	t, _, _ := strings.Cut(s, "\x00")
	t = strings.TrimSpace(t)
	t = unescape(t)
	if scheme, rest, ok := strings.Cut(t, ":"); ok && strings.EqualFold(scheme, "file") {
		t = rest
		if host, ok := strings.CutPrefix(rest, "//"); ok {
			t = host[max(strings.IndexByte(host, '/'), 0):]
		}
	}
	if t == s {
		return nil
	}
	return k.path(t, k.call.Dir, clip(s), false)
}

// unescape reads the bytes that an address writes as %41.
func unescape(s string) string {
	if len(s) > maxPath || !strings.Contains(s, "%") {
		return s
	}
	out := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		if s[i] == '%' && i+2 < len(s) {
			if n, err := strconv.ParseUint(s[i+1:i+3], 16, 8); err == nil {
				out = append(out, byte(n))
				i += 2
				continue
			}
		}
		out = append(out, s[i])
	}
	return string(out)
}

// headers looks at the files that a patch names.
func (k *check) headers(patch string) *Finding {
	for line := range strings.SplitSeq(patch, "\n") {
		line = strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(line, "***"):
			_, line, _ = strings.Cut(line, ":")
		case strings.HasPrefix(line, "+++"), strings.HasPrefix(line, "---"):
			line, _, _ = strings.Cut(line[3:], "\t")
		default:
			continue
		}
		line = strings.TrimSpace(line)
		for _, p := range []string{line, strings.TrimPrefix(strings.TrimPrefix(line, "a/"), "b/")} {
			if f := k.path(p, k.call.Dir, p, false); f != nil {
				return f
			}
		}
	}
	return nil
}

// removed looks at a path that a tool takes away.
func (k *check) removed(s string) *Finding {
	if s == "" || len(s) > maxPath || strings.ContainsAny(s, "\n\x00") {
		return nil
	}
	p := k.resolve(k.call.Dir, strings.TrimPrefix(s, "file://"))
	if p.Abs == "" || !k.exists(p.Abs) {
		return nil
	}
	return k.changes(&effect.Effect{Kind: effect.Delete, Path: p.Abs, Real: p.Real, Raw: s, Recursive: true, Command: -1})
}

// gitTool looks at a tool that does what git does.
func (k *check) gitTool() *Finding {
	verb, ok := strings.CutPrefix(toolName(k.call.Tool), "git_")
	if !ok {
		return nil
	}
	how, _ := gitChanges(strings.ReplaceAll(verb, "_", "-"), []wordT{{Text: "x", Known: true}})
	if how == "" {
		return nil
	}
	return k.gitTree(&effect.Command{Text: k.call.Tool}, fold(k.worktree(k.call.Dir)), how)
}
