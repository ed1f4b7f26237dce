package kit

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// A JavaScript is a regular expression of JavaScript, without flags, in Python's notation.
type JavaScript struct {
	Python string
	Cannot string // the part that Python's cannot say, such as "a repeated look-ahead"; "" is none
	Split  bool   // it has alternatives that stand in no group
}

// A JavaScriptError is the reason why JavaScript refuses an expression, and at which byte.
type JavaScriptError struct {
	At  int
	Msg string
}

// ReadJavaScript reads an expression: `^git (status|log)$` is `^git (status|log)\Z`.
func ReadJavaScript(src string) (*JavaScript, *JavaScriptError) {
	p := &jsReader{src: src}
	if p.run(); p.err != nil {
		return nil, p.err
	}
	return &JavaScript{p.out.String(), p.why, p.split}, nil
}

// JavaScriptSpaces are the characters of JavaScript's \s.
const JavaScriptSpaces = `\t\n\x0b\f\r \xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff`

// A jsReader writes an expression anew, in Python's notation.
type jsReader struct {
	src   string
	at    int
	out   strings.Builder
	split bool // it has alternatives that stand in no group
	why   string
	err   *JavaScriptError
}

func (p *jsReader) fail(at int, msg string) {
	if p.err == nil {
		p.err = &JavaScriptError{at, msg}
	}
}

// cannot notes a construct that has no counterpart.
func (p *jsReader) cannot(what string) {
	if p.why == "" {
		p.why = what
	}
}

// The kinds of terms that a quantifier may follow.
const (
	nothing = iota // a quantifier here is a mistake
	atom
	lookahead // JavaScript lets it be repeated
)

func (p *jsReader) run() {
	may := nothing
	var open []int // the kinds of the open groups
	for p.at < len(p.src) && p.err == nil {
		start := p.at
		r, size := utf8.DecodeRuneInString(p.src[p.at:])
		p.at += size
		switch r {
		case '\\':
			may = p.escape(start)
		case '[':
			p.class(start)
			may = atom
		case '(':
			open = append(open, p.group(start))
			may = nothing
		case ')':
			if len(open) == 0 {
				p.fail(start, "a bracket is closed that was not opened")
				return
			}
			may, open = open[len(open)-1], open[:len(open)-1]
			p.out.WriteByte(')')
		case '|':
			p.split = p.split || len(open) == 0
			p.out.WriteByte('|')
			may = nothing
		case '*', '+', '?', '{':
			may = p.quantifier(start, may)
		case '^':
			p.out.WriteByte('^')
			may = nothing
		case '$':
			p.out.WriteString(`\Z`)
			may = nothing
		case '.':
			p.out.WriteString(`[^\n\r\u2028\u2029]`)
			may = atom
		default:
			p.out.WriteString(Literal(p.src[start:p.at]))
			may = atom
		}
	}
	if len(open) > 0 {
		p.fail(len(p.src), "a bracket is not closed")
	}
}

// group opens a group and returns its kind.
func (p *jsReader) group(start int) int {
	rest := p.src[p.at:]
	for _, g := range []struct {
		open string
		is   int
	}{{"?:", atom}, {"?=", lookahead}, {"?!", lookahead}, {"?<=", nothing}, {"?<!", nothing}} {
		if strings.HasPrefix(rest, g.open) {
			p.at += len(g.open)
			p.out.WriteString("(" + g.open)
			return g.is
		}
	}
	if name, ok := strings.CutPrefix(rest, "?<"); ok {
		end := strings.IndexByte(name, '>')
		if end <= 0 || strings.Trim(name[:end], "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_$") != "" {
			p.fail(start, "a group has no proper name")
			return atom
		}
		p.at += 2 + end + 1
		p.out.WriteString("(?:")
		return atom
	}
	if strings.HasPrefix(rest, "?") {
		p.fail(start, "there is no such group")
	}
	p.out.WriteByte('(')
	return atom
}

// quantifier reads *, +, ? or {n,m}, or a brace that stands for itself.
func (p *jsReader) quantifier(start, may int) int {
	text := p.src[start:p.at]
	if text == "{" {
		body, _, closed := strings.Cut(p.src[p.at:], "}")
		lo, hi, two := strings.Cut(body, ",")
		n, err := strconv.Atoi(lo)
		m, errM := strconv.Atoi(hi)
		switch {
		case !closed, err != nil, strings.HasPrefix(lo, "+"), two && hi != "" && (errM != nil || strings.HasPrefix(hi, "+")):
			p.out.WriteString(`\{`)
			return atom
		case two && hi != "" && m < n:
			p.fail(start, "the numbers are in the wrong order")
		}
		text += body + "}"
		p.at += len(body) + 1
	}
	switch may {
	case nothing:
		p.fail(start, "there is nothing to repeat")
	case lookahead:
		p.cannot("a repeated look-ahead")
	}
	p.out.WriteString(text)
	if strings.HasPrefix(p.src[p.at:], "?") {
		p.at++
		p.out.WriteByte('?')
	}
	return nothing
}

