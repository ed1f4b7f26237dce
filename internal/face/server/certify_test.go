package server_test

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/obstat/obstat/client"
	"github.com/obstat/obstat/gate"
	"github.com/obstat/obstat/internal/face/server"
)

// certified is the fixture of AuthZEN's certification scenario as a policy: alice reads and writes what is not
// archived and deletes softly, bob reads, and an administrator writes archived records.
const certified = `version: 1
otherwise: deny
allow:
  - {rule: "tool read where input.type is record and input.id in [record-1, record-2]", when: {user: [alice, bob]}}
  - {rule: "tool write where input.type is record and input.id in [record-1, record-2]", when: {user: alice}}
  - {rule: "tool write where input.type is record and input.id is record-2", when: {role: admin}}
  - {rule: "tool delete where input.type is record and input.soft is true", when: {user: alice}}
deny:
  - {rule: "tool write where input.status is archived", when: {role: not admin}}
`

const (
	alice    = `"subject":{"type":"user","id":"alice"}`
	bob      = `"subject":{"type":"user","id":"bob"}`
	bobAdmin = `"subject":{"type":"user","id":"bob","properties":{"role":"admin"}}`
	users    = `"subject":{"type":"user"}`
	read     = `"action":{"name":"read"}`
	write    = `"action":{"name":"write"}`
	record1  = `"resource":{"type":"record","id":"record-1"}`
	record2  = `"resource":{"type":"record","id":"record-2"}`
	records  = `"resource":{"type":"record"}`
	active1  = `"resource":{"type":"record","id":"record-1","properties":{"status":"active"}}`
	archived = `"resource":{"type":"record","id":"record-2","properties":{"status":"archived"}}`
	context1 = `"context":{"time":"2025-06-27T18:03-07:00","ip":"192.168.1.1"}`
)

// body puts the members of a JSON object together.
func body(members ...string) string { return "{" + strings.Join(members, ",") + "}" }

// batch returns the member that holds several evaluations.
func batch(each ...string) string { return `"evaluations":[` + strings.Join(each, ",") + "]" }

