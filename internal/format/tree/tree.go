// Package tree owns the positioned document tree that every configuration
// format is read into: values with the byte offsets they were written at, keys
// in the order of the file, and the problems found on the way, all of them.
//
// It reads no format itself (jsonx and yamlx do) and knows no dialect.
package tree

import (
	"bytes"
	"sort"
	"strconv"
	"unicode/utf8"
)

// A Kind is the sort of a Node's value. The zero Kind is no value at all.
type Kind uint8

// The kinds of value a document can hold.
const (
	Invalid Kind = iota
	Null
	Bool
	Number
	String
	Array
	Object
)

// String returns the word a message uses for k, with its article.
func (k Kind) String() string {
	switch k {
	case Null:
		return "null"
	case Bool:
		return "a boolean"
	case Number:
		return "a number"
	case String:
		return "a string"
	case Array:
		return "a list"
	case Object:
		return "an object"
	}
	return "nothing"
}

// A Style says how a node was written, which an edit has to keep.
type Style uint8

// The styles. JSON collections are Flow, JSON strings Double.
const (
	Plain   Style = iota // a bare scalar
	Single               // 'text'
	Double               // "text"
	Literal              // | block scalar
	Folded               // > block scalar
	Flow                 // [a, b] or {a: b}
	Block                // YAML collection laid out by indentation
	Pair                 // YAML mapping of one pair without braces: the a: b of [a: b]
)

// A Node is one value of a document. Offsets are bytes into the source:
// src[Start:End] is the value as it was written. A nil Node is safe to ask and
// holds nothing.
type Node struct {
	Kind       Kind
	Style      Style
	Start, End int

	Str  string // String: the decoded text
	Num  string // Number: the text as written
	Bool bool   // Bool: the value

	Members []Member // Object: in the order of the file
	Elems   []*Node  // Array

	// Alias is set where a YAML document wrote *name: the node it stands for.
	// Start and End are then those of the alias; the content is shared.
	Alias *Node
	// Anchor is the name a YAML document gave the node with &name. The anchor
	// and any tag stand before Start.
	Anchor string
}

// A Member is one key of an object with its value.
type Member struct {
	Key     string
	KeyNode *Node
	Value   *Node
	// Inherited marks a member that came in through a YAML merge key: its
	// offsets are those of the mapping it was written in.
	Inherited bool
}

// Get returns the value of key, or nil if n is no object or has no such key.
// Of two equal keys (a problem has been reported) the first counts.
func (n *Node) Get(key string) *Node {
	if m := n.Member(key); m != nil {
		return m.Value
	}
	return nil
}

// Member returns the member with that key, or nil.
func (n *Node) Member(key string) *Member {
	if n == nil {
		return nil
	}
	for i := range n.Members {
		if n.Members[i].Key == key {
			return &n.Members[i]
		}
	}
	return nil
}

// At follows a path of keys (string) and list indexes (int; -1 is the last
// element) and returns the node there, or nil.
func (n *Node) At(path ...any) *Node {
	for _, step := range path {
		switch s := step.(type) {
		case string:
			n = n.Get(s)
		case int:
			if n == nil {
				return nil
			}
			if s < 0 {
				s += len(n.Elems)
			}
			if s < 0 || s >= len(n.Elems) {
				return nil
			}
			n = n.Elems[s]
		default:
			return nil
		}
	}
	return n
}

// Is reports whether n is a value of kind k.
func (n *Node) Is(k Kind) bool { return n != nil && n.Kind == k }

// Text returns the text of a string, "" for any other value and for none.
func (n *Node) Text() string {
	if n.Is(String) {
		return n.Str
	}
	return ""
}

// Items returns the elements of a list, none for any other value and for none.
func (n *Node) Items() []*Node {
	if n.Is(Array) {
		return n.Elems
	}
	return nil
}

// Source returns the bytes of src that n was written with, or nil where n does
// not lie in src.
func (n *Node) Source(src []byte) []byte {
	if n == nil || n.Start < 0 || n.End < n.Start || n.End > len(src) {
		return nil
	}
	return src[n.Start:n.End]
}