// escape reads an escape, `\d` or `\n`; p is behind the backslash.
func (p *jsReader) escape(start int) int {
	if p.at == len(p.src) {
		p.fail(start, "the expression ends in a backslash")
		return nothing
	}
	c := p.src[p.at]
	switch c {
	case 'b', 'B', 'd', 'D', 'w', 'W':
		p.out.WriteString(`\` + string(c))
	case 's':
		p.out.WriteString("[" + JavaScriptSpaces + "]")
	case 'S':
		p.out.WriteString("[^" + JavaScriptSpaces + "]")
	case 'k', '1', '2', '3', '4', '5', '6', '7', '8', '9':
		p.cannot("a reference to a group")
		p.out.WriteByte(c)
	default:
		p.out.WriteString(charText(p.char()))
		return atom
	}
	if p.at++; c == 'b' || c == 'B' {
		return nothing
	}
	return atom
}

// char reads an escaped character; p is behind the backslash.
func (p *jsReader) char() rune {
	r, size := utf8.DecodeRuneInString(p.src[p.at:])
	p.at += size
	hex := func(n int) (rune, bool) {
		if p.at+n > len(p.src) {
			return 0, false
		}
		v, err := strconv.ParseUint(p.src[p.at:p.at+n], 16, 32)
		if err != nil || strings.HasPrefix(p.src[p.at:], "+") {
			return 0, false
		}
		p.at += n
		return rune(v), true
	}
	switch r {
	case 'n', 'r', 't', 'v', 'f':
		return rune("\n\r\t\v\f"[strings.IndexRune("nrtvf", r)])
	case '0':
		if p.at < len(p.src) && p.src[p.at] >= '0' && p.src[p.at] <= '7' {
			p.cannot("an octal number")
		}
		return 0
	case 'x':
		if v, ok := hex(2); ok {
			return v
		}
	case 'u':
		if v, ok := hex(4); ok {
			if v >= 0xd800 && v < 0xe000 {
				p.cannot("a half of a character")
				return 'x'
			}
			return v
		}
	case 'c':
		p.cannot(`\c`)
	}
	return r
}

// charText writes a character for Python.
func charText(r rune) string {
	if r < 0x20 || r == 0x7f {
		return fmt.Sprintf(`\x%02x`, r)
	}
	return Literal(string(r))
}

// class reads a set of characters.
func (p *jsReader) class(start int) {
	rest := p.src[p.at:]
	switch {
	case strings.HasPrefix(rest, "^]"):
		p.at += 2
		p.out.WriteString("(?s:.)")
		return
	case strings.HasPrefix(rest, "]"):
		p.at++
		p.out.WriteString("(?!)")
		return
	}
	var b strings.Builder
	not := strings.HasPrefix(rest, "^")
	if not {
		p.at++
	}
	var kinds string // of \d, \D, ... that it has
	last, ranged := rune(-1), false
	for {
		if p.at >= len(p.src) {
			p.fail(start, "a set is not closed")
			return
		}
		at := p.at
		r, size := utf8.DecodeRuneInString(p.src[p.at:])
		p.at += size
		if r == ']' {
			break
		}
		if r > 0xffff {
			p.cannot("a character of two halves in a set")
		}
		if r == '\\' && p.at < len(p.src) {
			switch c := p.src[p.at]; {
			case strings.IndexByte("dDwWsS", c) >= 0:
				p.at++
				kinds += string(c)
				if ranged {
					b.WriteString(`\-`)
				}
				switch c {
				case 's':
					b.WriteString(JavaScriptSpaces)
				case 'S':
				default:
					b.WriteString(`\` + string(c))
				}
				last, ranged = -1, false
				continue
			case c == 'b':
				p.at++
				r = '\b'
			case c == '-':
				p.at++
				r = '-'
			case c >= '1' && c <= '9':
				p.cannot("a number behind a backslash in a set")
				p.at++
				r = rune(c)
			default:
				r = p.char()
			}
		} else if r == '-' && last >= 0 && !ranged && p.at < len(p.src) && p.src[p.at] != ']' {
			ranged = true
			continue
		}
		if ranged {
			if r < last {
				p.fail(at, "a range is in the wrong order")
			}
			b.WriteString("-" + charText(r))
			last, ranged = -1, false
			continue
		}
		b.WriteString(charText(r))
		last = r
	}
	p.finish(not, kinds, b.String())
}

// finish writes a set whose characters are read.
func (p *jsReader) finish(not bool, kinds, body string) {
	every := false
	for _, pair := range []string{"dD", "wW", "sS"} {
		every = every || strings.Contains(kinds, pair[:1]) && strings.Contains(kinds, pair[1:])
	}
	switch {
	case every && not:
		p.out.WriteString("(?!)")
	case every:
		p.out.WriteString("(?s:.)")
	case strings.Contains(kinds, "S"):
		p.cannot(`\S in a set`)
		p.out.WriteByte('x')
	case not:
		p.out.WriteString("[^" + body + "]")
	default:
		p.out.WriteString("[" + body + "]")
	}
}
