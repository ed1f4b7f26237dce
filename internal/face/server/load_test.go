//go:build unix

package server_test

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/approval"
	"github.com/obstat/obstat/client"
	"github.com/obstat/obstat/internal/face/server"
	"github.com/obstat/obstat/internal/keep/postgres"
	"github.com/obstat/obstat/internal/keep/postgres/pgtest"
	"github.com/obstat/obstat/internal/keep/sqlite"
	"github.com/obstat/obstat/ledger"
)

var load = flag.Bool("load", false, "measure the server under load, each figure beside a bare one of the same run")

// TestLoad prints the figures of docs/performance.md.
func TestLoad(t *testing.T) {
	if !*load {
		t.Skip("measures nothing without -load")
	}
	t.Run("half load", loadHalf) // before a database writes to the same disk
	t.Run("streams", loadStreams)
	db := pgtest.Start(t)
	t.Run("asks", func(t *testing.T) { loadAsks(t, db.Database()) })
	t.Run("answers", func(t *testing.T) { loadAnswers(t, db.Database()) })
}

const (
	loadClients = 64
	loadTime    = 3 * time.Second
)

// rate returns how often a second clients can do something.
func rate(t *testing.T, do func(client, i int) error) float64 {
	t.Helper()
	var n atomic.Int64
	var wg sync.WaitGroup
	end := time.Now().Add(loadTime)
	for c := range loadClients {
		wg.Go(func() {
			for i := 0; time.Now().Before(end); i++ {
				if err := do(c, i); err != nil {
					t.Error(err)
					return
				}
				n.Add(1)
			}
		})
	}
	wg.Wait()
	return float64(n.Load()) / loadTime.Seconds()
}

func anAsk(id string) *approval.Request {
	call := obstat.Call{Tool: "bash", Input: json.RawMessage(`{"command":"make test"}`), Session: "s", Agent: "a", Dir: "/src"}
	return &approval.Request{ID: id, Call: call, Digest: strings.Repeat("d", 64), About: "make test", Reason: "ask rule", Policy: "p", Group: "g", Created: time.Now(), Expires: time.Now().Add(time.Hour)}
}

// loadAsks: an ask is a request and a record, both durable before anybody is told.
func loadAsks(t *testing.T, url string) {
	store, err := postgres.Open(t.Context(), url, nil)
	must(t, err)
	defer store.Close()
	pool, err := pgxpool.New(t.Context(), url+"&pool_max_conns=64")
	must(t, err)
	defer pool.Close()
	_, err = pool.Exec(t.Context(), "CREATE TABLE bare (id BYTEA PRIMARY KEY, state TEXT, body BYTEA)")
	must(t, err)
	body, err := json.Marshal(anAsk("x"))
	must(t, err)
	var bare, asks []float64
	for round := range 3 {
		bare = append(bare, rate(t, func(c, i int) error {
			_, err := pool.Exec(t.Context(), "INSERT INTO bare VALUES ($1, 'pending', $2)", fmt.Appendf(nil, "%d %d %d", round, c, i), body)
			return err
		}))
		asks = append(asks, rate(t, func(c, i int) error {
			return store.PutRecorded(t.Context(), anAsk(fmt.Sprint(round, " ", c, " ", i)), &ledger.Record{Kind: ledger.Ask, Tool: "bash", Input: json.RawMessage(`{"command":"make test"}`), Reason: "ask rule"})
		}))
	}
	report(t, "asks (request and record) against bare inserts", asks, bare)
}

func report(t *testing.T, what string, ours, bare []float64) {
	slices.Sort(ours)
	slices.Sort(bare)
	a, b := ours[len(ours)/2], bare[len(bare)/2]
	t.Logf("%s: %.0f against %.0f, ratio %.2f", what, a, b, a/b)
}

// loadAnswers: how long after an answer on one replica a waiter on another has it.
func loadAnswers(t *testing.T, url string) {
	open := func() (*approval.Feed, *approval.Broker) {
		store, err := postgres.Open(t.Context(), url, nil)
		must(t, err)
		t.Cleanup(func() { store.Close() })
		feed := approval.NewFeed(store, 0)
		must(t, feed.Begin(t.Context()))
		ctx, stop := context.WithCancel(t.Context())
		t.Cleanup(stop)
		go feed.Run(ctx)
		return feed, approval.New(store, &approval.Options{Feed: feed})
	}
	shown, here := open()
	_, there := open()
	seen := make(chan string, 1000)
	shown.Each(func(r *approval.Request) { seen <- r.ID + string(r.State) })
	pool, err := pgxpool.New(t.Context(), url)
	must(t, err)
	defer pool.Close()
	_, err = pool.Exec(t.Context(), "CREATE TABLE bare (id INT PRIMARY KEY, n INT); INSERT INTO bare VALUES (1, 0)")
	must(t, err)
	var commits, answers, given []float64
	commit := func(i int) {
		began := time.Now()
		_, err := pool.Exec(t.Context(), "UPDATE bare SET n = $1 WHERE id = 1", i)
		must(t, err)
		commits = append(commits, float64(time.Since(began).Microseconds()))
	}
	for i := range 600 {
		id := fmt.Sprint("r", i)
		must(t, there.Put(t.Context(), anAsk(id)))
		heard := make(chan time.Time, 1)
		go func() {
			_, _ = there.Until(t.Context(), id)
			heard <- time.Now()
		}()
		for <-seen != id+string(approval.Pending) { // who answers has seen it
		}
		time.Sleep(5 * time.Millisecond)
		if i%2 == 0 { // what comes first after a pause takes longer: they take turns
			commit(i)
		}
		began := time.Now()
		_, err = here.Answer(t.Context(), id, approval.Answer{By: "ann", Allow: true})
		must(t, err)
		given = append(given, float64(time.Since(began).Microseconds()))
		answers = append(answers, float64((<-heard).Sub(began).Microseconds()))
		if i%2 == 1 {
			commit(i)
		}
	}
	for _, all := range [][]float64{commits, answers, given} {
		slices.Sort(all)
	}
	t.Logf("answer to waiter on another replica: p50 %.0f us, p99 %.0f us, of which giving the answer p50 %.0f us; a bare commit p50 %.0f us; ratio %.2f",
		answers[300], answers[594], given[300], commits[300], answers[300]/commits[300])
}

