package pattern

import (
	"strings"
	"testing"
)

// A match does not allocate, whatever the flavour and the engine behind it.
func TestMatchDoesNotAllocate(t *testing.T) {
	if underRace {
		t.Skip("under the race detector pools forget, and matchers allocate anew")
	}
	long := strings.Repeat("ab ", 300)
	for _, c := range []struct {
		f       Flavour
		pattern string
		texts   []string
	}{
		{Exact, "abc", []string{"abc", "x"}},
		{Fnmatch, "a*[b-d]?é*", []string{"axbcéz", "x", long}},
		{Wildcard, `a/*b?? *`, []string{`a\xbyz q`, "x", long}},
		{Minimatch, "src/**/*.{ts,tsx}", []string{"src/a/b.tsx", "src//x/", "y"}},
		{Minimatch, "**/a/**/!(b|c)x", []string{"q/a/r/zx", "a/bx"}},
		{Bash, "git:*", []string{"git push", "gitx"}},
		{Bash, "npm run * --x", []string{"npm run a --x", "npm\n"}},
		{Full, `tool:(git|view):(?!push).*`, []string{"tool:git:pull", "tool:git:push"}},
		{Full, `(?:a|b)*c`, []string{long, strings.Repeat("ab", 400) + "c"}},
		{Search, `(\w)\1\s(?<=\s)`, []string{"xx y", long}},
		{Search, `(?i)DROP\s+table`, []string{"drop TABLE", long}},
		{JSON, `{"a":[1,"x"],"b":null}`, []string{`{"b":null,"\u0061":[1.0,"x"]}`, `{}`}},
	} {
		p := MustCompile(c.f, c.pattern)
		for _, s := range c.texts {
			if _, err := p.Match(s); err != nil {
				t.Fatalf("%s %q: %v", c.f, c.pattern, err)
			}
			// One run may find the pool emptied by the collector.
			if n := testing.AllocsPerRun(200, func() { _, _ = p.Match(s) }); n >= 1 {
				t.Errorf("%s %q on %.20q: %v allocations", c.f, c.pattern, s, n)
			}
		}
	}
}
