package pattern

import "math"

// A node is a piece of an expression. Flags are resolved while reading:
// characters are sets, anchors say which anchor they are.
type node struct {
	op    nodeOp
	mode  repeatMode
	at    atKind
	fold  foldMode
	not   bool // nLook, nNot
	back  bool // nLook
	set   *set
	subs  []*node // in order for nCat, by preference for nAlt, one for most others
	min   int     // nRepeat, and the width of a look-behind
	max   int     // nRepeat; unlimited
	group int     // nGroup (0: none), nRef, nCond
}

type nodeOp uint8

const (
	nSet    nodeOp = iota // one character of set
	nCat                  // subs one after the other
	nAlt                  // one of subs
	nRepeat               // subs[0], min to max times
	nGroup                // subs[0], remembered as group
	nAtomic               // subs[0], never tried again once it matched
	nLook                 // subs[0] matches here (or, back, before here), or does not
	nRef                  // the text that group matched, once more
	nCond                 // subs[0] if group matched, else subs[1]
	nAt                   // a place
	nNot                  // any text without a slash that subs[0] does not match as a whole (minimatch only)
	nUnits                // min UTF-16 units, or (unlimited) the characters that the first min units are in
)

type repeatMode uint8

const (
	greedy repeatMode = iota
	lazy
	possessive
)

const unlimited = -1

// foldMode is how a back-reference compares.
type foldMode uint8

const (
	foldNone foldMode = iota
	foldASCII
	foldUnicode
)

type atKind uint8

const (
	atStart        atKind = iota // \A, ^
	atLineStart                  // (?m)^
	atEnd                        // \Z
	atEndNL                      // $: at the end or before a newline that ends the subject
	atLineEnd                    // (?m)$
	atWord                       // \b
	atNotWord                    // \B
	atWordASCII                  // (?a)\b
	atNotWordASCII               // (?a)\B
	atNoDot                      // where a wildcard of minimatch may stand: not before a leading dot, nor in . and ..
	atNotDots                    // not in a segment that is . or ..
	atInSegment                  // before a character of a segment
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
func (n *node) width(groups []groupWidth) (lo, hi int) {
	switch n.op {
	case nSet:
		return 1, 1
	case nAt, nLook:
		return 0, 0
	case nRef:
		g := groups[n.group]
		return g.lo, g.hi
	case nRepeat:
		l, h := n.subs[0].width(groups)
		hi = satMul(h, n.max)
		if n.max == unlimited {
			hi = 0
			if h > 0 {
				hi = maxWidth
			}
		}
		return satMul(l, n.min), hi
	case nAlt, nCond:
		lo = maxWidth
		for _, s := range n.subs {
			l, h := s.width(groups)
			lo, hi = min(lo, l), max(hi, h)
		}
		return lo, hi
	}
	for _, s := range n.subs {
		l, h := s.width(groups)
		lo, hi = satAdd(lo, l), satAdd(hi, h)
	}
	return lo, hi
}

type groupWidth struct {
	lo, hi int
	closed bool
}

func cat(subs ...*node) *node {
	if len(subs) == 1 {
		return subs[0]
	}
	return &node{op: nCat, subs: subs}
}
