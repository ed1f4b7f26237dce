package pattern

import (
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// JSON is equality of JSON values: the order of an object's members and the
// way a value is written do not count, numbers are equal by value (1, 1.0 and
// 10e-1), strings by their characters. A text that is not JSON, or names a
// member of an object twice, is equal to nothing.

// maxJSONDepth bounds the nesting of a pattern, and with it that of any match.
const maxJSONDepth = 200

// jsonValue is a pattern, read.
type jsonValue struct {
	kind    jsonKind
	text    string // jsonWord: the word; jsonString: the characters
	num     jsonNumber
	items   []jsonValue    // jsonArray, jsonObject: the members' values
	members map[string]int // jsonObject: where in items
}

type jsonKind uint8

const (
	jsonWord jsonKind = iota // null, true, false
	jsonNum
	jsonString
	jsonArray
	jsonObject
)

func compileJSON(text string) (matcher, trees, error) {
	r := jsonReader{s: text}
	v, ok := r.value(0)
	if ok {
		r.space()
		if r.at == len(text) {
			return v, trees{}, nil
		}
		r.fail("there is more after the JSON value")
	}
	return nil, trees{}, &SyntaxError{min(r.errAt, len(text)), r.msg}
}

func (v *jsonValue) match(s string) (bool, error) {
	r := jsonReader{s: s}
	ok := v.equal(&r)
	r.space()
	return ok && r.at == len(s), nil
}

// equal reads a value from r and compares it; it stops where they differ.
func (v *jsonValue) equal(r *jsonReader) bool {
	r.space()
	switch v.kind {
	case jsonWord:
		return r.word(v.text)
	case jsonNum:
		n, ok := r.number()
		return ok && n.equal(v.num)
	case jsonString:
		return r.sameString(v.text)
	case jsonArray:
		return v.equalArray(r)
	}
	return v.equalObject(r)
}

func (v *jsonValue) equalArray(r *jsonReader) bool {
	if !r.byte('[') {
		return false
	}
	for i := range v.items {
		if i > 0 && !r.byte(',') || !v.items[i].equal(r) {
			return false
		}
	}
	return r.byte(']')
}

func (v *jsonValue) equalObject(r *jsonReader) bool {
	if !r.byte('{') {
		return false
	}
	var few [4]uint64
	seen := few[:]
	if len(v.items) > 64*len(few) {
		seen = make([]uint64, len(v.items)/64+1)
	}
	for n := range v.items {
		if n > 0 && !r.byte(',') {
			return false
		}
		r.space()
		i, ok := v.member(r)
		if !ok || seen[i>>6]&(1<<(i&63)) != 0 {
			return false
		}
		seen[i>>6] |= 1 << (i & 63)
		if !r.byte(':') || !v.items[i].equal(r) {
			return false
		}
	}
	return r.byte('}')
}

// member reads a name and returns which member it is.
func (v *jsonValue) member(r *jsonReader) (int, bool) {
	var buf [128]byte
	start := r.at
	if raw, ok := r.plainString(); ok {
		i, ok := v.members[raw]
		return i, ok
	}
	r.at = start
	name, ok := r.string(buf[:0])
	if !ok {
		return 0, false
	}
	i, ok := v.members[string(name)]
	return i, ok
}

// jsonReader reads JSON text. at is where it is; the first error stays.
type jsonReader struct {
	s     string
	at    int
	msg   string
	errAt int
}

func (r *jsonReader) fail(msg string) bool {
	if r.msg == "" {
		r.msg, r.errAt = msg, r.at
	}
	return false
}

func (r *jsonReader) space() {
	for r.at < len(r.s) {
		switch r.s[r.at] {
		case ' ', '\t', '\n', '\r':
			r.at++
		default:
			return
		}
	}
}

// byte takes c after white space.
func (r *jsonReader) byte(c byte) bool {
	r.space()
	if r.at < len(r.s) && r.s[r.at] == c {
		r.at++
		return true
	}
	return r.fail("expected " + string(rune(c)))
}

func (r *jsonReader) word(w string) bool {
	if len(r.s)-r.at >= len(w) && r.s[r.at:r.at+len(w)] == w {
		r.at += len(w)
		return true
	}
	return r.fail("expected " + w)
}

// value reads a pattern.
func (r *jsonReader) value(depth int) (*jsonValue, bool) {
	r.space()
	if depth > maxJSONDepth {
		return nil, r.fail("the JSON value is nested too deeply")
	}
	if r.at == len(r.s) {
		return nil, r.fail("a JSON value is missing")
	}
	switch c := r.s[r.at]; {
	case c == '{':
		return r.object(depth)
	case c == '[':
		return r.array(depth)
	case c == '"':
		b, ok := r.string(nil)
		return &jsonValue{kind: jsonString, text: string(b)}, ok
	case c == '-' || c >= '0' && c <= '9':
		n, ok := r.number()
		return &jsonValue{kind: jsonNum, num: n}, ok
	}
	for _, w := range []string{"null", "true", "false"} {
		if r.s[r.at] == w[0] {
			return &jsonValue{kind: jsonWord, text: w}, r.word(w)
		}
	}
	return nil, r.fail("no JSON value starts with " + strconv.QuoteRune(firstRune(r.s[r.at:])))
}

func firstRune(s string) rune {
	c, _ := utf8.DecodeRuneInString(s)
	return c
}

func (r *jsonReader) array(depth int) (*jsonValue, bool) {
	v := &jsonValue{kind: jsonArray}
	r.at++
	if r.space(); r.at < len(r.s) && r.s[r.at] == ']' {
		r.at++
		return v, true
	}
	for {
		item, ok := r.value(depth + 1)
		if !ok {
			return nil, false
		}
		v.items = append(v.items, *item)
		if r.space(); r.at < len(r.s) && r.s[r.at] == ',' {
			r.at++
			continue
		}
		return v, r.byte(']')
	}
}

func (r *jsonReader) object(depth int) (*jsonValue, bool) {
	v := &jsonValue{kind: jsonObject, members: map[string]int{}}
	r.at++
	if r.space(); r.at < len(r.s) && r.s[r.at] == '}' {
		r.at++
		return v, true
	}
	for {
		r.space()
		start := r.at
		name, ok := r.string(nil)
		if !ok {
			return nil, false
		}
		if _, twice := v.members[string(name)]; twice {
			r.at = start
			return nil, r.fail("the member " + strconv.Quote(string(name)) + " is named twice")
		}
		if !r.byte(':') {
			return nil, false
		}
		item, ok := r.value(depth + 1)
		if !ok {
			return nil, false
		}
		v.members[string(name)] = len(v.items)
		v.items = append(v.items, *item)
		if r.space(); r.at < len(r.s) && r.s[r.at] == ',' {
			r.at++
			continue
		}
		return v, r.byte('}')
	}
}

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
