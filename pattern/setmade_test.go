package pattern

import (
	"regexp"
	"strings"
	"sync"
)

// testMatcher stands for any flavour's matcher.
type testMatcher struct {
	is    func(string) bool // nil: runs out of time
	calls *int
}

func (m testMatcher) Match(s string) (bool, error) {
	if m.calls != nil {
		*m.calls++
	}
	if m.is == nil {
		return false, ErrTime
	}
	return m.is(s), nil
}

// isRegexp compiles expr when it is first needed.
func isRegexp(expr string) func(string) bool {
	re := sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
	return func(s string) bool { return re().MatchString(s) }
}

// madePattern is a pattern that need not be read. Nor can it, in the end: that no
// automaton comes to its help.
func madePattern(m matcher, sh Shape) *Pattern {
	p := &Pattern{flavour: "made"}
	p.made.Store(&body{shape: sh, m: m})
	return p
}

// testPattern is a pattern whose language is that of a full expression, with a
// shape to promise.
func testPattern(expr string, sh Shape) *Pattern {
	m := MustCompile(Full, expr).matcher()
	return madePattern(testMatcher{is: func(s string) bool { ok, _ := m.Match(s); return ok }}, sh)
}

func orderedPattern(prefix, suffix string, fragments ...string) *Pattern {
	is := func(s string) bool {
		rest, ok := strings.CutPrefix(s, prefix)
		return ok && hasOrdered(rest, append(fragments[:len(fragments):len(fragments)], suffix))
	}
	return madePattern(testMatcher{is: is},
		Shape{Prefix: prefix, Suffix: suffix, Fragments: fragments, Ordered: true})
}

// hasOrdered tries every place of every literal; the last must end s.
func hasOrdered(s string, literals []string) bool {
	if len(literals) == 1 {
		return strings.HasSuffix(s, literals[0])
	}
	for i := range len(s) + 1 {
		if rest, ok := strings.CutPrefix(s[i:], literals[0]); ok && hasOrdered(rest, literals[1:]) {
			return true
		}
	}
	return false
}

func exactPattern(text string) *Pattern {
	is := func(s string) bool { return s == text }
	return madePattern(testMatcher{is: is}, Shape{Prefix: text, Exact: true})
}

func regularPattern(expr string) *Pattern {
	return testPattern(expr, Shape{})
}

func faultyPattern(sh Shape) *Pattern {
	return madePattern(testMatcher{}, sh)
}

// indexed is NewSet with an index by grams however small it is.
func indexed(entries []Entry) *Set {
	s := NewSet(entries)
	s.index.Store(newSetIndex(s.entries, 0))
	return s
}
