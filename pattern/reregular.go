package pattern

import (
	"strconv"
	"strings"
)

// Why a Regular expression means the same as the tree it is written from.
//
// Only the language counts, since both ends are anchored: which of several
// ways a matcher prefers makes no difference, so greedy and lazy, and leftmost
// first, are the same. Characters are written as explicit sets, so no flag and
// no class of stdlib regexp is used, whose Unicode version, case folding and
// \d \w \s are not Python's. A byte that is no UTF-8 is U+FFFD to stdlib and a
// character of its own to us: a set that tells the two apart is not written.
// What has no counterpart is not written either: references, conditions,
// look-around (but see exceptLiterals), atomic groups, \b over Unicode, \B (an
// empty subject has none in CPython 3.11), and $ anywhere but at the end.

const (
	maxRegular  = 4 << 10 // bytes: \w alone is longer than is worth while
	maxRegCount = 1000    // stdlib's limit for counted repetition, nested ones multiplied
)

// treeRegular writes a tree of whole strings for Shape.Regular, or returns "".
func treeRegular(n *node) string {
	var w regularWriter
	w.b.WriteString(`\A(?:`)
	w.node(n, true, 1)
	w.b.WriteString(`)\z`)
	if w.failed || w.b.Len() > maxRegular {
		return ""
	}
	return w.b.String()
}

type regularWriter struct {
	b      strings.Builder
	failed bool
}

// node writes n. last: nothing of the expression follows it. count is how
// often counted repetitions around it multiply it.
func (w *regularWriter) node(n *node, last bool, count int) {
	if w.failed || w.b.Len() > maxRegular {
		w.failed = true
		return
	}
	switch n.op {
	case nSet:
		w.set(n.set)
	case nCat:
		w.cat(n.subs, last, count)
	case nAlt:
		w.b.WriteString(`(?:`)
		for i, sub := range n.subs {
			if i > 0 {
				w.b.WriteByte('|')
			}
			w.node(sub, last, count)
		}
		w.b.WriteByte(')')
	case nRepeat:
		w.repeat(n, count)
	case nAt:
		w.at(n.at, last)
	case nGroup:
		w.node(n.subs[0], last, count)
	default:
		w.failed = true
	}
}

func (w *regularWriter) cat(subs []*node, last bool, count int) {
	for i := 0; i < len(subs); i++ {
		if subs[i].op == nLook && w.exceptLiterals(subs[i], subs[i+1:], last) {
			return
		}
		if lit, k := literalRun(subs[i:]); k > 0 {
			w.b.WriteString(quoteMeta(lit))
			i += k - 1
			continue
		}
		w.node(subs[i], last && i == len(subs)-1, count)
	}
}

func (w *regularWriter) set(s *set) {
	if !s.regular() {
		w.failed = true
		return
	}
	s.appendRegular(&w.b)
}

func (w *regularWriter) repeat(n *node, count int) {
	lo, hi := n.min, n.max
	if n.mode == possessive {
		w.failed = true
		return
	}
	if c := max(lo, hi, 1) * count; c > maxRegCount {
		w.failed = true
		return
	} else if lo > 1 || hi > 1 {
		count = c
	}
	w.b.WriteString(`(?:`)
	w.node(n.subs[0], false, count)
	w.b.WriteByte(')')
	switch {
	case lo == 0 && hi == unlimited:
		w.b.WriteByte('*')
	case lo == 1 && hi == unlimited:
		w.b.WriteByte('+')
	case lo == 0 && hi == 1:
		w.b.WriteByte('?')
	case hi == unlimited:
		w.b.WriteString("{" + strconv.Itoa(lo) + ",}")
	default:
		w.b.WriteString("{" + strconv.Itoa(lo) + "," + strconv.Itoa(hi) + "}")
	}
}

func (w *regularWriter) at(kind atKind, last bool) {
	switch {
	case kind == atStart:
		w.b.WriteString(`\A`)
	case kind == atLineStart:
		w.b.WriteString(`(?m:^)`)
	case kind == atLineEnd:
		w.b.WriteString(`(?m:$)`)
	case kind == atEnd, kind == atEndNL && last:
		w.b.WriteString(`\z`)
	case kind == atWordASCII:
		w.b.WriteString(`\b`)
	default:
		w.failed = true
	}
}

// exceptLiterals writes (?!a|bc).* at the end of a full match, where a and bc
// are literals: each text that leaves their tree by another character.
func (w *regularWriter) exceptLiterals(look *node, rest []*node, last bool) bool {
	if !last || !look.not || look.back || len(rest) != 1 {
		return false
	}
	star := rest[0]
	if star.op != nRepeat || star.min != 0 || star.max != unlimited || star.subs[0].op != nSet {
		return false
	}
	set := star.subs[0].set
	if !set.full() && !sameSpans(set.spans, lineSet().spans) {
		return false
	}
	var lits [][]rune
	for _, alt := range alternativesOf(look.subs[0]) {
		subs := sequenceOf(alt)
		lit, k := literalRun(subs)
		if k != len(subs) || k == 0 {
			return false
		}
		lits = append(lits, []rune(lit))
	}
	w.except(lits, set)
	return true
}

func alternativesOf(n *node) []*node {
	if n.op == nAlt {
		return n.subs
	}
	if n.op == nSet && len(n.set.spans) <= 16 {
		var out []*node
		for _, sp := range n.set.spans {
			if sp.hi-sp.lo > 16 {
				return []*node{n}
			}
			for r := sp.lo; r <= sp.hi; r++ {
				out = append(out, &node{op: nSet, set: newSet([]span{{r, r}})})
			}
		}
		return out
	}
	return []*node{n}
}

// except writes every text over set that starts with none of lits.
func (w *regularWriter) except(lits [][]rune, set *set) {
	if w.b.Len() > maxRegular {
		w.failed = true
		return
	}
	kids := map[rune][][]rune{}
	var order []rune
	var taken []span
	for _, lit := range lits {
		if len(kids[lit[0]]) == 0 {
			order = append(order, lit[0])
			taken = append(taken, span{lit[0], lit[0]})
		}
		kids[lit[0]] = append(kids[lit[0]], lit[1:])
	}
	w.b.WriteString(`(?:`)
	w.set(newSet(subtractSpans(set.spans, mergeSpans(taken))))
	w.set(set)
	w.b.WriteString(`*`)
	for _, r := range order {
		if ends(kids[r]) || !set.has(r) {
			continue
		}
		w.b.WriteString(`|` + quoteMeta(string(r)))
		w.except(kids[r], set)
	}
	w.b.WriteString(`)?`)
}

// ends reports whether one of lits is over.
func ends(lits [][]rune) bool {
	for _, lit := range lits {
		if len(lit) == 0 {
			return true
		}
	}
	return false
}

// quoteMeta writes a text that stands for itself.
func quoteMeta(lit string) string {
	var b strings.Builder
	for _, c := range []byte(lit) {
		if strings.IndexByte(`\.+*?()|[]{}^$`, c) >= 0 {
			b.WriteByte('\\')
		}
		b.WriteByte(c)
	}
	return b.String()
}
