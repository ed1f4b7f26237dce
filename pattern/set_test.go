package pattern

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"
)

func TestSetBest(t *testing.T) {
	type want struct {
		rank uint32
		ok   bool
		err  error
	}
	tests := []struct {
		name    string
		entries []Entry
		text    string
		limit   uint32
		want    want
	}{
		{"empty set", nil, "a", none, want{}},
		{"nil pattern", []Entry{{nil, 1}}, "", none, want{}},
		{"zero pattern", []Entry{{&Pattern{}, 1}}, "", none, want{}},
		{"exact", []Entry{{exactPattern("ab"), 1}}, "ab", none, want{1, true, nil}},
		{"exact is no prefix", []Entry{{exactPattern("ab"), 1}}, "abc", none, want{}},
		{"exact empty", []Entry{{exactPattern(""), 4}}, "", none, want{4, true, nil}},
		{"exact empty, other text", []Entry{{exactPattern(""), 4}}, "x", none, want{}},
		{"any", []Entry{{orderedPattern("", ""), 3}}, "", none, want{3, true, nil}},
		{"rank zero", []Entry{{orderedPattern("", ""), 0}}, "x", 1, want{0, true, nil}},
		{"limit", []Entry{{orderedPattern("", ""), 3}}, "x", 3, want{}},
		{"limit zero", []Entry{{orderedPattern("", ""), 0}}, "x", 0, want{}},
		{"lowest of two", []Entry{{orderedPattern("a", ""), 9}, {orderedPattern("ab", ""), 7}}, "abc", none, want{7, true, nil}},
		{"suffix", []Entry{{orderedPattern("", ".env"), 2}}, "x/.env", none, want{2, true, nil}},
		{"prefix and suffix do not overlap", []Entry{{orderedPattern("aba", "aba"), 2}}, "ababa", none, want{}},
		{"fragment", []Entry{{orderedPattern("", "", "secret"), 2}}, "my secrets", none, want{2, true, nil}},
		{"regular", []Entry{{regularPattern("a+b"), 2}}, "aab", none, want{2, true, nil}},
		{"invalid text", []Entry{{regularPattern(".b"), 2}}, "\xffb", none, want{2, true, nil}},
		{"fault", []Entry{{faultyPattern(Shape{}), 2}}, "x", none, want{2, false, ErrTime}},
		{"fault that could not matter", []Entry{{faultyPattern(Shape{}), 2}, {regularPattern("x"), 1}}, "x", none, want{1, true, nil}},
		{"fault beats a worse match", []Entry{{faultyPattern(Shape{}), 2}, {regularPattern("x"), 3}}, "x", none, want{2, false, ErrTime}},
		{"fault at the limit", []Entry{{faultyPattern(Shape{}), 2}}, "x", 2, want{}},
		{"match of the same rank", []Entry{{faultyPattern(Shape{}), 2}, {regularPattern("x"), 2}}, "x", none, want{2, true, nil}},
		{"fault not admitted", []Entry{{faultyPattern(Shape{Prefix: "y"}), 2}}, "x", none, want{}},
	}
	for _, tt := range tests {
		short := NewSet(tt.entries)
		short.build()
		for _, s := range []*Set{NewSet(tt.entries), short, indexed(tt.entries)} {
			rank, ok, err := s.Best(tt.text, tt.limit)
			if got := (want{rank, ok, err}); got != tt.want {
				t.Errorf("%s: Best(%q, %d) = %v, want %v", tt.name, tt.text, tt.limit, got, tt.want)
			}
		}
	}
}

// A set asks one by one at first, and gets an index when it is asked often.
func TestSetIndexes(t *testing.T) {
	few, many, regular := NewSet(benchEntries(2)), NewSet(benchEntries(50)), NewSet(benchRegexps(50))
	asked := func(times int) (built [3]bool) {
		for i, s := range []*Set{few, many, regular} {
			for range times {
				s.Best("x", none)
			}
			built[i] = s.index.Load() != nil
		}
		return built
	}
	if built := asked(1); built != [3]bool{} {
		t.Errorf("indexes built for one question: %v", built)
	}
	if built := asked(200); built != [3]bool{true, true, true} {
		t.Errorf("indexes built for many questions: %v", built)
	}
	few.build()
	many.build()
}

func TestSetNil(t *testing.T) {
	for _, s := range []*Set{nil, {}} {
		if _, ok, err := s.Best("x", none); ok || err != nil {
			t.Error("a set of nothing matches")
		}
	}
}

