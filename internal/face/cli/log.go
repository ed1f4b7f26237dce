package cli

import (
	"bufio"
	"cmp"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/obstat/obstat/host/chorus"
	"github.com/obstat/obstat/internal/keep/statedir"
	"github.com/obstat/obstat/ledger"
	"github.com/obstat/obstat/store"
)

// logOptions are the options of obstat log and of the commands below it.
type logOptions struct {
	*Factory
	Store   storeOptions
	Since   string           `flag:"since"`
	Until   string           `flag:"until before"`
	Agent   string           `flag:"agent"`
	Session string           `flag:"session"`
	Tool    string           `flag:"tool"`
	Verdict string           `flag:"verdict"`
	Rule    string           `flag:"rule"`
	Kind    string           `flag:"kind"`
	Limit   int              `flag:"number n"`
	Follow  bool             `flag:"follow f"`
	CSV     bool             `flag:"csv"`
	Format  string           `flag:"format"`
	Head    string           `flag:"head"`
	Tick    <-chan time.Time // looks for more when following; nil: twice a second
}

func newLog(f *Factory) *cobra.Command {
	o := &logOptions{Factory: f, Limit: 50}
	cmd := command("log", some(0, 0), o, untilInterrupt(o.run))
	verify, export, trim := &logOptions{Factory: f}, &logOptions{Factory: f, Format: "jsonl"}, &logOptions{Factory: f}
	cmd.AddCommand(command("log verify", some(0, 1), verify, verify.verify),
		command("log export", some(0, 0), export, export.export), command("log trim", some(0, 0), trim, trim.trim))
	return cmd
}

// query returns the query with its times read.
func (o *logOptions) query(now time.Time) (q ledger.Query, err error) {
	q = ledger.Query{Agent: o.Agent, Session: o.Session, Tool: o.Tool, Verdict: o.Verdict, Rule: o.Rule, Limit: o.Limit}
	var kinds []string
	for _, k := range []ledger.Kind{ledger.Start, ledger.Decision, ledger.Ask, ledger.Answer, ledger.Grant,
		ledger.Outcome, ledger.Pin, ledger.Access, ledger.Policy, ledger.Cut, ledger.Damage, ledger.Undo} {
		kinds = append(kinds, string(k))
	}
	if q.Kind = ledger.Kind(o.Kind); o.Kind != "" && !slices.Contains(kinds, o.Kind) {
		return q, mistyped(fmt.Sprintf("there is no kind of record %q", o.Kind), o.Kind, kinds)
	}
	if !slices.Contains([]string{"", "allow", "ask", "deny", "approved", "refused", "expired", "canceled", "granted",
		"revoked", "ran", "failed", "not run", "made", "login", "logout", "ended", "taken back"}, q.Verdict) {
		return q, usagef("--verdict takes allow, ask or deny, of an answer approved, refused, expired or canceled, of a grant granted or revoked, of a token or login made, revoked, login, logout or ended, not %q", q.Verdict)
	}
	if q.Limit < 0 {
		return q, usagef("-n takes a number from 0 on, not %d", q.Limit)
	}
	if q.Since, err = readTime("--since", o.Since, now); err != nil {
		return q, err
	}
	q.Until, err = readTime("--until", o.Until, now)
	return q, err
}

// readTime reads a point in time, or how long ago it was.
func readTime(flag, s string, now time.Time) (time.Time, error) {
	if s == "" {
		return time.Time{}, nil
	}
	if days, ok := strings.CutSuffix(s, "d"); ok {
		if n, err := strconv.Atoi(days); err == nil && 0 <= n && n < 100_000 {
			return now.AddDate(0, 0, -n), nil
		}
	}
	if d, err := time.ParseDuration(s); err == nil && d >= 0 {
		return now.Add(-d), nil
	}
	if t, err := time.Parse("15:04", s); err == nil {
		return time.Date(now.Year(), now.Month(), now.Day(), t.Hour(), t.Minute(), 0, 0, now.Location()), nil
	}
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05", "2006-01-02T15:04", "2006-01-02 15:04:05",
		"2006-01-02 15:04", "2006-01-02"} {
		if t, err := time.ParseInLocation(layout, s, time.Local); err == nil {
			return t, nil
		}
	}
	return time.Time{}, usagef("%s takes a time such as 2026-01-31, 2026-01-31T15:04, 15:04 (today) or 12h (ago), not %q", flag, s)
}

