package server_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/approval"
	"github.com/obstat/obstat/client"
	"github.com/obstat/obstat/internal/face/server"
	"github.com/obstat/obstat/internal/keep/docs"
	"github.com/obstat/obstat/ledger"
)

// TestBatchWithOneBadCall: a batch with a call that is not the caller's to put is refused whole,
// before people are asked about the others; one that fails later is denied alone.
func TestBatchWithOneBadCall(t *testing.T) {
	s := open(t, nil)
	call := func(agent, command string) string {
		return fmt.Sprintf(`{"tool":"bash","agent":%q,"input":{"command":%q},"dir":"/src"}`, agent, command)
	}
	batch := func(more string, calls ...string) (int, string) {
		return s.do(s.agent, "POST", "/v1/decisions", `{"calls":[`+strings.Join(calls, ",")+`]`+more+`}`)
	}
	code, body := batch("", call("", "make a"), call("other", "make b"), call("", "make c"))
	if code != 403 || !strings.Contains(body, "calls[1]") {
		t.Errorf("%d %s", code, body)
	}
	var list client.Requests
	if s.get(s.ann, "/v1/requests", &list); len(list.Requests) != 0 {
		t.Errorf("people are asked about %d calls of a batch that was refused", len(list.Requests))
	}
	code, body = batch(`,"key":"k"`, call("", "make a"), call("", "make b"))
	if code != 200 || strings.Count(body, `"verdict":"ask","reason"`) != 2 {
		t.Fatalf("%d %s", code, body)
	}
	code, body = batch(`,"key":"k"`, call("", "git status"), call("", "make other"))
	var reply client.DecisionReply
	if json.Unmarshal([]byte(body), &reply) != nil || code != 200 || len(reply.Decisions) != 2 || reply.Decisions[1].Verdict != "deny" || !strings.Contains(reply.Decisions[1].Reason, "another call") {
		t.Errorf("%d %s", code, body)
	}
}

// TestSlowStrangers: who sends a body by and by is cut off, also where nobody is known by the
// token, the name or the route: net/http reads the rest of a body before it answers.
func TestSlowStrangers(t *testing.T) {
	t.Parallel()
	s := open(t, nil)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	srv := server.HTTPServer(s.srv, 300*time.Millisecond)
	srv.ReadTimeout = 0 // as Serve has it
	go srv.Serve(ln)
	t.Cleanup(func() { srv.Close() })
	for _, begin := range []string{
		"POST /v1/decisions HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{",
		"POST /v1/decisions HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{",
		"POST /none HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n{",
		"GET /login HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n{",
		"POST /v1/decisions HTTP/1.1\r\nHost: x\r\nOrigin: http://evil.example\r\nContent-Length: 1000\r\n\r\n{",
	} {
		conn, err := net.Dial("tcp", ln.Addr().String())
		must(t, err)
		_, err = conn.Write([]byte(begin))
		must(t, err)
		must(t, conn.SetReadDeadline(time.Now().Add(60*time.Second)))
		if _, err := io.Copy(io.Discard, conn); err != nil {
			t.Errorf("%.40q holds its connection: %v", begin, err)
		}
		conn.Close()
	}
}

// cutOff is a store whose ledger cannot be read beyond some records.
type cutOff struct {
	server.Store
	after *int
}

func (c cutOff) Records(ctx context.Context, q ledger.Query) iter.Seq2[*ledger.Record, error] {
	return func(yield func(*ledger.Record, error) bool) {
		n := 0
		for r, err := range c.Store.Records(ctx, q) {
			if n++; n > *c.after {
				yield(nil, errors.New("the disk is gone"))
				return
			}
			if !yield(r, err) {
				return
			}
		}
	}
}

// TestExportIsWhole: an export that breaks off does not look like one that is done.
func TestExportIsWhole(t *testing.T) {
	after := 1 << 30
	s := open(t, func(o *server.Options) { o.Store = cutOff{o.Store, &after} })
	for range 3 {
		s.decide("git status", "")
	}
	read := func() (int, error) {
		req, err := http.NewRequestWithContext(t.Context(), "GET", s.http.URL+"/v1/ledger", nil)
		must(t, err)
		req.Header.Set("Authorization", "Bearer "+s.ann)
		resp, err := s.wire.RoundTrip(req)
		if err != nil {
			return 0, err
		}
		defer resp.Body.Close()
		_, err = io.Copy(io.Discard, resp.Body)
		return resp.StatusCode, err
	}
	if code, err := read(); code != 200 || err != nil {
		t.Errorf("%d %v", code, err)
	}
	after = 2
	if code, err := read(); err == nil {
		t.Errorf("half of the ledger came as %d, and as a whole", code)
	}
	after = 0
	if code, err := read(); code != 503 || err != nil {
		t.Errorf("none of the ledger: %d %v", code, err)
	}
}

