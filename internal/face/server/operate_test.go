package server_test

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"log/slog"
	"math/big"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/obstat/obstat/client"
	"github.com/obstat/obstat/internal/face/server"
	"github.com/obstat/obstat/internal/face/tell"
	"github.com/obstat/obstat/internal/keep/sqlite"
	"github.com/obstat/obstat/ledger"
)

// TestProbes: probes are answered however many strangers call from the address.
func TestProbes(t *testing.T) {
	s := open(t, nil)
	codes := map[int]int{}
	for range 200 {
		code, _ := s.do("guess", "GET", "/v1/me", "")
		codes[code]++
	}
	for _, path := range []string{"/healthz", "/readyz"} {
		if code, body := s.do("", "GET", path, ""); code != 200 {
			t.Errorf("%s: %d %s", path, code, body)
		}
	}
	if codes[429] == 0 {
		t.Errorf("strangers are not limited: %v", codes)
	}
}

// TestTrustedProxy: behind a proxy each client has its own limit, by the address that the proxy saw; a client that names
// another one itself is not believed.
func TestTrustedProxy(t *testing.T) {
	for name, proxies := range map[string][]netip.Prefix{"none": nil, "trusted": {netip.MustParsePrefix("127.0.0.0/8")}} {
		s := open(t, func(o *server.Options) { o.Proxies = proxies })
		for range 100 {
			s.do("guess", "GET", "/v1/me", "", "X-Forwarded-For", "203.0.113.9")
		}
		code, _ := s.do("guess", "GET", "/v1/me", "", "X-Forwarded-For", "203.0.113.10")
		if want := map[bool]int{true: 401, false: 429}[proxies != nil]; code != want {
			t.Errorf("%s: another client gets %d", name, code)
		}
		if code, _ := s.do("guess", "GET", "/v1/me", "", "X-Forwarded-For", "198.51.100.1, 203.0.113.9, 127.0.0.2"); code != 429 {
			t.Errorf("%s: a client that names another address itself gets %d", name, code)
		}
	}
}

// TestSessions: an administrator sees who is logged in, and ends it at once.
func TestSessions(t *testing.T) {
	s := open(t, nil)
	ann, bob := s.browser("ann", "dev"), s.browser("bob", "dev")
	var list client.Sessions
	s.get(s.admin, "/v1/sessions", &list)
	if len(list.Sessions) != 2 {
		t.Fatalf("%+v", list)
	}
	if code, _ := s.do(s.ann, "GET", "/v1/sessions", ""); code != 403 {
		t.Errorf("a person without the role: %d", code)
	}
	if code, body := s.do(s.admin, "DELETE", "/v1/sessions?person=ann", ""); code != 200 || !strings.Contains(body, `"sessions":1`) {
		t.Errorf("%d %s", code, body)
	}
	if code, _ := ann.do("GET", "/v1/me", ""); code != 401 {
		t.Errorf("ann is still there: %d", code)
	}
	if code, _ := bob.do("GET", "/v1/me", ""); code != 200 {
		t.Errorf("bob: %d", code)
	}
	for _, one := range list.Sessions {
		if one.Person == "bob" {
			if code, body := s.do(s.admin, "DELETE", "/v1/sessions/"+one.ID, ""); code != 204 {
				t.Errorf("%d %s", code, body)
			}
		}
	}
	if code, _ := bob.do("GET", "/v1/me", ""); code != 401 {
		t.Errorf("bob is still there: %d", code)
	}
	if records := s.records(ledger.Access); records[len(records)-1].Verdict != "ended" || records[len(records)-1].User != "root" {
		t.Errorf("%+v", records[len(records)-1])
	}
}

// writeCert writes a certificate for a name.
func writeCert(t *testing.T, dir, name string) (cert, key string) {
	t.Helper()
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	of := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, of, of, &k.PublicKey, k)
	must(t, err)
	secret, err := x509.MarshalECPrivateKey(k)
	must(t, err)
	cert, key = filepath.Join(dir, "c.pem"), filepath.Join(dir, "k.pem")
	must(t, os.WriteFile(cert, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600))
	must(t, os.WriteFile(key, pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: secret}), 0o600))
	return cert, key
}

