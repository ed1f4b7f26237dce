package postgres

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/obstat/obstat/internal/keep/tally"
	"github.com/obstat/obstat/ledger"
)

// counting holds the counts of records that this process has written and the database does not count yet: those of one
// chain, from one record to another. Where anything is out of step they are dropped and the records are read.
type counting struct {
	mu          sync.Mutex
	chain       string
	first, last uint64
	counts      tally.Counts
}

// add counts the records of a batch that was committed.
func (c *counting) add(chain string, batch []*job) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	for _, j := range batch {
		for _, r := range j.records {
			if c.chain != chain || c.last > 0 && r.Seq != c.last+1 {
				c.counts.Flush()
				c.chain, c.first, c.last = chain, 0, 0
			}
			if c.first == 0 {
				c.first = r.Seq
			}
			c.last = r.Seq
			c.counts.Add(r, r.TakenAt(), now)
		}
	}
}

// A stretch is counts of consecutive records of a chain.
type stretch struct {
	first, last uint64
	rows        map[tally.Key]int64
	calls       map[tally.CallKey]*tally.Call
}

// take hands over what is counted of a chain so far.
func (c *counting) take() (chain string, out stretch) {
	c.mu.Lock()
	defer c.mu.Unlock()
	out.first, out.last = c.first, c.last
	out.rows, out.calls = c.counts.Flush()
	c.first, c.last = 0, 0
	return c.chain, out
}

// count writes counts down each second until ctx ends.
func (s *Store) count(ctx context.Context) {
	each := time.NewTicker(time.Second)
	defer each.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-each.C:
		}
		limit, cancel := context.WithTimeout(ctx, writeLimit)
		_ = s.flushCounts(limit) // the records are counted from the database the next time
		cancel()
	}
}

// flushCounts writes down what this process has counted.
func (s *Store) flushCounts(ctx context.Context) error {
	chain, done := s.counting.take()
	if done.last == 0 {
		return nil
	}
	_, err := s.countChain(ctx, chain, &done)
	return err
}

// countStretch is how many records are counted in one transaction.
const countStretch = 20_000

// countChain brings the counts of a chain forward in one transaction: by done where it follows, or by reading records.
// It tells whether there may be more. Of several processes that count a chain one does at a time.
func (s *Store) countChain(ctx context.Context, chain string, done *stretch) (more bool, err error) {
	err = retry(ctx, func() error {
		return pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
			more = false
			if _, err := tx.Exec(ctx, "INSERT INTO obstat_counted (chain, seq) VALUES ($1, 0) ON CONFLICT DO NOTHING",
				chain); err != nil {
				return err
			}
			var at int64
			if err := tx.QueryRow(ctx, "SELECT seq FROM obstat_counted WHERE chain = $1 FOR UPDATE",
				chain).Scan(&at); err != nil {
				return err
			}
			next := done
			if next == nil || next.first != uint64(at)+1 {
				read, n, err := readStretch(ctx, tx, chain, at)
				if err != nil || n == 0 {
					return err
				}
				next, more = read, n == countStretch
			}
			if err := keepStretch(ctx, tx, chain, next); err != nil {
				return err
			}
			_, err := tx.Exec(ctx, "UPDATE obstat_counted SET seq = $2 WHERE chain = $1", chain, int64(next.last))
			return err
		})
	})
	return more, err
}

// readStretch counts records of a chain behind one, as the database has them.
func readStretch(ctx context.Context, tx pgx.Tx, chain string, after int64) (*stretch, int, error) {
	rows, err := tx.Query(ctx,
		"SELECT time, line FROM obstat_records WHERE chain = $1 AND seq > $2 ORDER BY seq LIMIT $3", chain,
		after, countStretch)
	if err != nil {
		return nil, 0, err
	}
	var counts tally.Counts
	var at int64
	var line []byte
	out, n, now := new(stretch), 0, time.Now()
	_, err = pgx.ForEachRow(rows, []any{&at, &line}, func() error {
		n++
		r, err := ledger.Decode(line)
		if err != nil {
			var head ledger.Record
			if ledger.ReadHeader(&head, line) == nil {
				out.last = head.Seq
			}
			return nil // verifying tells
		}
		out.last = r.Seq
		counts.Add(r, time.Unix(0, at), now)
		return nil
	})
	out.rows, out.calls = counts.Flush()
	if out.last == 0 {
		out.last = uint64(after) + uint64(n)
	}
	return out, n, err
}