// Slow patterns are run by rank, and only while they could matter.
func TestSetSlowLast(t *testing.T) {
	calls := make([]int, 40)
	entries := []Entry{{orderedPattern("git ", ""), 20}}
	for i := range calls {
		m := testMatcher{isRegexp("nothing"), &calls[i]}
		if i == 10 {
			m.is = nil
		}
		p := madePattern(m, Shape{})
		entries = append(entries, Entry{p, uint32(i)})
	}
	s := indexed(entries)
	if rank, ok, err := s.Best("git push", none); rank != 10 || ok || !errors.Is(err, ErrTime) {
		t.Errorf("Best = %d, %t, %v", rank, ok, err)
	}
	for i, n := range calls {
		if want := 0; i <= 10 {
			want = 1
			if n != want {
				t.Errorf("pattern of rank %d ran %d times", i, n)
			}
		} else if n != want {
			t.Errorf("pattern of rank %d ran %d times after a fault at rank 10", i, n)
		}
	}
}

// Many keys of one text, more than a search has places to note them.
func TestSetManyKeys(t *testing.T) {
	var entries []Entry
	for i := range 20 {
		key := strings.Repeat("a", i)
		entries = append(entries,
			Entry{orderedPattern(key, "", "x"), uint32(40 - i)},
			Entry{orderedPattern("", key, "y"), uint32(40 + i)},
			Entry{madePattern(testMatcher{is: isRegexp("^a{12}z")}, Shape{Prefix: key}), uint32(i * 7 % 20)})
	}
	for i := range 6 {
		entries = append(entries, Entry{orderedPattern("", "end", fmt.Sprintf("<%d00>", i)), uint32(100 + i)})
	}
	few := indexed(append(entries[60:63:63],
		Entry{orderedPattern("", "end", "a", "b"), 1}, Entry{orderedPattern("", "end", "b", "a"), 2}, Entry{orderedPattern("", "end", "c"), 3}))
	s := indexed(entries)
	for n := range 25 {
		for _, rest := range []string{"", "x", "y", "z", "b", "y" + strings.Repeat("a", n), "<500>end", "<100>end", "<000>end"} {
			checkBest(t, s, strings.Repeat("a", n)+rest, none)
			checkBest(t, few, strings.Repeat("a", n)+rest, none)
		}
	}
}

// Slow patterns of several keys, met in another order than that of their ranks.
func TestSetSlowOrder(t *testing.T) {
	slow := func(prefix, expr string, rank uint32) Entry {
		return Entry{madePattern(testMatcher{is: isRegexp("^" + prefix + ".*" + expr)}, Shape{Prefix: prefix}), rank}
	}
	s := indexed([]Entry{slow("abc", "1", 9), slow("ab", "2", 5), slow("a", "3", 7), slow("", "[123]", 11), slow("b", "1", 0)})
	for _, text := range []string{"abc1", "abc2", "abc3", "abc123", "abc", "b1", "abc32"} {
		checkBest(t, s, text, none)
	}
}

// A text may hold the same piece very often, and very many different ones.
func TestSetManyPieces(t *testing.T) {
	var entries []Entry
	var text strings.Builder
	for i := range 100 {
		piece := "<" + strings.Repeat(string(rune('a'+i%26)), 3) + string(rune('0'+i/26)) + ">"
		entries = append(entries, Entry{orderedPattern("", "", piece, "never"), uint32(i)})
		text.WriteString(strings.Repeat(piece, 3))
	}
	entries = append(entries, Entry{orderedPattern("", "", "last", "one"), 200})
	s := indexed(entries)
	for range 3 {
		if rank, ok, err := s.Best(text.String()+"last one", none); rank != 200 || !ok || err != nil {
			t.Fatalf("Best = %d, %t, %v", rank, ok, err)
		}
	}
}

// genLiteral draws from few letters, so that keys meet.
func genLiteral(minLen, maxLen int) *rapid.Generator[string] {
	return rapid.StringOfN(rapid.SampledFrom([]rune("ab/.é\n")), minLen, maxLen, -1)
}

// genText is any bytes, mostly those that patterns are made of.
func genText() *rapid.Generator[string] {
	piece := rapid.OneOf(genLiteral(0, 12), rapid.Just("\xff"), rapid.Just("\xc3"), rapid.Just("\uFFFD"), rapid.Just("A"),
		rapid.Just("K"), rapid.Just("\u212a"), rapid.Just("abab"), rapid.Just(" "), rapid.StringN(0, 3, -1))
	return rapid.Custom(func(t *rapid.T) string {
		return strings.Join(rapid.SliceOfN(piece, 0, 6).Draw(t, "pieces"), "")
	})
}

var testPieces = []string{
	`.*`, `(?s:.*)`, `[ab]+`, `[^/]*`, `(?:a|bb)`, `(?:ab|a)?`, `\b`, `\B`, `(?i:ab)`, `(?i:k)`, `.{0,3}`, `(?m:^)`, `(?m:$)`,
	`[a-zA-Z]`, `[^\W\d_]`, `.`, `\n?`, `(?s:.)`, `[^a]`, `(?:)`, `\A`, `\Z`, `$`, `(?s:.+)`, `\uFFFD`, `(?a:\w*)`, `(?a:\b)`,
}

