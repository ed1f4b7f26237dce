//go:build unix

package storetest

import (
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/obstat/obstat/internal/keep/postgres"
	"github.com/obstat/obstat/internal/keep/postgres/pgtest"
	"github.com/obstat/obstat/internal/keep/sqlite"
	"github.com/obstat/obstat/ledger"
)

// records counts what a store has.
func records(t *testing.T, s ledger.Store, q ledger.Query) (n int) {
	t.Helper()
	for _, err := range s.Records(ctx(), q) {
		must(t, err)
		n++
	}
	return n
}

// TestSQLiteMigrates: a database of schema 3, the first that was released, is brought to this version, also after a
// migration that was interrupted; its records are counted.
func TestSQLiteMigrates(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "obstat.db")
	s := openSQLite(t, path)
	now := time.Now().UTC()
	for range 20 {
		must(t, s.Append(ctx(), decided("git status", "allow", "allow", now)))
	}
	must(t, s.PutRequest(ctx(), request("r1")))
	must(t, s.Close())
	old, err := os.ReadFile("../sqlite/testdata/schema3.sql")
	must(t, err)
	db, err := sql.Open("sqlite", path)
	must(t, err)
	for _, table := range []string{"records", "requests", "grants", "docs", "fed", "counts", "calls"} {
		_, err := db.Exec("CREATE TABLE IF NOT EXISTS was_" + table + " AS SELECT * FROM " + table + "; DROP TABLE " + table)
		must(t, err)
	}
	_, err = db.Exec(string(old) + "DELETE FROM fed; PRAGMA user_version = 3")
	must(t, err)
	for _, table := range []string{"records", "requests", "grants", "docs", "fed"} {
		_, err := db.Exec("INSERT INTO " + table + " SELECT * FROM was_" + table)
		must(t, err)
	}
	for _, table := range []string{"records", "requests", "grants", "docs", "fed", "counts", "calls"} {
		_, err := db.Exec("DROP TABLE was_" + table)
		must(t, err)
	}
	_, err = db.Exec("CREATE INDEX records_kind ON records (session)") // as if half of it had been made by hand
	must(t, err)
	if _, err := sqlite.Open(ctx(), path); err == nil {
		t.Error("a migration that fails is said to be done")
	}
	_, err = db.Exec("DROP INDEX records_kind")
	must(t, err)
	must(t, db.Close())
	s = openSQLite(t, path)
	if n := records(t, s, ledger.Query{Agent: "a"}); n != 20 || sums(t, s, time.Time{})["//decision allow"] != 20 {
		t.Errorf("%d records, %v", n, sums(t, s, time.Time{}))
	}
	if _, err := s.Request(ctx(), "r1"); err != nil {
		t.Error(err)
	}
	verify(t, s)
}

// TestPostgresMigrates: a database of schema 1 is brought to this version, also after a migration that was interrupted,
// while a replica of the version before goes on writing; times from the future steer nothing.
func TestPostgresMigrates(t *testing.T) {
	t.Parallel()
	url := pgtest.Start(t).Database()
	db, err := pgx.Connect(ctx(), url)
	must(t, err)
	defer db.Close(ctx())
	old, err := os.ReadFile("../postgres/testdata/schema1.sql")
	must(t, err)
	_, err = db.Exec(ctx(), string(old)+"; INSERT INTO obstat_schema VALUES (1); INSERT INTO obstat_chains VALUES ('old', 'gone', 0)")
	must(t, err)
	future := time.Now().AddDate(73, 0, 0)
	insert := func(seq int) {
		t.Helper()
		r := decided("git status", "allow", "allow", future)
		must(t, r.Seal(uint64(seq-1), ledger.Hash{}))
		line, err := r.Encode()
		must(t, err)
		_, err = db.Exec(ctx(), "INSERT INTO obstat_records (chain, seq, time, kind, agent, session, tool, verdict, rule, line) VALUES ('old', $1, $2, 'decision', 'a', '', 'Bash', 'allow', 'r', $3)", seq, future.UnixNano(), line)
		must(t, err)
	}
	insert(1)
	// A migration that was interrupted has made some of it, and not written its version.
	_, err = db.Exec(ctx(), "CREATE TABLE obstat_counted (chain TEXT PRIMARY KEY, seq BIGINT NOT NULL)")
	must(t, err)
	s := openPostgres(t, url, 0)
	if n := records(t, s, ledger.Query{Since: time.Now().Add(time.Hour)}); n != 0 {
		t.Errorf("%d records are of the future", n)
	}
	insert(2) // by a replica of the version before
	if got := sums(t, s, time.Time{})["//decision allow"]; got != 2 {
		t.Errorf("%d are counted", got)
	}
	again, err := postgres.Open(ctx(), url, nil)
	must(t, err)
	must(t, again.Close())
	_, err = db.Exec(ctx(), "INSERT INTO obstat_schema (version, needs) VALUES (90, 2)")
	must(t, err)
	if again, err = postgres.Open(ctx(), url, nil); err != nil {
		t.Errorf("a version that needs no more than this one: %v", err)
	} else {
		must(t, again.Close())
	}
	_, err = db.Exec(ctx(), "INSERT INTO obstat_schema (version, needs) VALUES (91, 91)")
	must(t, err)
	if _, err = postgres.Open(ctx(), url, nil); err == nil || !strings.Contains(err.Error(), "newer") {
		t.Errorf("%v", err)
	}
}

