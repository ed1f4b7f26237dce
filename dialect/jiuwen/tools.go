package jiuwen

import (
	"slices"
	"strings"
)

// A category is the kind of text that a tool's parameter rules look at.
type category string

// The categories of the document, section 2.2. A tool in none of them has no
// parameter rules.
const (
	shellTools   category = "shell"
	pathTools    category = "path"
	networkTools category = "network"
)

// categories lists the tools of each category by their exact names.
var categories = map[string]category{
	"bash": shellTools, "mcp_exec_command": shellTools, "create_terminal": shellTools,

	"read_file": pathTools, "write_file": pathTools, "edit_file": pathTools, "read_text_file": pathTools,
	"write_text_file": pathTools, "write": pathTools, "read": pathTools, "glob_file_search": pathTools,
	"glob": pathTools, "list_dir": pathTools, "list_files": pathTools, "grep": pathTools, "search_replace": pathTools,

	"mcp_fetch_webpage": networkTools, "mcp_free_search": networkTools, "mcp_paid_search": networkTools,
}

// toolsOf returns the tools of a category, sorted.
func toolsOf(c category) []string {
	var out []string
	for name, of := range categories {
		if of == c {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

// aliases are the names that the host gives to some tools before it asks.
var aliases = map[string]string{
	"free_search": "mcp_free_search", "paid_search": "mcp_paid_search",
	"fetch_webpage": "mcp_fetch_webpage", "exec_command": "mcp_exec_command",
}

// pathKeys are the arguments whose text is a path whatever it looks like, in
// the order in which an approval looks for one.
var pathKeys = []string{"path", "file_path", "target_file", "file", "old_path", "new_path", "source_path",
	"dest_path", "directory", "dir"}

// pathLike tells whether an argument of that name and text is taken for a path.
func pathLike(key, text string) bool {
	if slices.Contains(pathKeys, key) || strings.ContainsAny(text, `/\`) {
		return true
	}
	r := []rune(text[:min(len(text), 8)])
	return len(r) > 1 && r[1] == ':'
}

// slashes writes a path the way patterns are written.
func slashes(s string) string { return strings.ReplaceAll(s, `\`, "/") }
