package re

import (
	"strconv"
	"strings"
)

const hexDigits = "0123456789abcdefABCDEF"

// plainEscape returns the character of an escape that is one everywhere; \b
// is one only inside a set.
func plainEscape(r rune) (rune, bool) {
	const from, to = `afnrtv\`, "\a\f\n\r\t\v\\"
	if i := strings.IndexRune(from, r); i >= 0 {
		return rune(to[i]), true
	}
	return 0, false
}

// escape reads an escape outside sets.
func (p *parser) escape(tok token, flags flagSet) *Node {
	switch tok.r {
	case 'A':
		return &Node{Op: OpAt, At: AtStart}
	case 'Z':
		return &Node{Op: OpAt, At: AtEnd}
	case 'b':
		return &Node{Op: OpAt, At: either(flags&flagA != 0, AtWordASCII, AtWord)}
	case 'B':
		return &Node{Op: OpAt, At: either(flags&flagA != 0, AtNotWordASCII, AtNotWord)}
	}
	if s := categorySet(tok.r, flags); s != nil {
		return &Node{Op: OpSet, Set: s}
	}
	if r, ok := plainEscape(tok.r); ok {
		return p.setNode(charSet(r, flags))
	}
	if tok.r >= '1' && tok.r <= '9' {
		return p.reference(tok, flags)
	}
	if tok.r == '0' {
		oct := "0" + p.while(2, "01234567")
		return &Node{Op: OpSet, Set: charSet(parseRune(oct, 8), flags)}
	}
	return &Node{Op: OpSet, Set: charSet(p.charEscape(tok), flags)}
}

// reference reads \1 and the like, which three octal digits are not.
func (p *parser) reference(tok token, flags flagSet) *Node {
	text := string(tok.r)
	if p.next.digit() {
		text += string(p.get().r)
		if strings.Trim(text, "01234567") == "" && p.next.octal() {
			text += string(p.get().r)
			r := parseRune(text, 8)
			if r > 0o377 {
				p.fail(4, `octal escape value \%s outside of range 0-0o377`, text)
			}
			return &Node{Op: OpSet, Set: charSet(r, flags)}
		}
	}
	num, _ := strconv.Atoi(text)
	if num >= len(p.groups) {
		p.fail(len(text), "invalid group reference %d", num)
	}
	if !p.groups[num].closed {
		p.fail(len(text)+1, "cannot refer to an open group")
	}
	p.checkBehind(num)
	return &Node{Op: OpRef, group: num, fold: foldOf(flags)}
}

// charEscape reads the escapes that name a character by its number, and the
// escaped characters that mean themselves.
func (p *parser) charEscape(tok token) rune {
	size := map[rune]int{'x': 2, 'u': 4, 'U': 8}[tok.r]
	if size > 0 {
		hex := p.while(size, hexDigits)
		if len(hex) != size {
			p.fail(len(hex)+2, "incomplete escape %s%s", tok, hex)
		}
		r := parseRune(hex, 16)
		if r > MaxRune {
			p.fail(len(hex)+2, "bad escape %s%s", tok, hex)
		}
		return r
	}
	if tok.r == 'N' {
		return p.charName()
	}
	if tok.r < 128 && (asciiLetter(tok.r) || tok.r >= '0' && tok.r <= '9') {
		p.fail(2, "bad escape %s", tok)
	}
	return tok.r
}

func asciiLetter(r rune) bool { return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' }

// parseRune reads a number, saturated beyond the last character.
func parseRune(s string, base int) rune {
	n, err := strconv.ParseUint(s, base, 64)
	if err != nil || n > MaxRune {
		return MaxRune + 1
	}
	return rune(n)
}

// maxSpans bounds the spans of all sets of an expression.
const maxSpans = 1 << 18

// class reads a set after its [.
func (p *parser) class(flags flagSet) *Node {
	here := p.tell() - 1
	c := classBuilder{flags: flags, negate: p.match('^')}
	for n := 0; ; n++ {
		tok := p.get()
		if !tok.ok {
			p.fail(p.tell()-here, "unterminated character set")
		}
		if tok.is(']') && n > 0 {
			break
		}
		lo, cat := p.classItem(tok, flags)
		if !p.match('-') {
			c.add(lo, lo, cat)
			continue
		}
		that := p.get()
		if !that.ok {
			p.fail(p.tell()-here, "unterminated character set")
		}
		if that.is(']') {
			c.add(lo, lo, cat)
			c.add('-', '-', nil)
			break
		}
		hi, cat2 := p.classItem(that, flags)
		if cat != nil || cat2 != nil || hi < lo {
			p.fail(tok.len()+1+that.len(), "bad character range %s-%s", tok, that)
		}
		c.add(lo, hi, nil)
	}
	set := c.done()
	if p.spans += len(set.Spans) + len(c.spans); p.spans > maxSpans {
		p.fail(p.tell()-here, "the character sets are too large")
	}
	return p.setNode(set)
}

// classItem reads a character of a set, or a class such as \d in it.
func (p *parser) classItem(tok token, flags flagSet) (rune, *Set) {
	if !tok.esc {
		return tok.r, nil
	}
	if tok.r == 'b' {
		return '\b', nil
	}
	if r, ok := plainEscape(tok.r); ok {
		return r, nil
	}
	if s := categorySet(tok.r, flags); s != nil {
		return 0, s
	}
	if tok.r >= '0' && tok.r <= '7' {
		oct := string(tok.r) + p.while(2, "01234567")
		r := parseRune(oct, 8)
		if r > 0o377 {
			p.fail(len(oct)+1, `octal escape value \%s outside of range 0-0o377`, oct)
		}
		return r, nil
	}
	return p.charEscape(tok), nil
}
