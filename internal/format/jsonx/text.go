package jsonx

import (
	"fmt"
	"math/bits"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
	"unsafe"

	"github.com/obstat/obstat/internal/format/tree"
)

// fail ends the scan: the structure is lost from here on.
func (s *Scanner) fail(at int, msg string) Kind {
	if s.problem == nil {
		s.problem = &tree.Problem{Offset: at, Code: tree.CodeSyntax, Msg: msg}
		return s.ended()
	}
	return Bad
}

// ended logs the problem that ended the scan.
func (s *Scanner) ended() Kind {
	if s.Log != nil {
		s.Log.Add(*s.problem)
	}
	return Bad
}

// note reports a problem that leaves the structure clear; false: it ends the
// scan all the same, because there is no Log to collect such problems.
func (s *Scanner) note(at int, code, msg, hint string) bool {
	return s.add(tree.Problem{Offset: at, Code: code, Msg: msg, Hint: hint})
}

func (s *Scanner) add(p tree.Problem) bool {
	if s.Log == nil {
		s.problem = &p
		return false
	}
	s.Log.Add(p)
	return true
}

// what names the character at an offset for a message.
func (s *Scanner) what(at int) string {
	if at >= len(s.src) {
		return "end of the document"
	}
	r, size := utf8.DecodeRuneInString(s.src[at:])
	if r == utf8.RuneError && size <= 1 {
		return fmt.Sprintf("byte 0x%02x", s.src[at])
	}
	return fmt.Sprintf("%q", r)
}

// space skips blanks and comments; false: a comment ended the scan. Mostly there
// are none, which it tells without a call.
func (s *Scanner) space() bool {
	return s.pos < len(s.src) && s.src[s.pos] > ' ' && s.src[s.pos] != '/' || s.skipSpace()
}

func (s *Scanner) skipSpace() bool {
	for s.pos < len(s.src) {
		switch s.src[s.pos] {
		case ' ', '\t', '\n', '\r':
			s.pos++
		case '/':
			if !s.comment() {
				return false
			}
		default:
			return true
		}
	}
	return true
}

func (s *Scanner) comment() bool {
	start, rest := s.pos, s.src[s.pos:]
	switch {
	case strings.HasPrefix(rest, "//"):
		if i := strings.IndexAny(rest, "\r\n"); i >= 0 {
			rest = rest[:i]
		}
		s.pos += len(rest)
	case strings.HasPrefix(rest, "/*"):
		end := strings.Index(rest[2:], "*/")
		if end < 0 {
			s.fail(start, "the comment is not closed")
			return false
		}
		s.pos += 2 + end + 2
	default:
		s.fail(start, "unexpected '/'")
		return false
	}
	if !s.opt.Comments && !s.note(start, tree.CodeSyntax, "comments are not allowed in this file", "") {
		return false
	}
	return s.checkUTF8(start, s.pos)
}

// checkUTF8 reports broken UTF-8 and NUL bytes between two offsets.
func (s *Scanner) checkUTF8(start, end int) bool {
	for i := start; i < end; {
		r, size := utf8.DecodeRuneInString(s.src[i:end])
		if (r == utf8.RuneError && size == 1 || r == 0) && !s.note(i, tree.CodeEncoding, "the file is not UTF-8 text here ("+s.what(i)+")", "") {
			return false
		}
		i += size
	}
	return true
}

// str reads a string. One without escapes, which most are, stays where it is.
func (s *Scanner) str() Kind {
	s.Start = s.pos
	from := s.pos + 1
	end, wide := plainRun(s.src, from)
	if end < len(s.src) && s.src[end] == '"' && (!wide || utf8.ValidString(s.src[from:end])) {
		s.pos = end + 1
		s.End, s.Text = s.pos, s.src[from:end]
		return Str
	}
	return s.decode(from)
}

