package sqlite_test

import (
	"bytes"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/obstat/obstat/internal/store/sqlite"
	"github.com/obstat/obstat/ledger"
)

var farFuture = time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC)

func add(t *testing.T, s *sqlite.Store, reasons ...string) {
	t.Helper()
	for _, r := range reasons {
		if err := s.Append(t.Context(), &ledger.Record{Kind: ledger.Decision, Reason: r}); err != nil {
			t.Fatal(err)
		}
	}
}

// all returns the first word of every record's reason.
func all(t *testing.T, s *sqlite.Store) string {
	t.Helper()
	var out []string
	for r, err := range s.Records(t.Context(), ledger.Query{}) {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, strings.Fields(r.Reason)[0])
	}
	return strings.Join(out, " ")
}

func verified(t *testing.T, s *sqlite.Store) error {
	t.Helper()
	_, err := ledger.VerifyStore(t.Context(), s, ledger.Hash{})
	return err
}

// copyTo copies what a file holds, without closing one of SQLite's own.
func copyTo(t *testing.T, from, to string) {
	t.Helper()
	data, err := os.ReadFile(from)
	if err == nil {
		err = os.WriteFile(to, data, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestOlderJournal: an older journal is put in place. What was acknowledged by
// it is not lost, and it can be seen.
func TestOlderJournal(t *testing.T) {
	path := filepath.Join(t.TempDir(), "obstat.db")
	log := sqlite.JournalPath(path)
	s := open(t, path)
	add(t, s, "one")
	copyTo(t, log, log+".old")
	add(t, s, "two", "three")
	s.Close()
	if err := os.Rename(log+".old", log); err != nil {
		t.Fatal(err)
	}
	s = open(t, path)
	add(t, s, "four", "five")
	if got := all(t, s); got != "one two three the four five" || verified(t, s) != nil {
		t.Errorf("%s: %v", got, verified(t, s))
	}
	add(t, s, "six")
	s.Close()
	s = open(t, path)
	if got := all(t, s); got != "one two three the four five six" || verified(t, s) != nil {
		t.Errorf("%s: %v", got, verified(t, s))
	}
}

// TestNoJournal: a journal that is gone is written down.
func TestNoJournal(t *testing.T) {
	path := filepath.Join(t.TempDir(), "obstat.db")
	s := open(t, path)
	add(t, s, "one")
	s.Close()
	if err := os.Remove(sqlite.JournalPath(path)); err != nil {
		t.Fatal(err)
	}
	s = open(t, path)
	add(t, s, "two")
	if got := all(t, s); got != "one there two" || verified(t, s) != nil {
		t.Errorf("%s: %v", got, verified(t, s))
	}
	if err := os.Remove(sqlite.JournalPath(path)); err != nil {
		t.Fatal(err)
	}
	add(t, s, "three") // while it runs
	if got := all(t, s); got != "one there two three" || verified(t, s) != nil {
		t.Errorf("%s: %v", got, verified(t, s))
	}
}

// TestEditedJournal: what somebody does to the journal before the database has
// it shows when the chain is verified, and loses nothing else.
func TestEditedJournal(t *testing.T) {
	for _, tt := range []struct{ name, from, to, what, left string }{
		{"edited", `"reason":"two"`, `"reason":"owt"`, "edited", "one owt three four"},
		{"no record", `{"seq":2,`, `{"qes":2,`, "dropped", "one three the a four"},
		{"dropped", "", "", "dropped", "one three four"},
	} {
		path := filepath.Join(t.TempDir(), "obstat.db")
		log := sqlite.JournalPath(path)
		s := open(t, path)
		add(t, s, "one")
		copyTo(t, log, log+".one")
		add(t, s, "two", "three")
		copyTo(t, log, log+".all")
		s.Close()
		// The database as it was when it had taken over none of them.
		db, err := sql.Open("sqlite", path)
		if err == nil {
			_, err = db.Exec("DELETE FROM records")
			db.Close()
		}
		data, rerr := os.ReadFile(log + ".all")
		if err != nil || rerr != nil {
			t.Fatal(err, rerr)
		}
		if tt.from == "" {
			lines := bytes.SplitAfter(data, []byte("\n"))
			data = bytes.Join([][]byte{lines[0], lines[1], lines[3]}, nil)
		} else {
			data = bytes.Replace(data, []byte(tt.from), []byte(tt.to), 1)
		}
		if err := os.WriteFile(log, data, 0o600); err != nil {
			t.Fatal(err)
		}
		s = open(t, path)
		if tt.name == "no record" {
			all(t, s) // which finds it
		}
		add(t, s, "four")
		if got := all(t, s); got != tt.left {
			t.Errorf("%s: %s", tt.name, got)
		}
		var b *ledger.Break
		if err := verified(t, s); !errors.As(err, &b) || b.What != tt.what || b.Seq != 2 {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
}

// TestNewerJournal: records of a newer version are not touched, and nothing is
// written behind them.
func TestNewerJournal(t *testing.T) {
	path := filepath.Join(t.TempDir(), "obstat.db")
	s := open(t, path)
	if err := s.Append(t.Context(), &ledger.Record{Kind: ledger.Decision, Reason: "one", V: 99}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Head(t.Context()); err != nil {
		t.Error("the head can be told all the same:", err)
	}
	if err := s.Append(t.Context(), &ledger.Record{Kind: ledger.Decision, Reason: "two"}); !errors.Is(err, ledger.ErrNewer) {
		t.Errorf("written behind a newer record: %v", err)
	}
}

// TestDatabaseGone: records whose database is gone are not taken for all there
// were.
func TestDatabaseGone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "obstat.db")
	s := open(t, path)
	s.RotateAt(1)
	add(t, s, "one", "two")
	all(t, s)
	s.RotateAt(0)
	add(t, s, "three")
	s.Close()
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	s = open(t, path)
	add(t, s, "four")
	var b *ledger.Break
	if err := verified(t, s); !errors.As(err, &b) || b.What != "dropped" || all(t, s) != "three four" {
		t.Errorf("%v: %s", err, all(t, s))
	}
}

// TestTakesNothing: a database that takes nothing over is an error, not
// something that a journal hides; and all is well once it does again.
func TestTakesNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "obstat.db")
	s := open(t, path)
	add(t, s, "one")
	all(t, s)
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec("ALTER TABLE records RENAME TO elsewhere"); err != nil {
		t.Fatal(err)
	}
	add(t, s, "two") // nobody could know
	for r, err := range s.Records(t.Context(), ledger.Query{}) {
		if err == nil {
			t.Errorf("%s, although the rest cannot be read", r.Reason)
		}
	}
	if err := s.Append(t.Context(), &ledger.Record{Kind: ledger.Decision, Reason: "no"}); err == nil || !strings.Contains(err.Error(), "records") {
		t.Errorf("a database without its table: %v", err)
	}
	if _, err := db.Exec("ALTER TABLE elsewhere RENAME TO records"); err != nil {
		t.Fatal(err)
	}
	add(t, s, "three")
	if got := all(t, s); got != "one two three" || verified(t, s) != nil {
		t.Errorf("%s: %v", got, verified(t, s))
	}
}

// TestManyJournals: the journal is started anew many times, by two who share it,
// and nothing is lost or there twice.
func TestManyJournals(t *testing.T) {
	path := filepath.Join(t.TempDir(), "obstat.db")
	a, b := open(t, path), open(t, path)
	a.RotateAt(1)
	b.RotateAt(2000)
	var want []string
	for i := range 40 {
		s := a
		if i%3 == 0 {
			s = b
		}
		want = append(want, fmt.Sprint(i))
		add(t, s, fmt.Sprint(i))
		if i%5 == 0 {
			all(t, a)
		}
		if i%7 == 0 {
			all(t, b)
		}
	}
	if got := all(t, b); got != strings.Join(want, " ") || verified(t, a) != nil {
		t.Errorf("%s: %v", got, verified(t, a))
	}
	if n, err := a.Trim(t.Context(), farFuture); n != 40 || err != nil || verified(t, b) != nil {
		t.Errorf("%d %v %v", n, err, verified(t, b))
	}
	add(t, b, "after")
	if got := all(t, a); got != "records after" {
		t.Error(got)
	}
}
