package yamlx

import (
	"bytes"
	"strings"

	"github.com/obstat/obstat/internal/format/tree"
)

// blockScalar reads a | or > scalar inside a collection in column parent.
func (p *parser) blockScalar(parent int) raw {
	r := raw{start: p.pos, style: tree.Literal, multi: true}
	if p.peek(0) == '>' {
		r.style = tree.Folded
	}
	p.pos++
	indent, chomp := p.blockHeader(max(parent, 0))
	r.end = p.pos
	if p.lost || !p.newline() {
		return r // at the end of the file
	}
	least := max(parent+1, 1)
	if indent == 0 {
		indent = p.detect(least)
	}
	lines, blank := p.blockLines(indent, &r)
	r.text = assemble(lines, r.style == tree.Folded)
	if len(lines) > 0 && chomp != '-' && lines[len(lines)-1].broken {
		r.text += "\n"
	}
	if chomp == '+' {
		r.text += strings.Repeat("\n", blank)
		r.end = p.pos
	}
	return r
}

// blockHeader reads the indicators after | or >, and the rest of their line.
func (p *parser) blockHeader(parent int) (indent int, chomp byte) {
	for range 2 {
		switch c := p.peek(0); {
		case (c == '+' || c == '-') && chomp == 0:
			chomp = c
			p.pos++
		case '1' <= c && c <= '9' && indent == 0:
			indent = parent + int(c-'0')
			p.pos++
		}
	}
	at := p.pos
	p.spaces()
	if p.peek(0) == '#' && p.pos > at {
		for p.pos < len(p.src) && !isBreak(p.src[p.pos]) {
			p.pos++
		}
	}
	if p.pos < len(p.src) && !isBreak(p.peek(0)) {
		p.syntax(p.pos, "the text of a block scalar starts on the next line")
	}
	return indent, chomp
}

// detect finds the indentation of a block scalar: that of its first line with
// text, at least least.
func (p *parser) detect(least int) int {
	longest, at := 0, 0
	for i := p.pos; i < len(p.src); {
		start := i
		for i < len(p.src) && p.src[i] == ' ' {
			i++
		}
		n := i - start
		if i < len(p.src) && isBreak(p.src[i]) || i == len(p.src) {
			if n > longest {
				longest, at = n, start
			}
			if i < len(p.src) && p.src[i] == '\r' && i+1 < len(p.src) && p.src[i+1] == '\n' {
				i++
			}
			i++
			continue
		}
		if n >= least && longest > n {
			p.syntax(at, "a blank line at the start of a block scalar is indented deeper than its text")
		}
		if n >= least && p.src[i] == '\t' {
			p.syntax(i, "a tab cannot start the text of a block scalar; use spaces or give the indentation")
		}
		return max(n, least)
	}
	return max(longest, least)
}

type textLine struct {
	text   string
	blanks int  // empty lines before it
	broken bool // a line break follows
}

// blockLines reads the lines of a block scalar and returns them with the number
// of empty lines after the last. pos is then where the next line starts.
func (p *parser) blockLines(indent int, r *raw) (lines []textLine, blanks int) {
	for p.pos < len(p.src) {
		rest := p.src[p.pos:]
		n := 0
		for n < len(rest) && n < indent && rest[n] == ' ' {
			n++
		}
		end := bytes.IndexAny(rest, "\r\n")
		if end < 0 {
			end = len(rest)
		}
		switch {
		case n == end: // nothing but indentation
			p.pos += end
			if !p.newline() {
				return lines, blanks
			}
			blanks++
			continue
		case n < indent:
			if rest[n] == '\t' {
				p.tabs(p.pos + n)
			}
			return lines, blanks
		}
		p.pos += end
		r.end = p.pos
		lines = append(lines, textLine{string(rest[n:end]), blanks, p.newline()})
		blanks = 0
	}
	return lines, blanks
}

// assemble joins lines. Folding makes a space of the break between two lines
// that both start with text.
func assemble(lines []textLine, folded bool) string {
	var b strings.Builder
	for i, l := range lines {
		if i > 0 {
			if !folded || indented(l.text) || indented(lines[i-1].text) {
				b.WriteByte('\n')
			} else if l.blanks == 0 {
				b.WriteByte(' ')
			}
		}
		b.WriteString(strings.Repeat("\n", l.blanks))
		b.WriteString(l.text)
	}
	return b.String()
}

func indented(line string) bool { return line != "" && isSpace(line[0]) }
