package server_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/obstat/obstat/approval"
	"github.com/obstat/obstat/client"
	"github.com/obstat/obstat/gate"
	"github.com/obstat/obstat/internal/face/server"
	"github.com/obstat/obstat/internal/keep/memory"
	"github.com/obstat/obstat/ledger"
)

const rules = `{"permission": {"bash": {"*": "ask", "rm *": "deny", "git status": "allow"}, "edit": "allow"}}`

// A site is a server with tokens for its callers.
type site struct {
	t     *testing.T
	srv   *server.Server
	http  *httptest.Server
	store server.Store
	file  string
	agent string // tokens
	ann   string
	admin string
	wire  *http.Transport
	lost  *fault // why the store cannot be written, where a test sets it
}

func open(t *testing.T, change func(*server.Options)) *site {
	t.Helper()
	s := &site{t: t, store: new(memory.Store), file: filepath.Join(t.TempDir(), "opencode.json")}
	must(t, os.WriteFile(s.file, []byte(rules), 0o600))
	s.http = httptest.NewUnstartedServer(nil)
	s.wire = &http.Transport{MaxIdleConnsPerHost: 256}
	t.Cleanup(s.wire.CloseIdleConnections)
	opts := server.Options{Store: s.store, Policy: &gate.Files{Names: []string{s.file}, NoPins: true}, Hosts: []string{s.http.Listener.Addr().String()}}
	if change != nil {
		change(&opts)
		s.store = opts.Store
	}
	var err error
	s.srv, err = server.Open(t.Context(), opts)
	must(t, err)
	t.Cleanup(s.srv.Close)
	s.http.Config.Handler = s.srv.Handler()
	if opts.TLS {
		s.http.StartTLS()
		s.wire.TLSClientConfig = s.http.Client().Transport.(*http.Transport).TLSClientConfig
	} else {
		s.http.Start()
	}
	t.Cleanup(s.http.Close)
	s.agent = s.token(client.TokenRequest{Kind: "agent", Name: "coder"})
	s.ann = s.token(client.TokenRequest{Kind: "person", Name: "ann", Roles: []string{"dev"}})
	s.admin = s.token(client.TokenRequest{Kind: "person", Name: "root", Roles: []string{server.RoleAdmin}})
	return s
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (s *site) token(r client.TokenRequest) string {
	s.t.Helper()
	tok, err := server.NewToken(s.t.Context(), s.store, r, "test")
	must(s.t, err)
	return tok.Secret
}

// do sends a request and returns the status and the body.
func (s *site) do(token, method, path, body string, headers ...string) (int, string) {
	s.t.Helper()
	req, err := http.NewRequestWithContext(s.t.Context(), method, s.http.URL+path, strings.NewReader(body))
	must(s.t, err)
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i+1 < len(headers); i += 2 {
		if headers[i] == "Host" {
			req.Host = headers[i+1]
		}
		req.Header.Set(headers[i], headers[i+1])
	}
	c := &http.Client{Transport: s.wire, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := c.Do(req)
	must(s.t, err)
	defer resp.Body.Close()
	var buf bytes.Buffer
	_, err = io.Copy(&buf, resp.Body)
	must(s.t, err)
	kind := resp.Header.Get("Content-Type")
	ours := strings.HasPrefix(kind, "application/problem+json") || strings.Contains(kind, "text/")
	theirs := strings.HasPrefix(path, "/access/v1/") || strings.HasPrefix(path, "/permission/") || strings.HasPrefix(path, "/session/")
	if resp.StatusCode >= 400 && !ours && !theirs {
		s.t.Errorf("%s %s: %d as %s", method, path, resp.StatusCode, resp.Header.Get("Content-Type"))
	}
	return resp.StatusCode, buf.String()
}

func (s *site) get(token, path string, v any) {
	s.t.Helper()
	code, body := s.do(token, "GET", path, "")
	if code != 200 || json.Unmarshal([]byte(body), v) != nil {
		s.t.Fatalf("GET %s: %d %s", path, code, body)
	}
}

// within returns the next value of a channel, and fails the test where none comes.
func within[T any](t *testing.T, what string, ch <-chan T) (v T) {
	t.Helper()
	select {
	case v = <-ch:
	case <-time.After(time.Minute):
		t.Fatalf("waited in vain for %s", what)
	}
	return v
}

// pending waits until as many requests are open, and returns them.
func (s *site) pending(n int) []*approval.Request {
	s.t.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		var list client.Requests
		if s.get(s.ann, "/v1/requests?state=pending", &list); len(list.Requests) >= n {
			return list.Requests
		}
		if time.Now().After(end) {
			s.t.Fatalf("waited in vain for %d open requests, there are %d", n, len(list.Requests))
		}
	}
}

func (s *site) decide(command string, more string) client.Decision {
	s.t.Helper()
	code, body := s.do(s.agent, "POST", "/v1/decisions", fmt.Sprintf(`{"call":{"tool":"bash","input":{"command":%s},"session":"s","dir":"/src"}%s}`, quote(command), more))
	var d client.Decision
	if code != 200 || json.Unmarshal([]byte(body), &d) != nil {
		s.t.Fatalf("%s: %d %s", command, code, body)
	}
	return d
}

// TestDecisions: calls are decided, asks answered by people, approvals claimed
// once, outcomes reported; and all of it is in the ledger.
func TestDecisions(t *testing.T) {
	s := open(t, nil)
	for command, want := range map[string]string{"git status": "allow", "rm -rf x": "deny", "make": "ask"} {
		if d := s.decide(command, ""); d.Verdict != want || d.Reason == "" || (d.Request != nil) != (want == "ask") || (d.Rule == nil) {
			t.Errorf("%s: %+v", command, d)
		}
	}
	waited := make(chan client.Decision, 1)
	go func() { waited <- s.decide("make test", `,"wait":60,"lease":60,"key":"k1"`) }()
	id := s.pending(2)[1].ID
	if code, body := s.do(s.agent, "POST", "/v1/requests/"+id+"/answer", `{"allow":true}`); code != 403 || !strings.Contains(body, "a person has to") {
		t.Errorf("an agent answers: %d %s", code, body)
	}
	if code, body := s.do(s.ann, "POST", "/v1/requests/"+id+"/answer", `{"allow":true,"scope":"once"}`); code != 200 {
		t.Fatalf("%d %s", code, body)
	}
	d := within(t, "the decision on make test", waited)
	if d.Verdict != "allow" || d.Request == nil || d.Request.State != "claimed" {
		t.Fatalf("%+v", d)
	}
	if again := s.decide("make test", `,"wait":60,"lease":60,"key":"k1"`); again.Verdict != "allow" || again.Request.ID != id {
		t.Errorf("a lost answer is repeated: %+v", again)
	}
	if code, body := s.do(s.agent, "POST", "/v1/requests/"+id+"/outcome", `{"ok":true,"words":"12 passed","key":"k1"}`); code != 200 || !strings.Contains(body, "12 passed") {
		t.Errorf("outcome: %d %s", code, body)
	}
	if d := s.decide("make test", `,"wait":60,"lease":60,"key":"k1"`); d.Verdict != "deny" {
		t.Errorf("it runs a second time: %+v", d)
	}
	kinds := map[string]int{}
	_, lines := s.do(s.ann, "GET", "/v1/ledger", "")
	for line := range strings.Lines(lines) {
		var r ledger.Record
		must(t, json.Unmarshal([]byte(line), &r))
		kinds[string(r.Kind)+" "+r.Verdict]++
	}
	for _, k := range []string{"ask ask", "answer approved", "decision allow", "decision deny"} {
		if kinds[k] == 0 {
			t.Errorf("no %s in %v", k, kinds)
		}
	}
	if kinds["answer approved"] != 1 {
		t.Errorf("the answer is written down %d times", kinds["answer approved"])
	}
	var v client.Verified
	if s.get(s.ann, "/v1/ledger/verify", &v); !v.OK || v.Records == 0 {
		t.Errorf("%+v", v)
	}
}

// TestGivenUp: the agent that asked takes a request back, which then leaves the inbox; no other agent can, and no
// answer counts afterwards.
func TestGivenUp(t *testing.T) {
	s := open(t, nil)
	id := s.decide("make", "").Request.ID
	s.pending(1)
	other := s.token(client.TokenRequest{Kind: "agent", Name: "other"})
	if code, body := s.do(other, "POST", "/v1/requests/"+id+"/outcome", `{"ok":false}`); code != 404 {
		t.Errorf("another agent: %d %s", code, body)
	}
	if code, body := s.do(s.agent, "POST", "/v1/requests/"+id+"/outcome", `{"ok":false}`); code != 200 || !strings.Contains(body, "canceled") {
		t.Errorf("%d %s", code, body)
	}
	if code, body := s.do(s.ann, "POST", "/v1/requests/"+id+"/answer", `{"allow":true}`); code != 409 {
		t.Errorf("answered afterwards: %d %s", code, body)
	}
}

// TestClaim: an approval is claimed once, for its own bytes, by the agent that
// asked.
func TestClaim(t *testing.T) {
	s := open(t, nil)
	d := s.decide("make", "")
	id, digest := d.Request.ID, d.Request.Digest
	claim := func(token, digest string) (int, string) {
		return s.do(token, "POST", "/v1/requests/"+id+"/claim", fmt.Sprintf(`{"digest":%q}`, digest))
	}
	if code, body := claim(s.agent, digest); code != 409 || !strings.Contains(body, "nobody has answered") {
		t.Errorf("pending: %d %s", code, body)
	}
	if code, body := s.do(s.ann, "POST", "/v1/requests/"+id+"/answer", `{"allow":true}`); code != 200 {
		t.Fatalf("%d %s", code, body)
	}
	if code, _ := s.do(s.ann, "POST", "/v1/requests/"+id+"/answer", `{"allow":false}`); code != 409 {
		t.Errorf("answered twice: %d", code)
	}
	other := s.token(client.TokenRequest{Kind: "agent", Name: "other"})
	for name, tt := range map[string]struct {
		token, digest string
		code          int
	}{"another agent": {other, digest, 404}, "other bytes": {s.agent, strings.Repeat("0", 64), 409}, "a person": {s.ann, digest, 403}} {
		if code, body := claim(tt.token, tt.digest); code != tt.code {
			t.Errorf("%s: %d %s", name, code, body)
		}
	}
	if code, body := claim(s.agent, digest); code != 200 || !strings.Contains(body, `"verdict":"allow"`) {
		t.Errorf("%d %s", code, body)
	}
	if code, body := claim(s.agent, digest); code != 200 || !strings.Contains(body, `"verdict":"deny"`) {
		t.Errorf("replayed: %d %s", code, body)
	}
}
