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
