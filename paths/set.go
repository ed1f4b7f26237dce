package paths

import (
	"slices"
	"strings"
)

// Marks stand in the text of a [Set] for characters that are not known. They are control
// characters that no sane path has; a path that has one is taken for a wider set.
const (
	AnyText = '\x00' // any characters, also slashes: the value of a variable
	AnyName = '\x01' // any characters but slashes
	OneChar = '\x02' // one character but a slash
	// one character but a slash or a dot or, with the AnyName behind it, none: a star that begins a name
	Visible  = '\x03'
	ClassOf  = '\x04' // one of the characters up to ClassEnd, or, after a !, none of them
	ClassEnd = '\x05'
)

// A Set is a set of paths: the paths that an effect touches, or that something guards.
// The zero value is the empty set.
type Set struct {
	// Text is a path in which the marks stand for characters that are not known. A text
	// without marks is that one path.
	Text string
	// Below adds everything below the paths that Text stands for.
	Below bool
}

// Exactly returns the set of one path.
func Exactly(p string) Set { return Set{Text: strip(p)} }

// Under returns the set of a directory and everything below it.
func Under(dir string) Set { return Set{Text: strip(dir), Below: true} }

// Anything returns the set of all paths.
func Anything() Set { return Set{Text: string(AnyText)} }

// Shaped returns the set of a path of which parts are known only at run time: in the shape
// each NUL stands for any text, as in `ope\x00ncode.json`. The shape may hold shell wildcards.
func Shaped(shape string) Set { return Set{Text: globText(shape, true)} }

// Matching returns the set of the paths that a shell pattern may stand for: `/p/*.json`.
// A star, a question mark or a class does not stand for the dot that begins a hidden name;
// `**` stands for any directories.
func Matching(pattern string) Set { return Set{Text: globText(pattern, false)} }

// Named returns the set of the files below dir, at any depth, whose last name fits a pattern, as
// `find dir -name pattern` finds them. There a star also stands for a dot.
func Named(dir, pattern string) Set {
	name := strings.ReplaceAll(globText(pattern, false), string(Visible), "")
	if name != "" && name[0] == OneChar {
		name = string(AnyName) + name[1:]
	}
	return Set{Text: strings.TrimSuffix(strip(dir), "/") + string(AnyText) + "/" + name}
}

// WithHidden returns the set with the names that begin with a dot, which a star stands for
// if the shell is told so.
func (s Set) WithHidden() Set {
	s.Text = strings.ReplaceAll(s.Text, string(Visible), "")
	return s
}

// IsZero reports whether the set is empty.
func (s Set) IsZero() bool { return s.Text == "" }

// Marked reports whether some of the characters are not known.
func (s Set) Marked() bool { return hasMark(s.Text) }

// Exact reports whether the set is one path.
func (s Set) Exact() bool { return !s.Below && !hasMark(s.Text) && s.Text != "" }

// IsAnything reports whether nothing at all is known of the paths.
func (s Set) IsAnything() bool { return s.Text == string(AnyText) }

// Known returns the text before the first mark.
func (s Set) Known() string {
	for i := 0; i < len(s.Text); i++ {
		if s.Text[i] <= ClassEnd {
			return s.Text[:i]
		}
	}
	return s.Text
}

// Has reports whether p is certainly, or for all that is known possibly, in the set.
func (s Set) Has(p string) bool { return s.Meets(Set{Text: strip(p)}) }

// maxMeet is the longest product of two texts that Meets walks; behind it nothing is known
// and two sets may have a path in common.
const maxMeet = 1 << 20

// Meets reports whether the two sets may have a path in common.
func (s Set) Meets(o Set) bool {
	a, b := s.Text, o.Text
	if a == "" || b == "" {
		return false
	}
	known, n := 0, min(len(a), len(b))
	for known < n && a[known] == b[known] && a[known] > ClassEnd {
		known++
	}
	if known < n && a[known] > ClassEnd && b[known] > ClassEnd {
		return false // most pairs end here
	}
	if !hasMark(a[known:]) && !hasMark(b[known:]) {
		return a == b || s.Below && below(a, b) || o.Below && below(b, a)
	}
	if !s.Below && !o.Below && !sameEnd(a, b) {
		return false
	}
	if len(a)*len(b) > maxMeet {
		return true
	}
	return (&product{a: a, b: b, belowA: s.Below, belowB: o.Below}).meets(known)
}

// sameEnd tells whether the text behind the last mark of one may be the end of the other.
func sameEnd(a, b string) bool {
	for i, j := len(a)-1, len(b)-1; i >= 0 && j >= 0 && a[i] > ClassEnd && b[j] > ClassEnd; i, j = i-1, j-1 {
		if a[i] != b[j] {
			return false
		}
	}
	return true
}

