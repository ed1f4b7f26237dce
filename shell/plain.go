package shell

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// plainTree builds the tree of a list of commands of plain words, `cd web && npm test | tail -5`,
// as the parser does, without its cost: most commands are such. With the parser instead, a call's
// way through the gate takes 1.11 times the processor time (82 everyday commands, 60 pairs in turns);
// the start of a hook does not feel it. Its memory is used again for the next text. A test holds its
// trees against the parser's.
type plainTree struct {
	file   syntax.File
	tokens []plainToken
	words  []plainWord
	args   []*syntax.Word
	calls  []syntax.CallExpr
	stmts  []syntax.Stmt
	ops    []syntax.BinaryCmd
	list   []*syntax.Stmt
	next   int // token
}

// plainWord is a word of one part.
type plainWord struct {
	word  syntax.Word
	parts [1]syntax.WordPart
	lit   syntax.Lit
}

// plainQuoted is the part of a word in double quotes.
type plainQuoted struct {
	syntax.DblQuoted
	inside [1]syntax.WordPart
}

type plainToken struct {
	start, end int32
	kind       byte // first byte of an operator or a quote, 'w' for a word, 'a' for &&, 'o' for ||
}

// plainMost is how many tokens a text may have whose memory is kept.
const plainMost = 64

// plainBytes is the kind of an unquoted byte: 1 is part of a word, 2 a blank, 3 an operator or a
// quote. Others, such as $ and <, need the parser.
var plainBytes = [256]byte{
	' ': 2, '\t': 2, ';': 3, '|': 3, '&': 3, '\'': 3, '"': 3,
	'!': 1, '%': 1, '*': 1, '+': 1, ',': 1, '-': 1, '.': 1, '/': 1, ':': 1, '=': 1, '?': 1, '@': 1, '^': 1, '_': 1, '{': 1, '}': 1, '~': 1,
	'0': 1, '1': 1, '2': 1, '3': 1, '4': 1, '5': 1, '6': 1, '7': 1, '8': 1, '9': 1,
	'a': 1, 'b': 1, 'c': 1, 'd': 1, 'e': 1, 'f': 1, 'g': 1, 'h': 1, 'i': 1, 'j': 1, 'k': 1, 'l': 1, 'm': 1, 'n': 1, 'o': 1, 'p': 1, 'q': 1, 'r': 1, 's': 1, 't': 1, 'u': 1, 'v': 1, 'w': 1, 'x': 1, 'y': 1, 'z': 1,
	'A': 1, 'B': 1, 'C': 1, 'D': 1, 'E': 1, 'F': 1, 'G': 1, 'H': 1, 'I': 1, 'J': 1, 'K': 1, 'L': 1, 'M': 1, 'N': 1, 'O': 1, 'P': 1, 'Q': 1, 'R': 1, 'S': 1, 'T': 1, 'U': 1, 'V': 1, 'W': 1, 'X': 1, 'Y': 1, 'Z': 1,
}

// read returns the tree of src, nil if that needs the parser.
func (t *plainTree) read(src string) *syntax.File {
	if !t.tokenize(src) {
		return nil
	}
	n, words := len(t.tokens), 0
	for i := range t.tokens {
		if t.tokens[i].isWord() {
			words++
		}
	}
	ops := n - words + 1 // or commands, at most
	t.words, t.args, t.calls = slices.Grow(t.words[:0], words), slices.Grow(t.args[:0], words), slices.Grow(t.calls[:0], ops)
	t.stmts, t.ops, t.list = slices.Grow(t.stmts[:0], 2*ops), slices.Grow(t.ops[:0], ops), t.list[:0]
	for t.next = 0; t.next < n; {
		s := t.andOr(src)
		if s == nil {
			return nil
		}
		t.list = append(t.list, s)
		if t.next < n { // andOr stops before nothing else
			s.Semicolon = plainPos(t.tokens[t.next].start)
			t.next++
		}
	}
	t.file = syntax.File{Stmts: t.list}
	return &t.file
}

// release forgets the text.
func (t *plainTree) release() {
	if cap(t.tokens) > plainMost {
		*t = plainTree{}
		return
	}
	clear(t.words)
}

func (k plainToken) isWord() bool { return k.kind == 'w' || k.kind == '\'' || k.kind == '"' }

func plainPos(at int32) syntax.Pos { return syntax.NewPos(uint(at), 1, uint(at)+1) }

// tokenize splits src into words and operators and reports whether it is plain.
func (t *plainTree) tokenize(src string) bool {
	t.tokens = t.tokens[:0]
	for i := 0; i < len(src); {
		start := i
		switch plainBytes[src[i]] {
		case 1:
			for i < len(src) && plainBytes[src[i]] == 1 {
				i++
			}
			t.tokens = append(t.tokens, plainToken{int32(start), int32(i), 'w'})
		case 2:
			i++
			continue
		case 3:
			kind := src[i]
			if i = operatorEnd(src, i); i < 0 {
				return false
			}
			if i == start+2 && kind == '&' {
				kind = 'a'
			} else if i == start+2 && kind == '|' {
				kind = 'o'
			}
			if t.tokens = append(t.tokens, plainToken{int32(start), int32(i), kind}); kind != '"' && kind != '\'' {
				continue
			}
		default:
			return false
		}
		if i < len(src) && (plainBytes[src[i]] == 1 || src[i] == '"' || src[i] == '\'') {
			return false // a word of several parts
		}
	}
	return len(t.tokens) > 0
}

