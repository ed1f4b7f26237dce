package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/approval"
	"github.com/obstat/obstat/client"
)

// A script is a server that gives one answer and keeps the request.
type script struct {
	status  int
	body    string
	version string // of the API; "" sends none

	method, target, token, kind string
	sent                        map[string]any
}

func (s *script) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.method, s.target, s.token, s.kind = r.Method, r.URL.RequestURI(), r.Header.Get("Authorization"), r.Header.Get("Content-Type")
	body, _ := io.ReadAll(r.Body)
	s.sent = nil
	_ = json.Unmarshal(body, &s.sent) // an empty body leaves nil
	if s.version != "" {
		w.Header().Set(client.APIHeader, s.version)
	}
	w.WriteHeader(s.status)
	_, _ = io.WriteString(w, s.body)
}

func serve(t *testing.T, status int, body string) (*script, *client.Client) {
	t.Helper()
	s := &script{status: status, body: body, version: client.API}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	c, err := client.New(client.Options{URL: server.URL + "/", Token: "secret"})
	if err != nil {
		t.Fatal(err)
	}
	return s, c
}

func TestNew(t *testing.T) {
	for _, url := range []string{"", "127.0.0.1:8470", "ftp://host", "http://", "http://[::1", "/v1"} {
		if _, err := client.New(client.Options{URL: url}); err == nil {
			t.Errorf("%q is taken for a server's URL", url)
		}
	}
	for _, o := range []client.Options{{URL: "http://127.0.0.1:8470"}, {URL: "https://obstat.example/base"}, {Socket: "/run/obstat.sock"}} {
		if _, err := client.New(o); err != nil {
			t.Errorf("%+v: %v", o, err)
		}
	}
}

