package pattern

import (
	"encoding/binary"
	"regexp/syntax"
	"slices"
	"sync/atomic"
)

const (
	firstRows  = 16
	stateBytes = 96 // of a state beside its row and its key
	workEach   = 64 // of building a state, beside following its threads
)

// begin gives m its first states.
func (m *machine) begin(pool *dfaPool) *stateTable {
	pool.mu.Lock()
	defer pool.mu.Unlock()
	return m.roomy(pool)
}

// roomy returns m's states with room for two more.
func (m *machine) roomy(pool *dfaPool) *stateTable {
	t := m.states.Load()
	count, more := firstRows, firstRows
	if t != nil {
		rows := len(t.rows) / int(m.stride)
		if len(t.keys)+2 <= rows {
			count, more = rows, 0
		} else {
			count, more = 2*rows, rows
		}
	}
	if len(pool.live) > 0 && pool.states+m.rowBytes(more) > pool.limit() {
		pool.flush()
		t, count, more = nil, firstRows, firstRows
	}
	pool.states += m.rowBytes(more)
	switch {
	case more == 0:
		return t
	case t != nil:
		return m.enlarge(t, count)
	}
	m.epoch++
	t = &stateTable{epoch: m.epoch, rows: make([]atomic.Uint32, count*int(m.stride)), keys: make([]string, 1), index: map[string]uint32{}}
	pool.live = append(pool.live, m)
	t.start = m.intern(pool, t, pool.steps.start(m.nfa))
	m.states.Store(t)
	return t
}

func (m *machine) rowBytes(rows int) int { return rows * int(m.stride) * 4 }

// enlarge copies t to a table of count rows.
func (m *machine) enlarge(t *stateTable, count int) *stateTable {
	larger := *t
	larger.rows = make([]atomic.Uint32, count*int(m.stride))
	for i := range t.rows {
		larger.rows[i].Store(t.rows[i].Load())
	}
	m.states.Store(&larger)
	return &larger
}

func (p *dfaPool) limit() int {
	if p.max > 0 {
		return p.max
	}
	return maxStateBytes
}

// flush lets go of all states. Runs under way keep theirs to the end.
func (p *dfaPool) flush() {
	for _, m := range p.live {
		m.states.Store(nil)
	}
	p.live, p.states = p.live[:0], 0
}

// extend finds out where a column leads to from a row of seen, which may be
// old, and how much work that was.
func (m *machine) extend(pool *dfaPool, seen *stateTable, at uint32, col uint8) (t *stateTable, next uint32, cost int) {
	pool.mu.Lock()
	defer pool.mu.Unlock()
	t = m.roomy(pool)
	if t.epoch != seen.epoch {
		at = m.intern(pool, t, seen.keys[at/m.stride])
	}
	way := &t.rows[at+uint32(col)]
	if next = way.Load(); next != 0 {
		return t, next, 1
	}
	key := t.keys[at/m.stride]
	next = m.intern(pool, t, pool.steps.step(m.nfa, key, col-rowHead))
	if t.rows[next+colMin].Load() != t.rows[at+colMin].Load() || t.rows[next+colSure].Load() != t.rows[at+colSure].Load() {
		next |= news
	}
	way.Store(next)
	return t, next, workEach + len(key)
}

// intern returns the row of the state that key describes. There must be room.
func (m *machine) intern(pool *dfaPool, t *stateTable, key string) uint32 {
	if at, ok := t.index[key]; ok {
		return at
	}
	at := uint32(len(t.keys)) * m.stride
	t.keys = append(t.keys, key)
	t.index[key] = at
	pool.states += stateBytes + len(key)
	lowest, sure, accept := pool.steps.describe(m.nfa, key)
	t.rows[at+colMin].Store(lowest)
	t.rows[at+colSure].Store(sure)
	t.rows[at+colAccept].Store(accept)
	return at
}

// A stepper computes states. A state is the set of instructions that threads
// wait at, and the kind of the last rune, as far as a condition may ask; its key
// spells both.
type stepper struct {
	now, next pcSet
	todo      []uint32
	threads   []uint32 // decoded from a key
	list      []uint32
	key       []byte
}

// The kinds of rune that conditions tell apart, each by an example.
var before = [...]rune{-1, '\n', 'a', ' '}

const (
	beforeText = iota
	beforeLine
	beforeWord
	beforeOther
)

func beforeOf(r rune) byte {
	switch {
	case r == '\n':
		return beforeLine
	case syntax.IsWordChar(r):
		return beforeWord
	}
	return beforeOther
}

