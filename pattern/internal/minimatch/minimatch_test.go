package minimatch

import (
	"strings"
	"testing"

	"github.com/obstat/obstat/pattern/internal/re"
)

// FuzzRead holds the trees of patterns against a slow version that tries every way.
func FuzzRead(f *testing.F) {
	for _, s := range []string{"**/*.js", "a/**/b", "!(a|b)c", "*(a|?(b))", "{a,b}/[!.]*", "@(.a|*)", ".*", "!*.x", "**/a/**/.b", "[[:alpha:]-]x", "a{1..3}", "+(a|b)c", "a//b"} {
		f.Add(s, "a/b/c.js")
		f.Add(s, ".a//b/")
		f.Add(s, "bc")
	}
	f.Fuzz(func(t *testing.T, pat, text string) {
		if len(pat) > 40 || len(text) > 24 || strings.Count(pat, "*") > 4 || strings.Count(pat, "(") > 4 || strings.Count(pat, "{") > 2 {
			t.Skip("too much for the slow version")
		}
		tree, _, not, err := Read(pat)
		if err != nil {
			t.Skip(err)
		}
		got, err := re.Compile(tree, 0, true).Match(text)
		if want := naive(pat, text); (got != not) != want || err != nil {
			t.Fatalf("%q on %q: %t %v, the slow version says %t", pat, text, got != not, err, want)
		}
	})
}

// naive matches segments by trying every way for **.
func naive(pat, path string) bool {
	rest := strings.TrimLeft(pat, "!")
	negate := (len(pat)-len(rest))%2 == 1
	if pat == "" || pat[0] == '#' {
		return pat == "" && path == ""
	}
	alts, _ := expandBraces(rest)
	parts := splitSlashes(path)
	for _, alt := range alts {
		segs := newRow(alt)
		if naiveRow(segs, parts) || len(parts) > 1 && parts[len(parts)-1] == "" && naiveRow(segs, parts[:len(parts)-1]) {
			return !negate
		}
	}
	return negate
}

func naiveRow(segs []segment, parts []string) bool {
	if len(segs) == 0 {
		return len(parts) == 0
	}
	if segs[0].kind == segStarStar {
		if len(segs) > 1 && naiveRow(segs[1:], parts) {
			return true
		}
		if len(parts) == 0 || strings.HasPrefix(parts[0], ".") {
			return false
		}
		return naiveRow(segs, parts[1:]) || len(segs) == 1 && len(parts) == 1
	}
	return len(parts) > 0 && naiveSegment(&segs[0], parts[0]) && naiveRow(segs[1:], parts[1:])
}

func naiveSegment(g *segment, s string) bool {
	if g.kind == segLiteral {
		return s == g.lit
	}
	var chars []rune
	for i := 0; i < len(s); {
		r, w := re.Decode(s, i)
		chars = append(chars, r)
		i += w
	}
	return s != "" && naiveEnds(g.in, chars, 0, true)[len(chars)]
}

// naiveEnds returns the places where items can end that begin at i; top as in itemTree.
func naiveEnds(items []item, s []rune, i int, top bool) map[int]bool {
	ends := map[int]bool{i: true}
	for _, it := range items {
		next := map[int]bool{}
		for j := range ends {
			for k := range naiveItem(&it, s, j, top) {
				next[k] = true
			}
		}
		ends = next
	}
	return ends
}

func naiveItem(it *item, s []rune, i int, top bool) map[int]bool {
	dot := top && (string(s) == "." || string(s) == ".." || i == 0 && len(s) > 0 && s[0] == '.')
	out := map[int]bool{}
	switch {
	case it.ext != 0:
		return naiveExt(it, s, i, top, dot)
	case it.lit == 0 && dot:
	case it.star:
		for j := i; j <= len(s); j++ {
			out[j] = true
		}
	case i < len(s) && it.chars().Has(s[i]):
		out[i+1] = true
	}
	return out
}

func naiveExt(it *item, s []rune, i int, top, dot bool) map[int]bool {
	once := func(i int) map[int]bool {
		out := map[int]bool{}
		for _, alt := range it.alts {
			for k := range naiveEnds(alt, s, i, top && it.ext != '!') {
				out[k] = true
			}
		}
		return out
	}
	out := map[int]bool{}
	switch it.ext {
	case '!':
		not := once(i)
		for j := i; j <= len(s); j++ {
			if !not[j] && (j == i || !dot) {
				out[j] = true
			}
		}
		return out
	case '@':
		return once(i)
	}
	if it.ext != '+' {
		out[i] = true
	}
	here := once(i)
	for range s {
		for j := range here {
			out[j] = true
		}
		if it.ext == '?' {
			break
		}
		next := map[int]bool{}
		for j := range here {
			for k := range once(j) {
				next[k] = true
			}
		}
		here = next
	}
	for j := range here {
		out[j] = true
	}
	return out
}
