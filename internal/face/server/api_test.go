package server_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers/gorillamux"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/approval"
	"github.com/obstat/obstat/client"
	"github.com/obstat/obstat/internal/face/server"
	"github.com/obstat/obstat/ledger"
)

// TestOpenAPI: the document is valid, and what the server says to every route is
// what the document says of it.
func TestOpenAPI(t *testing.T) {
	s := open(t, nil)
	_, text := s.do("", "GET", "/openapi.json", "")
	doc, err := openapi3.NewLoader().LoadFromData([]byte(text))
	must(t, err)
	must(t, doc.Validate(t.Context()))
	doc.Servers = nil
	router, err := gorillamux.NewRouter(doc)
	must(t, err)
	id := s.decide("make", "").Request.ID
	policy := `{"files":[{"name":"opencode.json","text":"{\"permission\":{\"bash\":\"ask\"}}"}],"note":"n"}`
	tried := map[string]bool{}
	for _, tt := range []struct{ token, method, path, body string }{
		{s.agent, "POST", "/v1/decisions", aCall},
		{s.agent, "POST", "/v1/decisions", `{"calls":[{"tool":"bash","input":{"command":"git status"}},{"tool":"bash","input":{"command":"make it"}}]}`},
		{s.agent, "POST", "/v1/explain", aCall},
		{s.agent, "POST", "/v1/try", `{"policy":{"dialect":"adkfluent","files":[{"text":"{\"mode\":\"plan\"}"}]},"call":{"tool":"bash","dir":"/src"}}`},
		{s.agent, "POST", "/v1/printed", `{"call":{"tool":"bash","dir":"/src"},"result":{"stdout":"plain"}}`},
		{s.ann, "GET", "/v1/requests?state=pending", ""},
		{s.ann, "GET", "/v1/requests/" + id, ""},
		{s.ann, "POST", "/v1/requests/" + id + "/answer", `{"allow":true,"scope":"session","for":60}`},
		{s.ann, "POST", "/v1/requests/answer", `{"ids":["` + id + `"],"answer":{"allow":false}}`},
		{s.agent, "POST", "/v1/requests/" + id + "/claim", `{"digest":"` + digest("make") + `","lease":5}`},
		{s.agent, "POST", "/v1/requests/" + id + "/outcome", `{"ok":true}`},
		{s.ann, "GET", "/v1/grants", ""},
		{s.ann, "DELETE", "/v1/grants/none", ""},
		{s.ann, "GET", "/v1/ledger?limit=3", ""},
		{s.ann, "GET", "/v1/ledger/verify", ""},
		{s.ann, "GET", "/v1/stats", ""},
		{s.ann, "GET", "/v1/agents", ""},
		{s.ann, "POST", "/v1/agents/proofs", `{"proofs":[{"agent":"coder","state":"open"}]}`},
		{s.agent, "POST", "/mcp/none", ""},
		{s.agent, "GET", "/mcp/none", ""},
		{s.agent, "DELETE", "/mcp/none", ""},
		{s.agent, "POST", "/mcp", ""},
		{s.agent, "GET", "/mcp", ""},
		{s.agent, "DELETE", "/mcp", ""},
		{s.admin, "GET", "/v1/mcp/servers", ""},
		{s.admin, "POST", "/v1/mcp/servers/none/accept", ""},
		{s.agent, "POST", "/v1/tools", `{"tools":["bash","edit"]}`},
		{s.agent, "GET", "/v1/me", ""},
		{s.agent, "GET", "/v1/bundle", ""},
		{s.agent, "POST", "/v1/records", `{"lines":[]}`},
		{s.admin, "POST", "/v1/policies/validate", policy},
		{s.admin, "POST", "/v1/policies", policy},
		{s.admin, "GET", "/v1/policies", ""},
		{s.admin, "GET", "/v1/policies/1", ""},
		{s.admin, "GET", "/v1/policies/1/diff", ""},
		{s.admin, "POST", "/v1/policies/1/activate", `{"instead":0,"reason":"a test","loosens":true}`},
		{s.admin, "POST", "/v1/policies/rollback", `{"instead":1,"reason":"a test","loosens":true}`},
		{s.admin, "POST", "/v1/tokens", `{"kind":"agent","name":"x"}`},
		{s.admin, "GET", "/v1/tokens", ""},
		{s.admin, "DELETE", "/v1/tokens/none", ""},
		{s.admin, "GET", "/v1/sessions", ""},
		{s.admin, "DELETE", "/v1/sessions?person=none", ""},
		{s.admin, "DELETE", "/v1/sessions/none", ""},
		{s.admin, "GET", "/v1/notifications/undelivered", ""},
		{s.ann, "GET", "/permission", ""},
		{s.ann, "POST", "/permission/" + s.decide("make one", "").Request.ID + "/reply", `{"reply":"once"}`},
		{s.ann, "POST", "/session/s/permissions/" + s.decide("make two", "").Request.ID, `{"response":"reject"}`},
		{"", "GET", "/healthz", ""}, {"", "GET", "/readyz", ""}, {s.ann, "GET", "/metrics", ""},
		{"", "GET", "/openapi.json", ""}, {"", "GET", "/.well-known/authzen-configuration", ""},
		{s.agent, "POST", "/access/v1/evaluation", `{"subject":{"type":"user","id":"u"},"action":{"name":"bash","properties":{"command":"git status"}},"resource":{"type":"command","id":""}}`},
		{s.agent, "POST", "/access/v1/search/action", `{"subject":{"type":"user","id":"u"},"resource":{"type":"command","id":"","properties":{"command":"git status"}}}`},
		{s.agent, "POST", "/access/v1/search/subject", `{"subject":{"type":"agent"},"action":{"name":"edit"},"resource":{"type":"file","id":"/src/a"}}`},
		{s.agent, "POST", "/access/v1/search/resource", `{"subject":{"type":"user","id":"u"},"action":{"name":"call"},"resource":{"type":"tool"}}`},
		{s.agent, "POST", "/access/v1/evaluations", `{"subject":{"type":"user","id":"u"},"resource":{"type":"command","id":""},"evaluations":[{"action":{"name":"bash","properties":{"command":"git status"}}}],"options":{}}`},
	} {
		req := httptest.NewRequest(tt.method, s.http.URL+tt.path, strings.NewReader(tt.body))
		req.Header.Set("Authorization", "Bearer "+tt.token)
		if tt.body != "" {
			req.Header.Set("Content-Type", "application/json")
		}
		route, params, err := router.FindRoute(req)
		if err != nil {
			t.Errorf("%s %s: %v", tt.method, tt.path, err)
			continue
		}
		tried[route.Method+" "+route.Path] = true
		in := &openapi3filter.RequestValidationInput{Request: req, PathParams: params, Route: route, Options: &openapi3filter.Options{AuthenticationFunc: openapi3filter.NoopAuthenticationFunc}}
		if err := openapi3filter.ValidateRequest(t.Context(), in); err != nil {
			t.Errorf("%s %s: the request: %v", tt.method, tt.path, err)
		}
		req.Body = http.NoBody
		code, body := s.do(tt.token, tt.method, tt.path, tt.body)
		kind := "application/json"
		switch {
		case code >= 400:
			kind = "application/problem+json"
		case strings.HasPrefix(tt.path, "/v1/ledger?"):
			kind = "application/x-ndjson"
		case tt.path == "/healthz" || tt.path == "/readyz" || tt.path == "/metrics":
			kind = "text/plain"
		}
		out := &openapi3filter.ResponseValidationInput{RequestValidationInput: in, Status: code, Header: http.Header{"Content-Type": {kind}}}
		if code != 204 {
			out.SetBodyBytes([]byte(body))
		}
		if kind == "application/x-ndjson" {
			continue // each line is JSON, the whole is not
		}
		if err := openapi3filter.ValidateResponse(t.Context(), out); err != nil {
			t.Errorf("%s %s: %d %.300s: %v", tt.method, tt.path, code, body, err)
		}
	}
	for path, item := range doc.Paths.Map() {
		for method := range item.Operations() {
			if !tried[method+" "+path] && path != "/v1/events" && path != "/event" && !strings.HasPrefix(path, "/access/draft") {
				t.Errorf("%s %s is not tried", method, path)
			}
		}
	}
}

