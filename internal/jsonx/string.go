package jsonx

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/obstat/obstat/internal/tree"
)

// str reads a string. Broken characters in it are noted and reading goes on, so
// that the problems after them are found as well.
func (p *parser) str() *tree.Node {
	n := &tree.Node{Kind: tree.String, Style: tree.Double, Start: p.pos}
	p.pos++
	from := p.pos
	for p.pos < len(p.src) && plainByte(p.src[p.pos]) {
		p.pos++
	}
	if p.pos < len(p.src) && p.src[p.pos] == '"' { // nearly every string
		n.Str = string(p.src[from:p.pos])
		p.pos++
		n.End = p.pos
		return n
	}
	var b strings.Builder
	b.Write(p.src[from:p.pos])
	for p.pos < len(p.src) {
		switch c := p.src[p.pos]; {
		case c == '"':
			p.pos++
			n.Str, n.End = b.String(), p.pos
			return n
		case c == '\n' || c == '\r':
			p.fail(n.Start, "the string is not closed on its line")
			return nil
		case c == '\\':
			if !p.escape(&b) {
				return nil
			}
		default:
			p.char(&b)
		}
	}
	p.fail(n.Start, "the string is not closed")
	return nil
}

func plainByte(c byte) bool { return c >= ' ' && c < utf8.RuneSelf && c != '"' && c != '\\' }

// char copies one character that is no escape.
func (p *parser) char(b *strings.Builder) {
	r, size := utf8.DecodeRune(p.src[p.pos:])
	switch {
	case r == utf8.RuneError && size == 1:
		p.note(p.pos, tree.CodeEncoding, "the file is not UTF-8 text here ("+p.what(p.pos)+")", "")
	case r < ' ':
		p.note(p.pos, tree.CodeEncoding, fmt.Sprintf("a string cannot hold the control character %q as it is", r), fmt.Sprintf("write \\u%04x", r))
	}
	b.WriteRune(r)
	p.pos += size
}

// escape reads one backslash escape, or two that make a surrogate pair. It
// returns false if the string cannot be followed further.
func (p *parser) escape(b *strings.Builder) bool {
	at := p.pos
	if at+1 >= len(p.src) {
		p.fail(at, "the document ends inside a string")
		return false
	}
	c := p.src[at+1]
	p.pos += 2
	if c == 'u' {
		return p.unicode(b, at)
	}
	i := strings.IndexByte(`"\/bfnrt`, c)
	if i < 0 {
		p.note(at, tree.CodeSyntax, "unknown escape \\"+strings.Trim(p.what(at+1), "'"), `write \\ for a backslash`)
		p.pos = at + 1
		b.WriteByte('\\')
		return true
	}
	b.WriteByte("\"\\/\b\f\n\r\t"[i])
	return true
}

func (p *parser) unicode(b *strings.Builder, at int) bool {
	r, ok := p.hex4()
	if !ok {
		p.note(at, tree.CodeSyntax, `\u needs four hexadecimal digits`, "")
		return true
	}
	switch {
	case utf16.IsSurrogate(r):
		mark := p.pos
		if p.pos+1 < len(p.src) && p.src[p.pos] == '\\' && p.src[p.pos+1] == 'u' {
			p.pos += 2
			if low, ok := p.hex4(); ok {
				if pair := utf16.DecodeRune(r, low); pair != utf8.RuneError {
					b.WriteRune(pair)
					return true
				}
			}
		}
		p.pos = mark
		p.note(at, tree.CodeEncoding, fmt.Sprintf(`\u%04x is half of a character (a lone surrogate)`, r), "")
		b.WriteRune(utf8.RuneError)
	case r == 0 && !p.opt.NUL:
		p.note(at, tree.CodeEncoding, "a string cannot hold a NUL character here", "")
		b.WriteByte(0)
	default:
		b.WriteRune(r)
	}
	return true
}

func (p *parser) hex4() (rune, bool) {
	if p.pos+4 > len(p.src) {
		return 0, false
	}
	for _, c := range p.src[p.pos : p.pos+4] {
		if !('0' <= c && c <= '9' || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F') {
			return 0, false
		}
	}
	v, err := strconv.ParseUint(string(p.src[p.pos:p.pos+4]), 16, 32)
	if err != nil {
		return 0, false
	}
	p.pos += 4
	return rune(v), true
}
