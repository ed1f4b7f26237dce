// Package sqlite keeps ledger, requests and grants in one SQLite file that
// several processes share.
//
// It owns the schema, its migrations and the order in which things are made
// durable: records in the journal beside the file, which the database takes over
// in the background and before every query; requests and grants in the database
// itself. It does not know what records mean.
package sqlite

import (
	"bytes"
	"context"
	"database/sql"
	"embed"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/pressly/goose/v3"
	driver "modernc.org/sqlite"

	"github.com/obstat/obstat/approval"
	"github.com/obstat/obstat/internal/statedir"
	"github.com/obstat/obstat/internal/store/journal"
	"github.com/obstat/obstat/ledger"
)

//go:embed migrations/*.sql
var migrations embed.FS

// applicationID marks our files, so that nobody else's database is taken for
// one.
const applicationID = 0x0b57a7

// Store is an open database file.
type Store struct {
	path string
	log  *journal.Journal

	// SQLite has one writer; mu is what those of this process wait for, because
	// waiting for SQLite's own lock is done with sleeping.
	mu    sync.Mutex
	write *sql.DB // one connection: durable by SQLite's own means
	fast  *sql.DB // one connection: durable when the log was synced
	wal   walSync
	read  *sql.DB
	check *sql.DB // for checkpoints

	insert, insertMany *sql.Stmt

	feeding sync.Mutex // held while the journal is taken over
	feeder  feeder
	trouble atomic.Pointer[error] // why that failed the last time
	written atomic.Bool           // something was appended since it was looked at
	behind  atomic.Int64          // size of the journal
	waits   int                   // how often there was something new and it had to wait; the background's

	closed chan struct{}
	rested chan struct{} // the background has ended
	stop   context.CancelFunc
	once   sync.Once
}

var (
	_ ledger.Store   = (*Store)(nil)
	_ ledger.Trimmer = (*Store)(nil)
	_ ledger.Liner   = (*Store)(nil)
	_ approval.Store = (*Store)(nil)
)

// DefaultPath returns where the database is unless somebody says otherwise.
func DefaultPath() (string, error) {
	dir, err := statedir.Dir(os.Getenv)
	return statedir.Store(dir), err
}

// Open opens the database at path and brings its schema up to date; a missing
// file is made, readable by its owner alone.
func Open(ctx context.Context, path string) (*Store, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, err
	}
	if err := create(path); err != nil {
		return nil, err
	}
	if foreign(path) {
		return nil, fmt.Errorf("%s: %w", path, ledger.ErrNotOurs)
	}
	s := &Store{path: path, closed: make(chan struct{}), rested: make(chan struct{})}
	s.log = journal.New(journal.Options{Path: JournalPath(path), Head: func() (ledger.Head, error) { return headOf(s.read) }, Ready: s.ready, Written: s.wrote})
	s.feeder.in.Path = JournalPath(path)
	if err := s.open(ctx, path); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", path, err), s.closeAll())
	}
	s.missed(ctx)
	s.written.Store(true)
	wctx, stop := context.WithCancel(context.Background())
	s.stop = stop
	go s.background(wctx)
	return s, nil
}

// Files returns every file that belongs to the store.
func (s *Store) Files() []string {
	path, err := filepath.Abs(s.path)
	if err != nil {
		path = s.path
	}
	return []string{path, path + "-wal", path + "-shm", JournalPath(path), ledger.SpoolPath(path), ledger.KeyPath(path), statedir.Grants(path)}
}

// Spool returns the spool beside the database: what short-lived processes wrote
// down.
func (s *Store) Spool() *ledger.Spool { return &ledger.Spool{Path: ledger.SpoolPath(s.path)} }

// Key returns the key of this installation's digests, and makes it if there is
// none.
func (s *Store) Key() ([]byte, error) { return ledger.LoadKey(ledger.KeyPath(s.path)) }

// JournalPath returns where the journal of a database file is.
func JournalPath(db string) string { return db + ".log" }

// wrote is told after each commit.
func (s *Store) wrote(size int64) {
	s.behind.Store(size)
	s.written.Store(true)
}

// missed writes down that there is no journal where one was. What cannot be
// written now is noticed when it counts.
func (s *Store) missed(ctx context.Context) {
	// In this order: whoever else is just making the database makes the journal
	// before there is a record.
	head, err := headOf(s.read)
	if !journal.Supported || err != nil || head.Seq == 0 {
		return
	}
	if _, err := os.Stat(JournalPath(s.path)); errors.Is(err, fs.ErrNotExist) {
		_ = s.Append(ctx, &ledger.Record{Kind: ledger.Spooled, Reason: "there was no journal beside the database: what was in one and not in the database is gone"})
	}
}

