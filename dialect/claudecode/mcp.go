package claudecode

import (
	"slices"
	"strings"

	"github.com/obstat/obstat/effect"
)

// glued is the sign between an MCP server and its tool in agents that give
// no other sign of it: github_create_issue, github-create_issue. In Crush's mcp_my_server_get_file
// the server's name has no end either.
var glued = []struct{ agent, by string }{{"opencode", "_"}, {"copilot", "-"}}

// mcpName returns mcp__server__tool for other agents' spellings of it.
func mcpName(tool string, t *effect.Tool) string {
	if strings.HasPrefix(tool, "mcp__") {
		return tool
	}
	if rest, ok := strings.CutPrefix(tool, "mcp_"+t.Server+"_"); ok && t.Server != "" {
		return "mcp__" + t.Server + "__" + rest
	}
	return tool
}

// maxSplits bounds where a server's name is looked for to end.
const maxSplits = 32

// mcpNames returns the names under which a tool is put to the rules, the
// strictest answer counting: its own, or, where rules name the server that it
// may be of, those that the rules have for it. A rule that has its own name is
// heard in any case.
func (v *view) mcpNames(agent, tool string) []string {
	sep := ""
	for _, g := range glued {
		if g.agent == agent {
			sep = g.by
		}
	}
	name, crush := strings.CutPrefix(tool, "mcp_")
	if crush = crush && !strings.HasPrefix(name, "_"); crush {
		sep = "_"
	} else {
		name = tool
	}
	t, known := effect.Lookup(tool)
	if known && !crush || sep == "" || len(v.Servers) == 0 || knownTool(tool) {
		return []string{mcpName(tool, &t)}
	}
	var out []string
	for at, n := 0, 0; n < maxSplits; n++ {
		i := strings.Index(name[at:], sep)
		if i < 0 {
			break
		}
		server, rest := name[:at+i], name[at+i+1:]
		if rest != "" && slices.ContainsFunc(v.Servers, func(s string) bool { return fits(s, server) }) {
			out = append(out, "mcp__"+server+"__"+rest)
		}
		at += i + 1
	}
	if out == nil || slices.ContainsFunc(v.Named, func(s string) bool { return fits(s, tool) }) {
		out = append(out, mcpName(tool, &t))
	}
	return out
}

// fits tells whether a pattern, in which an asterisk is anything, stands for
// name.
func fits(pattern, name string) bool {
	parts := strings.Split(pattern, "*")
	first, last := parts[0], parts[len(parts)-1]
	if len(parts) == 1 {
		return pattern == name
	}
	name, ok := strings.CutPrefix(name, first)
	for _, part := range parts[1 : len(parts)-1] {
		i := strings.Index(name, part)
		if i < 0 {
			return false
		}
		name = name[i+len(part):]
	}
	return ok && strings.HasSuffix(name, last)
}

// note keeps the names of a rule's tool that the view needs.
func (p *params) note(s spec) {
	list, name := &p.Named, s.tool
	if rest, ok := strings.CutPrefix(s.tool, "mcp__"); ok {
		list = &p.Servers
		name, _, _ = strings.Cut(rest, "__")
	} else if knownTool(s.tool) {
		return
	}
	if name != "" && !slices.Contains(*list, name) {
		*list = append(*list, name)
	}
}
