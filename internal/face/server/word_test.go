package server_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/approval"
	"github.com/obstat/obstat/client"
	"github.com/obstat/obstat/internal/face/server"
	"github.com/obstat/obstat/internal/keep/docs"
	"github.com/obstat/obstat/internal/keep/memory"
	"github.com/obstat/obstat/internal/keep/sqlite"
	"github.com/obstat/obstat/ledger"
)

// A browser is a person who is logged in.
type browser struct {
	s    *site
	http *http.Client
	csrf string
}

// browser logs a person in by a link.
func (s *site) browser(name string, roles ...string) *browser {
	s.t.Helper()
	key, err := server.NewLogin(s.t.Context(), s.store, server.Person{Name: name, Roles: roles}, "test")
	must(s.t, err)
	return s.visit("/login?key=" + key)
}

// visit opens a page that logs somebody in.
func (s *site) visit(path string) *browser {
	s.t.Helper()
	jar, err := cookiejar.New(nil)
	must(s.t, err)
	b := &browser{s: s, http: &http.Client{Jar: jar}}
	resp, err := b.http.Get(s.http.URL + path)
	must(s.t, err)
	resp.Body.Close()
	var me client.Me
	code, body := b.do("GET", "/v1/me", "")
	if code != 200 || json.Unmarshal([]byte(body), &me) != nil {
		s.t.Fatalf("not logged in: %d %s", code, body)
	}
	b.csrf = me.CSRF
	return b
}

func (b *browser) do(method, path, body string) (int, string) {
	b.s.t.Helper()
	req, err := http.NewRequestWithContext(b.s.t.Context(), method, b.s.http.URL+path, strings.NewReader(body))
	must(b.s.t, err)
	req.Header.Set("X-CSRF-Token", b.csrf)
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := b.http.Do(req)
	must(b.s.t, err)
	defer resp.Body.Close()
	var buf bytes.Buffer
	_, err = io.Copy(&buf, resp.Body)
	must(b.s.t, err)
	return resp.StatusCode, buf.String()
}

// records returns the records of a kind.
func (s *site) records(kind ledger.Kind) (out []*ledger.Record) {
	s.t.Helper()
	for r, err := range s.store.Records(s.t.Context(), ledger.Query{Kind: kind}) {
		must(s.t, err)
		out = append(out, r)
	}
	return out
}

// TestRecordsAreTheTokens: an agent's token writes what its own agent did, for its own user and in
// its own workspace, and nothing that a person says. Nothing of a batch with another's record is kept.
func TestRecordsAreTheTokens(t *testing.T) {
	s := open(t, nil)
	a1 := s.token(client.TokenRequest{Kind: "agent", Name: "a1", User: "ann", Workspace: "/src/shop"})
	own := func() *ledger.Record {
		return &ledger.Record{Kind: ledger.Decision, Agent: "a1", User: "ann", Dir: "/src/shop/web", Tool: "bash", Verdict: "allow"}
	}
	for name, change := range map[string]func(*ledger.Record){
		"another agent": func(r *ledger.Record) { r.Agent, r.Reason = "a2", "approved by boss" },
		"no agent":      func(r *ledger.Record) { r.Agent = "" },
		"another user":  func(r *ledger.Record) { r.User = "boss" },
		"no user":       func(r *ledger.Record) { r.User = "" },
		"another place": func(r *ledger.Record) { r.Dir = "/src/shop-2" },
		"no place":      func(r *ledger.Record) { r.Dir = "" },
		"an answer":     func(r *ledger.Record) { r.Kind, r.Verdict, r.Reason = ledger.Answer, "approved", "approved by boss" },
		"a grant":       func(r *ledger.Record) { r.Kind, r.Verdict = ledger.Grant, "granted" },
		"a pin":         func(r *ledger.Record) { r.Kind = ledger.Pin },
		"a policy":      func(r *ledger.Record) { r.Kind = ledger.Policy },
		"a login":       func(r *ledger.Record) { r.Kind, r.Verdict = ledger.Access, "login" },
		"damage":        func(r *ledger.Record) { r.Kind, r.Verdict = ledger.Damage, "broken" },
	} {
		other := own()
		change(other)
		lines := machine(t, own(), other)
		if code, body := s.do(a1, "POST", "/v1/records", `{"lines":[`+strings.Join(lines, ",")+`]}`); code != 403 || !strings.Contains(body, "line 2") {
			t.Errorf("%s: %d %s", name, code, body)
		}
	}
	for r, err := range s.store.Records(t.Context(), ledger.Query{}) {
		if must(t, err); r.Elsewhere() {
			t.Errorf("it was kept: %+v", r)
		}
	}
	asks := own()
	asks.Kind, asks.Verdict = ledger.Ask, "ask"
	ran := own()
	ran.Kind, ran.Verdict = ledger.Outcome, "ran"
	if code, body := s.do(a1, "POST", "/v1/records", `{"lines":[`+strings.Join(machine(t, own(), asks, ran), ",")+`]}`); code != 204 {
		t.Errorf("its own: %d %s", code, body)
	}
}

