package pattern

import (
	"errors"
	"regexp"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"
)

// Long subjects take the runner past the point where it starts to remember
// what failed; stdlib regexp says what is right.
func TestLongSubjects(t *testing.T) {
	pieces := []string{"a", "b", "ab", "é", ".", "[ab]", "[^a]", "a*", "b+", ".*", "[ab]*", "(?:a|b)*", "(?:ab|a)+", "(?:a*b?)*", "(?:[ab]*é)*", "x?", "b{2,3}", ".{3}", "(?:a.)*", "é*", "[^é]*", "(?:|a)+", "\n?"}
	chunks := []string{"a", "b", "ab", "aa", "é", "ba", "\n", "x", "\xff", strings.Repeat("a", 70), strings.Repeat("ab", 40), strings.Repeat("é", 33)}
	rapid.Check(t, func(t *rapid.T) {
		re := strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 1, 6).Draw(t, "re"), "")
		text := strings.Join(rapid.SliceOfN(rapid.SampledFrom(chunks), 0, 20).Draw(t, "text"), "")
		flavour, expr := Search, re
		if rapid.Bool().Draw(t, "full") {
			flavour, expr = Full, `\A(?:`+re+`)\z`
		}
		p := MustCompile(flavour, re)
		want := regexp.MustCompile(expr).MatchString(text)
		for _, match := range []func(string) (bool, error){p.Match, p.matcher().Match} {
			if got, err := match(text); err != nil || got != want {
				t.Fatalf("%s %s on %q: %v %v, stdlib says %v", p.Flavour(), re, text, got, err, want)
			}
		}
	})
}

// What explodes elsewhere is linear here, or ends with ErrTime: after a
// number of steps, not of seconds.
func TestHostilePatterns(t *testing.T) {
	as := strings.Repeat("a", 5000)
	for _, c := range []struct {
		f    Flavour
		p, s string
		want error
	}{
		{Full, `(a+)+b`, as, nil},
		{Full, `(a|aa)+b`, as, nil},
		{Full, `(?:a?){50}a{50}b`, as[:200], nil},
		{Search, `(?:.*a){20}b`, as, nil},
		{Search, `(?=(?:a+)+b)`, as[:200], nil},
		{Full, `(a*)*\1[bc]`, as + "d", ErrTime},
		{Full, `(a+)+\1[bc]`, as + "d", ErrTime},
		{Fnmatch, strings.Repeat("a*", 50) + "b", as, nil},
		{Wildcard, strings.Repeat("?*", 50) + "b", as, nil},
		{Minimatch, strings.Repeat("a*", 50) + "b", as, nil},
		{Minimatch, strings.Repeat("*(a|aa)", 9) + "b", as[:300], nil},
		{Minimatch, strings.Repeat("**/", 30) + "b", strings.Repeat("a/", 2000), nil},
		{Minimatch, strings.Repeat("**/a/", 30) + "b", strings.Repeat("a/", 2000) + "c", nil},
		{Fnmatch, "*" + strings.Repeat("?a", 2000) + "[bc]*", as + as, ErrTime},
	} {
		got, err := MustCompile(c.f, c.p).Match(c.s)
		if got || !errors.Is(err, c.want) {
			t.Errorf("%s %.40q: %v %v, want false %v", c.f, c.p, got, err, c.want)
		}
	}
}

// Patterns that would grow without bounds are refused.
func TestHostileCompile(t *testing.T) {
	for _, c := range []struct {
		f Flavour
		p string
	}{
		{Full, strings.Repeat("(", 300) + strings.Repeat(")", 300)},
		{Full, `(?:(?:(?:ab){99}){99}){99}`},
		{Full, strings.Repeat("a", 1<<17)},
		{Full, strings.Repeat(`[\w-]`, 10000)},
		{Full, `(?i)` + strings.Repeat(`[^\W_]`, 8000)},
		{Minimatch, strings.Repeat("{a,b}", 20)},
		{Minimatch, "{1..99999999}"},
		{Minimatch, "{1..9999999999999999999999}"},
		{Minimatch, strings.Repeat("{", 4000) + "a,b" + strings.Repeat("}", 4000)},
		{Minimatch, strings.Repeat("**/a/", 70)},
		{Wildcard, "a\xff"},
		{Flavour("nonsense"), "a"},
	} {
		_, err := Compile(c.f, c.p)
		var s *SyntaxError
		if !errors.As(err, &s) {
			t.Errorf("%s %.40q: %v", c.f, c.p, err)
		}
	}
}

// A pattern may be used from anywhere at once.
func TestConcurrentUse(t *testing.T) {
	p := MustCompile(Search, `(\w+) \1(?!x)|(?i:É[^a])`)
	q := MustCompile(Minimatch, "**/!(a|b)/**/*.{x,y}")
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 50 {
				if ok, err := p.Match("aa bb ab ab"); !ok || err != nil {
					t.Error(ok, err)
				}
				if ok, err := q.Match("c/a/d/f.y"); !ok || err != nil {
					t.Error(ok, err)
				}
				if !p.MayMatch("x") || q.MustMatch("x") {
					t.Error("reach")
				}
			}
		})
	}
	wg.Wait()
}
