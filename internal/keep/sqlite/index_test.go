package sqlite_test

import (
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/approval"
	"github.com/obstat/obstat/internal/keep/sqlite"
	"github.com/obstat/obstat/internal/keep/statedir"
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
	_, err := s.Verify(t.Context(), ledger.Hash{})
	return err
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestManyRows: records that are indexed together are all found, also where they do not
// fill the last statement or are more than one transaction takes.
func TestManyRows(t *testing.T) {
	s, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "obstat.db"))
	must(t, err)
	defer s.Close()
	n := 0
	for _, more := range []int{1, 31, 32, 33, 64, 4000} {
		records := make([]*ledger.Record, more)
		for i := range records {
			records[i] = &ledger.Record{Kind: ledger.Decision, Session: fmt.Sprint("s", n%7), Reason: strings.Repeat("why ", 200)}
			n++
		}
		must(t, s.Append(t.Context(), records...))
		if got := len(strings.Fields(all(t, s))); got != n {
			t.Fatalf("%d records are found of %d", got, n)
		}
	}
	got := 0
	for _, err := range s.Records(t.Context(), ledger.Query{Session: "s3"}) {
		must(t, err)
		got++
	}
	if got != (n-4)/7+1 {
		t.Errorf("%d records of a session are found of %d", got, (n-4)/7+1)
	}
	must(t, verified(t, s))
}

// TestDatabaseGone: the database is made anew from the file: records, grants, and
// what became of requests. A request that was pending lapses, and a record says
// so.
func TestDatabaseGone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "obstat.db")
	s := open(t, path)
	request := func(id string) {
		t.Helper()
		must(t, s.PutRequest(t.Context(), &approval.Request{ID: id, Call: obstat.Call{Tool: "Bash", Input: json.RawMessage(`{}`)}, Digest: "d", Expires: farFuture}))
		must(t, s.Append(t.Context(), &ledger.Record{Kind: ledger.Ask, Tool: "Bash", Session: "s", Call: "d", Request: id, Verdict: "ask", Reason: "ask"}))
	}
	grant := func(id, verdict string, expires time.Time) *ledger.Record {
		detail, err := json.Marshal(&approval.Grant{ID: id, Scope: approval.Session, Key: "s", Tool: "Bash", Digest: "d", By: "ann", Expires: expires})
		must(t, err)
		return &ledger.Record{Kind: ledger.Grant, Verdict: verdict, Detail: detail, Reason: verdict}
	}
	request("r1")
	answers, err := json.Marshal([]approval.Answer{{By: "ann", Allow: true, Scope: approval.Session}})
	must(t, err)
	must(t, s.Append(t.Context(), &ledger.Record{Kind: ledger.Answer, Request: "r1", Verdict: "approved", Detail: answers, Reason: "answer"},
		grant("g1", "granted", time.Time{}), grant("g2", "granted", time.Time{}), grant("g2", "revoked", time.Time{}), grant("g3", "granted", time.Now().Add(-time.Hour))))
	request("r2")
	request("r3")
	must(t, s.Append(t.Context(), &ledger.Record{Kind: ledger.Answer, Request: "r3", Verdict: "refused", Reason: "answer"}))
	s.Close()
	for _, f := range []string{path, statedir.Grants(path)} {
		if err := os.Remove(f); err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
	}
	must(t, os.WriteFile(path+"-wal", []byte("of the database that is gone"), 0o600))
	for range 2 { // and once more, with nothing to do
		s = open(t, path)
		if got := all(t, s); got != "ask answer granted granted revoked granted ask ask answer the" || verified(t, s) != nil {
			t.Errorf("%s: %v", got, verified(t, s))
		}
		gs, err := s.Grants(t.Context(), time.Now())
		if err != nil || len(gs) != 1 || gs[0].ID != "g1" || gs[0].Digest != "d" || gs[0].By != "ann" {
			t.Errorf("%+v %v", gs, err)
		}
		if _, err := os.Stat(statedir.Grants(path)); err != nil {
			t.Error("nothing says that something is granted:", err)
		}
		for id, want := range map[string]approval.State{"r1": approval.Done, "r2": approval.Canceled, "r3": approval.Refused} {
			if r, err := s.Request(t.Context(), id); err != nil || r.State != want || r.Call.Tool != "Bash" {
				t.Errorf("%s: %+v %v", id, r, err)
			}
		}
		s.Close()
	}
}

