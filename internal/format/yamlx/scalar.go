package yamlx

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/obstat/obstat/internal/format/tree"
)

// A raw is a scalar as read, before its type is known.
type raw struct {
	text       string
	style      tree.Style
	start, end int
	multi      bool // it goes over several lines
	alias      *tree.Node
}

// plain reads the first line of a plain scalar.
func (p *parser) plain() raw {
	r := raw{start: p.pos, end: p.pos}
	switch c := p.peek(0); {
	case c == '-' || c == '?' || c == ':':
		if isBlank(p.peek(1)) || p.flow > 0 && isFlow(p.peek(1)) {
			if c != ':' {
				p.syntax(p.pos, fmt.Sprintf("'%c' cannot stand here; quote it if it is meant as text", c))
			}
			return r
		}
	case strings.IndexByte(",[]{}#&*!|>'\"%@`", c) >= 0:
		p.syntax(p.pos, fmt.Sprintf("text cannot start with '%c'; quote it", c))
		return r
	}
	r.end = p.plainLine()
	r.text = string(p.src[r.start:r.end])
	p.pos = r.end
	return r
}

// plainLine returns where the plain text on this line ends.
func (p *parser) plainLine() int {
	end := p.pos
	for i := p.pos; i < len(p.src) && !isBreak(p.src[i]); i++ {
		c, next := p.src[i], byte(0)
		if i+1 < len(p.src) {
			next = p.src[i+1]
		}
		if c == ':' && (isBlank(next) || p.flow > 0 && isFlow(next)) ||
			c == '#' && i > p.line && isSpace(p.src[i-1]) ||
			p.flow > 0 && isFlow(c) {
			break
		}
		if !isSpace(c) {
			end = i + 1
		}
	}
	return end
}

// plainRest reads the further lines of a plain scalar: those indented deeper
// than indent, up to a comment. A colon after a further line is the caller's to
// trip over.
func (p *parser) plainRest(r *raw, indent int) {
	var b strings.Builder
	b.WriteString(r.text)
	defer func() { r.text = b.String() }()
	for !p.lost {
		pos, line, breaks := p.pos, p.line, 0
		p.spaces()
		for p.newline() {
			breaks++
			p.spaces()
		}
		c := p.peek(0)
		stop := breaks == 0 || p.ended() || c == '#' || p.column() <= indent && p.flow == 0 ||
			c == ':' && (isBlank(p.peek(1)) || p.flow > 0) || p.flow > 0 && isFlow(c)
		if stop {
			p.pos, p.line = pos, line
			return
		}
		if p.flow == 0 && p.tabbed() {
			return
		}
		start := p.pos
		r.end = p.plainLine()
		b.WriteString(fold(breaks))
		b.Write(p.src[start:r.end])
		r.multi = true
		p.pos = r.end
	}
}

// fold returns the text that n line breaks inside a flowing scalar become: a blank, or n-1 breaks.
func fold(breaks int) string {
	if breaks <= 1 {
		return strings.Repeat(" ", breaks)
	}
	return strings.Repeat("\n", breaks-1)
}

// quoted reads a scalar in single or double quotes.
func (p *parser) quoted() raw {
	quote := p.peek(0)
	r := raw{start: p.pos, style: tree.Single}
	if quote == '"' {
		r.style = tree.Double
	}
	p.pos++
	var b strings.Builder
	for !p.lost {
		c := p.peek(0)
		switch {
		case p.pos >= len(p.src):
			p.syntax(r.start, "the quoted text is not closed")
		case c == quote && quote == '\'' && p.peek(1) == '\'':
			b.WriteByte('\'')
			p.pos += 2
		case c == quote:
			p.pos++
			r.text, r.end = b.String(), p.pos
			return r
		case isSpace(c) || isBreak(c):
			p.quotedBlank(&b, &r)
		case c == '\\' && quote == '"':
			p.escape(&b, &r)
		default:
			b.WriteByte(c)
			p.pos++
		}
	}
	return r
}

// quotedBlank copies blanks inside quotes, or folds them with the line breaks
// among them.
func (p *parser) quotedBlank(b *strings.Builder, r *raw) {
	start := p.pos
	p.spaces()
	end, breaks := p.pos, 0
	for p.newline() {
		breaks++
		if p.marker("---") || p.marker("...") {
			p.syntax(p.pos, "the document ends inside quoted text")
			return
		}
		p.spaces()
	}
	if breaks == 0 {
		b.Write(p.src[start:end])
		return
	}
	r.multi = true
	b.WriteString(fold(breaks))
}

// escape reads a backslash escape of double-quoted text.
func (p *parser) escape(b *strings.Builder, r *raw) {
	at := p.pos
	p.pos++
	c := p.peek(0)
	if isBreak(c) { // an escaped line break joins the lines
		p.newline()
		r.multi = true
		p.spaces()
		breaks := 0
		for p.newline() {
			breaks++
			p.spaces()
		}
		if p.marker("---") || p.marker("...") {
			p.syntax(p.pos, "the document ends inside quoted text")
		}
		b.WriteString(strings.Repeat("\n", breaks))
		return
	}
	p.pos++
	const names, values = "abtnvfre \"/\\\t", "\a\b\t\n\v\f\r\x1b \"/\\\t"
	if i := strings.IndexByte(names, c); i >= 0 {
		b.WriteByte(values[i])
		return
	}
	switch c {
	case '0':
		p.nul(at)
	case 'N':
		b.WriteRune(0x85)
	case '_':
		b.WriteRune(0xa0)
	case 'L':
		b.WriteRune(0x2028)
	case 'P':
		b.WriteRune(0x2029)
	case 'x':
		p.hex(b, at, 2)
	case 'u':
		p.hex(b, at, 4)
	case 'U':
		p.hex(b, at, 8)
	default:
		p.note(at, tree.CodeSyntax, "unknown escape in double quotes", `write \\ for a backslash, or use single quotes`)
	}
}

func (p *parser) nul(at int) {
	p.note(at, tree.CodeEncoding, "a text cannot hold a NUL character", "")
}

func (p *parser) hex(b *strings.Builder, at, digits int) {
	r, ok := p.hexDigits(digits)
	if utf16.IsSurrogate(r) && digits == 4 && p.peek(0) == '\\' && p.peek(1) == 'u' {
		p.pos += 2
		low, _ := p.hexDigits(4)
		r = utf16.DecodeRune(r, low)
	}
	switch {
	case !ok || !utf8.ValidRune(r) || r == utf8.RuneError:
		p.note(at, tree.CodeEncoding, "the escape is not a character", "")
	case r == 0:
		p.nul(at)
	default:
		b.WriteRune(r)
	}
}

func (p *parser) hexDigits(n int) (rune, bool) {
	if p.pos+n > len(p.src) {
		return 0, false
	}
	v, err := strconv.ParseUint(string(p.src[p.pos:p.pos+n]), 16, 32)
	if err != nil || v > 0x10ffff {
		return 0, false
	}
	p.pos += n
	return rune(v), true
}
