package re

import (
	"slices"
	"sync"
	"unicode/utf8"
)

// Patterns speak of characters, subjects are bytes. A subject that is not
// UTF-8 is read as Python reads file names (surrogateescape): each byte that
// is no part of a character is a character of its own, badByte + the byte.
// These values are surrogates, which no pattern can spell, so a bad byte is
// matched by wildcards and negated sets only.
const badByte = 0xDC00

// MaxRune is the last character.
const MaxRune = utf8.MaxRune

// Decode reads the character of s at i, which must be less than len(s).
func Decode(s string, i int) (rune, int) {
	if c := s[i]; c < utf8.RuneSelf {
		return rune(c), 1
	}
	r, w := utf8.DecodeRuneInString(s[i:])
	if r == utf8.RuneError && w == 1 {
		return badByte + rune(s[i]), 1
	}
	return r, w
}

// decodeLast reads the character that ends at i, which must be positive. It
// does not look at bytes before low.
func decodeLast(s string, low, i int) (rune, int) {
	if c := s[i-1]; c < utf8.RuneSelf {
		return rune(c), 1
	}
	r, w := utf8.DecodeLastRuneInString(s[low:i])
	if r == utf8.RuneError && w == 1 {
		return badByte + rune(s[i-1]), 1
	}
	return r, w
}

// A Span is the characters Lo..Hi.
type Span struct{ Lo, Hi rune }

// Range returns the span lo..hi.
func Range(lo, hi rune) Span { return Span{lo, hi} }

// A Set is a set of characters. The zero Set is empty.
type Set struct {
	Spans []Span // sorted and apart from one another; never written to
	ascii [2]uint64
}

// asciiSets returns the sets of one ASCII character each: most sets are one of
// them.
var asciiSets = sync.OnceValue(func() *[128]Set {
	var sets [128]Set
	spans := make([]Span, 128)
	for i := range sets {
		spans[i] = Span{rune(i), rune(i)}
		sets[i].Spans = spans[i : i+1 : i+1]
		sets[i].ascii[i>>6] = 1 << (i & 63)
	}
	return &sets
})

// One is the set of one character.
func One(r rune) *Set {
	if uint32(r) < 128 {
		return &asciiSets()[r]
	}
	return NewSet([]Span{{r, r}})
}

// NewSet makes a set of spans in any order.
func NewSet(spans []Span) *Set {
	s := &Set{Spans: mergeSpans(spans)}
	for _, sp := range s.Spans {
		for r := sp.Lo; r <= sp.Hi && r < 128; r++ {
			s.ascii[r>>6] |= 1 << (r & 63)
		}
	}
	return s
}

func mergeSpans(in []Span) []Span {
	in = slices.Clone(in)
	slices.SortFunc(in, func(a, b Span) int { return int(a.Lo) - int(b.Lo) })
	var out []Span
	for _, sp := range in {
		if sp.Lo > sp.Hi {
			continue
		}
		if n := len(out); n > 0 && sp.Lo <= out[n-1].Hi+1 {
			out[n-1].Hi = max(out[n-1].Hi, sp.Hi)
			continue
		}
		out = append(out, sp)
	}
	return out
}

// negateSpans returns the characters that are not in the merged spans.
func negateSpans(in []Span) []Span {
	var out []Span
	next := rune(0)
	for _, sp := range in {
		if sp.Lo > next {
			out = append(out, Span{next, sp.Lo - 1})
		}
		next = sp.Hi + 1
	}
	if next <= MaxRune {
		out = append(out, Span{next, MaxRune})
	}
	return out
}

// Without returns s without r.
func (s *Set) Without(r rune) *Set {
	if !s.Has(r) {
		return s
	}
	return NewSet(subtractSpans(s.Spans, []Span{{r, r}}))
}

// Negate returns the characters that are not in s.
func (s *Set) Negate() *Set { return NewSet(negateSpans(s.Spans)) }

// Has reports whether r is in s.
func (s *Set) Has(r rune) bool {
	if uint32(r) < 128 {
		return s.ascii[r>>6]&(1<<(r&63)) != 0
	}
	return inSpans(s.Spans, r)
}

func inSpans(spans []Span, r rune) bool {
	lo, hi := 0, len(spans)
	for lo < hi {
		m := int(uint(lo+hi) >> 1)
		if r > spans[m].Hi {
			lo = m + 1
		} else {
			hi = m
		}
	}
	return lo < len(spans) && spans[lo].Lo <= r
}

// one returns the only character of s.
func (s *Set) one() (rune, bool) {
	if len(s.Spans) == 1 && s.Spans[0].Lo == s.Spans[0].Hi {
		return s.Spans[0].Lo, true
	}
	return 0, false
}

// Full reports whether s holds every character.
func (s *Set) Full() bool {
	return len(s.Spans) == 1 && s.Spans[0] == Span{0, MaxRune}
}

// HasOther reports whether the set has a character that is none of some.
func (s *Set) HasOther(not []rune) bool {
	for _, sp := range s.Spans {
		n := sp.Hi - sp.Lo + 1
		for _, r := range not {
			if r >= sp.Lo && r <= sp.Hi {
				n--
			}
		}
		if n > 0 {
			return true
		}
	}
	return false
}
