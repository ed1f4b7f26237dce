package re

import (
	"slices"
	"unicode/utf8"
)

// An instruction of a program. Where nothing else is said, the next one
// follows.
type inst struct {
	op     doing
	at     Place
	fold   foldMode
	not    bool
	x, y   int32 // targets, or numbers, by operation
	n      int32 // a group
	memo   int32 // number among the places that are remembered, or -1
	set    *Set
	lit    string
	fx, fy *filter // the bytes that may come at x and at y; nil: any
}

type doing uint8

const (
	doFail   doing = iota
	doMatch        // the end of the whole; not: only at the subject's end
	doEnd          // the end of a look-around's or an atomic group's inside
	doLit          // lit
	doSet          // one character of set
	doSkip         // exactly x characters of set
	doUpTo         // up to x characters of set, the more the better
	doStar         // any number of set, the more the better
	doLazy         // any number of set, the fewer the better
	doPoss         // up to x (or unlimited) characters of set, no way back
	doSplit        // x, else y
	doJump         // x
	doAt           // a place
	doLook         // the inside follows, up to its doEnd; x goes on; y is how far back
	doAtomic       // the inside follows, up to its doEnd; x goes on
	doSave         // slot x = here
	doRef          // the text of group n, once more
	doCond         // x if group n holds something, else y
	doMark         // slot x = here, for doGuard
	doGuard        // if slot x is here, nothing was taken: go to y
	doNot          // the inside follows, up to its doEnd; x goes on behind a text that it does not match
	doUnits        // x UTF-16 units; not: the last character may be more than that
	doCommit       // no way back: what follows takes anything, and no later place is better
)

// maxProg bounds a program whose counted repetitions are written out.
const maxProg = 1 << 14

// A Prog is a compiled expression. It is immutable and safe for concurrent use.
type Prog struct {
	inst    []inst
	slots   int
	memos   int
	exact   bool // order and emptiness of rounds matter: nothing may be remembered
	atomics bool // it has atomic groups
	full    bool
	anchor  bool // a match starts only at the subject's start
	first   *filter
	prefix  string // every match starts with this
	short   int    // steps before remembering pays
}

type progBuilder struct {
	Prog
	inner int // atomic groups we are in
	over  bool
}

// Compile returns the program of a tree, nil if it would be too large; full: a match is the whole text.
func Compile(n *Node, groups int, full bool) *Prog {
	b := &progBuilder{}
	b.full, b.short = full, shortRun
	b.slots = 2 * groups
	b.atomics = n.any(func(n *Node) bool { return n.Op == OpAtomic })
	b.exact = n.any(func(n *Node) bool {
		return n.Op == OpRef || n.Op == OpCond || n.Op == OpGroup || n.Op == OpAtomic && n.any(emptyRounds)
	})
	b.whole(Parts(n))
	b.add(inst{op: doMatch, not: full})
	if b.over {
		return nil
	}
	if !b.exact {
		b.slots = 0
	}
	b.finish()
	return &b.Prog
}

// emptyRounds: a loop that may go round without taking anything.
func emptyRounds(n *Node) bool {
	return n.Op == OpRepeat && n.Subs[0].Op != OpSet && n.Subs[0].nullable()
}

func (b *progBuilder) add(i inst) int {
	i.memo = -1
	b.inst = append(b.inst, i)
	return len(b.inst) - 1
}

func (b *progBuilder) here() int32 { return int32(len(b.inst)) }

func (b *progBuilder) node(n *Node) {
	if b.over {
		return
	}
	switch n.Op {
	case OpSet:
		b.char(n.Set)
	case OpCat:
		b.sequence(n.Subs)
	case OpAlt:
		b.alt(n.Subs)
	case OpRepeat:
		if n.Subs[0].Op == OpSet {
			b.repeatSet(n)
		} else {
			b.repeat(n)
		}
	case OpGroup:
		b.add(inst{op: doSave, x: int32(2 * n.group)})
		b.node(n.Subs[0])
		b.add(inst{op: doSave, x: int32(2*n.group + 1)})
	case OpAtomic:
		b.inner++
		start := b.add(inst{op: doAtomic})
		b.node(n.Subs[0])
		b.add(inst{op: doEnd})
		b.inst[start].x = b.here()
		b.inner--
	case OpLook:
		look := b.add(inst{op: doLook, not: n.Not, y: int32(min(n.Min, 1<<30))})
		b.node(n.Subs[0])
		b.add(inst{op: doEnd})
		b.inst[look].x = b.here()
	case OpRef:
		b.add(inst{op: doRef, n: int32(n.group), fold: n.fold})
	case OpCond:
		b.cond(n)
	case OpAt:
		b.add(inst{op: doAt, at: n.At})
	case OpUnits:
		b.add(inst{op: doUnits, x: int32(n.Min), not: n.Max == Unlimited})
	case OpNot:
		not := b.add(inst{op: doNot, not: n.Not})
		b.node(n.Subs[0])
		b.add(inst{op: doEnd})
		b.inst[not].x = b.here()
	}
}

// whole writes the parts of a program. Where each takes as many characters whichever way it
// matches, the first way to get to a part that takes anything is the best one, as in `*a?b*c`:
// what a glob takes is found in one pass.
func (b *progBuilder) whole(subs []*Node) {
	fixed := !b.exact
	for i := 0; i < len(subs); {
		if fixed && subs[i].IsAnything() {
			b.add(inst{op: doCommit})
			b.add(inst{op: doLazy, set: Every})
			i++
			continue
		}
		from := i
		for i++; i < len(subs) && !subs[i].IsAnything(); i++ {
		}
		b.sequence(subs[from:i])
		fixed = fixed && !slices.ContainsFunc(subs[from:i], (*Node).varies)
	}
}