// TestFollowIsFlag: follow=0 does not follow.
func TestFollowIsFlag(t *testing.T) {
	s := open(t, nil)
	if code, _ := s.do(s.ann, "GET", "/v1/ledger?follow=0&limit=1", ""); code != 200 {
		t.Errorf("%d", code)
	}
	if code, _ := s.do(s.ann, "GET", "/v1/ledger?follow=maybe", ""); code != 400 {
		t.Errorf("%d", code)
	}
}

// noDocs is a store that cannot be read while lost says so.
type noDocs struct {
	server.Store
	lost *bool
}

func (n noDocs) Doc(ctx context.Context, kind, id string) (*docs.Doc, error) {
	if *n.lost {
		return nil, errors.New("the database is away")
	}
	return n.Store.Doc(ctx, kind, id)
}

func (n noDocs) Docs(ctx context.Context, kind string) ([]*docs.Doc, error) {
	if *n.lost {
		return nil, errors.New("the database is away")
	}
	return n.Store.Docs(ctx, kind)
}

// TestMetricsWhileLost: who reads metrics is told that the server is not ready: that is when it
// matters. A login link that cannot be looked up is not called used.
func TestMetricsWhileLost(t *testing.T) {
	t.Parallel()
	lost := false
	s := open(t, func(o *server.Options) { o.Store = noDocs{o.Store, &lost} })
	for _, token := range []string{s.ann, s.agent} {
		if _, body := s.do(token, "GET", "/metrics", ""); !strings.Contains(body, "\nobstat_ready 1\n") {
			t.Error(body)
		}
	}
	lost = true
	time.Sleep(1100 * time.Millisecond) // a token is looked up again each second
	for _, token := range []string{s.ann, s.agent} {
		if code, body := s.do(token, "GET", "/metrics", ""); code != 200 || !strings.Contains(body, "\nobstat_ready 0\n") {
			t.Errorf("%d %s", code, body)
		}
	}
	if code, _ := s.do("obp_unknown", "GET", "/metrics", ""); code != 503 {
		t.Errorf("somebody who was never known: %d", code)
	}
	if code, _ := s.do(s.ann, "GET", "/v1/grants", ""); code != 503 {
		t.Errorf("another route: %d", code)
	}
	if code, _ := s.do("", "GET", "/login?key=x", ""); code != 503 {
		t.Errorf("a login: %d", code)
	}
}

// TestStrangersLogin: who begins logins with a provider again and again is told to slow down, and
// those that came to nothing are deleted. The page names the provider.
func TestStrangersLogin(t *testing.T) {
	p := newProvider(t)
	s := open(t, func(o *server.Options) {
		o.OIDC = &server.OIDC{Issuer: p.http.URL, ClientID: "obstat", Secret: "x", PublicURL: "http://" + o.Hosts[0], Roles: map[string][]string{"dev": {"dev"}, "admin": {"admin"}}}
	})
	if _, page := s.do("", "GET", "/login", ""); !strings.Contains(page, "Log in with "+p.http.URL) {
		t.Error(page)
	}
	last := 0
	for range 100 {
		if last, _ = s.do("", "GET", "/oidc/start", ""); last != http.StatusFound {
			break
		}
	}
	if last != http.StatusTooManyRequests {
		t.Errorf("%d", last)
	}
	must(t, docs.Put(t.Context(), s.store, "session", "old", 0, map[string]any{"expires": time.Now().Add(-time.Minute)}))
	must(t, docs.Put(t.Context(), s.store, "login", "new", 0, map[string]any{"expires": time.Now().Add(time.Minute)}))
	must(t, server.Forget(t.Context(), s.srv))
	if _, err := s.store.Doc(t.Context(), "session", "old"); !errors.Is(err, docs.ErrNotFound) {
		t.Errorf("a session that is over is there: %v", err)
	}
	if _, err := s.store.Doc(t.Context(), "login", "new"); err != nil {
		t.Errorf("a login that is not over is gone: %v", err)
	}
}

