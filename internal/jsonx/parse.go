// Package jsonx reads JSON and JSON with comments strictly, into a tree with
// byte offsets and key order, and writes JSON in a chosen order of keys.
//
// Where encoding/json is lenient (the last of two equal keys wins, TOOL_NAME
// stands for tool_name, broken UTF-8 is patched over), jsonx reports a problem
// with its position: two readers of one document must not see two documents. It
// knows no dialect; what keys may stand where is tree.Node's Check.
package jsonx

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/obstat/obstat/internal/tree"
)

// The limits of Parse.
const (
	MaxBytes = 10 << 20
	MaxDepth = 500
	MaxNodes = 1 << 20 // a node weighs far more than the two bytes it may be written with
)

// Options say what Parse takes beyond strict JSON. The zero value takes nothing.
type Options struct {
	// Comments admits // and /* */ comments.
	Comments bool
	// TrailingCommas admits one comma after the last member or element.
	TrailingCommas bool
	// NUL admits \u0000 in strings, which no path or command can hold.
	NUL bool
}

// JSONC are the options of the .jsonc files that editors and agents read.
func JSONC() Options { return Options{Comments: true, TrailingCommas: true} }

// Parse reads one JSON document. The problems are all that were found, sorted;
// reading goes on after duplicate keys, broken characters, comments and trailing
// commas, and stops at the first place where the structure is lost. The node is
// what was read so far, nil if nothing: unless tree.Fatal(problems) is false it
// must not be used for anything but finding further problems.
func Parse(src []byte, opt Options) (*tree.Node, []tree.Problem) {
	p := parser{src: src, opt: opt}
	if len(src) > MaxBytes {
		p.log.Add(tree.Problem{Offset: MaxBytes, Code: tree.CodeSize, Msg: fmt.Sprintf("the document has more than %d bytes", MaxBytes)})
		return nil, p.log.Problems()
	}
	if strings.HasPrefix(string(src[:min(3, len(src))]), "\ufeff") {
		p.pos = 3
	}
	var root *tree.Node
	if p.space() {
		root = p.value(0)
	}
	if !p.lost && p.space() && p.pos < len(src) {
		p.fail(p.pos, "unexpected "+p.what(p.pos)+" after the end of the document")
	}
	return root, p.log.Problems()
}

type parser struct {
	src  []byte
	pos  int
	opt  Options
	log  tree.Log
	size int  // nodes so far
	lost bool // the structure is lost: stop everywhere
}

// fail notes a syntax problem from which there is no going on.
func (p *parser) fail(at int, msg string) {
	if !p.lost {
		p.lost = true
		p.log.Add(tree.Problem{Offset: at, Code: tree.CodeSyntax, Msg: msg})
	}
}

func (p *parser) note(at int, code, msg, hint string) {
	p.log.Add(tree.Problem{Offset: at, Code: code, Msg: msg, Hint: hint})
}

// what names the character at an offset for a message.
func (p *parser) what(at int) string {
	if at >= len(p.src) {
		return "end of the document"
	}
	r, size := utf8.DecodeRune(p.src[at:])
	if r == utf8.RuneError && size <= 1 {
		return fmt.Sprintf("byte 0x%02x", p.src[at])
	}
	return fmt.Sprintf("%q", r)
}

// space skips blanks and comments and reports whether the structure still holds.
func (p *parser) space() bool {
	for p.pos < len(p.src) && !p.lost {
		switch p.src[p.pos] {
		case ' ', '\t', '\n', '\r':
			p.pos++
		case '/':
			if !p.comment() {
				return false
			}
		default:
			return true
		}
	}
	return !p.lost
}

func (p *parser) comment() bool {
	start, rest := p.pos, p.src[p.pos:]
	switch {
	case len(rest) > 1 && rest[1] == '/':
		for p.pos < len(p.src) && p.src[p.pos] != '\n' && p.src[p.pos] != '\r' {
			p.pos++
		}
	case len(rest) > 1 && rest[1] == '*':
		end := bytes.Index(rest[2:], []byte("*/"))
		if end < 0 {
			p.fail(start, "the comment is not closed")
			return false
		}
		p.pos += 2 + end + 2
	default:
		p.fail(start, "unexpected '/'")
		return false
	}
	if !p.opt.Comments {
		p.note(start, tree.CodeSyntax, "comments are not allowed in this file", "")
	}
	p.checkText(start, p.pos)
	return true
}

// checkText reports broken UTF-8 and NUL bytes where no string is read.
func (p *parser) checkText(start, end int) {
	for i := start; i < end; {
		r, size := utf8.DecodeRune(p.src[i:end])
		if r == utf8.RuneError && size == 1 || r == 0 {
			p.note(i, tree.CodeEncoding, "the file is not UTF-8 text here ("+p.what(i)+")", "")
			return
		}
		i += size
	}
}

func (p *parser) value(depth int) *tree.Node {
	if depth > MaxDepth {
		p.lost = true
		p.note(p.pos, tree.CodeDepth, fmt.Sprintf("nested more than %d levels deep", MaxDepth), "")
		return nil
	}
	if p.size++; p.size > MaxNodes {
		p.lost = true
		p.note(p.pos, tree.CodeSize, fmt.Sprintf("the document holds more than %d values", MaxNodes), "")
		return nil
	}
	if p.pos >= len(p.src) {
		p.fail(p.pos, "a value is missing at the end of the document")
		return nil
	}
	switch c := p.src[p.pos]; {
	case c == '{':
		return p.object(depth)
	case c == '[':
		return p.array(depth)
	case c == '"':
		return p.str()
	case c == '-' || '0' <= c && c <= '9':
		return p.number()
	case 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z':
		return p.word()
	}
	p.fail(p.pos, "expected a value, found "+p.what(p.pos))
	return nil
}

