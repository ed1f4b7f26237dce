package server_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/obstat/obstat/client"
	"github.com/obstat/obstat/internal/face/console"
	"github.com/obstat/obstat/internal/face/server"
)

// TestAgentsRequests: the limit of a list counts what the agent may see of it, however many
// requests of others are newer.
func TestAgentsRequests(t *testing.T) {
	s := open(t, nil)
	want := []string{s.decide("make a", "").Request.ID, s.decide("make b", "").Request.ID, s.decide("make c", "").Request.ID}
	coder := s.agent
	s.agent = s.token(client.TokenRequest{Kind: "agent", Name: "other"})
	for _, command := range strings.Fields("d e f g h i j k l m n o p q r s t u v w") {
		s.decide("make "+command, "")
	}
	for path, from := range map[string]int{"?limit=2": 1, "?limit=3": 0, "?limit=1000&state=pending": 0, "": 0} {
		var list client.Requests
		s.get(coder, "/v1/requests"+path, &list)
		var got []string
		for _, r := range list.Requests {
			got = append(got, r.ID)
		}
		if !slices.Equal(got, want[from:]) || list.Cursor == 0 {
			t.Errorf("%s: %v, not %v", path, got, want[from:])
		}
	}
	if code, body := s.do(coder, "GET", "/v1/requests?limit=0", ""); code != 400 || !strings.Contains(body, "limit is 1 at least") {
		t.Errorf("%d %s", code, body)
	}
}

// TestProofs: what obstat doctor found of a machine's agents is shown beside them, and no agent
// says it of itself.
func TestProofs(t *testing.T) {
	s := open(t, nil)
	s.decide("git status", "")
	machine := s.token(client.TokenRequest{Kind: "agent", Name: "laptop", Agent: client.AnyAgent})
	proofs := `{"proofs":[{"agent":"coder","state":"holds"},{"agent":"codex","state":"broken"}]}`
	if code, body := s.do(s.agent, "POST", "/v1/agents/proofs", proofs); code != 403 || !strings.Contains(body, "does not prove itself") {
		t.Errorf("%d %s", code, body)
	}
	for _, wrong := range []string{`{"proofs":[{"agent":"coder","state":"fine"}]}`, `{"proofs":[{"agent":"","state":"holds"}]}`} {
		if code, body := s.do(machine, "POST", "/v1/agents/proofs", wrong); code != 400 {
			t.Errorf("%s: %d %s", wrong, code, body)
		}
	}
	c, err := client.New(client.Options{URL: s.http.URL, Token: machine})
	must(t, err)
	must(t, c.SendProofs(t.Context(), []client.Proof{{Agent: "coder", State: "holds"}, {Agent: "codex", State: "broken"}}))
	var list client.Agents
	s.get(s.ann, "/v1/agents", &list)
	got := map[string]client.AgentSeen{}
	for _, a := range list.Agents {
		got[a.Agent] = a
	}
	if a := got["coder"]; a.Doctor != "holds" || a.DoctorAt.IsZero() || a.Calls != 1 || !slices.Equal(a.From, []string{"127.0.0.1"}) {
		t.Errorf("%+v", a)
	}
	if a := got["codex"]; a.Doctor != "broken" || a.Calls != 0 {
		t.Errorf("%+v", a)
	}
}

// TestWrongRequests: what is no route is a problem, whoever asks and wherever pages could be,
// and a word that no record or request has is refused instead of finding nothing.
func TestWrongRequests(t *testing.T) {
	s := open(t, func(o *server.Options) { o.Console = console.New })
	for _, tt := range []struct {
		token, method, path, body string
		code                      int
		says                      string
	}{
		{s.agent, "POST", "/v2/decisions", `{}`, 404, "POST /v2/decisions"},
		{"", "GET", "/v2/decisions", "", 404, "there is no such route"},
		{s.ann, "DELETE", "/history", "", 404, "there is no such route"},
		{s.ann, "GET", "/v1/requests?state=waiting", "", 400, `there is no state .*waiting.*; it is one of`},
		{s.ann, "GET", "/v1/ledger?kind=decisions", "", 400, `there is no kind .*decisions`},
		{s.ann, "GET", "/v1/policies/7", "", 404, `"detail":"version 7"`},
		{s.admin, "POST", "/v1/policies/7/activate", `{"instead":0,"reason":"a test"}`, 404, `there is no such version of the policy`},
		{s.admin, "DELETE", "/v1/tokens/none", "", 404, "there is no such token"},
		{s.admin, "POST", "/v1/tokens", `{"kind":"agent","name":"a","days":9999}`, 400, "1 to 3650 days, not 9999"},
	} {
		code, body := s.do(tt.token, tt.method, tt.path, tt.body)
		if code != tt.code || !regexp.MustCompile(tt.says).MatchString(body) || !strings.Contains(body, "urn:obstat:problem:") {
			t.Errorf("%s %s: %d %s", tt.method, tt.path, code, body)
		}
	}
}