// TestHeadOfLink: a program that asks what a login link is does not use it up.
func TestHeadOfLink(t *testing.T) {
	s := open(t, nil)
	key, err := server.NewLogin(t.Context(), s.store, server.Person{Name: "ann"}, "test")
	must(t, err)
	s.do("", "HEAD", "/login?key="+key, "")
	if code, body := s.do("", "GET", "/login?key="+key, ""); code != http.StatusSeeOther {
		t.Errorf("%d %s", code, body)
	}
}

// TestGoneIsNoFault: a client that does not wait for its answer is no error of the server.
func TestGoneIsNoFault(t *testing.T) {
	if p := server.ProblemOf(fmt.Errorf("waiting: %w", context.Canceled)); p.Type != "canceled" {
		t.Errorf("%+v", p)
	}
}

// TestAuthZENParts: a subject and a resource need a type and an id, an action a name; and what
// cannot be read is 400, with a text.
func TestAuthZENParts(t *testing.T) {
	s := open(t, nil)
	subject, action, resource := `"subject":{"type":"user","id":"u"}`, `"action":{"name":"bash","properties":{"command":"git status"}}`, `"resource":{"type":"command","id":""}`
	for body, want := range map[string]int{
		"{" + subject + "," + action + "," + resource + "}":                     200,
		"{" + action + "," + resource + "}":                                     400,
		`{"subject":{"id":"u"},` + action + "," + resource + "}":                400,
		`{"subject":{"type":"user"},` + action + "," + resource + "}":           400,
		`{"subject":{"type":"user","id":null},` + action + "," + resource + "}": 400,
		"{" + subject + `,"action":{},` + resource + "}":                        400,
		"{" + subject + "," + action + `,"resource":{"type":"command"}}`:        400,
		"{" + subject + "," + action + `,"resource":{"id":"x"}}`:                400,
		"{" + subject + "," + action + `,"resource":{"type":"command","id":7}}`: 400,
	} {
		code, text := s.do(s.agent, "POST", "/access/v1/evaluation", body)
		var said any
		if code != want || json.Unmarshal([]byte(text), &said) != nil {
			t.Errorf("%s: %d %s", body, code, text)
		} else if _, isText := said.(string); isText != (want != 200) {
			t.Errorf("%s: %s", body, text)
		}
	}
	if code, text := s.do(s.agent, "POST", "/access/v1/evaluation", "x", "Content-Type", "text/plain"); code != 400 {
		t.Errorf("another type: %d %s", code, text)
	}
	_, text := s.do(s.agent, "POST", "/access/v1/evaluation", `{"subject":{"type":"agent","id":"coder"},"action":{"name":"x"},"resource":{"type":"tool","id":""}}`)
	if !strings.Contains(text, `"decision":false`) || !strings.Contains(text, `"status":400`) {
		t.Errorf("a tool without a name: %s", text)
	}
}

// TestRefusedCallsCount: a call that people refused is among those that another policy would
// decide otherwise, and its rule is one that decides.
func TestRefusedCallsCount(t *testing.T) {
	t.Parallel()
	s := open(t, nil)
	id := s.decide("make x", "").Request.ID
	if code, body := s.do(s.ann, "POST", "/v1/requests/"+id+"/answer", `{"allow":false}`); code != 200 {
		t.Fatalf("%d %s", code, body)
	}
	if code, body := s.do(s.admin, "POST", "/v1/policies", `{"files":[{"name":"opencode.json","text":"{\"permission\":{\"bash\":\"allow\"}}"}]}`); code != 200 {
		t.Fatalf("%d %s", code, body)
	}
	var diff client.PolicyDiff
	if s.get(s.ann, "/v1/policies/1/diff", &diff); diff.Calls != 1 || diff.Flipped["ask → allow"] != 1 || len(diff.Flips) != 1 || diff.Flips[0].Text != "make x" {
		t.Errorf("%+v", diff)
	}
	if _, body := s.do(s.ann, "GET", "/v1/stats", ""); !strings.Contains(body, `"asked":[{"text":"make x","n":1}]`) || !strings.Contains(body, `"deny":1`) {
		t.Error(body)
	}
}

// TestKeep: records that are too old are taken out of the ledger, which says so and holds.
func TestKeep(t *testing.T) {
	s := open(t, func(o *server.Options) {
		must(t, o.Store.Append(t.Context(), &ledger.Record{Time: time.Now().Add(-3 * time.Hour), Kind: ledger.Decision, Tool: "old"}))
		o.Keep = 2 * time.Hour
	})
	for end := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		_, lines := s.do(s.ann, "GET", "/v1/ledger", "")
		if !strings.Contains(lines, `"tool":"old"`) && strings.Contains(lines, `"kind":"cut"`) {
			break
		} else if time.Now().After(end) {
			t.Fatal(lines)
		}
	}
	if _, body := s.do(s.ann, "GET", "/v1/ledger/verify", ""); !strings.Contains(body, `"ok":true`) {
		t.Error(body)
	}
}

