// Package postgres keeps ledger, requests, grants and documents in a PostgreSQL
// database that any number of servers share.
//
// It owns the schema, its migrations, the writing in batches, and hearing of
// changes by other servers. Truth is a conditional UPDATE. A notification is a hint
// that one goroutine sends for all changes, outside of their transactions: one that
// notifies holds a lock of the whole cluster until it is committed. Each server
// writes a chain of its own, anchored in those of the others.
package postgres

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/obstat/obstat/approval"
	"github.com/obstat/obstat/internal/keep/docs"
	"github.com/obstat/obstat/internal/keep/tally"
	"github.com/obstat/obstat/ledger"
)

//go:embed schema.sql
var schema string

// schemaVersion is the version of schema.sql.
const schemaVersion = 2

// schemaNeeds is the version that a program has to know at least to use the database. It grows only where an older
// replica would do harm, since replicas of two versions share the database while they are replaced.
const schemaNeeds = 1

// fromOne are the statements that only a database of version 1 needs: times from the future steer nothing any more.
const fromOne = "UPDATE obstat_records SET time = " + micros + " * 1000 WHERE time > " + micros + " * 1000"

// Options open a Store; nil means the zero value.
type Options struct {
	// Anchor is how often the heads of other chains are written to this one; zero is
	// a minute.
	Anchor time.Duration
	// Conns bounds the connections; zero is 16.
	Conns int
}

// Store is an open database. It is safe for concurrent use.
type Store struct {
	opts Options
	pool *pgxpool.Pool
	conf *pgx.ConnConfig
	name string // of this process

	queue *queue // waits to be written in batches
	hints chan struct{}
	poke  chan struct{} // gets a value when others are to be told
	hears atomic.Bool   // the database has notifications

	telling sync.Mutex // held while other replicas are told

	offset atomic.Int64 // nanoseconds that the database's clock is ahead

	failed   atomic.Pointer[error] // of the last batch
	counting counting

	mu    sync.Mutex
	chain string // "" until this process has one
	head  ledger.Head

	stop context.CancelFunc
	work sync.WaitGroup
	once sync.Once
	done chan struct{}
}

var (
	_ ledger.Store    = (*Store)(nil)
	_ ledger.Trimmer  = (*Store)(nil)
	_ ledger.Verifier = (*Store)(nil)
	_ approval.Store  = (*Store)(nil)
	_ approval.Clock  = (*Store)(nil)
	_ approval.Hinter = (*Store)(nil)
	_ docs.Store      = (*Store)(nil)
	_ tally.Keeper    = (*Store)(nil)
)

// Open connects to the database that a URL names, and brings its schema up to
// date.
func Open(ctx context.Context, url string, opts *Options) (*Store, error) {
	s := &Store{queue: newQueue(), hints: make(chan struct{}, 1), poke: make(chan struct{}, 1),
		done: make(chan struct{}), name: approval.NewID("replica_")}
	if opts != nil {
		s.opts = *opts
	}
	if s.opts.Anchor <= 0 {
		s.opts.Anchor = time.Minute
	}
	if s.opts.Conns <= 0 {
		s.opts.Conns = 16
	}
	conf, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, fmt.Errorf("the database's URL cannot be read: %w", err)
	}
	conf.MaxConns = int32(s.opts.Conns)
	conf.ConnConfig.ConnectTimeout = 5 * time.Second
	s.conf = conf.ConnConfig.Copy()
	if s.pool, err = pgxpool.NewWithConfig(ctx, conf); err != nil {
		return nil, err
	}
	if err := s.migrate(ctx); err != nil {
		s.pool.Close()
		return nil, unreachable(err)
	}
	if err := s.tick(ctx); err != nil {
		s.pool.Close()
		return nil, err
	}
	run, stop := context.WithCancel(context.Background())
	s.stop = stop
	for _, do := range []func(context.Context){s.write, s.beat, s.send, s.listen, s.count} {
		s.work.Go(func() { do(run) })
	}
	return s, nil
}