func (p *parser) object(depth int) *tree.Node {
	n := &tree.Node{Kind: tree.Object, Style: tree.Flow, Start: p.pos}
	if depth == 0 {
		n.Members = make([]tree.Member, 0, few)
	}
	var seen map[string]int
	p.pos++
	for p.next(&n.End, '}', len(n.Members)) {
		if p.src[p.pos] != '"' {
			p.fail(p.pos, "expected a key in double quotes or '}', found "+p.what(p.pos))
			return n
		}
		key := p.str()
		if key == nil || !p.space() {
			return n
		}
		if p.pos >= len(p.src) || p.src[p.pos] != ':' {
			p.fail(p.pos, "expected ':' after the key, found "+p.what(p.pos))
			return n
		}
		p.pos++
		if !p.space() {
			return n
		}
		seen = p.duplicate(n, key, seen)
		if v := p.value(depth + 1); v != nil {
			n.Members = append(n.Members, tree.Member{Key: key.Str, KeyNode: key, Value: v})
		}
	}
	return n
}

// few is how many members are compared one by one; a map would cost more.
const few = 12

// duplicate reports key if n has it already. Beyond few members it needs the
// map of first places, which it makes and returns.
func (p *parser) duplicate(n, key *tree.Node, seen map[string]int) map[string]int {
	first, dup := 0, false
	if len(n.Members) < few {
		if m := n.Member(key.Str); m != nil {
			first, dup = m.KeyNode.Start, true
		}
	} else {
		if seen == nil {
			seen = make(map[string]int, 2*few)
			for _, m := range n.Members {
				if _, ok := seen[m.Key]; !ok {
					seen[m.Key] = m.KeyNode.Start
				}
			}
		}
		if first, dup = seen[key.Str]; !dup {
			seen[key.Str] = key.Start
		}
	}
	if dup {
		p.log.Add(tree.Problem{Offset: key.Start, Code: tree.CodeDuplicate, Also: []int{first},
			Msg: fmt.Sprintf("the key %.60q stands twice in one object", key.Str), Hint: "keep one of the two"})
	}
	return seen
}

func (p *parser) array(depth int) *tree.Node {
	n := &tree.Node{Kind: tree.Array, Style: tree.Flow, Start: p.pos}
	p.pos++
	for p.next(&n.End, ']', len(n.Elems)) {
		if v := p.value(depth + 1); v != nil {
			n.Elems = append(n.Elems, v)
		}
	}
	return n
}

// next moves to the next item of a collection that holds count already, over
// the comma between, and reports whether there is one. At the closing bracket it
// sets end.
func (p *parser) next(end *int, closing byte, count int) bool {
	*end = p.pos
	if !p.space() {
		return false
	}
	comma := -1
	if count > 0 && p.pos < len(p.src) && p.src[p.pos] == ',' {
		comma = p.pos
		p.pos++
		if !p.space() {
			return false
		}
	}
	*end = p.pos
	if p.pos >= len(p.src) {
		p.fail(p.pos, fmt.Sprintf("the document ends before the closing '%c'", closing))
		return false
	}
	if p.src[p.pos] == closing {
		if comma >= 0 && !p.opt.TrailingCommas {
			p.note(comma, tree.CodeSyntax, fmt.Sprintf("a comma before '%c' is not allowed in this file", closing), "remove the comma")
		}
		p.pos++
		*end = p.pos
		return false
	}
	if count > 0 && comma < 0 {
		p.fail(p.pos, fmt.Sprintf("expected ',' or '%c', found %s", closing, p.what(p.pos)))
		return false
	}
	return true
}

// word reads true, false or null; any other word is named in the problem.
func (p *parser) word() *tree.Node {
	start := p.pos
	for p.pos < len(p.src) && isWord(p.src[p.pos]) {
		p.pos++
	}
	n := &tree.Node{Start: start, End: p.pos}
	switch w := string(p.src[start:p.pos]); w {
	case "true", "false":
		n.Kind, n.Bool = tree.Bool, w == "true"
	case "null":
		n.Kind = tree.Null
	default:
		p.fail(start, fmt.Sprintf("expected a value, found %.40q", w))
		return nil
	}
	return n
}

func isWord(c byte) bool {
	return c == '_' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

func (p *parser) number() *tree.Node {
	start := p.pos
	for p.pos < len(p.src) && (isWord(p.src[p.pos]) || strings.IndexByte("+-.", p.src[p.pos]) >= 0) {
		p.pos++
	}
	text := string(p.src[start:p.pos])
	if !IsNumber(text) {
		p.fail(start, fmt.Sprintf("%.40q is not a number", text))
		return nil
	}
	return &tree.Node{Kind: tree.Number, Start: start, End: p.pos, Num: text}
}

// IsNumber reports whether s is a number as JSON writes it.
func IsNumber(s string) bool {
	digits := func() bool {
		n := 0
		for n < len(s) && '0' <= s[n] && s[n] <= '9' {
			n++
		}
		s = s[n:]
		return n > 0
	}
	s = strings.TrimPrefix(s, "-")
	if strings.HasPrefix(s, "0") {
		s = s[1:]
	} else if !digits() {
		return false
	}
	if strings.HasPrefix(s, ".") {
		if s = s[1:]; !digits() {
			return false
		}
	}
	if s != "" && (s[0] == 'e' || s[0] == 'E') {
		if s = s[1:]; s != "" && (s[0] == '+' || s[0] == '-') {
			s = s[1:]
		}
		if !digits() {
			return false
		}
	}
	return s == ""
}
