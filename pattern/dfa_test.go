package pattern

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"
)

// tightSet leaves so little room for states that they must be let go of.
func tightSet(entries []Entry, room int) *Set {
	s := indexed(entries)
	s.index.Load().pool.max = room
	return s
}

func TestDFAIsRegexp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		entries := []Entry{{regularPattern("[xy]+"), 20}, {regularPattern("[xz]+"), 21}} // which surely have automata
		for i := range rapid.IntRange(3, 12).Draw(t, "expressions") {
			expr, _ := genExpr(t)
			entries = append(entries, Entry{regularPattern(expr), uint32(i)})
		}
		s := tightSet(entries, rapid.SampledFrom([]int{1, 3000, 20_000, 0}).Draw(t, "room"))
		for range 8 {
			checkBest(t, s, genText().Draw(t, "text"), rapid.Uint32Range(0, 13).Draw(t, "limit"))
		}
		s.Best("", none)
		if d := s.index.Load().dfas; len(d) != 1 || d[0].prog.Load() == nil {
			t.Fatal("no automaton was asked")
		}
	})
}

// FuzzDFA holds automata against the patterns' own matchers.
func FuzzDFA(f *testing.F) {
	for _, expr := range []string{`(?i)k+(?a:\bs)`, `a$|(?m:^b$)`, `.*\n?\Z`, `[^\x00-\U0010FFFF]`, `(?s:.*)x(?s:.*)`, `[^\W\d]+\d{2,4}`, `(a|b)*?c`, `\uD800|[^\uD7FF]`, `()*|^`, `.*\Z(?a:\b)`, `(?!git|go).*`} {
		f.Add(expr, "aKs\nb")
		f.Add(expr, "\xffx\u212a12\xe2\x84")
	}
	f.Fuzz(func(t *testing.T, expr, text string) {
		var entries []Entry
		for i, e := range []string{expr, expr + "|a+", "(?s:.*)(?:" + expr + ")", "(?:" + expr + ")(?s:.*)", "(?s:.*)(?:" + expr + ")(?s:.*)"} {
			if p, err := Compile(Full, e); err == nil && len(expr) <= 100 && len(text) <= 100 {
				entries = append(entries, Entry{p, uint32(i + 1)})
			}
		}
		s := indexed(entries)
		for limit := range uint32(7) {
			checkBest(t, s, text, limit)
		}
		for limit := range uint32(7) { // as it was left by the texts before
			checkBest(t, s, text[len(text)/2:], limit)
		}
	})
}

func TestDFAStaysInBounds(t *testing.T) {
	s := tightSet(benchRegexps(200), 64<<10)
	for _, text := range benchRegexpTexts(500, 200) {
		checkBest(t, s, text, none)
		if s.index.Load().pool.states > 80<<10 {
			t.Fatalf("states take %d bytes", s.index.Load().pool.states)
		}
	}
	if m := s.index.Load().dfas[0].prog.Load().machines[0]; m.epoch < 3 {
		t.Errorf("states were let go of %d times, too few for a test", m.epoch)
	}
}

// An automaton for this one would need a state for every last dozen bytes.
func TestDFAExplodes(t *testing.T) {
	entries := benchRegexps(10)
	for i := range 6 {
		entries = append(entries, Entry{regularPattern(fmt.Sprintf(`(?s:.*)a(?s:.){%d}b`, i+12)), 20})
	}
	s := tightSet(entries, 256<<10)
	r := rand.New(rand.NewPCG(1, 2))
	text := make([]byte, 4000)
	for i := range text {
		text[i] = "ab"[r.IntN(2)]
	}
	checkBest(t, s, string(text), none)
}

