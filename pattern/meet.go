package pattern

import "github.com/obstat/obstat/pattern/internal/re"

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
// them with a slash and more behind it. In doubt the answer is yes.
//
// So `src/*.go` may meet `src/m*`, and does not meet `.env`.
func (p *Pattern) MayMeet(set string, below bool) bool {
	l := p.meeting(set, set, below)
	return l != nil && l.meets(set, below)
}

// MayMeetAcross reports whether p could match one of the texts that begin as the set before
// says, go on with any number of names behind slashes that do not begin with a dot, and end
// as the set after says: `rg x` in src reads src/a/b.go, not src/.cache/b.go.
func (p *Pattern) MayMeetAcross(before, after string, below bool) bool {
	l := p.meeting(before, after, below)
	if l == nil {
		return false
	}
	w := l.walk(before + after)
	if w == nil {
		return true
	}
	w.follow(before)
	w.levels()
	w.follow(after)
	return w.ends(below)
}

// meeting returns the language of p; nil if it matches nothing that begins and ends as two sets say.
func (p *Pattern) meeting(begin, end string, below bool) *language {
	if p.empty() {
		return nil
	}
	sh := p.shape()
	known := begin[:knownPart(begin)]
	if n := min(len(known), len(sh.Prefix)); known[:n] != sh.Prefix[:n] {
		return nil
	}
	if sh.Exact {
		return &language{tree: re.Cat(re.Text(sh.Prefix)...)}
	}
	known = end[knownEnd(end):]
	if n := min(len(known), len(sh.Suffix)); !below && known[len(known)-n:] != sh.Suffix[len(sh.Suffix)-n:] {
		return nil
	}
	return p.reached()
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

// knownEnd returns where the part behind the last mark of a set's text begins.
func knownEnd(set string) int {
	i := len(set)
	for i > 0 && set[i-1] > classEnd {
		i--
	}
	return i
}

// meets follows all texts of a set at once: after each mark the states are those that some
// text leads to.
func (l *language) meets(set string, below bool) bool {
	w := l.walk(set)
	if w == nil {
		return true
	}
	w.follow(set)
	return w.ends(below)
}

// follow goes on with the texts of a set.
func (w *langWalk) follow(set string) {
	for i := 0; i < len(set) && len(w.s.list) > 0; {
		r, n := re.Decode(set, i)
		i += n
		switch r {
		case anyText:
			w.many(w.s, everyRune)
		case anyName:
			w.many(w.s, w.inName())
		case oneChar:
			w.some(w.to, w.s.list, w.inName())
			w.turn()
		case classOf:
			end := i
			for end < len(set) && set[end] != classEnd {
				end++
			}
			w.oneOf(set[i:end])
			i = min(end+1, len(set))
		case visible: // and the anyName behind it
			w.visible()
			i += min(1, len(set)-i)
		default:
			w.step(w.to, w.s.list, r)
			w.turn()
		}
	}
}

// ends tells whether one of the texts may end here; below: or behind a slash that follows.
func (w *langWalk) ends(below bool) bool {
	if w.s.has(0) || !below {
		return w.s.has(0)
	}
	w.step(w.to, w.s.list, '/')
	w.turn()
	w.many(w.s, everyRune)
	return w.s.has(0)
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

// some adds the states after one character that is none of those in not.
func (l *language) some(out *langSet, list []uint32, not []rune) {
	for _, i := range list {
		if in := &l.auto.insts[i]; in.op == opRune && in.set.HasOther(not) {
			l.enter(out, in.out)
		}
	}
}

// many adds the states after any number of characters that are none of those in not.
func (l *language) many(s *langSet, not []rune) {
	for done := 0; done < len(s.list); {
		next := s.list[done:]
		done = len(s.list)
		l.some(s, next, not)
	}
}

// oneOf goes on with one character of a class.
func (w *langWalk) oneOf(class string) {
	if len(class) > 1 && class[0] == '!' {
		w.some(w.to, w.s.list, append([]rune(class[1:]), '/'))
	} else {
		for _, r := range class {
			w.step(w.to, w.s.list, r)
		}
	}
	w.turn()
}

// visible goes on with a name that does not begin with a dot, or with none.
func (w *langWalk) visible() {
	w.some(w.to, w.s.list, w.firstOfName())
	w.many(w.to, w.inName())
	for _, i := range w.s.list {
		w.enter(w.to, i)
	}
	w.turn()
}

// levels goes on with any number of visible names, each behind a slash.
func (w *langWalk) levels() {
	all := w.set()
	for {
		known := len(all.list)
		for _, i := range w.s.list {
			w.enter(all, i)
		}
		if len(all.list) == known {
			break
		}
		w.step(w.to, all.list[known:], '/')
		w.turn()
		w.visible()
	}
	w.s = all
}
