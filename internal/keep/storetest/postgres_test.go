//go:build unix

package storetest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/obstat/obstat/approval"
	"github.com/obstat/obstat/internal/keep/postgres"
	"github.com/obstat/obstat/internal/keep/postgres/pgtest"
	"github.com/obstat/obstat/ledger"
)

func openPostgres(t *testing.T, url string, anchor time.Duration) *postgres.Store {
	t.Helper()
	s, err := postgres.Open(context.Background(), url, &postgres.Options{Anchor: anchor})
	must(t, err)
	t.Cleanup(func() { s.Close() })
	return s
}

// TestPostgres runs the suite, and lets processes race, on one server.
func TestPostgres(t *testing.T) {
	t.Parallel()
	srv := pgtest.Start(t)
	var urls sync.Map
	Run(t, func(t *testing.T) Store {
		url := srv.Database()
		s := openPostgres(t, url, 0)
		urls.Store(s, url)
		return s
	}, func(t *testing.T, s Store) Store {
		must(t, s.(*postgres.Store).Close())
		url, _ := urls.Load(s)
		again := openPostgres(t, url.(string), 0)
		urls.Store(again, url)
		return again
	})
}

// TestPostgresProcesses: of eight processes that answer at once, one wins.
func TestPostgresProcesses(t *testing.T) {
	place := ""
	if child() == "" {
		place = pgtest.Start(t).Database()
	}
	Processes(t, place, func(t *testing.T, url string) Store { return openPostgres(t, url, 0) })
}

// TestReplicas: each replica writes a chain of its own; one that was shortened,
// changed or taken away is told by the others'.
func TestReplicas(t *testing.T) {
	t.Parallel()
	srv := pgtest.Start(t)
	for name, change := range map[string]string{
		"":                    "SELECT 1",
		"shortened":           "DELETE FROM obstat_records WHERE chain = $1 AND seq > 2",
		"taken away":          "DELETE FROM obstat_records WHERE chain = $1",
		"with a hole":         "DELETE FROM obstat_records WHERE chain = $1 AND seq = 2",
		"changed":             "UPDATE obstat_records SET line = convert_to(replace(convert_from(line, 'UTF8'), '\"ask\"', '\"allow\"'), 'UTF8') WHERE chain = $1",
		"without a beginning": "DELETE FROM obstat_records WHERE chain = $1 AND seq = 1",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := srv.Database()
			a, b := openPostgres(t, url, 50*time.Millisecond), openPostgres(t, url, 50*time.Millisecond)
			fill(t, a, 6)
			fill(t, b, 3)
			db, err := pgx.Connect(ctx(), url)
			must(t, err)
			chain := ""
			must(t, db.QueryRow(ctx(), "SELECT chain FROM obstat_records WHERE kind = 'decision'::bytea GROUP BY chain ORDER BY count(*) DESC LIMIT 1").Scan(&chain))
			anchored(t, b, chain, 6)
			must(t, a.Close()) // it anchors nothing more
			if _, err := b.Verify(ctx(), ledger.Hash{}); err != nil {
				t.Fatal(err)
			}
			_, err = db.Exec(ctx(), strings.ReplaceAll(change, "$1", "'"+chain+"'"))
			must(t, err)
			must(t, db.Close(ctx()))
			_, err = b.Verify(ctx(), ledger.Hash{})
			if (err != nil) != (name != "") {
				t.Errorf("%q: %v", name, err)
			}
			if err != nil && !strings.Contains(err.Error(), "the chain of replica") {
				t.Errorf("%s: %v", name, err)
			}
			must(t, b.Close())
		})
	}
}

// anchored waits until another chain says that a chain has as many records.
func anchored(t *testing.T, s Store, chain string, records uint64) {
	t.Helper()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		for r, err := range s.Records(ctx(), ledger.Query{Kind: ledger.Anchor}) {
			must(t, err)
			var said struct{ Heads map[string]ledger.Head }
			if json.Unmarshal(r.Detail, &said) == nil && said.Heads[chain].Seq >= records {
				return
			}
		}
	}
	t.Fatalf("the %d records of chain %s are anchored nowhere", records, chain)
}

// TestPostgresRestarts: while the database is away nothing is said to be written
// that is not, and afterwards all goes on by itself.
func TestPostgresRestarts(t *testing.T) {
	t.Parallel()
	srv := pgtest.Start(t)
	s := openPostgres(t, srv.Database(), 0)
	fill(t, s, 3)
	srv.Kill()
	limit, cancel := context.WithTimeout(ctx(), 2*time.Second)
	defer cancel()
	if err := s.Append(limit, record(4)); err == nil {
		t.Fatal("written without a database")
	}
	srv.Restart(0)
	var err error
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
		if err = s.Append(ctx(), record(5)); err == nil {
			break
		}
	}
	must(t, err)
	verify(t, s)
}

