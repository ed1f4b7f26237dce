package server_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/obstat/obstat/client"
	"github.com/obstat/obstat/gate"
	"github.com/obstat/obstat/internal/face/server"
	"github.com/obstat/obstat/store"
)

// allowed are calls that openHundred allows.
var allowed = map[string]string{
	"git":     `{"tool":"Bash","input":{"command":"git log --oneline -5"},"session":"s","dir":"/src"}`,
	"npm":     `{"tool":"Bash","input":{"command":"npm run build --silent"},"session":"s","dir":"/src"}`,
	"unknown": `{"tool":"Bash","input":{"command":"tool42 run all the tests"},"session":"s","dir":"/src"}`,
	"plain":   `{"tool":"query","input":{"table":"orders","limit":10},"session":"s","dir":"/src"}`,
}

// openHundred opens a server with a hundred rules, and returns what puts a call to it
// without the network.
func openHundred(t testing.TB) func(call string) {
	dir := t.TempDir()
	var rules strings.Builder
	for i := range 97 {
		fmt.Fprintf(&rules, `"Bash(tool%d run *)", `, i)
	}
	file := filepath.Join(dir, "settings.json")
	if err := os.WriteFile(file, []byte(`{"permissions": {"allow": [`+rules.String()+`"Bash(git *)", "Bash(npm run *)", "query"]}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	keep, err := store.Serve(t.Context(), filepath.Join(dir, "obstat.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { keep.Close() })
	srv, err := server.Open(t.Context(), server.Options{Store: keep, Policy: &gate.Files{Names: []string{file}, NoPins: true}, Rate: 1 << 30})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(srv.Close)
	tok, err := server.NewToken(t.Context(), keep, client.TokenRequest{Kind: "agent", Name: "load"}, "test")
	if err != nil {
		t.Fatal(err)
	}
	return func(call string) {
		r := httptest.NewRequest(http.MethodPost, "/v1/decisions", strings.NewReader(`{"call":`+call+`}`))
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Authorization", "Bearer "+tok.Secret)
		w := httptest.NewRecorder()
		if srv.Handler().ServeHTTP(w, r); w.Code != 200 || !strings.Contains(w.Body.String(), `"verdict":"allow"`) {
			t.Errorf("%d %s", w.Code, w.Body)
		}
	}
}

// BenchmarkDecide measures allowed decisions without the network, each of them in
// the ledger, by the kind of the call.
func BenchmarkDecide(b *testing.B) {
	put := openHundred(b)
	for name, call := range allowed {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetParallelism(32)
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					put(call)
				}
			})
		})
	}
}

// TestDecisionAllocations: an allowed decision, with its record, costs few
// allocations; reading its JSON with the types' fields looked up anew took 280.
func TestDecisionAllocations(t *testing.T) {
	put := openHundred(t)
	for name, limit := range map[string]float64{"git": 120, "npm": 160, "plain": 130} {
		put(allowed[name]) // indexes and automata are built with the first call
		n := limit + 1
		for i := 0; i < 5 && n > limit; i++ { // what the server does besides, once a second, counts as well
			n = testing.AllocsPerRun(100, func() { put(allowed[name]) })
		}
		if n > limit {
			t.Errorf("%s: %.0f allocations, more than %.0f", name, n, limit)
		}
	}
}
