package pattern

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// A text that misses says cannot match does not match.
func TestMisses(t *testing.T) {
	flavours := []Flavour{Fnmatch, Wildcard, Minimatch}
	pieces := []string{"a", "b", "git ", "src/", "/", "//", "*", "**", "?", "[ab]", "[]a]", "[^|]", "(", ")", "(?:", "|", "{a,b}", "{2}", "+", "^", "$", ".", "..", " *", ":*", `\`, `\|`, `\d`, `\x61`, `\1`, "(?i:", "[^]b]", `[\]]`, "a{1,2}", "{", "}", ".*", "ab", "!", "#", "@(", "(?#|", "(?i)", "(?x)", "é", " "}
	chunks := []string{"a", "b", "aa", "git ", "git", "src/", "src", "/", "//", ".", "..", `\`, "|", "*", " ", "é", "\n", "A", "\xff"}
	rapid.Check(t, func(t *rapid.T) {
		f := rapid.SampledFrom(flavours).Draw(t, "flavour")
		text := strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 0, 6).Draw(t, "pattern"), "")
		s := strings.Join(rapid.SliceOfN(rapid.SampledFrom(chunks), 0, 5).Draw(t, "text"), "")
		checkMisses(t, f, text, s)
	})
}

type failer interface{ Fatalf(string, ...any) }

func checkMisses(t failer, f Flavour, text, s string) {
	p, err := Compile(f, text)
	if err != nil || !misses(f, text, s) {
		return
	}
	if ok, err := p.matcher().Match(s); ok || err != nil {
		t.Fatalf("%s %q on %q: %v, %v, though it misses", f, text, s, ok, err)
	}
}

func TestMissesTells(t *testing.T) {
	for _, c := range []struct {
		f       Flavour
		text, s string
		want    bool
	}{
		{Fnmatch, "git push*", "git pull", true},
		{Fnmatch, "git push*", "git push x", false},
		{Wildcard, "git push *", "git push", false},
		{Wildcard, "git push *", "git pull", true},
		{Wildcard, "src/*", `src\a`, false},
		{Minimatch, "src/**", "lib/a", true},
		{Minimatch, "src/a", "src//a", false},
		{Full, "Edit|Write", "Bash", true},
		{Full, "Edit|Write", "Write", false},
		{Full, "Edit|W.*", "Bash", false},
	} {
		if got := misses(c.f, c.text, c.s); got != c.want {
			t.Errorf("misses(%s, %q, %q) = %v", c.f, c.text, c.s, got)
		}
	}
}
