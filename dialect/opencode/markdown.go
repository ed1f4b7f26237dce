package opencode

import (
	"bytes"
	"path"
	"strings"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/internal/format/tree"
	"github.com/obstat/obstat/internal/format/yamlx"
)

// isMarkdown tells whether a file is an agent file.
func isMarkdown(name string) bool { return strings.EqualFold(path.Ext(name), ".md") }

// agentDirs are the directories that agent files lie in; the path below them is the agent's
// name.
var agentDirs = []string{"agent", "agents", "mode", "modes"}

// agentFile returns the agent that a Markdown file is about, and whether it lies
// in a directory of modes, whose agents are all primary.
func agentFile(name string) (agent string, primary bool) {
	parts := strings.Split(strings.ReplaceAll(name, `\`, "/"), "/")
	last := len(parts) - 1
	parts[last] = parts[last][:len(parts[last])-len(path.Ext(parts[last]))]
	for i := last - 1; i >= 0; i-- {
		for _, dir := range agentDirs {
			if parts[i] == dir {
				return strings.Join(parts[i+1:], "/"), strings.HasPrefix(dir, "mode")
			}
		}
	}
	return parts[last], false
}

// frontMatter returns data with everything but its front matter blanked, so
// that offsets stay the same; ok is false where there is none.
func frontMatter(data []byte) (masked []byte, ok bool) {
	start := 0
	if bytes.HasPrefix(data, []byte("\ufeff")) {
		start = len("\ufeff")
	}
	line, next := cutLine(data, start)
	if strings.TrimRight(string(line), " \t") != "---" {
		return nil, false
	}
	for at := next; at < len(data); {
		line, after := cutLine(data, at)
		if strings.TrimRight(string(line), " \t") == "---" {
			out := append(blank(data[:next]), data[next:at]...)
			return append(out, blank(data[at:])...), true
		}
		at = after
	}
	return nil, false
}

// cutLine returns the line that starts at an offset, without its end, and where
// the next one starts.
func cutLine(data []byte, at int) (line []byte, next int) {
	end := bytes.IndexByte(data[at:], '\n')
	if end < 0 {
		return data[at:], len(data)
	}
	return bytes.TrimSuffix(data[at:at+end], []byte("\r")), at + end + 1
}

// blank returns as many bytes that say nothing, lines kept.
func blank(data []byte) []byte {
	out := bytes.Repeat([]byte{' '}, len(data))
	for i, c := range data {
		if c == '\n' {
			out[i] = c
		}
	}
	return out
}

// markdown reads an agent file. One without front matter is a prompt and says
// nothing of permissions.
func (r *reader) markdown(f *dialect.File) *fileConfig {
	name, primary := agentFile(f.Name)
	a := agentConfig{name: name, pos: f.Pos(0)}
	r.File = f
	if masked, ok := frontMatter(f.Data); ok {
		root, problems := yamlx.Parse(masked, yamlx.Options{})
		r.Add(problems...)
		switch {
		case tree.Fatal(problems):
			return nil
		case root.Is(tree.Null):
		case !r.Is(root, "the front matter of an agent", tree.Object):
			return nil
		default:
			a = r.agent(name, root)
		}
	} else if bytes.HasPrefix(bytes.TrimLeft(f.Data, "\ufeff"), []byte("---")) {
		r.Fail(nil, obstat.CodeSyntax, "end it with a line of ---", "the front matter does not end")
	}
	if primary {
		a.mode = modePrimary
	}
	return &fileConfig{file: f, agents: []agentConfig{a}}
}
