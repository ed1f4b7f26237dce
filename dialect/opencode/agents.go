package opencode

import (
	"cmp"
	_ "embed"
	"slices"
	"sync"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
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

// The layers of rules that are in no file.
const (
	layerDefaults = "defaults"
	layerSession  = "session"
)

// agentsJSON is the program's own rules and agents, as a configuration would have
// them.
//
//go:embed agents.json
var agentsJSON []byte

var ownConfig = sync.OnceValue(func() *fileConfig {
	r, f := &reader{order: Last}, &dialect.File{Name: "agents.json", Layer: layerDefaults, Data: agentsJSON}
	return r.read(f, r.parse(f))
})

// own returns the rules of the program's own settings; a path in a home that is not
// known is left out.
func (s *shared) own(set settings) (out Ruleset) {
	for _, r := range set.rules(Last, s.home) {
		if r.Pos = (obstat.Pos{}); !needsHome(r.Pattern) {
			out = append(out, r)
		}
	}
	return out
}

// builtin returns the agents that the program has of itself.
func (s *shared) builtin() (out []agent) {
	for _, c := range ownConfig().agents {
		out = append(out, agent{name: c.name, mode: c.mode,
			rules: Merge(s.own(ownConfig().settings), s.own(c.settings), s.user)})
	}
	return out
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
			list = append(list, agent{name: c.name, mode: modeAll, rules: Merge(s.own(ownConfig().settings), s.user)})
		}
		list[i].mode, list[i].pos = cmp.Or(c.mode, list[i].mode), c.pos
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
		out = append(out, agent{name: c.name, mode: cmp.Or(c.mode, modeAll), pos: c.pos,
			rules: Merge(c.rules(First, ""), user)})
	}
	return out
}

// childDenies are the denies of an agent that another one starts: no to-do list and no subagents,
// unless it has rules of its own for these.
func childDenies(child Ruleset) (out Ruleset) {
	for _, name := range []string{"todowrite", "task"} {
		if !slices.ContainsFunc(child, func(r Rule) bool { return r.Permission == name }) {
			out = append(out, Rule{Permission: name, Pattern: "*", Action: obstat.Deny, Layer: layerSession})
		}
	}
	return out
}

// toolOutput lets an agent read the output files of its tools, unless a rule
// denies it.
func (s *shared) toolOutput(rules Ruleset) Ruleset {
	r := Rule{Permission: permExternal, Pattern: expand("~/.local/share/opencode/tool-output/*", s.home),
		Action: obstat.Deny, Layer: layerDefaults}
	if s.home == "" || slices.ContainsFunc(rules, func(have Rule) bool { return r.same(&have) }) {
		return rules
	}
	r.Action = obstat.Allow
	return Merge(rules, Ruleset{r})
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
		b.mode = cmp.Or(a.mode, b.mode)
	}
	return out
}
