package pattern

// trees describe the strings that a pattern matches, as trees for whole strings.
// The zero trees say nothing.
type trees struct {
	known *Shape       // where the shape is known already
	grow  func() trees // where the others are made when wanted
	tree  *node        // for the shape
	loose bool         // tree stands for more than the pattern matches
	may   *node        // every match is in it
	must  *node        // all of it matches; nil: nothing is known to
}

// exactly is for a pattern whose matches are those of tree.
func exactly(tree *node) trees {
	return trees{tree: tree, may: tree, must: tree}
}

// shape reads the tree. The literals of a loose one are in every match, but
// not that there is nothing else.
func (l *trees) shape() *Shape {
	if l.known != nil {
		return l.known
	}
	if l.tree == nil {
		return &Shape{}
	}
	sh := treeShape(l.tree, l.loose)
	return &sh
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
