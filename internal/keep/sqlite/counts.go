package sqlite

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"strconv"
	"time"

	"github.com/obstat/obstat/internal/keep/tally"
	"github.com/obstat/obstat/ledger"
)

// count adds a line's record up. Its header is read already; of a decision and an ask the members are read that are
// counted beside it.
func count(counts *tally.Counts, header *ledger.Record, line []byte, taken, now time.Time) {
	r := *header
	if r.Kind != ledger.Decision && r.Kind != ledger.Ask {
		counts.Add(&r, taken, now)
		return
	}
	for name, value := range ledger.Members(line) {
		if string(name) == "world" { // large, and nothing behind it is counted
			break
		}
		switch string(name) {
		case "request":
			r.Request = string(bytes.Trim(value, `"`)) // only whether there is one counts
		case "call":
			r.Call = string(bytes.Trim(value, `"`))
		case "nanos":
			r.Nanos, _ = strconv.ParseInt(string(value), 10, 64)
		case "detail":
			r.Detail = value
		}
	}
	counts.Add(&r, taken, now)
}

// keepCounts adds counts to those that the database has, in the transaction that indexes their records.
func keepCounts(tx *sql.Tx, counts *tally.Counts) error {
	rows, calls := counts.Flush()
	if len(rows) == 0 {
		return nil
	}
	add, err := tx.Prepare("INSERT INTO counts (hour, dim, name, what, n) VALUES (?,?,?,?,?) " +
		"ON CONFLICT DO UPDATE SET n = n + excluded.n")
	if err != nil {
		return err
	}
	defer add.Close()
	for k, n := range rows {
		if _, err := add.Exec(k.Hour, k.Dim, k.Name, k.What, n); err != nil {
			return err
		}
	}
	one, err := tx.Prepare("INSERT INTO calls (day, digest, n, asked, denied, seq) VALUES (?,?,?,?,?,?) " +
		"ON CONFLICT DO UPDATE SET " +
		"n = n + excluded.n, asked = asked + excluded.asked, denied = denied + excluded.denied, seq = max(seq, excluded.seq)")
	if err != nil {
		return err
	}
	defer one.Close()
	days := map[int64]bool{}
	for k, c := range calls {
		if _, err := one.Exec(k.Day, k.Digest, c.N, c.Asked, c.Denied, int64(c.Seq)); err != nil {
			return err
		}
		days[k.Day] = true
	}
	for day := range days {
		if err := prune(tx, day); err != nil {
			return err
		}
	}
	return nil
}

// prune drops the calls of a day that were made least, once there are twice as many as are kept.
func prune(tx *sql.Tx, day int64) error {
	var n int
	if err := tx.QueryRow("SELECT count(*) FROM calls WHERE day = ?", day).Scan(&n); err != nil || n <= 2*tally.MaxCalls {
		return err
	}
	_, err := tx.Exec("DELETE FROM calls WHERE day = ? AND digest NOT IN "+
		"(SELECT digest FROM calls WHERE day = ? ORDER BY n DESC, seq DESC LIMIT ?)", day, day, tally.MaxCalls)
	return err
}

// Counts hands over the counts of the hours since a time.
func (s *Store) Counts(ctx context.Context, since time.Time, each func(tally.Row)) error {
	if err := s.catchUp(ctx); err != nil {
		return err
	}
	rows, err := s.read.QueryContext(ctx, "SELECT hour, dim, name, what, n FROM counts WHERE hour >= ?", hourOf(since))
	if err != nil {
		return err
	}
	defer rows.Close()
	var r tally.Row
	for rows.Next() {
		if err := rows.Scan(&r.Hour, &r.Dim, &r.Name, &r.What, &r.N); err != nil {
			return err
		}
		each(r)
	}
	return rows.Err()
}

func hourOf(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.Unix() / 3600
}

// Frequent returns the most frequent distinct calls since the day of a time.
func (s *Store) Frequent(ctx context.Context, since time.Time, by tally.Order, limit int) (out []tally.Frequent,
	err error) {
	if err := s.catchUp(ctx); err != nil {
		return nil, err
	}
	rows, err := s.read.QueryContext(ctx,
		fmt.Sprintf("SELECT sum(n), sum(asked), sum(denied), max(seq) FROM calls WHERE day >= ? "+
			"GROUP BY digest HAVING sum(%[1]s) > 0 ORDER BY sum(%[1]s) DESC, "+
			"max(seq) DESC LIMIT ?", by), hourOf(since)/24, limit)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var seqs []uint64
	for rows.Next() {
		var f tally.Frequent
		var seq int64
		if err := rows.Scan(&f.N, &f.Asked, &f.Denied, &seq); err != nil {
			return nil, err
		}
		out, seqs = append(out, f), append(seqs, uint64(seq))
	}
	if err := rows.Err(); err != nil {
		return nil, err
	}
	return s.sampled(ctx, out, seqs)
}

// sampled fills in the records, and leaves out those that retention has taken.
func (s *Store) sampled(ctx context.Context, list []tally.Frequent, seqs []uint64) (out []tally.Frequent, err error) {
	v, err := s.log.View()
	if err != nil || len(list) == 0 {
		return nil, nil // there is no ledger yet
	}
	defer v.Close()
	for i, seq := range seqs {
		var at int64
		err := s.read.QueryRowContext(ctx, "SELECT at FROM records WHERE seq = ?", int64(seq)).Scan(&at)
		if err != nil {
			continue
		}
		line, err := v.LineAt(at)
		if err != nil {
			continue
		}
		if list[i].Record, err = ledger.Decode(line); err == nil {
			out = append(out, list[i])
		}
	}
	return out, ctx.Err()
}

// Recount makes the index and the counts anew from the ledger file.
func (s *Store) Recount(ctx context.Context) error {
	s.indexing.Lock()
	defer s.indexing.Unlock()
	s.mu.Lock()
	err := s.transact(ctx, s.index, func(tx *sql.Tx) error {
		_, err := tx.Exec("DELETE FROM records; DELETE FROM counts; DELETE FROM calls; " +
			"UPDATE fed SET seq = 0, hash = x'', at = 0")
		return err
	})
	s.mu.Unlock()
	if err != nil {
		return err
	}
	return s.catchUpNow(ctx)
}
