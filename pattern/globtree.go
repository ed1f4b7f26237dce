package pattern

import "unicode/utf8"

func setNode(s *set) *node { return &node{op: nSet, set: s} }

func charNode(r rune) *node { return setNode(oneSet(r)) }

func repeatNode(n *node, lo, hi int) *node {
	return &node{op: nRepeat, min: lo, max: hi, subs: []*node{n}}
}

// anything is any text.
func anything() *node { return repeatNode(setNode(everySet), 0, unlimited) }

// isAnything reports whether n is that.
func (n *node) isAnything() bool {
	return n.op == nRepeat && n.min == 0 && n.max == unlimited && n.mode != possessive && n.subs[0].op == nSet && n.subs[0].set.full()
}

// textNodes are the characters of a literal.
func textNodes(lit string) []*node {
	n := utf8.RuneCountInString(lit)
	nodes, out := make([]node, n), make([]*node, 0, n)
	for _, r := range lit {
		c := &nodes[len(out)]
		c.set = oneSet(r)
		out = append(out, c)
	}
	return out
}

// wordOrMore is a literal, or that with a space and anything behind it.
func wordOrMore(lit []*node) *node {
	return cat(append(lit, repeatNode(cat(charNode(' '), anything()), 0, 1))...)
}