// unreachable says on one line why no server answers: the driver has one for each of its tries.
func unreachable(err error) error {
	var e *pgconn.ConnectError
	if !errors.As(err, &e) {
		return err
	}
	why, _, _ := strings.Cut(e.Unwrap().Error(), "\n")
	return errors.New("the database cannot be reached: " + why)
}

// migrate makes the tables, or what a newer version has besides. Every statement finds what is there already, and
// the version is written last: one that was interrupted is done again, and of several processes that do so at once each
// finds in the end that all is there.
func (s *Store) migrate(ctx context.Context) error {
	return retry(ctx, func() error {
		version, needs, err := s.schema(ctx)
		switch {
		case err != nil:
			return err
		case needs > schemaVersion:
			return fmt.Errorf("%w (it needs schema %d; this one knows %d)", ledger.ErrNewer, needs, schemaVersion)
		case version >= schemaVersion:
			return nil
		}
		statements := strings.Split(schema, ";\n")
		if version == 1 {
			statements = append(statements, fromOne)
		}
		for _, text := range statements {
			if strings.TrimSpace(text) == "" {
				continue
			}
			if _, err := s.pool.Exec(ctx, text); err != nil {
				return err
			}
		}
		_, err = s.pool.Exec(ctx, "INSERT INTO obstat_schema (version, needs) VALUES ($1, $2) ON CONFLICT DO NOTHING",
			schemaVersion, schemaNeeds)
		return err
	})
}

// schema returns the version of the database, zero where it has no tables, and the one that it needs. Before version
// 2 each program needed the version that it knew.
func (s *Store) schema(ctx context.Context) (version, needs int, err error) {
	err = s.pool.QueryRow(ctx, "SELECT coalesce(max(version), 0), coalesce(max(needs), 0) FROM obstat_schema").
		Scan(&version, &needs)
	switch code(err) {
	case "42P01": // there is no such table
		return 0, 0, nil
	case "42703": // there is no such column
		err = s.pool.QueryRow(ctx, "SELECT coalesce(max(version), 0) FROM obstat_schema").Scan(&version)
		return version, version, err
	}
	return version, needs, err
}

// code returns the SQLSTATE of an error of the database; "" for any other.
func code(err error) string {
	var e *pgconn.PgError
	if errors.As(err, &e) {
		return e.Code
	}
	return ""
}

// retry repeats a transaction that the database wants repeated: 40001 and 40P01 are conflicts of
// transactions, 23505 and 42P07 come of tables that are made twice at once.
func retry(ctx context.Context, do func() error) error {
	var err error
	for try := range 8 {
		if err = do(); err == nil {
			return nil
		}
		switch code(err) {
		case "40001", "40P01", "23505", "42P07":
		default:
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(time.Duration(try+1) * 5 * time.Millisecond):
		}
	}
	return err
}

// lost tells whether an error leaves open whether a commit was made, since the
// connection ended.
func lost(err error) bool {
	c := code(err)
	return err != nil && (c == "" || strings.HasPrefix(c, "08") || strings.HasPrefix(c, "57P"))
}

// Now returns the time by the database's clock, which all replicas share.
func (s *Store) Now() time.Time { return time.Now().Add(time.Duration(s.offset.Load())) }

// micros is the database's time, in SQL.
const micros = "(extract(epoch FROM clock_timestamp()) * 1000000)::bigint"

// tick compares the clocks.
func (s *Store) tick(ctx context.Context) error {
	before := time.Now()
	var now int64
	if err := s.pool.QueryRow(ctx, "SELECT "+micros).Scan(&now); err != nil {
		return err
	}
	took := time.Since(before)
	s.offset.Store(int64(time.UnixMicro(now).Sub(before.Add(took / 2))))
	return nil
}