// openLog opens a ledger that is there. Where the database cannot be used, as on
// a file system that cannot be written, all of the file is read instead.
func (o *storeOptions) openLog(ctx context.Context, io *IO) (logStore, error) {
	if o.shared() {
		return o.any(ctx)
	}
	s, err := o.open(ctx)
	if err == nil {
		return s, nil
	}
	path, perr := o.path()
	if perr != nil || errors.Is(err, ledger.ErrNotOurs) || errors.Is(err, ledger.ErrNewer) {
		return nil, err
	}
	if _, serr := os.Stat(statedir.LedgerOf(path)); serr != nil {
		return nil, err
	}
	fmt.Fprintf(io.Err, "reading all of the ledger, for its index cannot be used: %s\n", visible(err.Error()))
	return store.Log(path, os.Getenv)
}

// A logStore is a ledger that is read.
type logStore interface {
	ledger.Reader
	ledger.Verifier
	Close() error
}

func (o *logOptions) run(ctx context.Context, _ []string) error {
	form := "text"
	switch {
	case o.CSV && o.jsonFlag:
		return usagef("--csv and --json exclude each other")
	case o.CSV:
		form = "csv"
	case o.jsonFlag:
		form = "json"
	}
	return o.print(ctx, form)
}

func (o *logOptions) export(ctx context.Context, _ []string) error {
	if !slices.Contains([]string{"jsonl", "csv", "chorus"}, o.Format) {
		return usagef("--format takes jsonl, csv or chorus, not %q", o.Format)
	}
	return o.print(ctx, o.Format)
}

// print prints the records that the flags ask for, and those that follow.
func (o *logOptions) print(ctx context.Context, form string) error {
	q, err := o.query(time.Now())
	if err != nil {
		return err
	}
	if o.Follow && o.Store.shared() {
		return usagef("-f follows one ledger; of a server with several, GET /v1/ledger?follow=1 does")
	}
	s, err := o.Store.openLog(ctx, o.IO)
	if err != nil {
		return err
	}
	defer s.Close()
	out := bufio.NewWriter(o.IO.Out)
	print, entry := recordPrinter(o.IO, out, form), entryPrinter(o.IO, out)
	tick := o.Tick
	if tick == nil && o.Follow {
		t := time.NewTicker(time.Second / 2)
		defer t.Stop()
		tick = t.C
	}
	// Records that are written while this is printed are still to be followed.
	head, err := s.Head(ctx)
	if err != nil {
		return err
	}
	for last := head.Seq; ; {
		of, wanted := byKind(q)
		if form == "text" {
			err = printEntries(ctx, s, of, wanted, &last, entry)
		} else {
			err = eachRecord(ctx, s, of, wanted, func(r *ledger.Record) error {
				last = max(last, r.Seq)
				return print(r)
			})
		}
		if err != nil || ctx.Err() != nil && o.Follow {
			return cmp.Or(err, out.Flush())
		}
		if err := out.Flush(); err != nil || !o.Follow {
			return err
		}
		q.After, q.Limit = last, 0
		select {
		case <-ctx.Done():
			return nil
		case <-tick:
		}
	}
}

// recordPrinter returns the function that prints a record in a form.
func recordPrinter(io *IO, w *bufio.Writer, form string) func(*ledger.Record) error {
	switch form {
	case "json":
		return func(r *ledger.Record) error { return writeJSON(w, r) } // its v is its own
	case "jsonl":
		return func(r *ledger.Record) error {
			line, err := r.Encode()
			if err == nil {
				_, err = w.Write(line)
			}
			return err
		}
	case "csv":
		return csvPrinter(w, "seq,time,kind,agent,session,user,tool,input,verdict,rule,file,line,reason,request,policy,nanos,hash,sender", func(r *ledger.Record) [][]string {
			return [][]string{{strconv.FormatUint(r.Seq, 10), r.Time.Format(time.RFC3339Nano), string(r.Kind), r.Agent,
				r.Session, r.User, r.Tool, string(r.Input), r.Verdict, r.Rule,
				r.Pos.File, number(r.Pos.Line), r.Reason, r.Request, r.Policy, number(int(r.Nanos)), r.Hash.String(), sender(r)}}
		})
	case "chorus":
		table := chorus.Table{}
		return csvPrinter(w, "agent_name,timestamp,action_string,decision,user_id,detail",
			func(r *ledger.Record) (rows [][]string) {
				from, one := sender(r), *r
				if from != "" && r.Request != "" {
					one.Request = from + " " + r.Request // a machine's answer is not one to a request made here
				}
				if row, ok := table.Row(&one); ok {
					if from != "" {
						row.Detail = strings.TrimSuffix("word of "+from+": "+row.Detail, ": ")
					}
					rows = append(rows, []string{row.AgentName, row.Stamp(), row.ActionString, row.Decision, row.UserID, row.Detail})
				}
				return rows
			})
	}
	entry := entryPrinter(io, w)
	return func(r *ledger.Record) error { return entry(&ledger.Entry{Record: r}) }
}

