package pattern

import (
	"hash/crc32"
	"strings"
	"sync"
	"testing"

	"github.com/obstat/obstat/pattern/internal/minimatch"
)

// automata holds the automaton of each pattern a test comes by, or nil.
var automata sync.Map

func automatonOf(p *Pattern) *automaton {
	if a, ok := automata.Load(p); ok {
		return a.(*automaton)
	}
	var a *automaton
	if tree := p.read().whole(); tree != nil {
		a = newAutomaton(tree, maxInstsEach, false)
	}
	automata.Store(p, a)
	return a
}

// checkShape holds the promises of p's shape against one answer.
func checkShape(t *testing.T, p *Pattern, text string, matched bool) {
	t.Helper()
	sh := p.Shape()
	ordered := inOrder(sh, text)
	switch {
	case matched && !ordered:
		t.Errorf("%s %q matches %q, against its shape %+v", p.Flavour(), p, text, sh)
	case sh.Exact && matched != (text == sh.Prefix):
		t.Errorf("%s %q on %q is %v, against its exact shape %+v", p.Flavour(), p, text, matched, sh)
	case sh.Ordered && matched != ordered:
		t.Errorf("%s %q on %q is %v, against its ordered shape %+v", p.Flavour(), p, text, matched, sh)
	}
	if a := automatonOf(p); a != nil {
		if got, done := a.match(text); done && got != matched {
			t.Errorf("%s %q on %q is %v, against its automaton", p.Flavour(), p, text, matched)
		}
	}
	if plain := p.body().plain; plain != nil && minimatch.Tidy(text) {
		if got, err := p.matcher().Match(text); got != matched || err != nil {
			t.Errorf("%s %q on %q is %v, the program says %v %v", p.Flavour(), p, text, matched, got, err)
		}
	}
}

// inOrder: text is prefix, fragments and suffix in order, anything between.
func inOrder(sh Shape, text string) bool {
	rest, ok := strings.CutPrefix(text, sh.Prefix)
	for _, f := range sh.Fragments {
		i := strings.Index(rest, f)
		if i < 0 {
			return false
		}
		rest = rest[i+len(f):]
	}
	return ok && strings.HasSuffix(rest, sh.Suffix)
}

// checkReach holds what p says of one of a text's prefixes against an answer.
func checkReach(t *testing.T, p *Pattern, text string, matched bool) {
	t.Helper()
	i := len(text) * (int(crc32.ChecksumIEEE([]byte(text)))%4 + 1) / 4
	prefix := text[:i]
	if matched && !p.MayMatch(prefix) {
		t.Errorf("%s %q matches %q, but could not from %q on", p.Flavour(), p, text, prefix)
	}
	if !matched && (p.MustMatch(prefix) || p.MustMatchLine(prefix) && !strings.Contains(text[i:], "\n")) {
		t.Errorf("%s %q does not match %q, but had to from %q on", p.Flavour(), p, text, prefix)
	}
}
