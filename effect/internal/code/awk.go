package code

import (
	"strings"

	"github.com/obstat/obstat/effect/internal/word"
	"github.com/obstat/obstat/effect/kb"
)

// Awk returns the files that a program for awk writes; ok is false if it is not wholly understood.
func Awk(text string) (writes []string, ok bool) {
	r := awkReader{text: text}
	ok = r.read()
	return r.writes, ok
}

// awkReader tells whether an awk program does nothing but compute and print. It does not
// parse the language: it finds its way through strings, regular expressions and comments
// and gives up at every construct that can run or open something.
type awkReader struct {
	text   string
	at     int
	prev   byte // kind of the token before: o operator, v value, ) closing, + increment
	print  bool // inside a print statement
	depth  int  // of parentheses
	writes []string
}

var awkHarm = kb.Table("!awk-harm")

func (r *awkReader) read() bool {
	// These words do harm wherever they stand; that they may only be text is not looked at.
	if awkHarm().In(r.text) {
		return false
	}
	r.prev = 'o'
	for r.at < len(r.text) {
		if !r.token() {
			return false
		}
	}
	return true
}

func (r *awkReader) token() bool {
	ch := r.text[r.at]
	switch {
	case ch == ' ' || ch == '\t' || ch == '\r':
		r.at++
	case ch == '\\':
		r.at += 2 // a continued line
	case ch == '\n' || ch == ';' || ch == '{' || ch == '}':
		r.at++
		r.prev, r.print, r.depth = 'o', false, 0
	case ch == '#':
		for r.at < len(r.text) && r.text[r.at] != '\n' {
			r.at++
		}
	case ch == '"':
		_, ok := r.str()
		r.prev = 'v'
		return ok
	case ch == '/':
		return r.slash()
	case word.IsByte(ch) || ch == '$' || ch == '.':
		r.word()
	case ch == '(' || ch == '[':
		r.depth++
		r.at++
		r.prev = 'o'
	case ch == ')' || ch == ']':
		r.depth--
		r.at++
		r.prev = ')'
	default:
		return r.operator()
	}
	return true
}

func (r *awkReader) str() (string, bool) {
	start := r.at + 1
	for r.at++; r.at < len(r.text); r.at++ {
		switch r.text[r.at] {
		case '\\':
			r.at++
		case '\n':
			return "", false
		case '"':
			r.at++
			return r.text[start : r.at-1], true
		}
	}
	return "", false
}

// slash is a division after a value and a regular expression elsewhere; where that is not
// plain, the reader gives up.
func (r *awkReader) slash() bool {
	switch r.prev {
	case ')', '+':
		return false
	case 'v':
		r.at++
		r.prev = 'o'
		return true
	}
	bracket := false
	for r.at++; r.at < len(r.text); r.at++ {
		switch ch := r.text[r.at]; {
		case ch == '\\':
			r.at++
		case ch == '\n':
			return false
		case ch == '[':
			bracket = true
		case ch == ']':
			bracket = false
		case ch == '/' && bracket:
			return false // awks differ
		case ch == '/':
			r.at++
			r.prev = 'v'
			return true
		}
	}
	return false
}

func (r *awkReader) word() {
	start := r.at
	for r.at < len(r.text) && (word.IsByte(r.text[r.at]) || r.text[r.at] == '.' || r.text[r.at] == '$') {
		r.at++
	}
	r.prev = 'v'
	switch r.text[start:r.at] {
	case "print", "printf":
		r.print, r.depth, r.prev = true, 0, 'o'
	case "in", "return", "else", "do", "delete", "exit", "case", "$":
		r.prev = 'o'
	}
}

// operator reads one operator. A > of a print statement is a redirection, a single | a pipe.
func (r *awkReader) operator() bool {
	two := r.text[r.at:min(r.at+2, len(r.text))]
	switch two {
	case "||", "&&", "==", "!=", "<=", ">=", "+=", "-=", "*=", "/=", "%=", "^=", "!~":
		r.at += 2
		r.prev = 'o'
		return !(two == ">=" && r.print && r.depth == 0)
	case "++", "--":
		r.at += 2
		r.prev = '+'
		return true
	}
	switch ch := r.text[r.at]; ch {
	case '|':
		return false
	case '>':
		if r.print && r.depth == 0 {
			return r.redirect()
		}
	case '<', '+', '-', '*', '%', '^', '!', '~', '?', ':', ',', '=', '&':
	default:
		return false
	}
	r.at++
	r.prev = 'o'
	return true
}

// redirect is understood if the target is a plain string at the end of the statement.
func (r *awkReader) redirect() bool {
	for r.at < len(r.text) && (r.text[r.at] == '>' || r.text[r.at] == ' ') {
		r.at++
	}
	if r.at >= len(r.text) || r.text[r.at] != '"' {
		return false
	}
	name, ok := r.str()
	if !ok || strings.ContainsRune(name, '\\') {
		return false
	}
	for r.at < len(r.text) && r.text[r.at] == ' ' {
		r.at++
	}
	if r.at < len(r.text) && strings.IndexByte(";\n}", r.text[r.at]) < 0 {
		return false
	}
	r.writes = append(r.writes, name)
	return true
}
