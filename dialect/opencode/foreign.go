package opencode

import (
	"slices"
	"strings"

	"github.com/obstat/obstat/effect"
)

// Other agents do the same things with tools of other names: with the floor on, a call of
// another agent asks as opencode's own tool for it would.

// ownAgent is the name of opencode among agents.
const ownAgent = "opencode"

// ownTools are opencode's tools by their kind in the catalogue. Tools that have no
// counterpart, or work on several files, ask by their names.
var ownTools = map[string]string{
	"shell": "bash", "read": "read", "write": "write", "edit": "edit", "glob": "glob", "grep": "grep", "list": "list", "task": "task", "skill": "skill",
	"notebook": "edit", "delete": "edit", "move": "edit", "mkdir": "edit", "patch": "apply_patch", "fetch": "webfetch", "search": "websearch",
	"todo": "todowrite", "question": "question",
}

// otherName tells whether a permission is another agent's name, such as `todos`, for a tool that asks for nothing but
// itself.
func otherName(p string) bool {
	e, _ := effect.Lookup(p)
	name, counterpart := ownTools[e.Canonical]
	_, asks := tools()[name]
	return counterpart && !asks && p != name
}

// foreign asks as opencode's own tool would, if the call is another agent's and
// there is one.
func (c *callView) foreign() (is bool, err error) {
	if a := c.f.Call.Agent; !c.Floor || a == "" || a == ownAgent {
		return false, nil
	}
	e, _ := effect.Lookup(c.f.Call.Tool)
	name, counterpart := ownTools[e.Canonical]
	t, known := tools()[name]
	if !known {
		names := c.server()
		if counterpart { // a tool that asks for nothing but itself
			names = appendNew(names, name)
		}
		for _, c.perm = range names {
			c.ask([]string{"*"}, []string{"*"})
		}
		return names != nil, nil
	}
	own := *c
	own.perm = t.permission
	own.theirs = &e
	if err := t.ask(&own); err != nil { // it says something else than that tool can: its files and addresses count
		gaps := c.f.Analysis().Gaps
		if e.Canonical != "fetch" && slices.ContainsFunc(gaps, func(g effect.Gap) bool { return g.Kind == effect.BadInput }) {
			return true, err
		}
		own.main, own.dirs = nil, distinct{}
		own.ask(own.targets(), []string{"*"})
	}
	c.perm, c.main, c.dirs = own.perm, own.main, own.dirs
	return true, nil
}

// targets returns the command, or the files and addresses, of a call, as patterns; "*" where it
// has none.
func (c *callView) targets() (out []string) {
	a := c.f.Analysis()
	if a.Tool == "shell" && a.Source != "" {
		return []string{a.Source}
	}
	for i := range a.Effects {
		switch e := &a.Effects[i]; {
		case e.Kind == effect.Connect && e.Raw != "":
			out = appendNew(out, e.Raw)
		case e.Path != "":
			out = appendNew(out, c.place(e.Path, false)...)
		}
	}
	if out == nil {
		return []string{"*"}
	}
	return out
}

// server returns the names under which a tool of an MCP server is put to the rules: that
// of the rules, where they name it in another spelling, as `canary_poke` for canary-poke;
// else opencode's own. It is nil where nothing says that it is a server's.
func (c *callView) server() (out []string) {
	name, is := mcpTool(c.f.Call.Tool)
	if !is {
		name = sanitize(c.f.Call.Tool)
	}
	flat := strings.ReplaceAll(name, "-", "_")
	for _, named := range c.Named {
		if known, _, _ := strings.Cut(named, "*"); wildcard(flatten(named), flat) {
			out = appendNew(out, known+name[len(known):])
		}
	}
	if out == nil && is {
		out = []string{name}
	}
	return out
}

// flatten writes a name of the rules, in which stars stay, as all agents' spellings of it are compared: a.b_*
// as a_b_*.
func flatten(name string) string {
	parts := strings.Split(strings.ReplaceAll(name, "-", "_"), "*")
	for i := range parts {
		parts[i] = sanitize(parts[i])
	}
	return strings.Join(parts, "*")
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
