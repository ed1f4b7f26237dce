package pattern

// trees are what is known of the strings a pattern matches, as trees for whole
// strings. The zero trees say nothing.
type trees struct {
	text  *string // the only match, where there is just one
	tree  *node   // for the shape
	loose bool    // tree stands for more than the pattern matches
	may   *node   // every match is in it
	must  *node   // all of it matches; nil: nothing is known to
}

// exactly is for a pattern whose matches are those of tree.
func exactly(tree *node) trees {
	may, same := relax(tree)
	l := trees{tree: tree, may: simplify(may)}
	if same {
		l.must = l.may
	}
	return l
}

// shape reads the tree. What a loose one promises of every match holds, but
// not that there is nothing else.
func (l *trees) shape() Shape {
	if l.text != nil {
		return Shape{Prefix: *l.text, Exact: true}
	}
	if l.tree == nil {
		return Shape{}
	}
	sh := treeShape(l.tree)
	if l.loose {
		sh.Exact, sh.Ordered, sh.Regular = false, false, ""
	}
	return sh
}

// wholeStrings turns the tree of a search into one for whole strings.
func wholeStrings(tree *node) *node {
	items := append([]*node{}, sequenceOf(tree)...)
	if len(items) > 0 && items[0].op == nAt && items[0].at == atStart {
		items = items[1:]
	} else {
		items = append([]*node{anything()}, items...)
	}
	if k := len(items) - 1; k >= 0 && items[k].op == nAt && items[k].at == atEnd {
		return flatCat(items[:k])
	}
	if k := len(items) - 1; k >= 0 && items[k].op == nAt && items[k].at == atEndNL {
		items[k] = repeatNode(charNode('\n'), 0, 1)
		return flatCat(items)
	}
	return flatCat(append(items, anything()))
}

// relax returns a tree that matches all that n does, without what only some
// engines can say, and whether it is the same language.
func relax(n *node) (*node, bool) {
	switch n.op {
	case nLook:
		return &node{op: nCat}, false
	case nRef:
		return anything(), false
	case nNot:
		return anything(), false
	case nAt:
		if n.at > atLineEnd {
			return &node{op: nCat}, false
		}
		return n, true
	case nSet:
		return n, true
	}
	c := *n
	same := n.op != nAtomic && n.op != nCond && n.mode != possessive
	c.mode = greedy
	c.subs = make([]*node, len(n.subs))
	for i, sub := range n.subs {
		var ok bool
		c.subs[i], ok = relax(sub)
		same = same && ok
	}
	if n.op == nCond {
		c.op = nAlt
	}
	if n.op == nAtomic || n.op == nGroup {
		return c.subs[0], same
	}
	return &c, same
}
