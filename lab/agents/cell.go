package agents

import (
	"fmt"
	"math/rand/v2"
	"slices"
)

// A Cell is one pair of runs of an agent: in one of its modes, with a rule of its user's own or none, the
// scripted model asks for one call. The pair is the run without obstat, and the one with a policy of it.
type Cell struct {
	Agent  string
	Mode   string
	Rule   string // one of the rule constants: the user's own rule for such a call
	Kind   string // one of the kind constants
	Policy string // one of the policy constants: obstat's
}

// String names the cell on one line: `claude-code / plan / no rule / edit / allow`.
func (c *Cell) String() string {
	return fmt.Sprintf("%s / %s / %s / %s / %s", c.Agent, c.Mode, c.Rule, c.Kind, c.Policy)
}

// alone is the cell of the run without obstat: its policy does not matter there.
func (c Cell) alone() Cell {
	c.Policy = ""
	return c
}

// The rules of the agent's own that cover the call.
const (
	ruleNone  = "no rule"
	ruleDeny  = "own deny"
	ruleAsk   = "own ask"
	ruleAllow = "own allow"
)

// The kinds of call.
const (
	kindRead     = "shell, reads"    // cat of a file in the project
	kindTouch    = "shell, writes"   // touch in the project
	kindCreate   = "create"          // the file tool, a new file
	kindEdit     = "edit"            // the file tool, one that is there
	kindMCP      = "MCP"             // a tool of the tool server
	kindOutside  = "create, outside" // the file tool, beside the project
	kindStray    = "shell, outside"  // touch beside the project
	kindEscalate = "shell, leaving"  // a command that asks to run outside of the agent's sandbox
)

// The policies of obstat.
const (
	policyAllow   = "allow"          // obstat.yaml that allows everything
	policyDialect = "allow, Program" // a Program from a notation of agents that allows everything
	policyOwn     = "agent's own"    // no policy of obstat's: the agent's rules, and those of `install`
	policyAsk     = "ask"            // obstat.yaml that asks about everything
	policyDeny    = "deny"           // obstat.yaml that denies everything
	policyOver    = "allow, over"    // obstat.yaml whose rules say that they outrank the agent's reviewer
)

// allows tells whether a policy has a rule that allows every call.
func allows(policy string) bool {
	return policy == policyAllow || policy == policyDialect || policy == policyOver
}

// A field has the combinations for one agent.
type field struct {
	agent string
	modes []string
	rules []string
	kinds []string
	// over are the modes with a reviewer that a rule of obstat's can name.
	over []string
	// drive returns the driver for a cell.
	drive func(c *Cell) *driver
	// asked are words of a result that say that the agent would have asked; a bar is an or.
	asked string
	// firm are the modes that are for changing nothing: where they would ask, it is for another mode.
	firm []string
	// judged: its reviewer also answers where a rule of the user's own asks.
	judged bool
	// walled: files outside of the project are behind a check of their own, and not asked about like a tool.
	walled bool
	// rulable tells whether the agent has rules for a kind of call; nil: for all.
	rulable func(kind, rule string) bool
}

// can tells whether a cell can be driven.
func (f *field) can(c *Cell) bool {
	if c.Policy == policyOver && !slices.Contains(f.over, c.Mode) {
		return false
	}
	return c.Rule == ruleNone || f.rulable == nil || f.rulable(c.Kind, c.Rule)
}

// all returns every cell that can be driven.
func (f *field) all() []Cell {
	var out []Cell
	for _, mode := range f.modes {
		for _, rule := range f.rules {
			for _, kind := range f.kinds {
				for _, policy := range policies() {
					if c := (Cell{f.agent, mode, rule, kind, policy}); f.can(&c) {
						out = append(out, c)
					}
				}
			}
		}
	}
	return out
}

func policies() []string {
	return []string{policyAllow, policyDialect, policyOwn, policyAsk, policyDeny, policyOver}
}

// A tuple is a part of a cell that has to be in some cell: `plan` with `edit`, whatever the rest is.
type tuple [4]string

// tuples returns the parts that a cell covers: every pair; and, where obstat allows everything, its mode and
// kind without a rule of the agent's own, and its rule and kind: that is where an allow might lift something.
func (c *Cell) tuples() []tuple {
	v := [4]string{c.Mode, c.Rule, c.Kind, c.Policy}
	var out []tuple
	for i := range v {
		for j := i + 1; j < len(v); j++ {
			var t tuple
			t[i], t[j] = v[i], v[j]
			out = append(out, t)
		}
	}
	if c.Policy == policyAllow || c.Policy == policyOver {
		if c.Rule == ruleNone {
			out = append(out, tuple(v))
		}
		if c.Policy == policyAllow {
			out = append(out, tuple{"", c.Rule, c.Kind, c.Policy})
		}
	}
	return out
}

// choose returns cells that together cover all tuples of the field, few of them, the same for the same seed:
// the one with the most parts that no other has covered comes first.
func (f *field) choose(seed uint64) []Cell {
	all := f.all()
	draw := rand.New(rand.NewPCG(seed, 0)) //nolint:gosec // cells are no secret
	draw.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	open := map[tuple]bool{}
	for i := range all {
		for _, t := range all[i].tuples() {
			open[t] = true
		}
	}
	var out []Cell
	for len(open) > 0 {
		best, most := -1, 0
		for i := range all {
			n := 0
			for _, t := range all[i].tuples() {
				if open[t] {
					n++
				}
			}
			if n > most {
				best, most = i, n
			}
		}
		for _, t := range all[best].tuples() {
			delete(open, t)
		}
		out = append(out, all[best])
	}
	return out
}
