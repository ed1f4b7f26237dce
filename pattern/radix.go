package pattern

import (
	"math/bits"
	"slices"
	"sort"
	"strings"
)

// none is the rank of nothing: no rank is below a limit of none or less.
const none = ^uint32(0)

// A radix is a compact radix trie. Nodes are small and their kids contiguous,
// the edges share one blob, and every node knows the lowest rank below it, so
// that a walk touches few cache lines and ends as soon as nothing better can
// follow. Built over reversed keys it is walked from the end of a text.
type radix struct {
	nodes []radixNode
	first string // the byte that leads into a node, in the direction of the walk, and eight more
	edges string // in the direction of the text
}

// radixNode is 32 bytes.
type radixNode struct {
	edge, edgeLen uint32
	kid           uint32 // index of the first kid
	kids          uint16
	min           uint32 // the lowest rank at or below the node
	prefix        uint32 // the rank of every text that comes by
	exact         uint32 // the rank of the text that ends here
	bucket        uint32 // patterns to verify for texts that come by, or 0
}

// radixKey is a key and its value: a rank or a bucket.
type radixKey struct {
	key    string
	kind   keyKind
	min    uint32 // the rank, or the lowest of the bucket
	bucket uint32
}

type keyKind uint8

const (
	keyPrefix keyKind = iota
	keyExact
	keyBucket
)

// newRadix builds the trie of keys; it may reorder and change them.
func newRadix(keys []radixKey, reverse bool) *radix {
	if reverse {
		for i := range keys {
			keys[i].key = reversed(keys[i].key)
		}
	}
	slices.SortFunc(keys, func(a, b radixKey) int { return strings.Compare(a.key, b.key) })
	b := radixBuilder{keys: keys, reverse: reverse}
	b.build()
	b.trie.edges = string(b.blob)
	b.trie.first = string(append(b.first, make([]byte, 8)...))
	return &b.trie
}

type radixBuilder struct {
	keys    []radixKey
	reverse bool
	trie    radix
	blob    []byte
	first   []byte
	todo    []radixSpan
}

// radixSpan is a node to be filled in from keys[lo:hi], which agree up to depth.
type radixSpan struct {
	node, lo, hi, depth int
}

func (b *radixBuilder) build() {
	b.addNodes(1)
	b.todo = append(b.todo, radixSpan{0, 0, len(b.keys), 0})
	for len(b.todo) > 0 {
		span := b.todo[len(b.todo)-1]
		b.todo = b.todo[:len(b.todo)-1]
		b.fill(span)
	}
	nodes := b.trie.nodes
	for i := len(nodes) - 1; i >= 0; i-- { // kids come after their parents
		n := &nodes[i]
		for _, kid := range nodes[n.kid : n.kid+uint32(n.kids)] {
			n.min = min(n.min, kid.min)
		}
	}
}

func (b *radixBuilder) addNodes(count int) int {
	at := len(b.trie.nodes)
	for range count {
		b.trie.nodes = append(b.trie.nodes, radixNode{min: none, prefix: none, exact: none})
		b.first = append(b.first, 0)
	}
	return at
}

// fill gives a node its edge, its values and its (still empty) kids. The root
// alone has no edge, so that patterns without a key have a place.
func (b *radixBuilder) fill(s radixSpan) {
	end := s.depth
	if s.node > 0 {
		first, last := b.keys[s.lo].key, b.keys[s.hi-1].key
		for end < len(first) && end < len(last) && first[end] == last[end] {
			end++
		}
		b.setEdge(s.node, first[s.depth:end])
	}
	lo := s.lo
	for ; lo < s.hi && len(b.keys[lo].key) == end; lo++ {
		b.trie.nodes[s.node].set(&b.keys[lo])
	}
	at, kids := len(b.trie.nodes), 0
	for i := lo; i < s.hi; kids++ {
		i = b.endOfKid(i, s.hi, end)
	}
	b.addNodes(kids)
	b.trie.nodes[s.node].kid, b.trie.nodes[s.node].kids = uint32(at), uint16(kids)
	for i := lo; i < s.hi; at++ {
		next := b.endOfKid(i, s.hi, end)
		b.first[at] = b.keys[i].key[end]
		b.todo = append(b.todo, radixSpan{at, i, next, end})
		i = next
	}
}

// endOfKid returns the end of the run of keys that share keys[i]'s byte at depth.
func (b *radixBuilder) endOfKid(i, hi, depth int) int {
	lead := b.keys[i].key[depth]
	return i + sort.Search(hi-i, func(n int) bool { return b.keys[i+n].key[depth] > lead })
}

func (b *radixBuilder) setEdge(node int, edge string) {
	n := &b.trie.nodes[node]
	n.edge, n.edgeLen = uint32(len(b.blob)), uint32(len(edge))
	b.blob = append(b.blob, edge...)
	if b.reverse {
		slices.Reverse(b.blob[n.edge:])
	}
}

func (n *radixNode) set(k *radixKey) {
	n.min = min(n.min, k.min)
	switch k.kind {
	case keyPrefix:
		n.prefix = min(n.prefix, k.min)
	case keyExact:
		n.exact = min(n.exact, k.min)
	case keyBucket:
		n.bucket = k.bucket
	}
}

// kidOf returns the kid of n that c leads to, or -1. It looks at eight at a time.
func (t *radix) kidOf(n *radixNode, c byte) int {
	const ones, highs = 0x0101010101010101, 0x8080808080808080
	end := int(n.kid) + int(n.kids)
	for kid := int(n.kid); kid < end; kid += 8 {
		v := eightOf(t.first, kid) ^ uint64(c)*ones
		if m := (v - ones) &^ v & highs; m != 0 {
			if kid += bits.TrailingZeros64(m) / 8; kid < end {
				return kid
			}
			return -1
		}
	}
	return -1
}

// follows reports whether the edge into n stands in text at at, where its first
// byte is known to.
func (t *radix) follows(n *radixNode, text string, at int) bool {
	size := int(n.edgeLen)
	if at < 0 || at+size > len(text) {
		return false
	}
	edge := t.edges[n.edge : n.edge+n.edgeLen]
	text = text[at : at+size]
	for len(edge) > 8 {
		if eightOf(edge, 0) != eightOf(text, 0) {
			return false
		}
		edge, text = edge[8:], text[8:]
	}
	for i := range len(edge) {
		if edge[i] != text[i] {
			return false
		}
	}
	return true
}

func reversed(s string) string {
	b := []byte(s)
	slices.Reverse(b)
	return string(b)
}
