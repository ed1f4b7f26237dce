package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/term"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/internal/face/display"
	"github.com/obstat/obstat/internal/guard/person"
)

// Text that comes from a call or a file is shown, never sent: a control
// character could repaint the screen, a hidden or reordering one could make a
// command look like another.

// visible returns s with every character that does not show as itself written
// as an escape.
func visible(s string) string { return display.Visible(s) }

// columns returns how many columns s takes on a terminal.
func columns(s string) int {
	if display.Plain(s) {
		return len(s)
	}
	n := 0
	for _, r := range s {
		n += runeColumns(r)
	}
	return n
}

func runeColumns(r rune) int {
	switch {
	case unicode.Is(unicode.Mn, r) || unicode.Is(unicode.Me, r):
		return 0
	case r >= 0x1100 && isWide(r):
		return 2
	}
	return 1
}

// isWide tells the characters that terminals draw two columns wide.
func isWide(r rune) bool {
	return r <= 0x115f || r >= 0x2e80 && r <= 0xa4cf && r != 0x303f || r >= 0xac00 && r <= 0xd7a3 || r >= 0xf900 &&
		r <= 0xfaff ||
		r >= 0xfe30 && r <= 0xfe6f || r >= 0xff00 && r <= 0xff60 || r >= 0xffe0 && r <= 0xffe6 || r >= 0x1f300 &&
		r <= 0x1faff || r >= 0x20000 && r <= 0x3fffd
}

// clip shortens s to at most n columns, with an ellipsis where it was cut.
func clip(s string, n int) string {
	if columns(s) <= n {
		return s
	}
	return s[:fitting(s, n-1)] + "…"
}

// fitting returns how many bytes of s fit into n columns.
func fitting(s string, n int) int {
	w := 0
	for i, r := range s {
		if w += runeColumns(r); w > n {
			return i
		}
	}
	return len(s)
}

// pad returns s followed by blanks up to n columns.
func pad(s string, n int) string {
	if w := columns(s); w < n {
		return s + strings.Repeat(" ", n-w)
	}
	return s
}

// wrap breaks words into lines of at most n columns, where blanks between them stay. A word that is longer is broken
// where the line ends.
func wrap(s string, n int) []string {
	var lines []string
	line, w, gap := "", 0, ""
	for s = strings.TrimSpace(s); s != ""; {
		end := strings.IndexFunc(s, unicode.IsSpace)
		if end < 0 {
			end = len(s)
		}
		word, behind := s[:end], strings.TrimLeftFunc(s[end:], unicode.IsSpace)
		next := s[end : len(s)-len(behind)]
		if s = behind; strings.Trim(next, " ") != "" {
			next = " "
		}
		c := columns(word)
		for c > n && n > 0 {
			if line != "" {
				lines, line, w = append(lines, line), "", 0
			}
			i := fitting(word, n)
			if i == 0 {
				break // a character wider than the line
			}
			lines, word = append(lines, word[:i]), word[i:]
			c = columns(word)
		}
		if line != "" && w+len(gap)+c > n {
			lines, line, w = append(lines, line), "", 0
		}
		if line != "" {
			line, w = line+gap, w+len(gap)
		}
		line, w, gap = line+word, w+c, next
	}
	return append(lines, line)
}

// IO is where a command reads and writes, with the facts about the terminal
// there. The zero value reads nothing and writes nowhere.
type IO struct {
	In  io.Reader
	Out io.Writer
	Err io.Writer

	InTTY, OutTTY, ErrTTY bool

	// Width is the number of columns to write for; zero is 80.
	Width int
	// Color says that Out may be coloured, and Light that its background is light.
	Color, Light bool
	// Person returns the person behind a command that loosens a place, as
	// [person.Here] does; nil finds no person.
	Person func(place string) (*person.Who, error)
}

// System returns the IO of the process. Colour is for terminals only, and not
// where NO_COLOR is set.
func System() *IO {
	s := &IO{In: os.Stdin, Out: os.Stdout, Err: os.Stderr,
		InTTY: isTTY(os.Stdin), OutTTY: isTTY(os.Stdout), ErrTTY: isTTY(os.Stderr), Person: person.Here}
	s.Color, s.Light = useColor(s.OutTTY, os.Getenv), isLight(os.Getenv("COLORFGBG"))
	if n, err := strconv.Atoi(os.Getenv("COLUMNS")); err == nil && n > 0 {
		s.Width = n
	} else if w, _, err := term.GetSize(int(os.Stdout.Fd())); err == nil {
		s.Width = w
	}
	return s
}

