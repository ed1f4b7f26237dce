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
	records []*ledger.Record
	err     chan error
}

// ErrClosed is the error of writing to a store that is closed.
var ErrClosed = errors.New("the store is closed")

// Append hands records to the writer and waits for the commit.
func (s *Store) Append(ctx context.Context, records ...*ledger.Record) error {
	p := &pending{records, make(chan error, 1)}
	select {
	case s.queue <- p:
	case <-s.done:
		return ErrClosed
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case err := <-p.err:
		return err
	case <-s.done:
		select {
		case err := <-p.err:
			return err
		default:
			return ErrClosed
		}
	}
}

// writer commits what is waiting, as much as there is, and brings the
// write-ahead log into the file when nobody waits.
func (s *Store) writer(ctx context.Context) {
	defer close(s.done)
	tick := time.NewTicker(checkpointEvery)
	defer tick.Stop()
	for {
		select {
		case p := <-s.queue:
			s.commit(s.gather(p))
		case <-tick.C:
			s.checkpoint()
		case <-ctx.Done():
			s.drain()
			return
		}
	}
}

func (s *Store) gather(first *pending) []*pending {
	batch := []*pending{first}
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

func (s *Store) drain() {
	for {
		select {
		case p := <-s.queue:
			s.commit(s.gather(p))
		default:
			return
		}
	}
}

// checkpoint never waits for readers or writers: what it cannot do now, it does
// next time.
func (s *Store) checkpoint() {
	if db, err := open(s.path, 1); err == nil {
		db.Exec("PRAGMA busy_timeout(0)")
		db.Exec("PRAGMA wal_checkpoint(PASSIVE)")
		db.Close()
	}
}

// commit writes a batch in one transaction. If that fails, each append is tried
// by itself, so that one bad record does not take the others with it.
func (s *Store) commit(batch []*pending) {
	err := s.transact(batch)
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

func (s *Store) transact(batch []*pending) (err error) {
	tx, err := s.write.Begin()
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			tx.Rollback()
		}
	}()
	head, err := headOf(tx)
	if err != nil {
		return err
	}
	for _, p := range batch {
		for _, r := range p.records {
			if head, err = insert(tx, head, r); err != nil {
				return err
			}
		}
	}
	return tx.Commit()
}

type queryer interface {
	QueryRow(query string, args ...any) *sql.Row
}

func headOf(q queryer) (h ledger.Head, err error) {
	var hash []byte
	err = q.QueryRow("SELECT seq, hash FROM records ORDER BY seq DESC LIMIT 1").Scan(&h.Seq, &hash)
	if errors.Is(err, sql.ErrNoRows) {
		return h, nil
	}
	copy(h.Hash[:], hash)
	return h, err
}

// insert seals a record behind head and writes it.
func insert(tx *sql.Tx, head ledger.Head, r *ledger.Record) (ledger.Head, error) {
	if err := r.Seal(head.Seq, head.Hash); err != nil {
		return head, err
	}
	body, err := r.Encode()
	if err != nil {
		return head, err
	}
	_, err = tx.Exec("INSERT INTO records (seq, time, kind, agent, session, tool, verdict, rule, hash, body) VALUES (?,?,?,?,?,?,?,?,?,?)",
		r.Seq, r.Time.UnixNano(), string(r.Kind), r.Agent, r.Session, r.Tool, r.Verdict, r.Rule, r.Hash[:], body)
	return ledger.Head{Seq: r.Seq, Hash: r.Hash}, err
}

// Trim takes out the records before a time, and writes down that it did.
func (s *Store) Trim(ctx context.Context, before time.Time) (n int, err error) {
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
	if err = cutAt(tx, last); err != nil {
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

func cutAt(tx *sql.Tx, last *ledger.Record) error {
	head, err := headOf(tx)
	if err != nil {
		return err
	}
	cut, err := ledger.NewCut(last, time.Now())
	if err != nil {
		return err
	}
	_, err = insert(tx, head, cut)
	return err
}
