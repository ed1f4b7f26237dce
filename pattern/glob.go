package pattern

import (
	"strings"
	"unicode/utf8"
)

// Fnmatch and Wildcard are one kind of program: parts with stars between
// them. A star takes anything, so each part may take its leftmost place and
// nothing has to be tried again: time is linear in the subject but for parts
// that mix literals with one-character items, whose work is counted.

// An item is a literal, or n units of anything, or one character of a set.
type item struct {
	lit  string
	n    int
	set  *set
	fail []int // for a literal that is searched with slashes folded
}

// A part stands between two stars. min is how many units at least
// lie between it and the part before.
type part struct {
	min   int
	items []item
}

// A glob matches parts[0] at the start, the last at the end, the others in
// order between.
type glob struct {
	parts []part
	utf16 bool // a unit is a UTF-16 code unit, not a character
	slash bool // the subject's \ are read as /

	ends       bool // nothing but head, or (open) head, anything and tail
	open       bool
	head, tail string
}

func newGlob(parts []part, utf16, slash bool) *glob {
	g := &glob{parts: parts, utf16: utf16, slash: slash}
	last := len(parts) - 1
	g.open = last > 0
	g.ends = last <= 1 && pure(parts[0].items) && pure(parts[last].items) && parts[last].min == 0
	if g.ends {
		g.head = literal(parts[0].items)
		if g.open {
			g.tail = literal(parts[last].items)
		}
	}
	for i := range parts {
		for j := range parts[i].items {
			if it := &parts[i].items[j]; slash && strings.Contains(it.lit, "/") {
				it.fail = failTable(it.lit)
			}
		}
	}
	return g
}

// pure: nothing but at most one literal.
func pure(items []item) bool {
	return len(items) == 0 || len(items) == 1 && items[0].lit != ""
}

func literal(items []item) string {
	if len(items) == 0 {
		return ""
	}
	return items[0].lit
}

// globSteps bounds the work of one match; a step is a look at one item.
const globSteps = 1 << 21

func (g *glob) match(s string) (bool, error) {
	fold := g.slash && strings.IndexByte(s, '\\') >= 0
	if g.ends && !fold {
		if !g.open {
			return s == g.head, nil
		}
		return len(s) >= len(g.head)+len(g.tail) && strings.HasPrefix(s, g.head) && strings.HasSuffix(s, g.tail), nil
	}
	return g.general(s, fold)
}

func (g *glob) general(s string, fold bool) (bool, error) {
	m := globRun{g: g, s: s, fold: fold, left: globSteps}
	ok := m.run()
	if m.left < 0 {
		return false, ErrTime
	}
	return ok, nil
}

// globRun is one match under way.
type globRun struct {
	g    *glob
	s    string
	fold bool
	left int
}

func (m *globRun) run() bool {
	parts := m.g.parts
	at, ok := m.forward(parts[0].items, 0)
	if !ok || len(parts) == 1 {
		return ok && at == len(m.s)
	}
	last := len(parts) - 1
	for i := 1; i < last; i++ {
		if at, ok = m.skip(at, parts[i].min); !ok {
			return false
		}
		if at, ok = m.find(parts[i].items, at); !ok {
			return false
		}
	}
	if at, ok = m.skip(at, parts[last].min); !ok {
		return false
	}
	return m.backward(parts[last].items, at)
}

// skip goes over at least n units.
func (m *globRun) skip(at, n int) (int, bool) {
	for n > 0 {
		if at >= len(m.s) {
			return at, false
		}
		r, w := decode(m.s, at)
		at += w
		n -= m.units(r)
	}
	return at, true
}

// take goes over exactly n units.
func (m *globRun) take(at, n int) (int, bool) {
	for n > 0 {
		if at >= len(m.s) {
			return at, false
		}
		r, w := decode(m.s, at)
		at += w
		n -= m.units(r)
	}
	return at, n == 0
}

func (m *globRun) units(r rune) int {
	if m.g.utf16 && r > 0xFFFF {
		return 2
	}
	return 1
}

// forward matches items at the offset at and returns where they end.
func (m *globRun) forward(items []item, at int) (int, bool) {
	ok := true
	for i := range items {
		m.left--
		switch it := &items[i]; {
		case it.lit != "":
			if !m.hasPrefix(at, it.lit) {
				return at, false
			}
			at += len(it.lit)
		case it.set != nil:
			if at >= len(m.s) {
				return at, false
			}
			r, w := decode(m.s, at)
			if !it.set.has(m.foldRune(r)) {
				return at, false
			}
			at += w
		default:
			m.left -= it.n
			if at, ok = m.take(at, it.n); !ok {
				return at, false
			}
		}
	}
	return at, true
}