// TestCertificates: a certificate that is replaced is used without a restart; one that is half written is not.
func TestCertificates(t *testing.T) {
	dir := t.TempDir()
	cert, key := writeCert(t, dir, "first")
	get := server.Certificate(cert, key)
	name := func() string {
		t.Helper()
		c, err := get(nil)
		must(t, err)
		leaf, err := x509.ParseCertificate(c.Certificate[0])
		must(t, err)
		return leaf.Subject.CommonName
	}
	if name() != "first" {
		t.Fatal(name())
	}
	must(t, os.WriteFile(cert, []byte("half"), 0o600))
	if name() != "first" {
		t.Error("a certificate that cannot be read is used")
	}
	writeCert(t, dir, "second")
	if name() != "second" {
		t.Error("the certificate is read once")
	}
}

// TestProviderAway: a server starts while the identity provider is away, and people log in once it is back; a person
// without a role, and one whose group is not named, is not let in.
func TestProviderAway(t *testing.T) {
	p := newProvider(t)
	away := atomic.Bool{}
	away.Store(true)
	inner := p.http.Config.Handler
	p.http.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if away.Load() {
			http.Error(w, "away", 502)
			return
		}
		inner.ServeHTTP(w, r)
	})
	s := open(t, func(o *server.Options) {
		o.OIDC = &server.OIDC{Issuer: p.http.URL, ClientID: "obstat", Secret: "x", PublicURL: "http://" + o.Hosts[0], Roles: map[string][]string{"dev": {"answers"}}}
	})
	if code, _ := s.do("", "GET", "/oidc/start", ""); code != 503 {
		t.Errorf("%d", code)
	}
	if d := s.decide("git status", ""); d.Verdict != "allow" {
		t.Errorf("%+v", d)
	}
	away.Store(false)
	b := s.visit("/oidc/start")
	if _, body := b.do("GET", "/v1/me", ""); !strings.Contains(body, `"roles":["answers"]`) {
		t.Errorf("%s", body)
	}
	p.mu.Lock()
	p.change = func(c map[string]any) { c["groups"] = []string{"admin", "everybody"} }
	p.mu.Unlock()
	client := &http.Client{Jar: newJar(t)}
	resp, err := client.Get(s.http.URL + "/oidc/start")
	must(t, err)
	resp.Body.Close()
	if resp.StatusCode != 403 {
		t.Errorf("a person whose groups have no role: %d", resp.StatusCode)
	}
}

// TestRoleGone: a login has the roles that its groups have now. Who lost the last one, or came by a provider that is no
// longer trusted, has to log in again.
func TestRoleGone(t *testing.T) {
	p := newProvider(t)
	provider := func(roles map[string][]string) *server.OIDC {
		return &server.OIDC{Issuer: p.http.URL, ClientID: "obstat", Secret: "x", PublicURL: "http://gate.example", Roles: roles}
	}
	var opts server.Options
	s := open(t, func(o *server.Options) {
		o.OIDC = provider(map[string][]string{"dev": {"dev", server.RoleAdmin}})
		o.OIDC.PublicURL = "http://" + o.Hosts[0]
		opts = *o
	})
	ann, bob := s.visit("/oidc/start"), s.browser("bob", server.RoleAdmin)
	other := provider(map[string][]string{"dev": {"dev"}})
	other.Issuer = "https://other.example"
	for _, tt := range []struct {
		name     string
		now      *server.OIDC
		code     int
		roles    string
		ofTokens int
	}{
		{"as it was", opts.OIDC, 200, `"roles":["dev","admin"]`, 200},
		{"one role is gone", provider(map[string][]string{"dev": {"dev"}}), 200, `"roles":["dev"]`, 403},
		{"all are gone", provider(map[string][]string{"ops": {"dev", server.RoleAdmin}}), 401, "", 401},
		{"another provider", other, 401, "", 401},
		{"no provider", nil, 401, "", 401},
	} {
		opts.OIDC = tt.now
		srv, err := server.Open(t.Context(), opts)
		must(t, err)
		s.http.CloseClientConnections()
		s.http.Config.Handler = srv.Handler()
		if code, body := ann.do("GET", "/v1/me", ""); code != tt.code || !strings.Contains(body, tt.roles) {
			t.Errorf("%s: %d %s", tt.name, code, body)
		}
		if code, body := ann.do("GET", "/v1/tokens", ""); code != tt.ofTokens {
			t.Errorf("%s: tokens: %d %s", tt.name, code, body)
		}
		if code, _ := bob.do("GET", "/v1/tokens", ""); code != 200 {
			t.Errorf("%s: a login by a link: %d", tt.name, code)
		}
		srv.Close()
	}
}