// TestRequests: each operation sends its method, path and body, and reads its answer.
func TestRequests(t *testing.T) {
	tests := []struct {
		name, answer   string
		do             func(ctx context.Context, c *client.Client) (any, error)
		method, target string
		sent           string
		want           any
	}{
		{"decide", `{"verdict": "deny", "reason": "no", "rule": {"text": "Bash(rm *)", "verdict": "deny"}}`,
			func(ctx context.Context, c *client.Client) (any, error) {
				return c.Decide(ctx, &obstat.Call{Tool: "Bash", Input: []byte(`{"command":"rm x"}`)}, 90*time.Second)
			},
			"POST", "/v1/decisions", `{"call": {"tool": "Bash", "input": {"command": "rm x"}}, "wait": 90}`,
			&client.Decision{Verdict: "deny", Reason: "no", Rule: &client.Rule{Text: "Bash(rm *)", Verdict: "deny"}}},
		{"decide all", `{"decisions": [{"verdict": "allow", "reason": "a"}, {"verdict": "ask", "reason": "b"}]}`,
			func(ctx context.Context, c *client.Client) (any, error) {
				return c.DecideAll(ctx, []obstat.Call{{Tool: "Read"}, {Tool: "Edit"}}, 0)
			},
			"POST", "/v1/decisions", `{"calls": [{"tool": "Read"}, {"tool": "Edit"}]}`,
			[]client.Decision{{Verdict: "allow", Reason: "a"}, {Verdict: "ask", Reason: "b"}}},
		{"requests", `{"requests": [], "cursor": 7}`,
			func(ctx context.Context, c *client.Client) (any, error) { return c.Requests(ctx, approval.Pending) },
			"GET", "/v1/requests?state=pending", ``, &client.Requests{Requests: []*approval.Request{}, Cursor: 7}},
		{"request", `{"id": "req/1", "digest": "d", "reason": "r", "policy": "p", "state": "refused", "version": 2}`,
			func(ctx context.Context, c *client.Client) (any, error) {
				r, err := c.Request(ctx, "req/1 ?", 2*time.Second)
				return r.State, err
			},
			"GET", "/v1/requests/req%2F1%20%3F?wait=2", ``, approval.Refused},
		{"claim", `{"verdict": "allow", "reason": "approved"}`,
			func(ctx context.Context, c *client.Client) (any, error) {
				return c.Claim(ctx, "req_1", client.Claim{Digest: "d", Key: "k", Lease: 60})
			},
			"POST", "/v1/requests/req_1/claim", `{"digest": "d", "key": "k", "lease": 60}`, &client.Decision{Verdict: "allow", Reason: "approved"}},
		{"report", ``,
			func(ctx context.Context, c *client.Client) (any, error) {
				return nil, c.Report(ctx, "req_1", client.Outcome{OK: true, Words: "done", Key: "k"})
			},
			"POST", "/v1/requests/req_1/outcome", `{"ok": true, "words": "done", "key": "k"}`, nil},
		{"printed", `{"result": "k=[masked]", "secrets": 1, "note": "n"}`,
			func(ctx context.Context, c *client.Client) (any, error) {
				return c.Printed(ctx, client.Printed{Call: obstat.Call{Tool: "Bash"}, Result: []byte(`"k=x"`), Failed: true})
			},
			"POST", "/v1/printed", `{"call": {"tool": "Bash"}, "result": "k=x", "failed": true}`,
			&client.Masked{Result: []byte(`"k=[masked]"`), Secrets: 1, Note: "n"}},
		{"answer", `{"id": "req_1", "state": "approved"}`,
			func(ctx context.Context, c *client.Client) (any, error) {
				r, err := c.Answer(ctx, "req_1", client.Answer{Allow: true, Scope: approval.Session, For: 60, Offer: 1, More: []int{2}})
				return r.State, err
			},
			"POST", "/v1/requests/req_1/answer", `{"allow": true, "scope": "session", "for": 60, "offer": 1, "more": [2]}`, approval.Approved},
		{"answer a group", `{"results": [{"id": "a", "state": "refused"}, {"id": "b", "error": "gone"}]}`,
			func(ctx context.Context, c *client.Client) (any, error) {
				return c.AnswerGroup(ctx, []string{"a", "b"}, client.Answer{Words: "not now"})
			},
			"POST", "/v1/requests/answer", `{"ids": ["a", "b"], "answer": {"allow": false, "words": "not now"}}`,
			[]client.GroupResult{{ID: "a", State: approval.Refused}, {ID: "b", Error: "gone"}}},
		{"upload", `{"version": 3, "digest": "d", "dialect": "native", "by": "ann", "time": "2026-01-02T03:04:05Z", "active": false}`,
			func(ctx context.Context, c *client.Client) (any, error) {
				return c.Upload(ctx, client.PolicyUpload{Files: []client.PolicyFile{{Name: "obstat.yaml", Text: "version: 1\n"}}, Note: "first"})
			},
			"POST", "/v1/policies", `{"files": [{"name": "obstat.yaml", "text": "version: 1\n"}], "note": "first"}`,
			&client.PolicyVersion{Version: 3, Digest: "d", Dialect: "native", By: "ann", Time: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}},
		{"activate", `{"version": 3, "in_force": true}`,
			func(ctx context.Context, c *client.Client) (any, error) {
				return c.Activate(ctx, 3, client.Activation{Instead: 2, Reason: "release", Loosens: true})
			},
			"POST", "/v1/policies/3/activate", `{"instead": 2, "reason": "release", "loosens": true}`, &client.Activated{Version: 3, InForce: true}},
		{"rollback", `{"version": 2, "in_force": false, "proposal": {"version": 2, "instead": 3, "back": true, "reason": "broken", "by": ["ann"], "needed": 2, "time": "2026-01-02T03:04:05Z"}}`,
			func(ctx context.Context, c *client.Client) (any, error) {
				return c.Rollback(ctx, client.Activation{Instead: 3, Reason: "broken"})
			},
			"POST", "/v1/policies/rollback", `{"instead": 3, "reason": "broken"}`,
			&client.Activated{Version: 2, Proposal: &client.Proposal{Version: 2, Instead: 3, Back: true, Reason: "broken", By: []string{"ann"}, Needed: 2, Time: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}}},
		{"diff", `{"from": 1, "to": 3, "same": false, "witness": [{"tool": "bash", "text": "rm", "was": "deny", "now": "ask", "was_by": "a", "now_by": "b", "looser": true}, {"tool": "edit", "text": "x", "was": "ask", "now": "deny", "was_by": "a", "now_by": "b"}], "calls": 0, "flipped": null, "flips": []}`,
			func(ctx context.Context, c *client.Client) (any, error) {
				d, err := c.Diff(ctx, 3)
				return len(d.Looser()), err
			},
			"GET", "/v1/policies/3/diff", ``, 1},
		{"policy in force", `{"version": 4}`,
			func(ctx context.Context, c *client.Client) (any, error) {
				p, err := c.Policy(ctx, 0)
				return p.Version, err
			},
			"GET", "/v1/policies/0", ``, 4},
		{"bundle", `{}`,
			func(ctx context.Context, c *client.Client) (any, error) { _, err := c.Bundle(ctx); return nil, err },
			"GET", "/v1/bundle", ``, nil},
		{"records", ``,
			func(ctx context.Context, c *client.Client) (any, error) {
				return nil, c.SendRecords(ctx, []string{"{}"})
			},
			"POST", "/v1/records", `{"lines": ["{}"]}`, nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s, c := serve(t, http.StatusOK, test.answer)
			got, err := test.do(t.Context(), c)
			if err != nil || !reflect.DeepEqual(got, test.want) {
				t.Errorf("%+v, %v\nwant %+v", got, err, test.want)
			}
			if s.method != test.method || s.target != test.target || s.token != "Bearer secret" {
				t.Errorf("%s %s with %q", s.method, s.target, s.token)
			}
			var sent map[string]any
			if test.sent != "" {
				if err := json.Unmarshal([]byte(test.sent), &sent); err != nil {
					t.Fatal(err)
				}
			}
			if !reflect.DeepEqual(s.sent, sent) || (s.kind == "application/json") != (sent != nil) {
				t.Errorf("sent %v as %q, want %v", s.sent, s.kind, sent)
			}
		})
	}
}

