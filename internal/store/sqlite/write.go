package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/obstat/obstat/ledger"
)

// maxBatch is how many appends are committed together at most.
const maxBatch = 256

// pending is an append that waits for its commit.
type pending struct {
	drafts []*ledger.Draft
	err    chan error
}

// ErrClosed is the error of writing to a store that is closed.
var ErrClosed = errors.New("the store is closed")

// Append writes records together with what other callers have waiting.
func (s *Store) Append(ctx context.Context, records ...*ledger.Record) error {
	// Encoding is every caller's own work; committing is done by one of them.
	drafts, err := draft(records)
	if err != nil {
		return err
	}
	p := &pending{drafts, make(chan error, 1)}
	select {
	case s.queue <- p:
	case <-s.closed:
		return ErrClosed
	case <-ctx.Done():
		return ctx.Err()
	}
	// Whoever gets the token commits what is waiting, its own and the others':
	// a caller who is alone waits for nobody.
	select {
	case err := <-p.err:
		return err
	case s.token <- struct{}{}:
	case <-s.closed:
		select {
		case err := <-p.err:
			return err
		default:
			return ErrClosed
		}
	}
	defer func() { <-s.token }()
	for {
		select {
		case err := <-p.err:
			return err
		default:
			s.commit(s.gather())
		}
	}
}

func draft(records []*ledger.Record) ([]*ledger.Draft, error) {
	out := make([]*ledger.Draft, len(records))
	for i, r := range records {
		var err error
		if out[i], err = r.Draft(); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// gather takes what is waiting; only who has the token may.
func (s *Store) gather() (batch []*pending) {
	for len(batch) < maxBatch {
		select {
		case p := <-s.queue:
			batch = append(batch, p)
		default:
			return batch
		}
	}
	return batch
}

// checkpointer brings the write-ahead log into the file beside the writer, who
// must not wait for it.
func (s *Store) checkpointer(ctx context.Context) {
	defer close(s.rested)
	tick := time.NewTicker(checkpointEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			// It waits for nobody: what it cannot do now, it does next time.
			s.check.ExecContext(ctx, "PRAGMA wal_checkpoint(PASSIVE)")
		case <-ctx.Done():
			return
		}
	}
}

// commit writes a batch in one transaction. If that fails, each append is tried
// by itself, so that one bad record does not take the others with it.
func (s *Store) commit(batch []*pending) {
	if len(batch) == 0 {
		return
	}
	err := s.transact(batch)
	if isCode(err, codeReadOnly) {
		// A connection that was made while the file could not be written stays
		// that way: the next append gets a new one.
		s.fast.SetMaxIdleConns(-1)
		s.fast.SetMaxIdleConns(1)
	}
	if err == nil || len(batch) == 1 {
		for _, p := range batch {
			p.err <- err
		}
		return
	}
	for _, p := range batch {
		p.err <- s.transact([]*pending{p})
	}
}

// transact writes a batch behind the end of the chain as this process knows it.
// Where another process wrote meanwhile, the sequence number is taken, and it is
// done again behind the true end.
func (s *Store) transact(batch []*pending) (err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for range 16 {
		var head ledger.Head
		if head, err = s.write1(batch); err == nil {
			s.head = head
			return s.wal.sync()
		}
		s.head = ledger.Head{}
		if !isCode(err, codeConstraint) {
			return err
		}
	}
	return err
}

// write1 writes a batch in one transaction. One record is one by itself. It is
// durable when the log is.
func (s *Store) write1(batch []*pending) (head ledger.Head, err error) {
	if head = s.head; head.Seq == 0 {
		if head, err = scanHead(s.last.QueryRow()); err != nil {
			return head, err
		}
	}
	if len(batch) == 1 && len(batch[0].drafts) == 1 {
		return insert(s.insert, head, batch[0].drafts[0])
	}
	tx, err := s.fast.Begin()
	if err != nil {
		return head, err
	}
	defer func() {
		if err != nil {
			tx.Rollback()
		}
	}()
	var drafts []*ledger.Draft
	for _, p := range batch {
		drafts = append(drafts, p.drafts...)
	}
	many, one := tx.Stmt(s.insertMany), tx.Stmt(s.insert)
	for ; len(drafts) >= insertRows && err == nil; drafts = drafts[insertRows:] {
		head, err = insert(many, head, drafts[:insertRows]...)
	}
	for ; len(drafts) > 0 && err == nil; drafts = drafts[1:] {
		head, err = insert(one, head, drafts[0])
	}
	if err != nil {
		return head, err
	}
	return head, tx.Commit()
}

type queryer interface {
	QueryRow(query string, args ...any) *sql.Row
}

const headSQL = "SELECT body FROM records ORDER BY seq DESC LIMIT 1"

func headOf(q queryer) (h ledger.Head, err error) { return scanHead(q.QueryRow(headSQL)) }

func scanHead(row *sql.Row) (h ledger.Head, err error) {
	var line []byte
	err = row.Scan(&line)
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
	insertRows = 16 // of the statement that inserts many
)

// insert seals records behind head and writes them with a statement for so
// many.
func insert(stmt *sql.Stmt, head ledger.Head, drafts ...*ledger.Draft) (ledger.Head, error) {
	args := make([]any, 0, 10*insertRows)
	for _, d := range drafts {
		line := d.Seal(head)
		r := d.Record()
		args = append(args, int64(r.Seq), r.Time.UnixNano(), string(r.Kind), r.Agent, r.Session, r.Tool, r.Verdict, r.Rule, r.Spool != nil, line)
		head = ledger.Head{Seq: r.Seq, Hash: r.Hash}
	}
	_, err := stmt.Exec(args...)
	return head, err
}

// Trim takes out the records before a time, and writes down that it did.
func (s *Store) Trim(ctx context.Context, before time.Time) (n int, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	tx, err := s.write.BeginTx(ctx, nil)
	if err != nil {
		return 0, err
	}
	defer func() {
		if err != nil {
			tx.Rollback()
		}
	}()
	// Everything up to the first record that stays: the order is the chain's,
	// not the clock's.
	var body []byte
	err = tx.QueryRow(`SELECT body FROM records WHERE seq < coalesce((SELECT min(seq) FROM records WHERE time >= ?), (SELECT max(seq) FROM records) + 1)
		ORDER BY seq DESC LIMIT 1`, before.UnixNano()).Scan(&body)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, tx.Rollback()
	}
	if err != nil {
		return 0, err
	}
	last, err := ledger.Decode(body)
	if err != nil {
		return 0, err
	}
	if err = s.cutAt(tx, last); err != nil {
		return 0, err
	}
	res, err := tx.Exec("DELETE FROM records WHERE seq <= ?", last.Seq)
	if err != nil {
		return 0, err
	}
	if err = tx.Commit(); err != nil {
		return 0, err
	}
	rows, err := res.RowsAffected()
	return int(rows), err
}

func (s *Store) cutAt(tx *sql.Tx, last *ledger.Record) error {
	head, err := headOf(tx)
	if err != nil {
		return err
	}
	cut, err := ledger.NewCut(last, time.Now())
	if err != nil {
		return err
	}
	d, err := cut.Draft()
	if err == nil {
		var stmt *sql.Stmt
		if stmt, err = tx.Prepare(insertSQL); err == nil {
			_, err = insert(stmt, head, d)
		}
	}
	return err
}
