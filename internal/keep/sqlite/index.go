package sqlite

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
	"time"

	"github.com/obstat/obstat/ledger"
	"github.com/obstat/obstat/ledger/logfile"
)

const (
	// stretch is about how many bytes of the file are indexed in one transaction.
	stretch = 2 << 20
	// behind is how many bytes may wait to be indexed until a query needs them.
	behind = 8 << 20
)

// Append writes records to the ledger file. Queries find them there: see
// catchUp.
func (s *Store) Append(ctx context.Context, records ...*ledger.Record) error {
	err := s.log.Append(ctx, records...)
	if s.failed.Store(&err); err != nil || len(records) == 0 {
		return err
	}
	if records[len(records)-1].Offset-s.indexed.Load() > behind && s.indexing.TryLock() {
		s.background.Go(func() {
			defer s.indexing.Unlock()
			_ = s.catchUpNow(context.Background()) // the next query returns the error
		})
	}
	return nil
}

// Failed returns why the last append failed; nil where it succeeded, and before the first.
func (s *Store) Failed() error {
	if err := s.failed.Load(); err != nil {
		return *err
	}
	return nil
}

// catchUp indexes the records that the database does not have yet, so that a query
// finds every record that was acknowledged before it.
func (s *Store) catchUp(ctx context.Context) error {
	s.indexing.Lock()
	defer s.indexing.Unlock()
	return s.catchUpNow(ctx)
}

func (s *Store) catchUpNow(ctx context.Context) error {
	// All that is indexed is durable, so that after a power failure the index is
	// never ahead of the file.
	head, end, err := s.log.End(ctx)
	if errors.Is(err, fs.ErrNotExist) {
		return s.finish(ctx, &pass{s: s})
	}
	if err != nil {
		return err
	}
	v, err := s.log.View()
	if err != nil {
		return err
	}
	defer v.Close()
	p := &pass{s: s, view: v, head: head, end: end}
	for more := true; more; {
		if more, err = p.stretch(ctx); err != nil {
			return err
		}
	}
	s.indexed.Store(end)
	return s.finish(ctx, p)
}

// A pass brings the index up to date once.
type pass struct {
	s       *Store
	view    *logfile.View
	head    ledger.Head // of the last record to index
	end     int64       // offset behind it
	fed     ledger.Head
	at      int64
	rebuilt bool
}

// load reads how far the database is.
func (p *pass) load(q queryer) error {
	var hash []byte
	if err := q.QueryRow("SELECT seq, hash, at, rebuilt FROM fed").Scan(&p.fed.Seq, &hash, &p.at, &p.rebuilt); err != nil {
		return err
	}
	copy(p.fed.Hash[:], hash)
	return nil
}

// stretch indexes some of the file in a transaction, and tells whether there is
// more.
func (p *pass) stretch(ctx context.Context) (more bool, err error) {
	if err := p.load(p.s.read); err != nil || p.fed == p.head && p.rebuilt {
		return false, err
	}
	p.s.mu.Lock()
	defer p.s.mu.Unlock()
	err = p.s.transact(ctx, p.s.index, func(tx *sql.Tx) error {
		if err := p.load(tx); err != nil {
			return err
		}
		// Retention takes records out of the file; another file may be in place.
		if !p.view.Ends(p.fed, p.at) {
			p.fed, p.at = ledger.Head{}, 0
			if _, err := tx.Exec("DELETE FROM records; DELETE FROM counts; DELETE FROM calls"); err != nil {
				return err
			}
		}
		if _, err := tx.Exec("DELETE FROM records WHERE seq <= ?", int64(p.view.First().Seq)); err != nil {
			return err
		}
		more, err = p.insert(tx)
		if err != nil {
			return err
		}
		_, err = tx.Exec("UPDATE fed SET seq = ?, hash = ?, at = ?", int64(p.fed.Seq), p.fed.Hash[:], p.at)
		return err
	})
	return more, err
}

// insert indexes records until there are enough for one transaction.
func (p *pass) insert(tx *sql.Tx) (more bool, err error) {
	rows := &rowWriter{tx: tx}
	defer rows.close()
	from, now := p.at, time.Now()
	counts := &p.s.tally
	counts.Flush() // of a transaction that failed
	var r ledger.Record
	for l, err := range p.view.Lines(p.at) {
		if err != nil {
			return false, err
		}
		if l.Offset >= p.end {
			break
		}
		p.at = l.End()
		switch err := ledger.ReadHeader(&r, l.Text); {
		case errors.Is(err, ledger.ErrNewer):
			return false, err
		case err != nil:
			continue // no record: verifying the file tells
		}
		taken := takenAt(&r, l.Text)
		count(counts, &r, l.Text, taken, now)
		if err := rows.add(int64(r.Seq), taken.UnixNano(), string(r.Kind), r.Agent, r.Session, r.Tool, r.Verdict, r.Rule,
			l.Offset); err != nil {
			return false, err
		}
		p.fed = ledger.Head{Seq: r.Seq, Hash: r.Hash}
		if !p.rebuilt {
			if err := restore(tx, &r, l.Text); err != nil {
				return false, err
			}
		}
		if more = p.at-from > stretch; more {
			break
		}
	}
	if err := rows.flush(); err != nil {
		return false, err
	}
	return more, keepCounts(tx, counts)
}

