package pattern

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

const maxRune = utf8.MaxRune

// decode reads the character of s at i, which must be less than len(s).
func decode(s string, i int) (rune, int) {
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

// A span is the characters lo..hi.
type span struct{ lo, hi rune }

// A set is a set of characters. The zero set is empty.
type set struct {
	ascii [2]uint64
	spans []span // sorted, apart from one another, all of the set
}

// asciiSets returns the sets of one ASCII character each: most sets are one of
// them.
var asciiSets = sync.OnceValue(func() *[128]set {
	var sets [128]set
	spans := make([]span, 128)
	for i := range sets {
		spans[i] = span{rune(i), rune(i)}
		sets[i].spans = spans[i : i+1 : i+1]
		sets[i].ascii[i>>6] = 1 << (i & 63)
	}
	return &sets
})

// oneSet is the set of one character.
func oneSet(r rune) *set {
	if uint32(r) < 128 {
		return &asciiSets()[r]
	}
	return newSet([]span{{r, r}})
}

// newSet makes a set of spans in any order.
func newSet(spans []span) *set {
	s := &set{spans: mergeSpans(spans)}
	for _, sp := range s.spans {
		for r := sp.lo; r <= sp.hi && r < 128; r++ {
			s.ascii[r>>6] |= 1 << (r & 63)
		}
	}
	return s
}

func mergeSpans(in []span) []span {
	in = slices.Clone(in)
	slices.SortFunc(in, func(a, b span) int { return int(a.lo) - int(b.lo) })
	var out []span
	for _, sp := range in {
		if sp.lo > sp.hi {
			continue
		}
		if n := len(out); n > 0 && sp.lo <= out[n-1].hi+1 {
			out[n-1].hi = max(out[n-1].hi, sp.hi)
			continue
		}
		out = append(out, sp)
	}
	return out
}

// negateSpans returns the characters that are not in the merged spans.
func negateSpans(in []span) []span {
	var out []span
	next := rune(0)
	for _, sp := range in {
		if sp.lo > next {
			out = append(out, span{next, sp.lo - 1})
		}
		next = sp.hi + 1
	}
	if next <= maxRune {
		out = append(out, span{next, maxRune})
	}
	return out
}

func (s *set) negate() *set { return newSet(negateSpans(s.spans)) }

func (s *set) has(r rune) bool {
	if uint32(r) < 128 {
		return s.ascii[r>>6]&(1<<(r&63)) != 0
	}
	return inSpans(s.spans, r)
}

func inSpans(spans []span, r rune) bool {
	lo, hi := 0, len(spans)
	for lo < hi {
		m := int(uint(lo+hi) >> 1)
		if r > spans[m].hi {
			lo = m + 1
		} else {
			hi = m
		}
	}
	return lo < len(spans) && spans[lo].lo <= r
}

// one returns the only character of s.
func (s *set) one() (rune, bool) {
	if len(s.spans) == 1 && s.spans[0].lo == s.spans[0].hi {
		return s.spans[0].lo, true
	}
	return 0, false
}

// full reports whether s holds every character.
func (s *set) full() bool {
	return len(s.spans) == 1 && s.spans[0] == span{0, maxRune}
}
