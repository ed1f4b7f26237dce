package pattern

// The characters of a path's segment, and those that it may start with where a
// wildcard stands.
var (
	inSegment    = newSet([]span{{'/', '/'}}).negate()
	startSegment = newSet([]span{{'.', '/'}}).negate()
)

// slashes is any number of them.
func slashes() *node { return repeatNode(charNode('/'), 0, unlimited) }

// rowTree writes the segments of an alternative.
func rowTree(segs []segment) *node {
	var out []*node
	last := len(segs) - 1
	part := cat(setNode(startSegment), repeatNode(setNode(inSegment), 0, unlimited))
	for i := range segs {
		seg := &segs[i]
		if i > 0 && segs[i-1].kind != segStarStar {
			out = append(out, charNode('/'), slashes())
		}
		if seg.kind != segStarStar {
			out = append(out, seg.nodes()...)
			continue
		}
		if i == 0 {
			out = append(out, slashes()) // the empty segment before a leading slash
		}
		if i < last {
			out = append(out, repeatNode(cat(part, charNode('/'), slashes()), 0, unlimited))
			continue
		}
		more := repeatNode(cat(charNode('/'), slashes(), part), 0, unlimited)
		return cat(append(out, repeatNode(cat(part, more, slashes()), 0, 1))...)
	}
	return cat(append(out, slashes())...)
}

// nodes writes a segment. What is no literal matches neither an empty segment nor a
// leading dot, and . and .. are matched by dots alone.
func (g *segment) nodes() []*node {
	items := g.in
	switch {
	case g.kind == segLiteral:
		return textNodes(g.lit)
	case g.kind == segTree:
		return []*node{{op: nAt, at: atInSegment}, mmTree(items, true)}
	case g.lit != "" && g.lit[0] == '.' && leastItems(items) <= 2:
		return append([]*node{{op: nAt, at: atNotDots}}, itemNodes(items)...)
	case items[0].lit != 0:
		return itemNodes(items)
	case !items[0].star:
		return append([]*node{setNode(notDot(items[0]))}, itemNodes(items[1:])...)
	}
	for len(items) > 0 && items[0].star {
		items = items[1:]
	}
	rest := itemNodes(items)
	long := cat(append([]*node{setNode(startSegment), repeatNode(setNode(inSegment), 0, unlimited)}, rest...)...)
	switch {
	case len(items) == 0 || items[0].lit == '.':
		return []*node{long}
	case items[0].lit == 0:
		rest = append([]*node{setNode(notDot(items[0]))}, rest[1:]...)
	}
	return []*node{{op: nAlt, subs: []*node{long, cat(rest...)}}}
}

// itemNodes writes items that are no extended globs.
func itemNodes(items []mmItem) []*node {
	out := make([]*node, len(items))
	for i := range items {
		out[i] = items[i].node()
	}
	return out
}

// node writes a character, a set, a ? or a *.
func (it *mmItem) node() *node {
	n := setNode(it.chars())
	if it.star {
		n = repeatNode(n, 0, unlimited)
	}
	return n
}

// chars returns the characters that an item matches.
func (it *mmItem) chars() *set {
	if it.set == nil {
		return inSegment
	}
	if !it.set.has('/') {
		return it.set
	}
	return newSet(subtractSpans(it.set.spans, []span{{'/', '/'}}))
}

// notDot returns the characters that an item matches at the start of a segment.
func notDot(it mmItem) *set {
	return newSet(subtractSpans(it.chars().spans, []span{{'.', '.'}}))
}

// leastItems is how many characters items take at least.
func leastItems(items []mmItem) int {
	n := 0
	for _, it := range items {
		if !it.star {
			n++
		}
	}
	return n
}
