//go:build unix

package server_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/obstat/obstat/internal/face/server"
	"github.com/obstat/obstat/internal/keep/postgres"
	"github.com/obstat/obstat/internal/keep/postgres/pgtest"
	"github.com/obstat/obstat/ledger"
)

// openReplicas opens servers that share a PostgreSQL.
func openReplicas(t *testing.T, n int) (out []*site) {
	url := pgtest.Start(t).Database()
	for range n {
		store, err := postgres.Open(t.Context(), url, nil)
		must(t, err)
		t.Cleanup(func() { store.Close() })
		out = append(out, open(t, func(o *server.Options) { o.Store = store }))
	}
	return out
}

// TestPolicyOnReplicas: a version that one replica activates decides on every other
// within two seconds, and so does the one before when it is rolled back.
func TestPolicyOnReplicas(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("-short: several servers")
	}
	replicas := openReplicas(t, 3)
	first := replicas[0]
	code, body := first.do(first.admin, "POST", "/v1/policies", `{"files":[{"name":"opencode.json","text":"{\"permission\": {\"bash\": {\"*\": \"deny\", \"make *\": \"allow\"}}}"}]}`)
	if code != 200 || !strings.Contains(body, `"version":1`) {
		t.Fatalf("%d %s", code, body)
	}
	n := 0
	in := func(verdict string) {
		t.Helper()
		began, slowest := time.Now(), time.Duration(0)
		for _, s := range replicas {
			// Another call each time: one that is made again and again is asked about.
			look := time.Now()
			for ; s.decide(fmt.Sprint("make ", n), "").Verdict != verdict; n++ {
				if time.Since(began) > time.Minute {
					t.Fatalf("make is not %s on every replica", verdict)
				}
				time.Sleep(10 * time.Millisecond)
				slowest, look = max(slowest, time.Since(look)), time.Now()
			}
			n, slowest = n+1, max(slowest, time.Since(look))
		}
		// Where a question or a pause takes long, so does looking for the policy.
		if took := time.Since(began); took > 2*time.Second+4*slowest {
			t.Errorf("%s on all replicas after %s", verdict, took)
		}
	}
	in("ask")
	if code, body := first.do(first.admin, "POST", "/v1/policies/1/activate", `{"instead":0,"reason":"a test","loosens":true}`); code != 200 {
		t.Fatalf("%d %s", code, body)
	}
	in("allow")
	if code, body := replicas[1].do(replicas[1].admin, "POST", "/v1/policies/rollback", `{"instead":1,"reason":"a test","loosens":true}`); code != 200 {
		t.Fatalf("%d %s", code, body)
	}
	in("ask")
}

// TestFollowReplicas: who follows the ledger on one replica gets the records of all,
// each once, though every chain numbers its own.
func TestFollowReplicas(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("-short: several servers")
	}
	replicas := openReplicas(t, 2)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	req, err := http.NewRequestWithContext(ctx, "GET", replicas[0].http.URL+"/v1/ledger?follow=1&kind=decision", nil)
	must(t, err)
	req.Header.Set("Authorization", "Bearer "+replicas[0].ann)
	for i := range 5 { // this chain is the longer one
		replicas[0].decide(fmt.Sprint("rm ", i), "")
	}
	resp, err := (&http.Client{Transport: replicas[0].wire}).Do(req)
	must(t, err)
	defer resp.Body.Close()
	got := make(chan ledger.Record)
	go func() {
		defer close(got)
		for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
			var r ledger.Record
			if json.Unmarshal(lines.Bytes(), &r) == nil {
				got <- r
			}
		}
	}()
	for range 5 {
		within(t, "the records of before", got)
	}
	seen := map[ledger.Hash]bool{}
	for i := range 3 {
		replicas[1].decide(fmt.Sprint("rm x", i), "")
		replicas[0].decide(fmt.Sprint("rm y", i), "")
		for range 2 {
			r := within(t, fmt.Sprintf("a record of round %d, after %d", i, len(seen)), got)
			if r.Verdict != "deny" || seen[r.Hash] {
				t.Fatalf("round %d: %+v", i, r)
			}
			seen[r.Hash] = true
		}
	}
}

// TestLostPostgres: while PostgreSQL is away the server is not ready and decisions deny with
// the reason, also when tokens cannot be looked up any more; nobody else learns anything.
// When it is back, everything goes on by itself.
func TestLostPostgres(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("-short: several servers")
	}
	db := pgtest.Start(t)
	store, err := postgres.Open(t.Context(), db.Database(), nil)
	must(t, err)
	t.Cleanup(func() { store.Close() })
	s := open(t, func(o *server.Options) { o.Store = store })
	if d := s.decide("git status", ""); d.Verdict != "allow" {
		t.Fatalf("%+v", d)
	}
	db.Kill()
	until := func(what string, done func() bool) {
		t.Helper()
		for end := time.Now().Add(time.Minute); !done(); time.Sleep(50 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatal(what)
			}
		}
	}
	until("it stays ready", func() bool {
		code, body := s.do("", "GET", "/readyz", "")
		return code == 503 && strings.Contains(body, "store cannot be read")
	})
	if code, _ := s.do("", "GET", "/healthz", ""); code != 200 {
		t.Errorf("the process is alive: %d", code)
	}
	n := 0
	until("the token is never looked up", func() bool {
		for _, command := range []string{"git status", "make", "rm x"} {
			n++
			d := s.decide(command, fmt.Sprintf(`,"key":"k%d"`, n))
			if d.Verdict != "deny" || d.Reason == "" {
				t.Fatalf("%s: %+v", command, d)
			}
			if strings.Contains(d.Reason, "the store cannot be read") {
				return true
			}
		}
		return false
	})
	code, body := s.do(s.agent, "POST", "/v1/decisions", `{"calls":[{"tool":"bash","input":{"command":"git status"}},{"tool":"bash","input":{"command":"make"}}]}`)
	if code != 200 || strings.Count(body, `"verdict":"deny"`) != 2 {
		t.Errorf("several: %d %s", code, body)
	}
	for token, want := range map[string]int{"": 401, "oba_nothing": 503, s.ann: 503} {
		if code, body := s.do(token, "POST", "/v1/decisions", aCall); code != want || strings.Contains(body, "verdict") {
			t.Errorf("%.4s: %d %s", token, code, body)
		}
	}
	db.Restart(0)
	until("it does not come back", func() bool {
		code, body := s.do(s.agent, "POST", "/v1/decisions", fmt.Sprintf(`{"call":{"tool":"bash","input":{"command":"git status"},"session":"n%d"}}`, n))
		n++
		return code == 200 && strings.Contains(body, `"verdict":"allow"`)
	})
	until("it does not get ready", func() bool { code, _ := s.do("", "GET", "/readyz", ""); return code == 200 })
}