// TestFollowTheFuture: a record with a time in the future, or long past, is sent to those who follow, and so is all that
// comes after it.
func TestFollowTheFuture(t *testing.T) {
	store, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "obstat.db"))
	must(t, err)
	t.Cleanup(func() { store.Close() })
	s := open(t, func(o *server.Options) { o.Store = store })
	machine := s.token(client.TokenRequest{Kind: "agent", Name: "laptop", Agent: client.AnyAgent})
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	req, err := http.NewRequestWithContext(ctx, "GET", s.http.URL+"/v1/ledger?follow=1&kind=decision", nil)
	must(t, err)
	req.Header.Set("Authorization", "Bearer "+s.ann)
	resp, err := http.DefaultClient.Do(req)
	must(t, err)
	defer resp.Body.Close()
	lines := make(chan *ledger.Record, 16)
	go func() {
		for in := json.NewDecoder(resp.Body); ; {
			r := new(ledger.Record)
			if in.Decode(r) != nil {
				return
			}
			lines <- r
		}
	}()
	var prev ledger.Hash
	for i, year := range []int{2099, 1999} {
		r := &ledger.Record{Time: time.Date(year, 1, 1, 0, 0, 0, 0, time.UTC), Kind: ledger.Decision, Agent: "a", Tool: "bash", Verdict: "allow", Input: []byte(`{}`)}
		must(t, r.Seal(uint64(i), prev))
		prev = r.Hash
		line, err := r.Encode()
		must(t, err)
		body, err := json.Marshal(client.Records{Lines: []string{string(line)}})
		must(t, err)
		if code, text := s.do(machine, "POST", "/v1/records", string(body)); code != 204 {
			t.Fatalf("%d %s", code, text)
		}
		if got := within(t, fmt.Sprint("the record of ", year), lines); got.Time.Year() != year {
			t.Errorf("%s", got.Time)
		}
		s.decide("git status", "")
		if got := within(t, "the record after it", lines); got.Agent != "coder" {
			t.Errorf("%+v", got)
		}
	}
	var stats struct{ To time.Time }
	if s.get(s.ann, "/v1/stats", &stats); stats.To.After(time.Now().Add(2 * time.Hour)) {
		t.Errorf("charts reach to %s", stats.To)
	}
}

// unwritable is a store that says that its last append failed, as after a full disk.
type unwritable struct {
	server.Store
	failed, full *atomic.Bool
}

func (u unwritable) Append(ctx context.Context, r ...*ledger.Record) error {
	if u.full.Load() {
		u.failed.Store(true)
		return errors.New("the disk is full")
	}
	u.failed.Store(false)
	return u.Store.Append(ctx, r...)
}

func (u unwritable) Failed() error {
	if u.failed.Load() {
		return errors.New("the disk is full")
	}
	return nil
}