// TestNotDecided: whatever is no decision is an error, and never one that allows.
func TestNotDecided(t *testing.T) {
	tests := []struct {
		name, version, body string
		status              int
		want                string
	}{
		{"nothing", client.API, ``, 200, "cannot be read"},
		{"no JSON", client.API, `<html>`, 200, "cannot be read"},
		{"no verdict", client.API, `{}`, 200, "did not decide"},
		{"null", client.API, `null`, 200, "did not decide"},
		{"an empty verdict", client.API, `{"verdict": ""}`, 200, "did not decide"},
		{"a redirect", client.API, `{"verdict": "allow"}`, 307, "307"},
		{"a problem", client.API, `{"type": "urn:obstat:problem:forbidden", "title": "not you", "status": 403, "detail": "the token is for codex"}`, 403, "not you: the token is for codex"},
		{"a proxy's page", "", `<html>bad gateway</html>`, 502, "the server answered 502"},
		{"another version", "2", `{"verdict": "allow", "reason": "x"}`, 200, `version "2"`},
		{"no version", "", `{"verdict": "allow", "reason": "x"}`, 200, `version ""`},
	}
	for _, test := range tests {
		s, c := serve(t, test.status, test.body)
		s.version = test.version
		d, err := c.Decide(t.Context(), &obstat.Call{Tool: "Bash"}, 0)
		if d != nil || err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %+v, %v; want %s", test.name, d, err, test.want)
		}
	}
	_, c := serve(t, 200, `{"decisions": [{"verdict": "allow"}]}`)
	if ds, err := c.DecideAll(t.Context(), make([]obstat.Call, 2), 0); err == nil {
		t.Errorf("one answer to two calls: %+v", ds)
	}
}

