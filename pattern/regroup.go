package pattern

import (
	"math"
	"strconv"
	"strings"
	"unicode"
)

// group reads the rest of a group from behind its ( on. A comment and flags for the whole
// expression are no node.
func (p *reParser) group(flags *reFlags, nest, start int, first bool) *node {
	if !p.match('?') {
		return p.capture("", *flags, nest, start)
	}
	tok := p.get()
	switch {
	case !tok.ok:
		p.fail(0, "unexpected end of pattern")
	case tok.is('P'):
		return p.named(*flags, nest, start)
	case tok.is(':'):
		return p.body(&node{op: nGroup}, *flags, nest, start)
	case tok.is('>'):
		return p.body(&node{op: nAtomic}, *flags, nest, start)
	case tok.is('#'):
		p.comment(start)
		return nil
	case tok.in("=!<"):
		return p.look(tok, *flags, nest, start)
	case tok.is('('):
		return p.conditional(*flags, nest, start)
	case tok.in(flagLetters) || tok.is('-'):
		add, del, global := p.flags(tok)
		if !global {
			return p.body(&node{op: nGroup}, combine(*flags, add, del), nest, start)
		}
		if !first {
			p.fail(p.tell()-start, "global flags not at the start of the expression")
		}
		*flags = combine(*flags, add, 0)
		return nil
	}
	p.fail(tok.len()+1, "unknown extension ?%s", tok)
	return nil
}

// body reads the inside of a group and its end into n.
func (p *reParser) body(n *node, flags reFlags, nest, start int) *node {
	n.subs = []*node{p.alternatives(&flags, nest+1)}
	p.closing(start)
	return n
}

func (p *reParser) closing(start int) {
	if !p.match(')') {
		p.fail(p.tell()-start, "missing ), unterminated subpattern")
	}
}

func (p *reParser) capture(name string, flags reFlags, nest, start int) *node {
	num := len(p.groups)
	if old, ok := p.names[name]; ok {
		p.fail(len([]rune(name))+1, "redefinition of group name %s as group %d; was group %d", pyRepr(name), num, old)
	}
	p.groups = append(p.groups, groupWidth{})
	if name != "" {
		p.names[name] = num
	}
	n := p.body(&node{op: nGroup, group: num}, flags, nest, start)
	lo, hi := n.subs[0].width(p.groups)
	p.groups[num] = groupWidth{lo, hi, true}
	return n
}

// named reads the rest of a group from behind (?P on.
func (p *reParser) named(flags reFlags, nest, start int) *node {
	if p.match('<') {
		name := p.until('>', "group name")
		p.checkName(name)
		return p.capture(string(name), flags, nest, start)
	}
	if p.match('=') {
		name := p.until(')', "group name")
		p.checkName(name)
		num, ok := p.names[string(name)]
		if !ok {
			p.fail(len(name)+1, "unknown group name %s", pyRepr(string(name)))
		}
		if !p.groups[num].closed {
			p.fail(len(name)+1, "cannot refer to an open group")
		}
		p.checkBehind(num)
		return &node{op: nRef, group: num, fold: foldOf(flags)}
	}
	tok := p.get()
	if !tok.ok {
		p.fail(0, "unexpected end of pattern")
	}
	p.fail(tok.len()+2, "unknown extension ?P%s", tok)
	return nil
}

func (p *reParser) checkName(name []rune) {
	if !identifier(name) {
		p.fail(len(name)+1, "bad character in group name %s", pyRepr(string(name)))
	}
}

// checkBehind refuses, in a look-behind, groups that are not yet done before it.
func (p *reParser) checkBehind(group int) {
	if p.behind == 0 {
		return
	}
	if group >= len(p.groups) || !p.groups[group].closed {
		p.fail(0, "cannot refer to an open group")
	}
	if group >= p.behind {
		p.fail(0, "cannot refer to group defined in the same lookbehind subpattern")
	}
}

func (p *reParser) comment(start int) {
	for {
		if !p.next.ok {
			p.fail(p.tell()-start, "missing ), unterminated comment")
		}
		if p.get().is(')') {
			return
		}
	}
}

