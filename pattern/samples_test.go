package pattern_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/obstat/obstat/pattern"
)

func samplesOf(s *pattern.Sampling) (string, bool) {
	list, all := s.Samples()
	var out []string
	for _, x := range list {
		hits := ""
		for _, h := range x.Hits {
			hits += map[bool]string{true: "+", false: "-"}[h]
		}
		out = append(out, hits+x.Text)
	}
	return strings.Join(out, "|"), all
}

func TestSamples(t *testing.T) {
	w := func(s string) *pattern.Pattern { return pattern.MustCompile(pattern.Wildcard, s) }
	f := func(s string) *pattern.Pattern { return pattern.MustCompile(pattern.Full, s) }
	for _, c := range []struct {
		s    pattern.Sampling
		want string
		all  bool
	}{
		{pattern.Sampling{Patterns: []*pattern.Pattern{w("git *"), w("git push *")}, Of: []bool{true, true}}, "+-git|++git push", true},
		{pattern.Sampling{Patterns: []*pattern.Pattern{w("git *"), w("git push *")}, Of: []bool{false, true}}, "++git push", true},
		{pattern.Sampling{Patterns: []*pattern.Pattern{w("git *")}}, "-|+git", true},
		{pattern.Sampling{Patterns: []*pattern.Pattern{f("src/.*"), f(".*[.]go")}, Within: []*pattern.Pattern{f("[^/]+(/[^/]+)*")}, Of: []bool{true, true}}, "-+.go|+-src/x|++src/.go", false},
		{pattern.Sampling{Patterns: []*pattern.Pattern{f("run:a.*"), f("read:.*")}, Before: []string{"run:", "run:"}, Of: []bool{true, true}}, "+-a", false},
		{pattern.Sampling{Patterns: []*pattern.Pattern{pattern.MustCompile(pattern.Exact, "a"), w("*")}, Of: []bool{true, false}}, "++a", true},
		{pattern.Sampling{Patterns: []*pattern.Pattern{pattern.MustCompile(pattern.JSON, `{"a":1}`)}, Of: []bool{true}}, "", false},
	} {
		got, all := samplesOf(&c.s)
		if got != c.want || c.all && !all {
			t.Errorf("%v: samples %s, all %t; want %s, %t", c.s.Patterns, got, all, c.want, c.all)
		}
	}
}

func TestCover(t *testing.T) {
	p := func(flavour pattern.Flavour, s string) *pattern.Pattern { return pattern.MustCompile(flavour, s) }
	for _, c := range []struct {
		narrow *pattern.Pattern
		wide   []*pattern.Pattern
		want   bool
	}{
		{p(pattern.Full, "(?s)git push(?: .*)?"), []*pattern.Pattern{p(pattern.Full, "(?s)git(?: .*)?")}, true},
		{p(pattern.Full, "(?s)git(?: .*)?"), []*pattern.Pattern{p(pattern.Full, "(?s)git push(?: .*)?")}, false},
		{p(pattern.Full, "a|b"), []*pattern.Pattern{p(pattern.Exact, "a"), p(pattern.Exact, "b")}, true},
		{p(pattern.Full, "a|b|c"), []*pattern.Pattern{p(pattern.Exact, "a"), p(pattern.Exact, "b")}, false},
		{p(pattern.Wildcard, "*.go"), []*pattern.Pattern{p(pattern.Wildcard, "*o")}, true},
		{p(pattern.Fnmatch, "src/*.go"), []*pattern.Pattern{p(pattern.Fnmatch, "*/*")}, true},
		{p(pattern.Minimatch, "src/*.go"), []*pattern.Pattern{p(pattern.Minimatch, "src/**")}, true},
		{p(pattern.Full, "(?=b)a"), nil, false}, // look-arounds have no exact automaton: cannot be told
	} {
		if got := pattern.Cover(c.wide, c.narrow); got != c.want {
			t.Errorf("Cover(%v, %s) = %t, want %t", c.wide, c.narrow, got, c.want)
		}
	}
}

// TestSamplesTellApart draws globs and texts: each combination that a drawn text shows is among
// the samples, and what each sample says of itself is true.
func TestSamplesTellApart(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	word := func(letters string, n int) string {
		var b strings.Builder
		for range 1 + rnd.IntN(n) {
			b.WriteByte(letters[rnd.IntN(len(letters))])
		}
		return b.String()
	}
	for range 300 {
		var ps []*pattern.Pattern
		for range 3 {
			ps = append(ps, pattern.MustCompile(pattern.Fnmatch, word("ab/*?", 5)))
		}
		list, all := (&pattern.Sampling{Patterns: ps}).Samples()
		if !all {
			t.Fatalf("%v: not all samples", ps)
		}
		known := map[string]bool{}
		for _, s := range list {
			for i, p := range ps {
				if ok, _ := p.Match(s.Text); ok != s.Hits[i] {
					t.Fatalf("%s and %q: %t, the sample says %t", p, s.Text, ok, s.Hits[i])
				}
			}
			known[fmt.Sprint(s.Hits)] = true
		}
		for range 200 {
			text := word("ab/c", 6)
			var hits []bool
			for _, p := range ps {
				ok, _ := p.Match(text)
				hits = append(hits, ok)
			}
			if !known[fmt.Sprint(hits)] {
				t.Fatalf("%v: no sample of %v, as %q is", ps, hits, text)
			}
		}
		if i := slices.IndexFunc(ps, func(p *pattern.Pattern) bool { return pattern.Cover([]*pattern.Pattern{ps[0]}, p) }); i < 0 {
			t.Fatalf("%v does not cover itself", ps[0])
		}
	}
}