// TestReadyWithAppends: an append of any kind that fails, as that of a machine's records, turns /readyz until one
// succeeds, without a call.
func TestReadyWithAppends(t *testing.T) {
	u := unwritable{failed: new(atomic.Bool), full: new(atomic.Bool)}
	s := open(t, func(o *server.Options) { u.Store = o.Store; o.Store = u })
	u.full.Store(true)
	if code, _ := s.do(s.admin, "POST", "/v1/tokens", `{"kind":"agent","name":"x"}`); code < 500 {
		t.Fatalf("a token that could not be written down is made: %d", code)
	}
	if code, body := s.do("", "GET", "/readyz", ""); code != 503 || !strings.Contains(body, "the disk is full") {
		t.Errorf("it is ready: %d %s", code, body)
	}
	u.full.Store(false)
	if code, body := s.do("", "GET", "/readyz", ""); code != 200 {
		t.Errorf("it is not ready again: %d %s", code, body)
	}
}

// TestMetricsAreThere: what the dashboard and the documents name is what a server counts.
func TestMetricsAreThere(t *testing.T) {
	collector := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	t.Cleanup(collector.Close)
	s := open(t, func(o *server.Options) {
		o.Traces, o.OTLP = collector.URL, collector.URL
		o.Tell = &tell.Config{URL: "https://gate.example"}
	})
	s.decide("git status", "")
	_, counted := s.do(s.ann, "GET", "/metrics", "")
	name := regexp.MustCompile(`\bobstat_[a-z_]+[a-z]\b`)
	for _, file := range []string{"deploy/grafana.json", "docs/operations.md"} {
		text, err := os.ReadFile(filepath.Join("../../..", file))
		must(t, err)
		found := name.FindAllString(string(text), -1)
		if len(found) < 5 {
			t.Errorf("%s names %q", file, found)
		}
		for _, metric := range found {
			if !strings.Contains(counted, "\n"+metric+"{") && !strings.Contains(counted, "\n"+metric+" ") && !strings.Contains(counted, "# TYPE "+metric+" ") {
				t.Errorf("%s: %s is not counted", file, metric)
			}
		}
	}
	var board struct{ Panels []struct{ Title string } }
	text, err := os.ReadFile("../../../deploy/grafana.json")
	must(t, err)
	if must(t, json.Unmarshal(text, &board)); len(board.Panels) == 0 {
		t.Error("the dashboard shows nothing")
	}
}

// TestStrictTransport: answers over TLS say that there is no other way, and no others do.
func TestStrictTransport(t *testing.T) {
	for _, tls := range []bool{true, false} {
		s := open(t, func(o *server.Options) { o.TLS = tls })
		resp, err := (&http.Client{Transport: s.wire}).Get(s.http.URL + "/healthz")
		must(t, err)
		resp.Body.Close()
		if got := resp.Header.Get("Strict-Transport-Security"); (got != "") != tls {
			t.Errorf("TLS %v: %q", tls, got)
		}
	}
}

// TestSample: a message that comes a thousand times in a second is a few lines, and how many were left out is told.
func TestSample(t *testing.T) {
	var buf bytes.Buffer
	log := slog.New(server.Sample(slog.NewJSONHandler(&buf, nil)))
	for range 1000 {
		log.Error("a request failed", "error", "away")
	}
	log.Warn("another")
	if n := strings.Count(buf.String(), "\n"); n > 10 || !strings.Contains(buf.String(), "another") {
		t.Errorf("%d lines", n)
	}
}

