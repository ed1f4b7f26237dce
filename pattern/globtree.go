package pattern

import (
	"strings"
	"unicode/utf8"
)

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

func charNode(r rune) *node { return setNode(oneSet(r)) }

func repeatNode(n *node, lo, hi int) *node {
	return &node{op: nRepeat, min: lo, max: hi, subs: []*node{n}}
}

// anything is any text.
func anything() *node { return repeatNode(setNode(everySet), 0, unlimited) }

// textNodes are the characters of a literal.
func textNodes(lit string) []*node {
	n := utf8.RuneCountInString(lit)
	nodes, out := make([]node, n), make([]*node, 0, n)
	for _, r := range lit {
		c := &nodes[len(out)]
		c.set = oneSet(r)
		out = append(out, c)
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

// bmpSet is the characters of one UTF-16 unit.
var bmpSet = newSet([]span{{0, 0xFFFF}})

// gap writes n units, or n and more.
func (w *globWriter) gap(n int, more bool) {
	switch {
	case n == 0:
	case !w.g.utf16 || n == 1 && more:
		w.add(repeatNode(setNode(everySet), n, n))
	case n == 1:
		w.add(setNode(bmpSet))
	case n == 2:
		char := either(more, everySet, bmpSet)
		astral := setNode(newSet([]span{{0x10000, maxRune}}))
		w.add(&node{op: nAlt, subs: []*node{astral, cat(setNode(char), setNode(char))}})
	case w.under:
		w.exact = false
		w.add(repeatNode(setNode(bmpSet), n, n))
	default:
		w.exact = false
		w.add(repeatNode(setNode(everySet), (n+1)/2, n))
	}
	if more {
		w.add(anything())
	}
}

// later is trees when they are wanted; the shape of a glob of literals is known
// without.
func (g *glob) later() trees {
	t := trees{grow: g.trees}
	lits := make([]string, len(g.parts))
	for i, p := range g.parts {
		if !pure(p.items) || p.min > 0 || g.slash && strings.IndexByte(literal(p.items), '/') >= 0 {
			return t
		}
		lits[i] = literal(p.items)
	}
	last := len(lits) - 1
	if last == 0 {
		t.known = &Shape{Prefix: lits[0], Exact: true}
		return t
	}
	t.known = &Shape{Prefix: lits[0], Suffix: lits[last], Ordered: true}
	for _, lit := range lits[1:last] {
		if lit != "" {
			t.known.Fragments = append(t.known.Fragments, lit)
		}
	}
	return t
}

// trees returns the trees of a glob's matches.
func (g *glob) trees() trees {
	may, exact := g.tree(false)
	may = simplify(may)
	if exact {
		return trees{tree: may, may: may, must: may}
	}
	must, _ := g.tree(true)
	return trees{tree: may, loose: true, may: may, must: simplify(must)}
}
