package pattern

import (
	"hash/crc32"
	"strings"
	"sync"
	"testing"
)

// automata holds the machine of each pattern a test comes by.
var automata sync.Map

// runAutomaton matches text with p's automaton; ok is false if it has none, or
// if that gave up.
func runAutomaton(p *Pattern, text string) (matched, ok bool) {
	if p.regular() == nil {
		return false, false
	}
	type automaton struct {
		dfaProg
		pool dfaPool
	}
	a, ok := automata.Load(p)
	if !ok {
		made := new(automaton)
		made.compile([]check{{pattern: p}})
		a, _ = automata.LoadOrStore(p, made)
	}
	for _, m := range a.(*automaton).machines {
		best, ok := m.run(&a.(*automaton).pool, text, 1)
		return best == 0, ok
	}
	return false, false
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
	if got, ok := runAutomaton(p, text); ok && got != matched {
		t.Errorf("%s %q on %q is %v, against its automaton", p.Flavour(), p, text, matched)
	}
	if matched && misses(p.Flavour(), p.String(), text) {
		t.Errorf("%s %q matches %q, though it misses it", p.Flavour(), p, text)
	}
	if forms, ok := p.plain(); ok && !forms.unless.has(text) && forms.match(text) != matched {
		t.Errorf("%s %q on %q is %v, against its forms %+v", p.Flavour(), p, text, matched, forms)
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
