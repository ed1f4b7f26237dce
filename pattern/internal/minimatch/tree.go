package minimatch

import "github.com/obstat/obstat/pattern/internal/re"

// The characters of a path's segment, and those that it may start with where a
// wildcard stands.
var (
	inSegment    = re.One('/').Negate()
	startSegment = re.NewSet([]re.Span{re.Range('.', '/')}).Negate()
)

// slashes is any number of them.
func slashes() *re.Node { return re.Repeat(re.Char('/'), 0, re.Unlimited) }

// rowTree writes the segments of an alternative.
func rowTree(segs []segment) *re.Node {
	var out []*re.Node
	last := len(segs) - 1
	part := re.Cat(re.OneOf(startSegment), re.Repeat(re.OneOf(inSegment), 0, re.Unlimited))
	for i := range segs {
		seg := &segs[i]
		if i > 0 && segs[i-1].kind != segStarStar {
			out = append(out, re.Char('/'), slashes())
		}
		if seg.kind != segStarStar {
			out = append(out, seg.nodes()...)
			continue
		}
		if i == 0 {
			out = append(out, slashes()) // the empty segment before a leading slash
		}
		if i < last {
			out = append(out, re.Repeat(re.Cat(part, re.Char('/'), slashes()), 0, re.Unlimited))
			continue
		}
		more := re.Repeat(re.Cat(re.Char('/'), slashes(), part), 0, re.Unlimited)
		return re.Cat(append(out, re.Repeat(re.Cat(part, more, slashes()), 0, 1))...)
	}
	return re.Cat(append(out, slashes())...)
}

// nodes writes a segment. All but a literal matches neither an empty segment nor a
// leading dot, and . and .. are matched by dots alone.
func (g *segment) nodes() []*re.Node {
	items := g.in
	switch {
	case g.kind == segLiteral:
		return re.Text(g.lit)
	case g.kind == segTree:
		return []*re.Node{{Op: re.OpAt, At: re.AtInSegment}, itemTree(items, true)}
	case g.lit != "" && g.lit[0] == '.' && leastItems(items) <= 2:
		return append([]*re.Node{{Op: re.OpAt, At: re.AtNotDots}}, itemNodes(items)...)
	case items[0].lit != 0:
		return itemNodes(items)
	case !items[0].star:
		return append([]*re.Node{re.OneOf(notDot(items[0]))}, itemNodes(items[1:])...)
	}
	for len(items) > 0 && items[0].star {
		items = items[1:]
	}
	rest := itemNodes(items)
	long := re.Cat(append([]*re.Node{re.OneOf(startSegment), re.Repeat(re.OneOf(inSegment), 0, re.Unlimited)}, rest...)...)
	switch {
	case len(items) == 0 || items[0].lit == '.':
		return []*re.Node{long}
	case items[0].lit == 0:
		rest = append([]*re.Node{re.OneOf(notDot(items[0]))}, rest[1:]...)
	}
	return []*re.Node{{Op: re.OpAlt, Subs: []*re.Node{long, re.Cat(rest...)}}}
}

// itemNodes writes items that are no extended globs.
func itemNodes(items []item) []*re.Node {
	out := make([]*re.Node, len(items))
	for i := range items {
		out[i] = items[i].node()
	}
	return out
}

// node writes a character, a set, a ? or a *.
func (it *item) node() *re.Node {
	n := re.OneOf(it.chars())
	if it.star {
		n = re.Repeat(n, 0, re.Unlimited)
	}
	return n
}

// chars returns the characters that an item matches.
func (it *item) chars() *re.Set {
	if it.set == nil {
		return inSegment
	}
	return it.set.Without('/')
}

// notDot returns the characters that an item matches at the start of a segment.
func notDot(it item) *re.Set {
	return it.chars().Without('.')
}

// leastItems is how many characters items take at least.
func leastItems(items []item) int {
	n := 0
	for _, it := range items {
		if !it.star {
			n++
		}
	}
	return n
}
