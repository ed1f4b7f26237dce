package code

import (
	"strings"

	"github.com/obstat/obstat/effect/internal/word"
	"github.com/obstat/obstat/effect/kb"
)

const pythonKeywords = " False None True and as assert break continue def del elif else except finally for from " +
	"global if import in is lambda nonlocal not or pass raise return try while with yield "

func keyword(name string) bool { return kb.HasWord(pythonKeywords, name, ' ') }

// A token is a name (n), a string (s), a number (0), the end of a line or an operator (o).
type token struct {
	kind  byte
	text  string // of a string, without its quotes
	plain bool   // a string is that very text, without escapes
	match int    // of a bracket that opens: the place of the one that closes it, or -1
}

// lex cuts Python into tokens; the expressions of its f-strings are lists of their own.
func (r *pythonReader) lex(text string) bool {
	for i, line := range strings.SplitN(text, "\n", 3) {
		if i < 2 && strings.HasPrefix(strings.TrimSpace(line), "#") && strings.Contains(line, "coding") {
			return false // `# coding: utf-7` gives all of it another meaning
		}
	}
	var out []token
	depth := 0
	for i := 0; i < len(text); {
		if n := blank(text[i:]); n > 0 {
			if text[i] == '\n' && depth == 0 {
				out = append(out, token{kind: '\n'})
			}
			i += n
			continue
		}
		tok, n := r.next(text[i:])
		if n == 0 {
			return false
		}
		if tok.kind == 'o' && strings.Contains("([{", tok.text) {
			depth++
		} else if tok.kind == 'o' && strings.Contains(")]}", tok.text) {
			depth--
		}
		out, i = append(out, tok), i+n
	}
	return r.add(out)
}

// blank returns the length of white space, a comment or the end of a line at the beginning of text.
func blank(text string) int {
	switch {
	case strings.IndexByte(" \t\n", text[0]) >= 0:
		return 1
	case strings.HasPrefix(text, "\\\n"):
		return 2
	case text[0] == '#':
		if n := strings.IndexByte(text, '\n'); n >= 0 {
			return n
		}
		return len(text)
	}
	return 0
}

// next reads the token at the beginning of text, n bytes; 0 if there is none that is understood.
func (r *pythonReader) next(text string) (tok token, n int) {
	switch ch := text[0]; {
	case ch >= '0' && ch <= '9':
		n = codeNumber(text)
		return token{kind: '0', text: text[:n]}, n
	case ch == '"' || ch == '\'' || word.IsByte(ch):
		return r.nameOrString(text)
	case strings.HasPrefix(text, ":="):
		return token{kind: 'o', text: ":="}, 2
	case strings.IndexByte("=!<>", ch) >= 0 && len(text) > 1 && text[1] == '=':
		return token{kind: 'o', text: "=="}, 2
	case strings.IndexByte("()[]{}.,;:=+-*/%<>&|^~@!", ch) >= 0:
		return token{kind: 'o', text: text[:1]}, 1
	}
	return token{}, 0
}

// nameOrString reads a name, or a string with the letters before its quotes.
func (r *pythonReader) nameOrString(text string) (tok token, n int) {
	for n < len(text) && word.IsByte(text[n]) {
		n++
	}
	name := text[:n]
	if !plainWord(name) {
		return token{}, 0
	}
	if n < len(text) && (text[n] == '"' || text[n] == '\'') && len(name) <= 2 {
		tok, size, ok := r.pythonString(strings.ToLower(name), text[n:])
		if !ok {
			return token{}, 0
		}
		return tok, n + size
	}
	return token{kind: 'n', text: name}, n
}

