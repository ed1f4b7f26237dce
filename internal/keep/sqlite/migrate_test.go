package sqlite_test

import (
	"database/sql"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/obstat/obstat/approval"
	"github.com/obstat/obstat/internal/keep/sqlite"
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

// asBefore makes a database one of before, by SQL.
func asBefore(t *testing.T, path, text string) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec(text); err != nil {
		t.Fatal(err)
	}
}

// versioned is the table that databases had their version in.
const versioned = `PRAGMA user_version = 0;
	CREATE TABLE goose_db_version (id INTEGER PRIMARY KEY AUTOINCREMENT, version_id INTEGER NOT NULL, is_applied INTEGER NOT NULL, tstamp TIMESTAMP DEFAULT (datetime('now')));
	INSERT INTO goose_db_version (version_id, is_applied) VALUES (0, 1), (1, 1);`

// TestMigrations: a database of every version there was becomes one of now, and
// keeps its requests, its grants and the records of the file.
func TestMigrations(t *testing.T) {
	fresh := filepath.Join(t.TempDir(), "obstat.db")
	open(t, fresh).Close()
	want := schema(t, fresh)
	for name, text := range map[string]string{
		"0": "PRAGMA user_version = 0; DROP TABLE records; DROP TABLE requests; DROP TABLE grants; DROP TABLE fed",
		"1": versioned + `DROP TABLE fed; DROP TABLE records;
			CREATE TABLE records (seq INTEGER PRIMARY KEY, time INTEGER NOT NULL, kind TEXT NOT NULL, agent TEXT NOT NULL, session TEXT NOT NULL, tool TEXT NOT NULL,
				verdict TEXT NOT NULL, rule TEXT NOT NULL, spool INTEGER NOT NULL, body BLOB NOT NULL) STRICT;
			CREATE INDEX records_spool ON records (seq) WHERE spool = 1;
			CREATE INDEX records_session ON records (session, seq);
			CREATE INDEX records_time ON records (time);`,
		"2": versioned + "INSERT INTO goose_db_version (version_id, is_applied) VALUES (2, 1)",
	} {
		path := filepath.Join(t.TempDir(), "obstat.db")
		s := open(t, path)
		add(t, s, "one", "two")
		if err := s.PutRequest(t.Context(), &approval.Request{ID: "q"}); err != nil {
			t.Fatal(err)
		}
		s.Close()
		asBefore(t, path, text)
		s = open(t, path)
		add(t, s, "three")
		if got := all(t, s); got != "one two three" || verified(t, s) != nil {
			t.Errorf("from version %s: %s: %v", name, got, verified(t, s))
		}
		if rs, err := s.Requests(t.Context(), approval.Query{State: approval.Pending}); name != "0" && (err != nil || len(rs) != 1) {
			t.Errorf("from version %s: requests %v %v", name, rs, err)
		}
		s.Close()
		if got := schema(t, path); got != want {
			t.Errorf("from version %s:\n%s\nwant\n%s", name, got, want)
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
