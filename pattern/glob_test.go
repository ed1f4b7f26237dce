package pattern

import "testing"

func TestFirst(t *testing.T) {
	for _, c := range []struct {
		f    Flavour
		p, s string
		want bool
	}{
		{Exact, "a", "a", true}, {Exact, "a", "A", false},
		{Fnmatch, "*.py", "a/b\n.py", true}, {Fnmatch, "[!a]x", "bx", true}, {Fnmatch, "[]x]", "]", true},
		{Fnmatch, "[b-a!]", "q", true}, {Fnmatch, "[a", "[a", true}, {Fnmatch, "[^a]", "^", true},
		{Wildcard, "ls *", "ls", true}, {Wildcard, "ls *", "ls -la", true}, {Wildcard, "ls *", "lstm", false},
		{Wildcard, "?", "😀", false}, {Wildcard, "??", "😀", true}, {Wildcard, "*?x", "😀x", true},
		{Wildcard, `a\b*`, `a/b`, true}, {Wildcard, `a/b*c`, `a\bxc`, true},
		{Full, "a|ab", "ab", true}, {Search, "b", "abc", true},
	} {
		if got, err := MustCompile(c.f, c.p).Match(c.s); got != c.want || err != nil {
			t.Errorf("%s %q on %q: %v %v", c.f, c.p, c.s, got, err)
		}
	}
}