// operatorEnd returns where an operator or a quoted string ends, -1 if it is not a plain one.
func operatorEnd(src string, at int) int {
	switch c := src[at]; c {
	case ';':
		return at + 1
	case '\'':
		if end := strings.IndexByte(src[at+1:], c); end >= 0 && strings.IndexByte(src[at+1:at+1+end], '\n') < 0 {
			return at + end + 2
		}
	case '"':
		end := strings.IndexByte(src[at+1:], c)
		if end > 0 && !strings.ContainsAny(src[at+1:at+1+end], "\\$`\n") {
			return at + end + 2
		}
	default:
		double := at+1 < len(src) && src[at+1] == c
		switch {
		case double:
			return at + 2
		case c == '|' && (at+1 == len(src) || src[at+1] != '&'):
			return at + 1
		}
	}
	return -1
}

// andOr reads pipelines up to a semicolon or the end; nil is text for the parser.
func (t *plainTree) andOr(src string) *syntax.Stmt {
	s := t.pipeline(src)
	for s != nil && t.next < len(t.tokens) && (t.tokens[t.next].kind == 'a' || t.tokens[t.next].kind == 'o') {
		s = t.binary(s, src, t.pipeline)
	}
	return s
}

func (t *plainTree) pipeline(src string) *syntax.Stmt {
	s := t.simple(src)
	for s != nil && t.next < len(t.tokens) && t.tokens[t.next].kind == '|' {
		s = t.binary(s, src, t.simple)
	}
	return s
}

// binary joins s and the command that right reads by the operator that comes next.
func (t *plainTree) binary(s *syntax.Stmt, src string, right func(string) *syntax.Stmt) *syntax.Stmt {
	op := t.tokens[t.next]
	t.next++
	y := right(src)
	if y == nil {
		return nil
	}
	b := syntax.BinaryCmd{OpPos: plainPos(op.start), Op: syntax.Pipe, X: s, Y: y}
	switch op.kind {
	case 'a':
		b.Op = syntax.AndStmt
	case 'o':
		b.Op = syntax.OrStmt
	}
	t.ops = append(t.ops, b)
	t.stmts = append(t.stmts, syntax.Stmt{Position: s.Position, Cmd: &t.ops[len(t.ops)-1]})
	return &t.stmts[len(t.stmts)-1]
}

// simple reads the words of one command.
func (t *plainTree) simple(src string) *syntax.Stmt {
	first, from := t.next, len(t.args)
	for t.next < len(t.tokens) {
		tok := t.tokens[t.next]
		if !tok.isWord() {
			break
		}
		t.args = append(t.args, t.word(src, tok))
		t.next++
	}
	if t.next == first || t.tokens[first].kind == 'w' && special(src[t.tokens[first].start:t.tokens[first].end]) {
		return nil
	}
	t.calls = append(t.calls, syntax.CallExpr{Args: t.args[from:len(t.args):len(t.args)]})
	t.stmts = append(t.stmts, syntax.Stmt{Position: plainPos(t.tokens[first].start), Cmd: &t.calls[len(t.calls)-1]})
	return &t.stmts[len(t.stmts)-1]
}

func (t *plainTree) word(src string, tok plainToken) *syntax.Word {
	t.words = append(t.words, plainWord{})
	w := &t.words[len(t.words)-1]
	start, end := plainPos(tok.start), plainPos(tok.end)
	last := plainPos(tok.end - 1)
	switch tok.kind {
	case '\'':
		w.parts[0] = &syntax.SglQuoted{Left: start, Right: last, Value: src[tok.start+1 : tok.end-1]}
	case '"':
		w.lit = syntax.Lit{ValuePos: plainPos(tok.start + 1), ValueEnd: last, Value: src[tok.start+1 : tok.end-1]}
		q := &plainQuoted{inside: [1]syntax.WordPart{&w.lit}}
		q.DblQuoted = syntax.DblQuoted{Left: start, Right: last, Parts: q.inside[:]}
		w.parts[0] = &q.DblQuoted
	default:
		w.lit = syntax.Lit{ValuePos: start, ValueEnd: end, Value: src[tok.start:tok.end]}
		w.parts[0] = &w.lit
	}
	w.word.Parts = w.parts[:]
	return &w.word
}

// special reports whether the parser may take the first word of a command for something else than
// a program: a keyword, an assignment.
func special(word string) bool {
	switch word {
	case "{", "}", "!", "{}", "if", "then", "elif", "else", "fi", "while", "until", "for", "do", "done", "case", "esac", "in", "select",
		"let", "function", "declare", "local", "export", "readonly", "typeset", "nameref", "time", "coproc", "@test":
		return true
	}
	return strings.IndexByte(word, '=') >= 0
}
