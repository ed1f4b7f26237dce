package pattern

import "github.com/obstat/obstat/pattern/internal/re"

// treeShape returns the Shape of a tree of whole strings.
func treeShape(n *re.Node) Shape {
	w := shapeWalk{exact: true}
	for _, it := range withoutEnds(n) {
		w.node(it)
	}
	w.flush()
	return w.shape()
}

// withoutEnds returns the parts of a tree of whole strings, without anchors that
// say so.
func withoutEnds(n *re.Node) []*re.Node {
	items := re.Parts(n)
	if len(items) > 0 && items[0].Op == re.OpAt && items[0].At == re.AtStart {
		items = items[1:]
	}
	if k := len(items) - 1; k >= 0 && items[k].Op == re.OpAt && (items[k].At == re.AtEnd || items[k].At == re.AtEndNL) {
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

func (w *shapeWalk) node(n *re.Node) {
	if r, ok := n.Literal(); ok {
		w.cur = append(w.cur, r)
		return
	}
	switch n.Op {
	case re.OpCat:
		for _, sub := range n.Subs {
			w.node(sub)
		}
	case re.OpGroup, re.OpAtomic:
		w.exact = w.exact && n.Op == re.OpGroup
		w.node(n.Subs[0])
	case re.OpAt, re.OpLook:
		w.exact = false // they take nothing: the literals left and right of them are adjacent
	case re.OpRepeat:
		w.repeat(n)
	case re.OpAlt:
		w.cur = append(w.cur, commonPrefix(n.Subs)...)
		w.stretch(false)
	default:
		w.stretch(false)
	}
}

func (w *shapeWalk) repeat(n *re.Node) {
	body := n.Subs[0]
	if n.Min == 0 {
		w.stretch(n.IsAnything())
		return
	}
	const worthwhile = 8
	for i := 0; i < min(n.Min, worthwhile); i++ {
		w.node(body)
	}
	if n.Min > worthwhile || n.Max != n.Min {
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
func commonPrefix(alts []*re.Node) []rune {
	var out []rune
	for i, alt := range alts {
		lit, _ := re.LiteralRun(re.Parts(alt))
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