// Equal reports whether a and b hold the same value: kinds, texts, order of
// keys. Positions, styles and the way it was shared do not count.
func Equal(a, b *Node) bool {
	if a == nil || b == nil {
		return a == b
	}
	if a.Kind != b.Kind || a.Str != b.Str || a.Num != b.Num || a.Bool != b.Bool ||
		len(a.Members) != len(b.Members) || len(a.Elems) != len(b.Elems) {
		return false
	}
	for i := range a.Members {
		if a.Members[i].Key != b.Members[i].Key || !Equal(a.Members[i].Value, b.Members[i].Value) {
			return false
		}
	}
	for i := range a.Elems {
		if !Equal(a.Elems[i], b.Elems[i]) {
			return false
		}
	}
	return true
}

// A Problem is one thing wrong with a document, at a byte offset of its source.
type Problem struct {
	Offset int
	Code   string // one of the Code constants
	Msg    string // one sentence, no position, no final full stop
	Hint   string // the way out; may be empty
	Also   []int  // other offsets that have to do with it, such as the first of two equal keys
	// Warning marks a problem that leaves the document's meaning certain. A
	// document with any other problem must not be used.
	Warning bool
}

// The codes of problems.
const (
	CodeSyntax    = "syntax"        // the text is not of its format
	CodeEncoding  = "encoding"      // not UTF-8, a lone surrogate, a NUL or another control character
	CodeDuplicate = "duplicate-key" // two equal keys in one object
	CodeDepth     = "too-deep"      // nested beyond the limit
	CodeSize      = "too-large"     // longer than the limit, or grows beyond it through aliases
	CodeUnknown   = "unknown-key"   // a key that is not among the known ones
	CodeCase      = "key-case"      // a known key in other capitals
	CodeMissing   = "missing-key"   // a required key is absent
	CodeType      = "wrong-type"    // a value of another kind than expected
	CodeValue     = "bad-value"     // a value of the right kind that is not one of those expected
	CodeAlias     = "alias"         // a YAML alias or merge key that cannot be resolved
	CodeDocuments = "documents"     // several YAML documents in one file
	CodeWord      = "yaml-1.1-word" // yes, no, on, off: a boolean to one YAML reader, text to another
	CodeTag       = "yaml-tag"      // a YAML tag that cannot be taken at its word
	CodeMore      = "more-problems" // there were more problems than are listed
)

// Error returns the message and the hint.
func (p Problem) Error() string {
	if p.Hint == "" {
		return p.Msg
	}
	return p.Msg + "; " + p.Hint
}

// Fatal reports whether any of ps is more than a warning.
func Fatal(ps []Problem) bool {
	for _, p := range ps {
		if !p.Warning {
			return true
		}
	}
	return false
}

// Sort orders ps by offset, keeping the order of problems at the same place.
func Sort(ps []Problem) {
	sort.SliceStable(ps, func(i, j int) bool { return ps[i].Offset < ps[j].Offset })
}

// MaxProblems is how many problems a Log keeps.
const MaxProblems = 100

// A Log collects problems up to MaxProblems. Its zero value is ready for use.
type Log struct{ list []Problem }

// Add appends p, or, where the log is full, notes once that there were more.
// A fatal problem is never lost: the note itself is fatal.
func (l *Log) Add(p Problem) {
	switch {
	case len(l.list) < MaxProblems:
		l.list = append(l.list, p)
	case len(l.list) == MaxProblems:
		l.list = append(l.list, Problem{Offset: p.Offset, Code: CodeMore, Msg: "there are more problems than the first " + strconv.Itoa(MaxProblems)})
	}
}

// Problems returns the collected problems, sorted by offset.
func (l *Log) Problems() []Problem {
	Sort(l.list)
	return l.list
}

// LineCol turns a byte offset into a line and a column, both counted from 1.
// Lines end with LF, CR LF or a lone CR; columns count characters (a broken
// byte counts as one), not bytes and not screen cells. A byte order mark at the
// start has no width. An offset outside src is taken to its nearer end.
func LineCol(src []byte, offset int) (line, col int) {
	offset = max(0, min(offset, len(src)))
	line = 1
	start := 0
	if len(src) >= 3 && string(src[:3]) == "\ufeff" {
		start = min(3, offset)
	}
	if before := src[start:offset]; bytes.IndexByte(before, '\r') < 0 {
		line += bytes.Count(before, []byte("\n"))
		start += bytes.LastIndexByte(before, '\n') + 1
		return line, utf8.RuneCount(src[start:offset]) + 1
	}
	for i := start; i < offset; i++ {
		if src[i] == '\n' || src[i] == '\r' && (i+1 >= len(src) || src[i+1] != '\n') {
			line++
			start = i + 1
		}
	}
	return line, utf8.RuneCount(src[start:offset]) + 1
}
