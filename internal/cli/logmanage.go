package cli

import (
	"bufio"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"iter"
	"time"

	"github.com/spf13/cobra"

	"github.com/obstat/obstat/ledger"
)

// logVerifyOptions are the options of obstat log verify.
type logVerifyOptions struct {
	*Factory
	Store storeOptions
	Head  string
	File  string
}

// logVerifyJSON is the output of obstat log verify --json.
type logVerifyJSON struct {
	V       int         `json:"v"`
	OK      bool        `json:"ok"`
	Records uint64      `json:"records"`
	First   uint64      `json:"first"`
	Head    ledger.Head `json:"head"`
	Broken  *brokenJSON `json:"broken,omitempty"`
}

type brokenJSON struct {
	Seq  uint64 `json:"seq"`
	What string `json:"what"`
	Msg  string `json:"msg"`
}

func newLogVerify(f *Factory) *cobra.Command {
	o := &logVerifyOptions{Factory: f}
	cmd := command("log verify", some(0, 1), func(ctx context.Context, args []string) error {
		if len(args) == 1 {
			o.File = args[0]
		}
		return logVerifyRun(ctx, o)
	})
	o.Store.flags(cmd)
	cmd.Flags().StringVar(&o.Head, "head", "", "`hash` of a record that has to be there")
	return cmd
}

func logVerifyRun(ctx context.Context, o *logVerifyOptions) error {
	var head ledger.Hash
	if o.Head != "" {
		if err := head.UnmarshalText([]byte(o.Head)); err != nil {
			return usagef("--head: %v", err)
		}
	}
	res, err := o.verify(ctx, head)
	var b *ledger.Break
	if errors.As(err, &b) {
		res.Broken = &brokenJSON{b.Seq, b.What, b.Msg}
	} else if err != nil {
		return err
	}
	res.OK = b == nil
	out := o.IO
	switch {
	case o.jsonFlag:
		err = writeJSON(out.Out, res)
	case b != nil:
		_, err = fmt.Fprintf(out.Out, "%s  %s\n", out.paint(red, "BROKEN"), visible(b.Error()))
	default:
		_, err = fmt.Fprintf(out.Out, "%s  %s, from %d on\nhead  %s\n", out.paint(green, "ok"), plural(int(res.Records), "record"), res.First, res.Head.Hash)
	}
	if err == nil && b != nil {
		return exit(ExitError)
	}
	return err
}

// verify verifies the named file, or the ledger.
func (o *logVerifyOptions) verify(ctx context.Context, head ledger.Hash) (res logVerifyJSON, err error) {
	var v ledger.Verified
	var s logStore
	if o.File != "" {
		v, err = o.verifyFile(head)
	} else if s, err = o.Store.openLog(ctx, o.IO); err == nil {
		defer s.Close()
		v, err = s.Verify(ctx, head)
	}
	return logVerifyJSON{V: 1, Records: v.Records, First: v.First, Head: v.Head}, err
}

func (o *logVerifyOptions) verifyFile(head ledger.Hash) (ledger.Verified, error) {
	f, err := o.Open(o.File)
	if err != nil {
		return ledger.Verified{}, err
	}
	defer f.Close()
	return ledger.VerifyLines(lines(f), head)
}

// lines yields the lines of a file that log export wrote.
func lines(r io.Reader) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		in := bufio.NewScanner(r)
		in.Buffer(nil, 16<<20)
		for in.Scan() {
			if !yield(in.Bytes(), nil) {
				return
			}
		}
		if err := in.Err(); err != nil {
			yield(nil, err)
		}
	}
}

func newLogExport(f *Factory) *cobra.Command {
	o := &logOptions{Factory: f}
	cmd := command("log export", some(0, 0), func(ctx context.Context, _ []string) error { return logExportRun(ctx, o) })
	o.Store.flags(cmd)
	o.filters(cmd)
	cmd.Flags().StringVar(&o.Format, "format", "jsonl", "`form` to write: jsonl, csv or chorus")
	return cmd
}

func logExportRun(ctx context.Context, o *logOptions) error {
	q, err := o.query(time.Now())
	if err != nil {
		return err
	}
	out := bufio.NewWriter(o.IO.Out)
	var p recordPrinter
	switch o.Format {
	case "jsonl":
		p = linePrinter{out}
	case "csv":
		p = newCSVPrinter(out)
	case "chorus":
		p = &chorusPrinter{w: csv.NewWriter(out)}
	default:
		return usagef("--format takes jsonl, csv or chorus, not %q", o.Format)
	}
	s, err := o.Store.openLog(ctx, o.IO)
	if err != nil {
		return err
	}
	defer s.Close()
	for r, err := range s.Records(ctx, q) {
		if err == nil {
			err = p.print(r)
		}
		if err != nil {
			return err
		}
	}
	return errors.Join(p.flush(), out.Flush())
}

// logTrimOptions are the options of obstat log trim.
type logTrimOptions struct {
	*Factory
	Store  storeOptions
	Before string
}

// logTrimJSON is the output of obstat log trim --json.
type logTrimJSON struct {
	V       int `json:"v"`
	Removed int `json:"removed"`
}

func newLogTrim(f *Factory) *cobra.Command {
	o := &logTrimOptions{Factory: f}
	cmd := command("log trim", some(0, 0), func(ctx context.Context, _ []string) error { return logTrimRun(ctx, o) })
	o.Store.flags(cmd)
	cmd.Flags().StringVar(&o.Before, "before", "", "`time`, as obstat log takes it")
	return cmd
}

func logTrimRun(ctx context.Context, o *logTrimOptions) error {
	before, err := readTime("--before", o.Before, time.Now())
	if err != nil {
		return err
	}
	if before.IsZero() {
		return usagef("--before says which records are old")
	}
	s, err := o.Store.open(ctx)
	if err != nil {
		return err
	}
	defer s.Close()
	n, err := s.Trim(ctx, before)
	if err != nil {
		return err
	}
	if o.jsonFlag {
		return writeJSON(o.IO.Out, logTrimJSON{1, n})
	}
	_, err = fmt.Fprintf(o.IO.Out, "%s taken out\n", plural(n, "record"))
	return err
}