// TestLapsedClaim: who claims an approval again that it took, and never reported of, is told that.
func TestLapsedClaim(t *testing.T) {
	s := open(t, nil)
	d := s.decide("make", "")
	at := "/v1/requests/" + d.Request.ID
	s.do(s.ann, "POST", at+"/answer", `{"allow":true}`)
	claim := func() (out client.Decision) {
		code, body := s.do(s.agent, "POST", at+"/claim", `{"digest":"`+d.Request.Digest+`","key":"k","lease":60}`)
		if code != 200 || json.Unmarshal([]byte(body), &out) != nil {
			t.Fatalf("%d %s", code, body)
		}
		return out
	}
	if got := claim(); got.Verdict != "allow" {
		t.Errorf("%+v", got)
	}
	_, err := approval.Change(t.Context(), s.store, d.Request.ID, func(r *approval.Request) (*approval.Request, *approval.Grant, error) {
		over := *r
		over.State = approval.Lapsed
		return &over, nil, nil
	})
	must(t, err)
	if got := claim(); got.Verdict != "deny" || !strings.Contains(got.Reason, "did not report the outcome") {
		t.Errorf("%+v", got)
	}
}

// TestToolsReach: the strictest verdict of a shell is that of the files which its commands may read.
func TestToolsReach(t *testing.T) {
	t.Parallel()
	s := open(t, func(o *server.Options) { o.World = &obstat.Snapshot{HomeDir: "/home/ann"} })
	text := "version: 1\nallow:\n  - run ls\ndeny:\n  - read secrets\n"
	body, err := json.Marshal(client.PolicyUpload{Files: []client.PolicyFile{{Name: "obstat.yaml", Text: text}}})
	must(t, err)
	if code, said := s.do(s.admin, "POST", "/v1/policies", string(body)); code != 200 {
		t.Fatalf("%d %s", code, said)
	}
	if code, said := s.do(s.admin, "POST", "/v1/policies/1/activate", `{"instead":0,"reason":"a test","loosens":true}`); code != 200 {
		t.Fatalf("%d %s", code, said)
	}
	if d := s.decide("cat ~/.ssh/id_rsa", ""); d.Verdict != "deny" {
		t.Fatalf("%+v", d)
	}
	if _, said := s.do(s.agent, "POST", "/v1/tools", `{"tools":["Bash","Read"]}`); strings.Count(said, `"strictest":"deny","loosest":"allow"`)+strings.Count(said, `"strictest":"deny","loosest":"ask"`) != 2 {
		t.Error(said)
	}
}

// TestFollowersEnd: who follows the ledger, or hears events, is told that the server ends: the body
// is whole. Who waits for people is told that it still asks.
func TestFollowersEnd(t *testing.T) {
	s := open(t, func(o *server.Options) { o.Hosts = nil })
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	ctx, stop := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- s.srv.Serve(ctx, ln, nil) }()
	var bodies []io.ReadCloser
	for _, path := range []string{"/v1/ledger?follow=1", "/v1/events"} {
		req, err := http.NewRequestWithContext(t.Context(), "GET", "http://"+ln.Addr().String()+path, nil)
		must(t, err)
		req.Header.Set("Authorization", "Bearer "+s.ann)
		resp, err := s.wire.RoundTrip(req)
		must(t, err)
		bodies = append(bodies, resp.Body)
	}
	s.http.URL = "http://" + ln.Addr().String()
	waits := make(chan client.Decision, 1)
	go func() { waits <- s.decide("make", `,"wait":600`) }()
	var list client.Requests
	for len(list.Requests) == 0 {
		s.get(s.ann, "/v1/requests?state=pending", &list)
	}
	stop()
	if d := <-waits; d.Verdict != "ask" || d.Request == nil || d.Request.ID != list.Requests[0].ID {
		t.Errorf("%+v", d)
	}
	for i, body := range bodies {
		if _, err := io.Copy(io.Discard, body); err != nil {
			t.Errorf("%d: %v", i, err)
		}
		body.Close()
	}
	must(t, <-served)
}