// start returns the key of the state before a text.
func (s *stepper) start(n *nfa) string {
	s.list = s.list[:0]
	s.next.reset(len(n.insts))
	for _, pc := range n.starts {
		s.follow(n, pc, true)
	}
	return s.spell(n, beforeText)
}

// step returns the key of the state after the state of key and a rune of class.
func (s *stepper) step(n *nfa, key string, class uint8) string {
	kind := s.read(key)
	r := n.samples[class]
	s.list = s.list[:0]
	s.next.reset(len(n.insts))
	s.settle(n, before[kind], r)
	for _, pc := range s.threads {
		if in := &n.insts[pc]; in.op == opRune && n.member[int(in.setID)*len(n.samples)+int(class)] {
			s.follow(n, in.out, false)
		}
	}
	return s.spell(n, beforeOf(r))
}

// settle adds to the threads where the conditions that hold between two runes
// lead to.
func (s *stepper) settle(n *nfa, r1, r2 rune) {
	holds := syntax.EmptyOpContext(r1, r2)
	s.now.reset(len(n.insts))
	for i := 0; i < len(s.threads); i++ {
		s.now.add(s.threads[i])
	}
	for i := 0; i < len(s.threads); i++ {
		in := &n.insts[s.threads[i]]
		if in.op != opWait || in.cond&^holds != 0 {
			continue
		}
		s.todo = append(s.todo[:0], in.out)
		for len(s.todo) > 0 {
			pc := s.todo[len(s.todo)-1]
			s.todo = s.todo[:len(s.todo)-1]
			if !s.now.add(pc) {
				continue
			}
			switch in := &n.insts[pc]; in.op {
			case opFork:
				s.todo = append(s.todo, in.alt, in.out)
			default:
				s.threads = append(s.threads, pc)
			}
		}
	}
}

// follow adds to the list where a thread at pc comes to wait.
func (s *stepper) follow(n *nfa, pc uint32, first bool) {
	s.todo = append(s.todo[:0], pc)
	for len(s.todo) > 0 {
		pc := s.todo[len(s.todo)-1]
		s.todo = s.todo[:len(s.todo)-1]
		if !s.next.add(pc) {
			continue
		}
		switch in := &n.insts[pc]; in.op {
		case opFork:
			s.todo = append(s.todo, in.alt, in.out)
		case opWait:
			if first || in.cond&syntax.EmptyBeginText == 0 {
				s.list = append(s.list, pc)
			}
		case opRune, opMatch:
			s.list = append(s.list, pc)
		}
	}
}

// spell returns the key of the state whose threads are in the list. Threads
// that cannot matter any more, because a better rank is sure, are left out.
func (s *stepper) spell(n *nfa, kind byte) string {
	slices.Sort(s.list)
	sure, exit := uint32(0), uint32(0)
	for _, pc := range s.list {
		if e := n.insts[pc].exit; e != 0 && s.next.has(e-1) {
			sure, exit = pc, e-1
			break
		}
	}
	back := false
	s.key = append(s.key[:0], 0)
	last := uint32(0)
	for _, pc := range s.list {
		if exit != 0 && n.ranks[pc] >= n.ranks[sure] && pc != sure && pc != exit {
			continue
		}
		back = back || n.insts[pc].back
		s.key = binary.AppendUvarint(s.key, uint64(pc-last))
		last = pc
	}
	if !back {
		kind = beforeOther
	}
	s.key[0] = kind
	return string(s.key)
}

// read sets the threads to those of key and returns the kind of the last rune.
func (s *stepper) read(key string) byte {
	s.threads = s.threads[:0]
	pc := uint32(0)
	for rest := []byte(key[1:]); len(rest) > 0; {
		delta, size := binary.Uvarint(rest)
		pc += uint32(delta)
		s.threads = append(s.threads, pc)
		rest = rest[size:]
	}
	return key[0]
}

// describe returns the lowest ranks that are alive, sure, and accepted if the
// text ends, in the state of key.
func (s *stepper) describe(n *nfa, key string) (lowest, sure, accept uint32) {
	kind := s.read(key)
	lowest, sure, accept = none, none, none
	s.now.reset(len(n.insts))
	for _, pc := range s.threads {
		s.now.add(pc)
		lowest = min(lowest, n.ranks[pc])
	}
	for _, pc := range s.threads {
		if e := n.insts[pc].exit; e != 0 && s.now.has(e-1) {
			sure = min(sure, n.ranks[pc])
		}
	}
	s.settle(n, before[kind], -1)
	for _, pc := range s.threads {
		if n.insts[pc].op == opMatch {
			accept = min(accept, n.ranks[pc])
		}
	}
	return lowest, sure, accept
}
