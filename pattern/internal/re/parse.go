package re

import "math"

// maxNest bounds the nesting of groups. CPython ends at about twice this.
const maxNest = 200

// flagSet are the flags that an expression can set from within.
type flagSet uint8

const (
	flagI flagSet = 1 << iota // IGNORECASE
	flagM                     // MULTILINE
	flagS                     // DOTALL
	flagX                     // VERBOSE
	flagA                     // ASCII
	flagU                     // UNICODE, the default
	flagL                     // LOCALE, never allowed in text
	flagT                     // TEMPLATE
)

const typeFlags = flagA | flagU | flagL

type parser struct {
	*tokens
	global flagSet
	names  map[string]int
	groups []groupWidth // by number; 0 is unused
	behind int          // in a look-behind: the groups that were there before it; else 0
	conds  []condRef
	late   []parseError // reported only if nothing else is wrong
	slab   []Node       // room for nodes
	spans  int          // of the sets so far
}

// setNode makes a node for a set, of which there are many.
func (p *parser) setNode(s *Set) *Node {
	if len(p.slab) == 0 {
		p.slab = make([]Node, 16)
	}
	n := &p.slab[0]
	p.slab = p.slab[1:]
	n.Set = s
	return n
}

// condRef is a (?(n)...) whose group may come later.
type condRef struct{ group, off int }

// Parse returns the tree of an expression as it is written, and how many groups it has.
// Its error is an *Error.
func Parse(text string) (n *Node, groups int, err error) {
	src := []rune(text)
	defer func() {
		switch e := recover().(type) {
		case nil:
		case parseError:
			n, err = nil, &Error{byteOffset(src, e.off), e.msg}
		default:
			panic(e)
		}
	}()
	p := &parser{names: map[string]int{}, groups: make([]groupWidth, 1)}
	p.tokens = newTokens(src)
	var flags flagSet
	n = p.alternatives(&flags, 0)
	p.finish()
	return n, len(p.groups), nil
}

// byteOffset turns an offset in characters into one in bytes.
func byteOffset(src []rune, off int) int {
	return len(string(src[:max(0, min(off, len(src)))]))
}

// finish makes the checks that need the whole expression.
func (p *parser) finish() {
	if p.global&flagA != 0 && p.global&flagU != 0 {
		panic(parseError{0, "ASCII and UNICODE flags are incompatible"})
	}
	if p.next.ok {
		p.fail(0, "unbalanced parenthesis")
	}
	for _, c := range p.conds {
		if c.group >= len(p.groups) {
			panic(errorAt(c.off, "invalid group reference %d", c.group))
		}
	}
	if len(p.late) > 0 {
		panic(p.late[0])
	}
}

// alternatives reads a|b|c. Flags that an expression sets for itself at its
// start are left in flags.
func (p *parser) alternatives(flags *flagSet, nest int) *Node {
	if nest > maxNest {
		p.fail(0, "the groups are nested too deeply")
	}
	var alts []*Node
	for {
		alts = append(alts, p.sequence(flags, nest, nest == 0 && len(alts) == 0))
		if !p.match('|') {
			break
		}
	}
	if len(alts) == 1 {
		return alts[0]
	}
	return &Node{Op: OpAlt, Subs: alts}
}

// sequence reads items up to | or ).
func (p *parser) sequence(flags *flagSet, nest int, first bool) *Node {
	var items []*Node
	for p.next.ok && !p.next.in("|)") {
		start := p.tell()
		tok := p.get()
		if *flags&flagX != 0 && p.blank(tok) {
			continue
		}
		if tok.in("*+?{") {
			if lo, hi, ok := p.quantifier(tok); ok {
				p.repeat(items, start, lo, hi)
				p.template(*flags, start)
				continue
			}
		}
		var n *Node
		if tok.is('(') {
			n = p.group(flags, nest, start, first && len(items) == 0)
		} else {
			n = p.item(tok, *flags)
		}
		if n != nil {
			items = append(items, n)
		}
	}
	return &Node{Op: OpCat, Subs: items}
}

// item reads an item that is neither a group nor a quantifier.
func (p *parser) item(tok token, flags flagSet) *Node {
	switch {
	case tok.esc:
		return p.escape(tok, flags)
	case tok.is('['):
		return p.class(flags)
	case tok.is('.'):
		return p.setNode(either(flags&flagS != 0, Every, lineSet))
	case tok.is('^'):
		return &Node{Op: OpAt, At: either(flags&flagM != 0, AtLineStart, AtStart)}
	case tok.is('$'):
		return &Node{Op: OpAt, At: either(flags&flagM != 0, AtLineEnd, AtEndNL)}
	}
	return p.setNode(charSet(tok.r, flags))
}

func either[T any](cond bool, yes, no T) T {
	if cond {
		return yes
	}
	return no
}

// blank skips white space and comments under VERBOSE.
func (p *parser) blank(tok token) bool {
	if tok.in(" \t\n\r\v\f") {
		return true
	}
	if !tok.is('#') {
		return false
	}
	for {
		if tok := p.get(); !tok.ok || tok.is('\n') {
			return true
		}
	}
}

// maxRepeat is where CPython's counters end.
const maxRepeat = 1<<32 - 1

const digits = "0123456789"

// quantifier reads the rest of a quantifier from behind its first character on. A { that starts
// none is an ordinary character.
func (p *parser) quantifier(tok token) (lo, hi int, ok bool) {
	switch tok.r {
	case '?':
		return 0, 1, true
	case '*':
		return 0, Unlimited, true
	case '+':
		return 1, Unlimited, true
	}
	here := p.tell()
	if p.next.is('}') {
		return 0, 0, false
	}
	low := p.while(len(p.src), digits)
	high := low
	if p.match(',') {
		high = p.while(len(p.src), digits)
	}
	if !p.match('}') {
		p.seek(here)
		return 0, 0, false
	}
	lo, hi = p.count(low, 0), p.count(high, Unlimited)
	if hi != Unlimited && hi < lo {
		p.fail(p.tell()-here, "min repeat greater than max repeat")
	}
	return lo, hi, true
}

// count reads a number of repetitions.
func (p *parser) count(s string, none int) int {
	if s == "" {
		return none
	}
	n := uint64(0)
	for _, c := range s {
		n = n*10 + uint64(c-'0')
		if n >= maxRepeat {
			p.fail(0, "the repetition number is too large")
		}
	}
	return int(min(n, math.MaxInt)) // no subject is long enough to tell
}

// repeat puts the quantifier that started at start on the last of items.
func (p *parser) repeat(items []*Node, start, lo, hi int) {
	if len(items) == 0 || items[len(items)-1].Op == OpAt {
		panic(parseError{start, "nothing to repeat"})
	}
	last := items[len(items)-1]
	if last.Op == OpRepeat {
		panic(parseError{start, "multiple repeat"})
	}
	n := &Node{Op: OpRepeat, Subs: []*Node{last}, Min: lo, Max: hi}
	if p.match('?') {
		n.Mode = Lazy
	} else if p.match('+') {
		n.Mode = Possessive
	}
	items[len(items)-1] = n
}

// template refuses repetition under the flag that stands for "no repetition".
func (p *parser) template(flags flagSet, start int) {
	if (flags|p.global)&flagT != 0 {
		p.late = append(p.late, parseError{start, "internal: unsupported template operator"})
	}
}