// open makes the connections, the schema and the statements.
func (s *Store) open(ctx context.Context, path string) (err error) {
	for _, c := range []struct {
		db    **sql.DB
		conns int
		sync  string
	}{{&s.write, 1, "FULL"}, {&s.read, 4, "FULL"}, {&s.check, 1, "FULL"}, {&s.fast, 1, "NORMAL"}} {
		if *c.db, err = open(path, c.conns, c.sync); err != nil {
			return err
		}
	}
	if err := s.migrate(ctx); err != nil {
		return err
	}
	s.wal.path = path + "-wal"
	for _, p := range []struct {
		stmt **sql.Stmt
		text string
	}{{&s.insert, insertSQL}, {&s.insertMany, insertSQL + strings.Repeat(","+insertRow, insertRows-1)}} {
		if *p.stmt, err = s.fast.PrepareContext(ctx, p.text); err != nil {
			return err
		}
	}
	return err
}

func (s *Store) closeAll() (err error) {
	for _, db := range []*sql.DB{s.write, s.fast, s.read, s.check} {
		if db != nil {
			err = errors.Join(err, db.Close())
		}
	}
	return err
}

// create makes an empty file with narrow permissions before SQLite would make
// one with wide ones.
func create(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return f.Close()
}

// foreign tells whether the file is somebody else's database, by its first
// bytes: opening it would change how it keeps its journal. What is not certain
// here is looked at later, by what is in it. Ours has a write-ahead log before it
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
	for _, p := range []string{"busy_timeout(10000)", "journal_mode(WAL)", "synchronous(" + sync + ")", "wal_autocheckpoint(0)", "foreign_keys(1)", "secure_delete(1)"} {
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

// migrate brings the schema up to date. Of several processes that do so at once
// one wins, and the others find that it is done when they look again.
func (s *Store) migrate(ctx context.Context) error {
	for tries := 1; ; tries++ {
		err := s.migrateOnce(ctx)
		if err == nil || tries == 8 || errors.Is(err, ledger.ErrNotOurs) || errors.Is(err, ledger.ErrNewer) {
			return err
		}
	}
}

// migrateOnce checks that the file is ours and not from the future, and brings
// its schema up to date.
func (s *Store) migrateOnce(ctx context.Context) error {
	var app, tables int
	err := s.write.QueryRowContext(ctx, "SELECT (SELECT application_id FROM pragma_application_id), (SELECT count(*) FROM sqlite_master)").Scan(&app, &tables)
	if err != nil {
		return notOurs(err)
	}
	if app != applicationID && tables > 0 {
		return ledger.ErrNotOurs
	}
	if app != applicationID {
		if _, err := s.write.ExecContext(ctx, fmt.Sprintf("PRAGMA application_id = %d", applicationID)); err != nil {
			return err
		}
	}
	files, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return err
	}
	p, err := goose.NewProvider(goose.DialectSQLite3, s.write, files)
	if err != nil {
		return err
	}
	have, want, err := p.GetVersions(ctx)
	if err != nil {
		return err
	}
	if have > want {
		return fmt.Errorf("%w (schema %d; this one knows %d)", ledger.ErrNewer, have, want)
	}
	if have < want {
		_, err = p.Up(ctx)
	}
	return err
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
	codeIO           = 10
	codeFull         = 13
	codeNotADatabase = 26
)

// isCode tells whether SQLite returned a result, in any of its extended forms.
func isCode(err error, code int) bool {
	var e *driver.Error
	return errors.As(err, &e) && e.Code()&0xff == code
}

// Close waits for what is being written and closes the file.
func (s *Store) Close() error {
	var err error
	s.once.Do(func() {
		s.stop()
		<-s.rested
		s.log.Close()
		// What the database does not take now is safe in the journal.
		_ = s.feed(context.Background())
		s.log.Close()
		s.feeder.in.Close()
		s.mu.Lock() // and nobody gets it any more who writes to the database
		defer s.mu.Unlock()
		close(s.closed)
		_, cerr := s.write.Exec("PRAGMA wal_checkpoint(TRUNCATE)")
		err = errors.Join(cerr, s.closeAll(), s.wal.close())
	})
	return err
}
