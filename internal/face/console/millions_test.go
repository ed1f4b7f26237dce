//go:build unix

package console_test

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"iter"
	"net/http"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/client"
	"github.com/obstat/obstat/internal/face/server"
	"github.com/obstat/obstat/internal/keep/postgres"
	"github.com/obstat/obstat/internal/keep/postgres/pgtest"
	"github.com/obstat/obstat/internal/keep/sqlite"
	"github.com/obstat/obstat/internal/keep/tally"
	"github.com/obstat/obstat/ledger"
)

// filled and onPostgres say how many records TestManyRecords writes, and where: `make bench-records RECORDS=1000000`.
var (
	filled     = flag.Int("records", 20_000, "records of TestManyRecords")
	onPostgres = flag.Bool("postgres", false, "write them to PostgreSQL")
)

// counting counts the records that a store hands out.
type counting struct {
	server.Store
	read *atomic.Int64
}

func (c counting) Records(ctx context.Context, q ledger.Query) iter.Seq2[*ledger.Record, error] {
	return func(yield func(*ledger.Record, error) bool) {
		for r, err := range c.Store.Records(ctx, q) {
			c.read.Add(1)
			if !yield(r, err) {
				return
			}
		}
	}
}

// fillRecords writes a week of calls: a few thousand distinct ones, most of them often.
func fillRecords(t *testing.T, s ledger.Store, n int) {
	t.Helper()
	start := time.Now().Add(-6 * 24 * time.Hour)
	batch := make([]*ledger.Record, 0, 500)
	for i := range n {
		k := i * i % 3001
		command, verdict, rule := fmt.Sprintf("git status --porcelain=%d", k), "allow", `"bash": {"git status": "allow"}`
		if i%11 == 0 {
			command, verdict, rule = fmt.Sprintf("rm -rf build/%d", k), "deny", `"bash": {"rm *": "deny"}`
		}
		input, err := json.Marshal(map[string]string{"command": command})
		must(t, err)
		call := &obstat.Call{Tool: "bash", Input: input}
		batch = append(batch, &ledger.Record{Time: start.Add(time.Duration(int64(i) * int64(6*24*time.Hour) / int64(n))), Kind: ledger.Decision,
			Agent: fmt.Sprint("agent-", i%50), Session: fmt.Sprint("s", i%5000), Tool: "bash", Input: input, Verdict: verdict, Rule: rule, Dir: "/src/shop",
			Call: call.DigestText(), Detail: json.RawMessage(`{"said":"` + verdict + `","roots":["/src/shop"]}`), World: &obstat.Snapshot{}, Nanos: int64(60_000 + i%90_000)})
		if len(batch) == cap(batch) || i == n-1 {
			must(t, s.Append(t.Context(), batch...))
			batch = batch[:0]
		}
	}
}

// TestManyRecords: charts, the policy's page, stats and the difference of a version read counts and the most frequent
// calls, however many records there are. With -v it shows how long each takes and how much memory.
func TestManyRecords(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(400)) // as obstat serve has it
	var store server.Store
	if *onPostgres {
		s, err := postgres.Open(t.Context(), pgtest.Start(t).Database(), nil)
		must(t, err)
		t.Cleanup(func() { s.Close() })
		store = s
	} else {
		s, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "obstat.db"))
		must(t, err)
		t.Cleanup(func() { s.Close() })
		store = s
	}
	began := time.Now()
	fillRecords(t, store, *filled)
	must(t, store.Counts(t.Context(), time.Now().Add(time.Hour), func(tally.Row) {})) // all is indexed and counted
	t.Logf("%d records written, indexed and counted in %s", *filled, time.Since(began).Round(time.Millisecond))
	read := new(atomic.Int64)
	s := openWith(t, func(o *server.Options) { o.Store = counting{store, read} })
	s.store = store
	tok, err := server.NewToken(t.Context(), store, client.TokenRequest{Kind: "agent", Name: "coder"}, "test")
	must(t, err)
	s.agent = tok.Secret
	person, err := server.NewToken(t.Context(), store, client.TokenRequest{Kind: "person", Name: "root", Roles: []string{server.RoleAdmin}}, "test")
	must(t, err)
	api, err := client.New(client.Options{URL: s.url, Token: person.Secret})
	must(t, err)
	v, err := api.Upload(t.Context(), client.PolicyUpload{Files: []client.PolicyFile{{Name: "opencode.json", Text: strings.Replace(rules, `"rm *": "deny"`, `"rm *": "ask"`, 1)}}})
	must(t, err)
	ann := s.visitor("ann", server.RoleAdmin)
	for _, path := range []string{"/charts?days=7", "/policies", "/v1/stats?since=2020-01-01T00:00:00Z", fmt.Sprintf("/v1/policies/%d/diff", v.Version),
		"/history", "/history?agent=agent-7", "/history?verdict=refused&days=0", "/"} {
		read.Store(0)
		runtime.GC()
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		began, cpu := time.Now(), processorTime(t)
		code, body := ann.get(path)
		took := time.Since(began)
		cpu = processorTime(t) - cpu
		runtime.ReadMemStats(&after)
		t.Logf("%-45s %6d ms  %6d ms of processor  %5.1f MB allocated  %5.1f MB more from the system  %5d records", path, took.Milliseconds(), cpu.Milliseconds(),
			float64(after.TotalAlloc-before.TotalAlloc)/1e6, float64(after.Sys-before.Sys)/1e6, read.Load())
		if code != http.StatusOK || read.Load() > 3000 {
			t.Errorf("%s: %d, after %d records: %.200s", path, code, read.Load(), body)
		}
	}
}

// processorTime returns how long the process has run: on a busy machine it tells more than a clock.
func processorTime(t *testing.T) time.Duration {
	t.Helper()
	var used syscall.Rusage
	must(t, syscall.Getrusage(syscall.RUSAGE_SELF, &used))
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// TestManyWaiting: requests that wait are counted without being read.
func TestManyWaiting(t *testing.T) {
	s := open(t)
	for i := range 30 {
		s.run(fmt.Sprintf("make %d", i))
	}
	ann := s.visitor("ann")
	if _, page := ann.get("/history"); !strings.Contains(page, `id="count" aria-label="requests that wait">30<`) {
		t.Error("the number of requests is not on the page")
	}
}
