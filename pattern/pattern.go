// Package pattern owns the meaning of patterns: every flavour of text matching
// that a permission dialect uses, compiled once and matched without allocation,
// and Set, which finds the best-ranked of very many patterns in one pass.
//
// It does not know tools, rules or verdicts; those live in the engine.
package pattern

import (
	"errors"
	"sync/atomic"
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
)

// ErrTime is the fault of a match that ran out of its time. It is neither a
// match nor a miss, and must not lead to an allow.
var ErrTime = errors.New("pattern ran out of time")

// A Pattern is immutable and safe for concurrent use. The zero Pattern matches
// nothing.
//
// The matcher of a glob is made when the first text is matched, and the automata
// for MayMatch and MustMatch when these are called: a process that decides one call
// looks at few of its patterns, and a large policy asks few of them for all.
type Pattern struct {
	flavour Flavour
	text    string
	made    atomic.Pointer[body]
	reach   atomic.Pointer[reach]
}

// A body is a pattern's text, compiled.
type body struct {
	m       matcher
	shape   atomic.Pointer[Shape]     // nil: not wanted yet
	regular atomic.Pointer[automaton] // nil: not wanted yet; without instructions: there is none
	settled bool                      // the text has no more to say
}

// A reach holds the languages that MayMatch and MustMatch ask.
type reach struct {
	may  *language // every match is in it; nil: anything may match
	must *language // all of it matches; nil: nothing is known to
}

// empty reports whether p is no pattern at all.
func (p *Pattern) empty() bool { return p == nil || p.flavour == "" }

// body returns the compiled text. Two goroutines may make it at once; one of
// the two is kept.
func (p *Pattern) body() *body {
	if b := p.made.Load(); b != nil {
		return b
	}
	b, err := newBody(p.flavour, p.text)
	if err != nil {
		b = &body{m: broken{err}, settled: true}
		b.shape.Store(&Shape{})
	}
	if !p.made.CompareAndSwap(nil, b) {
		if other := p.made.Load(); other != nil { // forget has not been called since
			return other
		}
	}
	return b
}

// broken is a text that is no pattern after all, which Compile rules out.
type broken struct{ err error }

func (b broken) match(string) (bool, error) { return false, b.err }

// A matcher is a compiled text of one flavour.
type matcher interface {
	match(s string) (bool, error)
}

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

func (p *Pattern) shape() *Shape {
	b := p.body()
	sh := b.shape.Load()
	if sh == nil {
		sh = p.trees().shape()
		b.shape.Store(sh)
	}
	return sh
}

// regular returns an automaton with the language of p; nil when there is
// none or it is not worth having.
func (p *Pattern) regular() *automaton {
	b := p.body()
	a := b.regular.Load()
	if a == nil {
		a = new(automaton)
		if t := p.trees(); !b.settled && !p.shape().Exact && !t.loose && t.tree != nil {
			if made := newAutomaton(t.tree, maxInstsEach, false); made != nil {
				a = made
			}
		}
		b.regular.Store(a)
	}
	if len(a.insts) == 0 {
		return nil
	}
	return a
}

// Match reports whether p matches s. A non-nil error (ErrTime) is a fault:
// neither a match nor a miss.
func (p *Pattern) Match(s string) (bool, error) {
	if p.empty() {
		return false, nil
	}
	b := p.made.Load()
	if b == nil {
		if misses(p.flavour, p.text, s) {
			return false, nil
		}
		b = p.body()
	}
	if sh := b.shape.Load(); sh != nil {
		if !sh.admits(s) {
			return false, nil
		}
		if sh.Ordered || sh.Exact {
			return true, nil
		}
	}
	return run(p, s)
}
