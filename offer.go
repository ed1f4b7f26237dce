package obstat

import (
	"slices"
)

// With returns a policy in which the offered rules stand at the end of their
// lists, as if a human had accepted them.
func (pol *Policy) With(offers ...Offer) (*Policy, error) {
	p := pol.prog.clone()
	for i := range offers {
		o := &offers[i]
		p.Rules[o.List] = append(slices.Clone(p.Rules[o.List]), o.Rule)
	}
	return Compile(p, &pol.opts)
}

// Lacking returns the policy without some of its rules.
func (pol *Policy) Lacking(gone func(*Rule) bool) (*Policy, error) {
	p := pol.prog.clone()
	for name, rules := range p.Rules {
		p.Rules[name] = slices.DeleteFunc(rules, func(r Rule) bool { return gone(&r) })
	}
	return Compile(p, &pol.opts)
}
