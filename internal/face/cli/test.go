package cli

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/dialect/all"
	"github.com/obstat/obstat/internal/face/report"
	"github.com/obstat/obstat/internal/format/jsonl"
	"github.com/obstat/obstat/internal/study/cases"
	"github.com/obstat/obstat/internal/study/explain"
)

// testOptions are the options of obstat test.
type testOptions struct {
	*Factory
	Dialect string           `flag:"dialect d" words:"@dialects"` // run only cases of this dialect
	Quiet   bool             `flag:"quiet q"`
	JUnit   string           `flag:"junit"`
	Now     func() time.Time // for the progress line
}

func newTest(f *Factory) *cobra.Command {
	o := &testOptions{Factory: f, Now: time.Now}
	return command("test", some(1, -1), o, o.run)
}

// A tester runs files of cases and counts.
type tester struct {
	*testOptions
	runner  cases.Runner
	file    string
	passed  int
	failed  int
	skipped int // cases of other dialects
	refused int // cases that passed because the configuration was refused
	shown   time.Time
	suites  []*report.Suite // for --junit
}

func (o *testOptions) run(_ context.Context, files []string) error {
	if o.Dialect != "" {
		if _, err := all.Find(o.Dialect); err != nil {
			return err
		}
	}
	t := &tester{testOptions: o, runner: cases.Runner{Find: all.Find}}
	for _, name := range files {
		t.suites = append(t.suites, &report.Suite{Name: name})
		if err := t.runFile(name); err != nil {
			t.result(name, "", nil, &report.Fault{Message: err.Error()})
			return errors.Join(err, t.junit())
		}
	}
	return errors.Join(t.junit(), t.close())
}

// result keeps how a case ended, for --junit.
func (t *tester) result(name, class string, failure, fault *report.Fault) {
	if t.JUnit != "" {
		t.suites[len(t.suites)-1].Add(report.Case{Name: name, Class: class, Failure: failure, Error: fault})
	}
}

// junit writes the file that --junit names.
func (t *tester) junit() error {
	if t.JUnit == "" {
		return nil
	}
	var b bytes.Buffer
	if err := report.JUnit(&b, t.suites); err != nil {
		return err
	}
	return os.WriteFile(t.JUnit, b.Bytes(), 0o644)
}

func (t *tester) runFile(name string) error {
	t.file = name
	in := io.Reader(t.IO.In)
	if name != "-" {
		r, err := os.Open(name)
		if err != nil {
			return obstat.Errors{dialect.IOError(name, err)}
		}
		defer r.Close()
		in = r
	}
	lines := jsonl.NewReader(in)
	for {
		line, err := lines.Next()
		switch {
		case err == io.EOF:
			return nil
		case errors.Is(err, jsonl.ErrTooLong):
			err = t.broken(lines.Line(), err)
		case err != nil:
			return obstat.Errors{{Code: obstat.CodeIO, Pos: obstat.Pos{File: name, Line: lines.Line() + 1}, Msg: err.Error()}}
		default:
			err = t.runLine(lines.Line(), line)
		}
		if err != nil {
			return err
		}
		t.progress()
	}
}

func (t *tester) runLine(n int, line []byte) error {
	c, err := cases.Parse(t.file, n, line)
	if err != nil {
		return t.broken(n, err)
	}
	if t.Dialect != "" && c.Dialect != t.Dialect {
		t.skipped++
		return nil
	}
	res := t.runner.Run(c)
	if res.Pass {
		t.passed++
		if res.Refused {
			t.refused++
		}
		t.result(c.ID, c.Dialect, nil, nil)
		return nil
	}
	t.failed++
	t.result(c.ID, c.Dialect, &report.Fault{Message: "wanted " + res.Wanted + ", got " + res.Got,
		Text: fmt.Sprintf("%s:%d: %s\n%s", t.file, n, callWords(&c.Call), res.Reason)}, nil)
	return t.show(n, c, &res)
}

// failureJSON is one failed case in the output of --json.
type failureJSON struct {
	V      int    `json:"v"`
	Kind   string `json:"kind"` // "failed" or, for a line that is no case, "broken"
	File   string `json:"file"`
	Line   int    `json:"line"`
	ID     string `json:"id,omitempty"`
	Wanted string `json:"wanted,omitempty"`
	Got    string `json:"got,omitempty"`
	Reason string `json:"reason,omitempty"`
}

// summaryJSON is the last line that --json prints.
type summaryJSON struct {
	V       int    `json:"v"`
	Kind    string `json:"kind"` // "summary"
	Passed  int    `json:"passed"`
	Failed  int    `json:"failed"`
	Skipped int    `json:"skipped,omitempty"`
	Refused int    `json:"refused,omitempty"`
}

// broken counts and shows a line that is no case.
func (t *tester) broken(n int, err error) error {
	t.failed++
	t.result(fmt.Sprintf("%s:%d", t.file, n), "", nil, &report.Fault{Message: "no case: " + err.Error()})
	t.clear()
	return t.Factory.show(failureJSON{V: explain.Version, Kind: "broken", File: t.file, Line: n, Reason: err.Error()},
		func(s *screen) {
			for _, e := range obstat.ErrorsOf(err) {
				place := fmt.Sprintf("%s:%d", t.file, n)
				if e.Pos.IsValid() {
					place = e.Pos.String()
				}
				s.printf("%s %s: no case: %s\n", s.io.paint(red, "FAIL"), visible(place), visible(e.Msg))
			}
		})
}

// show shows a case that failed.
func (t *tester) show(n int, c *cases.Case, res *cases.Result) error {
	t.clear()
	return t.Factory.show(failureJSON{explain.Version, "failed", t.file, n, c.ID, res.Wanted, res.Got, res.Reason},
		func(s *screen) {
			fail := s.io.paint(red, "FAIL")
			if t.Quiet {
				s.printf("%s %s: wanted %s, got %s\n", fail, visible(c.ID), visible(res.Wanted), visible(res.Got))
				return
			}
			s.printf("%s %s  %s\n", fail, s.io.paint(bold, visible(c.ID)),
				s.io.paint(dim, fmt.Sprintf("%s:%d", visible(t.file), n)))
			row := func(label, text string) {
				if text != "" {
					s.printf("     %-7s %s\n", label, visible(text))
				}
			}
			row("call", callWords(&c.Call))
			row("note", c.Note)
			row("wanted", res.Wanted)
			row("got", res.Got)
			for line := range strings.SplitSeq(res.Reason, "\n") {
				row("because", line)
			}
		})
}

// progress shows on a terminal, a few times a second, how far it is.
func (t *tester) progress() {
	s := t.IO
	if !s.ErrTTY || t.Quiet || t.jsonFlag {
		return
	}
	if now := t.Now(); now.Sub(t.shown) > 200*time.Millisecond {
		t.shown = now
		fmt.Fprintf(s.Err, "\r%d passed, %d failed", t.passed, t.failed)
	}
}

// clear wipes the progress line.
func (t *tester) clear() {
	if !t.shown.IsZero() {
		fmt.Fprint(t.IO.Err, "\r\x1b[K")
		t.shown = time.Time{}
	}
}

func (t *tester) close() error {
	t.clear()
	code := ExitOK
	if t.failed > 0 {
		code = ExitError
	}
	return cmp.Or(t.Factory.show(summaryJSON{explain.Version, "summary", t.passed, t.failed, t.skipped, t.refused},
		func(s *screen) {
			s.printf("%d passed, %d failed\n", t.passed, t.failed)
		}), done(code))
}
