package pattern

// tree writes a glob as a tree. Runs of UTF-16 units have no tree of a sane
// size; they are bounded from above, or with under from below. exact says that
// nothing was bounded.
func (g *glob) tree(under bool) (n *node, exact bool) {
	w := globWriter{g: g, under: under, exact: true}
	for i, p := range g.parts {
		if i > 0 {
			w.gap(p.min, true)
		}
		for _, it := range p.items {
			switch {
			case it.lit != "":
				w.literal(it.lit)
			case it.set != nil:
				w.add(setNode(it.set))
			default:
				w.gap(it.n, false)
			}
		}
	}
	return &node{op: nCat, subs: w.out}, w.exact
}

func setNode(s *set) *node { return &node{op: nSet, set: s} }

func charNode(r rune) *node { return setNode(newSet([]span{{r, r}})) }

func repeatNode(n *node, lo, hi int) *node {
	return &node{op: nRepeat, min: lo, max: hi, subs: []*node{n}}
}

// anything is any text.
func anything() *node { return repeatNode(setNode(everySet()), 0, unlimited) }

// textNodes are the characters of a literal.
func textNodes(lit string) []*node {
	var out []*node
	for _, r := range lit {
		out = append(out, charNode(r))
	}
	return out
}

type globWriter struct {
	g     *glob
	under bool
	exact bool
	out   []*node
}

func (w *globWriter) add(n *node) { w.out = append(w.out, n) }

func (w *globWriter) literal(lit string) {
	for _, n := range textNodes(lit) {
		if w.g.slash && n.set.has('/') {
			n = setNode(newSet([]span{{'/', '/'}, {'\\', '\\'}}))
		}
		w.add(n)
	}
}

// gap writes n units, or n and more.
func (w *globWriter) gap(n int, more bool) {
	every := setNode(everySet())
	bmp := setNode(newSet([]span{{0, 0xFFFF}}))
	astral := setNode(newSet([]span{{0x10000, maxRune}}))
	switch {
	case n == 0:
	case !w.g.utf16 || n == 1 && more:
		w.add(repeatNode(every, n, n))
	case n == 1:
		w.add(bmp)
	case n == 2:
		two := cat(bmp, bmp)
		if more {
			two = cat(every, every)
		}
		w.add(&node{op: nAlt, subs: []*node{astral, two}})
	case w.under:
		w.exact = false
		w.add(repeatNode(bmp, n, n))
	default:
		w.exact = false
		w.add(repeatNode(every, (n+1)/2, n))
	}
	if more {
		w.add(anything())
	}
}

// trees returns what is known of a glob's matches.
func (g *glob) trees() trees {
	may, exact := g.tree(false)
	may = simplify(may)
	if exact {
		return trees{tree: may, may: may, must: may}
	}
	must, _ := g.tree(true)
	return trees{tree: may, loose: true, may: may, must: simplify(must)}
}
