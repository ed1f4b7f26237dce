package obstat

import (
	"math/bits"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// This file is a strict JSON scanner over text that stays where it is: nothing
// is copied unless a string has escapes. encoding/json is no choice here: it
// takes TOOL_NAME for tool_name and the last of two equal keys.

// maxDepth bounds the nesting of JSON that is looked at.
const maxDepth = 512

// A scanError is a problem at an offset.
type scanError struct {
	off  int
	code Code
	msg  string
}

func (e *scanError) Error() string { return e.msg }

func skipSpace(s string, i int) int {
	for i < len(s) && (s[i] == ' ' || s[i] == '\n' || s[i] == '\t' || s[i] == '\r') {
		i++
	}
	return i
}

// skipString returns the offset after the string that starts at i and whether
// it holds escapes.
func skipString(s string, i int) (end int, escaped bool, err *scanError) {
	j, wide := i+1, uint64(0)
	for {
		var high uint64
		j, high = plainRun(s, j)
		wide |= high
		if j >= len(s) {
			return len(s), false, &scanError{i, CodeSyntax, "unterminated string"}
		}
		switch s[j] {
		case '"':
			if wide != 0 && !utf8.ValidString(s[i:j]) {
				return i, false, &scanError{i, CodeSyntax, "string is not valid UTF-8"}
			}
			return j + 1, escaped, nil
		case '\\':
			escaped = true
			j += 2
		default:
			return j, false, &scanError{j, CodeSyntax, "control character in string"}
		}
	}
}

// plainRun returns the offset of the first byte from j on that is a quote, a
// backslash or a control character, and the high bits of the bytes before it:
// not zero where there is more than ASCII. It looks at eight bytes at a time:
// for each of the three, a byte of the mask is set where one stands.
func plainRun(s string, j int) (int, uint64) {
	const ones, highs = 0x0101010101010101, 0x8080808080808080
	wide := uint64(0)
	for ; j+8 <= len(s); j += 8 {
		x := uint64(s[j]) | uint64(s[j+1])<<8 | uint64(s[j+2])<<16 | uint64(s[j+3])<<24 |
			uint64(s[j+4])<<32 | uint64(s[j+5])<<40 | uint64(s[j+6])<<48 | uint64(s[j+7])<<56
		q, b := x^ones*'"', x^ones*'\\'
		wide |= x & highs
		if m := ((q-ones)&^q | (b-ones)&^b | (x-ones*0x20)&^x) & highs; m != 0 {
			return j + bits.TrailingZeros64(m)/8, wide
		}
	}
	for ; j < len(s); j++ {
		c := s[j]
		wide |= uint64(c) & 0x80
		if c == '"' || c == '\\' || c < 0x20 {
			return j, wide
		}
	}
	return j, wide
}

// checkUTF8 returns the problem of a whole text that is not UTF-8, at its place.
func checkUTF8(s string) *scanError {
	if utf8.ValidString(s) {
		return nil
	}
	i := 0
	for i < len(s) {
		r, n := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && n == 1 {
			break
		}
		i += n
	}
	return &scanError{i, CodeSyntax, "not valid UTF-8"}
}

// unquote appends the value of the string literal lit to buf.
func unquote(buf []byte, lit string) ([]byte, bool) {
	s := lit[1 : len(lit)-1]
	for i := 0; i < len(s); {
		if s[i] != '\\' {
			_, n := utf8.DecodeRuneInString(s[i:])
			if n == 1 && s[i] >= utf8.RuneSelf {
				return buf, false
			}
			buf = append(buf, s[i:i+n]...)
			i += n
			continue
		}
		if i+1 >= len(s) {
			return buf, false
		}
		if k := strings.IndexByte(`"\/bfnrt`, s[i+1]); k >= 0 {
			buf = append(buf, "\"\\/\b\f\n\r\t"[k])
			i += 2
			continue
		}
		r, n := hexEscape(s[i:])
		if n == 0 {
			return buf, false
		}
		buf = utf8.AppendRune(buf, r)
		i += n
	}
	return buf, true
}

// hexEscape reads \uXXXX, or two of them that are a surrogate pair; a lone
// surrogate is refused.
func hexEscape(s string) (rune, int) {
	unit := func(s string) (rune, bool) {
		if len(s) < 6 || s[0] != '\\' || s[1] != 'u' {
			return 0, false
		}
		v, err := strconv.ParseUint(s[2:6], 16, 16)
		return rune(v), err == nil
	}
	r, ok := unit(s)
	if !ok {
		return 0, 0
	}
	if !utf16.IsSurrogate(r) {
		return r, 6
	}
	lo, ok := unit(s[6:])
	if dec := utf16.DecodeRune(r, lo); ok && dec != utf8.RuneError {
		return dec, 12
	}
	return 0, 0
}

func skipNumber(s string, i int) (int, bool) {
	digits := func() bool {
		start := i
		for i < len(s) && s[i] >= '0' && s[i] <= '9' {
			i++
		}
		return i > start
	}
	if i < len(s) && s[i] == '-' {
		i++
	}
	if i < len(s) && s[i] == '0' {
		i++
	} else if !digits() {
		return i, false
	}
	if i < len(s) && s[i] == '.' {
		i++
		if !digits() {
			return i, false
		}
	}
	if i < len(s) && (s[i] == 'e' || s[i] == 'E') {
		i++
		if i < len(s) && (s[i] == '+' || s[i] == '-') {
			i++
		}
		if !digits() {
			return i, false
		}
	}
	return i, true
}

// skipValue returns the offset after the value that starts at i. It does not
// recurse: open brackets are bits, so depth costs no stack.
func skipValue(s string, i int) (int, *scanError) {
	if i < len(s) && s[i] != '{' && s[i] != '[' {
		end, _, err := skipToken(s, i)
		return end, err
	}
	return skipNested(s, i)
}

func skipNested(s string, i int) (int, *scanError) {
	var objects [maxDepth/64 + 1]uint64
	depth := 0
	for {
		end, opened, err := skipToken(s, i)
		if err != nil {
			return i, err
		}
		if opened != 0 {
			if depth++; depth >= maxDepth {
				return i, &scanError{i, CodeTooLarge, "nested too deeply"}
			}
			bit := uint64(1) << (depth % 64)
			objects[depth/64] &^= bit
			if opened == '{' {
				objects[depth/64] |= bit
			}
		}
		i = end
		var more bool
		if i, depth, more, err = afterToken(s, i, depth, &objects, opened != 0); err != nil || !more {
			return i, err
		}
	}
}

// skipToken passes one scalar, or one opening bracket.
func skipToken(s string, i int) (end int, opened byte, err *scanError) {
	if i >= len(s) {
		return i, 0, &scanError{i, CodeSyntax, "value expected"}
	}
	switch c := s[i]; c {
	case '{', '[':
		return i + 1, c, nil
	case '"':
		end, _, err = skipString(s, i)
		return end, 0, err
	case 't', 'f', 'n':
		for _, lit := range [...]string{"true", "false", "null"} {
			if strings.HasPrefix(s[i:], lit) {
				return i + len(lit), 0, nil
			}
		}
	default:
		if end, ok := skipNumber(s, i); ok {
			return end, 0, nil
		}
	}
	return i, 0, &scanError{i, CodeSyntax, "value expected"}
}

// afterToken closes brackets and passes separators up to the next value.
func afterToken(s string, i, depth int, objects *[maxDepth/64 + 1]uint64, justOpened bool) (int, int, bool, *scanError) {
	for depth > 0 {
		i = skipSpace(s, i)
		isObject := objects[depth/64]&(1<<(depth%64)) != 0
		if i >= len(s) {
			return i, depth, false, &scanError{i, CodeSyntax, "unexpected end"}
		}
		switch c := s[i]; {
		case c == ']' && !isObject, c == '}' && isObject:
			depth--
			i++
			justOpened = false
			continue
		case c == ',' && !justOpened:
			i = skipSpace(s, i+1)
		case !justOpened:
			return i, depth, false, &scanError{i, CodeSyntax, "comma or closing bracket expected"}
		}
		if isObject {
			var err *scanError
			if i, err = skipKey(s, i); err != nil {
				return i, depth, false, err
			}
		}
		return i, depth, true, nil
	}
	return i, depth, false, nil
}

// skipKey passes a member's key and its colon.
func skipKey(s string, i int) (int, *scanError) {
	if i >= len(s) || s[i] != '"' {
		return i, &scanError{i, CodeSyntax, "key expected"}
	}
	i, _, err := skipString(s, i)
	if err != nil {
		return i, err
	}
	i = skipSpace(s, i)
	if i >= len(s) || s[i] != ':' {
		return i, &scanError{i, CodeSyntax, "colon expected"}
	}
	return skipSpace(s, i+1), nil
}

// A member is one key of an object and the span of its value.
type member struct {
	key        string
	keyOff     int
	start, end int
}

// members walks the top level of an object: next fills m until it returns false.
type members struct {
	src  string
	pos  int
	buf  []byte // scratch for keys with escapes
	open bool
	err  *scanError
	m    member
}

func (w *members) fail(off int, code Code, msg string) bool {
	w.err = &scanError{off, code, msg}
	return false
}

func (w *members) next() bool {
	i := skipSpace(w.src, w.pos)
	if !w.open {
		if i >= len(w.src) || w.src[i] != '{' {
			return w.fail(i, CodeWrongType, "object expected")
		}
		w.open = true
		if i = skipSpace(w.src, i+1); i < len(w.src) && w.src[i] == '}' {
			w.pos = i + 1
			return false
		}
	} else {
		if i < len(w.src) && w.src[i] == '}' {
			w.pos = i + 1
			return false
		}
		if i >= len(w.src) || w.src[i] != ',' {
			return w.fail(i, CodeSyntax, "comma or closing bracket expected")
		}
		i = skipSpace(w.src, i+1)
	}
	return w.member(i)
}

func (w *members) member(i int) bool {
	if i >= len(w.src) || w.src[i] != '"' {
		return w.fail(i, CodeSyntax, "key expected")
	}
	end, escaped, err := skipString(w.src, i)
	if err != nil {
		w.err = err
		return false
	}
	w.m = member{key: w.src[i+1 : end-1], keyOff: i}
	if escaped {
		var ok bool
		if w.buf, ok = unquote(w.buf[:0], w.src[i:end]); !ok {
			return w.fail(i, CodeSyntax, "bad escape in key")
		}
		w.m.key = string(w.buf)
	}
	if end = skipSpace(w.src, end); end >= len(w.src) || w.src[end] != ':' {
		return w.fail(end, CodeSyntax, "colon expected")
	}
	w.m.start = skipSpace(w.src, end+1)
	if w.m.end, err = skipValue(w.src, w.m.start); err != nil {
		w.err = err
		return false
	}
	w.pos = w.m.end
	return true
}
