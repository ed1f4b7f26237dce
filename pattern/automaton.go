package pattern

import (
	"regexp/syntax"
	"slices"

	"github.com/obstat/obstat/pattern/internal/re"
)

// An automaton follows a tree of whole strings without backtracking: every
// instruction takes one character, forks, waits for a condition such as a line's
// start, or matches. It answers for a pattern that ran out of time, and tells which
// texts a pattern can match at all, see [language].
type automaton struct {
	insts []autoInst // the first one is the match
	start uint32
	exact bool // its language is that of the tree, not larger
}

type autoInst struct {
	op       autoOp
	set      *re.Set // opRune: the characters it takes
	out, alt uint32  // where it leads to; alt is the other way of a fork
	cond     syntax.EmptyOp
}

type autoOp uint8

const (
	opMatch autoOp = iota
	opFork
	opWait // for an empty-width condition
	opRune
)

const (
	maxInstsEach   = 1000 // counted repeats make automata explode
	maxLooseCopies = 64   // of a counted repetition's inside, where more may be matched
	maxAutoSpans   = 256  // of all sets: \w alone has three times as many
)

// newAutomaton lays a tree out, with limit instructions at most; nil if that is
// not enough, or if the tree has something that only backtracking can follow: a
// reference, a condition, a look-around, an atomic
// group, \b over Unicode, \B, or a $ anywhere but at the end.
//
// A loose one takes such things for more than they are: a look-around and an
// anchor match anywhere, a reference matches anything.
func newAutomaton(tree *re.Node, limit int, loose bool) *automaton {
	b := autoBuilder{limit: limit, loose: loose}
	b.exact = true
	b.insts = []autoInst{{op: opMatch}}
	b.start = b.sequence(withoutEnds(tree), 0, true)
	if b.failed {
		return nil
	}
	return &b.automaton
}

type autoBuilder struct {
	automaton
	limit  int
	loose  bool
	failed bool
	spans  int // of all sets, but for the first of each
}

func (b *autoBuilder) add(in autoInst) uint32 {
	if len(b.insts) >= b.limit {
		b.failed = true
		return 0
	}
	b.insts = append(b.insts, in)
	return uint32(len(b.insts) - 1)
}

// sequence returns the instruction from which subs and then to are matched.
// last: nothing of the expression follows them.
func (b *autoBuilder) sequence(subs []*re.Node, to uint32, last bool) uint32 {
	for i, sub := range slices.Backward(subs) {
		to = b.node(sub, to, last && i == len(subs)-1)
	}
	return to
}

func (b *autoBuilder) node(n *re.Node, to uint32, last bool) uint32 {
	if b.failed {
		return 0
	}
	switch n.Op {
	case re.OpSet:
		b.spans += len(n.Set.Spans) - 1
		b.failed = !b.loose && b.spans > maxAutoSpans
		return b.add(autoInst{op: opRune, set: n.Set, out: to})
	case re.OpCat:
		return b.sequence(n.Subs, to, last)
	case re.OpAlt:
		return b.either(n.Subs, to, last)
	case re.OpRepeat:
		return b.repeat(n, to)
	case re.OpGroup:
		return b.node(n.Subs[0], to, last)
	case re.OpUnits:
		return b.units(n, to)
	case re.OpAt:
		if cond := condition(n.At, last); cond != 0 && !b.loose {
			return b.add(autoInst{op: opWait, cond: cond, out: to})
		}
	}
	return b.loosely(n, to)
}

// loosely takes n for more than it is.
func (b *autoBuilder) loosely(n *re.Node, to uint32) uint32 {
	b.exact, b.failed = false, !b.loose
	switch n.Op {
	case re.OpAtomic:
		return b.node(n.Subs[0], to, false)
	case re.OpCond:
		return b.either(n.Subs, to, false)
	case re.OpRef, re.OpNot:
		return b.repeat(re.Anything(), to)
	}
	return to // a place or a look-around
}

// condition returns the condition of an anchor, 0 if there is none like it.
func condition(at re.Place, last bool) syntax.EmptyOp {
	switch {
	case at == re.AtStart:
		return syntax.EmptyBeginText
	case at == re.AtLineStart:
		return syntax.EmptyBeginLine
	case at == re.AtLineEnd:
		return syntax.EmptyEndLine
	case at == re.AtEnd, at == re.AtEndNL && last:
		return syntax.EmptyEndText
	case at == re.AtWordASCII:
		return syntax.EmptyWordBoundary
	}
	return 0
}

