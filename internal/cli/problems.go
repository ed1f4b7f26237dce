package cli

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/obstat/obstat"
)

// problems writes errors and warnings, one a line, and on a terminal with the
// line of the file that each is about.
func (f *Factory) problems(w io.Writer, es obstat.Errors, excerpt bool) {
	sources := map[string][]byte{}
	paint := f.IO.painter(w)
	for _, e := range es {
		word, look := "error", red
		if e.Warning {
			word, look = "warning", yellow
		}
		place := ""
		if e.Pos.IsValid() {
			place = visible(e.Pos.String()) + ": "
		}
		fmt.Fprintf(w, "%s%s: %s [%s]\n", paint(bold, place), paint(look, word), visible(e.Msg), e.Code)
		if excerpt {
			f.excerpt(w, e, sources)
		}
		for _, p := range e.Also {
			fmt.Fprintf(w, "    see also %s\n", visible(p.String()))
		}
		if e.Hint != "" {
			for i, line := range wrap(visible(e.Hint), f.IO.width()-10) {
				fmt.Fprintf(w, "    %s%s\n", []string{"hint: ", "      "}[min(i, 1)], line)
			}
		}
	}
}

// excerpt writes the line that e is about, a caret under the place.
func (f *Factory) excerpt(w io.Writer, e *obstat.Error, sources map[string][]byte) {
	if e.Pos.File == "" || e.Pos.Line == 0 {
		return
	}
	src, ok := sources[e.Pos.File]
	if !ok {
		src, _ = read(e.Pos.File)
		sources[e.Pos.File] = src
	}
	line, ok := lineOf(src, e.Pos.Line)
	if !ok {
		return
	}
	col := offsetOf(line, e.Pos.Col)
	text, mark := window(line, Range{col, col + 1}, f.IO.width()-9)
	fmt.Fprintf(w, "%6d | %s\n", e.Pos.Line, text)
	if e.Pos.Col > 0 {
		fmt.Fprintf(w, "       | %s%s\n", strings.Repeat(" ", mark.Start), f.IO.painter(w)(cyan, "^"))
	}
}

func lineOf(src []byte, n int) (string, bool) {
	for ; n > 1; n-- {
		i := bytes.IndexByte(src, '\n')
		if i < 0 {
			return "", false
		}
		src = src[i+1:]
	}
	line, _, _ := bytes.Cut(src, []byte("\n"))
	return strings.TrimSuffix(string(line), "\r"), len(src) > 0
}

// offsetOf returns the byte offset of a column, counted in characters from one.
func offsetOf(line string, col int) int {
	off := 0
	for ; col > 1 && off < len(line); col-- {
		_, n := utf8.DecodeRuneInString(line[off:])
		off += n
	}
	return off
}

// A Range is a range of bytes, or of columns.
type Range struct{ Start, End int }

// window shows one line of text in at most width columns, moved so that the
// marked bytes can be seen, and says which columns the mark takes.
func window(line string, mark Range, width int) (string, Range) {
	mark.Start = max(0, min(mark.Start, len(line)))
	cells, marked := layout(line, Range{mark.Start, max(mark.Start, mark.End)})
	marked.End = max(marked.End, marked.Start)
	total := 0
	for _, c := range cells {
		total += columns(c)
	}
	if total <= width {
		return strings.Join(cells, ""), marked
	}
	from := max(0, min(marked.Start-width/3, total-width+1))
	var b strings.Builder
	at, shown := 0, 0
	for _, c := range cells {
		n := columns(c)
		switch {
		case at < from:
			if at+n > from {
				from = at + n // a wide character reaches across
			}
		case shown == 0 && from > 0:
			b.WriteString("…" + strings.Repeat(" ", max(0, n-1)))
			shown += max(1, n)
		case shown+n > width-1:
			b.WriteString("…")
			return b.String(), clampRange(marked, from, width-1)
		default:
			b.WriteString(c)
			shown += n
		}
		at += n
	}
	return b.String(), clampRange(marked, from, width)
}

func clampRange(r Range, from, width int) Range {
	r = Range{max(0, r.Start-from), r.End - from}
	return Range{min(r.Start, width), min(max(r.End, r.Start+1), width)}
}

// layout returns the characters of line as they are shown, and the columns that
// the marked bytes take.
func layout(line string, mark Range) (cells []string, marked Range) {
	at, started := 0, false
	for i := 0; i < len(line); {
		r, n := utf8.DecodeRuneInString(line[i:])
		c := showRune(line[i:i+n], r)
		if r == '\t' {
			c = "    "
		}
		if i >= mark.Start && !started {
			marked.Start, started = at, true
		}
		if i < mark.End {
			marked.End = at + columns(c)
		}
		at += columns(c)
		i += n
		cells = append(cells, c)
	}
	if !started {
		marked.Start = at
	}
	return cells, marked
}