// decode reads a string into the buffer, from behind its quote on. Where a Log
// collects problems, broken characters in it do not end the scan.
func (s *Scanner) decode(from int) Kind {
	start := len(s.buf) // texts handed out stay where they are, even if the buffer moves
	for s.pos = from; ; {
		end, wide := plainRun(s.src, s.pos)
		if wide && !utf8.ValidString(s.src[s.pos:end]) && !s.checkUTF8(s.pos, end) {
			return Bad
		}
		s.buf = append(s.buf, s.src[s.pos:end]...)
		s.pos = end
		if end >= len(s.src) {
			return s.fail(s.Start, "the string is not closed")
		}
		switch c := s.src[end]; c {
		case '"':
			s.pos++
			s.End, s.Text = s.pos, unsafe.String(unsafe.SliceData(s.buf[start:]), len(s.buf)-start)
			return Str
		case '\\':
			if !s.escape() {
				return Bad
			}
		case '\n', '\r':
			return s.fail(s.Start, "the string is not closed on its line")
		default:
			if !s.note(end, tree.CodeEncoding, fmt.Sprintf("a string cannot hold the control character %q as it is", rune(c)), fmt.Sprintf("write \\u%04x", c)) {
				return Bad
			}
			s.buf = append(s.buf, c)
			s.pos++
		}
	}
}

// plainRun returns the offset of the first quote, backslash or control character
// from i on, and whether there is more than ASCII before it. It looks at eight
// bytes at a time: m has a high bit for each of them that ends the run.
func plainRun(s string, i int) (end int, wide bool) {
	const ones, highs = 0x0101010101010101, 0x8080808080808080
	var seen uint64
	for ; i+8 <= len(s); i += 8 {
		x := uint64(s[i]) | uint64(s[i+1])<<8 | uint64(s[i+2])<<16 | uint64(s[i+3])<<24 |
			uint64(s[i+4])<<32 | uint64(s[i+5])<<40 | uint64(s[i+6])<<48 | uint64(s[i+7])<<56
		q, b := x^ones*'"', x^ones*'\\'
		seen |= x & highs
		if m := ((q-ones)&^q | (b-ones)&^b | (x-ones*0x20)&^x) & highs; m != 0 {
			return i + bits.TrailingZeros64(m)/8, seen != 0
		}
	}
	for ; i < len(s); i++ {
		c := s[i]
		seen |= uint64(c) & 0x80
		if c == '"' || c == '\\' || c < 0x20 {
			break
		}
	}
	return i, seen != 0
}

// escape decodes the escape at pos, or two that make a surrogate pair.
func (s *Scanner) escape() bool {
	at := s.pos
	if at+1 >= len(s.src) {
		s.fail(at, "the document ends inside a string")
		return false
	}
	c := s.src[at+1]
	if c == 'u' {
		return s.unicode(at)
	}
	i := strings.IndexByte(`"\/bfnrt`, c)
	if i < 0 {
		s.pos++
		s.buf = append(s.buf, '\\')
		return s.note(at, tree.CodeSyntax, "unknown escape \\"+strings.Trim(s.what(at+1), "'"), `write \\ for a backslash`)
	}
	s.pos += 2
	s.buf = append(s.buf, "\"\\/\b\f\n\r\t"[i])
	return true
}

func (s *Scanner) unicode(at int) bool {
	r, ok := hexEscape(s.src[at:])
	if !ok {
		s.pos += 2
		return s.note(at, tree.CodeSyntax, `\u needs four hexadecimal digits`, "")
	}
	s.pos += 6
	switch {
	case utf16.IsSurrogate(r):
		if low, ok := hexEscape(s.src[s.pos:]); ok {
			if pair := utf16.DecodeRune(r, low); pair != utf8.RuneError {
				s.pos += 6
				s.buf = utf8.AppendRune(s.buf, pair)
				return true
			}
		}
		s.buf = utf8.AppendRune(s.buf, utf8.RuneError)
		return s.note(at, tree.CodeEncoding, fmt.Sprintf(`\u%04x is half of a character (a lone surrogate)`, r), "")
	case r == 0 && !s.opt.NUL:
		s.buf = append(s.buf, 0)
		return s.note(at, tree.CodeEncoding, "a string cannot hold a NUL character here", "")
	}
	s.buf = utf8.AppendRune(s.buf, r)
	return true
}

// hexEscape reads the \uXXXX that s starts with.
func hexEscape(s string) (rune, bool) {
	if len(s) < 6 || s[0] != '\\' || s[1] != 'u' {
		return 0, false
	}
	v := rune(0)
	for _, c := range []byte(s[2:6]) {
		switch {
		case c >= '0' && c <= '9':
			c -= '0'
		case c|0x20 >= 'a' && c|0x20 <= 'f':
			c = c | 0x20 - 'a' + 10
		default:
			return 0, false
		}
		v = v<<4 | rune(c)
	}
	return v, true
}