// beat compares the clocks each second, keeps the chain, and anchors the others'.
func (s *Store) beat(ctx context.Context) {
	each := time.NewTicker(time.Second)
	defer each.Stop()
	var anchored time.Time
	for {
		select {
		case <-ctx.Done():
			return
		case <-each.C:
		}
		limit, cancel := context.WithTimeout(ctx, 3*time.Second)
		_ = s.tick(limit) // it is compared again
		s.renew(limit)
		cancel()
		// A chain knows the others soon after it has begun: in an export none is taken for a stranger's.
		// A command that only reads writes nothing.
		if s.has() != "" && time.Since(anchored) >= s.opts.Anchor {
			anchored = time.Now()
			_ = s.anchor(ctx)
		}
	}
}

// Failed returns why the last batch could not be written; nil where it was, and before the first.
func (s *Store) Failed() error {
	if err := s.failed.Load(); err != nil {
		return *err
	}
	return nil
}

// Hints returns a channel that gets a value when another process may have changed
// something. It has one reader.
func (s *Store) Hints() <-chan struct{} { return s.hints }

func nudge(ch chan struct{}) {
	select {
	case ch <- struct{}{}:
	default:
	}
}

// channel is the one that replicas listen on.
const channel = "obstat_changes"

// notify is a transaction that writes to the log of the database, although nothing that has
// to last: it waits for no disk.
const notify = "SELECT set_config('synchronous_commit', 'off', true), pg_notify('" + channel + "', $1)"

// send tells others of changes: once for all that were made since it did last.
func (s *Store) send(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.poke:
			s.telling.Lock()
			limit, cancel := context.WithTimeout(ctx, 3*time.Second)
			_, _ = s.pool.Exec(limit, notify, s.name) // they look each second anyway
			cancel()
			s.telling.Unlock()
		}
	}
}

// execTelling changes something that others wait for, and returns how many rows have changed. Where no
// replica is being told at the moment, the notification goes to the database together with the change, as a transaction
// behind it: that spares the time until the change's end has come back and the sender has woken up.
func (s *Store) execTelling(ctx context.Context, query string, args ...any) (int64, error) {
	if !s.hears.Load() || !s.telling.TryLock() {
		return s.exec(ctx, query, args...)
	}
	defer s.telling.Unlock()
	b := new(pgx.Batch)
	b.Queue("BEGIN")
	b.Queue(query, args...)
	b.Queue("COMMIT")
	b.Queue(notify, s.name)
	results := s.pool.SendBatch(ctx, b)
	defer results.Close() // whether they are told or not: they look each second anyway
	_, err := results.Exec()
	if err != nil {
		return 0, err
	}
	tag, err := results.Exec()
	if err == nil {
		_, err = results.Exec()
	}
	return tag.RowsAffected(), err
}

// exec changes something and has others told.
func (s *Store) exec(ctx context.Context, query string, args ...any) (int64, error) {
	tag, err := s.pool.Exec(ctx, query, args...)
	if err == nil {
		nudge(s.poke)
	}
	return tag.RowsAffected(), err
}

// listen hears of changes by others, on a connection of its own, and looks once
// after each time that it was lost.
func (s *Store) listen(ctx context.Context) {
	for ctx.Err() == nil {
		s.hear(ctx)
		select {
		case <-ctx.Done():
		case <-time.After(500 * time.Millisecond):
		}
	}
}

func (s *Store) hear(ctx context.Context) {
	conn, err := pgx.ConnectConfig(ctx, s.conf.Copy())
	if err != nil {
		return
	}
	defer conn.Close(context.WithoutCancel(ctx))
	if _, err := conn.Exec(ctx, "LISTEN "+channel); err != nil {
		return // not every database has it: looking each second is enough
	}
	s.hears.Store(true)
	nudge(s.hints)
	for {
		n, err := conn.WaitForNotification(ctx)
		if err != nil {
			return
		}
		if n.Payload != s.name { // this process looks by itself after its changes
			nudge(s.hints)
		}
	}
}

// Close waits for writes under way, gives the chain back and ends the connections.
func (s *Store) Close() error {
	s.once.Do(func() {
		close(s.done)
		s.stop()
		s.work.Wait()
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
		defer cancel()
		s.release(ctx)
		s.pool.Close()
	})
	return nil
}
