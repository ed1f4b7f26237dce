package pattern

import (
	"slices"
	"unicode/utf8"

	"github.com/obstat/obstat/pattern/internal/re"
)

// A Sampling asks for texts that tell patterns apart: of `git *` and `git push *` there is
// `git`, which the first alone matches, and `git push`, which both do.
type Sampling struct {
	Patterns []*Pattern
	// Within: each text matches all of these.
	Within []*Pattern
	// Of says of which Patterns each text has to match at least one; nil: a text may match none.
	Of []bool
	// Before is, for each of Patterns, the text that stands before a sample where the pattern looks
	// at it; nil: none. In a sample for `run:git *` after "run:" there is no "run:".
	Before []string
	// Limit bounds the work: how many sets of states are looked at. Zero is 4096.
	Limit int
}

// A Sample is a text, and of each pattern whether it matches the text.
type Sample struct {
	Text string
	Hits []bool
}

// Samples returns a shortest text for each combination of patterns that some text matches. all
// reports that no combination is missing; where a pattern has no exact automaton, or the limit is
// reached, some may be.
func (s *Sampling) Samples() (out []Sample, all bool) {
	m := s.machine()
	known := map[string]bool{}
	m.walk(s, func(text string, set []uint32) bool {
		hits, any := m.hits(s, text, set)
		if s.Of != nil && !any {
			return true
		}
		key := make([]byte, len(hits))
		for i, hit := range hits {
			if hit {
				key[i] = 1
			}
		}
		if m.within(s, text) && !known[string(key)] {
			known[string(key)] = true
			out = append(out, Sample{text, hits})
		}
		return true
	})
	return out, m.complete
}

// Cover reports whether every text that narrow matches is surely matched by one of wide: `git *`
// and `rm` cover `git push *`. It is false where that cannot be told.
func Cover(wide []*Pattern, narrow *Pattern) bool {
	s := &Sampling{Patterns: wide, Within: []*Pattern{narrow}}
	m := s.machine()
	free := false
	m.walk(s, func(text string, set []uint32) bool {
		hits, _ := m.hits(s, text, set)
		free = !slices.Contains(hits, true) && m.within(s, text)
		return !free
	})
	return m.complete && !free
}

// A sampler follows the automata of several patterns at once.
type sampler struct {
	langs    []*language // those within come first; nil: nothing is known of it
	first    []uint32    // of each: the number of its first instruction
	owner    []uint16    // of an instruction
	seen     pcSet
	complete bool
	stack    []uint32 // of enter
	next     []uint32 // the set that a step leads to
	key      []byte   // of that set
	visited  int      // states, over all steps
}

const (
	maxSampleSets = 4096
	// maxSetStates bounds the states that are visited, for each set of the limit: sets of hundreds of states, as
	// many patterns with `**/` have them, cost as much as there are characters to tell apart.
	maxSetStates = 64
)

func (s *Sampling) machine() *sampler {
	m := &sampler{complete: true}
	for _, p := range slices.Concat(s.Within, s.Patterns) {
		l := p.automaton()
		if l != nil {
			if l.once.Do(l.build); l.auto == nil {
				l = nil
			}
		}
		m.complete = m.complete && l != nil && l.auto.exact
		m.first = append(m.first, uint32(len(m.owner)))
		if l != nil {
			for range l.auto.insts {
				m.owner = append(m.owner, uint16(len(m.langs)))
			}
		}
		m.langs = append(m.langs, l)
	}
	return m
}

// automaton returns the language of p, also of one that is a single text.
func (p *Pattern) automaton() *language {
	switch {
	case p.empty():
		return &language{tree: re.OneOf(&re.Set{})}
	case p.shape().Exact:
		return &language{tree: re.Cat(re.Text(p.shape().Prefix)...)}
	case p.flavour == JSON:
		return nil
	}
	return p.reached()
}

// A sampleSet is a set of states, and the way there.
type sampleSet struct {
	set   []uint32
	from  int
	r     rune
	depth int
}

// walk visits every set of states that a text leads to, shortest texts first, until visit says
// no.
func (m *sampler) walk(s *Sampling, visit func(text string, set []uint32) bool) {
	start := m.start(s)
	if !m.alive(s, start) {
		return
	}
	sets := []sampleSet{{set: start, from: -1}}
	known := map[string]bool{string(m.keyOf(start)): true}
	limit := s.Limit
	if limit == 0 {
		limit = maxSampleSets
	}
	for i := 0; i < len(sets); i++ {
		if m.accepts(s, sets[i].set) && !visit(textOf(sets, i), sets[i].set) {
			return
		}
		for _, r := range m.runes(sets[i].set) {
			if next := m.step(sets[i].set, r); !known[string(m.keyOf(next))] && m.alive(s, next) {
				known[string(m.key)] = true
				sets = append(sets, sampleSet{slices.Clone(next), i, r, sets[i].depth + 1})
			}
			if len(sets) >= limit || m.visited > limit*maxSetStates {
				m.complete = false
				break // those that are there are visited
			}
		}
	}
}

func textOf(sets []sampleSet, i int) string {
	out := make([]rune, sets[i].depth)
	for ; sets[i].depth > 0; i = sets[i].from {
		out[sets[i].depth-1] = sets[i].r
	}
	return string(out)
}

// keyOf returns a key of a set, until the next call.
func (m *sampler) keyOf(set []uint32) []byte {
	m.key = appendKey(m.key[:0], set)
	return m.key
}

// appendKey appends a key of a set of states.
func appendKey(key []byte, set []uint32) []byte {
	for _, i := range set {
		key = append(key, byte(i), byte(i>>8), byte(i>>16))
	}
	return key
}