// pythonString reads the string at the beginning of text, n bytes, behind a prefix.
func (r *pythonReader) pythonString(prefix, text string) (tok token, n int, ok bool) {
	quote := text[:1]
	if strings.HasPrefix(text, strings.Repeat(quote, 3)) {
		quote = text[:3]
	}
	for n = len(quote); !strings.HasPrefix(text[n:], quote); n++ {
		if n < len(text) && text[n] == '\\' {
			n++
		}
		if n >= len(text) || text[n] == '\n' && len(quote) == 1 {
			return tok, 0, false
		}
	}
	value := text[len(quote):n]
	tok = token{kind: 's', text: value, plain: prefix == "" && !strings.Contains(value, `\`)}
	if strings.ContainsAny(prefix, "ft") && !r.pythonFormat(value) || strings.Trim(prefix, "frbut") != "" {
		return tok, 0, false
	}
	return tok, n + len(quote), true
}

// pythonFormat reads the expressions of an f-string.
func (r *pythonReader) pythonFormat(s string) bool {
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '\\' && (i+1 == len(s) || strings.IndexByte(`nt\'"`, s[i+1]) < 0):
			return false
		case strings.HasPrefix(s[i:], "{{"), strings.HasPrefix(s[i:], "}}"), s[i] == '\\':
			i++
		case s[i] == '}':
			return false
		case s[i] == '{':
			expr, n := formatField(s[i+1:])
			if n < 0 || !r.lex(expr) {
				return false
			}
			i += 1 + n
		}
	}
	return true
}

// formatField returns the expression of a field of an f-string, without its conversion and format, and where the
// field ends; -1 if it is not understood.
func formatField(s string) (expr string, end int) {
	depth, colon := 0, -1
	for ; end < len(s) && (depth > 0 || s[end] != '}'); end++ {
		switch ch := s[end]; {
		case ch == '\\' || ch == '#' || colon >= 0 && strings.IndexByte("{'\"", ch) >= 0:
			return "", -1
		case ch == '\'' || ch == '"': // a bracket in there is no bracket
			n := strings.IndexByte(s[end+1:], ch)
			if n < 0 {
				return "", -1
			}
			end += n + 1
		case strings.IndexByte("([{", ch) >= 0:
			depth++
		case strings.IndexByte(")]}", ch) >= 0:
			depth--
		case ch == ':' && depth == 0 && colon < 0:
			colon = end
		}
	}
	if end >= len(s) {
		return "", -1
	}
	if expr = s[:end]; colon >= 0 {
		expr = s[:colon]
	}
	expr = strings.TrimSuffix(strings.TrimSpace(expr), "=")
	for _, conversion := range [...]string{"!r", "!s", "!a"} {
		expr = strings.TrimSuffix(expr, conversion)
	}
	return strings.TrimSpace(expr), end
}

// plainWord reports whether a name is ASCII: Python takes a wide `ｅval` for eval.
func plainWord(s string) bool {
	return strings.IndexFunc(s, func(ch rune) bool { return ch >= 0x80 }) < 0
}

// tokenAt returns the token at a place, an end if there is none.
func tokenAt(t []token, i int) token {
	if i < 0 || i >= len(t) {
		return token{kind: '\n'}
	}
	return t[i]
}

func (t token) is(text string) bool { return t.kind != 's' && t.text == text }

func (t token) opens() bool  { return t.is("(") || t.is("[") || t.is("{") }
func (t token) closes() bool { return t.is(")") || t.is("]") || t.is("}") }

// codeNumber returns the length of the number at the beginning of text, 0 if more could belong to it.
func codeNumber(text string) int {
	n := 0
	digits := func() {
		for n < len(text) && (text[n] >= '0' && text[n] <= '9' || text[n] == '_') {
			n++
		}
	}
	if digits(); n+1 < len(text) && text[n] == '.' && text[n+1] >= '0' && text[n+1] <= '9' {
		n++
		digits()
	} else if len(text) > 2 && (text[:2] == "0x" || text[:2] == "0X") {
		for n = 2; n < len(text) && strings.IndexByte("0123456789abcdefABCDEF_", text[n]) >= 0; n++ {
		}
	}
	if n < len(text) && (word.IsByte(text[n]) || text[n] == '.') {
		return 0
	}
	return n
}

// add keeps a list of tokens, with its brackets matched.
func (r *pythonReader) add(t []token) bool {
	var open []int
	for i := range t {
		switch t[i].match = -1; {
		case t[i].kind != 'o':
		case strings.Contains("([{", t[i].text):
			open = append(open, i)
		case strings.Contains(")]}", t[i].text):
			if len(open) == 0 {
				return false
			}
			t[open[len(open)-1]].match = i
			open = open[:len(open)-1]
		}
	}
	r.lists = append(r.lists, t)
	return len(open) == 0 && len(r.lists) < maxLists
}

// maxLists bounds the expressions inside strings.
const maxLists = 200

// begins reports whether a statement begins at i.
func begins(t []token, i int) bool {
	before := tokenAt(t, i-1)
	return before.kind == '\n' || before.is(";") || before.is(":")
}
