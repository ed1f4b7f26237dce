package pattern

import (
	"unicode/utf16"
	"unicode/utf8"
)

// plainString reads a string without escapes.
func (r *jsonReader) plainString() (string, bool) {
	if r.at >= len(r.s) || r.s[r.at] != '"' {
		return "", false
	}
	for i := r.at + 1; i < len(r.s); i++ {
		switch c := r.s[i]; {
		case c == '"':
			text := r.s[r.at+1 : i]
			r.at = i + 1
			return text, utf8.ValidString(text)
		case c == '\\' || c < 0x20:
			return "", false
		}
	}
	return "", false
}

// sameString reads a string and compares it.
func (r *jsonReader) sameString(want string) bool {
	if r.at >= len(r.s) || r.s[r.at] != '"' {
		return r.fail("expected a string")
	}
	r.at++
	for {
		if r.at < len(r.s) && r.s[r.at] == '"' {
			r.at++
			return want == ""
		}
		c, ok := r.char()
		if !ok || want == "" {
			return false
		}
		var buf [4]byte
		b := appendRune(buf[:0], c)
		if len(want) < len(b) || want[:len(b)] != string(b) {
			return false
		}
		want = want[len(b):]
	}
}

// string reads a string and appends its characters to b.
func (r *jsonReader) string(b []byte) ([]byte, bool) {
	if r.at >= len(r.s) || r.s[r.at] != '"' {
		return nil, r.fail("expected a string")
	}
	r.at++
	for {
		if r.at < len(r.s) && r.s[r.at] == '"' {
			r.at++
			return b, true
		}
		c, ok := r.char()
		if !ok {
			return nil, false
		}
		b = appendRune(b, c)
	}
}

// appendRune writes half of a surrogate pair, which JSON can spell, in the
// three bytes it would have, which no text has: it is equal to itself only.
func appendRune(b []byte, c rune) []byte {
	if utf16.IsSurrogate(c) {
		return append(b, 0xE0|byte(c>>12), 0x80|byte(c>>6)&0x3F, 0x80|byte(c)&0x3F)
	}
	return utf8.AppendRune(b, c)
}

// char reads one character of a string.
func (r *jsonReader) char() (rune, bool) {
	if r.at >= len(r.s) {
		return 0, r.fail("the string is not closed")
	}
	if r.s[r.at] == '\\' {
		return r.escape()
	}
	c, w := utf8.DecodeRuneInString(r.s[r.at:])
	if c < 0x20 || c == utf8.RuneError && w == 1 {
		return 0, r.fail("the string holds a control character or is not UTF-8")
	}
	r.at += w
	return c, true
}

func (r *jsonReader) escape() (rune, bool) {
	if r.at+1 >= len(r.s) {
		return 0, r.fail("the string is not closed")
	}
	c := r.s[r.at+1]
	if c == 'u' {
		return r.unicode()
	}
	for i := 0; i < len(jsonEscapes); i += 2 {
		if jsonEscapes[i] == c {
			r.at += 2
			return rune(jsonEscapes[i+1]), true
		}
	}
	return 0, r.fail("there is no such escape")
}

// jsonEscapes pairs what follows a backslash with what it means.
const jsonEscapes = "\"\"\\\\//b\bf\fn\nr\rt\t"

// unicode reads \u and the second half of a pair if there is one.
func (r *jsonReader) unicode() (rune, bool) {
	c, ok := hex4(r.s, r.at)
	if !ok {
		return 0, r.fail("there is no such escape")
	}
	r.at += 6
	if !utf16.IsSurrogate(c) {
		return c, true
	}
	if low, ok := hex4(r.s, r.at); ok {
		if pair := utf16.DecodeRune(c, low); pair != utf8.RuneError {
			r.at += 6
			return pair, true
		}
	}
	return c, true
}

// hex4 reads \uXXXX at i.
func hex4(s string, i int) (rune, bool) {
	if len(s)-i < 6 || s[i] != '\\' || s[i+1] != 'u' {
		return 0, false
	}
	var c rune
	for _, d := range []byte(s[i+2 : i+6]) {
		switch {
		case d >= '0' && d <= '9':
			c = c<<4 | rune(d-'0')
		case d|0x20 >= 'a' && d|0x20 <= 'f':
			c = c<<4 | rune(d|0x20-'a'+10)
		default:
			return 0, false
		}
	}
	return c, true
}
