package sqlite_test

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/obstat/obstat/internal/keep/sqlite"
	"github.com/obstat/obstat/ledger"
)

func open(t *testing.T, path string) *sqlite.Store {
	t.Helper()
	s, err := sqlite.Open(context.Background(), path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// TestTwoProcesses: two stores on one file share one chain.
func TestTwoProcesses(t *testing.T) {
	path := filepath.Join(t.TempDir(), "obstat.db")
	a, b := open(t, path), open(t, path)
	for range 20 {
		for _, s := range []*sqlite.Store{a, b} {
			if err := s.Append(context.Background(), &ledger.Record{Kind: ledger.Start}); err != nil {
				t.Fatal(err)
			}
		}
	}
	v, err := a.Verify(context.Background(), ledger.Hash{})
	if err != nil || v.Records != 40 {
		t.Fatalf("%+v %v", v, err)
	}
}

func TestNotOurs(t *testing.T) {
	path := filepath.Join(t.TempDir(), "other.db")
	db, err := sql.Open("sqlite", path)
	if err == nil {
		_, err = db.Exec("CREATE TABLE t (x)")
	}
	if err != nil {
		t.Fatal(err)
	}
	db.Close()
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := sqlite.Open(context.Background(), path); !errors.Is(err, ledger.ErrNotOurs) {
		t.Errorf("a database of somebody else's: %v", err)
	}
	if after, err := os.ReadFile(path); err != nil || !bytes.Equal(before, after) {
		t.Errorf("it was changed: %v", err)
	}
	text := filepath.Join(t.TempDir(), "text.db")
	if err := os.WriteFile(text, []byte("this is not a database, it is a letter to a friend"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := sqlite.Open(context.Background(), text); !errors.Is(err, ledger.ErrNotOurs) {
		t.Errorf("a text file: %v", err)
	}
}

func TestNewer(t *testing.T) {
	path := filepath.Join(t.TempDir(), "obstat.db")
	open(t, path).Close()
	execSQL(t, path, "PRAGMA user_version = 9999")
	if _, err := sqlite.Open(context.Background(), path); !errors.Is(err, ledger.ErrNewer) {
		t.Error(err)
	}
}

func TestPermissions(t *testing.T) {
	path := filepath.Join(t.TempDir(), "obstat.db")
	open(t, path)
	st, err := os.Stat(path)
	if err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", st.Mode(), err)
	}
}

// TestEditedColumns: a query looks at columns, so an edit of one is found.
func TestEditedColumns(t *testing.T) {
	for _, edit := range []string{"session = 'other'", "verdict = ''", "time = time + 1", "rule = 'r'", "kind = 'cut'", "seq = 9", "at = 5", "agent = 'A'"} {
		path := filepath.Join(t.TempDir(), "obstat.db")
		s := open(t, path)
		for range 3 {
			if err := s.Append(context.Background(), &ledger.Record{Kind: ledger.Decision, Agent: "a", Session: "s", Verdict: "deny", Reason: "x"}); err != nil {
				t.Fatal(err)
			}
		}
		all(t, s) // which indexes it
		db, err := sql.Open("sqlite", path)
		if err == nil {
			_, err = db.Exec("UPDATE records SET " + edit + " WHERE seq = 2")
			db.Close()
		}
		if err != nil {
			t.Logf("%s: SQLite itself refuses: %v", edit, err)
			continue
		}
		var b *ledger.Break
		if _, err := s.Verify(context.Background(), ledger.Hash{}); !errors.As(err, &b) {
			t.Errorf("%s: %v", edit, err)
		}
	}
}
