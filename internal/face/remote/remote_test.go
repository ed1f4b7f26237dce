package remote_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/client"
	"github.com/obstat/obstat/gate"
	"github.com/obstat/obstat/internal/face/remote"
	"github.com/obstat/obstat/internal/face/server"
	"github.com/obstat/obstat/internal/keep/memory"
	"github.com/obstat/obstat/ledger"
	"github.com/obstat/obstat/ledger/logfile"
)

const rules = `{"permission": {"bash": {"*": "ask", "rm *": "deny", "git status": "allow"}, "edit": "allow"}}`

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func write(t *testing.T, text string) *gate.Files {
	t.Helper()
	name := filepath.Join(t.TempDir(), "opencode.json")
	must(t, os.WriteFile(name, []byte(text), 0o600))
	return &gate.Files{Names: []string{name}, NoPins: true}
}

// TestMachine: a machine that has joined decides by the server's policy and its
// own, asks the people at the server, and sends its records; while the server is
// not there it allows nothing, and what another key has signed does not count.
func TestMachine(t *testing.T) {
	store := new(memory.Store)
	srv, err := server.Open(t.Context(), server.Options{Store: store, Policy: write(t, rules)})
	must(t, err)
	t.Cleanup(srv.Close)
	at := httptest.NewServer(srv.Handler())
	tok, err := server.NewToken(t.Context(), store, client.TokenRequest{Kind: "agent", Name: "laptop"}, "test")
	must(t, err)
	person, err := server.NewToken(t.Context(), store, client.TokenRequest{Kind: "person", Name: "ann"}, "test")
	must(t, err)
	dir := t.TempDir()
	if _, err := remote.Join(t.Context(), dir, at.URL, "oba_wrong", ""); err == nil {
		t.Error("joined with a wrong token")
	}
	for _, far := range []string{"http://192.0.2.1:8470", "http://gate.example:8470"} {
		if _, err := remote.Join(t.Context(), dir, far, tok.Secret, ""); err == nil || !strings.Contains(err.Error(), "by https") {
			t.Errorf("%s: %v", far, err)
		}
	}
	j, err := remote.Join(t.Context(), dir, at.URL, tok.Secret, "")
	must(t, err)
	if again, err := remote.Load(dir); err != nil || *again != *j {
		t.Errorf("%+v %v", again, err)
	}
	local := logfile.New(filepath.Join(dir, "obstat.ledger"))
	t.Cleanup(func() { local.Close() })
	var settle func(context.Context, *obstat.Call, *obstat.Decision) (*gate.Settled, error)
	machine := func(files gate.Source) *gate.Gate {
		s, err := remote.Open(j, dir, files, local)
		must(t, err)
		g, err := gate.Open(t.Context(), gate.Options{Policy: s, Ledger: local, NoStart: true, World: &obstat.Snapshot{}})
		must(t, err)
		settle = func(ctx context.Context, c *obstat.Call, _ *obstat.Decision) (*gate.Settled, error) {
			approved, by, err := s.Ask(ctx, c, 30*time.Second)
			if approved {
				return &gate.Settled{Verdict: obstat.Allow, By: by}, err
			}
			return &gate.Settled{By: by}, err
		}
		return g
	}
	decide := func(g *gate.Gate, command string) obstat.Decision {
		d, _ := g.Authorize(t.Context(), &obstat.Call{Agent: "laptop", Tool: "bash", Input: []byte(`{"command":"` + command + `"}`), Dir: "/src"},
			&gate.Terms{Settle: settle})
		return d.Decision
	}
	own := write(t, `{"permission": {"bash": {"*": "allow", "git status --short": "deny"}}}`)
	g := machine(own)
	for command, want := range map[string]obstat.Verdict{"git status": obstat.Allow, "rm x": obstat.Deny, "git status --short": obstat.Deny} {
		if d := decide(g, command); d.Verdict != want {
			t.Errorf("%s: %s %s", command, d.Verdict, d.Reason())
		}
	}
	ann, err := client.New(client.Options{URL: at.URL, Token: person.Secret})
	must(t, err)
	answered := make(chan obstat.Decision, 1)
	go func() { answered <- decide(g, "make") }()
	end := time.Now().Add(time.Minute)
	for done := false; !done; time.Sleep(20 * time.Millisecond) {
		if len(answered) > 0 || time.Now().After(end) {
			t.Fatalf("nobody at the server is asked; %d decisions", len(answered))
		}
		list, err := ann.Requests(t.Context(), "pending")
		must(t, err)
		for _, r := range list.Requests {
			_, err := ann.Answer(t.Context(), r.ID, client.Answer{Allow: true})
			must(t, err)
			done = true
		}
	}
	if d := <-answered; d.Verdict != obstat.Allow || !strings.Contains(d.Reason(), "approved by ann") {
		t.Errorf("%s %s", d.Verdict, d.Reason())
	}
	// What was kept is old by the next time, so that the server is asked again.
	old := func() {
		data, err := os.ReadFile(filepath.Join(dir, "server-policy.json"))
		must(t, err)
		text := string(data)
		from := strings.Index(text, `"fetched":"`) + len(`"fetched":"`)
		must(t, os.WriteFile(filepath.Join(dir, "server-policy.json"), []byte(text[:from]+"2020"+text[from+4:]), 0o600))
	}
	old()
	decide(machine(own), "git status")
	sent := 0
	for r, err := range store.Records(t.Context(), ledger.Query{Kind: ledger.Decision}) {
		must(t, err)
		if len(r.Spool) > 0 {
			sent++
		}
	}
	if sent < 4 {
		t.Errorf("%d records of the machine are in the server's ledger", sent)
	}
	if _, err := store.Verify(t.Context(), ledger.Hash{}); err != nil {
		t.Error(err)
	}
	at.Close()
	old()
	if d := decide(machine(own), "git status"); d.Verdict == obstat.Allow {
		t.Errorf("allowed without the server: %s", d.Reason())
	}
	j.Key = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="
	if d := decide(machine(own), "git status"); d.Verdict != obstat.Deny {
		t.Errorf("allowed by another key: %s", d.Reason())
	}
}

