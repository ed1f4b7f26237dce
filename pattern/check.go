package pattern

import (
	"math"
	"strings"
)

// A check is a pattern, or a form of one, to be verified. It is small and its
// literals lie with those of the others: among very many patterns the cost of a
// decision is the memory it has to fetch.
type check struct {
	rank     uint32
	lits     uint32 // where its literals are: prefix, suffix, fragments
	pre, suf uint16 // their lengths
	kind     checkKind
	flags    checkFlags
	least    uint8    // bytes between prefix and suffix
	frags    uint8    // how many; two bytes before each are its length
	pattern  *Pattern // to be matched after the literals, or nil
}

type checkKind uint8

const (
	checkLiterals checkKind = iota // the literals are all there is to it
	checkFast                      // to be matched after the literals
	checkRegular                   // a general regular expression, best left to an automaton
	checkSlow                      // may run out of time
)

type checkFlags uint8

const (
	isExact    checkFlags = 1 << iota // nothing follows the prefix
	isInside                          // no slash is between prefix and suffix
	startKnown                        // found by its prefix: that need not be compared again
	endKnown                          // found by its suffix: that need not be compared again
)

// fits reports whether a check can hold the literals of f.
func (f *form) fits() bool {
	if len(f.prefix) > math.MaxUint16 || len(f.suffix) > math.MaxUint16 || len(f.fragments) > math.MaxUint8 {
		return false
	}
	for _, frag := range f.fragments {
		if len(frag) > math.MaxUint16 {
			return false
		}
	}
	return true
}

// trim makes the literals of f fit. They promise less then; the pattern is
// matched after them.
func (f *form) trim() {
	if !f.fits() {
		f.prefix, f.suffix, f.fragments = f.prefix[:min(len(f.prefix), math.MaxUint16)], "", nil
		f.exact = false
	}
}

// check gives the literals of d their place.
func (b *setBuilder) check(d *checkDraft) check {
	c := check{rank: d.rank, lits: uint32(len(b.lits)), pre: uint16(len(d.prefix)), suf: uint16(len(d.suffix)), kind: d.kind,
		flags: d.flags, least: uint8(d.least), frags: uint8(len(d.fragments)), pattern: d.pattern}
	if d.exact {
		c.flags |= isExact
	}
	if d.inside {
		c.flags |= isInside
	}
	b.lits = append(append(b.lits, d.prefix...), d.suffix...)
	for _, f := range d.fragments {
		b.lits = append(append(b.lits, byte(len(f)), byte(len(f)>>8)), f...)
	}
	return c
}

// admits reports whether a text has the literals of c.
func (x *setIndex) admits(c *check, s string) bool {
	lits := x.lits[c.lits:]
	pre, suf := int(c.pre), int(c.suf)
	if len(s) < pre+suf+int(c.least) ||
		c.flags&startKnown == 0 && (pre >= 8 && eightOf(s, 0) != eightOf(lits, 0) || s[:pre] != lits[:pre]) || // most fail at eight bytes, without a call
		c.flags&endKnown == 0 && s[len(s)-suf:] != lits[pre:pre+suf] {
		return false
	}
	if c.flags&isExact != 0 {
		return len(s) == pre
	}
	if c.flags&isInside != 0 {
		return strings.IndexByte(s[pre:len(s)-suf], '/') < 0
	}
	return c.frags == 0 || hasFragments(s[pre:len(s)-suf], lits[pre+suf:], int(c.frags))
}

// hasFragments looks for the first n literals of lits in s, one after the other.
func hasFragments(s, lits string, n int) bool {
	for range n {
		size := int(lits[0]) | int(lits[1])<<8
		frag := lits[2 : 2+size]
		i := strings.Index(s, frag)
		if i < 0 {
			return false
		}
		s, lits = s[i+size:], lits[2+size:]
	}
	return true
}
