// Package sqlite indexes the ledger file in a SQLite database, and keeps requests
// and grants in it.
//
// It owns the schema, its migrations and the index. The file has the records: the database is brought up to date from it
// before every query, and made anew from it where it is missing. Requests and
// grants are written to the database, each in a transaction of its own.
package sqlite

import (
	"bytes"
	"context"
	"database/sql"
	_ "embed"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	driver "modernc.org/sqlite"

	"github.com/obstat/obstat/approval"
	"github.com/obstat/obstat/internal/keep/docs"
	"github.com/obstat/obstat/internal/keep/statedir"
	"github.com/obstat/obstat/internal/keep/tally"
	"github.com/obstat/obstat/ledger"
	"github.com/obstat/obstat/ledger/logfile"
)

//go:embed schema.sql
var schema string

// applicationID marks our files, so that no other program's database is taken for
// one.
const applicationID = 0x0b57a7

// Store is a ledger file and its open database. Several processes may share one.
type Store struct {
	path string
	log  *logfile.File

	// SQLite has one writer. Goroutines of this process wait for mu: waiting for
	// SQLite's own lock is done with sleeping.
	mu    sync.Mutex
	write *sql.DB // one connection, for requests and grants
	index *sql.DB // one connection, for the index: it can be made anew, so it waits for no disk
	read  *sql.DB

	indexed    atomic.Int64 // offset behind the last record that is known to be indexed
	indexing   sync.Mutex   // held while the index is brought up to date
	background sync.WaitGroup
	once       sync.Once
	tally      tally.Counts // guarded by mu
	failed     atomic.Pointer[error]
}

var (
	_ ledger.Store    = (*Store)(nil)
	_ ledger.Trimmer  = (*Store)(nil)
	_ ledger.Verifier = (*Store)(nil)
	_ approval.Store  = (*Store)(nil)
	_ docs.Store      = (*Store)(nil)
	_ tally.Keeper    = (*Store)(nil)
)

// DefaultPath returns where the database is in the user's state directory.
func DefaultPath() (string, error) {
	dir, err := statedir.Dir(os.Getenv)
	return statedir.Store(dir), err
}

// Open opens the database at path and the ledger file beside it, brings its
// schema up to date, and makes the database from the file where it is missing.
func Open(ctx context.Context, path string) (*Store, error) {
	s := &Store{path: path, log: newLog(path, os.Getenv)}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, err
	}
	if foreign(path) {
		return nil, fmt.Errorf("%s: %w", path, ledger.ErrNotOurs)
	}
	if err := create(path); err != nil {
		return nil, err
	}
	err := s.open(ctx)
	for end := time.Now().Add(patience); isCode(err, codeBusy) && ctx.Err() == nil && time.Now().Before(end); err = s.open(ctx) {
		_ = s.closeDBs()
		time.Sleep(20 * time.Millisecond)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", path, err), s.closeAll())
	}
	return s, nil
}

// patience is how long a store waits for others that use the database. SQLite's own time-out
// is not all of it: of two that make the write-ahead log, or mend it after a crash, one
// is sent away at once.
const patience = 10 * time.Second

func newLog(path string, getenv func(string) string) *logfile.File {
	return logfile.New(statedir.LedgerOf(path), statedir.Heads(path, getenv)...)
}

// Log returns the ledger file of the database at path, for processes that only
// append and need no database. getenv reads the environment.
func Log(path string, getenv func(string) string) (*logfile.File, error) {
	f := newLog(path, getenv)
	if _, err := os.Stat(f.Path()); err == nil {
		return f, nil
	}
	return f, os.MkdirAll(filepath.Dir(path), 0o700)
}

// Exists tells whether anything of a store is at path: the database, the ledger
// file, or a head that tells of one.
func Exists(path string) bool {
	for _, p := range append(newLog(path, os.Getenv).Files(), path) {
		if exists(p) {
			return true
		}
	}
	return false
}

// File returns the ledger file.
func (s *Store) File() *logfile.File { return s.log }

// Files returns every file that belongs to the store.
func (s *Store) Files() []string {
	path, err := filepath.Abs(s.path)
	if err != nil {
		path = s.path
	}
	own := []string{path, path + "-wal", path + "-shm", ledger.KeyPath(path), statedir.Grants(path), lockPath(path)}
	return append(own, newLog(path, os.Getenv).Files()...)
}

// Key returns the key of this installation's digests, and makes it if there is
// none.
func (s *Store) Key() ([]byte, error) { return ledger.LoadKey(ledger.KeyPath(s.path)) }

// open makes the connections and the schema, and fills a database that is new.
func (s *Store) open(ctx context.Context) (err error) {
	for _, c := range []struct {
		db    **sql.DB
		conns int
		sync  string
	}{{&s.write, 1, "FULL"}, {&s.read, 4, "FULL"}, {&s.index, 1, "NORMAL"}} {
		if *c.db, err = open(s.path, c.conns, c.sync); err != nil {
			return err
		}
	}
	if err := s.migrate(ctx); err != nil {
		return err
	}
	var rebuilt bool
	if err := s.read.QueryRowContext(ctx, "SELECT rebuilt FROM fed").Scan(&rebuilt); err != nil || rebuilt {
		return err
	}
	return s.catchUp(ctx)
}

func (s *Store) closeAll() error { return errors.Join(s.closeDBs(), s.log.Close()) }