func digest(command string) string {
	d := (&obstat.Call{Tool: "bash", Input: fmt.Appendf(nil, `{"command":%q}`, command)}).Digest()
	return fmt.Sprintf("%x", d[:])
}

// TestClient: the Go client does all that an agent and a person do.
func TestClient(t *testing.T) {
	s := open(t, nil)
	agent, err := client.New(client.Options{URL: s.http.URL, Token: s.agent})
	must(t, err)
	ann, err := client.New(client.Options{URL: s.http.URL, Token: s.ann})
	must(t, err)
	call := &obstat.Call{Tool: "bash", Input: []byte(`{"command":"make"}`), Session: "s"}
	events := make(chan client.Event, 16)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	go ann.Events(ctx, "1", func(e client.Event) bool { events <- e; return true })
	d, err := agent.Decide(t.Context(), call, 0)
	must(t, err)
	if d.Verdict != "ask" || d.Request == nil {
		t.Fatalf("%+v", d)
	}
	if e := within(t, "the event of the request", events); e.Kind != "request" || !strings.Contains(string(e.Data), d.Request.ID) || e.ID == "" {
		t.Errorf("%s %s", e.Kind, e.Data)
	}
	answered := make(chan *approval.Request, 1)
	go func() {
		r, err := agent.Request(t.Context(), d.Request.ID, time.Minute)
		if err != nil {
			t.Error(err)
		}
		answered <- r
	}()
	if _, err := agent.Answer(t.Context(), d.Request.ID, client.Answer{Allow: true}); err == nil {
		t.Error("an agent answers itself")
	}
	if _, err := ann.Answer(t.Context(), d.Request.ID, client.Answer{Allow: true}); err != nil {
		t.Error(err)
	}
	if r := within(t, "the answered request", answered); r == nil || r.State != approval.Approved {
		t.Errorf("%+v", r)
	}
	got, err := agent.Claim(t.Context(), d.Request.ID, client.Claim{Digest: d.Request.Digest, Lease: 60})
	if err != nil || got.Verdict != "allow" {
		t.Errorf("%+v %v", got, err)
	}
	must(t, agent.Report(t.Context(), d.Request.ID, client.Outcome{OK: true}))
	// A state may come twice, and one that was over at once not at all; the last one comes.
	for last := approval.Pending; last != approval.Done; {
		e := within(t, "what comes after "+string(last), events)
		var r approval.Request
		must(t, json.Unmarshal(e.Data, &r))
		if order := []approval.State{approval.Pending, approval.Approved, approval.Claimed, approval.Done}; slices.Index(order, r.State) < slices.Index(order, last) {
			t.Errorf("%s after %s", r.State, last)
		}
		last = r.State
	}
	var ids []string
	for _, command := range []string{"npm test", "npm ci"} {
		d, err := agent.Decide(t.Context(), &obstat.Call{Tool: "edit_nothing", Input: fmt.Appendf(nil, `{"x":%q}`, command)}, 0)
		if err != nil || d.Request == nil {
			t.Fatal(d, err)
		}
		ids = append(ids, d.Request.ID)
	}
	results, err := ann.AnswerGroup(t.Context(), ids, client.Answer{Words: "no"})
	if err != nil || len(results) != 2 || results[0].State != approval.Refused || results[1].Error != "" {
		t.Errorf("%+v %v", results, err)
	}
	var p *client.Problem
	if _, err := agent.Requests(t.Context(), "pending"); err != nil {
		t.Error(err)
	}
	if _, err := ann.Request(t.Context(), "none", 0); !asProblem(err, &p) || p.Status != 404 {
		t.Error(err)
	}
	if all, err := agent.DecideAll(t.Context(), []obstat.Call{{Tool: "bash", Input: []byte(`{"command":"git status"}`)}, {Tool: "bash", Input: []byte(`{"command":"rm x"}`)}}, 0); err != nil || all[0].Verdict != "allow" || all[1].Verdict != "deny" {
		t.Errorf("%+v %v", all, err)
	}
}

