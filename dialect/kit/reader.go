package kit

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/internal/format/textedit"
	"github.com/obstat/obstat/internal/format/tree"
	"github.com/obstat/obstat/pattern"
)

// A Reader reads the values of one file after another and keeps all that is wrong
// with them, each problem with its place.
type Reader struct {
	File *dialect.File
	Errs obstat.Errors
	at   cursor
}

// Parse reads f, which all further problems are about; nil: it cannot be used.
func (r *Reader) Parse(f *dialect.File, format textedit.Format) *tree.Node {
	return r.Read(f, format.Parse)
}

// Read reads f like [Reader.Parse], in the format that parse knows.
func (r *Reader) Read(f *dialect.File, parse func([]byte) (*tree.Node, []tree.Problem)) *tree.Node {
	r.File = f
	root, problems := parse(f.Data)
	r.Add(problems...)
	if tree.Fatal(problems) {
		return nil
	}
	return root
}

// Add adds problems of the file's document.
func (r *Reader) Add(ps ...tree.Problem) { r.Errs = append(r.Errs, r.File.Problems(ps)...) }

// Fail adds an error at n; a nil n is the start of the file.
func (r *Reader) Fail(n *tree.Node, code obstat.Code, hint, format string, args ...any) *obstat.Error {
	at := 0
	if n != nil {
		at = n.Start
	}
	e := r.File.Problem(at, code, format, args...)
	e.Hint = hint
	r.Errs = append(r.Errs, e)
	return e
}

// Warn adds a warning at n.
func (r *Reader) Warn(n *tree.Node, code obstat.Code, hint, format string, args ...any) *obstat.Error {
	e := r.Fail(n, code, hint, format, args...)
	e.Warning = true
	return e
}

// Pos returns the place of n; a nil n has that of the file.
func (r *Reader) Pos(n *tree.Node) obstat.Pos {
	if n == nil {
		return obstat.Pos{File: r.File.Name}
	}
	return r.at.pos(r.File, n.Start)
}

// Is tells whether n is of one of the kinds, and reports a value of another kind.
// A value that is missing is of none.
func (r *Reader) Is(n *tree.Node, what string, kinds ...tree.Kind) bool {
	p := n.Want(what, kinds...)
	if p != nil {
		r.Add(*p)
	}
	return n != nil && p == nil
}

// Fields reports keys of n that are not among the fields, values of a wrong kind and
// required keys that are missing. A key that is like none of them may be of another
// version and is only warned of.
func (r *Reader) Fields(n *tree.Node, fields ...tree.Field) {
	for _, p := range n.Check(fields...) {
		p.Warning = p.Warning || p.Code == tree.CodeUnknown && p.Hint == ""
		r.Add(p)
	}
}

// Members returns the members of an object, and reports any other value.
func (r *Reader) Members(n *tree.Node, what string) []tree.Member {
	if !r.Is(n, what, tree.Object) {
		return nil
	}
	return n.Members
}

// Texts returns the elements of a list of texts, and reports all others.
func (r *Reader) Texts(n *tree.Node, what string) []*tree.Node {
	out, problems := n.Strings(what)
	r.Add(problems...)
	return out
}

// Compiles tells whether a pattern that stands in the text n compiles. If not, what
// is said of it points at the very place in the pattern.
func (r *Reader) Compiles(n *tree.Node, t obstat.Text, what string) bool {
	_, err := pattern.Compile(t.Flavour, t.Text)
	if err == nil {
		return true
	}
	e := r.Fail(n, obstat.CodeBadPattern, "", "%s: %v", what, err)
	if se, ok := err.(*pattern.SyntaxError); ok && n.Str == t.Text {
		e.Pos = r.File.Within(n, se.Offset)
	}
	return false
}

// Code returns a function of a [obstat.Library]: make gets the parameters of the
// Program, read into a P.
func Code[P, T any](make func(*P) T) func(json.RawMessage) (T, error) {
	return func(raw json.RawMessage) (out T, err error) {
		p := new(P)
		if len(raw) > 0 {
			if err := json.Unmarshal(raw, p); err != nil {
				return out, fmt.Errorf("the parameters of the Program cannot be read: %w", err)
			}
		}
		return make(p), nil
	}
}

// A cursor turns offsets of a file into places. A file's rules are met in order,
// so it goes on from the place it was asked for last: counting from the start
// for each of ten thousand rules would take minutes.
type cursor struct {
	file              *dialect.File
	offset, line, col int
}

// pos returns the place of a byte of f at which a character starts.
func (c *cursor) pos(f *dialect.File, offset int) obstat.Pos {
	if c.file != f || offset < c.offset || bytes.HasPrefix(f.Data[c.offset:], []byte("\ufeff")) {
		*c = cursor{file: f, line: 1, col: 1} // a byte order mark has no width at the start alone
	}
	offset = min(offset, len(f.Data))
	line, col := tree.LineCol(f.Data[c.offset:], offset-c.offset)
	if line > 1 {
		c.col = 1
	}
	c.offset, c.line, c.col = offset, c.line+line-1, c.col+col-1
	return obstat.Pos{File: f.Name, Line: c.line, Col: c.col}
}