// TestWithheldRecords: of records that are not its own a machine with an agent's token sends the
// place alone; the chain goes on, and a gap is still seen.
func TestWithheldRecords(t *testing.T) {
	s := open(t, nil)
	var of client.Bundle
	s.get(s.agent, "/v1/bundle", &of)
	if of.For != (client.Bound{Agent: "coder"}) {
		t.Fatalf("%+v", of.For)
	}
	var lines []string
	var last ledger.Head
	for _, r := range []*ledger.Record{{Kind: ledger.Start}, {Kind: ledger.Decision, Agent: "coder", Tool: "one"}, {Kind: ledger.Decision, Agent: "codex", Tool: "two"},
		{Kind: ledger.Answer, Agent: "coder"}, {Kind: ledger.Outcome, Agent: "coder", Tool: "one"}} {
		r.Time = time.Now()
		must(t, r.Seal(last.Seq, last.Hash))
		last = ledger.Head{Seq: r.Seq, Hash: r.Hash}
		line, err := of.For.Line(r)
		must(t, err)
		lines = append(lines, quote(line))
	}
	send := func(lines ...string) (int, string) {
		return s.do(s.agent, "POST", "/v1/records", `{"lines":[`+strings.Join(lines, ",")+`]}`)
	}
	if code, body := send(lines[:2]...); code != 204 {
		t.Fatalf("%d %s", code, body)
	}
	if code, body := send(lines[3:]...); code != 422 || !strings.Contains(body, "does not follow record 2") {
		t.Errorf("a gap: %d %s", code, body)
	}
	if code, body := send(lines...); code != 204 {
		t.Fatalf("%d %s", code, body)
	}
	var tools []string
	for r, err := range s.store.Records(t.Context(), ledger.Query{}) {
		if must(t, err); r.Elsewhere() {
			tools = append(tools, string(r.Kind)+" "+r.Tool)
		}
	}
	if !slices.Equal(tools, []string{"decision one", "outcome one"}) {
		t.Errorf("%q", tools)
	}
	laptop := s.token(client.TokenRequest{Kind: "agent", Name: "laptop", Agent: client.AnyAgent})
	if code, body := s.do(laptop, "POST", "/v1/records", `{"lines":[`+strings.Join(lines, ",")+`]}`); code != 422 {
		t.Errorf("a machine withholds: %d %s", code, body)
	}
}

// TestForeignRecordsAreMarked: records that a machine sends name it, verify counts them, and what
// happened to the machine's own file is no break of this ledger.
func TestForeignRecordsAreMarked(t *testing.T) {
	s := open(t, nil)
	laptop := s.token(client.TokenRequest{Kind: "agent", Name: "laptop", Agent: client.AnyAgent})
	lines := machine(t, &ledger.Record{Kind: ledger.Answer, Agent: "a2", Verdict: "approved", Reason: "approved by boss"}, &ledger.Record{Kind: ledger.Damage, Verdict: "broken", Reason: "the file was put back"})
	if code, body := s.do(laptop, "POST", "/v1/records", `{"lines":[`+strings.Join(lines, ",")+`]}`); code != 204 {
		t.Fatalf("%d %s", code, body)
	}
	var v client.Verified
	if s.get(s.ann, "/v1/ledger/verify", &v); !v.OK || v.Foreign["laptop"] != 2 || len(v.Foreign) != 1 {
		t.Errorf("%+v", v)
	}
	if f := s.records(ledger.Answer)[0].Foreign(); f == nil || f.String() != "laptop" || f.Seq != 1 || !strings.HasPrefix(f.From, "tok_") {
		t.Errorf("%+v", f)
	}
	s.decide("make", "")
	if f := s.records(ledger.Ask)[0].Foreign(); f != nil {
		t.Errorf("decided here: %+v", f)
	}
}