// TestIndexBehind: what others append is found by the next query, and what is not
// in the file any more is not.
func TestIndexBehind(t *testing.T) {
	path := filepath.Join(t.TempDir(), "obstat.db")
	a, b := open(t, path), open(t, path)
	add(t, a, "one", "two")
	if got := all(t, b); got != "one two" {
		t.Error(got)
	}
	hook, err := sqlite.Log(path, os.Getenv)
	must(t, err)
	must(t, hook.Append(t.Context(), &ledger.Record{Kind: ledger.Decision, Reason: "three"}))
	if got := all(t, a); got != "one two three" || verified(t, a) != nil {
		t.Errorf("%s: %v", got, verified(t, a))
	}
	if n, err := a.Trim(t.Context(), farFuture); n != 3 || err != nil || verified(t, b) != nil {
		t.Errorf("%d %v %v", n, err, verified(t, b))
	}
	add(t, b, "after")
	if got := all(t, a); got != "records after" || verified(t, a) != nil {
		t.Errorf("%s: %v", got, verified(t, a))
	}
}

// TestNewerRecord: records of a newer version are not touched, and queries say
// so.
func TestNewerRecord(t *testing.T) {
	path := filepath.Join(t.TempDir(), "obstat.db")
	s := open(t, path)
	must(t, s.Append(t.Context(), &ledger.Record{Kind: ledger.Decision, Reason: "one", V: 99}))
	s.Close()
	s = open(t, path)
	if err := s.Append(t.Context(), &ledger.Record{Kind: ledger.Decision, Reason: "two"}); !errors.Is(err, ledger.ErrNewer) {
		t.Errorf("written behind a newer record: %v", err)
	}
	for _, err := range s.Records(t.Context(), ledger.Query{}) {
		if !errors.Is(err, ledger.ErrNewer) {
			t.Errorf("read: %v", err)
		}
	}
}

// TestIndexFails: a database that takes nothing stops no record, and queries find
// all of them in the file.
func TestIndexFails(t *testing.T) {
	path := filepath.Join(t.TempDir(), "obstat.db")
	s := open(t, path)
	add(t, s, "one")
	all(t, s)
	db, err := sql.Open("sqlite", path)
	must(t, err)
	defer db.Close()
	if _, err := db.Exec("ALTER TABLE records RENAME TO elsewhere"); err != nil {
		t.Fatal(err)
	}
	add(t, s, "two", "three")
	if got := all(t, s); got != "one two three" {
		t.Error(got)
	}
	if _, err := db.Exec("ALTER TABLE elsewhere RENAME TO records"); err != nil {
		t.Fatal(err)
	}
	if got := all(t, s); got != "one two three" || verified(t, s) != nil {
		t.Errorf("%s: %v", got, verified(t, s))
	}
}

// TestIndexKnows: file and head are put back to what they were; the index knows
// the records that are missing.
func TestIndexKnows(t *testing.T) {
	path := filepath.Join(t.TempDir(), "obstat.db")
	s := open(t, path)
	add(t, s, "one")
	files := s.File().Files()
	was := map[string][]byte{}
	for _, f := range files {
		data, err := os.ReadFile(f)
		must(t, err)
		was[f] = data
	}
	add(t, s, "two")
	all(t, s)
	s.Close()
	for f, data := range was {
		must(t, os.WriteFile(f, data, 0o600))
	}
	var b *ledger.Break
	if err := verified(t, open(t, path)); !errors.As(err, &b) || b.What != "truncated" {
		t.Error(err)
	}
}