// below reports whether p lies below dir; both are clean.
func below(dir, p string) bool {
	return dir == "/" || len(p) > len(dir) && p[len(dir)] == '/' && p[:len(dir)] == dir
}

// Contains reports whether every path of o is certainly in s.
func (s Set) Contains(o Set) bool {
	switch {
	case s.Text == "" || o.Text == "":
		return false
	case s.IsAnything() || s == o:
		return true
	case o.Exact():
		return s.Has(o.Text)
	case hasMark(s.Text) || !s.Below:
		return false
	case !hasMark(o.Text):
		return s.Text == o.Text || below(s.Text, o.Text)
	}
	known := o.Known()
	return below(s.Text, known+"x") && !strings.Contains(o.Text[len(known):], "..")
}

// From returns the paths of the set that lie below dir, as sets of paths from there: of
// `/p/*/.env` and /p/q it is `.env`.
func (s Set) From(dir string) []Set {
	dir = strings.TrimSuffix(dir, "/") + "/"
	at := []int{0}
	for i := 0; i < len(dir) && len(at) > 0; i++ {
		var next []int
		for _, j := range at {
			for last := -1; j != last; last, j = j, skip(s.Text, j) { // each mark may stand for nothing
				if to := step(s.Text, j, s.Below, dir[i]); to >= 0 && !slices.Contains(next, to) {
					next = append(next, to)
				}
			}
		}
		at = next
	}
	var out []Set
	for _, j := range at {
		switch {
		case j > len(s.Text):
			out = append(out, Anything())
		case j < len(s.Text):
			out = append(out, Set{Text: s.Text[j:], Below: s.Below})
		}
	}
	return out
}

// strip takes the marks that a literal path has for characters that are not known.
func strip(p string) string {
	if !hasMark(p) {
		return p
	}
	return strings.Map(func(r rune) rune {
		if isMark(r) {
			return AnyText
		}
		return r
	}, p)
}

func isMark(r rune) bool { return r <= ClassEnd }

func hasMark(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] <= ClassEnd {
			return true
		}
	}
	return false
}

// globText turns a shell pattern into the text of a set; with shape, NUL bytes stay.
func globText(p string, shape bool) string {
	if !strings.ContainsAny(p, "*?[\\\x00\x01\x02\x03\x04\x05") {
		return p
	}
	out := make([]byte, 0, len(p))
	for i := 0; i < len(p); i++ {
		first := len(out) == 0 || out[len(out)-1] == '/'
		switch ch := p[i]; {
		case ch == '*' && i+1 < len(p) && p[i+1] == '*':
			for i+1 < len(p) && p[i+1] == '*' {
				i++
			}
			out = append(out, AnyText)
		case ch == '*' && first:
			out = append(out, Visible, AnyName)
		case ch == '*':
			out = append(out, AnyName)
		case ch == '[' && classEnd(p, i) > 0:
			out = appendClass(out, p[i+1:classEnd(p, i)])
			i = classEnd(p, i)
		case ch == '?':
			out = append(out, OneChar)
		case ch == '\\' && i+1 < len(p):
			i++
			out = append(out, p[i])
		case ch <= ClassEnd:
			out = append(out, AnyText)
		default:
			out = append(out, ch)
		}
	}
	return string(out)
}

// AnyCase returns a pattern without regard to case: a letter, and a class that may have one, is any: `.e[n]v` is
// `.???`.
func AnyCase(glob string) string {
	var b strings.Builder
	for i := 0; i < len(glob); i++ {
		c := glob[i]
		switch {
		case isLetter(c):
			c = '?'
		case c == '\\' && i+1 < len(glob):
			if i++; isLetter(glob[i]) {
				c = '?'
				break
			}
			b.WriteByte(c)
			c = glob[i]
		case c == '[' && classEnd(glob, i) > 0:
			c, i = '?', classEnd(glob, i)
		}
		b.WriteByte(c)
	}
	return b.String()
}

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

// classEnd returns where the class that begins at i ends, 0 if it is none.
func classEnd(p string, i int) int {
	j := i + 1
	if j < len(p) && (p[j] == '!' || p[j] == '^') {
		j++
	}
	if j < len(p) && p[j] == ']' {
		j++
	}
	for ; j < len(p) && p[j] != '/'; j++ {
		switch {
		case p[j] == ']':
			return j
		case p[j] == '\\': // `[\]x]` has two characters
			j++
		case p[j] == '[' && j+1 < len(p) && strings.IndexByte(":=.", p[j+1]) >= 0: // `[[:lower:]]`
			if end := strings.Index(p[j+2:], p[j+1:j+2]+"]"); end >= 0 {
				j += 2 + end + 1
			}
		}
	}
	return 0
}

