package effect

import (
	_ "embed"
	"slices"
	"strings"
	"sync"

	"github.com/obstat/obstat/shell"
)

//go:embed kb/tools.txt
var toolsText string

// Tool is an entry of the catalogue.
type Tool struct {
	Name      string   // as the agent calls it
	Canonical string   // first word of its line in kb/tools.txt: shell, read, fetch, ...
	Command   []string // input fields that hold the command or patch, best first
	Paths     []string // input fields that hold paths
	From      []string // those of them whose content is read by another name then: of move_file the source
	Dir       []string // input fields that hold the working directory
	URL       []string // input fields that hold a URL
	Names     []string // input fields that hold a pattern of file names
	Server    string   // of an MCP tool
	Write     bool     // the paths are changed

	groups []fieldGroup // the fields of which it takes one
}

// catalogue has the tools of kb/tools.txt by their names, one for all names of a
// line.
var catalogue = sync.OnceValue(func() map[string]*Tool {
	tools := make(map[string]*Tool, 128)
	for line := range strings.Lines(toolsText) {
		canonical, rest := cutField(line)
		names, rest := cutField(rest)
		if canonical == "" || canonical[0] == '#' {
			continue
		}
		t := &Tool{Canonical: canonical}
		for field := range strings.FieldsSeq(rest) {
			t.field(field)
		}
		t.groups = t.fieldGroups()
		for name := range strings.SplitSeq(names, "|") {
			tools[name] = t
		}
	}
	return tools
})

// cutField cuts the first word off a line.
func cutField(s string) (word, rest string) {
	s = strings.TrimLeft(s, " \t")
	if i := strings.IndexAny(s, " \t\n"); i >= 0 {
		return s[:i], s[i:]
	}
	return s, ""
}

func (t *Tool) field(s string) {
	key, list, _ := strings.Cut(s, "=")
	names := strings.Split(list, ",")
	switch key {
	case "command":
		t.Command = names
	case "paths":
		t.Paths = names
	case "from":
		t.From = names
	case "dir":
		t.Dir = names
	case "url":
		t.URL = names
	case "name":
		t.Names = names
	case "write":
		t.Write = true
	}
}

// Tools returns the tools of the catalogue in its order, each name a tool.
func Tools() (out []Tool) {
	for line := range strings.Lines(toolsText) {
		canonical, rest := cutField(line)
		names, _ := cutField(rest)
		if canonical == "" || canonical[0] == '#' {
			continue
		}
		for name := range strings.SplitSeq(names, "|") {
			t, _ := Lookup(name)
			out = append(out, t)
		}
	}
	return out
}

// Lookup returns a tool's entry of the catalogue. Names of MCP tools, as the agents write
// them (mcp__server__tool, mcp_server_tool, MCP:tool), are all known as such.
func Lookup(tool string) (Tool, bool) {
	if of, ok := catalogue()[tool]; ok {
		t := *of
		t.Name = tool
		return t, true
	}
	for _, prefix := range [...]string{"mcp__", "mcp_", "MCP:"} {
		if rest, ok := strings.CutPrefix(tool, prefix); ok && rest != "" {
			server, _, _ := strings.Cut(rest, prefix[len(prefix)-1:])
			if prefix == "mcp__" {
				server, _, _ = strings.Cut(rest, "__")
			}
			return Tool{Name: tool, Canonical: "mcp", Server: server}, true
		}
	}
	if of, ok := folded()[strings.ToLower(tool)]; ok { // an agent may not care about capitals
		t := *of
		t.Name = tool
		return t, true
	}
	return Tool{Name: tool}, false
}

// folded has the tools of the catalogue by their names in lower case.
var folded = sync.OnceValue(func() map[string]*Tool {
	out := make(map[string]*Tool, len(catalogue()))
	for name, t := range catalogue() {
		if low := strings.ToLower(name); out[low] == nil || name == low {
			out[low] = t
		}
	}
	return out
})

// Names returns the names of the tools of a kind, sorted: of `patch`, apply_patch and others.
func Names(canonical string) (out []string) {
	for name, t := range catalogue() {
		if t.Canonical == canonical {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

// Shell reports whether the tool runs shell text.
func (t *Tool) Shell() bool { return isShell(t.Canonical) }

func isShell(canonical string) bool { return canonical == "shell" || canonical == "powershell" }

func (t *Tool) lang(l shell.Lang) shell.Lang {
	if t.Canonical == "powershell" {
		return shell.PowerShell
	}
	return l
}
