package pattern

// Full and Search are Python's re.fullmatch and re.search (CPython 3.11) on
// text. An expression is read into a tree by our own reader, so that it is
// taken or refused as Python does it, and becomes one of:
//
//   - the text itself, when nothing else can match;
//   - a program for the runner of revm.go.

func compileRE(text string, full bool) (matcher, trees, error) {
	tree, groups, err := parseRE(text)
	if err != nil {
		return nil, trees{}, err
	}
	tree = trimmed(simplify(tree), full)
	return compileTree(tree, groups, full)
}

// trimmed is trimSearch, unless a reference depends on the text that a repetition
// took.
func trimmed(tree *node, full bool) *node {
	if !full && !tree.any(func(n *node) bool { return n.op == nRef || n.op == nCond }) {
		return trimSearch(tree, true, true)
	}
	return tree
}

// compileTree compiles a simplified, trimmed tree.
func compileTree(tree *node, groups int, full bool) (matcher, trees, error) {
	whole := tree
	if !full {
		whole = wholeStrings(tree)
	}
	t := exactly(whole)
	shape := t.shape()
	t.known = shape
	if shape.Exact {
		return exact(shape.Prefix), t, nil
	}
	p := compileProg(tree, groups, full)
	if p == nil {
		return nil, trees{}, &SyntaxError{0, "the repetitions make the expression too large"}
	}
	return p, t, nil
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

func sameSpans(a, b []span) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}
