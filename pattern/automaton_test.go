package pattern

import (
	"math/rand/v2"
	"strings"
	"testing"
)

// A regular pattern that runs out of time is put to an automaton, and only when
// that does not help either is it a fault.
func TestAutomatonIsLastResort(t *testing.T) {
	slow := func(expr string) Entry {
		p := MustCompile(Full, expr)
		p.made.Store(&body{m: testMatcher{}})
		return Entry{p, 7}
	}
	r := rand.New(rand.NewPCG(3, 4))
	random := strings.Map(func(rune) rune { return rune("ab"[r.IntN(2)]) }, strings.Repeat("x", 20_000))
	tests := []struct {
		expr, text string
		ok         bool
		err        error
	}{
		{`(?:a+)+b`, strings.Repeat("a", 1000), false, nil},
		{`(?:a+)+b`, strings.Repeat("a", 1000) + "b", true, nil},
		{`a{999}b{999}`, "ab", false, ErrTime},
		{`.*a.{100}[cd]`, random, false, nil}, // a deterministic automaton would explode
		{`.*a.{100}[cd]`, random + "c", random[len(random)-101] == 'a', nil},
	}
	for _, tt := range tests {
		for _, s := range []*Set{NewSet([]Entry{slow(tt.expr)}), indexed([]Entry{slow(tt.expr)})} {
			if _, ok, err := s.Best(tt.text, none); ok != tt.ok || err != tt.err {
				t.Errorf("%s on %.20q: %t, %v; want %t, %v", tt.expr, tt.text, ok, err, tt.ok, tt.err)
			}
		}
	}
}

// FuzzAutomaton holds automata against the patterns' own matchers.
func FuzzAutomaton(f *testing.F) {
	for _, expr := range []string{`(?i)k+(?a:\bs)`, `a$|(?m:^b$)`, `.*\n?\Z`, `[^\x00-\U0010FFFF]`, `(?s:.*)x(?s:.*)`, `[^\W\d]+\d{2,4}`, `(a|b)*?c`, `\uD800|[^\uD7FF]`, `()*|^`, `.*\Z(?a:\b)`, `(?!git|go).*`} {
		f.Add(expr, "aKs\nb")
		f.Add(expr, "\xffx\u212a12\xe2\x84")
	}
	f.Fuzz(func(t *testing.T, expr, text string) {
		if len(expr) > 100 || len(text) > 100 {
			t.Skip("too long")
		}
		for _, e := range []string{expr, expr + "|a+", "(?s:.*)(?:" + expr + ")", "(?:" + expr + ")(?s:.*)", "(?s:.*)(?:" + expr + ")(?s:.*)"} {
			p, err := Compile(Full, e)
			if err != nil {
				continue
			}
			if matched, err := p.Match(text); err == nil {
				checkShape(t, p, text, matched)
			}
		}
	})
}
