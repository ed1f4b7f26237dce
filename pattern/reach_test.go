package pattern

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestReachOfExpressions(t *testing.T) {
	for _, tc := range []struct {
		re, prefix      string
		may, must, line bool
	}{
		{`tool:.*`, "tool:bash:", true, false, true},
		{`(?s)tool:.*`, "tool:bash:", true, true, true},
		{`tool:bash:.*`, "tool:bash:", true, false, true},
		{`tool:bash:.*`, "tool:view:", false, false, false},
		{`tool:(view|git):.*`, "tool:bash:", false, false, false},
		{`tool:(view|git|bash):.*`, "tool:bash:", true, false, true},
		{`tool:(?:view|bash:npm):.*`, "tool:bash:", true, false, false},
		{`tool:[a-f]\w*:.*`, "tool:view:", false, false, false},
		{`tool:[a-f]\w*:.*`, "tool:bash:", true, false, true},
		{`(?i)TOOL:BASH:.*`, "tool:bash:", true, false, true},
		{`tool:git:push origin (?!main).*`, "tool:git:push ", true, false, false},
		{`tool:git:push origin (?!main).*`, "tool:bash:", false, false, false},
		{`tool:bash:[^\s\S]x`, "tool:bash:", false, false, false}, // an empty set: matches nothing
		{`tool:git:init`, "tool:git:init", true, false, false},
		{`(tool:)(bash)\2:.*`, "tool:bash", true, false, false},
		{`tool:bash:(a+)+`, "tool:bash:", true, false, false},
		{`tool:bash:a{70}.*`, "tool:bash:aa", true, false, false},
		{`tool:bash:(.|\n)*`, "tool:bash:", true, true, true},
		{`tool:bash:.*$`, "tool:bash:", true, false, true},
		{``, "", true, false, false},
		{``, "x", false, false, false},
		{`.*`, "", true, false, true},
		{`^tool:view:.*`, "tool:view:", true, false, true},
	} {
		p := MustCompile(Full, tc.re)
		if may, must, line := p.MayMatch(tc.prefix), p.MustMatch(tc.prefix), p.MustMatchLine(tc.prefix); may != tc.may || must != tc.must || line != tc.line {
			t.Errorf("%s after %q: may %v, must %v, line %v; want %v, %v, %v", tc.re, tc.prefix, may, must, line, tc.may, tc.must, tc.line)
		}
	}
}

func TestReachOfSearch(t *testing.T) {
	p := MustCompile(Search, `^git (push|pull)`)
	if !p.MayMatch("git pu") || p.MayMatch("ls") || !p.MustMatch("git push") || p.MustMatch("git pu") {
		t.Error("a search's reach is wrong")
	}
	if q := MustCompile(Search, `secret`); !q.MayMatch("x") || !q.MustMatch("a secret") || q.MustMatch("a") {
		t.Error("an open search's reach is wrong")
	}
}

// Whatever matches could be told to be possible from every prefix of it, and
// what must match does.
func TestReachIsRight(t *testing.T) {
	pieces := []string{"a", "b", ".", ".*", "[ab]", "(a|bc)", "a+", "(?:b|c)*", "(?!a)", "(?=b)", "\\b", "(a)?", "x{2,3}", "$", "\\n", "(a|b)\\1", "(?>a*)", "a*+"}
	rapid.Check(t, func(t *rapid.T) {
		re := strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 0, 5).Draw(t, "re"), "")
		p, err := Compile(rapid.SampledFrom([]Flavour{Full, Search}).Draw(t, "flavour"), re)
		if err != nil {
			t.Skip(err)
		}
		text := strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "c", "x", "\n", "\xff"}), 0, 6).Draw(t, "text"), "")
		matched, err := p.Match(text)
		if err != nil {
			t.Skip(err)
		}
		for i := range len(text) + 1 {
			prefix := text[:i]
			if matched && !p.MayMatch(prefix) {
				t.Fatalf("%s matches %q, but could not from %q on", re, text, prefix)
			}
			if !matched && (p.MustMatch(prefix) || p.MustMatchLine(prefix) && !strings.Contains(text[i:], "\n")) {
				t.Fatalf("%s does not match %q, but had to from %q on", re, text, prefix)
			}
		}
	})
}