// TestReplayed: a policy that the server signed before counts no longer once a newer one was
// here, whoever sends it, and one that is rolled back to is a new one.
func TestReplayed(t *testing.T) {
	store := new(memory.Store)
	files := write(t, rules)
	srv, err := server.Open(t.Context(), server.Options{Store: store, Policy: files})
	must(t, err)
	t.Cleanup(srv.Close)
	var replay atomic.Pointer[[]byte] // is sent in place of the server's policy
	at := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if old := replay.Load(); old != nil && r.URL.Path == "/v1/bundle" {
			w.Header().Set(client.APIHeader, client.API)
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write(*old)
			return
		}
		srv.Handler().ServeHTTP(w, r)
	}))
	t.Cleanup(at.Close)
	tok, err := server.NewToken(t.Context(), store, client.TokenRequest{Kind: "agent", Name: "laptop", Agent: client.AnyAgent}, "test")
	must(t, err)
	dir := t.TempDir()
	_, err = remote.Join(t.Context(), dir, at.URL, tok.Secret, "")
	must(t, err)
	kept := filepath.Join(dir, "server-policy.json")
	first, err := os.ReadFile(kept)
	must(t, err)
	verdict := func() (obstat.Verdict, string) {
		t.Helper()
		data, err := os.ReadFile(kept)
		must(t, err)
		must(t, os.WriteFile(kept, regexp.MustCompile(`"fetched":"20..`).ReplaceAll(data, []byte(`"fetched":"2020`)), 0o600))
		return verdictOf(t, dir)
	}
	allowed := func(what string) {
		t.Helper()
		if v, why := verdict(); v != obstat.Allow {
			t.Errorf("%s: %s %s", what, v, why)
		}
	}
	allowed("the first policy")
	c, err := client.New(client.Options{URL: at.URL, Token: tok.Secret})
	must(t, err)
	b, err := c.Bundle(t.Context())
	must(t, err)
	old, err := json.Marshal(b)
	must(t, err)
	must(t, os.WriteFile(files.Names[0], []byte(`{"permission": {"bash": {"*": "deny"}}}`), 0o600))
	if v, why := verdict(); v != obstat.Deny {
		t.Errorf("the second policy: %s %s", v, why)
	}
	replay.Store(&old)
	if v, why := verdict(); v == obstat.Allow {
		t.Errorf("the first one is played back: %s %s", v, why)
	}
	must(t, os.WriteFile(kept, first, 0o600))
	if v, why := verdictOf(t, dir); v != obstat.Deny || !strings.Contains(why, "an old one was played back") {
		t.Errorf("the first one is put back into the file: %s %s", v, why)
	}
	replay.Store(nil)
	must(t, os.WriteFile(files.Names[0], []byte(rules), 0o600))
	allowed("rolled back")
}

func verdictOf(t *testing.T, dir string) (obstat.Verdict, string) {
	t.Helper()
	j, err := remote.Load(dir)
	must(t, err)
	s, err := remote.Open(j, dir, write(t, `{"permission": {"bash": "allow"}}`), nil)
	must(t, err)
	log := logfile.New(filepath.Join(t.TempDir(), "l"))
	defer log.Close()
	g, err := gate.Open(t.Context(), gate.Options{Policy: s, Ledger: log, NoStart: true, World: &obstat.Snapshot{}})
	must(t, err)
	d, _ := g.Authorize(t.Context(), &obstat.Call{Tool: "bash", Input: []byte(`{"command":"git status"}`), Dir: "/src"}, nil)
	return d.Verdict, d.Reason()
}