// varies reports whether n may take more characters or fewer at one place.
func (n *Node) varies() bool {
	return n.Op != OpSet && n.Op != OpUnits && n.Op != OpAt
}

// sequence writes each run of single characters as one literal.
func (b *progBuilder) sequence(subs []*Node) {
	for len(subs) > 0 {
		lit, n := LiteralRun(subs)
		if n > 1 {
			b.add(inst{op: doLit, lit: lit})
			subs = subs[n:]
			continue
		}
		b.node(subs[0])
		subs = subs[1:]
	}
}

// LiteralRun returns the text of the single characters that lead subs, and how many they are.
func LiteralRun(subs []*Node) (string, int) {
	var lit []rune
	for _, sub := range subs {
		r, ok := sub.Literal()
		if !ok {
			break
		}
		lit = append(lit, r)
	}
	return string(lit), len(lit)
}

// Literal returns the only character that n matches, if that can be spelled.
func (n *Node) Literal() (rune, bool) {
	if n.Op != OpSet {
		return 0, false
	}
	r, ok := n.Set.one()
	return r, ok && utf8.ValidRune(r)
}

func (b *progBuilder) char(s *Set) {
	if r, ok := s.one(); ok && utf8.ValidRune(r) {
		b.add(inst{op: doLit, lit: string(r)})
		return
	}
	b.add(inst{op: doSet, set: s})
}

func (b *progBuilder) alt(subs []*Node) {
	var ends []int
	for i, sub := range subs {
		split := -1
		if i < len(subs)-1 {
			split = b.add(inst{op: doSplit, x: b.here() + 1})
		}
		b.node(sub)
		if split >= 0 {
			ends = append(ends, b.add(inst{op: doJump}))
			b.inst[split].y = b.here()
		}
	}
	for _, e := range ends {
		b.inst[e].x = b.here()
	}
}

// repeatSet repeats one character: the needed ones at once, then the others.
func (b *progBuilder) repeatSet(n *Node) {
	s := n.Subs[0].Set
	if n.Min > 0 {
		if n.Min == 1 {
			b.char(s)
		} else {
			b.add(inst{op: doSkip, set: s, x: int32(min(n.Min, 1<<30))})
		}
	}
	more := n.Max - n.Min
	switch {
	case n.Max == Unlimited && n.Mode == Possessive:
		b.add(inst{op: doPoss, set: s, x: Unlimited})
	case n.Max == Unlimited && n.Mode == Lazy:
		b.add(inst{op: doLazy, set: s})
	case n.Max == Unlimited:
		b.add(inst{op: doStar, set: s})
	case more == 0:
	case n.Mode == Possessive:
		b.add(inst{op: doPoss, set: s, x: int32(min(more, 1<<30))})
	case n.Mode == Lazy && b.ordered():
		b.optional(n, more)
	default:
		b.add(inst{op: doUpTo, set: s, x: int32(min(more, 1<<30))})
	}
}

// ordered: which way is tried first can change the answer here.
func (b *progBuilder) ordered() bool { return b.exact || b.inner > 0 }

// repeat writes a repetition out: the needed rounds, then the others.
func (b *progBuilder) repeat(n *Node) {
	for i := 0; i < n.Min && !b.over; i++ {
		b.node(n.Subs[0])
		b.over = i > 0 && len(b.inst) > maxProg
	}
	if n.Max != Unlimited {
		b.optional(n, n.Max-n.Min)
		return
	}
	slot := b.guardSlot(n)
	split := b.add(inst{op: doSplit})
	b.round(n, slot)
	b.add(inst{op: doJump, x: int32(split)})
	b.branch(n, split, int32(split)+1, b.here())
	b.patchGuard(split, slot, b.here())
}

// optional writes up to count rounds.
func (b *progBuilder) optional(n *Node, count int) {
	slot := b.guardSlot(n)
	start := len(b.inst)
	var splits []int
	for i := 0; i < count && !b.over; i++ {
		splits = append(splits, b.add(inst{op: doSplit}))
		b.round(n, slot)
		b.over = i > 0 && len(b.inst) > maxProg
	}
	for _, s := range splits {
		b.branch(n, s, int32(s)+1, b.here())
	}
	b.patchGuard(start, slot, b.here())
}

func (b *progBuilder) round(n *Node, slot int32) {
	if slot >= 0 {
		b.add(inst{op: doMark, x: slot})
	}
	b.node(n.Subs[0])
	if slot >= 0 {
		b.add(inst{op: doGuard, x: slot, y: -1})
	}
}

// branch fills a split: the round first, or for a lazy one the way out.
func (b *progBuilder) branch(n *Node, split int, round, out int32) {
	if n.Mode == Lazy {
		round, out = out, round
	}
	b.inst[split].x, b.inst[split].y = round, out
}

// guardSlot reserves a slot where a round may take nothing and order matters.
func (b *progBuilder) guardSlot(n *Node) int32 {
	if !b.exact || !n.Subs[0].nullable() {
		return -1
	}
	b.slots++
	return int32(b.slots - 1)
}

func (b *progBuilder) patchGuard(from int, slot, out int32) {
	for i := from; i < len(b.inst); i++ {
		if in := &b.inst[i]; in.op == doGuard && in.x == slot && in.y < 0 {
			in.y = out
		}
	}
}

func (b *progBuilder) cond(n *Node) {
	c := b.add(inst{op: doCond})
	yes := b.here()
	b.node(n.Subs[0])
	j := b.add(inst{op: doJump})
	no := b.here()
	b.node(n.Subs[1])
	b.inst[c] = inst{op: doCond, x: yes, y: no, n: int32(n.group), memo: -1}
	b.inst[j].x = b.here()
}