// backward matches items so that they end where the subject ends and start at
// low or later.
func (m *globRun) backward(items []item, low int) bool {
	end := len(m.s)
	for i := len(items) - 1; i >= 0; i-- {
		switch it := &items[i]; {
		case it.lit != "":
			end -= len(it.lit)
			if end < low || !m.hasPrefix(end, it.lit) {
				return false
			}
		case it.set != nil:
			if end <= low {
				return false
			}
			r, w := decodeLast(m.s, low, end)
			if !it.set.has(m.foldRune(r)) {
				return false
			}
			end -= w
		default:
			n := it.n
			for n > 0 {
				if end <= low {
					return false
				}
				r, w := decodeLast(m.s, low, end)
				end -= w
				n -= m.units(r)
			}
			if n < 0 {
				return false
			}
		}
	}
	return end >= low
}

// find returns the end of the leftmost match of items at or after at.
func (m *globRun) find(items []item, at int) (int, bool) {
	if len(items) == 0 {
		return at, true
	}
	for at <= len(m.s) && m.left >= 0 {
		if lit := &items[0]; lit.lit != "" {
			i := m.index(lit, at)
			if i < 0 {
				return at, false
			}
			at = i
		}
		if end, ok := m.forward(items, at); ok {
			return end, true
		}
		if at == len(m.s) {
			return at, false
		}
		_, w := decode(m.s, at)
		at += w
	}
	return at, false
}

func (m *globRun) hasPrefix(at int, lit string) bool {
	if len(m.s)-at < len(lit) {
		return false
	}
	if !m.fold {
		return m.s[at:at+len(lit)] == lit
	}
	for i := 0; i < len(lit); i++ {
		if foldByte(m.s[at+i]) != lit[i] {
			return false
		}
	}
	return true
}

// index finds a literal. With slashes folded it runs over the subject once,
// by the literal's failure table.
func (m *globRun) index(it *item, at int) int {
	if !m.fold || it.fail == nil {
		i := strings.Index(m.s[at:], it.lit)
		if i < 0 {
			return -1
		}
		return at + i
	}
	k := 0
	for i := at; i < len(m.s); i++ {
		c := foldByte(m.s[i])
		for k > 0 && it.lit[k] != c {
			k = it.fail[k-1]
		}
		if it.lit[k] == c {
			k++
		}
		if k == len(it.lit) {
			return i + 1 - k
		}
	}
	return -1
}

func foldByte(c byte) byte {
	if c == '\\' {
		return '/'
	}
	return c
}

func (m *globRun) foldRune(r rune) rune {
	if m.fold && r == '\\' {
		return '/'
	}
	return r
}

// failTable is Knuth, Morris and Pratt's.
func failTable(lit string) []int {
	t := make([]int, len(lit))
	for i, k := 1, 0; i < len(lit); i++ {
		for k > 0 && lit[i] != lit[k] {
			k = t[k-1]
		}
		if lit[i] == lit[k] {
			k++
		}
		t[i] = k
	}
	return t
}

// A globBuilder collects items in the order they are written.
type globBuilder struct {
	parts []part
	cur   part
	text  []byte // a literal not yet placed
	gap   int    // units of ? not yet placed
	star  bool   // among them was a *
}

func (b *globBuilder) lit(r rune) {
	if b.gap > 0 || b.star {
		b.flush()
	}
	b.text = utf8.AppendRune(b.text, r)
}

func (b *globBuilder) set(s *set) {
	if r, ok := s.one(); ok && utf8.ValidRune(r) {
		b.lit(r)
		return
	}
	b.flush()
	b.cur.items = append(b.cur.items, item{set: s})
}

func (b *globBuilder) any() {
	b.flushText()
	b.gap++
}

func (b *globBuilder) anyStar() {
	b.flushText()
	b.star = true
}

func (b *globBuilder) flushText() {
	if len(b.text) > 0 {
		b.cur.items = append(b.cur.items, item{lit: string(b.text)})
		b.text = b.text[:0]
	}
}

// flush places the gap that ? and * since the last item add up to: in a run of both,
// only their number counts.
func (b *globBuilder) flush() {
	b.flushText()
	switch {
	case b.star:
		b.parts = append(b.parts, b.cur)
		b.cur = part{min: b.gap}
	case b.gap > 0:
		b.cur.items = append(b.cur.items, item{n: b.gap})
	}
	b.gap, b.star = 0, false
}

func (b *globBuilder) done() []part {
	b.flush()
	return append(b.parts, b.cur)
}
