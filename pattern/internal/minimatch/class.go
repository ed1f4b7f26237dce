package minimatch

import (
	"slices"
	"strings"
	"sync"
	"unicode"

	"github.com/obstat/obstat/pattern/internal/re"
)

// posixClasses are the named classes, by Unicode's categories. graph and
// print are what is not a separator or not in category C, that is all that is
// in one of the others.
var posixClasses = sync.OnceValue(func() map[string][]re.Span {
	tables := func(ts ...*unicode.RangeTable) []re.Span {
		var out []re.Span
		for _, t := range ts {
			out = append(out, tableSpans(t)...)
		}
		return out
	}
	graph := []*unicode.RangeTable{unicode.L, unicode.M, unicode.N, unicode.P, unicode.S}
	return map[string][]re.Span{
		"alnum":  tables(unicode.L, unicode.Nl, unicode.Nd),
		"alpha":  tables(unicode.L, unicode.Nl),
		"ascii":  {re.Range(0, 0x7F)},
		"blank":  append(tables(unicode.Zs), re.Range('\t', '\t')),
		"cntrl":  tables(unicode.Cc),
		"digit":  tables(unicode.Nd),
		"graph":  tables(graph...),
		"lower":  tables(unicode.Ll),
		"print":  append(tables(graph...), tables(unicode.Z)...),
		"punct":  tables(unicode.P, unicode.S),
		"space":  append(tables(unicode.Z), re.Range('\t', '\r')),
		"upper":  tables(unicode.Lu),
		"word":   tables(unicode.L, unicode.Nl, unicode.Nd, unicode.Pc),
		"xdigit": {re.Range('0', '9'), re.Range('A', 'F'), re.Range('a', 'f')},
	}
})

func tableSpans(t *unicode.RangeTable) []re.Span {
	var out []re.Span
	add := func(lo, hi, stride rune) {
		if stride == 1 {
			out = append(out, re.Range(lo, hi))
			return
		}
		for r := lo; r <= hi; r += stride {
			out = append(out, re.Range(r, r))
		}
	}
	for _, r := range t.R16 {
		add(rune(r.Lo), rune(r.Hi), rune(r.Stride))
	}
	for _, r := range t.R32 {
		add(rune(r.Lo), rune(r.Hi), rune(r.Stride))
	}
	return out
}

// posixAt returns the name of the class at [:name:], and its length there.
func posixAt(s []rune) (string, int) {
	const open, end = "[:", ":]"
	if len(s) < 2 || string(s[:2]) != open {
		return "", 0
	}
	for i := 2; i+1 < len(s) && i < 10; i++ {
		if string(s[i:i+2]) == end {
			name := string(s[2:i])
			if _, ok := posixClasses()[name]; ok {
				return name, i + 2
			}
			break
		}
	}
	return "", 0
}

// class reads the set that starts at the [ of s[0], and how much of s it
// takes: 0 if it is not closed, all of s if nothing can ever match it, which
// is what a range that ends in a class and a set without members are.
func class(s []rune) (*re.Set, int) {
	c := classReader{s: s, i: 1}
	if c.i < len(s) && (s[1] == '!' || s[1] == '^') {
		c.negate = true
		c.i++
	}
	for started := false; c.i < len(s); started = true {
		if s[c.i] == ']' && started && !c.escape {
			if len(c.spans)+len(c.named) == 0 {
				return &re.Set{}, len(s)
			}
			return c.done(), c.i + 1
		}
		if !c.next() {
			return &re.Set{}, len(s)
		}
	}
	return nil, 0
}

type classReader struct {
	s      []rune
	i      int
	negate bool
	escape bool
	from   []rune // the start of a range whose end comes next
	spans  []re.Span
	named  []re.Span // of the classes graph and print
}

// done makes the set. minimatch negates the characters of graph and print, and the
// rest, each for itself.
func (c *classReader) done() *re.Set {
	if !c.negate {
		return re.NewSet(append(c.spans, c.named...))
	}
	var out []re.Span
	for _, part := range [][]re.Span{c.spans, c.named} {
		if len(part) > 0 {
			out = append(out, re.NewSet(part).Negate().Spans...)
		}
	}
	return re.NewSet(out)
}

// next reads one step; false: the set can not match anything.
func (c *classReader) next() bool {
	r := c.s[c.i]
	if r == '\\' && !c.escape {
		c.escape = true
		c.i++
		return true
	}
	if r == '[' && !c.escape {
		if name, n := posixAt(c.s[c.i:]); n > 0 {
			if c.from != nil {
				return false
			}
			to := &c.spans
			if name == "graph" || name == "print" {
				to = &c.named
			}
			*to = append(*to, posixClasses()[name]...)
			c.i += n
			return true
		}
	}
	c.escape = false
	c.i++
	rest := c.s[c.i:]
	switch {
	case c.from != nil:
		// A range that runs backwards is dropped.
		if c.from[0] <= r {
			c.spans = append(c.spans, re.Range(c.from[0], r))
		}
		c.from = nil
	case len(rest) > 1 && rest[0] == '-' && rest[1] == ']':
		c.spans = append(c.spans, re.Range(r, r), re.Range('-', '-'))
		c.i++
	case len(rest) > 0 && rest[0] == '-':
		c.from = []rune{r}
		c.i++
	default:
		c.spans = append(c.spans, re.Range(r, r))
	}
	return true
}

// literal returns the text of a segment that has no magic. A set of one
// character, other than a negated one, has none.
func literal(s []rune) (string, bool) {
	if t := string(s); t == "+()" || t == "@()" {
		return t, true
	}
	var lit []rune
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '\\':
			if i+1 < len(s) {
				i++
			}
			lit = append(lit, s[i])
		case c == '*' || c == '?':
			return "", false
		case c == '[':
			end := classEnd(s, i)
			if end < 0 {
				lit = append(lit, c)
				continue
			}
			body := s[i+1 : end]
			if len(body) > 0 && body[0] == '\\' {
				body = body[1:]
			}
			if len(body) != 1 || s[i+1] == '!' || s[i+1] == '^' {
				return "", false
			}
			lit = append(lit, body[0])
			i = end
		case strings.ContainsRune("+@!", c) && i+1 < len(s) && s[i+1] == '(' && slices.Contains(s[i+2:], ')'):
			return "", false
		default:
			lit = append(lit, c)
		}
	}
	return string(lit), true
}

// classEnd finds the ] of the set at i as literal needs it, or -1.
func classEnd(s []rune, i int) int {
	i++
	if i < len(s) && (s[i] == '!' || s[i] == '^') {
		i++
	}
	for started := false; i < len(s); i++ {
		if s[i] == ']' && started {
			return i
		}
		started = true
		if s[i] == '\\' {
			i++
		}
	}
	return -1
}
