package re

import (
	"math/bits"
	"strings"
)

// run executes from pc at a place until the program (or the inside it was
// called for) ends, and returns where; false if no way leads there.
func (m *runner) run(pc, at int) (int, bool) {
	base := len(m.stack)
	insts, s := m.p.inst, m.s
	for {
		in := &insts[pc]
		ok := true
		if m.left--; m.left < 0 {
			return 0, false
		}
		switch in.op {
		case doFail:
			ok = false
		case doMatch:
			if !in.not || at == len(s) {
				return at, true
			}
			ok = false
		case doEnd:
			if m.ends == nil {
				return at, true
			}
			m.ends[at>>6] |= 1 << (at & 63)
			ok = false
		case doLit:
			if ok = strings.HasPrefix(s[at:], in.lit); ok {
				at += len(in.lit)
				pc++
			}
		case doSet:
			if ok = at < len(s); ok {
				r, w := Decode(s, at)
				if ok = in.set.Has(r); ok {
					at += w
					pc++
				}
			}
		case doSplit:
			pc, ok = m.split(in, at)
		case doJump:
			pc = int(in.x)
		case doStar, doUpTo:
			at, ok = m.star(in, pc, at)
			pc++
		case doPoss:
			at, _ = m.scan(in.set, at, int(in.x))
			pc++
		case doLazy:
			if ok = !m.seen(in, at); ok {
				f := frame{kind: frameLazy, pc: int32(pc), pos: int32(at)}
				if at, ok = m.nextLiteral(&f); ok {
					m.push(f)
					pc++
				}
			}
		default:
			pc, at, ok = m.other(in, pc, at)
		}
		if !ok {
			if pc, at, ok = m.back(base); !ok {
				return 0, false
			}
		}
	}
}

// split takes the first way that the next byte does not rule out, and keeps
// the second if that is open, too.
func (m *runner) split(in *inst, at int) (int, bool) {
	x := in.fx == nil || in.fx.pass(m.s, at)
	y := in.fy == nil || in.fy.pass(m.s, at)
	switch {
	case !x && !y || m.seen(in, at):
		return 0, false
	case x && y:
		m.push(frame{kind: frameWay, pc: in.y, pos: int32(at)})
	case y:
		return int(in.y), true
	}
	return int(in.x), true
}

// other executes the rarer instructions.
func (m *runner) other(in *inst, pc, at int) (int, int, bool) {
	switch in.op {
	case doSkip:
		at, n := m.scan(in.set, at, int(in.x))
		return pc + 1, at, n == int(in.x)
	case doAt:
		return pc + 1, at, m.isAt(in.at, at)
	case doLook:
		if m.seen(in, at) {
			return 0, 0, false
		}
		return int(in.x), at, m.look(pc, at)
	case doAtomic:
		if m.seen(in, at) {
			return 0, 0, false
		}
		end, ok := m.inside(pc+1, at)
		if !ok {
			return 0, 0, false
		}
		return int(in.x), end, true
	case doNot:
		at, ok := m.except(in, pc, at)
		return int(in.x), at, ok
	case doUnits:
		at, ok := m.units(in, at)
		return pc + 1, at, ok
	case doCommit:
		m.stack = m.stack[:0]
	case doSave, doMark:
		m.set(in.x, int32(at))
	case doGuard:
		if int(m.slots[in.x]) == at {
			return int(in.y), at, true
		}
	case doRef:
		at, ok := m.ref(in, at)
		return pc + 1, at, ok
	case doCond:
		if m.slots[2*in.n] >= 0 && m.slots[2*in.n+1] >= 0 {
			return int(in.x), at, true
		}
		return int(in.y), at, true
	}
	return pc + 1, at, true
}

// back takes the youngest open way.
func (m *runner) back(base int) (pc, at int, ok bool) {
	for len(m.stack) > base {
		top := len(m.stack) - 1
		f := &m.stack[top]
		switch f.kind {
		case frameWay:
			pc, at = int(f.pc), int(f.pos)
			m.stack = m.stack[:top]
			return pc, at, true
		case frameSlot:
			m.slots[f.pc] = f.pos
			m.stack = m.stack[:top]
		case frameStar:
			if at, ok := m.less(f); ok {
				return int(f.pc) + 1, at, true
			}
			m.stack = m.stack[:top]
		case frameLazy:
			if at, ok := m.more(f); ok {
				return int(f.pc) + 1, at, true
			}
			m.stack = m.stack[:top]
		}
	}
	return 0, 0, false
}

// less gives back one character of a star, or as many as it takes to come to
// the literal after it.
func (m *runner) less(f *frame) (int, bool) {
	if f.pos <= f.low {
		return 0, false
	}
	_, w := decodeLast(m.s, int(f.low), int(f.pos))
	f.pos -= int32(w)
	return m.beforeLiteral(f)
}

// beforeLiteral moves a star's end down to where the literal after it stands.
func (m *runner) beforeLiteral(f *frame) (int, bool) {
	next := &m.p.inst[f.pc+1]
	if next.op != doLit {
		return int(f.pos), true
	}
	window := m.s[f.low:min(len(m.s), int(f.pos)+len(next.lit))]
	i := strings.LastIndex(window, next.lit)
	if i < 0 {
		m.left -= len(window) >> 3
		f.pos = f.low
		return 0, false
	}
	m.left -= (len(window) - i) >> 3
	f.pos = f.low + int32(i)
	return int(f.pos), true
}

// more takes one character more for a lazy star.
func (m *runner) more(f *frame) (int, bool) {
	in := &m.p.inst[f.pc]
	at := int(f.pos)
	if at >= len(m.s) {
		return 0, false
	}
	r, w := Decode(m.s, at)
	if !in.set.Has(r) || m.seen(in, at+w) {
		return 0, false
	}
	f.pos += int32(w)
	return m.nextLiteral(f)
}

