package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/obstat/obstat/internal/statedir"
	"github.com/obstat/obstat/ledger"
	"github.com/obstat/obstat/store"
)

// logOptions are the options of obstat log and of obstat log export.
type logOptions struct {
	*Factory
	Store        storeOptions
	Since, Until string
	Query        ledger.Query
	Kind         string
	Follow       bool
	CSV          bool
	Format       string
	Tick         <-chan time.Time // looks for more when following; nil: twice a second
}

func newLog(f *Factory) *cobra.Command {
	o := &logOptions{Factory: f}
	cmd := command("log", some(0, 0), untilInterrupt(func(ctx context.Context, _ []string) error { return logRun(ctx, o) }))
	o.Store.flags(cmd)
	o.filters(cmd)
	cmd.Flags().IntVarP(&o.Query.Limit, "number", "n", 50, "at most so many, the newest; 0 is all")
	cmd.Flags().BoolVarP(&o.Follow, "follow", "f", false, "go on with what is written from now on")
	cmd.Flags().BoolVar(&o.CSV, "csv", false, "print comma-separated values")
	cmd.AddCommand(newLogVerify(f), newLogExport(f), newLogTrim(f))
	return cmd
}

// filters are the flags that say which records are wanted.
func (o *logOptions) filters(cmd *cobra.Command) {
	fl := cmd.Flags()
	fl.StringVar(&o.Since, "since", "", "not before this `time`")
	fl.StringVar(&o.Until, "until", "", "before this `time`")
	fl.StringVar(&o.Query.Agent, "agent", "", "`name` of the agent")
	fl.StringVar(&o.Query.Session, "session", "", "`name` of the session")
	fl.StringVar(&o.Query.Tool, "tool", "", "`name` of the tool")
	fl.StringVar(&o.Query.Verdict, "verdict", "", "`allow`, ask or deny; of an answer approved, refused, expired or canceled")
	fl.StringVar(&o.Query.Rule, "rule", "", "`rule` that decided, as it is written")
	fl.StringVar(&o.Kind, "kind", "", "`kind` of record: start, decision, ask, answer, grant, pin, policy, cut, damage")
}

// query returns the query with its times read.
func (o *logOptions) query(now time.Time) (q ledger.Query, err error) {
	q = o.Query
	kinds := []ledger.Kind{"", ledger.Start, ledger.Decision, ledger.Ask, ledger.Answer, ledger.Grant, ledger.Pin, ledger.Policy, ledger.Cut, ledger.Damage, ledger.Spooled}
	if q.Kind = ledger.Kind(o.Kind); !slices.Contains(kinds, q.Kind) {
		return q, usagef("there is no kind of record %q", o.Kind)
	}
	if !slices.Contains([]string{"", "allow", "ask", "deny", "approved", "refused", "expired", "canceled", "granted", "revoked"}, q.Verdict) {
		return q, usagef("--verdict takes allow, ask or deny, of an answer approved, refused, expired or canceled, of a grant granted or revoked, not %q", q.Verdict)
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
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05", "2006-01-02T15:04", "2006-01-02 15:04:05", "2006-01-02 15:04", "2006-01-02"} {
		if t, err := time.ParseInLocation(layout, s, time.Local); err == nil {
			return t, nil
		}
	}
	return time.Time{}, usagef("%s takes a time such as 2026-01-31, 2026-01-31T15:04 or 12h, not %q", flag, s)
}

// openLog opens a ledger that is there. Where the database cannot be used, as on
// a file system that cannot be written, all of the file is read instead.
func (o *storeOptions) openLog(ctx context.Context, io *IO) (logStore, error) {
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
	return store.Log(ctx, path, os.Getenv)
}

// A logStore is a ledger that is read.
type logStore interface {
	ledger.Reader
	ledger.Verifier
	Close() error
}

func logRun(ctx context.Context, o *logOptions) error {
	if o.CSV && o.jsonFlag {
		return usagef("--csv and --json exclude each other")
	}
	q, err := o.query(time.Now())
	if err != nil {
		return err
	}
	s, err := o.Store.openLog(ctx, o.IO)
	if err != nil {
		return err
	}
	defer s.Close()
	p := o.printer(o.IO.Out)
	// Records that are written while this is printed are still to be followed.
	head, err := s.Head(ctx)
	if err != nil {
		return err
	}
	last := head.Seq
	for r, err := range s.Records(ctx, q) {
		if err == nil {
			last, err = max(last, r.Seq), p.print(r)
		}
		if err != nil {
			return err
		}
	}
	if err := p.flush(); err != nil || !o.Follow {
		return err
	}
	q.After = last
	return o.follow(ctx, s, q, p)
}

// follow prints the records after q.After as they are written.
func (o *logOptions) follow(ctx context.Context, s logStore, q ledger.Query, p recordPrinter) error {
	tick := o.Tick
	if tick == nil {
		t := time.NewTicker(time.Second / 2)
		defer t.Stop()
		tick = t.C
	}
	q.Limit = 0
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick:
		}
		for r, err := range s.Records(ctx, q) {
			if ctx.Err() != nil {
				return nil
			}
			if err == nil {
				q.After, err = r.Seq, p.print(r)
			}
			if err != nil {
				return err
			}
		}
		if err := p.flush(); err != nil {
			return err
		}
	}
}

// printer returns the printer for the form that the flags ask for.
func (o *logOptions) printer(w io.Writer) recordPrinter {
	switch {
	case o.CSV:
		return newCSVPrinter(w)
	case o.jsonFlag:
		return jsonPrinter{w}
	}
	return &textPrinter{io: o.IO, w: w}
}
