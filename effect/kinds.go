package effect

import (
	"slices"
	"strings"
)

// ToolKind returns the kind of a tool: that of the catalogue, or the name that the spellings of an
// MCP server's tool have in common, `canary_poke` of mcp__canary__poke and canary-poke.
func ToolKind(name string) string {
	t, _ := Lookup(name)
	switch t.Canonical {
	case "", "mcp":
	case "search":
		return "websearch"
	default:
		return t.Canonical
	}
	for _, prefix := range [...]string{"mcp__", "mcp_", "MCP:"} {
		if rest, ok := strings.CutPrefix(name, prefix); ok {
			name = rest
			break
		}
	}
	return strings.ReplaceAll(strings.ReplaceAll(name, "-", "_"), "__", "_")
}

// alsoFor returns the kinds that a rule for a kind is for besides: who may not edit may not write
// either.
func alsoFor(kind string) []string {
	switch kind {
	case "edit":
		return []string{"write", "notebook", "patch", "delete", "move", "mkdir"}
	case "write":
		return []string{"patch"}
	case "search":
		return []string{"grep", "glob"}
	}
	return nil
}

// ToolKinds returns the kinds that a rule for a tool is about: `edit`, `write`, `patch` and more of
// Edit.
func ToolKinds(name string) []string {
	kind := ToolKind(name)
	return append(alsoFor(kind), kind)
}

// MainFields returns the fields of a tool's input that name its command, path or URL, most
// telling first.
func MainFields(tool string) []string {
	t, known := Lookup(tool)
	if !known {
		return []string{"command", "file_path", "path", "url"}
	}
	return slices.Concat(t.Command, t.Paths, t.URL)
}
