package re

import (
	"fmt"
	"strings"
)

// A token is a character of an expression, or a backslash with the character
// after it. The zero token is the end.
type token struct {
	r   rune
	esc bool
	ok  bool
}

func (t token) is(r rune) bool { return t.ok && !t.esc && t.r == r }

func (t token) in(chars string) bool {
	return t.ok && !t.esc && strings.ContainsRune(chars, t.r)
}

func (t token) digit() bool { return t.in("0123456789") }
func (t token) octal() bool { return t.in("01234567") }

func (t token) len() int {
	switch {
	case !t.ok:
		return 0
	case t.esc:
		return 2
	}
	return 1
}

func (t token) String() string {
	switch {
	case !t.ok:
		return ""
	case t.esc:
		return `\` + string(t.r)
	}
	return string(t.r)
}

// tokens reads an expression with one token of look-ahead, since a backslash
// at the very end is an error as soon as it comes in sight.
type tokens struct {
	src   []rune
	index int // after next
	next  token
}

// parseError carries a SyntaxError out of the reader; its offset is in
// characters until compileRE turns it into bytes.
type parseError struct {
	off int
	msg string
}

func newTokens(src []rune) *tokens {
	t := &tokens{src: src}
	t.advance()
	return t
}

func (t *tokens) advance() {
	i := t.index
	if i >= len(t.src) {
		t.next = token{}
		return
	}
	tok := token{r: t.src[i], ok: true}
	if tok.r == '\\' {
		i++
		if i >= len(t.src) {
			panic(parseError{len(t.src) - 1, "bad escape (end of pattern)"})
		}
		tok = token{r: t.src[i], esc: true, ok: true}
	}
	t.index = i + 1
	t.next = tok
}

// tell returns where next starts.
func (t *tokens) tell() int { return t.index - t.next.len() }

func (t *tokens) seek(i int) {
	t.index = i
	t.advance()
}

func (t *tokens) get() token {
	tok := t.next
	t.advance()
	return tok
}

func (t *tokens) match(r rune) bool {
	if !t.next.is(r) {
		return false
	}
	t.advance()
	return true
}

// while takes at most n tokens out of chars.
func (t *tokens) while(n int, chars string) string {
	var b strings.Builder
	for ; n > 0 && t.next.in(chars); n-- {
		b.WriteRune(t.next.r)
		t.advance()
	}
	return b.String()
}

// until takes a name that ends with the character end.
func (t *tokens) until(end rune, what string) []rune {
	var name []rune
	for {
		tok := t.get()
		switch {
		case !tok.ok && len(name) == 0:
			t.fail(0, "missing %s", what)
		case !tok.ok:
			t.fail(len(name), "missing %c, unterminated name", end)
		case tok.is(end) && len(name) == 0:
			t.fail(1, "missing %s", what)
		case tok.is(end):
			return name
		}
		name = append(name, []rune(tok.String())...)
	}
}

// fail ends the reading with an error back characters before the next token.
func (t *tokens) fail(back int, format string, args ...any) {
	panic(parseError{t.tell() - back, fmt.Sprintf(format, args...)})
}

func errorAt(off int, format string, args ...any) parseError {
	return parseError{off, fmt.Sprintf(format, args...)}
}