// useColor says whether output may be coloured; no-color.org has the convention.
func useColor(tty bool, getenv func(string) string) bool {
	return tty && getenv("NO_COLOR") == "" && getenv("TERM") != "dumb"
}

// isLight tells whether a terminal that says its colours as `0;15`, foreground and
// background, is a light one.
func isLight(colours string) bool {
	back := colours[strings.LastIndexByte(colours, ';')+1:]
	return back == "7" || back == "15"
}

func isTTY(f *os.File) bool { return term.IsTerminal(int(f.Fd())) }

// width returns the columns to write for, within reason: a line of 400 columns
// is no easier to read than one of 160.
func (s *IO) width() int {
	if s.Width == 0 {
		return 80
	}
	return min(max(s.Width, 40), 160)
}

// yes asks a question and tells whether the answer is yes.
func (s *IO) yes(question string) bool {
	fmt.Fprintf(s.Out, "%s [y/N] ", question)
	return isYes(s.word())
}

func isYes(word string) bool { return word == "y" || word == "yes" }

// word reads the one word of a line, in small letters; "" for any other line.
func (s *IO) word() string {
	var word string
	if _, err := fmt.Fscanln(s.In, &word); err != nil { // and not a byte more
		return ""
	}
	return strings.ToLower(word)
}

// confirm asks whether the change that was shown may be written.
func (f *Factory) confirm(yes bool) error {
	switch {
	case yes:
		return nil
	case !f.IO.InTTY:
		return errors.New("nothing was written: there is no terminal to ask at; say --yes, or --dry-run to look")
	case f.IO.yes("Write this?"):
		return nil
	}
	return errors.New("nothing was written")
}

// An ink is how a piece of text looks on a terminal.
type ink string

const (
	plain  ink = ""
	bold   ink = "1"
	dim    ink = "2"
	red    ink = "31"
	green  ink = "32"
	yellow ink = "33"
	cyan   ink = "36"
)

// dark returns the ink for light backgrounds, where yellow, green and cyan can hardly be read.
func (k ink) dark() ink {
	base, rest, more := strings.Cut(string(k), ";")
	to := map[ink]string{red: "38;5;124", green: "38;5;28", yellow: "38;5;94", cyan: "38;5;24"}[ink(base)]
	if to == "" {
		return k
	}
	if more {
		to += ";" + rest
	}
	return ink(to)
}

// paint returns s in the given ink, or plain where there is no colour.
func (o *IO) paint(k ink, s string) string {
	if !o.Color || k == plain || s == "" {
		return s
	}
	if o.Light {
		k = k.dark()
	}
	return "\x1b[" + string(k) + "m" + s + "\x1b[0m"
}

// painter returns the function that colours text for w: errors go to a stream of their own,
// which may not be the terminal that Out is.
func (o *IO) painter(w io.Writer) func(ink, string) string {
	if w == o.Err && !o.ErrTTY {
		return func(_ ink, s string) string { return s }
	}
	return o.paint
}

// verdictInk is the colour of a verdict.
func verdictInk(v obstat.Verdict) ink {
	switch v {
	case obstat.Allow:
		return green
	case obstat.Ask:
		return yellow
	}
	return red
}

// problems writes errors and warnings, one a line, and on a terminal with the
// line of the file that each is about.
func (f *Factory) problems(w io.Writer, es obstat.Errors, excerpt bool) {
	sources := map[string][]string{}
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
			label := "hint: "
			for _, line := range wrap(visible(e.Hint), f.IO.width()-10) {
				fmt.Fprintf(w, "    %s%s\n", label, line)
				label = "      "
			}
		}
	}
}

// excerpt writes the line that e is about, a caret under the place.
func (f *Factory) excerpt(w io.Writer, e *obstat.Error, sources map[string][]string) {
	if e.Pos.File == "" || e.Pos.Line == 0 {
		return
	}
	lines, ok := sources[e.Pos.File]
	if !ok {
		src, _ := read(e.Pos.File)
		lines = display.Lines(string(src))
		sources[e.Pos.File] = lines
	}
	if e.Pos.Line > len(lines) {
		return
	}
	line := strings.TrimSuffix(lines[e.Pos.Line-1], "\r")
	col := offsetOf(line, e.Pos.Col)
	text, mark := window(line, Range{col, col + 1}, f.IO.width()-9)
	fmt.Fprintf(w, "%6d | %s\n", e.Pos.Line, text)
	if e.Pos.Col > 0 {
		fmt.Fprintf(w, "       | %s%s\n", strings.Repeat(" ", mark.Start), f.IO.painter(w)(cyan, "^"))
	}
}