// keepStretch adds counts to those that the database has.
func keepStretch(ctx context.Context, tx pgx.Tx, chain string, s *stretch) error {
	var hours, ns []int64
	var dims []string
	var names, whats column
	for k, n := range s.rows {
		hours, ns, dims = append(hours, k.Hour), append(ns, n), append(dims, k.Dim)
		names, whats = append(names, []byte(k.Name)), append(whats, []byte(k.What))
	}
	if _, err := tx.Exec(ctx, `INSERT INTO obstat_counts (hour, chain, dim, name, what, n)
		SELECT hour, $1, dim, name, what, n FROM unnest($2::bigint[], $3::text[], $4::bytea[], $5::bytea[], $6::bigint[])
			AS new (hour, dim, name, what, n)
		ON CONFLICT (hour, chain, dim, name, what) DO UPDATE SET n = obstat_counts.n + excluded.n`,
		chain, hours, dims, names, whats, ns); err != nil {
		return err
	}
	var days, made, asked, denied, seqs []int64
	var digests []string
	for k, c := range s.calls {
		days, digests, made = append(days, k.Day), append(digests, k.Digest), append(made, c.N)
		asked, denied, seqs = append(asked, c.Asked), append(denied, c.Denied), append(seqs, int64(c.Seq))
	}
	if _, err := tx.Exec(ctx, `INSERT INTO obstat_calls (day, chain, digest, n, asked, denied, seq)
		SELECT day, $1, digest, n, asked, denied, seq
		FROM unnest($2::bigint[], $3::text[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[])
			AS new (day, digest, n, asked, denied, seq)
		ON CONFLICT (day, chain, digest) DO UPDATE SET n = obstat_calls.n + excluded.n,
			asked = obstat_calls.asked + excluded.asked, denied = obstat_calls.denied + excluded.denied,
			seq = greatest(obstat_calls.seq, excluded.seq)`, chain, days, digests, made, asked, denied, seqs); err != nil {
		return err
	}
	for _, day := range slices.Compact(slices.Sorted(slices.Values(days))) {
		if err := prune(ctx, tx, chain, day); err != nil {
			return err
		}
	}
	return nil
}

// prune drops the calls of a day that were made least, once there are twice as many as are kept.
func prune(ctx context.Context, tx pgx.Tx, chain string, day int64) error {
	var n int
	err := tx.QueryRow(ctx, "SELECT count(*) FROM obstat_calls WHERE day = $1 AND chain = $2", day, chain).Scan(&n)
	if err != nil || n <= 2*tally.MaxCalls {
		return err
	}
	_, err = tx.Exec(ctx, `DELETE FROM obstat_calls WHERE day = $1 AND chain = $2 AND digest NOT IN
		(SELECT digest FROM obstat_calls WHERE day = $1 AND chain = $2
		ORDER BY n DESC, seq DESC LIMIT $3)`, day, chain, tally.MaxCalls)
	return err
}

// behindChains returns the chains with records that are not counted, so that a reader counts those of replicas that
// are gone.
const behindChains = `SELECT c.name FROM obstat_chains c LEFT JOIN obstat_counted d ON d.chain = c.name
	WHERE EXISTS (SELECT 1 FROM obstat_records r WHERE r.chain = c.name AND r.seq > coalesce(d.seq, 0))`