func TestDFAUnfit(t *testing.T) {
	var entries []Entry
	for i := range 5 {
		entries = append(entries, Entry{regularPattern(fmt.Sprintf(`a{%d}b{999}`, i)), uint32(i)})
	}
	for i := range rune(400) { // so many classes that they need several automata
		entries = append(entries, Entry{regularPattern(fmt.Sprintf(`x?[%c]+`, 0x400+i)), uint32(10 + i)})
	}
	var every strings.Builder
	for i := range rune(250) {
		fmt.Fprintf(&every, "%c%c|", 0x4000+2*i, 'a'+i%26)
	}
	entries = append(entries, Entry{regularPattern(every.String()), 900})
	broken := madePattern(Full, "", testMatcher{is: func(s string) bool { return s == "broken" }}, Shape{})
	entries = append(entries, Entry{broken, 901})
	s := indexed(entries)
	for i := range 5 {
		checkBest(t, s, strings.Repeat("a", i)+strings.Repeat("b", 999), none)
	}
	for _, text := range []string{"", "a", "Ѐ", "xՀՀ", "ՀЀ", "䀀a", "䁖a", "䁖r", "broken", "\xd5", "x\uFFFD"} {
		checkBest(t, s, text, none)
	}
	p := s.index.Load().dfas[0].prog.Load()
	if len(p.machines) < 2 || len(p.rest) != 1 { // the others have no automaton
		t.Errorf("%d machines, %d unfit", len(p.machines), len(p.rest))
	}
}

// Readers go on while the states under them are let go of.
func TestDFAConcurrentFlush(t *testing.T) {
	s := tightSet(benchRegexps(60), 32<<10)
	texts := benchRegexpTexts(100, 60)
	want := make([]uint32, len(texts))
	for i, text := range texts {
		want[i], _, _ = linearBest(s, text, none)
	}
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			for i := range texts {
				i = (i*7 + g*31) % len(texts)
				if rank, _, err := s.Best(texts[i], none); rank != want[i] || err != nil {
					t.Errorf("Best(%q) = %d, %v; want %d", texts[i], rank, err, want[i])
				}
			}
		})
	}
	wg.Wait()
}

// A pattern that matches whatever follows ends the run.
func TestDFASure(t *testing.T) {
	s := indexed([]Entry{{regularPattern("[ab](?s:.*)"), 3}, {regularPattern("(?s:.*)b(?s:.*)"), 4}, {regularPattern("(?s:.+)"), 5}})
	for _, text := range []string{"", "a", "xb", "xxx", "x\nb\n", "\xff"} {
		checkBest(t, s, text, none)
	}
	s.Best("a", none)
	m := s.index.Load().dfas[0].prog.Load().machines[0]
	before := len(m.states.Load().keys)
	s.Best("a many things that need no states", none)
	if after := len(m.states.Load().keys); after != before {
		t.Errorf("%d states became %d after the answer was sure", before, after)
	}
}

// A regular pattern that runs out of time is put to an automaton, and only when
// that does not help either is it a fault.
func TestDFALastResort(t *testing.T) {
	slow := func(expr string) Entry {
		return Entry{withAutomaton(madePattern(Minimatch, "", testMatcher{}, Shape{}), expr), 7}
	}
	r := rand.New(rand.NewPCG(3, 4))
	explodes := strings.Map(func(rune) rune { return rune("ab"[r.IntN(2)]) }, strings.Repeat("x", 20_000))
	tests := []struct {
		expr, text string
		ok         bool
		err        error
	}{
		{`(?:a+)+b`, strings.Repeat("a", 1000), false, nil},
		{`(?:a+)+b`, strings.Repeat("a", 1000) + "b", true, nil},
		{`a{999}b{999}`, "ab", false, ErrTime},
		{`.*a.{300}[ab]`, explodes, false, ErrTime},
	}
	for _, tt := range tests {
		for _, s := range []*Set{NewSet([]Entry{slow(tt.expr)}), indexed([]Entry{slow(tt.expr)})} {
			if _, ok, err := s.Best(tt.text, none); ok != tt.ok || err != tt.err {
				t.Errorf("%s on %.20q: %t, %v; want %t, %v", tt.expr, tt.text, ok, err, tt.ok, tt.err)
			}
		}
	}
}