// TestPlans: every filter of the history is answered from an index.
func TestPlans(t *testing.T) {
	t.Parallel()
	url := pgtest.Start(t).Database()
	s := openPostgres(t, url, 0)
	for range 40 {
		var batch []*ledger.Record
		for i := range 100 {
			r := record(i)
			r.Agent, r.Session, r.Tool, r.Rule = fmt.Sprint("a", i), fmt.Sprint("s", i), fmt.Sprint("t", i), fmt.Sprint("r", i)
			if r.Verdict = "allow"; i == 7 {
				r.Kind, r.Verdict = ledger.Answer, "refused"
			}
			batch = append(batch, r)
		}
		must(t, s.Append(ctx(), batch...))
	}
	db, err := pgx.Connect(ctx(), url)
	must(t, err)
	defer db.Close(ctx())
	_, err = db.Exec(ctx(), "ANALYZE")
	must(t, err)
	for want, q := range map[string]ledger.Query{"obstat_records_agent": {Agent: "a7"}, "obstat_records_session": {Session: "s7"}, "obstat_records_tool": {Tool: "t7"},
		"obstat_records_rule": {Rule: "r7"}, "obstat_records_verdict": {Verdict: "refused"}, "obstat_records_kind": {Kind: ledger.Answer}, "obstat_records_pkey": {Seq: 7},
		"obstat_records_n": {Verdict: "allow"}} {
		q.Limit = 10
		text, args := postgres.RecordsQuery(&q)
		rows, err := db.Query(ctx(), "EXPLAIN "+text, args...)
		must(t, err)
		lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
		must(t, err)
		if plan := strings.Join(lines, "\n"); !strings.Contains(plan, want) || strings.Contains(plan, "Seq Scan on obstat_records") {
			t.Errorf("%+v:\n%s", q, plan)
		}
	}
}

// TestSQLitePlans: the same of SQLite.
func TestSQLitePlans(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "obstat.db")
	s := openSQLite(t, path)
	fill(t, s, 9)
	records(t, s, ledger.Query{})
	db, err := sql.Open("sqlite", path)
	must(t, err)
	defer db.Close()
	for want, q := range map[string]ledger.Query{"records_agent": {Agent: "a"}, "records_session": {Session: "s"}, "records_tool": {Tool: "t"},
		"records_rule": {Rule: "r"}, "records_verdict": {Verdict: "refused"}, "records_kind": {Kind: ledger.Answer},
		"records_time": {Since: time.Now().Add(-time.Hour)}, "INDEX records_time": {Since: time.Now().Add(-time.Hour), Until: time.Now()}} {
		q.Limit = 10
		text, args := sqlite.RecordsQuery(&q)
		var plan strings.Builder
		rows, err := db.Query("EXPLAIN QUERY PLAN "+text, args...)
		must(t, err)
		for rows.Next() {
			var id, parent, unused int
			var detail string
			must(t, rows.Scan(&id, &parent, &unused, &detail))
			fmt.Fprintln(&plan, detail)
		}
		if !strings.Contains(plan.String(), want) || strings.Count(plan.String(), "B-TREE") > 1 { // one for the page itself
			t.Errorf("%+v:\n%s", q, plan.String())
		}
	}
}