// csvPrinter returns a function that prints records as rows below a heading. A cell that
// a spreadsheet would take for a formula is quoted: agents write them.
func csvPrinter(w io.Writer, heading string, rows func(*ledger.Record) [][]string) func(*ledger.Record) error {
	out := csv.NewWriter(w)
	begun := false
	return func(r *ledger.Record) error {
		all := rows(r)
		for _, row := range all {
			for i, cell := range row {
				if cell != "" && strings.ContainsRune("=+-@\t\r", rune(cell[0])) {
					row[i] = "'" + cell
				}
			}
		}
		if !begun {
			all = append([][]string{strings.Split(heading, ",")}, all...)
			begun = true
		}
		for _, row := range all {
			if err := out.Write(row); err != nil {
				return err
			}
		}
		return nil
	}
}

func number(n int) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n)
}

// logVerifyJSON is the output of obstat log verify --json.
type logVerifyJSON struct {
	V       int         `json:"v"`
	OK      bool        `json:"ok"`
	Records uint64      `json:"records"`
	First   uint64      `json:"first"`
	Head    ledger.Head `json:"head"`
	// Foreign counts the records that machines have sent to this ledger, by sender.
	Foreign map[string]uint64 `json:"foreign,omitempty"`
	Broken  *brokenJSON       `json:"broken,omitempty"`
}

type brokenJSON struct {
	Seq  uint64 `json:"seq"`
	What string `json:"what"`
	Msg  string `json:"msg"`
}

func (o *logOptions) verify(ctx context.Context, args []string) error {
	var head ledger.Hash
	if o.Head != "" {
		if err := head.UnmarshalText([]byte(o.Head)); err != nil {
			return usagef("--head: %v", err)
		}
	}
	v, err := o.verified(ctx, strings.Join(args, ""), head)
	res := logVerifyJSON{V: 1, OK: err == nil, Records: v.Records, First: v.First, Head: v.Head, Foreign: v.Foreign}
	code := ExitOK
	var b *ledger.Break
	if errors.As(err, &b) {
		res.Broken, code = &brokenJSON{b.Seq, b.What, b.Msg}, ExitError
	} else if err != nil {
		return err
	}
	return cmp.Or(o.show(res, func(s *screen) {
		if b != nil {
			s.printf("%s  %s\n", s.io.paint(red, "BROKEN"), visible(b.Error()))
			return
		}
		s.printf("%s  %s, from %d on\nhead  %s\n", s.io.paint(green, "ok"), plural(int(res.Records), "record"), res.First,
			res.Head.Hash)
		if senders := v.Senders(); senders != "" {
			s.printf("%s\n", visible(senders))
		}
	}), done(code))
}

// verified verifies the named file, or the ledger.
func (o *logOptions) verified(ctx context.Context, file string, head ledger.Hash) (ledger.Verified, error) {
	if file != "" {
		f, err := os.Open(file)
		if err != nil {
			return ledger.Verified{}, err
		}
		defer f.Close()
		return ledger.Export(func() iter.Seq2[[]byte, error] {
			_, err := f.Seek(0, io.SeekStart)
			return lines(f, err)
		}).Verify(head)
	}
	s, err := o.Store.openLog(ctx, o.IO)
	if err != nil {
		return ledger.Verified{}, err
	}
	defer s.Close()
	return s.Verify(ctx, head)
}

// lines yields the lines of a file that log export wrote, unless it could not be gone back to.
func lines(r io.Reader, err error) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		if err != nil {
			yield(nil, err)
			return
		}
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

// logTrimJSON is the output of obstat log trim --json.
type logTrimJSON struct {
	V       int `json:"v"`
	Removed int `json:"removed"`
}

func (o *logOptions) trim(ctx context.Context, _ []string) error {
	before, err := readTime("--before", o.Until, time.Now())
	if err != nil {
		return err
	}
	if before.IsZero() {
		return usagef("--before says which records are old")
	}
	if o.Store.shared() {
		return usagef("each server looks after its own records in a database that they share: start it with --keep")
	}
	if _, err := o.meant(o.Store.stored()); err != nil {
		return err
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
	return o.show(logTrimJSON{1, n}, func(s *screen) { s.printf("%s taken out\n", plural(n, "record")) })
}