// certification is the scenario, test by test: decisions are those that the scenario names ("?" where it takes any),
// results those that a search has to find.
var certification = []struct {
	id, path, body string
	status         int
	want           string // "true false" of evaluations, names of a search
}{
	{"2.2.1", "evaluation", body(alice, read, record1), 200, "true"},
	{"2.2.2", "evaluation", body(bob, write, record1), 200, "false"},
	{"2.2.3", "evaluation", body(alice, read, record1, context1), 200, "true"},
	{"2.2.4", "evaluation", body(alice, write, archived), 200, "false"},
	{"2.2.5", "evaluation", body(bobAdmin, write, archived), 200, "true"},
	{"2.2.6", "evaluation", body(alice, `"action":{"name":"delete","properties":{"soft":true}}`, record1), 200, "true"},
	{"2.2.7", "evaluation", body(alice, `"action":{"name":"delete","properties":{"soft":false}}`, record1), 200, "false"},
	{"2.2.8", "evaluation", body(`"subject":{"type":"user","id":"alice","properties":{"department":"Sales","role":"manager"}}`,
		`"action":{"name":"read","properties":{"method":"GET"}}`,
		`"resource":{"type":"record","id":"record-1","properties":{"status":"active","owner":"bob"}}`), 200, "true"},
	{"2.2.9", "evaluation", body(alice, read, record1, `"foo":"bar","futureField":{"nested":true}`), 200, "true"},
	{"1.4 rule 2", "evaluation", body(alice, write, record1), 200, "true"},
	{"1.4 rule 3", "evaluation", body(bob, read, record1), 200, "true"},
	{"2.4.1 subject", "evaluation", body(read, record1), 400, ""},
	{"2.4.1 action", "evaluation", body(alice, record1), 400, ""},
	{"2.4.1 resource", "evaluation", body(alice, read), 400, ""},
	{"2.4.2 subject type", "evaluation", body(`"subject":{"id":"alice"}`, read, record1), 400, ""},
	{"2.4.2 subject id", "evaluation", body(users, read, record1), 400, ""},
	{"2.4.2 action name", "evaluation", body(alice, `"action":{}`, record1), 400, ""},
	{"2.4.2 resource type", "evaluation", body(alice, read, `"resource":{"id":"record-1"}`), 400, ""},
	{"2.4.2 resource id", "evaluation", body(alice, read, records), 400, ""},
	{"2.4.4", "evaluation", `{"subject":`, 400, ""},
	{"2.4.6 subject", "evaluation", body(`"subject":"alice"`, read, record1), 400, ""},
	{"2.4.6 name", "evaluation", body(alice, `"action":{"name":123}`, record1), 400, ""},

	{"3.2.1", "evaluations", body(alice, read, batch(body(record1), body(record2))), 200, "? ?"},
	{"3.2.2", "evaluations", body(bob, record1, batch(body(read), body(write))), 200, "true false"},
	{"3.2.3", "evaluations", body(alice, write, batch(body(active1), body(archived))), 200, "true false"},
	{"3.2.4", "evaluations", body(write, archived, batch(body(alice), body(bobAdmin))), 200, "false true"},
	{"3.2.5", "evaluations", body(batch(body(alice, read, record1), body(bob, write, record1))), 200, "true false"},
	{"3.2.6", "evaluations", body(alice, read, context1, batch(body(record1), body(record2, context1))), 200, "? ?"},
	{"3.2.7", "evaluations", body(alice, write, active1, batch("{}", body(archived))), 200, "true false"},
	{"3.4.1", "evaluations", body(alice, read, `"options":{"evaluations_semantic":"execute_all"}`, batch(body(record1), "{}")),
		200, "true false"},
	{"3.4.2", "evaluations", body(alice, read, record1), 200, "true"},
	{"3.4.3", "evaluations", body(alice, read, record1, batch()), 200, "true"},

	{"4.2.1", "search/subject", body(users, read, record1), 200, "alice bob"},
	{"4.2.2", "search/subject", body(users, read, record1, context1), 200, "alice bob"},
	{"4.2.3", "search/subject", body(alice, read, record1), 200, "alice bob"},
	{"4.2.4", "search/subject", body(users, write, archived), 200, "bob"},
	{"4.3.1", "search/resource", body(alice, read, records), 200, "record-1"},
	{"4.3.2", "search/resource", body(alice, read, records, context1), 200, "record-1"},
	{"4.3.3", "search/resource", body(alice, read, record1), 200, "record-1"},
	{"4.3.4", "search/resource", body(bobAdmin, write, records), 200, "record-2"},
	{"4.4.1", "search/action", body(alice, record1), 200, "read write"},
	{"4.4.2", "search/action", body(alice, record1, context1), 200, "read write"},
	{"4.4.3", "search/action", body(bobAdmin, archived), 200, "write"},
	{"4.5.1", "search/subject", body(users, read, record1, `"page":{"limit":1}`), 200, "alice bob"},
	{"4.6.1", "search/action", body(`"subject":{"type":"user","id":"nonexistent-user"}`, record1), 200, "none"},
	{"4.6.1 resource", "search/resource", body(`"subject":{"type":"user","id":"nonexistent-user"}`, read, records), 200, "none"},
	{"4.6.1 subject", "search/subject", body(users, read, `"resource":{"type":"record","id":"record-9"}`), 200, "none"},
	{"4.6.2", "search/subject", body(`"subject":{"type":"spaceship"}`, read, record1), 200, "none"},
	{"4.6.2 resource", "search/resource", body(alice, read, `"resource":{"type":"spaceship"}`), 200, "none"},
	{"4.6.2 action", "search/action", body(`"subject":{"type":"spaceship","id":"x"}`, record1), 200, "none"},
	{"4.7.1 action", "search/subject", body(users, record1), 400, ""},
	{"4.7.1 subject", "search/resource", body(read, records), 400, ""},
	{"4.7.1 resource", "search/action", body(alice), 400, ""},
	{"4.7.2 subject", "search/subject", body(users, read, records), 400, ""},
	{"4.7.2 resource", "search/resource", body(users, read, records), 400, ""},
	{"4.7.2 action", "search/action", body(users, record1), 400, ""},
}

// certify opens a server over TLS with the scenario's fixture, and the token of a gateway that vouches for its users.
func certify(t *testing.T) (s *site, gateway string) {
	s = open(t, func(o *server.Options) {
		file := filepath.Join(t.TempDir(), "obstat.yaml")
		must(t, os.WriteFile(file, []byte(certified), 0o600))
		o.TLS, o.Policy = true, &gate.Files{Names: []string{file}, NoPins: true}
	})
	s.token(client.TokenRequest{Kind: "person", Name: "alice"})
	s.token(client.TokenRequest{Kind: "person", Name: "bob", Roles: []string{"admin"}})
	return s, s.token(client.TokenRequest{Kind: "agent", Name: "gateway", Agent: client.AnyAgent, Vouches: true})
}

