package sqlite_test

import (
	"database/sql"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/pressly/goose/v3"

	"github.com/obstat/obstat/internal/store/sqlite"
	"github.com/obstat/obstat/ledger"
)

// schema returns what a database is made of.
func schema(t *testing.T, path string) string {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	rows, err := db.Query("SELECT sql FROM sqlite_master WHERE name NOT LIKE 'goose%' AND name NOT LIKE 'sqlite%' ORDER BY type, name")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var out []string
	for rows.Next() {
		var text sql.NullString
		if err := rows.Scan(&text); err != nil {
			t.Fatal(err)
		}
		out = append(out, text.String)
	}
	return strings.Join(out, "\n")
}

// TestMigrations: a database of every version there was becomes one of now, and
// keeps what is in it; and every step has a way back.
func TestMigrations(t *testing.T) {
	files, err := fs.Sub(os.DirFS("."), "migrations")
	if err != nil {
		t.Fatal(err)
	}
	fresh := filepath.Join(t.TempDir(), "obstat.db")
	open(t, fresh).Close()
	want := schema(t, fresh)
	names, err := fs.Glob(files, "*.sql")
	if err != nil || len(names) == 0 {
		t.Fatal(names, err)
	}
	for version := range len(names) + 1 {
		path := filepath.Join(t.TempDir(), "obstat.db")
		s := open(t, path)
		add(t, s, "one", "two")
		s.Close()
		db, err := sql.Open("sqlite", path)
		if err != nil {
			t.Fatal(err)
		}
		p, err := goose.NewProvider(goose.DialectSQLite3, db, files)
		if err == nil {
			_, err = p.DownTo(t.Context(), int64(version))
		}
		db.Close()
		if err != nil {
			t.Fatalf("down to %d: %v", version, err)
		}
		s = open(t, path)
		add(t, s, "three")
		if got := all(t, s); got != "one two three" || verified(t, s) != nil {
			t.Errorf("from version %d: %s: %v", version, got, verified(t, s))
		}
		s.Close()
		if got := schema(t, path); got != want {
			t.Errorf("from version %d:\n%s\nwant\n%s", version, got, want)
		}
	}
}

// TestOpenedAtOnce: of several that make a new database at once one does, and all
// can use it.
func TestOpenedAtOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "obstat.db")
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			s, err := sqlite.Open(t.Context(), path)
			if err != nil {
				t.Error(err)
				return
			}
			defer s.Close()
			if err := s.Append(t.Context(), &ledger.Record{Kind: ledger.Start, Reason: fmt.Sprint(i)}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	s := open(t, path)
	if got := strings.Fields(all(t, s)); len(got) != 8 || verified(t, s) != nil {
		t.Errorf("%v %v", got, verified(t, s))
	}
}