// genExpr draws an expression and a shape that it keeps.
func genExpr(t *rapid.T) (string, Shape) {
	var expr strings.Builder
	var sh Shape
	literals := []string{""}
	for range rapid.IntRange(0, 5).Draw(t, "parts") {
		if rapid.Bool().Draw(t, "literal") {
			lit := genLiteral(1, 10).Draw(t, "literal text")
			expr.WriteString(regexp.QuoteMeta(lit))
			literals[len(literals)-1] += lit
			continue
		}
		expr.WriteString(rapid.SampledFrom(testPieces).Draw(t, "piece"))
		literals = append(literals, "")
	}
	sh.Prefix = literals[0]
	if n := len(literals); n > 1 {
		sh.Suffix = literals[n-1]
		for _, f := range literals[1 : n-1] {
			if f != "" {
				sh.Fragments = append(sh.Fragments, f)
			}
		}
	}
	return expr.String(), sh
}

// forget drops promises: a shape may promise less than it could.
func forget(t *rapid.T, sh Shape) Shape {
	if rapid.IntRange(0, 3).Draw(t, "no prefix") == 0 {
		sh.Prefix = ""
	}
	if rapid.IntRange(0, 3).Draw(t, "no suffix") == 0 {
		sh.Suffix = ""
	}
	if rapid.IntRange(0, 3).Draw(t, "no fragments") == 0 {
		sh.Fragments = nil
	}
	return sh
}

func genPattern(t *rapid.T) *Pattern {
	switch rapid.IntRange(0, 6).Draw(t, "kind") {
	case 0:
		return exactPattern(genText().Draw(t, "exact"))
	case 1:
		return orderedPattern(genLiteral(0, 5).Draw(t, "prefix"), "")
	case 2:
		return orderedPattern("", genLiteral(0, 5).Draw(t, "suffix"))
	case 3:
		return orderedPattern(genLiteral(0, 5).Draw(t, "prefix"), genLiteral(0, 5).Draw(t, "suffix"),
			rapid.SliceOfN(genLiteral(1, 10), 0, 3).Draw(t, "fragments")...)
	case 4:
		expr, sh := genExpr(t)
		return faultyOr(t, testPattern(expr, forget(t, sh)))
	}
	expr, sh := genExpr(t)
	return testPattern(expr, forget(t, sh))
}

func faultyOr(t *rapid.T, p *Pattern) *Pattern {
	if rapid.IntRange(0, 3).Draw(t, "faulty") == 0 {
		return faultyPattern(p.Shape())
	}
	return p
}

// linearBest is Best by asking everything, and by the matchers alone but for
// this: what a shape rules out is not run, so it does not run out of time.
func linearBest(s *Set, text string, limit uint32) (rank uint32, ok bool, err error) {
	rank = none
	for _, e := range s.entries {
		if e.Rank >= limit || e.Rank > rank || ok && e.Rank == rank {
			continue
		}
		sh := e.Pattern.shape()
		matched, fault := e.Pattern.Match(text)
		if fault != nil && (!strings.HasPrefix(text, sh.Prefix) ||
			!hasOrdered(text[len(sh.Prefix):], append(sh.Fragments[:len(sh.Fragments):len(sh.Fragments)], sh.Suffix))) {
			continue
		}
		if matched || fault != nil {
			rank, ok, err = e.Rank, matched, fault
		}
	}
	if rank == none {
		rank = 0
	}
	return rank, ok, err
}

func TestSetIsLinearScan(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var entries []Entry
		for range rapid.IntRange(0, 40).Draw(t, "entries") {
			entries = append(entries, Entry{genPattern(t), rapid.Uint32Range(0, 60).Draw(t, "rank")})
		}
		s, short := indexed(entries), NewSet(entries)
		short.build()
		for range 8 {
			text, limit := genText().Draw(t, "text"), rapid.Uint32Range(0, 70).Draw(t, "limit")
			checkBest(t, s, text, limit)
			checkBest(t, short, text, limit)
			checkBest(t, s, text, none)
			checkBest(t, NewSet(entries), text, limit)
		}
	})
}

func checkBest(t rapid.TB, s *Set, text string, limit uint32) {
	rank, ok, err := s.Best(text, limit)
	wantRank, wantOK, wantErr := linearBest(s, text, limit)
	if rank != wantRank || ok != wantOK || err != wantErr {
		t.Fatalf("Best(%q, %d) = %d, %t, %v; one by one: %d, %t, %v", text, limit, rank, ok, err, wantRank, wantOK, wantErr)
	}
}

