package pattern

import (
	"bytes"
	"encoding/json"
	"errors"
	"math/big"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/obstat/obstat/pattern/internal/re"
)

// small keeps the slow versions quick.
func small(t *testing.T, pat, text string, stars int) {
	t.Helper()
	if len(pat) > 40 || len(text) > 24 || strings.Count(pat, "*") > stars {
		t.Skip("too long for the slow version")
	}
}

// mustRefuse checks the error of a pattern that is not taken.
func mustRefuse(t *testing.T, text string, err error) {
	t.Helper()
	var s *SyntaxError
	if !errors.As(err, &s) || s.Offset < 0 || s.Offset > len(text) || s.Msg == "" {
		t.Fatalf("%q: %#v is no position in it", text, err)
	}
	t.Skip(err)
}

// checkPattern holds p's answer, shape and reach against want.
func checkPattern(t *testing.T, p *Pattern, text string, want bool) {
	t.Helper()
	got, err := p.Match(text)
	if got != want || err != nil {
		t.Fatalf("%s %q on %q: %v %v, the slow version says %v", p.Flavour(), p, text, got, err, want)
	}
	checkShape(t, p, text, want)
	checkReach(t, p, text, want)
}

func FuzzExact(f *testing.F) {
	f.Add("a", "a")
	f.Add("\xff", "\xff")
	f.Fuzz(func(t *testing.T, pat, text string) {
		p, err := Compile(Exact, pat)
		if err != nil {
			mustRefuse(t, pat, err)
		}
		checkPattern(t, p, text, pat == text)
		checkPattern(t, p, pat, true)
	})
}

func FuzzFnmatch(f *testing.F) {
	for _, s := range []string{"*.py", "a*b?c", "[!a-c]*", "[b-a!x]", "[]-a]", "[a", "*[é]*", "**?**"} {
		f.Add(s, "a/b.py")
		f.Add(s, "é\xffb\n")
	}
	f.Fuzz(func(t *testing.T, pat, text string) {
		small(t, pat, text, 5)
		p, err := Compile(Fnmatch, pat)
		if err != nil {
			mustRefuse(t, pat, err)
		}
		checkPattern(t, p, text, naiveFnmatch(pat, text))
	})
}

func FuzzWildcard(f *testing.F) {
	for _, s := range []string{"git *", "* *", "a?b", "*??", "??*?", `a\b*/c`, "*/x/*", "ls **", " *"} {
		f.Add(s, "git log")
		f.Add(s, `a\b/c😀`)
		f.Add(s, "😀\xf0\x9f")
	}
	f.Fuzz(func(t *testing.T, pat, text string) {
		small(t, pat, text, 5)
		p, err := Compile(Wildcard, pat)
		if err != nil {
			mustRefuse(t, pat, err)
		}
		checkPattern(t, p, text, naiveWildcard(pat, text))
	})
}

func FuzzMinimatch(f *testing.F) {
	for _, s := range []string{"**/*.js", "a/**/b", "!(a|b)c", "*(a|?(b))", "{a,b}/[!.]*", "@(.a|*)", ".*", "!*.x", "**/a/**/.b", "[[:alpha:]-]x", "a{1..3}"} {
		f.Add(s, "a/b/c.js")
		f.Add(s, ".a//b/")
		f.Add(s, "bc")
	}
	f.Fuzz(func(t *testing.T, pat, text string) {
		small(t, pat, text, 4)
		p, err := Compile(Minimatch, pat)
		if err != nil {
			mustRefuse(t, pat, err)
		}
		got, err := p.Match(text)
		if err != nil {
			t.Fatal(err)
		}
		checkShape(t, p, text, got)
		checkReach(t, p, text, got)
	})
}

func FuzzBash(f *testing.F) {
	for _, s := range []string{"git:*", "git *", "npm run * --x", `a\*b`, `\d*`, `a\|b *`, "*", `foo\q*`, `*foo\q`} {
		f.Add(s, "git log")
		f.Add(s, "npm run a\n--x")
	}
	f.Fuzz(func(t *testing.T, pat, text string) {
		small(t, pat, text, 5)
		p, err := Compile(Bash, pat)
		if err != nil {
			mustRefuse(t, pat, err)
		}
		got, err := p.Match(text)
		if err != nil {
			t.Fatal(err)
		}
		checkShape(t, p, text, got)
		checkReach(t, p, text, got)
		if head, ok := strings.CutSuffix(pat, ":*"); ok {
			head = strings.TrimFunc(head, re.IsSpace)
			checkPattern(t, p, text, text == head || strings.HasPrefix(text, head+" "))
		}
	})
}

