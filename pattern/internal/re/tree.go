package re

import (
	"math"
	"unicode/utf8"
)

// A Node is a piece of an expression. Flags are resolved while reading:
// characters are sets, anchors say which anchor they are.
type Node struct {
	Op    Op
	Mode  Mode
	At    Place
	fold  foldMode
	Not   bool // OpLook, OpNot
	Back  bool // OpLook: look behind
	Set   *Set
	Subs  []*Node // in order for OpCat, by preference for OpAlt, one for most others
	Min   int     // OpRepeat, and the width of a look-behind
	Max   int     // OpRepeat; may be Unlimited
	group int     // OpGroup (0: none), OpRef, OpCond
}

// Op is the kind of a node.
type Op uint8

// The kinds of nodes.
const (
	OpSet    Op = iota // one character of set
	OpCat              // subs one after the other
	OpAlt              // one of subs
	OpRepeat           // subs[0], min to max times
	OpGroup            // subs[0], remembered as group
	OpAtomic           // subs[0], never tried again once it matched
	OpLook             // subs[0] matches here (or, back, before here), or does not
	OpRef              // the text that group matched, once more
	OpCond             // subs[0] if group matched, else subs[1]
	OpAt               // a place
	OpNot              // any text without a slash that subs[0] does not match as a whole (minimatch only)
	OpUnits            // min UTF-16 units, or (unlimited) the characters that the first min units are in
)

// Mode is the order in which a repetition tries its rounds.
type Mode uint8

// The modes.
const (
	Greedy     Mode = iota // `a*`: the more the better
	Lazy                   // `a*?`: the fewer the better
	Possessive             // `a*+`: as many as there are, and none given back
)

// Unlimited is the Max of a repetition without an upper bound.
const Unlimited = -1

// foldMode is how a back-reference compares.
type foldMode uint8

const (
	foldNone foldMode = iota
	foldASCII
	foldUnicode
)

// Place is a kind of place in a text, which takes no character.
type Place uint8

// The kinds of places.
const (
	AtStart        Place = iota // \A, ^
	AtLineStart                 // (?m)^
	AtEnd                       // \Z
	AtEndNL                     // $: at the end or before a newline that ends the subject
	AtLineEnd                   // (?m)$
	AtWord                      // \b
	AtNotWord                   // \B
	AtWordASCII                 // (?a)\b
	AtNotWordASCII              // (?a)\B
	AtNoDot                     // where a wildcard of minimatch may stand: not before a leading dot, nor in . and ..
	AtNotDots                   // not in a segment that is . or ..
	AtInSegment                 // before a character of a segment
)

// widths are saturated well below overflow.
const maxWidth = math.MaxInt / 4

func satAdd(a, b int) int { return min(a+b, maxWidth) }

func satMul(a, b int) int {
	if a != 0 && b > maxWidth/a {
		return maxWidth
	}
	return a * b
}

// width returns how many characters n takes at least and at most, as CPython
// counts them: groups holds the widths of the groups closed so far.
func (n *Node) width(groups []groupWidth) (lo, hi int) {
	switch n.Op {
	case OpSet:
		return 1, 1
	case OpAt, OpLook:
		return 0, 0
	case OpRef:
		g := groups[n.group]
		return g.lo, g.hi
	case OpRepeat:
		l, h := n.Subs[0].width(groups)
		hi = satMul(h, n.Max)
		if n.Max == Unlimited {
			hi = 0
			if h > 0 {
				hi = maxWidth
			}
		}
		return satMul(l, n.Min), hi
	case OpAlt, OpCond:
		lo = maxWidth
		for _, s := range n.Subs {
			l, h := s.width(groups)
			lo, hi = min(lo, l), max(hi, h)
		}
		return lo, hi
	}
	for _, s := range n.Subs {
		l, h := s.width(groups)
		lo, hi = satAdd(lo, l), satAdd(hi, h)
	}
	return lo, hi
}

type groupWidth struct {
	lo, hi int
	closed bool
}

// Cat matches nodes one after the other.
func Cat(subs ...*Node) *Node {
	if len(subs) == 1 {
		return subs[0]
	}
	return &Node{Op: OpCat, Subs: subs}
}

// OneOf matches one character of s.
func OneOf(s *Set) *Node { return &Node{Op: OpSet, Set: s} }

// Char matches the character r.
func Char(r rune) *Node { return OneOf(One(r)) }

// Repeat matches n lo to hi times; hi may be [Unlimited].
func Repeat(n *Node, lo, hi int) *Node {
	return &Node{Op: OpRepeat, Min: lo, Max: hi, Subs: []*Node{n}}
}

// Anything matches any text.
func Anything() *Node { return Repeat(OneOf(Every), 0, Unlimited) }

// IsAnything reports whether n matches any text, as [Anything] does.
func (n *Node) IsAnything() bool {
	if n.Op != OpRepeat || n.Min != 0 || n.Max != Unlimited || n.Mode == Possessive {
		return false
	}
	return n.Subs[0].Op == OpSet && n.Subs[0].Set.Full()
}

// Text returns a node for each character of a literal.
func Text(lit string) []*Node {
	n := utf8.RuneCountInString(lit)
	nodes, out := make([]Node, n), make([]*Node, 0, n)
	for _, r := range lit {
		c := &nodes[len(out)]
		c.Set = One(r)
		out = append(out, c)
	}
	return out
}

// WordOrMore matches a literal, alone or with a space and any text behind it: `git` and `git push`.
func WordOrMore(lit []*Node) *Node {
	return Cat(append(lit, Repeat(Cat(Char(' '), Anything()), 0, 1))...)
}
