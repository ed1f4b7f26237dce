package pattern

import (
	"strconv"
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
