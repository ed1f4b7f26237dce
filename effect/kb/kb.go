// Package kb holds the knowledge base as text: blocks of lines about programs, and tables of words.
//
// It owns the files beside it and the cutting of them into blocks; README.md says how they are
// written. It does not know roles, verbs or flags: package effect compiles the blocks.
package kb

import (
	_ "embed"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// index names the file of each block, one `name file` a line, sorted by name: a process that
// decides one call reads no more than that file.
//
//go:generate go test -run ^TestIndexIsCurrent$ -update
//go:embed index.txt
var index string

// Text returns a file of the knowledge base, "" if there is none of that name.
func Text(file string) string {
	for i := range files {
		if files[i].name == file {
			return *files[i].text
		}
	}
	return ""
}

// Names yields the programs that have a block, sorted.
func Names() iter.Seq[string] {
	return func(yield func(string) bool) {
		for line := range strings.Lines(index) {
			if name, _, _ := strings.Cut(line, " "); !Special(name) && !yield(name) {
				return
			}
		}
	}
}

// A Block describes one or more programs, or is a table that its first word names.
type Block struct {
	Head string // names of programs, or `!env harmless`
	Body string
	Line int
}

// Special reports whether a name is that of a group of flags, `@look`, or of a table, `!verbs`.
func Special(name string) bool { return name != "" && (name[0] == '@' || name[0] == '!') }

// has reports whether the block is found by a name. A special block has one name, and words after it.
func (b *Block) has(name string) bool {
	if Special(b.Head) {
		first, _, _ := strings.Cut(b.Head, " ")
		return first == name
	}
	return HasWord(b.Head, name, ' ')
}

// Find yields the blocks of a name.
func Find(name string) iter.Seq[Block] {
	return func(yield func(Block) bool) {
		for at := firstLine(index, name); ; {
			line, rest, _ := strings.Cut(index[at:], "\n")
			key, file, _ := strings.Cut(line, " ")
			if key != name || name == "" {
				return
			}
			for b := range named(Text(file), name) {
				if !yield(b) {
					return
				}
			}
			at = len(index) - len(rest)
		}
	}
}

// FindIn returns Find over a text that is not part of the knowledge base, for tests and tools.
func FindIn(text string) func(name string) iter.Seq[Block] {
	return func(name string) iter.Seq[Block] { return named(text, name) }
}

func named(text, name string) iter.Seq[Block] {
	return func(yield func(Block) bool) {
		for b := range Blocks(text) {
			if b.has(name) && !yield(b) {
				return
			}
		}
	}
}

// firstLine returns the start of the first line of a sorted list whose name is not before name.
func firstLine(list, name string) int {
	lo, hi := 0, len(list)
	for lo < hi {
		mid := lo + strings.LastIndexByte(list[lo:lo+(hi-lo)/2], '\n') + 1
		line, _, _ := strings.Cut(list[mid:hi], "\n")
		if key, _, _ := strings.Cut(line, " "); key < name {
			lo = mid + len(line) + 1
		} else {
			hi = mid
		}
	}
	return min(lo, len(list))
}

// Blocks yields the blocks of a text. A block begins with a line that begins in the first
// column, and a comment there ends it.
func Blocks(text string) iter.Seq[Block] {
	return func(yield func(Block) bool) {
		start, startLine, line := -1, 0, 1
		for at := 0; at < len(text); line++ {
			if ch := text[at]; ch != '\t' && ch != ' ' && ch != '\n' {
				if start >= 0 && !yield(newBlock(text[start:at], startLine)) {
					return
				}
				start, startLine = at, line
				if ch == '#' {
					start = -1
				}
			}
			next := strings.IndexByte(text[at:], '\n')
			if next < 0 {
				break
			}
			at += next + 1
		}
		if start >= 0 {
			yield(newBlock(text[start:], startLine))
		}
	}
}

func newBlock(text string, line int) Block {
	head, body, _ := strings.Cut(text, "\n")
	if i := strings.Index(head, " #"); i >= 0 {
		head = head[:i]
	}
	return Block{Head: head, Body: body, Line: line}
}

// HasWord reports whether word is one of the words of s, which sep separates.
func HasWord(s, word string, sep byte) bool {
	if strings.IndexByte(word, sep) >= 0 {
		return false
	}
	for from := 0; ; {
		i := strings.Index(s[from:], word)
		if i < 0 || word == "" {
			return false
		}
		i += from
		end := i + len(word)
		if (i == 0 || s[i-1] == sep) && (end == len(s) || s[end] == sep) {
			return true
		}
		from = i + 1
	}
}

// A List is a table of words, of which some are patterns: `!compilers` has `gcc` and `*-gcc`.
//
// A process that decides one call looks its words up in the text; one that goes on makes an index of it.
type List struct {
	text  string // the words between blanks
	forms []form // the patterns
	asked atomic.Int32
	index func() map[string]struct{}
}

// fewLooks is how often a list is searched before it gets an index.
const fewLooks = 16

// Table returns a function that reads the table `!name` when it is first asked.
func Table(name string) func() *List {
	return sync.OnceValue(func() *List { return Read(Find, name) })
}

// Read returns the words of a table.
func Read(find func(name string) iter.Seq[Block], table string) *List {
	var words []string
	for b := range find(table) {
		lex := Lexer{Text: b.Body}
		for w := lex.Next(); w != ""; w = lex.Next() {
			words = append(words, w)
		}
	}
	return NewList(words)
}

// NewList returns a list of words and patterns.
func NewList(words []string) *List {
	l := &List{}
	isPattern := func(w string) bool { return strings.Contains(w, "*") }
	for _, w := range words {
		if isPattern(w) {
			l.forms = append(l.forms, cut(w))
		}
	}
	l.text = strings.Join(slices.DeleteFunc(words, isPattern), " ")
	l.index = sync.OnceValue(func() map[string]struct{} {
		words := map[string]struct{}{}
		for w := range strings.SplitSeq(l.text, " ") {
			words[w] = struct{}{}
		}
		delete(words, "")
		return words
	})
	return l
}

// Has reports whether a word is in the list, by itself or by a pattern.
func (l *List) Has(word string) bool {
	if l == nil {
		return false
	}
	return l.hasWord(word) || l.matches(word)
}

func (l *List) matches(word string) bool {
	for i := range l.forms {
		if l.forms[i].matches(word) {
			return true
		}
	}
	return false
}

func (l *List) hasWord(word string) bool {
	if l.asked.Load() < fewLooks {
		l.asked.Add(1)
		return HasWord(l.text, word, ' ')
	}
	_, has := l.index()[word]
	return has
}

// Words returns the words of the list, patterns last.
func (l *List) Words() []string {
	words := strings.Fields(l.text)
	for i := range l.forms {
		words = append(words, l.forms[i].text)
	}
	return words
}

// In reports whether a word of the list stands anywhere in a text.
func (l *List) In(text string) bool {
	for w := range strings.SplitSeq(l.text, " ") {
		if w != "" && strings.Contains(text, w) {
			return true
		}
	}
	return false
}

// Match compares a text with a pattern of one `*` or two, which stand for any characters.
func Match(pattern, s string) bool {
	f := cut(pattern)
	return f.matches(s)
}

// A form is a pattern that was cut at its stars: `*-gcc`, `python*`, `*exec*`.
type form struct {
	text        string
	head, tail  string
	star, after bool // it has a star, and one behind tail
}

func cut(pattern string) form {
	head, tail, star := strings.Cut(pattern, "*")
	tail, _, after := strings.Cut(tail, "*")
	return form{pattern, head, tail, star, after}
}

func (f *form) matches(s string) bool {
	switch {
	case !f.star:
		return f.text == s
	case len(s) < len(f.head)+len(f.tail) || !strings.HasPrefix(s, f.head):
		return false
	case f.after:
		return strings.Contains(s[len(f.head):], f.tail)
	}
	return strings.HasSuffix(s, f.tail)
}

// An Error is a mistake in the knowledge base, at a line of the text that was compiled.
type Error struct {
	Line int // from 0
	Msg  string
}

// Error returns the message.
func (e *Error) Error() string { return e.Msg }

// A Lexer splits a body at white space; text in parentheses stays together, # begins a comment.
type Lexer struct {
	Text string
	At   int
}

// Fail returns an error at the line that the lexer has come to.
func (l *Lexer) Fail(format string, args ...any) error {
	return &Error{Line: strings.Count(l.Text[:l.At], "\n"), Msg: fmt.Sprintf(format, args...)}
}

// Line returns the rest of the line.
func (l *Lexer) Line() string {
	line, _, _ := strings.Cut(l.Text[l.At:], "\n")
	return line
}

// Next returns the next word, "" at the end.
func (l *Lexer) Next() string {
	for l.At < len(l.Text) {
		switch ch := l.Text[l.At]; {
		case ch == ' ' || ch == '\t' || ch == '\n' || ch == '\r':
			l.At++
		case ch == '#':
			for l.At < len(l.Text) && l.Text[l.At] != '\n' {
				l.At++
			}
		default:
			return l.word()
		}
	}
	return ""
}

func (l *Lexer) word() string {
	start, depth := l.At, 0
	for ; l.At < len(l.Text); l.At++ {
		switch l.Text[l.At] {
		case '(':
			depth++
		case ')':
			depth--
		case ' ', '\t', '\r':
			if depth <= 0 {
				return l.Text[start:l.At]
			}
		case '\n':
			return l.Text[start:l.At]
		}
	}
	return l.Text[start:l.At]
}

// Skip returns the text from an offset to the next line that begins with a keyword and a blank.
func (l *Lexer) Skip(from int, keyword string) string {
	for at := from; ; {
		i := strings.IndexByte(l.Text[at:], '\n')
		if i < 0 {
			l.At = len(l.Text)
			return l.Text[from:]
		}
		at += i + 1
		if strings.HasPrefix(strings.TrimLeft(l.Text[at:], " \t"), keyword) {
			l.At = at
			return l.Text[from:at]
		}
	}
}

// CutCall splits `name(detail)rest`; the name ends at +, ( or the end.
func CutCall(tok string) (name, detail, rest string) {
	i := strings.IndexAny(tok, "(+")
	switch {
	case i < 0:
		return tok, "", ""
	case tok[i] == '+':
		return tok[:i], "", tok[i:]
	}
	j := strings.IndexByte(tok, ')')
	if j < 0 {
		return tok[:i], tok[i+1:], ""
	}
	return tok[:i], tok[i+1 : j], tok[j+1:]
}
