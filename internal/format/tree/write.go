package tree

import (
	"slices"
	"strings"
)

// A Notation is how a language writes values. All that obstat knows of write
// [a, b] and {k: v}; they differ in the blanks, in the order of keys and in scalars.
type Notation struct {
	Comma, Colon string // between items, and behind a key
	// Order compares keys; nil keeps the order of the file.
	Order func(a, b string) int
	// Scalar writes a text, number, boolean or null; nil is null as well.
	Scalar func(n *Node) string
}

// Write returns n as the language writes it: `{"a": [1, 2]}`.
func (w *Notation) Write(n *Node) string {
	var b strings.Builder
	w.write(&b, n)
	return b.String()
}

// Sorted returns the members of an object in the language's order.
func (w *Notation) Sorted(n *Node) []Member {
	if w.Order == nil {
		return n.Members
	}
	return slices.SortedStableFunc(slices.Values(n.Members), func(x, y Member) int { return w.Order(x.Key, y.Key) })
}

// Key returns a key and the colon behind it.
func (w *Notation) Key(key string) string { return w.Scalar(&Node{Kind: String, Str: key}) + w.Colon }

func (w *Notation) write(b *strings.Builder, n *Node) {
	comma := func(i int) {
		if i > 0 {
			b.WriteString(w.Comma)
		}
	}
	switch {
	case n.Is(Array):
		b.WriteByte('[')
		for i, e := range n.Elems {
			comma(i)
			w.write(b, e)
		}
		b.WriteByte(']')
	case n.Is(Object):
		b.WriteByte('{')
		for i, m := range w.Sorted(n) {
			comma(i)
			b.WriteString(w.Key(m.Key))
			w.write(b, m.Value)
		}
		b.WriteByte('}')
	default:
		b.WriteString(w.Scalar(n))
	}
}
