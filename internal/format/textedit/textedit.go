// Package textedit changes configuration files the way a careful person would:
// it splices bytes. All text outside the change stays as it is,
// byte for byte: comments, blank lines, indentation, quotes, line ends, a byte
// order mark, a missing final newline.
//
// Every edit is checked before it is returned: the new text is read again and
// must hold exactly the old value with that one change, or the edit is refused.
// The dialects choose the change and know its meaning.
package textedit

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	"github.com/obstat/obstat/internal/format/jsonx"
	"github.com/obstat/obstat/internal/format/tree"
	"github.com/obstat/obstat/internal/format/yamlx"
)

// An Edit replaces src[Start:End] with Text.
type Edit struct {
	Start, End int
	Text       string
}

// Apply returns src with all edits made, or an error if they overlap or lie
// outside src. Offsets are those of src, in any order; insertions at one place
// keep the order they are given in.
func Apply(src []byte, edits ...Edit) ([]byte, error) {
	sorted := slices.Clone(edits)
	slices.SortStableFunc(sorted, func(a, b Edit) int { return a.Start - b.Start })
	var out []byte
	pos := 0
	for _, e := range sorted {
		if e.Start < pos || e.End < e.Start || e.End > len(src) {
			return nil, fmt.Errorf("edit %d:%d overlaps another or lies outside the text", e.Start, e.End)
		}
		out = append(append(out, src[pos:e.Start]...), e.Text...)
		pos = e.End
	}
	return append(out, src[pos:]...), nil
}

// A Format is a file format that can be edited. The zero Format cannot.
type Format uint8

// The formats.
const (
	JSON  Format = iota + 1 // strict
	JSONC                   // with comments and trailing commas
	YAML
)

// Parse reads src in the format.
func (f Format) Parse(src []byte) (*tree.Node, []tree.Problem) {
	switch f {
	case JSON:
		return jsonx.Parse(src, jsonx.Options{})
	case JSONC:
		return jsonx.Parse(src, jsonx.JSONC())
	case YAML:
		return yamlx.Parse(src, yamlx.Options{})
	}
	return nil, []tree.Problem{{Code: tree.CodeSyntax, Msg: "the file has no format that can be edited"}}
}

// read reads src; a file that cannot be read is a BrokenError.
func (f Format) read(src []byte) (*tree.Node, error) {
	root, problems := f.Parse(src)
	if tree.Fatal(problems) {
		return nil, &BrokenError{src, problems}
	}
	return root, nil
}

// A BrokenError says that a file cannot be edited because it cannot be read.
type BrokenError struct {
	Src      []byte
	Problems []tree.Problem
}

// Error names the first problem with its line and column.
func (e *BrokenError) Error() string {
	for _, p := range e.Problems {
		if !p.Warning {
			line, col := tree.LineCol(e.Src, p.Offset)
			return fmt.Sprintf("%d:%d: %s", line, col, p.Error())
		}
	}
	return "the file cannot be read"
}

// ErrRefused is wrapped by every error that says an edit cannot be made without
// changing something else as well, or has nowhere to go.
var ErrRefused = errors.New("the edit was not made")

func refuse(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{ErrRefused}, args...)...)
}

// Set makes value the value at path, whose steps are keys (string) and list
// indexes (int). Missing keys are created, after the keys that are there; a value that is
// there already keeps its layout.
// Values are of the types that jsonx.Marshal takes.
func (f Format) Set(src []byte, value any, path ...any) ([]byte, error) {
	return f.change(src, request{value: value, path: path})
}

// SetBefore is Set, but a key that it creates at the end of path stands before
// the key named. Where the order of keys decides, this is how a rule gets ahead.
func (f Format) SetBefore(src []byte, before string, value any, path ...any) ([]byte, error) {
	return f.change(src, request{value: value, path: path, before: &before})
}

// SetMembers makes the object at path hold the members of want and no others,
// each changed only if it is another one.
func (f Format) SetMembers(src []byte, want jsonx.Object, path ...any) ([]byte, error) {
	root, err := f.read(src)
	if err != nil {
		return nil, err
	}
	have := root.At(path...)
	if !have.Is(tree.Object) {
		return f.Set(src, want, path...)
	}
	for _, m := range want {
		if src, err = f.Set(src, m.Value, append(slices.Clone(path), m.Key)...); err != nil {
			return nil, err
		}
	}
	for _, m := range have.Members {
		if _, keep := want.Get(m.Key); keep {
			continue
		}
		if src, err = f.Delete(src, append(slices.Clone(path), m.Key)...); err != nil {
			return nil, err
		}
	}
	return src, nil
}

// Append adds value to the end of the list at path; a missing list is created.
func (f Format) Append(src []byte, value any, path ...any) ([]byte, error) {
	return f.Insert(src, -1, value, path...)
}

// AppendOnce is Append, but returns src itself where the list holds an equal
// value already. The order of keys does not make values differ.
func (f Format) AppendOnce(src []byte, value any, path ...any) ([]byte, error) {
	has, err := f.Has(src, value, path...)
	if err != nil || has {
		return src, err
	}
	return f.Append(src, value, path...)
}

// Insert adds value to the list at path, before the element with that index; -1
// and the length of the list mean the end. A missing list is created.
func (f Format) Insert(src []byte, index int, value any, path ...any) ([]byte, error) {
	return f.change(src, request{value: value, path: path, insert: true, index: index})
}

// Delete removes the member or element at path. Where it is the last of its
// collection, an empty collection stays.
func (f Format) Delete(src []byte, path ...any) ([]byte, error) {
	return f.change(src, request{path: path, remove: true})
}

// Has reports whether the list at path holds a value equal to value.
func (f Format) Has(src []byte, value any, path ...any) (bool, error) {
	want, err := canonical(value)
	if err != nil {
		return false, err
	}
	if f.blank(src) {
		return false, nil
	}
	root, err := f.read(src)
	if err != nil || !root.At(path...).Is(tree.Array) {
		return false, err
	}
	return slices.ContainsFunc(root.At(path...).Elems, func(e *tree.Node) bool {
		got, err := canonical(e)
		return err == nil && bytes.Equal(got, want)
	}), nil
}

func canonical(value any) ([]byte, error) {
	raw, err := jsonx.Marshal(value)
	if err != nil {
		return nil, err
	}
	return jsonx.Canonical(raw)
}

// blank reports whether src holds nothing but blanks and comments.
func (f Format) blank(src []byte) bool {
	return newLayout(f, src, nil).gap(bom(src)) >= len(src)
}

// bom returns the length of the byte order mark at the start of src.
func bom(src []byte) int {
	if bytes.HasPrefix(src, []byte("\ufeff")) {
		return 3
	}
	return 0
}
