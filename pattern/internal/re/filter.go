package re

import "slices"

// A filter tells by the next byte whether it is worth going on.
type filter struct {
	bits [4]uint64
	end  bool // there may be no next byte
}

func (f *filter) pass(s string, at int) bool {
	if at >= len(s) {
		return f.end
	}
	c := s[at]
	return f.bits[c>>6]&(1<<(c&63)) != 0
}

// skip goes to the next byte that passes, or to the end.
func (f *filter) skip(s string, at int) int {
	for ; at < len(s); at++ {
		if c := s[at]; f.bits[c>>6]&(1<<(c&63)) != 0 {
			break
		}
	}
	return at
}

func (f *filter) addByte(c byte) { f.bits[c>>6] |= 1 << (c & 63) }

// addSet takes the first bytes of the set's characters. Beyond ASCII it does
// not look closely.
func (f *filter) addSet(s *Set) {
	f.bits[0] |= s.ascii[0]
	f.bits[1] |= s.ascii[1]
	if n := len(s.Spans); n > 0 && s.Spans[n-1].Hi >= 128 {
		f.bits[2], f.bits[3] = ^uint64(0), ^uint64(0)
	}
}

// meets reports whether a character of s may begin with a byte of f.
func (f *filter) meets(s *Set) bool {
	var g filter
	g.addSet(s)
	return f.bits[0]&g.bits[0]|f.bits[1]&g.bits[1]|f.bits[2]&g.bits[2]|f.bits[3]&g.bits[3] != 0
}

func (f *filter) everything() bool {
	return f.end && f.bits[0]&f.bits[1]&f.bits[2]&f.bits[3] == ^uint64(0)
}

// finish numbers the places that are remembered and works out the filters.
func (b *progBuilder) finish() {
	for i := range b.inst {
		in := &b.inst[i]
		switch in.op {
		case doSplit:
			in.fx, in.fy = b.filterAt(in.x), b.filterAt(in.y)
		case doStar:
			if f := b.filterAt(int32(i) + 1); f != nil && !f.meets(in.set) {
				in.op, in.x = doPoss, Unlimited // what follows begins with nothing that it could give back
				continue
			}
		case doUpTo, doLazy, doLook, doAtomic, doNot:
		default:
			continue
		}
		in.memo = int32(b.memos)
		b.memos++
	}
	b.first = b.filterAt(0)
	if in := b.inst[0]; in.op == doLit {
		b.prefix = in.lit
	}
	b.anchor = b.inst[0].op == doAt && b.inst[0].at == AtStart
}

// filterLook bounds how far filterAt looks.
const filterLook = 64

// filterAt returns the bytes that may come at pc, nil if any may.
func (b *progBuilder) filterAt(pc int32) *filter {
	f := &filter{}
	var room [filterLook]int32
	todo := append(room[:0], pc) // those before done are
	for done := 0; done < len(todo); done++ {
		if !b.filterInst(f, todo[done], &todo) || len(todo) > filterLook {
			return nil
		}
	}
	if f.everything() {
		return nil
	}
	return f
}

// filterInst adds the bytes that may come at one instruction; false: any may.
func (b *progBuilder) filterInst(f *filter, pc int32, todo *[]int32) bool {
	in := &b.inst[pc]
	follow := func(pcs ...int32) {
		for _, pc := range pcs {
			if !slices.Contains(*todo, pc) {
				*todo = append(*todo, pc)
			}
		}
	}
	switch in.op {
	case doFail:
	case doMatch:
		if !in.not {
			return false
		}
		f.end = true
	case doEnd, doRef, doNot:
		return false // an atomic group ends here whatever follows it
	case doLit:
		f.addByte(in.lit[0])
	case doSet, doSkip:
		f.addSet(in.set)
	case doUnits:
		f.addSet(Every)
	case doUpTo, doStar, doLazy, doPoss:
		f.addSet(in.set)
		follow(pc + 1)
	case doSplit, doCond:
		follow(in.x, in.y)
	case doJump, doLook:
		follow(in.x)
	case doGuard:
		follow(in.y, pc+1)
	default:
		follow(pc + 1)
	}
	return true
}
