package pattern

// The characters of a path's segment, and those that it may start with where a
// wildcard stands.
var (
	inSegment    = newSet([]span{{'/', '/'}}).negate()
	startSegment = newSet([]span{{'.', '/'}}).negate()
)

// trees writes the rows as trees. A segment with extended globs is bounded
// from above; the tree of certain matches leaves its row out.
func (m *minimatch) trees() trees {
	var may, must []*node
	for i := range m.rows {
		n, exact := m.rows[i].tree()
		may = append(may, n)
		if exact {
			must = append(must, n)
		}
	}
	t := trees{loose: len(must) < len(may)}
	t.tree = simplify(&node{op: nAlt, subs: may})
	t.may = t.tree
	if !t.loose {
		t.must = t.may
	} else if len(must) > 0 {
		t.must = simplify(&node{op: nAlt, subs: must})
	}
	return t
}

func slashes(least int) *node { return repeatNode(charNode('/'), least, unlimited) }

// tree writes a row; exact: it matches nothing else.
func (r *row) tree() (n *node, exact bool) {
	var out []*node
	exact = true
	last := len(r.segs) - 1
	part := cat(setNode(startSegment), repeatNode(setNode(inSegment), 0, unlimited))
	for i := range r.segs {
		seg := &r.segs[i]
		if i > 0 && r.segs[i-1].kind != segStarStar {
			out = append(out, slashes(1))
		}
		if seg.kind != segStarStar {
			n, ok := seg.nodes()
			out = append(out, n...)
			exact = exact && ok
			continue
		}
		if i == 0 {
			out = append(out, slashes(0)) // the empty segment before a leading slash
		}
		if i < last {
			out = append(out, repeatNode(cat(part, slashes(1)), 0, unlimited))
			continue
		}
		more := repeatNode(cat(slashes(1), part), 0, unlimited)
		return cat(append(out, repeatNode(cat(part, more, slashes(0)), 0, 1))...), exact
	}
	return cat(append(out, slashes(0))...), exact
}

// nodes writes a segment.
func (g *segment) nodes() (n []*node, exact bool) {
	switch g.kind {
	case segLiteral:
		return textNodes(g.lit), true
	case segTree:
		return []*node{g.tree}, false
	}
	items := g.in
	if items[0].lit != 0 {
		return itemNodes(items), g.lit[0] != '.' || leastItems(items) > 2 // . and .. are not matched
	}
	if !items[0].star {
		return append([]*node{setNode(notDot(items[0]))}, itemNodes(items[1:])...), true
	}
	for len(items) > 0 && items[0].star {
		items = items[1:]
	}
	rest := itemNodes(items)
	long := cat(append([]*node{setNode(startSegment), repeatNode(setNode(inSegment), 0, unlimited)}, rest...)...)
	switch {
	case len(items) == 0 || items[0].lit == '.':
		return []*node{long}, true
	case items[0].lit == 0:
		rest = append([]*node{setNode(notDot(items[0]))}, rest[1:]...)
	}
	return []*node{{op: nAlt, subs: []*node{long, cat(rest...)}}}, true
}

// itemNodes writes items that are no extended globs.
func itemNodes(items []mmItem) []*node {
	var out []*node
	for _, it := range items {
		n := setNode(it.chars())
		if it.star {
			n = repeatNode(n, 0, unlimited)
		}
		out = append(out, n)
	}
	return out
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