// offsetOf returns the byte offset of a column, counted in characters from one.
func offsetOf(line string, col int) int {
	for off := range line {
		if col--; col <= 0 {
			return off
		}
	}
	return len(line)
}

// A Range is a range of bytes, or of columns.
type Range struct{ Start, End int }

// folded is a line of a longer one, and the columns of its mark.
type folded struct {
	text string
	mark Range
}

// fold shows one line of text in as many lines of width columns as it takes, broken at blanks
// where there are some, and says which columns the marked bytes have.
func fold(line string, mark Range, width int) (out []folded) {
	show := func(s string) string { return visible(strings.ReplaceAll(s, "\t", "    ")) }
	for start := 0; ; {
		end, w, blank := start, 0, 0
		for end < len(line) {
			_, n := utf8.DecodeRuneInString(line[end:])
			if w += columns(show(line[end : end+n])); w > width && end > start {
				break
			}
			if end += n; line[end-1] == ' ' && w > width/2 {
				blank = end
			}
		}
		if end < len(line) && blank > 0 {
			end = blank
		}
		from, to := min(max(mark.Start, start), end), min(max(mark.End, start), end)
		f := folded{text: show(line[start:end])}
		if from < to {
			f.mark = Range{columns(show(line[start:from])), columns(show(line[start:to]))}
		}
		if out = append(out, f); end >= len(line) {
			return out
		}
		start = end
	}
}

// gap ends at the first gap of two blanks or more in a line, between a name and its words.
var gap = regexp.MustCompile(`^ *\S.*?\S {2,}`)

// hang breaks a line that is wider than width at its blanks. What follows stands below the line's text, after the
// mark of a list, a comment or a difference: in `  check       Decide a call` below "Decide", where that leaves half
// of the width.
func hang(line string, width int) (out []string) {
	if columns(line) <= width {
		return []string{line}
	}
	at := min(len(line)-len(strings.TrimLeft(line, " +-#")), width/2)
	below := at
	if at > 0 && strings.TrimSpace(line[:at]) == "" {
		below += 2
	}
	switch head := gap.FindString(line); {
	case head != "" && len(head) <= width/2:
		at, below = len(head), len(head)
	case head != "":
		out = append(out, strings.TrimRight(head, " "))
		at, below = at+4, at+4
		line = strings.Repeat(" ", at) + line[len(head):]
	}
	for i, part := range fold(line[at:], Range{}, width-below) {
		head := strings.Repeat(" ", below)
		if i == 0 {
			head = line[:at]
		}
		out = append(out, head+strings.TrimRight(part.text, " "))
	}
	return out
}

// hung returns the lines of a text, broken for a terminal as [hang] does; a program reads whole lines.
func (s *IO) hung(text string) (out []string) {
	for line := range strings.SplitSeq(strings.TrimRight(text, "\n"), "\n") {
		if s.OutTTY {
			out = append(out, hang(line, s.width())...)
		} else {
			out = append(out, line)
		}
	}
	return out
}

// note writes a remark beside the output, in lines for a terminal alone.
func (s *IO) note(text string) {
	lines := []string{text}
	if s.ErrTTY {
		lines = wrap(text, s.width())
	}
	fmt.Fprintln(s.Err, strings.Join(lines, "\n"))
}

// tell writes a text for people, in lines for a terminal alone.
func (s *IO) tell(text string) { fmt.Fprintln(s.Out, strings.Join(s.hung(text), "\n")) }

// window shows one line of text in at most width columns, moved so that the
// marked bytes can be seen, and says which columns the mark takes.
func window(line string, mark Range, width int) (string, Range) {
	upTo := func(end int) string {
		return visible(strings.ReplaceAll(line[:max(0, min(end, len(line)))], "\t", "    "))
	}
	text := upTo(len(line))
	start, end, from := columns(upTo(mark.Start)), columns(upTo(mark.End)), 0
	if total := columns(text); total > width {
		if i := fitting(text, min(start-width/3, total-width+1)); i > 0 {
			from = columns(text[:i])
			r, n := utf8.DecodeRuneInString(text[i:])
			text = pad("…", runeColumns(r)) + text[i+n:]
		}
		text = clip(text, width)
	}
	start = min(max(0, start-from), width)
	return text, Range{start, max(start, min(end-from, width))}
}
