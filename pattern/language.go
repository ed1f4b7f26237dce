package pattern

import (
	"slices"
	"sync"
	"unicode/utf8"

	"github.com/obstat/obstat/pattern/internal/re"
)

// A language tells without a subject which texts a pattern can match, by a loose
// automaton of its tree: it never matches less than the pattern and, while exact, not more either.

const (
	maxLangStates = 4096 // of an automaton
	maxLangPrefix = 4096 // characters of a prefix that are followed
	maxLangSets   = 64   // sets of states looked at for MustMatch
	maxLangRunes  = 512  // kinds of characters looked at for MustMatch
)

// A language is made when it is first wanted.
type language struct {
	tree      *re.Node
	backslash bool // it is a slash in texts, and the pattern names none itself

	once  sync.Once
	auto  *automaton // nil: too large, nothing can be told
	alive []bool     // of each instruction: the match can be reached from it
}

func (l *language) build() {
	if l.tree == nil {
		return
	}
	if l.auto = newAutomaton(l.tree, maxLangStates, true); l.auto != nil {
		l.findAlive()
	}
	l.tree = nil
}

// findAlive marks the instructions from which the match can be reached.
func (l *language) findAlive() {
	l.alive = make([]bool, len(l.auto.insts))
	l.alive[0] = true
	for changed := true; changed; {
		changed = false
		for i := range l.alive {
			if l.alive[i] {
				continue
			}
			in := &l.auto.insts[i]
			l.alive[i] = l.alive[in.out] && (in.op == opFork || len(in.set.Spans) > 0) || in.op == opFork && l.alive[in.alt]
			changed = changed || l.alive[i]
		}
	}
}

// A langSet is a set of instructions that wait for a character, and of the match.
type langSet struct {
	pcSet
	list []uint32
}

func (l *language) set() *langSet {
	s := new(langSet)
	s.reset(len(l.alive))
	return s
}

// enter adds i and all that is reached from it without a character.
func (l *language) enter(s *langSet, i uint32) {
	for l.alive[i] && s.add(i) {
		in := &l.auto.insts[i]
		if in.op != opFork {
			s.list = append(s.list, i)
			return
		}
		l.enter(s, in.out)
		i = in.alt
	}
}

// step adds to out the states that a character leads to from those in list.
func (l *language) step(out *langSet, list []uint32, r rune) {
	for _, i := range list {
		if in := &l.auto.insts[i]; in.op == opRune && in.set.Has(r) {
			l.enter(out, in.out)
		}
	}
}

// A langWalk follows texts through a language: s are the states that they have led to.
type langWalk struct {
	*language
	s, to *langSet
}

// walk begins at the start; nil if nothing can be told of texts as long as this one.
func (l *language) walk(text string) *langWalk {
	l.once.Do(l.build)
	if l.auto == nil || utf8.RuneCountInString(text) > maxLangPrefix {
		return nil
	}
	w := &langWalk{l, l.set(), l.set()}
	l.enter(w.s, l.auto.start)
	return w
}

// turn makes the states that were added to w.to those of now.
func (w *langWalk) turn() {
	w.s, w.to = w.to, w.s
	w.to.list = w.to.list[:0]
	w.to.reset(len(w.alive))
}

// after returns the instructions that are possible after prefix, nil if that
// cannot be told.
func (l *language) after(prefix string) *langSet {
	w := l.walk(prefix)
	if w == nil {
		return nil
	}
	for i := 0; i < len(prefix) && len(w.s.list) > 0; {
		r, n := re.Decode(prefix, i)
		w.step(w.to, w.s.list, r)
		w.turn()
		i += n
	}
	return w.s
}

// may reports whether the language may hold a text that starts with prefix.
func (l *language) may(prefix string) bool {
	s := l.after(prefix)
	return s == nil || len(s.list) > 0
}

// must reports whether the language surely holds every text that starts with
// prefix; line: every one with no newline after the prefix.
func (l *language) must(prefix string, line bool) bool {
	s := l.after(prefix)
	if s == nil || !l.auto.exact {
		return false
	}
	known := map[string]bool{}
	for todo := []*langSet{s}; len(todo) > 0; {
		s = todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if !s.has(0) {
			return false
		}
		slices.Sort(s.list)
		key := string(appendKey(nil, s.list))
		if known[key] {
			continue
		}
		known[key] = true
		runes := l.kinds(s, line)
		if len(known) > maxLangSets || len(runes) > maxLangRunes {
			return false
		}
		for _, r := range runes {
			next := l.set()
			l.step(next, s.list, r)
			todo = append(todo, next)
		}
	}
	return true
}

// kinds returns a character of every kind that the states of s tell apart.
func (l *language) kinds(s *langSet, line bool) []rune {
	runes := []rune{0}
	for _, i := range s.list {
		in := &l.auto.insts[i]
		if in.op != opRune {
			continue
		}
		for _, sp := range in.set.Spans {
			runes = append(runes, sp.Lo, min(sp.Hi+1, re.MaxRune))
		}
	}
	if line {
		runes = append(runes, '\n'+1)
		runes = slices.DeleteFunc(runes, func(r rune) bool { return r == '\n' })
	}
	slices.Sort(runes)
	return slices.Compact(runes)
}