func asProblem(err error, p **client.Problem) bool {
	q, ok := err.(*client.Problem)
	*p = q
	return ok
}

// TestPolicies: a policy is uploaded, compared, activated and rolled back; one that
// does not validate is never in force; "always" makes a version of its own.
func TestPolicies(t *testing.T) {
	t.Parallel()
	s := open(t, nil)
	s.decide("rm x", "")
	if code, body := s.do(s.admin, "POST", "/v1/policies", `{"files":[{"name":"opencode.json","text":"{\"permission\":{\"bash\":{\"*\":\"perhaps\"}}}"}]}`); code != 422 || !strings.Contains(body, "perhaps") {
		t.Fatalf("%d %s", code, body)
	}
	up := `{"note":"rm asks","files":[{"name":"opencode.json","text":"{\"permission\":{\"bash\":{\"*\":\"ask\",\"rm *\":\"ask\"}}}"}]}`
	if code, body := s.do(s.admin, "POST", "/v1/policies", up); code != 200 {
		t.Fatalf("%d %s", code, body)
	}
	var diff client.PolicyDiff
	if s.get(s.admin, "/v1/policies/1/diff", &diff); diff.Same || len(diff.Witness) == 0 || len(diff.Flips) != 1 || diff.Flips[0].Now != "ask" || diff.Flips[0].Was != "deny" {
		t.Errorf("%+v", diff)
	}
	if d := s.decide("rm y", ""); d.Verdict != "deny" {
		t.Errorf("in force before it was activated: %+v", d)
	}
	if code, body := s.do(s.admin, "POST", "/v1/policies/1/activate", `{"instead":0,"reason":"a test","loosens":true}`); code != 200 {
		t.Fatalf("%d %s", code, body)
	}
	d := s.decide("rm -rf z", "")
	if d.Verdict != "ask" {
		t.Fatalf("%+v", d)
	}
	if code, body := s.do(s.ann, "POST", "/v1/requests/"+d.Request.ID+"/answer", `{"allow":true,"scope":"always","offer":1}`); code != 200 {
		t.Fatalf("%d %s", code, body)
	}
	if code, body := s.do(s.agent, "POST", "/v1/requests/"+d.Request.ID+"/claim", `{"digest":"`+d.Request.Digest+`"}`); code != 200 || !strings.Contains(body, "approved by ann") || strings.Contains(body, "could not be kept") {
		t.Fatalf("%d %s", code, body)
	}
	var list client.Policies
	if s.get(s.ann, "/v1/policies", &list); list.Active != 2 || len(list.Policies) != 2 || list.Policies[0].By != "ann" {
		t.Errorf("%+v", list)
	}
	if d := s.decide("rm -rf z", ""); d.Verdict != "allow" {
		t.Errorf("after always: %+v", d)
	}
	for want := range []string{"ask", "deny"} {
		if code, body := s.do(s.admin, "POST", "/v1/policies/rollback", fmt.Sprintf(`{"instead":%d,"reason":"a test","loosens":true}`, 2-want)); code != 200 {
			t.Fatalf("%d %s", code, body)
		}
		if d := s.decide(fmt.Sprint("rm -rf ", want), ""); d.Verdict != []string{"ask", "deny"}[want] {
			t.Errorf("after %d rollbacks: %s", want+1, d.Verdict)
		}
	}
}

