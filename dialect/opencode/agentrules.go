package opencode

import (
	"slices"

	"github.com/obstat/obstat"
)

// Disabled returns those of the tools that a model is not shown: the last rule
// about the tool's permission denies everything.
func Disabled(tools []string, rules Ruleset) (out []string) {
	for _, name := range tools {
		if r := lastAbout(rules, hiddenBy(name)); r != nil && r.Pattern == "*" && r.Action == obstat.Deny {
			out = append(out, name)
		}
	}
	return out
}

func lastAbout(rules Ruleset, permission string) *Rule {
	for i := len(rules) - 1; i >= 0; i-- {
		if ok, err := matches(rules[i].tool(Last), permission); ok && err == nil {
			return &rules[i]
		}
	}
	return nil
}

// hiddenBy returns the permission whose rules hide a tool.
func hiddenBy(name string) string {
	switch name {
	case "edit", "write", "apply_patch":
		return "edit"
	case "list_mcp_resources", "list_mcp_resource_templates", "read_mcp_resource":
		return "read"
	}
	return name
}

// Subagent returns the session rules of an agent that another one starts: the
// rules of its parent's session that are about directories outside or deny, and
// no to-do list and no subagents unless it has rules of its own for these, and
// none of the tools that are for primary agents alone.
//
// The program gives a child nothing of its parent's agent, so that a subagent
// may do what the agent that started it may not. The mode [PairMode] does not.
func Subagent(parentSession, child Ruleset, primaryTools []string) Ruleset {
	var out Ruleset
	for _, r := range parentSession {
		if r.Permission == permExternal || r.Action == obstat.Deny {
			out = append(out, r)
		}
	}
	return append(out, childDenies(child, primaryTools)...)
}

// childDenies are the denies that a subagent gets of itself.
func childDenies(child Ruleset, primaryTools []string) (out Ruleset) {
	for _, name := range []string{"todowrite", "task"} {
		if !slices.ContainsFunc(child, func(r Rule) bool { return r.Permission == name }) {
			out = append(out, Rule{Permission: name, Pattern: "*", Action: obstat.Deny, Layer: layerSession})
		}
	}
	for _, name := range primaryTools {
		out = append(out, Rule{Permission: name, Pattern: "*", Action: obstat.Deny, Layer: layerSession})
	}
	return out
}