// loadStreams: the memory of 5,000 idle streams of events against that of a bare
// handler.
func loadStreams(t *testing.T) {
	const n = 5000
	bare := func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		w.Write([]byte(": hello\n\n"))
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	}
	s := open(t, nil)
	var tokens []string
	for i := range n / 50 {
		tokens = append(tokens, s.token(tokenOf(i)))
	}
	measure := func(h http.Handler, header func(i int) string) float64 {
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		must(t, err)
		srv := &http.Server{Handler: h}
		go srv.Serve(ln)
		before := inUse()
		conns := make([]net.Conn, n)
		for i := range conns {
			conns[i], err = net.Dial("tcp", ln.Addr().String())
			must(t, err)
			_, err = fmt.Fprintf(conns[i], "GET /v1/events HTTP/1.1\r\nHost: x\r\n%s\r\n", header(i))
			must(t, err)
			line, err := bufio.NewReaderSize(conns[i], 16).ReadString('\n')
			if err != nil || !strings.Contains(line, "200") {
				t.Fatalf("%s %v", line, err)
			}
		}
		used := inUse() - before
		for _, c := range conns {
			c.Close()
		}
		srv.Close()
		return used / n
	}
	b := measure(http.HandlerFunc(bare), func(int) string { return "" })
	runtime.GC()
	s.http.Config.Handler = nil
	h := server.HTTPServer(s.srv, time.Minute).Handler
	ours := measure(h, func(i int) string { return "Authorization: Bearer " + tokens[i%len(tokens)] + "\r\n" })
	t.Logf("memory of an idle stream, of %d: %.1f kB against %.1f kB bare, ratio %.2f", n, ours/1000, b/1000, ours/b)
}

func inUse() float64 {
	runtime.GC()
	runtime.GC()
	time.Sleep(200 * time.Millisecond)
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapInuse + m.StackInuse)
}

// loadHalf: the latency of allowed decisions at half of what the server can do, with the
// store and the garbage collector as obstat serve has them.
func loadHalf(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(400))
	s := open(t, func(o *server.Options) {
		store, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "obstat.db"))
		must(t, err)
		t.Cleanup(func() { store.Close() })
		o.Rate, o.Store = 1<<20, store
	})
	var n atomic.Int64
	one := func() {
		// A session that makes the same call again and again is asked about it.
		call := fmt.Sprintf(`{"call":{"tool":"bash","input":{"command":"git status"},"session":"s%d"}}`, n.Add(1))
		if code, body := s.do(s.agent, "POST", "/v1/decisions", call); code != 200 || !strings.Contains(body, `"allow"`) {
			t.Errorf("%d %s", code, body)
		}
	}
	var ratios []float64
	for range 5 { // each with what the machine can do now, which others may share
		full := rate(t, func(int, int) error { one(); return nil })
		took := halfOf(full, 4*time.Second, one)
		slices.Sort(took)
		p50, p99 := took[len(took)/2], took[len(took)*99/100]
		t.Logf("at %.2f of %.0f decisions a second: p50 %s, p99 %s, longest %s", float64(len(took))/4/full, full, p50, p99, took[len(took)-1])
		ratios = append(ratios, float64(p99)/float64(p50))
	}
	slices.Sort(ratios)
	t.Logf("p99 against p50 at half load: ratio %.1f, of %.1f", ratios[len(ratios)/2], ratios)
}

// halfOf has clients do something half as often as they can, and returns how long after it was due
// each was done: what waits for a client that is not free yet counts as well.
func halfOf(full float64, span time.Duration, do func()) (took []time.Duration) {
	due := make(chan time.Time, int(full*span.Seconds())) // never full
	var mu sync.Mutex
	var wg sync.WaitGroup
	for range loadClients {
		wg.Go(func() {
			for at := range due {
				do()
				d := time.Since(at)
				mu.Lock()
				took = append(took, d)
				mu.Unlock()
			}
		})
	}
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	began, sent := time.Now(), 0
	for now := began; now.Sub(began) < span; now = <-tick.C {
		for ; float64(sent) < full/2*now.Sub(began).Seconds(); sent++ {
			due <- began.Add(time.Duration(float64(sent) / (full / 2) * float64(time.Second)))
		}
	}
	close(due)
	wg.Wait()
	return took
}

func tokenOf(i int) client.TokenRequest {
	return client.TokenRequest{Kind: "person", Name: fmt.Sprint("p", i)}
}
