package pattern

import (
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"
)

// On plain texts a pattern matches what its forms match.
func TestForms(t *testing.T) {
	flavours := []Flavour{Exact, Fnmatch, Wildcard, Minimatch, Bash, Full, Search}
	pieces := []string{"a", "b", "git ", "src/", "/", "*", "**", "**/", "/**", ".go", "(a|b)", "(?:ab|c)?", ".*", ".+", "^", "$", "[ab]", "?", " *", ":*", `\.`, "{a,b}", "{,x/}", "!", "é", "\n", "\\", ".", "a*", "*b", "[^/]*"}
	chunks := []string{"a", "b", "ab", "c", "git ", "src/", "src", "/", ".go", ".", "x", " ", "é", "\n", `\`, "\xff"}
	written := map[Flavour]int{}
	rapid.Check(t, func(t *rapid.T) {
		f := rapid.SampledFrom(flavours).Draw(t, "flavour")
		text := strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 0, 6).Draw(t, "pattern"), "")
		p, err := Compile(f, text)
		if err != nil {
			return
		}
		forms, ok := p.plain()
		if !ok {
			return
		}
		written[f]++
		for range 4 {
			s := strings.Join(rapid.SliceOfN(rapid.SampledFrom(chunks), 0, 6).Draw(t, "text"), "")
			checkForms(t, p, &forms, s)
		}
	})
	for _, f := range flavours {
		if written[f] == 0 {
			t.Errorf("no pattern of %s has forms", f)
		}
	}
}

func checkForms(t failer, p *Pattern, forms *plain, s string) {
	if forms.unless.has(s) {
		return
	}
	m := p.body().m
	if q, ok := m.(*plainly); ok {
		m = q.rest()
	}
	want, err := m.match(s)
	if err != nil {
		return
	}
	if got := forms.match(s); got != want {
		t.Fatalf("%s %q on %q: %v, its forms %+v say %v", p.Flavour(), p, s, want, forms.forms, got)
	}
}

func TestFormsWritten(t *testing.T) {
	for _, c := range []struct {
		f     Flavour
		text  string
		forms int // -1: none can be
	}{
		{Fnmatch, "git push*", 1},
		{Fnmatch, "a?", -1},
		{Wildcard, "git push *", 2},
		{Wildcard, "src/*", 1},
		{Minimatch, "src/**", 1},
		{Minimatch, "src/**/*.go", 1},
		{Minimatch, "src/*.go", 1},
		{Minimatch, "**/a", 2},
		{Minimatch, "{a,b}/**/c", 4},
		{Minimatch, "src/*/*.go", -1},
		{Minimatch, "!a", -1},
		{Bash, "git:*", 2},
		{Bash, "rm -rf", 1},
		{Search, `^git (push|force) .*mod1\.(go|py)$`, 4},
		{Search, `rm`, 1},
		{Full, `a.+b`, 1},
		{Full, `a.{2,}b`, -1},
		{Full, `\w+`, -1},
		{Full, `(?i)abcdef`, -1},
		{JSON, `1`, -1},
	} {
		p, ok := MustCompile(c.f, c.text).plain()
		if !ok && c.forms >= 0 || ok && len(p.forms) != c.forms {
			t.Errorf("%s %q: %v, %d forms, want %d", c.f, c.text, ok, len(p.forms), c.forms)
		}
	}
}

func TestUntidy(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{"/", ".", "a", "bcd", "/x", "\x2d", "\x30", "\xaf", "\xae"}), 0, 24).Draw(t, "text"), "")
		want := s == "" || s[0] == '.' || s[len(s)-1] == '/' || strings.Contains(s, "//") || strings.Contains(s, "/.")
		if got := isUntidy(s); got != want {
			t.Errorf("%q: %v", s, got)
		}
	})
}

// A pattern may be matched while a Set is made of it, which lets go of what was
// made of its text.
func TestForgetConcurrently(t *testing.T) {
	var entries []Entry
	for i, text := range []string{"git push*", "git *", "*.go", "a*b*c", "x?"} {
		entries = append(entries, Entry{MustCompile(Fnmatch, text), uint32(i)}, Entry{MustCompile(Search, "^"+strings.ReplaceAll(text, "*", ".*")), uint32(i)})
	}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 50 {
				s := NewSet(entries)
				s.build()
				if rank, ok, err := s.Best("git push x", none); rank != 0 || !ok || err != nil {
					t.Errorf("%d %v %v", rank, ok, err)
				}
				for _, e := range entries[:4] {
					if ok, err := e.Pattern.Match("git push x"); !ok || err != nil || e.Pattern.Shape().Prefix == "" {
						t.Errorf("%s: %v %v", e.Pattern, ok, err)
					}
				}
			}
		})
	}
	wg.Wait()
}
