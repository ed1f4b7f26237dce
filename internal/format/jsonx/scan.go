package jsonx

import (
	"fmt"
	"slices"
	"strings"

	"github.com/obstat/obstat/internal/format/tree"
)

// A Kind is the sort of a token.
type Kind uint8

// The kinds of token. Bad is the zero Kind, so that a loop which forgets to ask
// for it stops all the same.
const (
	Bad Kind = iota // the text is no JSON from here on, or breaks a limit: see Err
	End             // the end of the document
	ObjectStart
	ObjectEnd
	ArrayStart
	ArrayEnd
	Key
	Str
	Num
	True
	False
	Null
)

// A Scanner reads JSON token by token. It copies nothing but strings with
// escapes and, used again after [Scanner.Reset], allocates nothing: its buffers
// stay. Texts that it hands out share the memory of the document and of those
// buffers, and hold until the next Reset.
//
// Keys that stand twice in one object, broken UTF-8, lone surrogates and nesting
// beyond MaxDepth are problems. The zero Scanner is ready for Reset.
type Scanner struct {
	// Start and End are the offsets of the last token.
	Start, End int
	// Text is the last Key's or Str's text, decoded; a Num as it is written.
	Text string
	// Log, if not nil, collects problems that leave the structure clear, such as
	// an equal key or a comment, and the scan goes on. nil: the first ends it.
	Log *tree.Log

	src     string
	pos     int
	opt     Options
	open    []container // the innermost is the last
	keys    []seenKey   // of all open objects
	buf     []byte      // decoded strings
	begun   bool        // the document's value has begun
	wanting bool        // a key has been read, its value has not
	problem *tree.Problem
}

// A container is an object or an array that is being read.
type container struct {
	object   bool
	fold     bool // keys that differ only in case are equal
	count    int  // members or elements so far
	firstKey int  // in Scanner.keys
	seen     map[string]int
}

type seenKey struct {
	text string
	off  int
}

// Reset makes s ready to read src. Log is nil afterwards.
func (s *Scanner) Reset(src string, opt Options) {
	s.src, s.pos, s.opt, s.open, s.keys, s.buf = src, 0, opt, s.open[:0], s.keys[:0], s.buf[:0]
	s.begun, s.wanting, s.problem, s.Log = false, false, nil, nil
	if cap(s.buf) > 64<<10 {
		s.buf = nil // one long document should not stay for ever
	}
	if !opt.NoMark && strings.HasPrefix(src, "\ufeff") {
		s.pos = len("\ufeff")
	}
}

// Err returns the problem that ended the scan, nil if none did.
func (s *Scanner) Err() *tree.Problem { return s.problem }

// Next reads one token.
func (s *Scanner) Next() Kind {
	if s.problem != nil || !s.space() {
		return Bad
	}
	if s.wanting {
		s.wanting = false
		return s.value()
	}
	if len(s.open) > 0 {
		return s.item(&s.open[len(s.open)-1])
	}
	if !s.begun {
		s.begun = true
		return s.value()
	}
	s.Start, s.End = s.pos, s.pos
	if s.pos < len(s.src) {
		return s.fail(s.pos, "unexpected "+s.what(s.pos)+" after the end of the document")
	}
	return End
}

// Value reads one value whole, whatever is nested in it, and returns the kind of
// its first token. Start and End are those of the whole.
func (s *Scanner) Value() Kind {
	k := s.Next()
	if k == ObjectStart || k == ArrayStart {
		return s.Rest(k)
	}
	return k
}

// Rest reads on to the end of the object or array whose first token, k, was read
// last. Start and End are then those of the whole; it returns k, or Bad.
func (s *Scanner) Rest(k Kind) Kind {
	start, depth := s.Start, len(s.open)
	for len(s.open) >= depth {
		if s.Next() == Bad {
			return Bad
		}
	}
	s.Start = start
	return k
}

