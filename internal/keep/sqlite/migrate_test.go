package sqlite_test

import (
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/obstat/obstat/internal/keep/sqlite"
	"github.com/obstat/obstat/ledger"
)

// execSQL changes a database behind a store's back.
func execSQL(t *testing.T, path, text string) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err == nil {
		_, err = db.Exec(text)
	}
	if err = errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
}

// TestOlder: a database of before the first release is refused, and made anew from the
// ledger once it is out of the way.
func TestOlder(t *testing.T) {
	path := filepath.Join(t.TempDir(), "obstat.db")
	s := open(t, path)
	add(t, s, "one", "two")
	s.Close()
	execSQL(t, path, "PRAGMA user_version = 2")
	if _, err := sqlite.Open(t.Context(), path); err == nil || !strings.Contains(err.Error(), "move it away") {
		t.Errorf("%v", err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	s = open(t, path)
	if got := all(t, s); got != "one two" || verified(t, s) != nil {
		t.Errorf("%s: %v", got, verified(t, s))
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
