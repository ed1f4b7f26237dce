package cli

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"iter"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/obstat/obstat/internal/store/memory"
	"github.com/obstat/obstat/internal/store/sqlite"
	"github.com/obstat/obstat/ledger"
)

// logOptions are the options of obstat log and of obstat log export.
type logOptions struct {
	Factory      *Factory
	Store        storeOptions
	Since, Until string
	Query        ledger.Query
	Kind         string
	Follow       bool
	CSV          bool
	Format       string
	Tick         <-chan time.Time // looks for more when following; nil: twice a second
}

func newLog(f *Factory, runF func(*logOptions) error) *cobra.Command {
	o := &logOptions{Factory: f}
	cmd := &cobra.Command{
		Use:   "log [flags]",
		Short: "Show what was decided, asked and answered",
		Long: `Show the newest records of the ledger, oldest first: decisions, asks, answers,
grants, policy changes. What short-lived processes wrote to the spool beside the
database is shown after it.

Times are dates (2026-01-31), dates with a time (2026-01-31T15:04, local unless
they say otherwise) or how long ago (90m, 12h, 3d).`,
		Example: `  obstat log
  obstat log --since 1h --verdict deny
  obstat log --session s1 --json
  obstat log -f`,
		Args: some(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if runF != nil {
				return runF(o)
			}
			ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt)
			defer stop()
			return logRun(ctx, o)
		},
	}
	o.Store.flags(cmd)
	o.filters(cmd)
	cmd.Flags().IntVarP(&o.Query.Limit, "number", "n", 50, "at most so many, the newest; 0 is all")
	cmd.Flags().BoolVarP(&o.Follow, "follow", "f", false, "go on with what is written from now on")
	cmd.Flags().BoolVar(&o.CSV, "csv", false, "print comma-separated values")
	cmd.AddCommand(newLogVerify(f, nil), newLogExport(f, nil), newLogTrim(f, nil))
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
	fl.StringVar(&o.Kind, "kind", "", "`kind` of record: start, decision, ask, answer, grant, policy, cut, spool")
}

// query returns the query with its times read.
func (o *logOptions) query(now time.Time) (q ledger.Query, err error) {
	q = o.Query
	kinds := []ledger.Kind{"", ledger.Start, ledger.Decision, ledger.Ask, ledger.Answer, ledger.Grant, ledger.Policy, ledger.Cut, ledger.Spooled}
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

// A logStore is a ledger and the spool beside it.
type logStore struct {
	ledger.Store
	db    *sqlite.Store // nil: there is only the spool
	spool *ledger.Spool
}

// openLog opens a ledger that is there. A hook may have written to the spool
// before anybody made a database.
func (o *storeOptions) openLog(ctx context.Context) (*logStore, error) {
	path, err := o.file()
	if err != nil {
		return nil, err
	}
	s := &logStore{spool: &ledger.Spool{Path: ledger.SpoolPath(path)}}
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		if _, err := os.Stat(s.spool.Path); err == nil {
			s.Store = new(memory.Store)
			return s, nil
		}
	}
	s.db, err = o.open(ctx)
	s.Store = s.db
	return s, err
}

func (o *storeOptions) file() (string, error) {
	if o.Path != "" {
		return o.Path, nil
	}
	return sqlite.DefaultPath()
}

// Reader returns the store as it is, with all it can do.
func (s *logStore) Reader() ledger.Reader { return s.Store }

func (s *logStore) Close() error {
	if s.db == nil {
		return nil
	}
	return s.db.Close()
}

// records yields what the store has and then what waits in the spool.
func (s *logStore) records(ctx context.Context, q ledger.Query) iter.Seq2[*ledger.Record, error] {
	return func(yield func(*ledger.Record, error) bool) {
		var waiting []*ledger.Record
		w := q
		w.After = 0 // the spool counts for itself
		for r, err := range s.spool.Waiting(ctx, s.Store) {
			if err != nil {
				yield(nil, err)
				return
			}
			if w.Matches(r) {
				waiting = append(waiting, r)
			}
		}
		full := false
		if q.Limit > 0 {
			waiting = waiting[max(0, len(waiting)-q.Limit):]
			full = len(waiting) == q.Limit
			q.Limit -= len(waiting)
		}
		if !full {
			for r, err := range s.Records(ctx, q) {
				if !yield(r, err) || err != nil {
					return
				}
			}
		}
		for _, r := range waiting {
			if !yield(r, nil) {
				return
			}
		}
	}
}

func logRun(ctx context.Context, o *logOptions) error {
	if o.CSV && o.Factory.jsonFlag {
		return usagef("--csv and --json exclude each other")
	}
	q, err := o.query(time.Now())
	if err != nil {
		return err
	}
	s, err := o.Store.openLog(ctx)
	if err != nil {
		return err
	}
	defer s.Close()
	p := o.printer(o.Factory.IO.Out)
	// What is written while this is printed is still to be followed.
	head, err := s.Head(ctx)
	if err != nil {
		return err
	}
	seen := new(following)
	for r, err := range s.records(ctx, q) {
		if err == nil && !seen.before(r) {
			err = p.print(r)
		}
		if err != nil {
			return err
		}
	}
	if err := p.flush(); err != nil || !o.Follow {
		return err
	}
	seen.seq = max(seen.seq, head.Seq) // older ones were not wanted
	return o.follow(ctx, s, q, p, seen)
}

// A following knows what was printed, so that nothing is printed twice: not a
// record that was shown while it was in the spool, either.
type following struct {
	seq, spool uint64
}

// before tells whether r was printed, and takes it for printed from now on.
func (f *following) before(r *ledger.Record) bool {
	waiting := isWaiting(r)
	was := r.Spool != nil && r.Spool.Seq <= f.spool || !waiting && r.Seq <= f.seq
	if r.Spool != nil {
		f.spool = max(f.spool, r.Spool.Seq)
	}
	if !waiting {
		f.seq = max(f.seq, r.Seq)
	}
	return was
}

// isWaiting tells a record that is in the spool: its place there is its own.
func isWaiting(r *ledger.Record) bool { return r.Spool != nil && r.Spool.Hash == r.Hash }

func (o *logOptions) follow(ctx context.Context, s *logStore, q ledger.Query, p recordPrinter, seen *following) error {
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
		q.After = seen.seq
		for r, err := range s.records(ctx, q) {
			if ctx.Err() != nil {
				return nil
			}
			if err == nil && !seen.before(r) {
				err = p.print(r)
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

// printer returns what prints records in the form that was asked for.
func (o *logOptions) printer(w io.Writer) recordPrinter {
	switch {
	case o.CSV:
		return newCSVPrinter(w)
	case o.Factory.jsonFlag:
		return jsonPrinter{w}
	}
	return &textPrinter{io: o.Factory.IO, w: w}
}
