package dialect

import (
	"fmt"
	"strings"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/internal/format/tree"
)

// Pos returns the place of a byte offset of f.
func (f *File) Pos(offset int) obstat.Pos {
	line, col := tree.LineCol(f.Data, offset)
	return obstat.Pos{File: f.Name, Line: line, Col: col}
}

// Problem returns an error at a byte offset of f.
func (f *File) Problem(offset int, code obstat.Code, format string, args ...any) *obstat.Error {
	return &obstat.Error{Code: code, Pos: f.Pos(offset), Msg: fmt.Sprintf(format, args...)}
}

// codes maps the problem codes of documents to those of configurations.
var codes = map[string]obstat.Code{
	tree.CodeSyntax:    obstat.CodeSyntax,
	tree.CodeEncoding:  obstat.CodeSyntax,
	tree.CodeDuplicate: obstat.CodeDuplicateKey,
	tree.CodeDepth:     obstat.CodeTooLarge,
	tree.CodeSize:      obstat.CodeTooLarge,
	tree.CodeUnknown:   obstat.CodeUnknownKey,
	tree.CodeCase:      obstat.CodeUnknownKey,
	tree.CodeMissing:   obstat.CodeMissing,
	tree.CodeType:      obstat.CodeWrongType,
	tree.CodeValue:     obstat.CodeBadValue,
	tree.CodeAlias:     obstat.CodeSyntax,
	tree.CodeDocuments: obstat.CodeAmbiguous,
	tree.CodeWord:      obstat.CodeRisky,
	tree.CodeTag:       obstat.CodeSyntax,
	tree.CodeMore:      obstat.CodeTooLarge,
}

// Problems turns the problems of f's document into errors with positions.
func (f *File) Problems(ps []tree.Problem) obstat.Errors {
	var out obstat.Errors
	for _, p := range ps {
		e := f.Problem(p.Offset, codes[p.Code], "%s", p.Msg)
		e.Hint, e.Warning = p.Hint, p.Warning
		for _, off := range p.Also {
			e.Also = append(e.Also, f.Pos(off))
		}
		out = append(out, e)
	}
	return out
}

// Within returns the place of a byte of a text node's value: the very character
// in a JSON string, a YAML plain or quoted scalar; where it cannot be told, the
// place where the text starts.
func (f *File) Within(n *tree.Node, offset int) obstat.Pos {
	src := n.Source(f.Data)
	switch {
	case len(src) >= 2 && src[0] == '"' && n.Style == tree.Double:
		if at, ok := escaped(src, offset); ok {
			return f.Pos(n.Start + at)
		}
	case len(src) >= 2 && src[0] == '\'' && string(src[1:len(src)-1]) == n.Str:
		return f.Pos(n.Start + 1 + offset)
	case string(src) == n.Str:
		return f.Pos(n.Start + offset)
	}
	return f.Pos(n.Start)
}

// escaped finds the byte of a double-quoted literal that the value's byte at
// offset comes from.
func escaped(src []byte, offset int) (int, bool) {
	i := 1
	for offset > 0 && i < len(src)-1 {
		if src[i] != '\\' {
			i++
			offset--
			continue
		}
		if !strings.ContainsRune(`"\/bfnrt`, rune(src[i+1])) {
			return 0, false // a character by number: several bytes, or one of two halves
		}
		i += 2
		offset--
	}
	return i, offset == 0
}