// item reads the next key or element of c, or its end.
func (s *Scanner) item(c *container) Kind {
	closing := byte(']')
	if c.object {
		closing = '}'
	}
	comma := -1
	if c.count > 0 && s.pos < len(s.src) && s.src[s.pos] == ',' {
		comma = s.pos
		s.pos++
		if !s.space() {
			return Bad
		}
	}
	switch {
	case s.pos >= len(s.src):
		return s.fail(s.pos, fmt.Sprintf("the document ends before the closing '%c'", closing))
	case s.src[s.pos] == closing:
		if comma >= 0 && !s.opt.TrailingCommas && !s.note(comma, tree.CodeSyntax, fmt.Sprintf("a comma before '%c' is not allowed in this file", closing), "remove the comma") {
			return Bad
		}
		return s.close(c)
	case c.count > 0 && comma < 0:
		return s.fail(s.pos, fmt.Sprintf("expected ',' or '%c', found %s", closing, s.what(s.pos)))
	}
	c.count++
	if c.object {
		return s.key(c)
	}
	return s.value()
}

func (s *Scanner) close(c *container) Kind {
	kind := ArrayEnd
	if c.object {
		kind = ObjectEnd
	}
	s.Start = s.pos
	s.pos++
	s.End = s.pos
	c.seen = nil
	s.keys, s.open = s.keys[:c.firstKey], s.open[:len(s.open)-1]
	return kind
}

// key reads a key and the colon behind it.
func (s *Scanner) key(c *container) Kind {
	if s.src[s.pos] != '"' {
		return s.fail(s.pos, "expected a key in double quotes or '}', found "+s.what(s.pos))
	}
	if s.str() == Bad || !s.unique(c) || !s.space() {
		return Bad
	}
	if s.pos >= len(s.src) || s.src[s.pos] != ':' {
		return s.fail(s.pos, "expected ':' after the key, found "+s.what(s.pos))
	}
	s.pos++
	s.wanting = true
	return Key
}

// manyKeys is where comparing every key with every other stops being cheap.
const manyKeys = 64

// unique looks for the key just read among the keys of c, and adds it.
func (s *Scanner) unique(c *container) bool {
	first := -1
	if keys := s.keys[c.firstKey:]; c.seen == nil && len(keys) < manyKeys {
		for i := range keys {
			if sameKey(keys[i].text, s.Text, c.fold) {
				first = keys[i].off
				break
			}
		}
	} else {
		if c.seen == nil {
			c.seen = make(map[string]int, 2*manyKeys)
			for _, k := range slices.Backward(keys) {
				c.seen[folded(k.text, c.fold)] = k.off
			}
		}
		k := folded(s.Text, c.fold)
		if off, ok := c.seen[k]; ok {
			first = off
		} else {
			c.seen[k] = s.Start
		}
	}
	s.keys = append(s.keys, seenKey{s.Text, s.Start})
	return first < 0 || s.twice(first, c.fold)
}

// twice notes that the key just read stands at first already.
func (s *Scanner) twice(first int, fold bool) bool {
	p := tree.Problem{Offset: s.Start, Code: tree.CodeDuplicate, Also: []int{first}, Hint: "keep one of the two"}
	if fold {
		p.Msg = fmt.Sprintf("the key %.60s stands twice, or in two spellings", s.Text)
	} else {
		p.Msg = fmt.Sprintf("the key %.60q stands twice in one object", s.Text)
	}
	return s.add(p)
}

// sameKey compares two keys; fold: a reader that ignores case could take one for
// the other.
func sameKey(a, b string, fold bool) bool {
	if !fold || a == "" || b == "" {
		return a == b
	}
	// Keys that start with different ASCII letters are told apart here, without
	// the call.
	return (a[0]|0x20 == b[0]|0x20 || a[0]|b[0] >= 0x80) && strings.EqualFold(a, b)
}

