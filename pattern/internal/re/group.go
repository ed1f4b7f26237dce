package re

import (
	"math"
	"strconv"
	"strings"
	"unicode"
)

// group reads the rest of a group from behind its ( on. A comment and flags for the whole
// expression are no node.
func (p *parser) group(flags *flagSet, nest, start int, first bool) *Node {
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
		return p.body(&Node{Op: OpGroup}, *flags, nest, start)
	case tok.is('>'):
		return p.body(&Node{Op: OpAtomic}, *flags, nest, start)
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
			return p.body(&Node{Op: OpGroup}, combine(*flags, add, del), nest, start)
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
func (p *parser) body(n *Node, flags flagSet, nest, start int) *Node {
	n.Subs = []*Node{p.alternatives(&flags, nest+1)}
	p.closing(start)
	return n
}

func (p *parser) closing(start int) {
	if !p.match(')') {
		p.fail(p.tell()-start, "missing ), unterminated subpattern")
	}
}

func (p *parser) capture(name string, flags flagSet, nest, start int) *Node {
	num := len(p.groups)
	if old, ok := p.names[name]; ok {
		p.fail(len([]rune(name))+1, "redefinition of group name %s as group %d; was group %d", pyRepr(name), num, old)
	}
	p.groups = append(p.groups, groupWidth{})
	if name != "" {
		p.names[name] = num
	}
	n := p.body(&Node{Op: OpGroup, group: num}, flags, nest, start)
	lo, hi := n.Subs[0].width(p.groups)
	p.groups[num] = groupWidth{lo, hi, true}
	return n
}

// named reads the rest of a group from behind (?P on.
func (p *parser) named(flags flagSet, nest, start int) *Node {
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
		return &Node{Op: OpRef, group: num, fold: foldOf(flags)}
	}
	tok := p.get()
	if !tok.ok {
		p.fail(0, "unexpected end of pattern")
	}
	p.fail(tok.len()+2, "unknown extension ?P%s", tok)
	return nil
}

func (p *parser) checkName(name []rune) {
	if !identifier(name) {
		p.fail(len(name)+1, "bad character in group name %s", pyRepr(string(name)))
	}
}

// checkBehind refuses, in a look-behind, groups that are not yet done before it.
func (p *parser) checkBehind(group int) {
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

func (p *parser) comment(start int) {
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
func (p *parser) look(tok token, flags flagSet, nest, start int) *Node {
	n := &Node{Op: OpLook}
	outer := p.behind
	if tok.is('<') {
		tok = p.get()
		if !tok.ok {
			p.fail(0, "unexpected end of pattern")
		}
		if !tok.in("=!") {
			p.fail(tok.len()+2, "unknown extension ?<%s", tok)
		}
		n.Back = true
		if outer == 0 {
			p.behind = len(p.groups)
		}
	}
	n.Not = tok.is('!')
	at := len(p.late)
	n.Subs = []*Node{p.alternatives(&flags, nest+1)}
	p.behind = outer
	p.closing(start)
	if n.Back {
		p.fixedWidth(n, start, at)
	}
	return n
}

// fixedWidth notes how far a look-behind looks. CPython refuses unknown
// lengths after the reading, outermost first: at is where this one belongs.
func (p *parser) fixedWidth(n *Node, start, at int) {
	lo, hi := n.Subs[0].width(p.groups)
	n.Min = lo
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
func (p *parser) conditional(flags flagSet, nest, start int) *Node {
	num := p.condition()
	p.checkBehind(num)
	if nest >= maxNest {
		p.fail(0, "the groups are nested too deeply")
	}
	yes := p.sequence(&flags, nest+1, false)
	no := &Node{Op: OpCat}
	if p.match('|') {
		no = p.sequence(&flags, nest+1, false)
		if p.next.is('|') {
			p.fail(0, "conditional backref with more than two branches")
		}
	}
	p.closing(start)
	return &Node{Op: OpCond, group: num, Subs: []*Node{yes, no}}
}

// condition reads the name or number of a conditional's group.
func (p *parser) condition() int {
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
	s = strings.TrimFunc(s, IsSpace)
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