// TestCertification runs AuthZEN's certification scenario: Basic, Batch and Search with properties, and Discovery.
func TestCertification(t *testing.T) {
	s, gateway := certify(t)
	passed := 0
	for _, tt := range certification {
		code, answer := s.do(gateway, "POST", "/access/v1/"+tt.path, tt.body)
		if got := outcome(t, answer, tt.path, tt.want); code != tt.status || !fits(got, tt.want, tt.path) {
			t.Errorf("%s: %s %s: %d %s", tt.id, tt.path, tt.body, code, answer)
			continue
		}
		passed++
	}
	for range 5 { // 2.6: the same answer each time
		if _, answer := s.do(gateway, "POST", "/access/v1/evaluation", body(alice, read, record1)); !strings.Contains(answer, `"decision":true`) {
			t.Errorf("%s", answer)
		}
	}
	if code, _ := s.do(gateway, "POST", "/access/v1/evaluation", "", "Content-Type", "application/json"); code != 400 {
		t.Errorf("2.4.5: %d", code)
	}
	if code, _ := s.do(gateway, "POST", "/access/v1/evaluation", body(alice, read, record1), "Content-Type", "text/plain"); code != 400 {
		t.Errorf("2.4.3: %d", code)
	}
	t.Logf("%d of %d", passed, len(certification))
}

// outcome reads the decisions of an answer, or the names that a search found.
func outcome(t *testing.T, answer, path, want string) (out []string) {
	if want == "" {
		return nil
	}
	var in struct {
		Decision    *bool
		Evaluations []struct{ Decision *bool }
		Results     []struct{ Type, ID, Name string }
	}
	if err := json.Unmarshal([]byte(answer), &in); err != nil {
		t.Errorf("%s: %v", answer, err)
	}
	word := func(decision *bool) {
		if decision != nil {
			out = append(out, map[bool]string{true: "true", false: "false"}[*decision])
		}
	}
	word(in.Decision)
	for _, e := range in.Evaluations {
		word(e.Decision)
	}
	for _, r := range in.Results {
		out = append(out, r.ID+r.Name)
	}
	if strings.HasPrefix(path, "search/") && in.Results == nil {
		t.Errorf("no list of results: %s", answer)
	}
	return out
}

// fits tells whether an outcome is the one that is wanted: a search may find more, except where nothing is to be found.
func fits(got []string, want, path string) bool {
	words := strings.Fields(want)
	if want == "none" {
		return len(got) == 0
	}
	if strings.HasPrefix(path, "search/") {
		for _, w := range words {
			if !slices.Contains(got, w) {
				return false
			}
		}
		return true
	}
	return slices.EqualFunc(got, words, func(g, w string) bool { return w == "?" || g == w })
}

// TestDiscovery: the metadata names the base that it was asked at, and endpoints over TLS; an X-Request-ID comes back.
func TestDiscovery(t *testing.T) {
	s, gateway := certify(t)
	_, answer := s.do("", "GET", "/.well-known/authzen-configuration", "")
	var meta map[string]any
	must(t, json.Unmarshal([]byte(answer), &meta))
	if meta["policy_decision_point"] != s.http.URL {
		t.Errorf("%v, not %s", meta["policy_decision_point"], s.http.URL)
	}
	for name, value := range meta {
		text, _ := value.(string)
		if strings.HasSuffix(name, "_endpoint") && !strings.HasPrefix(text, s.http.URL+"/access/") {
			t.Errorf("%s: %v", name, value)
		}
	}
	req, err := http.NewRequestWithContext(t.Context(), "POST", s.http.URL+"/access/v1/search/action", strings.NewReader(body(alice, record1)))
	must(t, err)
	req.Header = http.Header{"Authorization": {"Bearer " + gateway}, "Content-Type": {"application/json"}, "X-Request-Id": {"r-7"}}
	resp, err := s.wire.RoundTrip(req)
	must(t, err)
	defer resp.Body.Close()
	if resp.Header.Get("X-Request-ID") != "r-7" || resp.Header.Get("Content-Type") != "application/json" {
		t.Errorf("%v", resp.Header)
	}
}

// TestVouching: roles in a request count only by a machine's token that vouches; an agent's, another machine's and a
// person's word on them does not.
func TestVouching(t *testing.T) {
	s, gateway := certify(t)
	machine := s.token(client.TokenRequest{Kind: "agent", Name: "host", Agent: client.AnyAgent})
	for token, want := range map[string]string{gateway: `"decision":true`, machine: `"decision":false`,
		s.agent: `"decision":false`, s.ann: "a machine's token that vouches"} {
		if _, answer := s.do(token, "POST", "/access/v1/evaluation", body(bobAdmin, write, archived)); !strings.Contains(answer, want) {
			t.Errorf("want %s: %s", want, answer)
		}
	}
	for _, r := range []client.TokenRequest{{Kind: "agent", Name: "a", Vouches: true}, {Kind: "person", Name: "b", Vouches: true}} {
		if _, err := server.NewToken(t.Context(), s.store, r, "test"); err == nil {
			t.Errorf("%+v", r)
		}
	}
}
