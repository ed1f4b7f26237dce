package cli

import (
	"io"
	"os"
	"strconv"

	"golang.org/x/term"

	"github.com/obstat/obstat"
)

// IO is where a command reads and writes, with the facts about the terminal
// there. The zero value reads nothing and writes nowhere.
type IO struct {
	In  io.Reader
	Out io.Writer
	Err io.Writer

	InTTY, OutTTY, ErrTTY bool

	// Width is the number of columns to write for; zero is 80.
	Width int
	// Color says that Out may be coloured.
	Color bool
}

// System returns the IO of the process. Colour is for terminals only, and not
// where NO_COLOR is set.
func System() *IO {
	s := &IO{In: os.Stdin, Out: os.Stdout, Err: os.Stderr,
		InTTY: isTTY(os.Stdin), OutTTY: isTTY(os.Stdout), ErrTTY: isTTY(os.Stderr)}
	s.Color = useColor(s.OutTTY, os.Getenv)
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

func isTTY(f *os.File) bool { return term.IsTerminal(int(f.Fd())) }

// width returns the columns to write for, within reason: a line of 400 columns
// is no easier to read than one of 160.
func (s *IO) width() int {
	if s.Width == 0 {
		return 80
	}
	return min(max(s.Width, 40), 160)
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

// paint returns s in the given ink, or plain where there is no colour.
func (o *IO) paint(k ink, s string) string {
	if !o.Color || k == plain || s == "" {
		return s
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
