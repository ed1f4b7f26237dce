package pattern

import (
	"slices"
	"sync"
	"unicode/utf8"
)

// What a pattern can match, told without a subject: an automaton that follows
// the pattern's tree of whole strings. What has no place in an automaton is taken
// for more than it is: a look-around and an anchor match anywhere, a reference
// matches anything. So the automaton never matches less than the expression,
// and, while exact, not more either.

const (
	maxLangStates = 4096 // of an automaton
	maxLangCopies = 64   // of a counted repetition's inside
	maxLangPrefix = 4096 // characters of a prefix that are followed
	maxLangSets   = 64   // sets of states looked at for MustMatch
	maxLangRunes  = 512  // kinds of characters looked at for MustMatch
)

// A language is made when it is first wanted.
type language struct {
	tree *node

	once   sync.Once
	states []langState
	start  int32
	exact  bool
	over   bool // too large: nothing can be told
	alive  []bool
}

// A langState takes a character of set and goes to next or, where set is nil,
// goes to next and to alt without taking anything. The one state that goes
// nowhere is the match.
type langState struct {
	set       *set
	next, alt int32
}

const (
	langMatch int32 = 0
	langNone  int32 = -1
)

func (l *language) build() {
	l.exact = true
	l.states = []langState{{next: langNone, alt: langNone}}
	to := langMatch
	for _, it := range slices.Backward(withoutEnds(l.tree)) {
		to = l.node(it, to)
	}
	l.start = to
	l.findAlive()
}

// newLanguage returns nil for no tree.
func newLanguage(tree *node) *language {
	if tree == nil {
		return nil
	}
	return &language{tree: tree}
}

func (l *language) add(s langState) int32 {
	if len(l.states) >= maxLangStates {
		l.over = true
		return langMatch
	}
	l.states = append(l.states, s)
	return int32(len(l.states) - 1)
}

// node returns the state from which n and then to are matched.
func (l *language) node(n *node, to int32) int32 {
	if l.over {
		return to
	}
	switch n.op {
	case nSet:
		return l.add(langState{set: n.set, next: to})
	case nCat:
		for _, sub := range slices.Backward(n.subs) {
			to = l.node(sub, to)
		}
		return to
	case nAlt:
		return l.either(n.subs, to)
	case nRepeat:
		return l.repeat(n, to)
	case nGroup:
		return l.node(n.subs[0], to)
	}
	l.exact = false
	switch n.op {
	case nAtomic:
		return l.node(n.subs[0], to)
	case nCond:
		return l.either(n.subs, to)
	case nRef, nNot:
		return l.anything(to)
	}
	return to // a place or a look-around
}

func (l *language) either(subs []*node, to int32) int32 {
	at := l.node(subs[len(subs)-1], to)
	for _, sub := range slices.Backward(subs[:len(subs)-1]) {
		at = l.add(langState{next: l.node(sub, to), alt: at})
	}
	return at
}

func (l *language) anything(to int32) int32 {
	return l.loop(func(back int32) int32 { return l.add(langState{set: everySet(), next: back}) }, to)
}

// loop returns a state that goes round inside as often as it likes, and on.
func (l *language) loop(inside func(back int32) int32, to int32) int32 {
	fork := l.add(langState{next: langNone, alt: to})
	body := inside(fork)
	if !l.over {
		l.states[fork].next = body
	}
	return fork
}

func (l *language) repeat(n *node, to int32) int32 {
	body := n.subs[0]
	l.exact = l.exact && n.mode != possessive
	least, most := n.min, n.max
	if least > maxLangCopies || most > maxLangCopies {
		least, most, l.exact = min(least, maxLangCopies), unlimited, false
	}
	if most == unlimited {
		to = l.loop(func(back int32) int32 { return l.node(body, back) }, to)
	} else {
		end := to
		for range most - least {
			to = l.add(langState{next: l.node(body, to), alt: end})
		}
	}
	for range least {
		to = l.node(body, to)
	}
	return to
}

// findAlive marks the states from which the match can be reached.
func (l *language) findAlive() {
	l.alive = make([]bool, len(l.states))
	l.alive[langMatch] = true
	for changed := true; changed; {
		changed = false
		for i := range l.states {
			s := &l.states[i]
			if l.alive[i] || int32(i) == langMatch {
				continue
			}
			if s.set != nil {
				l.alive[i] = len(s.set.spans) > 0 && l.alive[s.next]
			} else {
				l.alive[i] = s.next >= 0 && l.alive[s.next] || s.alt >= 0 && l.alive[s.alt]
			}
			changed = changed || l.alive[i]
		}
	}
}

// A langSet is a set of states that wait for a character, and of the match.
type langSet struct {
	list []int32
	seen []bool
}

// enter adds i and all that is reached from it without a character.
func (l *language) enter(s *langSet, i int32) {
	stack := []int32{i}
	for len(stack) > 0 {
		i = stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if i < 0 || s.seen[i] || !l.alive[i] {
			continue
		}
		s.seen[i] = true
		if st := &l.states[i]; st.set != nil || i == langMatch {
			s.list = append(s.list, i)
		} else {
			stack = append(stack, st.alt, st.next)
		}
	}
}

func (l *language) step(s *langSet, r rune) *langSet {
	out := &langSet{seen: make([]bool, len(l.states))}
	for _, i := range s.list {
		if st := &l.states[i]; st.set != nil && st.set.has(r) {
			l.enter(out, st.next)
		}
	}
	return out
}

// after returns the states that are possible after prefix, nil if that cannot
// be told.
func (l *language) after(prefix string) *langSet {
	l.once.Do(l.build)
	if l.over || utf8.RuneCountInString(prefix) > maxLangPrefix {
		return nil
	}
	s := &langSet{seen: make([]bool, len(l.states))}
	l.enter(s, l.start)
	for i := 0; i < len(prefix) && len(s.list) > 0; {
		r, w := decode(prefix, i)
		s = l.step(s, r)
		i += w
	}
	return s
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
	if s == nil || !l.exact {
		return false
	}
	known := map[string]bool{}
	for todo := []*langSet{s}; len(todo) > 0; {
		s = todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if !s.seen[langMatch] {
			return false
		}
		slices.Sort(s.list)
		key := langKey(s.list)
		if known[key] {
			continue
		}
		known[key] = true
		runes := l.kinds(s, line)
		if len(known) > maxLangSets || len(runes) > maxLangRunes {
			return false
		}
		for _, r := range runes {
			todo = append(todo, l.step(s, r))
		}
	}
	return true
}

func langKey(list []int32) string {
	key := make([]byte, 0, 2*len(list))
	for _, i := range list {
		key = append(key, byte(i), byte(i>>8))
	}
	return string(key)
}

// kinds returns a character of every kind that the states of s tell apart.
func (l *language) kinds(s *langSet, line bool) []rune {
	runes := []rune{0}
	for _, i := range s.list {
		if l.states[i].set == nil {
			continue
		}
		for _, sp := range l.states[i].set.spans {
			runes = append(runes, sp.lo, min(sp.hi+1, maxRune))
		}
	}
	if line {
		runes = append(runes, '\n'+1)
		runes = slices.DeleteFunc(runes, func(r rune) bool { return r == '\n' })
	}
	slices.Sort(runes)
	return slices.Compact(runes)
}
