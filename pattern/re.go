package pattern

// Full and Search are Python's re.fullmatch and re.search (CPython 3.11) on
// text. An expression is read into a tree by our own reader, so that it is
// taken or refused as Python does it.

func readRE(text string, full bool) (*reading, error) {
	tree, groups, err := parseRE(text)
	if err != nil {
		return nil, err
	}
	tree = simplify(tree)
	// A reference may depend on the text that a repetition took.
	if !full && !tree.any(func(n *node) bool { return n.op == nRef || n.op == nCond }) {
		tree = trimSearch(tree, true, true)
	}
	return &reading{tree: tree, groups: groups, search: !full}, nil
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

// trimSearch drops repetitions that a search need not look for: at its start (and, by the
// same token, at its end) a repetition has no reason to go on once it went
// round often enough.
func trimSearch(n *node, start, end bool) *node {
	switch n.op {
	case nRepeat:
		if n.mode == possessive || n.min == n.max {
			return n
		}
		c := *n
		c.max = n.min
		return simpleRepeat(&c)
	case nAlt:
		c := *n
		c.subs = make([]*node, len(n.subs))
		for i, sub := range n.subs {
			c.subs[i] = trimSearch(sub, start, end)
		}
		return &c
	case nCat:
		subs := append([]*node{}, n.subs...)
		for start && len(subs) > 0 {
			if subs[0] = trimSearch(subs[0], true, false); !subs[0].empty() {
				break
			}
			subs = subs[1:]
		}
		for end && len(subs) > 0 {
			last := len(subs) - 1
			if subs[last] = trimSearch(subs[last], false, true); !subs[last].empty() {
				break
			}
			subs = subs[:last]
		}
		return flatCat(subs)
	}
	return n
}

// sequenceOf returns the parts of a sequence, which may be just one.
func sequenceOf(n *node) []*node {
	if n.op == nCat {
		return n.subs
	}
	return []*node{n}
}
