package pattern

import "slices"

// simplify rewrites a tree into a smaller one with the same language: groups
// without a reference go, sequences become flat. The answer is only ever
// yes or no, so which part of the subject a group took does not matter unless
// a reference or a condition asks for it.
//
// The tree itself is changed.
type simplifier struct {
	used []int // groups that are referred to
}

func simplify(n *node) *node {
	var s simplifier
	s.collect(n)
	return s.node(n)
}

func (s *simplifier) collect(n *node) {
	if n.op == nRef || n.op == nCond {
		s.used = append(s.used, n.group)
	}
	for _, sub := range n.subs {
		s.collect(sub)
	}
}

func (s *simplifier) node(n *node) *node {
	for i, sub := range n.subs {
		n.subs[i] = s.node(sub)
	}
	switch n.op {
	case nCat:
		return flatCat(n.subs)
	case nAlt:
		return flatAlt(n.subs)
	case nGroup:
		if !slices.Contains(s.used, n.group) {
			return n.subs[0]
		}
	case nAtomic:
		return makeAtomic(n.subs[0])
	case nRepeat:
		return simpleRepeat(n)
	}
	return n
}

func isCat(n *node) bool { return n.op == nCat }

func flatCat(subs []*node) *node {
	if !slices.ContainsFunc(subs, isCat) {
		return cat(subs...)
	}
	var out []*node
	for _, sub := range subs {
		if sub.op == nCat {
			out = append(out, sub.subs...)
		} else {
			out = append(out, sub)
		}
	}
	return cat(out...)
}

func flatAlt(subs []*node) *node {
	var out []*node
	sets := true
	for _, sub := range subs {
		if sub.op == nAlt {
			out = append(out, sub.subs...)
		} else {
			out = append(out, sub)
		}
		sets = sets && sub.op == nSet
	}
	if len(out) == 1 {
		return out[0]
	}
	if !sets {
		return &node{op: nAlt, subs: out}
	}
	var spans []span
	for _, sub := range out {
		spans = append(spans, sub.set.spans...)
	}
	return &node{op: nSet, set: newSet(spans)}
}

// makeAtomic makes n atomic, which it is already if it can match in one way only.
func makeAtomic(n *node) *node {
	if n.oneWay() {
		return n
	}
	return &node{op: nAtomic, subs: []*node{n}}
}

// oneWay: n matches in at most one way at any place.
func (n *node) oneWay() bool {
	switch n.op {
	case nSet, nAt, nAtomic, nLook, nRef:
		return true
	case nRepeat:
		return n.min == n.max && n.subs[0].op == nSet || n.mode == possessive && n.subs[0].op == nSet
	case nCat:
		for _, sub := range n.subs {
			if !sub.oneWay() {
				return false
			}
		}
		return true
	}
	return false
}

// simpleRepeat brings a repetition into one of the forms the program knows.
// CPython takes a possessive repetition's rounds one by one, each for good.
func simpleRepeat(n *node) *node {
	body := n.subs[0]
	if n.max == 0 || body.empty() {
		return &node{op: nCat}
	}
	if n.mode == possessive && body.op != nSet {
		loop := *n
		loop.mode = greedy
		loop.subs = []*node{makeAtomic(body)}
		return makeAtomic(simpleRepeat(&loop))
	}
	if n.min == 1 && n.max == 1 {
		return body
	}
	return n
}

// empty: n is nothing at all.
func (n *node) empty() bool { return n.op == nCat && len(n.subs) == 0 }

// nullable reports whether n may match without taking a character; a
// reference always may.
func (n *node) nullable() bool {
	switch n.op {
	case nSet, nUnits:
		return false
	case nAt, nLook, nRef, nNot:
		return true
	case nRepeat:
		return n.min == 0 || n.subs[0].nullable()
	case nAlt, nCond:
		for _, sub := range n.subs {
			if sub.nullable() {
				return true
			}
		}
		return false
	}
	for _, sub := range n.subs {
		if !sub.nullable() {
			return false
		}
	}
	return true
}

// any reports whether f holds for n or a node inside it.
func (n *node) any(f func(*node) bool) bool {
	if f(n) {
		return true
	}
	for _, sub := range n.subs {
		if sub.any(f) {
			return true
		}
	}
	return false
}