func (s *Store) closeDBs() (err error) {
	for _, db := range []*sql.DB{s.write, s.index, s.read} {
		if db != nil {
			err = errors.Join(err, db.Close())
		}
	}
	return err
}

// foreign tells whether the file is another program's database, by its first
// bytes: opening it would change how it keeps its journal. Cases that are not
// certain here are told by the schema later. Ours has a write-ahead log before it
// has its number.
func foreign(path string) bool {
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
		return false
	}
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	head := make([]byte, 100)
	if _, err := io.ReadFull(f, head); err != nil || !bytes.HasPrefix(head, []byte("SQLite format 3\x00")) {
		return false
	}
	app := binary.BigEndian.Uint32(head[68:])
	return app != applicationID && (app != 0 || head[18] == 1)
}

func open(path string, conns int, sync string) (*sql.DB, error) {
	q := url.Values{}
	for _, p := range []string{fmt.Sprintf("busy_timeout(%d)", patience.Milliseconds()), "journal_mode(WAL)", "synchronous(" + sync + ")", "foreign_keys(1)", "secure_delete(1)"} {
		q.Add("_pragma", p)
	}
	q.Set("_txlock", "immediate")
	db, err := sql.Open("sqlite", "file:"+(&url.URL{Path: path}).EscapedPath()+"?"+q.Encode())
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(conns)
	return db, nil
}

// schemaVersion is the version of schema.sql, kept as the database's user_version.
const schemaVersion = 4

// migrations bring a database of an earlier version to the next one, each in one transaction with its number. The
// index and the counts are made anew from the ledger by the first query.
var migrations = map[int]string{
	3: `DELETE FROM records; UPDATE fed SET seq = 0, hash = x'', at = 0;
CREATE INDEX records_kind ON records (kind, seq);
CREATE INDEX records_agent ON records (agent, seq);
CREATE INDEX records_tool ON records (tool, seq);
CREATE INDEX records_verdict ON records (verdict, seq);
CREATE INDEX records_rule ON records (rule, seq);
CREATE TABLE counts (hour INTEGER NOT NULL, dim TEXT NOT NULL, name TEXT NOT NULL, what TEXT NOT NULL,
	n INTEGER NOT NULL, PRIMARY KEY (hour, dim, name, what)) STRICT, WITHOUT ROWID;
CREATE TABLE calls (day INTEGER NOT NULL, digest TEXT NOT NULL, n INTEGER NOT NULL, asked INTEGER NOT NULL,
	denied INTEGER NOT NULL, seq INTEGER NOT NULL, PRIMARY KEY (day, digest)) STRICT, WITHOUT ROWID;`,
}

// migrate checks that the database is ours and of this version, and gives an empty one
// the schema. Of several processes that do so at once one wins, and the others find
// that it is done.
func (s *Store) migrate(ctx context.Context) error {
	return notOurs(s.transact(ctx, s.write, func(tx *sql.Tx) error {
		var app, version, tables int
		err := tx.QueryRowContext(ctx, `SELECT (SELECT application_id FROM pragma_application_id),
			(SELECT user_version FROM pragma_user_version), count(*) FROM sqlite_master`).Scan(&app, &version, &tables)
		switch {
		case err != nil:
			return err
		case app != applicationID && tables > 0:
			return ledger.ErrNotOurs
		case version == schemaVersion:
			return nil
		case version > schemaVersion:
			return fmt.Errorf("%w (schema %d; this one knows %d)", ledger.ErrNewer, version, schemaVersion)
		case tables > 0 && migrations[version] != "":
			return upgrade(ctx, tx, version)
		case tables > 0:
			return fmt.Errorf("it is of an obstat before the first release (schema %d): move it away, "+
				"and it is made anew from the ledger", version)
		}
		_, err = tx.ExecContext(ctx, schema+fmt.Sprintf("PRAGMA application_id = %d; PRAGMA user_version = %d", applicationID, schemaVersion))
		return err
	}))
}

// upgrade brings a database to this version, step by step.
func upgrade(ctx context.Context, tx *sql.Tx, version int) error {
	for ; version < schemaVersion; version++ {
		if _, err := tx.ExecContext(ctx, migrations[version]+fmt.Sprintf("PRAGMA user_version = %d", version+1)); err != nil {
			return fmt.Errorf("the database could not be brought from schema %d to %d: %w", version, version+1, err)
		}
	}
	return nil
}

// notOurs tells a file that is no database from a database that cannot be read
// at the moment.
func notOurs(err error) error {
	if isCode(err, codeNotADatabase) {
		return fmt.Errorf("%w: %w", ledger.ErrNotOurs, err)
	}
	return err
}

// The results of SQLite that are told apart.
const (
	codeBusy         = 5
	codeReadOnly     = 8
	codeConstraint   = 19
	codeNotADatabase = 26
)

// isCode tells whether SQLite returned a result, in any of its extended forms.
func isCode(err error, code int) bool {
	var e *driver.Error
	return errors.As(err, &e) && e.Code()&0xff == code
}

// Close waits for writes under way and closes the files.
func (s *Store) Close() error {
	var err error
	s.once.Do(func() {
		s.background.Wait()
		s.mu.Lock()
		defer s.mu.Unlock()
		_, cerr := s.write.Exec("PRAGMA wal_checkpoint(TRUNCATE)")
		err = errors.Join(cerr, s.closeAll())
	})
	return err
}