// takenAt returns when a line's record was taken: only a machine's record has a time besides its own.
func takenAt(r *ledger.Record, line []byte) time.Time {
	if !bytes.Contains(line, []byte(`"spool":`)) {
		return r.Time
	}
	whole, err := ledger.Decode(line)
	if err != nil {
		return r.Time
	}
	return whole.TakenAt()
}

// A rowWriter inserts rows of the index, several with each statement: a statement costs
// as much as a row.
type rowWriter struct {
	tx   *sql.Tx
	full *sql.Stmt // inserts atOnce rows
	args []any
}

const (
	atOnce    = 32
	insertSQL = "INSERT OR REPLACE INTO records (seq, time, kind, agent, session, tool, verdict, rule, at) VALUES "
	rowSQL    = "(?,?,?,?,?,?,?,?,?)"
)

// add inserts a row, at once or with those that follow.
func (w *rowWriter) add(row ...any) (err error) {
	w.args = append(w.args, row...)
	if len(w.args) < atOnce*len(row) {
		return nil
	}
	if w.full == nil {
		if w.full, err = w.tx.Prepare(insertSQL + rowSQL + strings.Repeat(","+rowSQL, atOnce-1)); err != nil {
			return err
		}
	}
	_, err = w.full.Exec(w.args...)
	w.args = w.args[:0]
	return err
}

// flush inserts the rows that wait.
func (w *rowWriter) flush() error {
	n := len(w.args) / strings.Count(rowSQL, "?")
	if n == 0 {
		return nil
	}
	_, err := w.tx.Exec(insertSQL+rowSQL+strings.Repeat(","+rowSQL, n-1), w.args...)
	w.args = w.args[:0]
	return err
}

func (w *rowWriter) close() {
	if w.full != nil {
		w.full.Close()
	}
}

// columns appends a row of the index as linesSQL returns it.
func columns(b []byte, r *ledger.Record, at int64) []byte {
	b = append(strconv.AppendUint(b, r.Seq, 10), ' ')
	b = append(strconv.AppendInt(b, r.Time.UnixNano(), 10), ' ')
	b = strconv.AppendInt(b, at, 10)
	for _, text := range [...]string{string(r.Kind), r.Agent, r.Session, r.Tool, r.Verdict, r.Rule} {
		b = append(append(b, separator...), text...)
	}
	return b
}

// Asking SQLite for a column costs more than its bytes, so all of a row come in
// one.
const (
	separator = "\x1f"
	linesSQL  = "SELECT cast(seq || ' ' || time || ' ' || at" + and + "kind" + and + "agent" + and + "session" + and + "tool" +
		and + "verdict" + and + "rule AS BLOB) FROM records ORDER BY seq"
	and = " || '" + separator + "' || "
)

// Verify verifies the ledger file, also against the last record that is indexed,
// and then compares each row of the index with its record.
func (s *Store) Verify(ctx context.Context, head ledger.Hash, known ...ledger.Head) (ledger.Verified, error) {
	var p pass
	if err := p.load(s.read); err != nil {
		return ledger.Verified{}, err
	}
	v, err := s.log.Verify(ctx, head, append(known, p.fed)...)
	if errors.Is(err, fs.ErrNotExist) {
		return v, nil
	}
	if err != nil {
		return v, err
	}
	return v, s.verifyIndex(ctx)
}

func (s *Store) verifyIndex(ctx context.Context) error {
	if err := s.catchUp(ctx); err != nil {
		return err
	}
	v, err := s.log.View()
	if err != nil {
		return err
	}
	defer v.Close()
	rows, err := s.read.QueryContext(ctx, linesSQL)
	if err != nil {
		return err
	}
	defer rows.Close()
	var row sql.RawBytes
	var want []byte
	var r ledger.Record
	for l, err := range v.Lines(0) {
		if err != nil {
			return err
		}
		if ledger.ReadHeader(&r, l.Text) != nil || !rows.Next() {
			break // the file was verified, so it has grown meanwhile
		}
		if err := rows.Scan(&row); err != nil {
			return err
		}
		r.Time = takenAt(&r, l.Text)
		if want = columns(want[:0], &r, l.Offset); !bytes.Equal(row, want) {
			return &ledger.Break{Seq: r.Seq, What: "edited", Msg: fmt.Sprintf("the index in %s does not say what the record says; without that file it is made anew", s.path)}
		}
	}
	if rows.Next() {
		return &ledger.Break{Seq: r.Seq, What: "edited", Msg: fmt.Sprintf("the index in %s has records that the file has not", s.path)}
	}
	return rows.Err()
}

// Trim takes the records before a time out of the file and the index.
func (s *Store) Trim(ctx context.Context, before time.Time) (int, error) {
	n, err := s.log.Trim(ctx, before)
	if err == nil && n > 0 {
		err = s.catchUp(ctx)
	}
	return n, err
}

// transact runs fn in a transaction of its own.
func (s *Store) transact(ctx context.Context, db *sql.DB, fn func(*sql.Tx) error) error {
	tx, err := db.BeginTx(ctx, nil)
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
