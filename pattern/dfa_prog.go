package pattern

import (
	"encoding/binary"
	"math"
	"regexp/syntax"
	"slices"
	"unicode/utf8"
)

const (
	maxInstsEach = 1000    // of an expression: counted repeats make automata explode
	maxInstsAll  = 1 << 15 // of the expressions that share an automaton
	maxClasses   = 240     // so that a column fits a byte
)

// An nfa is the program of several anchored expressions, laid one after the
// other by rank, over classes of runes that no expression tells apart.
type nfa struct {
	insts  []nfaInst
	ranks  []uint32 // of each instruction
	starts []uint32

	sets    [][]span // of the rune instructions, each once
	setIDs  map[string]uint32
	seen    pcSet
	member  []bool     // by set and class
	samples []rune     // one rune of each class
	ascii   [256]uint8 // column of each ASCII byte, 0 of others
	bounds  []rune     // bounds[i] starts the runes of classOf[i]
	classOf []uint8
}

type nfaInst struct {
	autoInst
	back  bool   // a wait that asks for the last rune, or leads to one that does
	setID uint32 // of a rune instruction, in nfa.sets
	// exit is, for a rune instruction that loops over any character, one more than
	// the match that ends the loop at the end of the text.
	exit uint32
}

// add appends the instructions of a.
func (n *nfa) add(a *automaton, rank uint32) {
	base := uint32(len(n.insts))
	for _, in := range a.insts {
		in.out += base
		in.alt += base
		id := uint32(0)
		if in.op == opRune {
			id = n.setOf(in.set)
		}
		n.insts = append(n.insts, nfaInst{autoInst: in, setID: id})
		n.ranks = append(n.ranks, rank)
	}
	n.starts = append(n.starts, base+a.start)
	for pc := base; pc < uint32(len(n.insts)); pc++ {
		n.insts[pc].exit = n.exitOf(pc)
		n.insts[pc].back = n.insts[pc].op == opWait && n.asksBack(pc)
	}
}

func (n *nfa) setOf(s *set) uint32 {
	key := make([]byte, 0, 8*len(s.spans))
	for _, sp := range s.spans {
		key = binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint32(key, uint32(sp.lo)), uint32(sp.hi))
	}
	if id, ok := n.setIDs[string(key)]; ok {
		return id
	}
	id := uint32(len(n.sets))
	n.setIDs[string(key)] = id
	n.sets = append(n.sets, s.spans)
	return id
}

// exitOf finds nfaInst.exit of pc.
func (n *nfa) exitOf(pc uint32) uint32 {
	in := &n.insts[pc]
	if in.op != opRune || !in.set.full() {
		return 0
	}
	var exit uint32
	loops := false
	for _, at := range n.reach(in.out, false) {
		loops = loops || at == pc
		if n.insts[at].op == opMatch {
			exit = at + 1
		}
	}
	if !loops {
		return 0
	}
	return exit
}

// asksBack reports whether a thread that waits at pc may ask for the last rune,
// there or, with no rune between, later.
func (n *nfa) asksBack(pc uint32) bool {
	const back = syntax.EmptyBeginText | syntax.EmptyBeginLine | syntax.EmptyWordBoundary | syntax.EmptyNoWordBoundary
	return slices.ContainsFunc(n.reach(pc, true), func(at uint32) bool {
		return n.insts[at].op == opWait && n.insts[at].cond&back != 0
	})
}

// reach lists where a thread at pc can get to without a rune, and without a
// condition unless all are taken to hold.
func (n *nfa) reach(pc uint32, holds bool) []uint32 {
	n.seen.reset(len(n.insts))
	todo, found := []uint32{pc}, []uint32(nil)
	for len(todo) > 0 {
		at := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if !n.seen.add(at) {
			continue
		}
		switch in := &n.insts[at]; in.op {
		case opFork:
			todo = append(todo, in.alt, in.out)
		case opWait:
			found = append(found, at)
			if holds {
				todo = append(todo, in.out)
			}
		default:
			found = append(found, at)
		}
	}
	return found
}

// A pcSet is a set of instructions that is soon emptied.
type pcSet struct {
	stamps []uint32
	stamp  uint32
}

// reset empties s and makes room for size instructions.
func (s *pcSet) reset(size int) {
	s.stamp++
	if len(s.stamps) < size || s.stamp == 0 {
		s.stamps, s.stamp = make([]uint32, max(size, 2*len(s.stamps))), 1
	}
}

// add reports whether pc is new.
func (s *pcSet) add(pc uint32) bool {
	if s.stamps[pc] == s.stamp {
		return false
	}
	s.stamps[pc] = s.stamp
	return true
}

func (s *pcSet) has(pc uint32) bool { return s.stamps[pc] == s.stamp }

// classify divides all runes into classes; it reports false when there are too
// many.
func (n *nfa) classify() bool {
	newline, word := []span{{'\n', '\n'}}, []span{{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}}
	cuts := append(slices.Clone(n.sets), newline, word)
	n.bounds = append(n.bounds, 0, utf8.RuneSelf)
	for _, set := range cuts {
		for _, sp := range set {
			n.bounds = append(n.bounds, sp.lo, sp.hi+1)
		}
	}
	slices.Sort(n.bounds)
	n.bounds = slices.Compact(n.bounds)
	classes, count := partition(n.bounds, cuts)
	if count > maxClasses {
		return false
	}
	n.classOf = make([]uint8, len(classes))
	n.samples = make([]rune, count)
	for i, c := range classes {
		n.classOf[i] = uint8(c)
		n.samples[c] = n.bounds[i]
	}
	for b := range utf8.RuneSelf {
		n.ascii[b] = n.find(rune(b))
	}
	n.fillMembers()
	n.setIDs, n.seen = nil, pcSet{}
	return true
}

// partition gives each span of bounds a class, such that spans of a class are
// in the same sets.
func partition(bounds []rune, sets [][]span) (classes []uint16, count int) {
	classes = make([]uint16, len(bounds))
	sizes := []int{len(bounds)}
	for _, set := range sets {
		var spans []int
		hits := map[uint16]int{}
		for _, sp := range set {
			at, _ := slices.BinarySearch(bounds, sp.lo)
			for ; at < len(bounds) && bounds[at] <= sp.hi; at++ {
				spans = append(spans, at)
				hits[classes[at]]++
			}
		}
		moved := map[uint16]uint16{}
		for _, at := range spans {
			old := classes[at]
			if hits[old] == sizes[old] && moved[old] == 0 {
				continue // the whole class is in the set
			}
			to, ok := moved[old]
			if !ok {
				if len(sizes) > maxClasses {
					return classes, math.MaxInt
				}
				to = uint16(len(sizes))
				moved[old] = to
				sizes = append(sizes, 0)
			}
			classes[at] = to
			sizes[to]++
			sizes[old]--
			hits[old]--
		}
	}
	return classes, len(sizes)
}

func (n *nfa) fillMembers() {
	n.member = make([]bool, len(n.sets)*len(n.samples))
	for id, set := range n.sets {
		row := n.member[id*len(n.samples):][:len(n.samples)]
		for _, sp := range set {
			at, _ := slices.BinarySearch(n.bounds, sp.lo)
			for ; at < len(n.bounds) && n.bounds[at] <= sp.hi; at++ {
				row[n.classOf[at]] = true
			}
		}
	}
}

// find returns the column for r.
func (n *nfa) find(r rune) uint8 {
	i, found := slices.BinarySearch(n.bounds, r)
	if !found {
		i--
	}
	return rowHead + n.classOf[i]
}
