package pattern

import "unicode/utf8"

// The marks of a set's text; see MayMeet. They are those of package paths.
const (
	anyText  = '\x00'
	anyName  = '\x01'
	oneChar  = '\x02'
	visible  = '\x03'
	classOf  = '\x04'
	classEnd = '\x05'
)

// MayMeet reports whether p could match one of a set of texts: those that set stands for,
// where \x00 is any text, \x01 any text without a slash, \x02 one character but a slash, and
// \x03\x01 a text without a slash that does not begin with a dot; \x04 to \x05
// hold the characters of a class. With below, also any of
// them with a slash and more behind it. What cannot be told counts as possible.
//
// So `src/*.go` may meet `src/m*`, and does not meet `.env`.
func (p *Pattern) MayMeet(set string, below bool) bool {
	if p.empty() {
		return false
	}
	sh := p.shape()
	known := set[:knownPart(set)]
	if n := min(len(known), len(sh.Prefix)); known[:n] != sh.Prefix[:n] {
		return false
	}
	if sh.Exact {
		items := textNodes(sh.Prefix)
		return (&language{tree: cat(items...)}).meets(set, below)
	}
	return p.reached().meets(set, below)
}

// knownPart returns where the first mark of a set's text is.
func knownPart(set string) int {
	for i := range len(set) {
		if set[i] <= classEnd {
			return i
		}
	}
	return len(set)
}

// meets follows all texts of a set at once: after each mark the states are those that some
// text leads to.
func (l *language) meets(set string, below bool) bool {
	l.once.Do(l.build)
	if l.auto == nil || utf8.RuneCountInString(set) > maxLangPrefix {
		return true
	}
	s := &langSet{seen: make([]bool, len(l.alive))}
	l.enter(s, l.auto.start)
	for i := 0; i < len(set) && len(s.list) > 0; {
		r, w := decode(set, i)
		i += w
		switch r {
		case anyText:
			s = l.many(s, everyRune)
		case anyName:
			s = l.many(s, l.inName())
		case oneChar:
			s = l.some(s, l.inName())
		case classOf:
			end := i
			for end < len(set) && set[end] != classEnd {
				end++
			}
			s = l.oneOf(s, set[i:end])
			i = min(end+1, len(set))
		case visible: // and the anyName behind it
			s = l.union(s, l.many(l.some(s, l.firstOfName()), l.inName()))
			i += min(1, len(set)-i)
		default:
			s = l.step(s, r)
		}
	}
	if s.seen[0] {
		return true
	}
	return below && l.many(l.step(s, '/'), everyRune).seen[0]
}

// The characters that a mark stands for, as those that it does not.
var (
	everyRune   = []rune{}
	inName      = []rune{'/'}
	firstOfName = []rune{'/', '.'}
	backslashed = []rune{'/', '\\', '.'} // the same where a backslash is a slash
)

// inName returns the characters that a name does not have, and firstOfName those that a visible
// one does not begin with.
func (l *language) inName() []rune {
	if l.backslash {
		return backslashed[:2]
	}
	return inName
}

func (l *language) firstOfName() []rune {
	if l.backslash {
		return backslashed
	}
	return firstOfName
}

// some returns the states after one character that is none of those in not.
func (l *language) some(s *langSet, not []rune) *langSet {
	out := &langSet{seen: make([]bool, len(l.alive))}
	l.addSome(out, s.list, not)
	return out
}

func (l *language) addSome(out *langSet, list []uint32, not []rune) {
	for _, i := range list {
		if in := &l.auto.insts[i]; in.op == opRune && in.set.hasOther(not) {
			l.enter(out, in.out)
		}
	}
}

// oneOf returns the states after one character of a class.
func (l *language) oneOf(s *langSet, class string) *langSet {
	if len(class) > 1 && class[0] == '!' {
		return l.some(s, append([]rune(class[1:]), '/'))
	}
	out := &langSet{seen: make([]bool, len(l.alive))}
	for _, r := range class {
		out = l.union(l.step(s, r), out)
	}
	return out
}

// many returns the states after any number of characters that are none of those in not.
func (l *language) many(s *langSet, not []rune) *langSet {
	out := &langSet{list: append([]uint32(nil), s.list...), seen: append([]bool(nil), s.seen...)}
	for done := 0; done < len(out.list); {
		next := out.list[done:]
		done = len(out.list)
		l.addSome(out, next, not)
	}
	return out
}

func (l *language) union(a, b *langSet) *langSet {
	for _, i := range a.list {
		if !b.seen[i] {
			b.seen[i] = true
			b.list = append(b.list, i)
		}
	}
	return b
}

// hasOther reports whether the set has a character that is none of some.
func (s *set) hasOther(not []rune) bool {
	for _, sp := range s.spans {
		n := sp.hi - sp.lo + 1
		for _, r := range not {
			if r >= sp.lo && r <= sp.hi {
				n--
			}
		}
		if n > 0 {
			return true
		}
	}
	return false
}