func (b *autoBuilder) either(subs []*re.Node, to uint32, last bool) uint32 {
	at := b.node(subs[len(subs)-1], to, last)
	for _, sub := range slices.Backward(subs[:len(subs)-1]) {
		at = b.add(autoInst{op: opFork, out: b.node(sub, to, last), alt: at})
	}
	return at
}

func (b *autoBuilder) repeat(n *re.Node, to uint32) uint32 {
	body, least, most := n.Subs[0], n.Min, n.Max
	if n.Mode == re.Possessive {
		b.exact, b.failed = false, b.failed || !b.loose
	}
	if b.loose && (least > maxLooseCopies || most > maxLooseCopies) {
		least, most, b.exact = min(least, maxLooseCopies), re.Unlimited, false
	}
	if most == re.Unlimited {
		fork := b.add(autoInst{op: opFork, alt: to})
		inside := b.node(body, fork, false)
		b.insts[fork].out = inside
		to = fork
	} else {
		end := to
		for i := least; i < most && !b.failed; i++ {
			to = b.add(autoInst{op: opFork, out: b.node(body, to, false), alt: end})
		}
	}
	for i := 0; i < least && !b.failed; i++ {
		to = b.node(body, to, false)
	}
	return to
}

// The characters of one UTF-16 unit, and those of two.
var (
	oneUnit  = re.NewSet([]re.Span{re.Range(0, 0xFFFF)})
	twoUnits = re.NewSet([]re.Span{re.Range(0x10000, re.MaxRune)})
)

// units takes one character after the other; one of two units skips a step, and the
// last one may be more than is wanted only where more may follow.
func (b *autoBuilder) units(n *re.Node, to uint32) uint32 {
	done := to // two units on, or all
	for i := 0; i < n.Min && !b.failed; i++ {
		here := b.add(autoInst{op: opRune, set: oneUnit, out: to})
		if i > 0 || n.Max == re.Unlimited {
			here = b.add(autoInst{op: opFork, out: here, alt: b.add(autoInst{op: opRune, set: twoUnits, out: done})})
		}
		done, to = to, here
	}
	return to
}

// maxAutoWork bounds the threads that are followed through one text.
const maxAutoWork = 1 << 24

// match follows all ways through a at once; done is false where that is too much
// work.
func (a *automaton) match(text string) (matched, done bool) {
	var seen pcSet
	threads, next := []uint32{a.start}, []uint32(nil)
	work, prev := 0, rune(-1)
	for i := 0; work <= maxAutoWork; {
		r, size := rune(-1), 0
		if i < len(text) {
			r, size = re.Decode(text, i)
		}
		holds := syntax.EmptyOpContext(prev, r)
		seen.reset(len(a.insts))
		for len(threads) > 0 {
			pc := threads[len(threads)-1]
			threads = threads[:len(threads)-1]
			if !seen.add(pc) {
				continue
			}
			work++
			switch in := &a.insts[pc]; {
			case in.op == opFork:
				threads = append(threads, in.alt, in.out)
			case in.op == opWait && in.cond&^holds == 0:
				threads = append(threads, in.out)
			case in.op == opRune && size > 0 && in.set.Has(r):
				next = append(next, in.out)
			case in.op == opMatch && size == 0:
				return true, true
			}
		}
		if size == 0 || len(next) == 0 {
			return false, true
		}
		threads, next = next, threads
		i, prev = i+size, r
	}
	return false, false
}

// A pcSet is a set of small numbers that is soon emptied.
type pcSet struct {
	stamps []uint32
	stamp  uint32
}

// reset empties s and makes room for the numbers below size.
func (s *pcSet) reset(size int) {
	s.stamp++
	if len(s.stamps) < size || s.stamp == 0 {
		s.stamps, s.stamp = make([]uint32, max(size, 2*len(s.stamps))), 1
	}
}

// has reports whether n was added.
func (s *pcSet) has(n uint32) bool { return s.stamps[n] == s.stamp }

// add reports whether n is new.
func (s *pcSet) add(n uint32) bool {
	if s.has(n) {
		return false
	}
	s.stamps[n] = s.stamp
	return true
}
