package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/obstat/obstat/internal/store/journal"
	"github.com/obstat/obstat/ledger"
)

// Append writes records together with what other callers have waiting. They are
// durable in the journal; the database takes them over in the background, or
// when somebody asks.
func (s *Store) Append(ctx context.Context, records ...*ledger.Record) error {
	// Encoding is every caller's own work; committing is done by one of them.
	drafts := make([]*ledger.Draft, len(records))
	for i, r := range records {
		var err error
		if drafts[i], err = r.Draft(); err != nil {
			return err
		}
	}
	if !journal.Supported {
		return s.direct(drafts)
	}
	// A database that takes nothing must not go unnoticed behind a journal that
	// still does.
	if s.troubled() != nil {
		if err := s.feed(ctx); err != nil && !passing(err) {
			return err
		}
	}
	return s.log.Append(ctx, drafts)
}

// ready is asked before each commit.
func (s *Store) ready() error {
	if err := writable(s.path); err != nil {
		return fmt.Errorf("%s cannot be written: %w", s.path, err)
	}
	if err := s.troubled(); err != nil && s.behind.Load() > maxBehind {
		return fmt.Errorf("the database has not taken records over for too long: %w", err)
	}
	return nil
}

// maxBehind is how large the journal may get while the database takes nothing.
const maxBehind = 64 << 20

// troubled returns why the database did not take the journal over the last time.
func (s *Store) troubled() error {
	if p := s.trouble.Load(); p != nil {
		return *p
	}
	return nil
}

// passing tells whether the reason that the database does not take records over
// is one that ends by itself, and until then the journal is as good.
func passing(err error) bool {
	return isCode(err, codeBusy) || isCode(err, codeIO) || isCode(err, codeFull) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

// direct writes drafts to the database itself.
func (s *Store) direct(drafts []*ledger.Draft) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-s.closed:
		return journal.ErrClosed
	default:
	}
	return s.transact(s.write, func(tx *sql.Tx) error {
		head, err := headOf(tx)
		if err != nil {
			return err
		}
		_, err = s.seal(tx, head, drafts)
		return err
	})
}

// seal seals drafts behind head and inserts them.
func (s *Store) seal(tx *sql.Tx, head ledger.Head, drafts []*ledger.Draft) (ledger.Head, error) {
	in := s.inserter(tx)
	for _, d := range drafts {
		line := d.Seal(head)
		head = ledger.Head{Seq: d.Record().Seq, Hash: d.Record().Hash}
		if err := in.add(d.Record(), line); err != nil {
			return head, err
		}
	}
	return head, in.flush()
}

// transact runs fn in a transaction of its own.
func (s *Store) transact(db *sql.DB, fn func(*sql.Tx) error) error {
	tx, err := db.Begin()
	if err == nil {
		if err = fn(tx); err == nil {
			err = tx.Commit()
		} else {
			tx.Rollback()
		}
	}
	if isCode(err, codeReadOnly) {
		// A connection that was made while the file could not be written stays
		// that way: the next one is a new one.
		db.SetMaxIdleConns(-1)
		db.SetMaxIdleConns(1)
	}
	return err
}

type queryer interface {
	QueryRow(query string, args ...any) *sql.Row
}

// headOf returns the end of the chain as far as it is in the database.
func headOf(q queryer) (h ledger.Head, err error) {
	var line []byte
	err = q.QueryRow("SELECT body FROM records ORDER BY seq DESC LIMIT 1").Scan(&line)
	if errors.Is(err, sql.ErrNoRows) {
		return h, nil
	}
	if err != nil {
		return h, err
	}
	return ledger.HeadOf(line)
}

const (
	insertSQL  = "INSERT INTO records (seq, time, kind, agent, session, tool, verdict, rule, spool, body) VALUES " + insertRow
	insertRow  = "(?,?,?,?,?,?,?,?,?,?)"
	insertCols = 10
	insertRows = 16 // of the statement that inserts many
)

// An inserter inserts records, several with one statement.
type inserter struct {
	one, many *sql.Stmt
	args      []any
}

func (s *Store) inserter(tx *sql.Tx) *inserter {
	return &inserter{tx.Stmt(s.insert), tx.Stmt(s.insertMany), make([]any, 0, insertCols*insertRows)}
}

// add inserts a record; its line must stay as it is until flush.
func (i *inserter) add(r *ledger.Record, line []byte) (err error) {
	i.args = append(i.args, int64(r.Seq), r.Time.UnixNano(), string(r.Kind), r.Agent, r.Session, r.Tool, r.Verdict, r.Rule, r.Spool != nil, line)
	if len(i.args) == insertCols*insertRows {
		_, err = i.many.Exec(i.args...)
		i.args = i.args[:0]
	}
	return err
}

func (i *inserter) flush() error {
	for ; len(i.args) > 0; i.args = i.args[insertCols:] {
		if _, err := i.one.Exec(i.args[:insertCols]...); err != nil {
			return err
		}
	}
	return nil
}

// Trim takes out the records before a time, and writes down that it did: first
// the one, then the other, so that a crash leaves too much rather than too
// little.
func (s *Store) Trim(ctx context.Context, before time.Time) (n int, err error) {
	if err := s.feed(ctx); err != nil {
		return 0, err
	}
	// Everything up to the first record that stays: the order is the chain's,
	// not the clock's.
	var body []byte
	err = s.read.QueryRowContext(ctx, `SELECT body FROM records WHERE seq < coalesce((SELECT min(seq) FROM records WHERE time >= ?), (SELECT max(seq) FROM records) + 1)
		ORDER BY seq DESC LIMIT 1`, before.UnixNano()).Scan(&body)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	last, err := ledger.Decode(body)
	if err != nil {
		return 0, err
	}
	cut, err := ledger.NewCut(last, time.Now())
	if err == nil {
		err = s.Append(ctx, cut)
	}
	if err == nil {
		err = s.feed(ctx)
	}
	if err != nil {
		return 0, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	res, err := s.write.ExecContext(ctx, "DELETE FROM records WHERE seq <= ?", last.Seq)
	if err != nil {
		return 0, err
	}
	rows, err := res.RowsAffected()
	return int(rows), err
}
