package re

import (
	"slices"
	"sync"
)

// A shift says that the characters lo, lo+stride .. hi have another case,
// delta away.
type shift struct{ lo, hi, stride, delta rune }

func shifted(table []shift, r rune) rune {
	lo, hi := 0, len(table)
	for lo < hi {
		m := int(uint(lo+hi) >> 1)
		if r > table[m].hi {
			lo = m + 1
		} else {
			hi = m
		}
	}
	if lo == len(table) || r < table[lo].lo || (r-table[lo].lo)%table[lo].stride != 0 {
		return r
	}
	return r + table[lo].delta
}

// lowerOf is the case folding of IGNORECASE.
func lowerOf(r rune, ascii bool) rune {
	if r < 128 || ascii {
		if r >= 'A' && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}
	return shifted(pyLower(), r)
}

// IsSpace is str.isspace.
func IsSpace(r rune) bool { return inSpans(pySpace(), r) }

// Every holds all characters, Line all but a newline.
var (
	Every   = NewSet([]Span{{0, MaxRune}})
	lineSet = NewSet([]Span{{'\n', '\n'}}).Negate()
)

// A category is the set of \w, \d or \s and its opposite.
type category struct{ in, out *Set }

// newCategory makes a category when it is first wanted.
func newCategory(spans func() []Span) func() category {
	return sync.OnceValue(func() category {
		in := NewSet(spans())
		return category{in, in.Negate()}
	})
}

func justSpans(spans ...Span) func() []Span { return func() []Span { return spans } }

var asciiWord = []Span{{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}}

// The categories over Unicode, and over ASCII.
var (
	wordSets  = [2]func() category{newCategory(pyWord), newCategory(justSpans(asciiWord...))}
	digitSets = [2]func() category{newCategory(pyDigit), newCategory(justSpans(Span{'0', '9'}))}
	spaceSets = [2]func() category{newCategory(pySpace), newCategory(justSpans(Span{'\t', '\r'}, Span{' ', ' '}))}
)

// categorySet returns the set of \d, \s, \w or their opposites, or nil.
func categorySet(r rune, flags flagSet) *Set {
	i := either(flags&flagA != 0, 1, 0)
	switch r {
	case 'w':
		return wordSets[i]().in
	case 'W':
		return wordSets[i]().out
	case 'd':
		return digitSets[i]().in
	case 'D':
		return digitSets[i]().out
	case 's':
		return spaceSets[i]().in
	case 'S':
		return spaceSets[i]().out
	}
	return nil
}

// charSet is the set that one character stands for.
func charSet(r rune, flags flagSet) *Set {
	if flags&flagI == 0 {
		return One(r)
	}
	ascii := flags&flagA != 0
	return foldedSet(withExtra([]Span{}, lowerOf(r, ascii), ascii), ascii)
}

// withExtra adds a lower-case character and the others with its upper case.
func withExtra(spans []Span, lower rune, ascii bool) []Span {
	spans = append(spans, Span{lower, lower})
	if ascii {
		return spans
	}
	extra := pyExtra()
	i, _ := slices.BinarySearchFunc(extra, lower, func(e Span, r rune) int { return int(e.Lo - r) })
	for ; i < len(extra) && extra[i].Lo == lower; i++ {
		spans = append(spans, Span{extra[i].Hi, extra[i].Hi})
	}
	return spans
}

// upperOf lists the characters that have a given other one as lower case.
var upperOf = sync.OnceValue(func() map[rune][]rune {
	m := map[rune][]rune{}
	for _, s := range pyLower() {
		for r := s.lo; r <= s.hi; r += s.stride {
			m[r+s.delta] = append(m[r+s.delta], r)
		}
	}
	return m
})

// fewChars: it is quicker to go through the characters than through the table.
const fewChars = 512

func countChars(spans []Span) int {
	n := 0
	for _, sp := range spans {
		n += int(sp.Hi-sp.Lo) + 1
	}
	return n
}