// TestLoginReturns: a link to a request leads there after the login, and no other address does.
func TestLoginReturns(t *testing.T) {
	s := open(t, func(o *server.Options) { o.Console = func(*server.Service) *http.ServeMux { return consoleMux() } })
	id := s.decide("make", "").Request.ID
	for path, want := range map[string]string{"/requests/" + id: "/requests/" + id, "/history": "/", "/requests/..%2f..%2fevil": "/"} {
		jar := newJar(t)
		c := &http.Client{Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
		resp, err := c.Get(s.http.URL + path)
		must(t, err)
		resp.Body.Close()
		key, err := server.NewLogin(t.Context(), s.store, server.Person{Name: "ann"}, "test")
		must(t, err)
		resp, err = c.Get(s.http.URL + "/login?key=" + key)
		must(t, err)
		resp.Body.Close()
		if got := resp.Header.Get("Location"); got != want {
			t.Errorf("%s leads to %q", path, got)
		}
	}
}

func newJar(t *testing.T) http.CookieJar {
	t.Helper()
	jar, err := cookiejar.New(nil)
	must(t, err)
	return jar
}

// consoleMux stands for the pages.
func consoleMux() *http.ServeMux {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /requests/{id}", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("GET /history", func(http.ResponseWriter, *http.Request) {})
	return mux
}

// TestOCSF: records are exported in the form that security tools read.
func TestOCSF(t *testing.T) {
	s := open(t, nil)
	s.decide("git status", "")
	s.decide("rm x", "")
	_, body := s.do(s.ann, "GET", "/v1/ledger?kind=decision&format=ocsf", "")
	var events []map[string]any
	for line := range strings.Lines(body) {
		var e map[string]any
		must(t, json.Unmarshal([]byte(line), &e))
		events = append(events, e)
	}
	if len(events) != 2 || events[0]["class_uid"] != 6003.0 || events[0]["disposition_id"] != 1.0 || events[1]["disposition_id"] != 2.0 || events[1]["type_uid"] != 600399.0 {
		t.Errorf("%s", body)
	}
	if code, _ := s.do(s.ann, "GET", "/v1/ledger?format=cef", ""); code != 400 {
		t.Errorf("%d", code)
	}
}

// TestSearch: tools and agents that are known are found where the policy lets them; nothing is asked or recorded, and of a batch
// one bad evaluation is false.
func TestSearch(t *testing.T) {
	s := open(t, nil)
	s.decide("git status", "")
	s.do(s.agent, "POST", "/v1/decisions", `{"call":{"tool":"edit","input":{"filePath":"/src/a"},"dir":"/src"}}`)
	s.do(s.ann, "GET", "/v1/agents", "")
	before := len(s.records(ledger.Decision))
	for path, tt := range map[string][2]string{
		"action":  {`{"subject":{"type":"agent","id":"coder"},"resource":{"type":"command","id":"","properties":{"command":"git status"}}}`, `{"name":"bash"}`},
		"subject": {`{"subject":{"type":"agent"},"action":{"name":"bash","properties":{"command":"git status"}},"resource":{"type":"command","id":""}}`, `{"id":"coder","type":"agent"}`},
	} {
		code, body := s.do(s.agent, "POST", "/access/v1/search/"+path, tt[0])
		if code != 200 || !strings.Contains(body, tt[1]) {
			t.Errorf("%s: %d %s", path, code, body)
		}
	}
	if _, body := s.do(s.agent, "POST", "/access/v1/search/subject", `{"subject":{"type":"agent"},"action":{"name":"bash","properties":{"command":"rm x"}},"resource":{"type":"command","id":""}}`); body != `{"results":[]}` {
		t.Errorf("what is denied is found: %s", body)
	}
	if code, _ := s.do(s.agent, "POST", "/access/v1/search/action", `{"subject":{"type":"agent"}}`); code != 400 {
		t.Errorf("%d", code)
	}
	if n := len(s.records(ledger.Decision)); n != before {
		t.Errorf("%d decisions were recorded", n-before)
	}
	_, body := s.do(s.agent, "POST", "/access/v1/evaluations", `{"subject":{"type":"agent","id":"coder"},"resource":{"type":"command","id":""},"evaluations":[{"action":{"name":""}},{"action":{"name":"bash","properties":{"command":"git status"}}}]}`)
	if !strings.HasPrefix(body, `{"evaluations":[{"decision":false,`) || !strings.Contains(body, `{"decision":true`) {
		t.Errorf("%s", body)
	}
}