// look reads a look-ahead or look-behind after the first character that says
// which.
func (p *reParser) look(tok token, flags reFlags, nest, start int) *node {
	n := &node{op: nLook}
	outer := p.behind
	if tok.is('<') {
		tok = p.get()
		if !tok.ok {
			p.fail(0, "unexpected end of pattern")
		}
		if !tok.in("=!") {
			p.fail(tok.len()+2, "unknown extension ?<%s", tok)
		}
		n.back = true
		if outer == 0 {
			p.behind = len(p.groups)
		}
	}
	n.not = tok.is('!')
	at := len(p.late)
	n.subs = []*node{p.alternatives(&flags, nest+1)}
	p.behind = outer
	p.closing(start)
	if n.back {
		p.fixedWidth(n, start, at)
	}
	return n
}

// fixedWidth notes how far a look-behind looks. CPython refuses unknown
// lengths after the reading, outermost first: at is where this one belongs.
func (p *reParser) fixedWidth(n *node, start, at int) {
	lo, hi := n.subs[0].width(p.groups)
	n.min = lo
	var e parseError
	switch {
	case lo >= min(maxRepeat, maxWidth):
		e = parseError{start, "looks too much behind"}
	case lo != hi:
		e = parseError{start, "look-behind requires fixed-width pattern"}
	default:
		return
	}
	p.late = append(p.late[:at:at], append([]parseError{e}, p.late[at:]...)...)
}

// conditional reads (?(group)yes|no).
func (p *reParser) conditional(flags reFlags, nest, start int) *node {
	num := p.condition()
	p.checkBehind(num)
	if nest >= maxNest {
		p.fail(0, "the groups are nested too deeply")
	}
	yes := p.sequence(&flags, nest+1, false)
	no := &node{op: nCat}
	if p.match('|') {
		no = p.sequence(&flags, nest+1, false)
		if p.next.is('|') {
			p.fail(0, "conditional backref with more than two branches")
		}
	}
	p.closing(start)
	return &node{op: nCond, group: num, subs: []*node{yes, no}}
}

// condition reads the name or number of a conditional's group.
func (p *reParser) condition() int {
	name := p.until(')', "group name")
	if identifier(name) {
		num, ok := p.names[string(name)]
		if !ok {
			p.fail(len(name)+1, "unknown group name %s", pyRepr(string(name)))
		}
		return num
	}
	num, ok := pyInt(string(name))
	switch {
	case !ok:
		p.fail(len(name)+1, "bad character in group name %s", pyRepr(string(name)))
	case num == 0:
		p.fail(len(name)+1, "bad group number")
	}
	p.conds = append(p.conds, condRef{num, p.tell() - len(name) - 1})
	return num
}

// pyInt is Python's int() for text that is not negative.
func pyInt(s string) (int, bool) {
	s = strings.TrimFunc(s, pySpaceRune)
	s = strings.TrimPrefix(s, "+")
	if s == "" || s[0] == '_' || s[len(s)-1] == '_' || strings.Contains(s, "__") {
		return 0, false
	}
	const most = min(maxRepeat, math.MaxInt/16)
	n := 0
	for _, c := range strings.ReplaceAll(s, "_", "") {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = min(n*10+int(c-'0'), most)
	}
	return n, true
}

// identifier is str.isidentifier.
func identifier(name []rune) bool {
	for i, r := range name {
		start := r == '_' || unicode.IsLetter(r) || unicode.Is(unicode.Nl, r) || unicode.Is(unicode.Other_ID_Start, r)
		more := unicode.In(r, unicode.Mn, unicode.Mc, unicode.Nd, unicode.Pc, unicode.Other_ID_Continue)
		if !start && (i == 0 || !more) {
			return false
		}
	}
	return len(name) > 0
}

// pyRepr quotes as Python does, near enough for a message.
func pyRepr(s string) string {
	q := strconv.Quote(s)
	q = strings.ReplaceAll(q[1:len(q)-1], `\"`, `"`)
	if strings.Contains(q, "'") && !strings.Contains(q, `"`) {
		return `"` + q + `"`
	}
	return "'" + strings.ReplaceAll(q, "'", `\'`) + "'"
}