// gone is a store whose database comes and goes.
type gone struct {
	server.Store
	lost *fault
}

// A fault is why a store cannot be used, if anything.
type fault struct{ why atomic.Pointer[string] }

func (f *fault) set(why string) { f.why.Store(&why) }

func (f *fault) err() error {
	if why := f.why.Load(); why != nil && *why != "" {
		return errors.New(*why)
	}
	return nil
}

func (g gone) Append(ctx context.Context, r ...*ledger.Record) error {
	if err := g.lost.err(); err != nil {
		return err
	}
	return g.Store.Append(ctx, r...)
}

func (g gone) Requests(ctx context.Context, q approval.Query) ([]*approval.Request, error) {
	if err := g.lost.err(); err != nil {
		return nil, err
	}
	return g.Store.Requests(ctx, q)
}

// TestLostDatabase: while the ledger cannot be written, decisions deny with the
// reason; and it comes back by itself.
func TestLostDatabase(t *testing.T) {
	lost := new(fault)
	s := open(t, func(o *server.Options) { o.Store = gone{o.Store, lost} })
	lost.set("the disk is full")
	if d := s.decide("git status", ""); d.Verdict != "deny" || !strings.Contains(d.Reason, "the disk is full") {
		t.Errorf("%+v", d)
	}
	if code, body := s.do("", "GET", "/readyz", ""); code != 503 || !strings.Contains(body, "the disk is full") {
		t.Errorf("it is ready: %d %s", code, body)
	}
	lost.set("")
	for range 2 {
		if code, body := s.do("", "GET", "/readyz", ""); code != 200 {
			t.Errorf("it is not ready again without a call: %d %s", code, body)
		}
	}
	if d := s.decide("git status", ""); d.Verdict != "allow" {
		t.Errorf("%+v", d)
	}
	if _, lines := s.do(s.ann, "GET", "/v1/ledger?kind=damage", ""); strings.Count(lines, "could not be written down") != 1 {
		t.Errorf("%s", lines)
	}
}

