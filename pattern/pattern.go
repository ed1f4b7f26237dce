// Package pattern owns the meaning of patterns: every flavour of text matching
// that a permission dialect uses, compiled once and matched without allocation,
// and Set, which finds the best-ranked of very many patterns in one pass.
//
// It does not know tools, rules or verdicts; those live in the engine.
package pattern

import (
	"strings"
	"sync/atomic"

	"github.com/obstat/obstat/pattern/internal/minimatch"
	"github.com/obstat/obstat/pattern/internal/re"
)

// A Flavour names the language a pattern is written in.
type Flavour string

// The flavours. Each has a file of its own that says where its meaning comes from.
const (
	Exact     Flavour = "exact"     // the text itself
	Fnmatch   Flavour = "fnmatch"   // CPython 3.11 fnmatch.fnmatchcase
	Wildcard  Flavour = "wildcard"  // opencode's Wildcard.match
	Minimatch Flavour = "minimatch" // the npm library's defaults
	Bash      Flavour = "bash"      // AgentScope's Bash rules: prefix:*, * anywhere, plain text as substring
	Full      Flavour = "re.full"   // Python re.fullmatch
	Search    Flavour = "re.search" // Python re.search
	JSON      Flavour = "json"      // equality of JSON values
	Order     Flavour = "order"     // more or less than a number or a text: >=10
)

// ErrTime is the fault of a match that ran out of its time. It is neither a
// match nor a miss, and must not lead to an allow.
var ErrTime = re.ErrTime

// A Pattern is immutable and safe for concurrent use. The zero Pattern matches
// nothing.
//
// The meaning of a text is worked out when it is wanted: the shape when the first text is
// matched, the program when its literals do not settle a match, the automaton
// for MayMatch and MustMatch when these are called. A process that decides one call
// looks at few of its patterns.
type Pattern struct {
	flavour Flavour
	text    string
	made    atomic.Pointer[body]
	reach   atomic.Pointer[language]
	itself  atomic.Pointer[Pattern]
}

// A body is a pattern's text, worked out.
type body struct {
	shape Shape
	plain *Shape  // an ordered one that holds for tidy paths; nil: there is none
	m     matcher // nil: not wanted yet
}

// A matcher decides where a shape does not. It must be safe for concurrent use.
type matcher interface {
	Match(s string) (bool, error)
}

// empty reports whether p is no pattern at all.
func (p *Pattern) empty() bool { return p == nil || p.flavour == "" }

// body returns the body, which it makes. Two goroutines may make it at once; one of
// the two is kept.
func (p *Pattern) body() *body {
	b := p.made.Load()
	if b == nil {
		b = p.read().body()
		p.made.CompareAndSwap(nil, b)
	}
	return b
}

// matcher returns the matcher, which it makes.
func (p *Pattern) matcher() matcher {
	b := p.body()
	if b.m == nil {
		b = &body{b.shape, b.plain, p.read().matcher()}
		p.made.Store(b)
	}
	return b.m
}

// read reads the text again, which Compile has found to be a pattern.
func (p *Pattern) read() *reading {
	r, err := read(p.flavour, p.text)
	if err != nil {
		return &reading{m: broken{err}}
	}
	return r
}

// broken is a text that is no pattern after all, which Compile rules out.
type broken struct{ err error }

func (b broken) Match(string) (bool, error) { return false, b.err }

// Shape describes a pattern's language without running it. An
// index is built on it, and Reach. Every field is a promise; a zero Shape
// promises nothing, which is always right.
type Shape struct {
	// Prefix starts every match, Suffix ends every match (they may not overlap
	// in the shortest match).
	Prefix, Suffix string
	// Fragments stand in every match, in this order, without overlapping one
	// another, Prefix or Suffix.
	Fragments []string
	// Exact: the language is {Prefix}.
	Exact bool
	// Ordered: the language is exactly every string Prefix ..any.. Fragment
	// ..any.. Fragment ..any.. Suffix, where any may be empty and cross
	// everything. With no Fragments and no Suffix: all strings with Prefix.
	Ordered bool
}

// Flavour returns the language p was written in.
func (p *Pattern) Flavour() Flavour { return p.flavour }

// String returns the text p was compiled from.
func (p *Pattern) String() string { return p.text }

// Shape returns the literals that every match of p has.
func (p *Pattern) Shape() Shape {
	if p.empty() {
		return Shape{}
	}
	return *p.shape()
}

func (p *Pattern) shape() *Shape { return &p.body().shape }

// Match reports whether p matches s. A non-nil error (ErrTime) is a fault:
// neither a match nor a miss.
func (p *Pattern) Match(s string) (bool, error) {
	if p.empty() || p.made.Load() == nil && misses(p.flavour, p.text, s) {
		return false, nil
	}
	sh := p.shape()
	if !sh.admits(s) {
		return false, nil
	}
	if sh.Ordered || sh.Exact {
		return true, nil
	}
	return p.run(s)
}

// run matches s, which has the literals of p. A pattern that has an automaton is not
// given up for lack of time before that has tried.
func (p *Pattern) run(s string) (bool, error) {
	if plain := p.body().plain; plain != nil && minimatch.Tidy(s) {
		return plain.admits(s), nil
	}
	ok, err := p.matcher().Match(s)
	if err == nil {
		return ok, nil
	}
	if tree := p.read().whole(); tree != nil {
		if a := newAutomaton(tree, maxInstsEach, false); a != nil {
			if ok, done := a.match(s); done {
				return ok, nil
			}
		}
	}
	return false, err
}

// admits reports whether text has every literal that s promises.
func (s *Shape) admits(text string) bool {
	if s.Exact {
		return text == s.Prefix
	}
	if len(text) < len(s.Prefix)+len(s.Suffix) ||
		!strings.HasPrefix(text, s.Prefix) || !strings.HasSuffix(text, s.Suffix) {
		return false
	}
	text = text[len(s.Prefix) : len(text)-len(s.Suffix)]
	for _, f := range s.Fragments {
		i := strings.Index(text, f)
		if i < 0 {
			return false
		}
		text = text[i+len(f):]
	}
	return true
}