func TestProblem(t *testing.T) {
	_, c := serve(t, 422, `{"title": "the policy is wrong", "status": 422, "errors": [{"code": "syntax", "pos": {"file": "obstat.yaml", "line": 3, "col": 1}, "msg": "unexpected"}]}`)
	_, err := c.Upload(t.Context(), client.PolicyUpload{})
	var p *client.Problem
	if !errors.As(err, &p) || p.Status != 422 || len(p.Errors) != 1 || p.Errors[0].Pos.Line != 3 || err.Error() != "the policy is wrong" {
		t.Errorf("%#v", err)
	}
}

func TestSocket(t *testing.T) {
	path := filepath.Join(t.TempDir(), "obstat.sock")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Skip(err) // not every system has them
	}
	s := &script{status: 200, body: `{"verdict": "ask", "reason": "?"}`, version: client.API}
	server := &http.Server{Handler: s}
	go func() { _ = server.Serve(l) }()
	defer server.Close()
	c, err := client.New(client.Options{Socket: path})
	if err != nil {
		t.Fatal(err)
	}
	if d, err := c.Decide(t.Context(), &obstat.Call{Tool: "Bash"}, 0); err != nil || d.Verdict != "ask" || s.token != "" {
		t.Errorf("%+v %v, with the token %q", d, err, s.token)
	}
}

func TestEvents(t *testing.T) {
	var last string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		last = r.Header.Get("Last-Event-ID")
		w.Header().Set(client.APIHeader, client.API)
		w.Header().Set("Content-Type", "text/event-stream")
		for i := range 3 {
			fmt.Fprintf(w, ": a comment\nevent: request\nid: %d\ndata: {\"n\": %d}\n\n", i+1, i+1)
		}
		fmt.Fprint(w, "\nevent: policy\ndata: {}\n\nevent: unfinished\n")
	}))
	defer server.Close()
	c, err := client.New(client.Options{URL: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	collect := func(from string, most int) (out []string) {
		err := c.Events(t.Context(), from, func(e client.Event) bool {
			out = append(out, e.Kind+" "+e.ID+" "+string(e.Data))
			return len(out) < most
		})
		if err != nil {
			t.Error(err)
		}
		return out
	}
	want := []string{`request 1 {"n": 1}`, `request 2 {"n": 2}`, `request 3 {"n": 3}`, `policy  {}`}
	if got := collect("9", 10); !reflect.DeepEqual(got, want) || last != "9" {
		t.Errorf("%q after %q, want %q", got, last, want)
	}
	if got := collect("", 2); !reflect.DeepEqual(got, want[:2]) || last != "" {
		t.Errorf("%q after %q", got, last)
	}
	server.Close()
	if err := c.Events(t.Context(), "", func(client.Event) bool { return true }); err == nil {
		t.Error("a server that is gone streams events")
	}
}

// TestNewDecision: the wire says what the decision says, and what was asked.
func TestNewDecision(t *testing.T) {
	pos := obstat.Pos{File: "obstat.yaml", Line: 2, Col: 5}
	d := &obstat.Decision{Verdict: obstat.Ask, Safety: true, Stage: "rules", Part: "rm x", Note: "careful",
		Rule: &obstat.Rule{Tool: obstat.Is("Bash"), Verdict: obstat.Ask, Source: "Bash(rm *)", Pos: pos}}
	r := &approval.Request{ID: "req_1", State: approval.Pending, Digest: "d", Policy: "p", Expires: time.Unix(60, 0), Reason: "secret words"}
	got := client.NewDecision(d, r)
	want := &client.Decision{Verdict: "ask", Reason: d.Reason(), Rule: &client.Rule{Text: "Bash(rm *)", Verdict: "ask", Pos: pos}, Stage: "rules", Part: "rm x", Safety: true,
		Request: &client.Asked{ID: "req_1", State: approval.Pending, Digest: "d", Policy: "p", Expires: time.Unix(60, 0)}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%+v\nwant %+v", got, want)
	}
	if bare := client.NewDecision(&obstat.Decision{}, nil); bare.Verdict != "deny" || bare.Rule != nil || bare.Request != nil {
		t.Errorf("%+v", bare)
	}
}