// TestAuthZEN: the evaluation endpoints are a face of the same gate, asks lead to
// an access request, and its approval to a new evaluation.
func TestAuthZEN(t *testing.T) {
	s := open(t, nil)
	one := func(command, more string) string {
		return fmt.Sprintf(`{"subject":{"type":"user","id":"u"},"action":{"name":"bash","properties":{"command":%q}},"resource":{"type":"command","id":""},"unknown":{"is":"ignored"}%s}`, command, more)
	}
	for command, want := range map[string]string{"git status": `"decision":true`, "rm x": `"decision":false`} {
		if code, body := s.do(s.agent, "POST", "/access/v1/evaluation", one(command, "")); code != 200 || !strings.Contains(body, want) {
			t.Errorf("%s: %d %s", command, code, body)
		}
	}
	code, body := s.do(s.agent, "POST", "/access/v1/evaluations", `{"subject":{"type":"user","id":"u"},"resource":{"type":"command","id":""},"options":{"evaluations_semantic":"deny_on_first_deny"},
		"evaluations":[{"action":{"name":"bash","properties":{"command":"git status"}}},{"action":{"name":"bash","properties":{"command":"rm x"}}},{"action":{"name":"bash","properties":{"command":"git status"}}}]}`)
	if code != 200 || strings.Count(body, `"decision":`) != 2 {
		t.Errorf("%d %s", code, body)
	}
	for _, text := range []string{`{"subject":{"type":"user","id":"u"}}`, `{"subject":{"type":"user","id":"u"},"subject":{"type":"user","id":"v"}}`, `[`} {
		if code, body := s.do(s.agent, "POST", "/access/v1/evaluation", text, "X-Request-ID", "7"); code != 400 || !strings.HasPrefix(body, `"`) {
			t.Errorf("%s: %d %s", text, code, body)
		}
	}
	for token, want := range map[string]int{"": 401, "oba_wrong": 401} {
		if code, body := s.do(token, "POST", "/access/v1/evaluations", one("make", "")); code != want || !strings.HasPrefix(body, `"log in`) {
			t.Errorf("%d %s", code, body)
		}
	}
	_, body = s.do(s.agent, "POST", "/access/v1/evaluation", one("make", ""))
	var ask struct {
		Context struct {
			ID     string `json:"evaluation_id"`
			Access struct {
				Token string `json:"binding_token"`
			} `json:"access_request"`
		}
	}
	must(t, json.NewDecoder(bytes.NewReader([]byte(body))).Decode(&ask))
	id := ask.Context.ID
	request := func(token string) (int, string) {
		return s.do(s.agent, "POST", "/access/draft-1/requests", fmt.Sprintf(`{"denial":{"evaluation_id":%q,"binding_token":%q}}`, id, token))
	}
	if code, body := request("forged"); code != 400 || !strings.Contains(body, "invalid_denial_binding") {
		t.Errorf("%d %s", code, body)
	}
	if code, body := request(ask.Context.Access.Token); code != 202 || !strings.Contains(body, `"status":"pending"`) {
		t.Errorf("%d %s", code, body)
	}
	if code, body := s.do(s.ann, "POST", "/v1/requests/"+id+"/answer", `{"allow":true}`); code != 200 {
		t.Fatalf("%d %s", code, body)
	}
	if code, body := s.do(s.agent, "GET", "/access/draft-1/requests/"+id, ""); code != 200 || !strings.Contains(body, `"mode":"reevaluate"`) {
		t.Errorf("%d %s", code, body)
	}
	approved := fmt.Sprintf(`,"context":{"approval":{"id":%q}}`, id)
	for _, tt := range []struct{ command, want string }{{"make evil", "another call"}, {"make", `"decision":true`}, {"make", `"decision":false`}} {
		if _, body := s.do(s.agent, "POST", "/access/v1/evaluation", one(tt.command, approved)); !strings.Contains(body, tt.want) {
			t.Errorf("%s: %s", tt.command, body)
		}
	}
}

// TestEventsGoOn: a stream that was broken off gets what it missed, and one that
// missed too much is told.
func TestEventsGoOn(t *testing.T) {
	s := open(t, nil)
	ann, err := client.New(client.Options{URL: s.http.URL, Token: s.ann})
	must(t, err)
	first := s.decide("make", "").Request.ID
	var list client.Requests
	s.get(s.ann, "/v1/requests", &list)
	last := ""
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	must(t, ann.Events(ctx, "1", func(e client.Event) bool { last = e.ID; return false }))
	second := s.decide("make more", "").Request.ID
	var missed []string
	must(t, ann.Events(ctx, last, func(e client.Event) bool {
		missed = append(missed, string(e.Data))
		return !strings.Contains(string(e.Data), second)
	}))
	if strings.Contains(missed[0], first) && len(missed) < 2 {
		t.Errorf("%q", missed)
	}
	for _, id := range []string{"999999999999999999", "nonsense"} {
		must(t, ann.Events(ctx, id, func(e client.Event) bool {
			if e.Kind != "reset" {
				t.Errorf("%s: %s", id, e.Kind)
			}
			return false
		}))
	}
}
