package pattern

import "testing"

// TestFlavours says in a few lines what sets the flavours apart.
func TestFlavours(t *testing.T) {
	for _, c := range []struct {
		f       Flavour
		pattern string
		yes, no []string
	}{
		{Exact, "a*", []string{"a*"}, []string{"a", "ab", "A*"}},
		{Fnmatch, "src/**/*.py", []string{"src/a/b.py", "src/a/b/c\nd.py"}, []string{"src/a.py", "/src/a/b.py"}},
		{Fnmatch, "[!a]?", []string{"bx", "é\xff", "\xff\xfe"}, []string{"ax", "b", "\xc3\xa9"}},
		{Fnmatch, "[b-a!]", []string{"q"}, []string{"", "qq"}},
		{Fnmatch, "[^a]", []string{"^", "a"}, []string{"b"}},
		{Wildcard, "ls *", []string{"ls", "ls -la", "ls "}, []string{"lstm", " ls"}},
		{Wildcard, "**/.git/**", []string{"a/.git/config", `a\.git\config`}, []string{".git/config"}},
		{Wildcard, "?", []string{"a", "é"}, []string{"😀", ""}},
		{Wildcard, "*?x", []string{"😀x", "ax"}, []string{"x"}},
		{Minimatch, "**/.git/**", []string{".git/config", "a/.git/x/y"}, []string{".git", "a/.x/.git/y"}},
		{Minimatch, "*.{js,ts}", []string{"a.js", "b.ts/"}, []string{".a.js", "x/a.js"}},
		{Minimatch, "!(a|b).x", []string{"a.x", "q"}, []string{"(a|b).x"}}, // a leading ! negates
		{Minimatch, "#a", nil, []string{"#a", "a", ""}},
		{Bash, "git:*", []string{"git", "git push"}, []string{"gitk", " git"}},
		{Bash, "git *", []string{"git", "git push", "git "}, []string{"git a\nb", "gitk"}},
		{Bash, "rm", []string{"rm", "xargs rm -f", "format rm"}, []string{"r m"}},
		{Full, `a|ab`, []string{"a", "ab"}, []string{"abc"}},
		{Full, `\d+$`, []string{"12", "٣"}, []string{"12\n", "²"}},
		{Search, `\d+$`, []string{"12", "x٣", "12\n"}, []string{"12\n\n"}},
		{JSON, `{"a": 1}`, []string{`{"a":1.0}`}, []string{`{"a":1,"a":1}`, `{}`}},
	} {
		p := MustCompile(c.f, c.pattern)
		for i, texts := range [][]string{c.yes, c.no} {
			for _, s := range texts {
				if got, err := p.Match(s); got != (i == 0) || err != nil {
					t.Errorf("%s %q on %q: %v %v", c.f, c.pattern, s, got, err)
				}
				checkShape(t, p, s, i == 0)
				checkReach(t, p, s, i == 0)
			}
		}
	}
}

func TestZeroPattern(t *testing.T) {
	var zero Pattern
	for _, p := range []*Pattern{nil, &zero} {
		if ok, err := p.Match(""); ok || err != nil {
			t.Error("a zero pattern matches")
		}
		if p.MayMatch("") || p.MustMatch("") || p.MustMatchLine("") {
			t.Error("a zero pattern could match")
		}
	}
}

func TestReachOfGlobs(t *testing.T) {
	for _, c := range []struct {
		f               Flavour
		pattern, prefix string
		may, must       bool
	}{
		{Wildcard, "git *", "git commit -m ", true, true},
		{Wildcard, "git *", "git", true, false},
		{Wildcard, "git *", "gi", true, false},
		{Wildcard, "git *", "ls", false, false},
		{Wildcard, "*", "", true, true},
		{Wildcard, "/home/u/*", `\home/u\x`, true, true},
		{Wildcard, "???*", "ab", true, false},
		{Wildcard, "???*", "abc", true, true},
		{Wildcard, "a????b", "a😀", true, false},
		{Fnmatch, "/etc/*", "/etc/", true, true},
		{Fnmatch, "/etc/*.conf", "/etc/", true, false},
		{Fnmatch, "[ab]*", "b", true, true},
		{Fnmatch, "[ab]*", "c", false, false},
		{Fnmatch, "é*", "\xc3", true, false}, // half a character
		{Minimatch, "src/**", "src/", true, false},
		{Minimatch, "src/**", "lib/", false, false},
		{Minimatch, "src/!(x)", "src/", true, false},
		{Minimatch, "#x", "", false, false},
		{Minimatch, "!a", "a", true, false},
		{Bash, "git:*", "git ", true, true},
		{Bash, "git *", "git ", true, false}, // a newline may follow
		{Bash, "secret", "cat secret", true, true},
		{Exact, "ab", "a", true, false},
		{Exact, "ab", "b", false, false},
		{JSON, "1", "{", true, false},
	} {
		p := MustCompile(c.f, c.pattern)
		if may, must := p.MayMatch(c.prefix), p.MustMatch(c.prefix); may != c.may || must != c.must {
			t.Errorf("%s %q after %q: may %v, must %v", c.f, c.pattern, c.prefix, may, must)
		}
	}
}
