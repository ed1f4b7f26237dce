//go:build unix

package server_test

import (
	"fmt"
	"net"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/obstat/obstat/approval"
	"github.com/obstat/obstat/client"
	"github.com/obstat/obstat/internal/face/server"
	"github.com/obstat/obstat/internal/keep/postgres"
	"github.com/obstat/obstat/internal/keep/postgres/pgtest"
	"github.com/obstat/obstat/internal/keep/sqlite"
)

// TestFlood prints how much of their rate others lose to an agent that floods, and the memory of requests that wait: `go
// test ./internal/face/server -run TestFlood -load -v`.
func TestFlood(t *testing.T) {
	if !*load {
		t.Skip("measures nothing without -load")
	}
	t.Run("rate", floodRate)
	t.Run("waiting", floodWaiting)
}

// floodRate: ten agents make a call each ten milliseconds, with and without another that makes as many as it can over 64
// connections, in turns.
func floodRate(t *testing.T) {
	store, err := postgres.Open(t.Context(), pgtest.Start(t).Database(), nil)
	must(t, err)
	t.Cleanup(func() { store.Close() })
	s := open(t, func(o *server.Options) { o.Store = store })
	flood := s.token(client.TokenRequest{Kind: "agent", Name: "flood"})
	var tokens []string
	for i := range 10 {
		tokens = append(tokens, s.token(client.TokenRequest{Kind: "agent", Name: fmt.Sprint("agent", i)}))
	}
	var sessions atomic.Int64 // a session that makes the same call again and again is asked about it
	round := func(flooded bool) (others, floods int64) {
		var n, f atomic.Int64
		var wg sync.WaitGroup
		end := time.Now().Add(3 * time.Second)
		call := func(token string) bool {
			code, body := s.do(token, "POST", "/v1/decisions", fmt.Sprintf(`{"call":{"tool":"bash","input":{"command":"git status"},"session":"s%d"}}`, sessions.Add(1)))
			return code == 200 && strings.Contains(body, `"allow"`)
		}
		for _, token := range tokens {
			wg.Go(func() {
				for time.Now().Before(end) {
					if call(token) {
						n.Add(1)
					}
					time.Sleep(10 * time.Millisecond)
				}
			})
		}
		for range 64 {
			if flooded {
				wg.Go(func() {
					for time.Now().Before(end) {
						if call(flood) {
							f.Add(1)
						}
					}
				})
			}
		}
		wg.Wait()
		return n.Load(), f.Load()
	}
	round(false)
	var ratios []float64
	for range 5 {
		without, _ := round(false)
		with, floods := round(true)
		t.Logf("others make %d calls in 3 s alone, and %d beside a flood of %d", without, with, floods)
		ratios = append(ratios, 1-float64(with)/float64(without))
	}
	slices.Sort(ratios)
	t.Logf("a flood costs the others %.0f %% of their rate (median; %.2f)", 100*ratios[2], ratios)
}

// live returns the bytes of the objects that are in use, and of stacks.
func live() float64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc + m.StackInuse)
}

// floodWaiting: the memory of a thousand agents that wait for people, each with a connection.
func floodWaiting(t *testing.T) {
	const n = 1000
	store, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "obstat.db"))
	must(t, err)
	t.Cleanup(func() { store.Close() })
	s := open(t, func(o *server.Options) { o.Store = store })
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	srv := server.HTTPServer(s.srv, time.Minute)
	srv.ReadTimeout = 0
	go srv.Serve(ln)
	defer srv.Close()
	s.decide("make first", "")
	before, alive := inUse(), live()
	conns := make([]net.Conn, n)
	for i := range conns {
		conns[i], err = net.Dial("tcp", ln.Addr().String())
		must(t, err)
		body := fmt.Sprintf(`{"call":{"tool":"bash","input":{"command":"make target-%d"},"session":"s%d","dir":"/src"},"wait":600}`, i, i)
		_, err = fmt.Fprintf(conns[i], "POST /v1/decisions HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", s.agent, len(body), body)
		must(t, err)
	}
	for end := time.Now().Add(2 * time.Minute); ; time.Sleep(50 * time.Millisecond) {
		list, err := s.store.Requests(t.Context(), approval.Query{State: approval.Pending})
		must(t, err)
		if len(list) == n+1 {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("%d wait", len(list))
		}
	}
	t.Logf("memory of %d requests that wait: %.1f MB, of which live in the heap and in stacks: %.1f MB", n, (inUse()-before)/1e6, (live()-alive)/1e6)
	for _, c := range conns {
		c.Close()
	}
}