// The same with patterns as they are written, whose shapes Compile promises.
func TestSetOfCompiled(t *testing.T) {
	flavours := []Flavour{Exact, Fnmatch, Wildcard, Minimatch, Bash, Full, Search}
	piece := rapid.OneOf(genLiteral(1, 8), rapid.SampledFrom([]string{"*", "?", "[ab]", ".*", "(a|b)", "a+", "^", "$", `\b`, "(?!a)", "(?i:B)", "[^/]*", "a{2,3}", " *", "/", "**/", "/**", "{a,b}", ":*", `\`}))
	text := rapid.OneOf(genText(), rapid.Map(rapid.SliceOfN(rapid.OneOf(genLiteral(1, 8), rapid.SampledFrom([]string{"/", ".", "a", "b", "\n", `\`, " "})), 0, 6),
		func(parts []string) string { return strings.Join(parts, "") }))
	rapid.Check(t, func(t *rapid.T) {
		var entries []Entry
		for i := range rapid.IntRange(1, 30).Draw(t, "entries") {
			text := strings.Join(rapid.SliceOfN(piece, 0, 5).Draw(t, "pieces"), "")
			p, err := Compile(rapid.SampledFrom(flavours).Draw(t, "flavour"), text)
			if err == nil {
				entries = append(entries, Entry{p, uint32(i)})
			}
		}
		s, short := indexed(entries), NewSet(entries)
		short.build()
		for range 8 {
			text, limit := text.Draw(t, "text"), rapid.Uint32Range(0, 31).Draw(t, "limit")
			checkBest(t, s, text, limit)
			checkBest(t, short, text, limit)
		}
	})
}

func FuzzSetIsLinearScan(f *testing.F) {
	f.Add("git push", "(?i)GIT.*", "git ", "push", "git push --force")
	f.Add("", "", "", "", "")
	f.Add("\xff", `\xff.`, "\xff", "\uFFFD", "\xff\xff")
	f.Add("aaaa", `a*b?\b`, "aa", "aaaa", "aaaaaaaa")
	f.Fuzz(func(t *testing.T, exact, expr, prefix, fragment, text string) {
		entries := []Entry{{exactPattern(exact), 5}, {orderedPattern(prefix, ""), 6}, {orderedPattern("", prefix), 4},
			{orderedPattern("", "", fragment), 3}, {orderedPattern(prefix, exact, fragment, expr), 2}}
		for i, e := range []string{expr, expr + "|" + regexp.QuoteMeta(fragment), ".*" + expr} {
			if _, err := Compile(Full, e); err == nil && len(e) < 200 {
				entries = append(entries, Entry{regularPattern(e), uint32(i+2) / 2})
			}
		}
		s := indexed(entries)
		for limit := range uint32(8) {
			checkBest(t, s, text, limit)
		}
	})
}

func TestSetAllocatesNothing(t *testing.T) {
	if underRace {
		t.Skip("under the race detector pools forget, and matchers allocate anew")
	}
	s := indexed(append(benchEntries(1000), benchRegexps(100)...))
	texts := append(benchTexts(100, 1000), benchRegexpTexts(100, 100)...)
	ask := func() {
		for _, text := range texts {
			s.Best(text, none)
		}
	}
	ask() // builds what is built when needed
	if n := testing.AllocsPerRun(10, ask); n > 0 {
		t.Errorf("%d texts took %v allocations", len(texts), n)
	}
}

func TestSetConcurrent(t *testing.T) {
	s := indexed(append(benchEntries(300), benchRegexps(100)...))
	texts := append(benchTexts(200, 300), benchRegexpTexts(100, 100)...)
	want := make([]uint32, len(texts))
	for i, text := range texts {
		want[i], _, _ = linearBest(s, text, none)
	}
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			for i := range texts {
				i = (i + g*50) % len(texts)
				if rank, _, err := s.Best(texts[i], none); rank != want[i] || err != nil {
					t.Errorf("Best(%q) = %d, %v; want %d", texts[i], rank, err, want[i])
				}
			}
		})
	}
	wg.Wait()
}

func ExampleSet() {
	s := NewSet([]Entry{
		{MustCompile(Fnmatch, "rm *"), 0},
		{MustCompile(Full, `git (push|reset) .*--(force|hard).*`), 1},
		{MustCompile(Fnmatch, "git *"), 2},
		{MustCompile(Fnmatch, "*"), 3},
	})
	for _, text := range []string{"git push --force origin", "git status", "ls"} {
		rank, _, _ := s.Best(text, 10)
		fmt.Println(rank, text)
	}
	// Output:
	// 1 git push --force origin
	// 2 git status
	// 3 ls
}
