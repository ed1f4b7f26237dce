package opencode

import (
	"bytes"
	"unicode/utf8"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
)

// A cursor turns offsets of a file into places. A file's rules are met in order,
// so it goes on from the place it was asked for last: counting from the start
// for each of ten thousand rules would take as long as reading them for an hour.
type cursor struct {
	file              *dialect.File
	offset, line, col int
}

// bom is the mark that some editors put before a text; it has no width.
const bom = "\ufeff"

// pos returns the place of a byte of f.
func (c *cursor) pos(f *dialect.File, offset int) obstat.Pos {
	if c.file != f || offset < c.offset {
		*c = cursor{file: f, line: 1, col: 1}
	}
	for c.offset < min(offset, len(f.Data)) {
		c.step(f.Data)
	}
	return obstat.Pos{File: f.Name, Line: c.line, Col: c.col}
}

// step goes over one character. Lines end with LF, CR LF or a lone CR.
func (c *cursor) step(data []byte) {
	switch ch := data[c.offset]; {
	case c.offset == 0 && bytes.HasPrefix(data, []byte(bom)):
		c.offset = len(bom)
	case ch == '\n', ch == '\r' && (c.offset+1 == len(data) || data[c.offset+1] != '\n'):
		c.line, c.col = c.line+1, 1
		c.offset++
	case ch < utf8.RuneSelf:
		c.col++
		c.offset++
	default:
		_, n := utf8.DecodeRune(data[c.offset:])
		c.col++
		c.offset += n
	}
}