func FuzzRE(f *testing.F) {
	for _, s := range []string{`a|b*`, `(?i)É[^a-c]+`, `\bfoo\b(?!x)`, `(?<=a)b(?<!c)`, `(a)\1`, `(?>a+)b`, `a*+b`, `(a)?(?(1)b|c)`, `(?m)^a$`, `(?x) a # c`, `[\w-]{2,3}?$`, `(?:a?){9}a`, `x{,2}{`, `(?:a*)*b`, `(?=(a+))\1`} {
		f.Add(s, "foo aab\nab", true)
		f.Add(s, "É\xffx", false)
	}
	f.Fuzz(func(t *testing.T, pat, text string, full bool) {
		if len(pat) > 40 || len(text) > 24 {
			t.Skip("too long for the slow version")
		}
		flavour := Search
		if full {
			flavour = Full
		}
		p, err := Compile(flavour, pat)
		if err != nil {
			mustRefuse(t, pat, err)
		}
		got, err := p.Match(text)
		if err != nil {
			if err != ErrTime {
				t.Fatal(err)
			}
			t.Skip("out of time")
		}
		checkShape(t, p, text, got)
		checkReach(t, p, text, got)
		checkProg(t, p, text, got)
		tree, _, _ := re.Parse(pat)
		tree = re.Simplify(tree)
		if tooMuchForNaive(tree) {
			return
		}
		if want := naiveTree(tree, naiveChars(text), full); got != want {
			t.Fatalf("%q on %q: %v, the slow version says %v", pat, text, got, want)
		}
	})
}

// tooMuchForNaive: the tree has what the slow version does not know, or would be slow with.
func tooMuchForNaive(n *re.Node) bool {
	switch n.Op {
	case re.OpAtomic, re.OpRef, re.OpCond, re.OpGroup:
		return true
	}
	return n.Mode == re.Possessive || n.Op == re.OpRepeat && n.Max > 8 || slices.ContainsFunc(n.Subs, tooMuchForNaive)
}

func FuzzJSON(f *testing.F) {
	for _, s := range []string{`1`, `1.0e1`, `"a\u0062"`, `{"a":[1,null],"b":{}}`, `[true,false]`, `-0`} {
		f.Add(s, `{"b":{},"a":[1.0,null]}`)
		f.Add(s, ` "ab" `)
		f.Add(s, s)
	}
	f.Fuzz(func(t *testing.T, pat, text string) {
		p, err := Compile(JSON, pat)
		if err != nil {
			mustRefuse(t, pat, err)
		}
		if same, err := p.Match(pat); !same && !strings.ContainsAny(pat, "eE") || err != nil {
			t.Fatalf("%q is not equal to itself: %v", pat, err)
		}
		got, err := p.Match(text)
		if err != nil {
			t.Fatal(err)
		}
		if !utf8.ValidString(text) || strings.Contains(strings.ToLower(pat+text), `\ud`) || strings.ContainsAny(pat+text, "eE") {
			return // the standard library reads these otherwise, or not in a reasonable time
		}
		a, okA := naiveJSON(pat)
		b, okB := naiveJSON(text)
		if !okA {
			t.Fatalf("%q is taken, but is no JSON", pat)
		}
		if want := okB && naiveEqual(a, b); got && !want || !got && want && !naiveTwice(text) {
			t.Fatalf("%q and %q: %v, the slow version says %v", pat, text, got, want)
		}
	})
}

func naiveJSON(s string) (v any, ok bool) {
	d := json.NewDecoder(bytes.NewReader([]byte(s)))
	d.UseNumber()
	return v, d.Decode(&v) == nil && json.Valid([]byte(s))
}

func naiveEqual(a, b any) bool {
	switch a := a.(type) {
	case json.Number:
		b, ok := b.(json.Number)
		if !ok {
			return false
		}
		x, _ := new(big.Rat).SetString(a.String())
		y, _ := new(big.Rat).SetString(b.String())
		return x != nil && y != nil && x.Cmp(y) == 0
	case []any:
		b, ok := b.([]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for i := range a {
			if !naiveEqual(a[i], b[i]) {
				return false
			}
		}
		return true
	case map[string]any:
		b, ok := b.(map[string]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for k := range a {
			if v, ok := b[k]; !ok || !naiveEqual(a[k], v) {
				return false
			}
		}
		return true
	}
	return a == b
}

// naiveTwice: s may name a member twice, which the standard library allows.
func naiveTwice(s string) bool {
	_, err := Compile(JSON, s)
	return err != nil
}
