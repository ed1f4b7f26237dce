package pattern

// treeShape returns the Shape of a tree of whole strings.
func treeShape(n *node) Shape {
	w := shapeWalk{exact: true}
	for _, it := range withoutEnds(n) {
		w.node(it)
	}
	w.flush()
	return w.shape()
}

// withoutEnds returns the parts of a tree of whole strings, without anchors that
// say so.
func withoutEnds(n *node) []*node {
	items := sequenceOf(n)
	if len(items) > 0 && items[0].op == nAt && items[0].at == atStart {
		items = items[1:]
	}
	if k := len(items) - 1; k >= 0 && items[k].op == nAt && (items[k].at == atEnd || items[k].at == atEndNL) {
		items = items[:k]
	}
	return items
}

// shapeWalk reads a sequence as literals and stretches between them.
type shapeWalk struct {
	parts []string // literals; "" is a stretch
	cur   []rune
	exact bool // every stretch is any text at all
}

func (w *shapeWalk) node(n *node) {
	if r, ok := n.literal(); ok {
		w.cur = append(w.cur, r)
		return
	}
	switch n.op {
	case nCat:
		for _, sub := range n.subs {
			w.node(sub)
		}
	case nGroup, nAtomic:
		w.exact = w.exact && n.op == nGroup
		w.node(n.subs[0])
	case nAt, nLook:
		w.exact = false // they take nothing: the literals left and right of them are adjacent
	case nRepeat:
		w.repeat(n)
	case nAlt:
		w.cur = append(w.cur, commonPrefix(n.subs)...)
		w.stretch(false)
	default:
		w.stretch(false)
	}
}

func (w *shapeWalk) repeat(n *node) {
	body := n.subs[0]
	if n.min == 0 {
		w.stretch(n.isAnything())
		return
	}
	const worthwhile = 8
	for i := 0; i < min(n.min, worthwhile); i++ {
		w.node(body)
	}
	if n.min > worthwhile || n.max != n.min {
		w.stretch(false)
	}
}

// stretch adds a part that is no literal.
func (w *shapeWalk) stretch(anything bool) {
	w.exact = w.exact && anything
	w.flush()
	if k := len(w.parts); k == 0 || w.parts[k-1] != "" {
		w.parts = append(w.parts, "")
	}
}

// flush ends the literal that is being read.
func (w *shapeWalk) flush() {
	if len(w.cur) > 0 {
		w.parts = append(w.parts, string(w.cur))
		w.cur = nil
	}
}

func (w *shapeWalk) shape() Shape {
	parts := w.parts
	if w.exact && len(parts) == 0 {
		return Shape{Exact: true}
	}
	if w.exact && len(parts) == 1 && parts[0] != "" {
		return Shape{Prefix: parts[0], Exact: true}
	}
	sh := Shape{Ordered: w.exact}
	if len(parts) > 0 {
		sh.Prefix, parts = parts[0], parts[1:]
	}
	if k := len(parts) - 1; k >= 0 {
		sh.Suffix, parts = parts[k], parts[:k]
	}
	for _, p := range parts {
		if p != "" {
			sh.Fragments = append(sh.Fragments, p)
		}
	}
	return sh
}

// commonPrefix returns the characters that every alternative starts with.
func commonPrefix(alts []*node) []rune {
	var out []rune
	for i, alt := range alts {
		lit, _ := literalRun(sequenceOf(alt))
		if i == 0 {
			out = []rune(lit)
			continue
		}
		k := 0
		for _, r := range lit {
			if k == len(out) || out[k] != r {
				break
			}
			k++
		}
		out = out[:k]
	}
	return out
}
