package obstat

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// A Pos is a place in a file. The zero Pos is no place; Line and Col count from
// one, Col in characters.
type Pos struct {
	File string `json:"file,omitempty"`
	Line int    `json:"line,omitempty"`
	Col  int    `json:"col,omitempty"`
}

// IsValid reports whether p names a place.
func (p Pos) IsValid() bool { return p.File != "" || p.Line > 0 }

// String returns file:line:col without the parts that are not known.
func (p Pos) String() string {
	switch {
	case p.Line == 0:
		return p.File
	case p.Col == 0:
		return p.File + ":" + strconv.Itoa(p.Line)
	case p.File == "":
		return strconv.Itoa(p.Line) + ":" + strconv.Itoa(p.Col)
	}
	return p.File + ":" + strconv.Itoa(p.Line) + ":" + strconv.Itoa(p.Col)
}

// Compare orders places by file, line and column.
func (p Pos) Compare(q Pos) int {
	return cmp.Or(cmp.Compare(p.File, q.File), cmp.Compare(p.Line, q.Line), cmp.Compare(p.Col, q.Col))
}

// A Code names a kind of problem; docs/errors.md lists them all.
type Code string

// The problems that configurations and Programs can have.
const (
	CodeSyntax       Code = "syntax"        // the text does not keep to its format
	CodeDuplicateKey Code = "duplicate-key" // an object names a key twice, or in two spellings
	CodeUnknownKey   Code = "unknown-key"   // a key that its object does not take
	CodeWrongType    Code = "wrong-type"    // a value of another type than its key takes
	CodeBadValue     Code = "bad-value"     // a value that its key does not take
	CodeBadPattern   Code = "bad-pattern"   // a pattern that does not compile
	CodeMissing      Code = "missing"       // something required is not there
	CodeUnknownName  Code = "unknown-name"  // a mode, list, check or view that does not exist
	CodeTooLarge     Code = "too-large"     // more than a limit lets through
	CodeAmbiguous    Code = "ambiguous"     // more than one reading, and they differ
	CodeNoEffect     Code = "no-effect"     // a warning: something written that can never matter
	CodeUnused       Code = "unused"        // a warning: a rule that the ledger shows no use of
	CodeRisky        Code = "risky"         // a warning: works as written, rarely as meant
	CodeConflict     Code = "conflict"      // two things that cannot both hold
	CodeIO           Code = "io"            // a file could not be read or written
)

// An Error is one problem with its place. Errors are data: callers look at Code
// and Pos, people read Msg and Hint.
type Error struct {
	Code    Code   `json:"code"`
	Pos     Pos    `json:"pos"`
	Also    []Pos  `json:"also,omitempty"` // other places involved
	Msg     string `json:"msg"`
	Hint    string `json:"hint,omitempty"`    // a way to mend it
	Warning bool   `json:"warning,omitempty"` // the configuration is usable all the same
}

// Error returns position, message, code and hint on one line.
func (e *Error) Error() string {
	var b strings.Builder
	if e.Pos.IsValid() {
		b.WriteString(e.Pos.String() + ": ")
	}
	if e.Warning {
		b.WriteString("warning: ")
	}
	fmt.Fprintf(&b, "%s [%s]", e.Msg, e.Code)
	if e.Hint != "" {
		b.WriteString("; " + e.Hint)
	}
	return b.String()
}

// Errors are all the problems of one thing, in the order of their places.
type Errors []*Error

// Error returns one line a problem.
func (es Errors) Error() string {
	lines := make([]string, len(es))
	for i, e := range es {
		lines[i] = e.Error()
	}
	return strings.Join(lines, "\n")
}

// ErrorsOf returns the problems of an error; one that has none is a problem itself.
func ErrorsOf(err error) Errors {
	var es Errors
	if errors.As(err, &es) {
		return es
	}
	return Errors{{Code: CodeBadValue, Msg: err.Error()}}
}

// Sort orders es by file, line and column, keeping the order of equals.
func (es Errors) Sort() {
	slices.SortStableFunc(es, func(a, b *Error) int {
		return a.Pos.Compare(b.Pos)
	})
}

// Fatal returns the problems that are not warnings, as an error; nil when there
// are none.
func (es Errors) Fatal() error {
	var out Errors
	for _, e := range es {
		if !e.Warning {
			out = append(out, e)
		}
	}
	if len(out) == 0 {
		return nil
	}
	out.Sort()
	return out
}