// folded maps keys that sameKey holds equal to one text.
func folded(s string, fold bool) string {
	if !fold {
		return s
	}
	return strings.ToLower(strings.ToUpper(s))
}

// value reads a scalar, or the first bracket of an object or array.
func (s *Scanner) value() Kind {
	if s.pos >= len(s.src) {
		return s.fail(s.pos, "a value is missing at the end of the document")
	}
	switch c := s.src[s.pos]; {
	case c == '"':
		return s.str()
	case c == '{' || c == '[':
		return s.start(c == '{')
	case c == '-' || '0' <= c && c <= '9':
		return s.number()
	case 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z':
		return s.word()
	}
	return s.fail(s.pos, "expected a value, found "+s.what(s.pos))
}

// start opens an object or an array.
func (s *Scanner) start(object bool) Kind {
	if len(s.open) > MaxDepth {
		s.problem = &tree.Problem{Offset: s.pos, Code: tree.CodeDepth, Msg: fmt.Sprintf("nested more than %d levels deep", MaxDepth)}
		return s.ended()
	}
	s.open = append(s.open, container{object: object, fold: len(s.open) < s.opt.Fold, firstKey: len(s.keys)})
	s.Start = s.pos
	s.pos++
	s.End = s.pos
	if object {
		return ObjectStart
	}
	return ArrayStart
}

// word reads true, false or null; any other word is named in the problem.
func (s *Scanner) word() Kind {
	s.Start = s.pos
	for s.pos < len(s.src) && isWord(s.src[s.pos]) {
		s.pos++
	}
	s.End = s.pos
	switch w := s.src[s.Start:s.pos]; w {
	case "true":
		return True
	case "false":
		return False
	case "null":
		return Null
	default:
		return s.fail(s.Start, fmt.Sprintf("expected a value, found %.40q", w))
	}
}

func isWord(c byte) bool {
	return c == '_' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

func (s *Scanner) number() Kind {
	s.Start = s.pos
	end, ok := number(s.src, s.pos)
	for end < len(s.src) && (isWord(s.src[end]) || s.src[end] == '.' || s.src[end] == '-' || s.src[end] == '+') {
		end, ok = end+1, false
	}
	s.pos, s.End, s.Text = end, end, s.src[s.Start:end]
	if !ok {
		return s.fail(s.Start, fmt.Sprintf("%.40q is not a number", s.Text))
	}
	return Num
}

// isNumber reports whether s is a number as JSON writes it.
func isNumber(s string) bool {
	end, ok := number(s, 0)
	return ok && end == len(s)
}

// number returns the end of the number at i, as far as it is one; false: it is
// none.
func number(s string, i int) (end int, ok bool) {
	digits := func() bool {
		start := i
		for i < len(s) && '0' <= s[i] && s[i] <= '9' {
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
		if i++; !digits() {
			return i, false
		}
	}
	if i < len(s) && s[i]|0x20 == 'e' {
		if i++; i < len(s) && (s[i] == '+' || s[i] == '-') {
			i++
		}
		if !digits() {
			return i, false
		}
	}
	return i, true
}

// Any returns the value whose first token, k, was read last, as map[string]any,
// []any, string, [Number], bool or nil; ok is false where it cannot be read.
func (s *Scanner) Any(k Kind) (v any, ok bool) {
	switch k {
	case Str:
		return s.Text, true
	case Num:
		return Number(s.Text), true
	case True, False:
		return k == True, true
	case Null:
		return nil, true
	case ArrayStart:
		list := []any{}
		for k = s.Next(); k != ArrayEnd; k = s.Next() {
			if v, ok = s.Any(k); !ok {
				return nil, false
			}
			list = append(list, v)
		}
		return list, true
	case ObjectStart:
		m := map[string]any{}
		for k = s.Next(); k == Key; k = s.Next() {
			key := s.Text
			if m[key], ok = s.Any(s.Next()); !ok {
				return nil, false
			}
		}
		return m, k == ObjectEnd
	}
	return nil, false
}