// TestPostgresTogether: a request and its record come in one commit, many callers
// share it, and a request that is there is told by each.
func TestPostgresTogether(t *testing.T) {
	t.Parallel()
	s := openPostgres(t, pgtest.Start(t).Database(), 0)
	const callers = 40
	errs := make(chan error, 2*callers)
	for i := range 2 * callers {
		go func() { errs <- s.PutRecorded(ctx(), request(fmt.Sprint("r", i%callers)), record(i)) }()
	}
	there := 0
	for range 2 * callers {
		if err := <-errs; errors.Is(err, approval.ErrExists) {
			there++
		} else {
			must(t, err)
		}
	}
	list, err := s.Requests(ctx(), approval.Query{State: approval.Pending})
	must(t, err)
	if there != callers || len(list) != callers {
		t.Errorf("%d were there before, %d are pending", there, len(list))
	}
	n := 0
	for _, err := range s.Records(ctx(), ledger.Query{}) {
		must(t, err)
		n++
	}
	if n != 2*callers {
		t.Errorf("%d records", n)
	}
	verify(t, s)
}

// TestPostgresFeed: another replica hears at once of what is put and answered; a change that
// is committed long after others that were made later comes as well, and none comes twice.
func TestPostgresFeed(t *testing.T) {
	t.Parallel()
	url := pgtest.Start(t).Database()
	here, there := openPostgres(t, url, 0), openPostgres(t, url, 0)
	quick, slow := approval.NewFeed(there, time.Hour), approval.NewFeed(here, 200*time.Millisecond)
	told := map[*approval.Feed]chan string{}
	for _, f := range []*approval.Feed{quick, slow} {
		heard := make(chan string, 100)
		told[f] = heard
		f.Each(func(r *approval.Request) { heard <- fmt.Sprint(r.ID, " ", r.State) })
		must(t, f.Begin(ctx()))
		run, stop := context.WithCancel(ctx())
		t.Cleanup(stop)
		go f.Run(run)
	}
	next := func(f *approval.Feed, want string) {
		t.Helper()
		select {
		case got := <-told[f]:
			if got != want {
				t.Errorf("%s, not %s", got, want)
			}
		case <-time.After(time.Minute):
			t.Fatal("nothing is told of ", want)
		}
	}
	db, err := pgx.Connect(ctx(), url)
	must(t, err)
	defer db.Close(ctx())
	tx, err := db.Begin(ctx())
	must(t, err)
	late := request("late")
	late.State = approval.Pending
	body, err := json.Marshal(late)
	must(t, err)
	_, err = tx.Exec(ctx(), "INSERT INTO obstat_requests (id, state, grouped, version, changed, body) VALUES ('late', 'pending', '', 0, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint, $1)", body)
	must(t, err)
	for i := range 3 {
		id := fmt.Sprint("r", i)
		r := request(id)
		r.Expires = time.Now().Add(time.Hour)
		must(t, here.PutRequest(ctx(), r))
		next(quick, id+" pending")
		next(slow, id+" pending")
		_, err := approval.New(here, nil).Answer(ctx(), id, approval.Answer{By: "ann", Allow: true})
		must(t, err)
		next(quick, id+" approved")
		next(slow, id+" approved")
	}
	_, err = tx.Exec(ctx(), "UPDATE obstat_requests SET changed = $1 WHERE id = 'late'", slow.Cursor()-time.Second.Microseconds()) // further than the look after a hint goes back
	must(t, err)
	must(t, tx.Commit(ctx()))
	next(slow, "late pending")
	time.Sleep(500 * time.Millisecond)
	for f, heard := range told {
		if len(heard) > 0 {
			t.Errorf("%v: told twice: %s", f == quick, <-heard)
		}
	}
}

// TestPostgresReader: chains know each other soon after they have begun, so that an export of them
// verifies, and who verifies finds a head in any of them, and begins none.
func TestPostgresReader(t *testing.T) {
	t.Parallel()
	url := pgtest.Start(t).Database()
	a, b, reader := openPostgres(t, url, time.Hour), openPostgres(t, url, time.Hour), openPostgres(t, url, time.Hour)
	fill(t, a, 3)
	fill(t, b, 2)
	db, err := pgx.Connect(ctx(), url)
	must(t, err)
	defer db.Close(ctx())
	for anchors, end := 0, time.Now().Add(time.Minute); anchors < 2; time.Sleep(50 * time.Millisecond) {
		must(t, db.QueryRow(ctx(), "SELECT count(*) FROM obstat_records WHERE kind = 'anchor'::bytea").Scan(&anchors))
		if time.Now().After(end) {
			t.Fatalf("%d anchors", anchors)
		}
	}
	for _, s := range []*postgres.Store{a, b} {
		head, err := s.Head(ctx())
		must(t, err)
		if v, err := reader.Verify(ctx(), head.Hash); err != nil || v.Records != 7 || v.First != 1 || v.Head.Seq == 0 {
			t.Errorf("%+v %v", v, err)
		}
	}
	if v, err := reader.Verify(ctx(), ledger.Hash{1}); err == nil {
		t.Errorf("a head that is nowhere: %+v", v)
	}
	lines := func() iter.Seq2[[]byte, error] {
		return func(yield func([]byte, error) bool) {
			for r, err := range reader.Records(ctx(), ledger.Query{}) {
				must(t, err)
				if line, err := r.Encode(); !yield(line, err) {
					return
				}
			}
		}
	}
	if v, err := ledger.Export(lines).Verify(ledger.Hash{}); err != nil || v.Records != 7 {
		t.Errorf("%+v %v", v, err)
	}
	chains := 0
	must(t, db.QueryRow(ctx(), "SELECT count(*) FROM obstat_chains").Scan(&chains))
	if chains != 2 {
		t.Errorf("%d chains of two that write", chains)
	}
}