// TestAccessIsRecorded: tokens, login links, logins, the roles that come with them, logouts and the
// ends of sessions are in the ledger of every store, with who did it.
func TestAccessIsRecorded(t *testing.T) {
	for name, keep := range map[string]func() server.Store{
		"memory": func() server.Store { return new(memory.Store) },
		"sqlite": func() server.Store {
			store, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "obstat.db"))
			must(t, err)
			t.Cleanup(func() { store.Close() })
			return store
		},
	} {
		t.Run(name, func(t *testing.T) { accessIsRecorded(t, keep()) })
	}
}

func accessIsRecorded(t *testing.T, store server.Store) {
	s := open(t, func(o *server.Options) { o.Store = store })
	root := s.browser("root", server.RoleAdmin)
	_, body := root.do("POST", "/v1/tokens", `{"kind":"person","name":"bob","roles":["dev","lead"]}`)
	var made client.Token
	must(t, json.Unmarshal([]byte(body), &made))
	if code, body := root.do("DELETE", "/v1/tokens/"+made.ID, ""); code != 204 {
		t.Fatalf("%d %s", code, body)
	}
	if code, _ := root.do("DELETE", "/v1/tokens/tok_none", ""); code != 404 {
		t.Error(code)
	}
	ann := s.browser("ann", "dev")
	if code, _ := ann.do("POST", "/logout", ""); code != 200 {
		t.Error(code)
	}
	// A session whose time is over is written down once, by the server that finds it first.
	must(t, docs.Put(t.Context(), store, "session", "old", 0, map[string]any{"id": "ses_old", "person": map[string]any{"name": "eve"}, "expires": time.Now().Add(-time.Hour)}))
	for range 2 {
		must(t, server.Forget(t.Context(), s.srv))
	}
	var got []string
	for _, r := range s.records(ledger.Access) {
		var d struct{ ID, Kind, Name, Login string }
		must(t, json.Unmarshal(r.Detail, &d))
		if r.User != "test" || d.Kind == "link" {
			got = append(got, fmt.Sprintf("%s: %s %s %s: %s", r.User, r.Verdict, d.Kind, d.Name, r.Reason))
		}
		if (r.Verdict == "login" || r.Verdict == "logout") && (d.ID == "" || d.Login != "link "+d.Name) {
			t.Errorf("%s", r.Detail)
		}
	}
	want := []string{
		"test: made link root: test made a link that logs root in, with the roles admin",
		"root: login session root: root logged in with link root, with the roles admin",
		"root: made person bob: root made the token " + made.ID + " for the person bob, with the roles dev, lead",
		"root: revoked person bob: root took back the token " + made.ID + " of the person bob, with the roles dev, lead",
		"test: made link ann: test made a link that logs ann in, with the roles dev",
		"ann: login session ann: ann logged in with link ann, with the roles dev",
		"ann: logout session ann: ann logged out, with the roles dev",
		"eve: ended session eve: the session of eve ended: its time was over",
	}
	if !slices.Equal(got, want) {
		t.Errorf("%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestUnwrittenTokenIsNotMade: what cannot be written down is not made, and nobody logs in by it.
func TestUnwrittenTokenIsNotMade(t *testing.T) {
	full := false
	s := open(t, func(o *server.Options) { o.Store = noRecords{o.Store, &full} })
	key, err := server.NewLogin(t.Context(), s.store, server.Person{Name: "ann"}, "test")
	must(t, err)
	full = true
	if code, body := s.do(s.admin, "POST", "/v1/tokens", `{"kind":"person","name":"bob"}`); code < 500 || strings.Contains(body, "obp_") {
		t.Errorf("%d %s", code, body)
	}
	if code, _ := s.do("", "GET", "/login?key="+key, ""); code < 500 {
		t.Errorf("logged in: %d", code)
	}
	if list, err := docs.All[client.Token](t.Context(), s.store, "token"); err != nil || len(list) != 3 {
		t.Errorf("%d tokens, %v", len(list), err)
	}
}

// noRecords is a store whose ledger is full.
type noRecords struct {
	server.Store
	full *bool
}

func (n noRecords) Append(ctx context.Context, records ...*ledger.Record) error {
	if *n.full {
		return errors.New("no space left on device")
	}
	return n.Store.Append(ctx, records...)
}

// TestTwoPeople: an administrator with two tokens, or with a login and a token, does not pass a rule
// that needs two; two who have logged in do, and the ledger has who they are.
func TestTwoPeople(t *testing.T) {
	s := open(t, func(o *server.Options) {
		o.Who = func(*obstat.Call, *obstat.Decision) approval.Who { return approval.Who{Needed: 2} }
	})
	id := s.decide("make", "").Request.ID
	root := s.browser("root", server.RoleAdmin)
	answer := func() (codes []int) {
		for _, name := range []string{"bob", "eve"} {
			_, body := root.do("POST", "/v1/tokens", `{"kind":"person","name":"`+name+`"}`)
			var tok client.Token
			must(t, json.Unmarshal([]byte(body), &tok))
			code, _ := s.do(tok.Secret, "POST", "/v1/requests/"+id+"/answer", `{"allow":true}`)
			root.do("DELETE", "/v1/tokens/"+tok.ID, "")
			codes = append(codes, code)
		}
		return codes
	}
	if codes := answer(); !slices.Equal(codes, []int{403, 403}) {
		t.Errorf("two tokens: %v", codes)
	}
	if n := len(slices.DeleteFunc(s.records(ledger.Access), func(r *ledger.Record) bool { return r.User != "root" || r.Verdict == "login" })); n != 4 {
		t.Errorf("%d records of two tokens made and taken back", n)
	}
	if code, body := root.do("POST", "/v1/requests/"+id+"/answer", `{"allow":true}`); code != 200 {
		t.Fatalf("%d %s", code, body)
	}
	if codes := answer(); !slices.Equal(codes, []int{403, 403}) {
		t.Errorf("a login and a token: %v", codes)
	}
	again := s.browser("Root", server.RoleAdmin)
	if code, _ := again.do("POST", "/v1/requests/"+id+"/answer", `{"allow":true}`); code != 403 {
		t.Errorf("the same person twice: %d", code)
	}
	ann := s.browser("ann")
	if code, body := ann.do("POST", "/v1/requests/"+id+"/answer", `{"allow":true}`); code != 200 || !strings.Contains(body, `"state":"approved"`) {
		t.Errorf("%d %s", code, body)
	}
	if r := s.records(ledger.Answer); len(r) != 1 || !strings.Contains(string(r[0].Detail), `"login":"link root"`) || !strings.Contains(string(r[0].Detail), `"login":"link ann"`) {
		t.Errorf("%+v", r)
	}
}

// TestUnknownCaller: where another than the caller has to answer, a call of an unknown user is
// denied with what to do, and so is one whose user the agent itself claims.
func TestUnknownCaller(t *testing.T) {
	s := open(t, func(o *server.Options) { o.Who = notCaller })
	for name, text := range map[string]string{"no user": "", "a claimed one": `,"user":"zoe"`} {
		code, body := s.do(s.agent, "POST", "/v1/decisions", `{"call":{"tool":"bash","input":{"command":"make"}`+text+`}}`)
		if code != 200 || !strings.Contains(body, `"verdict":"deny"`) || !strings.Contains(body, "--user") {
			t.Errorf("%s: %d %s", name, code, body)
		}
	}
	s.agent = s.token(client.TokenRequest{Kind: "agent", Name: "ci", User: "zoe"})
	if d := s.decide("make", ""); d.Verdict != "ask" {
		t.Errorf("%+v", d)
	}
	laptop := s.token(client.TokenRequest{Kind: "agent", Name: "laptop", Agent: client.AnyAgent})
	if code, body := s.do(laptop, "POST", "/v1/decisions", `{"call":{"tool":"bash","input":{"command":"make"},"user":"zoe","agent":"codex"}}`); code != 200 || !strings.Contains(body, `"verdict":"ask"`) {
		t.Errorf("a machine knows its user: %d %s", code, body)
	}
}