// start returns the states before a text.
func (m *sampler) start(s *Sampling) []uint32 {
	var all []uint32
	for i, l := range m.langs {
		if l == nil {
			continue
		}
		m.seen.reset(len(m.owner))
		set := m.enter(nil, i, l.auto.start)
		for _, r := range s.before(i - len(s.Within)) {
			set = slices.Clone(m.step(set, r))
		}
		all = append(all, set...)
	}
	slices.Sort(all)
	return all
}

// before returns the text before a sample, for one of the patterns.
func (s *Sampling) before(i int) string {
	if i < 0 || s.Before == nil {
		return ""
	}
	return s.Before[i]
}

// enter adds the instructions that wait for a character, and the match, that are reached from one
// of language i.
func (m *sampler) enter(set []uint32, i int, at uint32) []uint32 {
	l := m.langs[i]
	stack := append(m.stack[:0], at)
	for len(stack) > 0 {
		at = stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if !l.alive[at] || !m.seen.add(m.first[i]+at) {
			continue
		}
		if in := &l.auto.insts[at]; in.op == opFork {
			stack = append(stack, in.alt, in.out)
		} else {
			set = append(set, m.first[i]+at)
		}
	}
	m.stack = stack
	return set
}

// inst returns an instruction and the language it is of.
func (m *sampler) inst(at uint32) (*autoInst, int) {
	i := int(m.owner[at])
	return &m.langs[i].auto.insts[at-m.first[i]], i
}

// step returns the states behind a character, until the next step.
func (m *sampler) step(set []uint32, r rune) []uint32 {
	m.seen.reset(len(m.owner))
	out := m.next[:0]
	m.visited += len(set)
	for _, at := range set {
		if in, i := m.inst(at); in.op == opRune && in.set.Has(r) {
			out = m.enter(out, i, in.out)
		}
	}
	slices.Sort(out)
	m.next = out
	return out
}

// alive reports whether a wanted text may still be reached.
func (m *sampler) alive(s *Sampling, set []uint32) bool {
	in := make([]bool, len(m.langs))
	for _, at := range set {
		in[m.owner[at]] = true
	}
	for i := range s.Within {
		if !in[i] && m.langs[i] != nil {
			return false
		}
	}
	for i, of := range s.Of {
		if n := len(s.Within) + i; of && (in[n] || m.langs[n] == nil) {
			return true
		}
	}
	return s.Of == nil
}

// accepts reports whether the text of a set may be one of all that it has to be within.
func (m *sampler) accepts(s *Sampling, set []uint32) bool {
	for i := range s.Within {
		if m.langs[i] != nil && !slices.Contains(set, m.first[i]) { // instruction 0 is the match
			return false
		}
	}
	return true
}

// within reports whether the text is one of all that it has to be within.
func (m *sampler) within(s *Sampling, text string) bool {
	for _, p := range s.Within {
		if ok, err := p.Match(text); !ok || err != nil {
			return false
		}
	}
	return true
}

// hits reports of each pattern whether it matches the text of a set, and of those that are wanted
// whether any does.
func (m *sampler) hits(s *Sampling, text string, set []uint32) (hits []bool, any bool) {
	hits = make([]bool, len(s.Patterns))
	for i, p := range s.Patterns {
		n := len(s.Within) + i
		if _, accepted := slices.BinarySearch(set, m.first[n]); m.langs[n] != nil && !accepted {
			continue
		}
		ok, err := p.Match(s.before(i) + text)
		hits[i] = ok && err == nil
		any = any || hits[i] && s.Of != nil && s.Of[i]
	}
	return hits, any
}

// runes returns a character of every kind that the states tell apart, those that are easiest to
// read first.
func (m *sampler) runes(set []uint32) []rune {
	bounds := []rune{0, re.MaxRune + 1}
	for _, at := range set {
		in, _ := m.inst(at)
		if in.op != opRune || in.set.Full() {
			continue
		}
		for _, sp := range in.set.Spans {
			bounds = append(bounds, sp.Lo, sp.Hi+1)
		}
	}
	slices.Sort(bounds)
	bounds = slices.Compact(bounds)
	if len(bounds) > maxLangRunes {
		m.complete = false
		bounds = slices.DeleteFunc(bounds, func(r rune) bool { return r >= utf8.RuneSelf })
		bounds = append(bounds, utf8.RuneSelf, re.MaxRune+1)
	}
	out := make([]rune, 0, len(bounds))
	for i := range bounds[1:] {
		if r, ok := legible(bounds[i], bounds[i+1]-1); ok {
			out = append(out, r)
		}
	}
	slices.SortStableFunc(out, func(a, b rune) int { return rank(a) - rank(b) })
	return out
}

// rank orders characters by how easy a text of them is to read.
func rank(r rune) int {
	switch {
	case r == 'x':
		return 0
	case 'a' <= r && r <= 'z':
		return 1
	case '0' <= r && r <= '9' || 'A' <= r && r <= 'Z':
		return 2
	case ' ' < r && r < 0x7f:
		return 3
	case r == ' ':
		return 4
	}
	return 5
}

// legible returns a character between lo and hi that is easy to read; ok is false where there is
// none but halves of a pair.
func legible(lo, hi rune) (r rune, ok bool) {
	const halves, after = 0xD800, 0xE000
	for _, s := range [...][2]rune{{'x', 'x'}, {'a', 'z'}, {'0', '9'}, {'A', 'Z'}, {'!', '~'}, {' ', ' '}, {'à', 'ſ'}} {
		if at := max(lo, s[0]); at <= min(hi, s[1]) {
			return at, true
		}
	}
	if lo >= halves && lo < after {
		lo = after
	}
	return lo, lo <= hi
}