// countAll counts all that is written by now, of all chains.
func (s *Store) countAll(ctx context.Context) error {
	if err := s.flushCounts(ctx); err != nil {
		return err
	}
	rows, err := s.pool.Query(ctx, behindChains)
	if err != nil {
		return err
	}
	chains, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return err
	}
	for _, chain := range chains {
		for more := true; more; {
			if more, err = s.countChain(ctx, chain, nil); err != nil {
				return err
			}
		}
	}
	return nil
}

// Counts hands over the counts of the hours since a time.
func (s *Store) Counts(ctx context.Context, since time.Time, each func(tally.Row)) error {
	if err := s.countAll(ctx); err != nil {
		return err
	}
	rows, err := s.pool.Query(ctx,
		"SELECT hour, dim, name, what, sum(n)::bigint FROM obstat_counts WHERE hour >= $1 GROUP BY hour, dim, name, what",
		hourOf(since))
	if err != nil {
		return err
	}
	var r tally.Row
	var name, what []byte
	_, err = pgx.ForEachRow(rows, []any{&r.Hour, &r.Dim, &name, &what, &r.N}, func() error {
		r.Name, r.What = string(name), string(what)
		each(r)
		return nil
	})
	return err
}

func hourOf(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.Unix() / 3600
}

// Frequent returns the most frequent distinct calls since the day of a time.
func (s *Store) Frequent(ctx context.Context, since time.Time, by tally.Order, limit int) ([]tally.Frequent, error) {
	if err := s.countAll(ctx); err != nil {
		return nil, err
	}
	day := hourOf(since) / 24
	rows, err := s.pool.Query(ctx,
		fmt.Sprintf(`SELECT digest, sum(n)::bigint, sum(asked)::bigint, sum(denied)::bigint FROM obstat_calls
		WHERE day >= $1 GROUP BY digest HAVING sum(%[1]s) > 0
		ORDER BY sum(%[1]s) DESC, max(day) DESC, digest LIMIT $2`, by), day, limit)
	if err != nil {
		return nil, err
	}
	byDigest := map[string]*tally.Frequent{}
	var order []string
	var digest string
	var f tally.Frequent
	if _, err = pgx.ForEachRow(rows, []any{&digest, &f.N, &f.Asked, &f.Denied}, func() error {
		one := f
		byDigest[digest] = &one
		order = append(order, digest)
		return nil
	}); err != nil {
		return nil, err
	}
	if err := s.sample(ctx, day, byDigest); err != nil {
		return nil, err
	}
	var out []tally.Frequent
	for _, digest := range order {
		if f := byDigest[digest]; f.Record != nil { // retention has taken the others
			out = append(out, *f)
		}
	}
	return out, nil
}

// sample fills in a record of each call.
func (s *Store) sample(ctx context.Context, day int64, calls map[string]*tally.Frequent) error {
	rows, err := s.pool.Query(ctx,
		`SELECT l.digest, r.line FROM (SELECT DISTINCT ON (digest) digest, chain, seq FROM obstat_calls
		WHERE day >= $1 AND digest = ANY($2) ORDER BY digest, day DESC, seq DESC) l
		JOIN obstat_records r ON r.chain = l.chain AND r.seq = l.seq`,
		day, slices.Collect(maps.Keys(calls)))
	if err != nil {
		return err
	}
	var digest string
	var line []byte
	_, err = pgx.ForEachRow(rows, []any{&digest, &line}, func() error {
		if r, err := ledger.Decode(line); err == nil {
			calls[digest].Record = r
		}
		return nil
	})
	return err
}

// Recount drops all counts and makes them anew from the records.
func (s *Store) Recount(ctx context.Context) error {
	s.counting.take()
	err := retry(ctx, func() error {
		return pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
			// Who counts meanwhile waits for the row of its chain, and finds that it has to begin anew.
			_, err := tx.Exec(ctx, "UPDATE obstat_counted SET seq = 0")
			_, err2 := tx.Exec(ctx, "DELETE FROM obstat_counts")
			_, err3 := tx.Exec(ctx, "DELETE FROM obstat_calls")
			return errors.Join(err, err2, err3)
		})
	})
	if err != nil {
		return err
	}
	return s.countAll(ctx)
}
