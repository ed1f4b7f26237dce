package opencode

import (
	"fmt"
	"strings"

	"github.com/obstat/obstat/effect"
	"github.com/obstat/obstat/internal/tree"
)

// Rules say what may be done, and other agents do the same things with tools of
// other names: with the floor on, a call of another agent asks what opencode's own
// tool for it would ask.

// ownAgent is the name of opencode among agents.
const ownAgent = "opencode"

// ownTool returns the tool of opencode's that does what others call by canonical.
// Tools that have no counterpart, or work on several files, ask by their names.
func ownTool(canonical string) string {
	switch canonical {
	case "shell":
		return "bash"
	case "read", "write", "edit", "glob", "grep", "list":
		return canonical
	case "notebook":
		return "edit"
	case "patch":
		return "apply_patch"
	case "fetch":
		return "webfetch"
	}
	return ""
}

// foreign asks what opencode's own tool would, if the call is another agent's and
// there is one.
func (c *callView) foreign() bool {
	if a := c.f.Call.Agent; !c.Floor || a == "" || a == ownAgent {
		return false
	}
	if name, ok := mcpTool(c.f.Call.Tool); ok {
		c.perm = name
		c.ask([]string{"*"}, []string{"*"})
		return true
	}
	e, _ := effect.Lookup(c.f.Call.Tool)
	t, known := tools()[ownTool(e.Canonical)]
	if !known {
		return false
	}
	own := *c
	own.perm = t.permission
	own.fields = map[string][]string{"command": e.Command, "patchText": e.Command, "workdir": e.Dir, "path": e.Paths, "url": {"uri"}}
	if e.Canonical == "glob" {
		own.fields["pattern"] = e.Names
	}
	if t.ask(&own) != nil {
		return false // it says something else than that tool can
	}
	c.perm, c.main, c.dirs = own.perm, own.main, own.dirs
	return true
}

// mcpTool returns opencode's name of a tool of an MCP server that others write
// mcp__server__tool or mcp_server_tool.
func mcpTool(name string) (string, bool) {
	if rest, ok := strings.CutPrefix(name, "mcp__"); ok {
		server, tool, both := strings.Cut(rest, "__")
		return sanitize(server + "_" + tool), both && server != "" && tool != ""
	}
	rest, ok := strings.CutPrefix(name, "mcp_")
	return sanitize(rest), ok && rest != ""
}

// field returns a field of the input, by opencode's name for it or the one that the
// agent's tool has.
func (c *callView) field(name string) (*tree.Node, error) {
	found := c.args.Get(name)
	for _, other := range c.fields[name] {
		n := c.args.Get(other)
		if n == nil || other == name {
			continue
		}
		if found != nil {
			return nil, fmt.Errorf("a call of %s has more than one %s", c.f.Call.Tool, name)
		}
		found = n
	}
	return found, nil
}
