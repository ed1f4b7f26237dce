package re

import (
	"strings"
	"sync"
)

// A program runs by backtracking, as Python does it: with look-around,
// references, conditions and atomic groups, which stdlib regexp does not have,
// and with Python's idea of a character, a word and an empty round, which no
// library for Go has. Two things keep it in bounds.
// A way that failed at a place is remembered and not tried
// again, which makes programs without back-references linear in the subject.
// And every step is counted: a match that takes more than maxSteps of them
// ends with ErrTime. Steps, not a clock: the same question always has the
// same answer, on a slow computer as on a fast one.
const (
	maxSteps  = 3 << 18 // some 15 ms
	shortRun  = 1 << 9  // steps before remembering pays
	maxMemo   = 1 << 25 // bits
	maxFrames = 1 << 19
	maxLen    = 1 << 30
)

// A frame is a way that is still open, or a slot's former value.
type frame struct {
	kind frameKind
	pc   int32
	pos  int32
	low  int32 // frameStar: down to here
}

type frameKind uint8

const (
	frameWay  frameKind = iota // go on at pc with pos
	frameStar                  // go on after the star at pc with one character less
	frameLazy                  // go on after the star at pc with one character more
	frameSlot                  // slot pc was pos
)

// runner is one run of a program.
type runner struct {
	p     *Prog
	s     string
	left  int
	slots []int32
	stack []frame
	memo  []uint64 // a bit for each remembered instruction and place
	log   []memoRange
	depth int // of look-arounds and atomic groups under way
	keep  bool
	ends  []uint64 // while except collects: the places where its inside ends
	room  []uint64 // for ends
}

// memoRange is bits that were set inside a look-around or an atomic group.
type memoRange struct{ lo, hi int }

var runners = sync.Pool{New: func() any { return new(runner) }}

// Match reports whether the program matches s. An error (ErrTime) is neither a match nor a miss.
func (p *Prog) Match(s string) (bool, error) {
	if len(s) > maxLen {
		return false, ErrTime
	}
	m := runners.Get().(*runner)
	ok, err := m.match(p, s)
	m.p, m.s = nil, ""
	if cap(m.stack) <= keepFrames && cap(m.memo) <= keepMemo {
		runners.Put(m)
	}
	return ok, err
}

// The memory that a runner may keep between matches.
const (
	keepFrames = 1 << 14
	keepMemo   = 1 << 15 // words
)

func (m *runner) match(p *Prog, s string) (bool, error) {
	m.p, m.s = p, s
	if cap(m.slots) < p.slots {
		m.slots = make([]int32, p.slots)
	}
	m.slots = m.slots[:p.slots]
	m.keep = false
	bits := p.memos * (len(s) + 1)
	if p.exact || bits > maxMemo {
		m.left = maxSteps
		ok := m.search()
		return ok && m.left >= 0, m.fault()
	}
	m.left = p.short
	if ok := m.search(); m.left >= 0 {
		return ok, nil
	}
	m.keep = true
	words := (bits + 63) / 64
	if cap(m.memo) < words {
		m.memo = make([]uint64, words)
	}
	m.memo = m.memo[:words]
	clear(m.memo)
	m.left = maxSteps
	ok := m.search()
	return ok && m.left >= 0, m.fault()
}

func (m *runner) fault() error {
	if m.left < 0 {
		return ErrTime
	}
	return nil
}

// search runs the program at every place where a match may start.
func (m *runner) search() bool {
	p := m.p
	if p.full || p.anchor {
		return m.start(0)
	}
	for at := 0; at <= len(m.s) && m.left >= 0; {
		switch {
		case p.prefix != "":
			i := strings.Index(m.s[at:], p.prefix)
			if i < 0 {
				return false
			}
			at += i
		case p.first != nil:
			if at = p.first.skip(m.s, at); at == len(m.s) && !p.first.end {
				return false
			}
		}
		if m.start(at) {
			return true
		}
		if at >= len(m.s) {
			return false
		}
		_, w := Decode(m.s, at)
		at += w
	}
	return false
}

func (m *runner) start(at int) bool {
	m.stack, m.log, m.depth = m.stack[:0], m.log[:0], 0
	m.ends, m.room = nil, m.room[:0]
	for i := range m.slots {
		m.slots[i] = -1
	}
	_, ok := m.run(0, at)
	return ok
}

// seen reports whether an instruction has been tried at a place, and notes
// that it has.
func (m *runner) seen(in *inst, at int) bool {
	if !m.keep {
		return false
	}
	i := int(in.memo)*(len(m.s)+1) + at
	if m.memo[i>>6]&(1<<(i&63)) != 0 {
		return true
	}
	m.note(i, i)
	return false
}

// note sets the bits lo..hi.
func (m *runner) note(lo, hi int) {
	for i := lo; i <= hi; {
		if i&63 == 0 && i+63 <= hi {
			m.memo[i>>6] = ^uint64(0)
			i += 64
			continue
		}
		m.memo[i>>6] |= 1 << (i & 63)
		i++
	}
	if m.depth > 0 {
		m.log = append(m.log, memoRange{lo, hi})
	}
}

// forget clears the bits noted since the log had n entries: the inside of a
// look-around or atomic group that matched here may match again elsewhere, on
// a way that came by the same places.
func (m *runner) forget(n int) {
	for _, r := range m.log[n:] {
		for i := r.lo; i <= r.hi; i++ {
			m.memo[i>>6] &^= 1 << (i & 63)
		}
		m.left -= (r.hi - r.lo) >> 3
	}
	m.log = m.log[:n]
}

// set changes a slot so that it can be changed back.
func (m *runner) set(slot int32, v int32) {
	m.push(frame{kind: frameSlot, pc: slot, pos: m.slots[slot]})
	m.slots[slot] = v
}

func (m *runner) push(f frame) {
	if len(m.stack) >= maxFrames {
		m.left = -1
		return
	}
	m.stack = append(m.stack, f)
}

// inside runs the inside of a look-around or atomic group from its own start,
// and leaves of its ways nothing but the slots it set.
func (m *runner) inside(pc, at int) (int, bool) {
	base, log := len(m.stack), len(m.log)
	m.depth++
	end, ok := m.run(pc, at)
	m.depth--
	if !ok {
		return 0, false
	}
	if m.keep {
		m.forget(log)
	}
	keep := base
	for _, f := range m.stack[base:] {
		if f.kind == frameSlot {
			m.stack[keep] = f
			keep++
		}
	}
	m.stack = m.stack[:keep]
	return end, true
}

// undo takes back the slots set since the stack had base frames.
func (m *runner) undo(base int) {
	for len(m.stack) > base {
		f := m.stack[len(m.stack)-1]
		m.stack = m.stack[:len(m.stack)-1]
		if f.kind == frameSlot {
			m.slots[f.pc] = f.pos
		}
	}
}

// look decides a look-around at a place.
func (m *runner) look(pc, at int) bool {
	in := &m.p.inst[pc]
	base := len(m.stack)
	ok := true
	for n := in.y; n > 0 && ok; n-- {
		if at == 0 {
			ok = false
			break
		}
		_, w := decodeLast(m.s, 0, at)
		at -= w
		m.left--
	}
	if ok {
		_, ok = m.inside(pc+1, at)
	}
	if in.not {
		m.undo(base)
	}
	return ok != in.not
}
