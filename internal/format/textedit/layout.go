package textedit

import (
	"bytes"
	"slices"
	"strings"

	"github.com/obstat/obstat/internal/format/tree"
)

// A layout is how a file is written, as far as new text should look like it.
type layout struct {
	f      Format
	src    []byte
	nl     string // the line end
	unit   string // one step of indentation
	pretty bool   // JSON: over several lines
	tight  bool   // JSON: no blanks after colons and commas
	lists  int    // YAML: how far a list is indented from its key
	flow   bool   // YAML: short lists inside list items are written [a, b]
	single bool   // YAML: quotes are single
	lines  []int  // where lines start; line fills it
}

func newLayout(f Format, src []byte, root *tree.Node) *layout {
	l := &layout{f: f, src: src, nl: "\n", unit: "  ", lists: 2, flow: true}
	if i := bytes.IndexByte(src, '\n'); i > 0 && src[i-1] == '\r' {
		l.nl = "\r\n"
	}
	if root == nil {
		l.pretty = true
		return l
	}
	text := root.Source(src)
	items := len(root.Members) + len(root.Elems)
	l.pretty = bytes.IndexByte(text, '\n') >= 0 || items == 0
	l.tight = f != YAML && !l.pretty && len(root.Members)+len(root.Elems)/2 > 0 &&
		!bytes.Contains(text, []byte(`": `)) && !bytes.Contains(text, []byte(`" :`)) && !bytes.Contains(text, []byte(", "))
	if items > 0 {
		l.learn(root)
	}
	return l
}

// learn takes the steps of indentation and the quotes from the first examples
// in the file.
func (l *layout) learn(root *tree.Node) {
	s := survey{lists: -1}
	s.walk(l, root, false)
	if s.unit != "" {
		l.unit = s.unit
	}
	if s.lists >= 0 {
		l.lists = s.lists
	}
	l.flow, l.single = s.flow >= 0, s.single > 0
}

// A survey counts how things are written.
type survey struct {
	unit   string
	lists  int // how far the first list is indented from its key, -1: none seen
	flow   int // lists in brackets, less those in lines
	single int // texts in single quotes, less those in double ones
	seen   int
}

// maxSurvey bounds the walk: the first values of a file tell its style.
const maxSurvey = 500

func (s *survey) walk(l *layout, n *tree.Node, inItem bool) {
	if s.seen++; s.seen > maxSurvey || n.Alias != nil {
		return
	}
	switch n.Style {
	case tree.Single:
		s.single++
	case tree.Double:
		s.single--
	}
	if n.Kind == tree.Array && len(n.Elems) > 0 && inItem && scalars(n) {
		if n.Style == tree.Flow {
			s.flow++
		} else {
			s.flow--
		}
	}
	for _, e := range n.Elems {
		s.step(l, n, e.Start)
		s.walk(l, e, true)
	}
	for _, m := range n.Members {
		if m.Inherited {
			continue
		}
		s.step(l, n, m.KeyNode.Start)
		if v := m.Value; l.f == YAML && v.Style == tree.Block && v.Alias == nil {
			d := l.column(v.Start) - l.column(n.Start)
			if v.Kind == tree.Array && s.lists < 0 && d >= 0 {
				s.lists = d
			} else if v.Kind == tree.Object && s.unit == "" && d > 0 {
				s.unit = strings.Repeat(" ", d)
			}
		}
		s.walk(l, m.Value, inItem && m.Value.Kind == tree.Array)
	}
}

// step learns the unit of a bracketed file from a child on a line of its own.
func (s *survey) step(l *layout, n *tree.Node, start int) {
	if l.f == YAML || s.unit != "" || !l.first(start) {
		return
	}
	outer, inner := l.indent(n.Start), l.indent(start)
	if len(inner) > len(outer) && strings.HasPrefix(inner, outer) {
		s.unit = inner[len(outer):]
	}
}

func scalars(n *tree.Node) bool {
	for _, e := range n.Elems {
		if e.Kind == tree.Array || e.Kind == tree.Object {
			return false
		}
	}
	return true
}

// lineStart reports whether a line starts at pos.
func (l *layout) lineStart(pos int) bool {
	return pos <= bom(l.src) || l.src[pos-1] == '\n' || l.src[pos-1] == '\r' && (pos >= len(l.src) || l.src[pos] != '\n')
}

// line returns where the line of pos starts. It looks it up, since a hostile
// file can be one line of ten megabytes.
func (l *layout) line(pos int) int {
	if l.lines == nil {
		l.lines = []int{bom(l.src)}
		for i := bom(l.src) + 1; i <= len(l.src); i++ {
			if l.lineStart(i) {
				l.lines = append(l.lines, i)
			}
		}
	}
	i, found := slices.BinarySearch(l.lines, pos)
	if !found {
		i = max(i-1, 0)
	}
	return l.lines[i]
}

// eol returns where the line of pos ends, before its line break.
func (l *layout) eol(pos int) int {
	for pos < len(l.src) && l.src[pos] != '\n' && l.src[pos] != '\r' {
		pos++
	}
	return pos
}

// next returns where the line after that of pos starts.
func (l *layout) next(pos int) int {
	pos = l.eol(pos)
	if pos < len(l.src) {
		pos++
		if !l.lineStart(pos) {
			pos++
		}
	}
	return pos
}

// before returns the offset of the line break in front of the line at pos.
func (l *layout) before(pos int) int {
	pos = l.line(pos)
	if pos > bom(l.src) && l.src[pos-1] == '\n' {
		pos--
	}
	if pos > bom(l.src) && l.src[pos-1] == '\r' {
		pos--
	}
	return pos
}

func (l *layout) column(pos int) int { return pos - l.line(pos) }

// indent returns the blanks that the line of pos starts with.
func (l *layout) indent(pos int) string {
	start := l.line(pos)
	end := start
	for end < len(l.src) && isSpace(l.src[end]) {
		end++
	}
	return string(l.src[start:end])
}

// first reports whether nothing but blanks stands before pos on its line.
func (l *layout) first(pos int) bool { return len(l.indent(pos)) >= l.column(pos) }

func isSpace(c byte) bool { return c == ' ' || c == '\t' }

// tail skips blanks and comments on the line of pos. It returns where that ends
// and whether the line does, too.
func (l *layout) tail(pos int) (int, bool) {
	for pos < len(l.src) {
		switch {
		case isSpace(l.src[pos]):
			pos++
		case l.src[pos] == '\n' || l.src[pos] == '\r':
			return pos, true
		default:
			end := l.comment(pos)
			if end == pos || l.eol(pos) < end {
				return pos, false
			}
			pos = end
		}
	}
	return pos, true
}

// gap skips blanks, line breaks and comments.
func (l *layout) gap(pos int) int {
	for pos < len(l.src) {
		if c := l.src[pos]; isSpace(c) || c == '\n' || c == '\r' {
			pos++
			continue
		}
		end := l.comment(pos)
		if end == pos {
			return pos
		}
		pos = end
	}
	return pos
}

// comment returns where the comment at pos ends, pos if there is none.
func (l *layout) comment(pos int) int {
	rest := l.src[pos:]
	switch {
	case l.f == YAML && rest[0] == '#', l.f == JSONC && bytes.HasPrefix(rest, []byte("//")):
		return l.eol(pos)
	case l.f == JSONC && bytes.HasPrefix(rest, []byte("/*")):
		if end := bytes.Index(rest[2:], []byte("*/")); end >= 0 {
			return pos + 2 + end + 2
		}
	}
	return pos
}
