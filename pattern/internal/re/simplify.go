package re

import "slices"

// Simplify rewrites a tree into a smaller one with the same language: groups without a reference
// go, sequences become flat. A match answers only yes or no, so the text that a group took matters
// only to a reference or a condition. The tree itself is changed.
func Simplify(n *Node) *Node {
	var s simplifier
	s.collect(n)
	return s.node(n)
}

type simplifier struct {
	used []int // groups that are referred to
}

func (s *simplifier) collect(n *Node) {
	if n.Op == OpRef || n.Op == OpCond {
		s.used = append(s.used, n.group)
	}
	for _, sub := range n.Subs {
		s.collect(sub)
	}
}

func (s *simplifier) node(n *Node) *Node {
	for i, sub := range n.Subs {
		n.Subs[i] = s.node(sub)
	}
	switch n.Op {
	case OpCat:
		return flatCat(n.Subs)
	case OpAlt:
		return flatAlt(n.Subs)
	case OpGroup:
		if !slices.Contains(s.used, n.group) {
			return n.Subs[0]
		}
	case OpAtomic:
		return makeAtomic(n.Subs[0])
	case OpRepeat:
		return simpleRepeat(n)
	}
	return n
}

func isCat(n *Node) bool { return n.Op == OpCat }

func flatCat(subs []*Node) *Node {
	if !slices.ContainsFunc(subs, isCat) {
		return Cat(subs...)
	}
	var out []*Node
	for _, sub := range subs {
		if sub.Op == OpCat {
			out = append(out, sub.Subs...)
		} else {
			out = append(out, sub)
		}
	}
	return Cat(out...)
}

func flatAlt(subs []*Node) *Node {
	var out []*Node
	sets := true
	for _, sub := range subs {
		if sub.Op == OpAlt {
			out = append(out, sub.Subs...)
		} else {
			out = append(out, sub)
		}
		sets = sets && sub.Op == OpSet
	}
	if len(out) == 1 {
		return out[0]
	}
	if !sets {
		return &Node{Op: OpAlt, Subs: out}
	}
	var spans []Span
	for _, sub := range out {
		spans = append(spans, sub.Set.Spans...)
	}
	return &Node{Op: OpSet, Set: NewSet(spans)}
}

// makeAtomic makes n atomic, which it is already if it can match in one way only.
func makeAtomic(n *Node) *Node {
	if n.oneWay() {
		return n
	}
	return &Node{Op: OpAtomic, Subs: []*Node{n}}
}

// oneWay: n matches in at most one way at any place.
func (n *Node) oneWay() bool {
	switch n.Op {
	case OpSet, OpAt, OpAtomic, OpLook, OpRef:
		return true
	case OpRepeat:
		return n.Min == n.Max && n.Subs[0].Op == OpSet || n.Mode == Possessive && n.Subs[0].Op == OpSet
	case OpCat:
		return !slices.ContainsFunc(n.Subs, func(sub *Node) bool { return !sub.oneWay() })
	}
	return false
}

// simpleRepeat brings a repetition into one of the forms the program knows.
// CPython takes a possessive repetition's rounds one by one, each for good.
func simpleRepeat(n *Node) *Node {
	body := n.Subs[0]
	if n.Max == 0 || body.empty() {
		return &Node{Op: OpCat}
	}
	if n.Mode == Possessive && body.Op != OpSet {
		loop := *n
		loop.Mode = Greedy
		loop.Subs = []*Node{makeAtomic(body)}
		return makeAtomic(simpleRepeat(&loop))
	}
	if n.Min == 1 && n.Max == 1 {
		return body
	}
	return n
}

// empty: n is nothing at all.
func (n *Node) empty() bool { return n.Op == OpCat && len(n.Subs) == 0 }

// nullable reports whether n may match without taking a character; a
// reference always may.
func (n *Node) nullable() bool {
	switch n.Op {
	case OpSet, OpUnits:
		return false
	case OpAt, OpLook, OpRef, OpNot:
		return true
	case OpRepeat:
		return n.Min == 0 || n.Subs[0].nullable()
	case OpAlt, OpCond:
		return slices.ContainsFunc(n.Subs, (*Node).nullable)
	}
	return !slices.ContainsFunc(n.Subs, func(sub *Node) bool { return !sub.nullable() })
}

// any reports whether f holds for n or a node inside it.
func (n *Node) any(f func(*Node) bool) bool {
	return f(n) || slices.ContainsFunc(n.Subs, func(sub *Node) bool { return sub.any(f) })
}
