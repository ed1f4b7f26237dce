package agents

import (
	"slices"
	"strings"
)

// A PairVerdict compares the two runs of a cell.
type PairVerdict int

// The verdicts.
const (
	// Broken: a run did not begin the call, or could not be had. It says nothing, and so is not fine.
	Broken PairVerdict = iota
	RanBoth
	RanNeither
	OnlyWithout
	// Answered: it ran only with obstat; the agent would have asked, and a rule of obstat's allows it.
	Answered
	// Outranked: it ran only with obstat, by a rule that says that it outranks the agent's reviewer.
	Outranked
	// Looser: it ran only with obstat, and nothing of the above.
	Looser
)

// String names the verdict.
func (v PairVerdict) String() string {
	return [...]string{"broken", "ran in both", "ran in neither", "only without", "only with, answered",
		"only with, outranked", "looser"}[v]
}

// Judge compares a pair. A call that runs with obstat has to run without it, too, but for calls that
// the agent would have asked about and that a rule in force allows, and that the user has not told it to ask about.
func (p *Pair) Judge() PairVerdict {
	switch {
	case p.Problem != "" || p.Without == nil || p.With == nil || !p.Without.Began || !p.With.Began:
		return Broken
	case p.Without.Ran && p.With.Ran:
		return RanBoth
	case p.Without.Ran:
		return OnlyWithout
	case !p.With.Ran:
		return RanNeither
	case p.Policy == policyOver && p.outranks():
		return Outranked
	case p.wouldAsk(p.Without) && p.covered():
		return Answered
	}
	return Looser
}

// covered tells whether a rule in force allows the call: one of obstat's policy, or the agent's own where that
// is the policy.
func (p *Pair) covered() bool {
	return allows(p.Policy) || p.Policy == policyOwn && p.Rule == ruleAllow
}

// outranks tells whether it is the agent's reviewer that would have refused: a rule over it is over none of the
// user's own, but for an ask rule that the agent puts to its reviewer.
func (p *Pair) outranks() bool {
	return p.Rule != ruleDeny && (p.Rule != ruleAsk || fieldOf(p.Agent).judged)
}

// wouldAsk tells whether the agent did not run the call only for want of a person to ask. A mode that
// is for changing nothing, a rule of the user's own, a reviewer and a sandbox refuse.
func (c *Cell) wouldAsk(h *Half) bool {
	f := fieldOf(c.Agent)
	outside := c.Kind == kindOutside || c.Kind == kindStray
	switch {
	case h.Ran, c.Rule == ruleDeny, c.Rule == ruleAsk, slices.Contains(f.firm, c.Mode), f.walled && outside:
		return false
	}
	return slices.ContainsFunc(strings.Split(f.asked, "|"), func(w string) bool { return strings.Contains(h.Words, w) })
}