// foldedSet returns the characters whose lower case is in spans.
func foldedSet(spans []Span, ascii bool) *Set {
	base := mergeSpans(spans)
	if countChars(base) <= fewChars {
		return foldedFew(base, ascii)
	}
	var out, moved []Span
	each := func(from, to rune) {
		moved = append(moved, Span{from, from})
		if inSpans(base, to) {
			out = append(out, Span{from, from})
		}
	}
	for _, s := range pyLower() {
		if ascii && s.lo >= 128 {
			break
		}
		for r := s.lo; r <= s.hi; r += s.stride {
			each(r, r+s.delta)
		}
	}
	return NewSet(append(out, subtractSpans(base, mergeSpans(moved))...))
}

func foldedFew(base []Span, ascii bool) *Set {
	var out []Span
	for _, sp := range base {
		for r := sp.Lo; r <= sp.Hi; r++ {
			if lowerOf(r, ascii) == r {
				out = append(out, Span{r, r})
			}
			for _, up := range upperOf()[r] {
				if up < 128 || !ascii {
					out = append(out, Span{up, up})
				}
			}
		}
	}
	return NewSet(out)
}

// subtractSpans returns a without b; both are merged.
func subtractSpans(a, b []Span) []Span {
	keep := negateSpans(b)
	var out []Span
	i, j := 0, 0
	for i < len(a) && j < len(keep) {
		if lo, hi := max(a[i].Lo, keep[j].Lo), min(a[i].Hi, keep[j].Hi); lo <= hi {
			out = append(out, Span{lo, hi})
		}
		if a[i].Hi < keep[j].Hi {
			i++
		} else {
			j++
		}
	}
	return out
}

// classBuilder collects a set as it is written.
type classBuilder struct {
	flags  flagSet
	negate bool
	spans  []Span
}

// add takes a range, or a whole category.
func (c *classBuilder) add(lo, hi rune, category *Set) {
	switch {
	case category != nil:
		c.spans = append(c.spans, category.Spans...)
	case c.flags&flagI == 0:
		c.spans = append(c.spans, Span{lo, hi})
	default:
		c.addFolded(lo, hi)
	}
}

// addFolded adds a range as IGNORECASE sees it: lower-cased with the extra
// cases as far as the BMP goes, and beyond it as CPython happens to do it: a
// single character stays as it is, a range also takes what has its upper case
// in it.
func (c *classBuilder) addFolded(lo, hi rune) {
	ascii := c.flags&flagA != 0
	const bmp = 0xFFFF
	if lo == hi && lowerOf(lo, ascii) > bmp {
		c.spans = append(c.spans, Span{lo, hi})
		return
	}
	c.spans = append(c.spans, lowered(lo, min(hi, bmp), ascii)...)
	if hi <= bmp {
		return
	}
	c.spans = append(c.spans, Span{lo, hi})
	for _, s := range pyUpper() {
		for r := s.lo; r <= s.hi; r += s.stride {
			if up := r + s.delta; lo <= up && up <= hi {
				c.spans = append(c.spans, Span{r, r})
			}
		}
	}
}

// lowered returns the lower case of a range, with the extra cases.
func lowered(lo, hi rune, ascii bool) []Span {
	if lo > hi {
		return nil
	}
	var out, moved []Span
	if hi-lo < fewChars {
		for r := lo; r <= hi; r++ {
			out = withExtra(out, lowerOf(r, ascii), ascii)
		}
		return out
	}
	for _, s := range pyLower() {
		if ascii && s.lo >= 128 {
			break
		}
		for r := s.lo; r <= s.hi; r += s.stride {
			if lo <= r && r <= hi {
				moved = append(moved, Span{r, r})
				out = append(out, Span{r + s.delta, r + s.delta})
			}
		}
	}
	out = append(out, subtractSpans([]Span{{lo, hi}}, mergeSpans(moved))...)
	if ascii {
		return out
	}
	out = mergeSpans(out)
	var extra []Span
	for _, e := range pyExtra() {
		if inSpans(out, e.Lo) {
			extra = append(extra, Span{e.Hi, e.Hi})
		}
	}
	return slices.Concat(out, extra)
}

func (c *classBuilder) done() *Set {
	s := NewSet(c.spans)
	if c.flags&flagI != 0 {
		s = foldedSet(c.spans, c.flags&flagA != 0)
	}
	if c.negate {
		return s.Negate()
	}
	return s
}
