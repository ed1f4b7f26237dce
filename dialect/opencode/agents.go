package opencode

import (
	"slices"

	"github.com/obstat/obstat"
)

// An agent is a set of rules that calls are made under.
type agent struct {
	name  string
	mode  string
	rules Ruleset
	pos   obstat.Pos
}

// shared are the settings that all agents have in common.
type shared struct {
	home string
	user Ruleset // the rules of the configuration
}

// data returns a path of the directory that opencode keeps its own files in.
func (s *shared) data(name string) string {
	if s.home == "" {
		return ""
	}
	return s.home + "/.local/share/opencode/" + name
}

// set makes rules of a short notation: permission, pattern, action, ...
func set(words ...string) (out Ruleset) {
	for i := 0; i+2 < len(words); i += 3 {
		if words[i+1] == "" {
			continue // a place that is not known
		}
		v, _ := obstat.ParseVerdict(words[i+2]) // the words are ours, and what is no verdict denies
		out = append(out, Rule{Permission: words[i], Pattern: words[i+1], Action: v, Short: words[i+1] == "*", Layer: layerDefaults})
	}
	return out
}

// The layers of rules that are in no file.
const (
	layerDefaults = "defaults"
	layerSession  = "session"
)

// external are the directories outside the project that opencode uses itself.
func (s *shared) external() Ruleset {
	return set("external_directory", "*", "ask",
		"external_directory", s.data("tool-output/*"), "allow",
		"external_directory", "/tmp/opencode/*", "allow")
}

// defaults are the rules that every agent of the program starts with.
func (s *shared) defaults() Ruleset {
	return Merge(
		set("*", "*", "allow", "doom_loop", "*", "ask"),
		s.external(),
		set("question", "*", "deny", "plan_enter", "*", "deny", "plan_exit", "*", "deny",
			"read", "*", "allow", "read", "*.env", "ask", "read", "*.env.*", "ask", "read", "*.env.example", "allow"))
}

// builtin returns the agents that the program has of itself; those that write
// titles and summaries have no tools.
func (s *shared) builtin() []agent {
	only := set("*", "*", "deny", "grep", "*", "allow", "glob", "*", "allow", "list", "*", "allow", "bash", "*", "allow",
		"webfetch", "*", "allow", "websearch", "*", "allow", "read", "*", "allow")
	plan := set("question", "*", "allow", "plan_exit", "*", "allow", "task", "general", "deny",
		"external_directory", s.data("plans/*"), "allow", "edit", "*", "deny", "edit", ".opencode/plans/*.md", "allow")
	list := []agent{
		{name: "build", mode: modePrimary, rules: set("question", "*", "allow", "plan_enter", "*", "allow")},
		{name: "plan", mode: modePrimary, rules: plan},
		{name: "general", mode: modeSubagent, rules: set("todowrite", "*", "deny")},
		{name: "explore", mode: modeSubagent, rules: Merge(only, s.external())},
	}
	for i := range list {
		list[i].rules = Merge(s.defaults(), list[i].rules, s.user)
	}
	return list
}

// agents returns the program's agents and those of the configuration.
func (s *shared) agents(configs []agentConfig) []agent {
	list := s.builtin()
	for _, c := range configs {
		i := slices.IndexFunc(list, func(a agent) bool { return a.name == c.name })
		if c.disable {
			if i >= 0 {
				list = slices.Delete(list, i, i+1)
			}
			continue
		}
		if i < 0 {
			i = len(list)
			list = append(list, agent{name: c.name, mode: modeAll, rules: Merge(s.defaults(), s.user)})
		}
		if c.mode != "" {
			list[i].mode = c.mode
		}
		list[i].pos = c.pos
		list[i].rules = Merge(list[i].rules, c.rules(Last, s.home))
	}
	for i := range list {
		list[i].rules = s.toolOutput(list[i].rules)
	}
	return list
}

// documented returns the agents of a configuration that is read as the document
// says: an agent's rules stand before the user's, and there are no others.
func documented(configs []agentConfig, user Ruleset) (out []agent) {
	for _, c := range configs {
		if c.disable {
			continue
		}
		mode := c.mode
		if mode == "" {
			mode = modeAll
		}
		out = append(out, agent{name: c.name, mode: mode, pos: c.pos, rules: Merge(c.rules(First, ""), user)})
	}
	return out
}

// toolOutput lets an agent read the output files of its tools, unless a rule
// denies it.
func (s *shared) toolOutput(rules Ruleset) Ruleset {
	own := s.data("tool-output/*")
	denied := slices.ContainsFunc(rules, func(r Rule) bool {
		return r.Permission == "external_directory" && r.Pattern == own && r.Action == obstat.Deny
	})
	if own == "" || denied {
		return rules
	}
	return Merge(rules, set("external_directory", own, "allow"))
}

// mergeAgents merges the settings of the same agents in several files, in the
// order in which they are first named.
func mergeAgents(all []agentConfig) (out []agentConfig) {
	for _, a := range all {
		i := slices.IndexFunc(out, func(b agentConfig) bool { return b.name == a.name })
		if i < 0 {
			out = append(out, a)
			continue
		}
		b := &out[i]
		b.section, b.tools = over(true, b.section, a.section), over(true, b.tools, a.tools)
		b.list, b.disable = Merge(b.list, a.list), a.disable || b.disable
		if a.mode != "" {
			b.mode = a.mode
		}
	}
	return out
}