// appendClass adds the characters of a class that are not slashes; one that is not understood
// is any character.
func appendClass(out []byte, class string) []byte {
	if strings.ContainsAny(class, "[\\\x00\x01\x02\x03\x04\x05") || class == "" {
		return append(out, OneChar)
	}
	out = append(out, ClassOf)
	if class[0] == '!' || class[0] == '^' {
		out, class = append(out, '!'), class[1:]
	} else if class[0] != '!' && strings.IndexByte(class, '!') > 0 {
		class = strings.ReplaceAll(class, "!", "") + "!"
	}
	for i := 0; i < len(class); i++ {
		hi := class[i]
		if i+2 < len(class) && class[i+1] == '-' {
			hi = class[i+2]
		}
		for ch := int(class[i]); ch <= int(hi); ch++ {
			if ch != '/' {
				out = append(out, byte(ch))
			}
		}
		if i+2 < len(class) && class[i+1] == '-' {
			i += 2
		}
	}
	return append(out, ClassEnd)
}

// class returns the class that begins at i, and the place behind it.
func class(s string, i int) (members string, not bool, next int) {
	end := i + strings.IndexByte(s[i:], ClassEnd)
	members = s[i+1 : max(end, i+1)]
	if strings.HasPrefix(members, "!") && len(members) > 1 {
		return members[1:], true, end + 1
	}
	return members, false, max(end, i) + 1
}

// product walks two texts at once: a pair of places is reached if some path leads the one
// text and the other there. Place len(text) is the end, and the one behind it is below.
type product struct {
	a, b           string
	belowA, belowB bool
	seen           []uint64
	todo           [][2]int32
}

// meets begins behind the known part of both, which is the same.
func (p *product) meets(known int) bool {
	p.seen = make([]uint64, ((len(p.a)+2)*(len(p.b)+2)+63)/64)
	p.push(known, known)
	for len(p.todo) > 0 {
		i, j := int(p.todo[len(p.todo)-1][0]), int(p.todo[len(p.todo)-1][1])
		p.todo = p.todo[:len(p.todo)-1]
		if i >= len(p.a) && j >= len(p.b) {
			return true
		}
		p.push(skip(p.a, i), j)
		p.push(i, skip(p.b, j))
		p.take(i, j, at(p.a, i))
		p.take(i, j, at(p.b, j))
		p.take(i, j, 'x')
		p.take(i, j, '/')
		p.takeClass(i, j, p.a, i)
		p.takeClass(i, j, p.b, j)
	}
	return false
}

// take goes on from a pair of places with a character that both take.
func (p *product) take(i, j int, ch byte) {
	if ch <= ClassEnd {
		return
	}
	if ni, nj := step(p.a, i, p.belowA, ch), step(p.b, j, p.belowB, ch); ni >= 0 && nj >= 0 {
		p.push(ni, nj)
	}
}

// takeClass goes on with the characters that a class in s at place at may be.
func (p *product) takeClass(i, j int, s string, at int) {
	if at >= len(s) || s[at] != ClassOf {
		return
	}
	members, not, _ := class(s, at)
	if not {
		members = "abcdefghijklmnopqrstuvwxyz0123456789._-"
	}
	for k := range len(members) {
		p.take(i, j, members[k])
	}
}

func (p *product) push(i, j int) {
	bit := i*(len(p.b)+2) + j
	if p.seen[bit/64]&(1<<(bit%64)) == 0 {
		p.seen[bit/64] |= 1 << (bit % 64)
		p.todo = append(p.todo, [2]int32{int32(i), int32(j)})
	}
}

// skip returns the place behind a mark that stands for nothing, or i.
func skip(s string, i int) int {
	switch {
	case i >= len(s):
	case s[i] == AnyText || s[i] == AnyName:
		return i + 1
	case s[i] == Visible:
		return i + 2
	}
	return i
}

func at(s string, i int) byte {
	if i < len(s) {
		return s[i]
	}
	return 0
}

// step returns the place that a character leads to from place i of a text, -1 if none.
func step(s string, i int, below bool, ch byte) int {
	switch {
	case i > len(s):
		return i // below: whatever follows
	case i == len(s):
		if below && (ch == '/' || s == "/") {
			return i + 1
		}
		return -1
	}
	switch mark := s[i]; {
	case mark == AnyText:
		return i
	case mark == AnyName && ch != '/':
		return i
	case mark == OneChar && ch != '/' && !(ch == '.' && startsName(s, i)):
		return i + 1
	case mark == Visible && ch != '/' && ch != '.':
		return i + 1
	case mark == ClassOf && ch != '/' && !(ch == '.' && startsName(s, i)):
		members, not, next := class(s, i)
		if strings.IndexByte(members, ch) >= 0 != not {
			return next
		}
	case mark == ch && mark > ClassEnd:
		return i + 1
	}
	return -1
}

func startsName(s string, i int) bool { return i == 0 || s[i-1] == '/' }