// nextLiteral moves the end of a lazy star of everything up to where the literal after
// it stands.
func (m *runner) nextLiteral(f *frame) (int, bool) {
	next := &m.p.inst[f.pc+1]
	if next.op != doLit || m.p.inst[f.pc].set != Every {
		return int(f.pos), true
	}
	i := strings.Index(m.s[f.pos:], next.lit)
	if i < 0 {
		m.left -= (len(m.s) - int(f.pos)) >> 3
		return 0, false
	}
	m.left -= i >> 3
	f.pos += int32(i)
	return int(f.pos), true
}

// star takes as many characters as there are, and keeps a frame to give them
// back. An unlimited star that comes to a place where it has been before need
// not go further: the places behind have been tried.
func (m *runner) star(in *inst, pc, at int) (int, bool) {
	if m.seen(in, at) {
		return 0, false
	}
	limit := Unlimited
	if in.op == doUpTo {
		limit = int(in.x)
	}
	end, _ := m.scan(in.set, at, limit)
	if m.keep && in.op == doStar && !m.p.atomics && end > at {
		first := int(in.memo)*(len(m.s)+1) + at
		last := m.firstNoted(first+1, first+end-at)
		end = at + last - first
		for end > at && end < len(m.s) && m.s[end]&0xC0 == 0x80 && !m.boundary(at, end) {
			end--
		}
		m.note(first+1, first+end-at)
	}
	if end == at {
		return at, true
	}
	f := frame{kind: frameStar, pc: int32(pc), pos: int32(end), low: int32(at)}
	to, ok := m.beforeLiteral(&f)
	if ok {
		m.push(f)
	}
	return to, ok
}

// boundary reports whether a character starts at i.
func (m *runner) boundary(low, i int) bool {
	if i >= len(m.s) {
		return true
	}
	for j := max(low, i-3); j < i; j++ {
		if _, w := Decode(m.s, j); j+w > i {
			return false
		}
	}
	return true
}

// firstNoted returns the place before the first noted bit in lo..hi, or hi.
func (m *runner) firstNoted(lo, hi int) int {
	for i := lo; i <= hi; {
		w := m.memo[i>>6] >> (i & 63)
		if w != 0 {
			return min(hi, i+bits.TrailingZeros64(w)-1)
		}
		i = (i | 63) + 1
	}
	return hi
}

// scan goes over up to limit characters of a set.
func (m *runner) scan(set *Set, at, limit int) (end, n int) {
	s := m.s
	if limit == Unlimited {
		limit = len(s)
		if set == Every {
			return len(s), limit
		}
		if set == lineSet {
			if i := strings.IndexByte(s[at:], '\n'); i >= 0 {
				return at + i, limit
			}
			return len(s), limit
		}
	}
	start := at
	for n < limit && at < len(s) {
		if c := s[at]; c < 128 {
			if set.ascii[c>>6]&(1<<(c&63)) == 0 {
				break
			}
			at++
		} else {
			r, w := Decode(s, at)
			if !set.Has(r) {
				break
			}
			at += w
		}
		n++
	}
	m.left -= (at - start) >> 2
	return at, n
}

// units goes over a number of UTF-16 units.
func (m *runner) units(in *inst, at int) (int, bool) {
	n := int(in.x)
	m.left -= n
	for n > 0 && at < len(m.s) {
		r, w := Decode(m.s, at)
		at += w
		n--
		if r > 0xFFFF {
			n--
		}
	}
	return at, n == 0 || n < 0 && in.not
}

// isAt reports whether a place is of a kind.
func (m *runner) isAt(kind Place, at int) bool {
	s := m.s
	switch kind {
	case AtStart:
		return at == 0
	case AtLineStart:
		return at == 0 || s[at-1] == '\n'
	case AtEnd:
		return at == len(s)
	case AtEndNL:
		return at == len(s) || at == len(s)-1 && s[at] == '\n'
	case AtLineEnd:
		return at == len(s) || s[at] == '\n'
	case AtNoDot:
		return !leadingDot(s, at)
	case AtNotDots:
		return !inDots(s, at)
	case AtInSegment:
		return at < len(s) && s[at] != '/'
	}
	if s == "" {
		return false // CPython 3.11: neither \b nor \B is in an empty subject
	}
	ascii := either(kind == AtWordASCII || kind == AtNotWordASCII, 1, 0)
	word := wordSets[ascii]().in
	before, after := false, false
	if at > 0 {
		r, _ := decodeLast(s, 0, at)
		before = word.Has(r)
	}
	if at < len(s) {
		r, _ := Decode(s, at)
		after = word.Has(r)
	}
	return (before != after) == (kind == AtWord || kind == AtWordASCII)
}

// ref matches the text of a group once more.
func (m *runner) ref(in *inst, at int) (int, bool) {
	lo, hi := m.slots[2*in.n], m.slots[2*in.n+1]
	if lo < 0 || hi < lo {
		return at, false
	}
	was := m.s[lo:hi]
	if in.fold == foldNone {
		m.left -= len(was) >> 3
		end := at + len(was)
		return end, strings.HasPrefix(m.s[at:], was) && m.boundary(at, end)
	}
	for i := 0; i < len(was); {
		if at >= len(m.s) {
			return at, false
		}
		a, w := Decode(was, i)
		b, v := Decode(m.s, at)
		if lowerOf(a, in.fold == foldASCII) != lowerOf(b, in.fold == foldASCII) {
			return at, false
		}
		i += w
		at += v
		m.left--
	}
	return at, true
}
