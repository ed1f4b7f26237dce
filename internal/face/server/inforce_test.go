package server_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/approval"
	"github.com/obstat/obstat/client"
	"github.com/obstat/obstat/gate"
	"github.com/obstat/obstat/internal/face/server"
	"github.com/obstat/obstat/ledger"
)

// upload keeps a policy of opencode's for bash, and returns its version.
func (s *site) upload(bash string) int {
	s.t.Helper()
	body, err := json.Marshal(client.PolicyUpload{Files: []client.PolicyFile{{Name: "opencode.json", Text: `{"permission": {"bash": ` + bash + `, "edit": "allow"}}`}}})
	must(s.t, err)
	code, text := s.do(s.admin, "POST", "/v1/policies", string(body))
	var v client.PolicyVersion
	if code != 200 || json.Unmarshal([]byte(text), &v) != nil {
		s.t.Fatalf("%d %s", code, text)
	}
	return v.Version
}

func activation(instead int, reason string, loosens bool) string {
	return fmt.Sprintf(`{"instead":%d,"reason":%q,"loosens":%t}`, instead, reason, loosens)
}

// puts returns the records of policies that people put in force or proposed.
func (s *site) puts() (out []string) {
	for _, r := range s.records(ledger.Policy) {
		if r.Detail != nil {
			out = append(out, r.Reason)
		}
	}
	return out
}

// TestPutInForceWantsAReason: a version that lifts denials or lets through what is asked is not put
// in force unless that is said, none is without a reason, and the ledger has who, why and what.
func TestPutInForceWantsAReason(t *testing.T) {
	t.Parallel()
	s := open(t, nil)
	looser := s.upload(`{"*": "ask", "rm *": "allow", "git status": "allow"}`)
	path := fmt.Sprintf("/v1/policies/%d/activate", looser)
	for name, tt := range map[string]struct {
		body string
		code int
		says string
	}{
		"no body":          {"", 415, ""},
		"no reason":        {activation(0, " ", true), 422, "a reason"},
		"a long reason":    {activation(0, strings.Repeat("x", 2001), true), 422, "a reason"},
		"a denial lifted":  {activation(0, "faster", false), 409, `"was":"deny","now":"allow"`},
		"another in force": {activation(7, "faster", true), 409, "is in force by now"},
	} {
		if code, body := s.do(s.admin, "POST", path, tt.body); code != tt.code || !strings.Contains(body, tt.says) {
			t.Errorf("%s: %d %s", name, code, body)
		}
	}
	if d := s.decide("rm x", ""); d.Verdict != "deny" || len(s.puts()) > 0 {
		t.Fatalf("%+v %q", d, s.puts())
	}
	if code, body := s.do(s.admin, "POST", path, activation(0, "the token is AKIAIOSFODNN7EXAMPLE", true)); code != 200 || !strings.Contains(body, `"in_force":true`) {
		t.Fatalf("%d %s", code, body)
	}
	rec := slices.DeleteFunc(s.records(ledger.Policy), func(r *ledger.Record) bool { return r.Detail == nil })[0]
	var detail struct {
		Version, Instead, Looser int
		People                   []struct{ By string }
		Lifted                   []client.Witness
	}
	must(t, json.Unmarshal(rec.Detail, &detail))
	if !strings.HasPrefix(rec.Reason, "root put version 1 of the policy in force, in place of the files that the server was started with: the token is ") || strings.Contains(rec.Reason, "AKIA") || rec.User != "root" {
		t.Errorf("%+v", rec)
	}
	if detail.Version != 1 || detail.Looser == 0 || len(detail.Lifted) == 0 || detail.Lifted[0].Was != "deny" || detail.People[0].By != "root" {
		t.Errorf("%s", rec.Detail)
	}
	// What is only stricter needs no more than the reason.
	if code, body := s.do(s.admin, "POST", fmt.Sprintf("/v1/policies/%d/activate", s.upload(`{"*": "deny"}`)), activation(1, "an incident", false)); code != 200 {
		t.Errorf("%d %s", code, body)
	}
	if code, body := s.do(s.admin, "POST", "/v1/policies/rollback", activation(2, "it is over", false)); code != 409 || !strings.Contains(body, "loosens") {
		t.Errorf("a rollback that loosens: %d %s", code, body)
	}
	if code, body := s.do(s.admin, "POST", "/v1/policies/rollback", activation(2, "it is over", true)); code != 200 {
		t.Errorf("%d %s", code, body)
	}
	if got := s.puts(); len(got) != 3 || got[2] != "root rolled back to version 1 of the policy, from version 2 of the policy: it is over" {
		t.Errorf("%q", got)
	}
}

// TestTwoPutInForceAtOnce: of people who put versions in force at the same time, each having looked
// at the same one, exactly one wins; the others are told which is in force and what theirs would
// change now, and their versions are kept.
func TestTwoPutInForceAtOnce(t *testing.T) {
	t.Parallel()
	s := open(t, nil)
	const n = 4
	var codes [n]int
	var bodies [n]string
	var all sync.WaitGroup
	people := make([]*browser, n)
	for i := range people {
		people[i] = s.browser(fmt.Sprint("p", i), server.RoleAdmin)
		s.upload(fmt.Sprintf(`{"*": "ask", "rm *": "deny", "make %d": "deny"}`, i))
	}
	for i, p := range people {
		all.Go(func() {
			codes[i], bodies[i] = p.do("POST", fmt.Sprintf("/v1/policies/%d/activate", i+1), activation(0, fmt.Sprint("reason ", i), true))
		})
	}
	all.Wait()
	winner := slices.Index(codes[:], 200)
	if winner < 0 {
		t.Fatalf("%v %s", codes, bodies[0])
	}
	for i, code := range codes {
		var p client.Problem
		if i == winner {
			continue
		}
		must(t, json.Unmarshal([]byte(bodies[i]), &p))
		if code != 409 || !strings.Contains(p.Detail, fmt.Sprintf("by p%d at", winner)) || !strings.Contains(p.Detail, fmt.Sprint("reason ", winner)) || p.Diff == nil || len(p.Diff.Witness) == 0 {
			t.Errorf("%d of %d, who lost to %d: %s", i, code, winner, bodies[i])
		}
	}
	var list client.Policies
	if s.get(s.ann, "/v1/policies", &list); list.Active != winner+1 || len(list.Policies) != n {
		t.Errorf("%+v", list)
	}
	// A record that was written by one who then lost is taken back by another.
	took := 0
	for _, text := range s.puts() {
		switch {
		case strings.Contains(text, "was not put in force"):
			took--
		case strings.Contains(text, " in force, in place of"):
			took++
		}
	}
	if took != 1 {
		t.Errorf("%q", s.puts())
	}
}

// TestPolicyOfTwo: where the roster wants two people for policies, one proposes and another agrees;
// a token, the same person again and an agent's "always" do not.
func TestPolicyOfTwo(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("-short: several servers")
	}
	roster := approval.Roster{{Policy: true, Who: approval.Who{Needed: 2}}, {Tool: "edit", Who: approval.Who{Roles: []string{"lead"}}}}
	if who := roster.For(&obstat.Call{Tool: "bash"}, &obstat.Decision{}); who.Needed != 0 {
		t.Fatalf("calls take two: %+v", who)
	}
	s := open(t, func(o *server.Options) { o.PolicyWho = roster.ForPolicy() })
	looser := s.upload(`{"*": "ask", "rm *": "ask", "git status": "allow"}`)
	path, body := fmt.Sprintf("/v1/policies/%d/activate", looser), activation(0, "rm is asked", true)
	root, bob := s.browser("root", server.RoleAdmin), s.browser("bob", server.RoleAdmin)
	if code, text := s.do(s.admin, "POST", path, body); code != 403 || !strings.Contains(text, "logged in") {
		t.Errorf("a token: %d %s", code, text)
	}
	if code, text := root.do("POST", path, body); code != 200 || !strings.Contains(text, `"in_force":false`) || !strings.Contains(text, `"by":["root"],"needed":2`) {
		t.Fatalf("%d %s", code, text)
	}
	for name, p := range map[string]*browser{"again": root, "by another login": s.browser("ROOT", server.RoleAdmin), "no administrator": s.browser("ann")} {
		if code, text := p.do("POST", path, body); code != 403 {
			t.Errorf("%s: %d %s", name, code, text)
		}
	}
	if d := s.decide("rm x", ""); d.Verdict != "deny" {
		t.Fatalf("%+v", d)
	}
	var list client.Policies
	if s.get(s.ann, "/v1/policies", &list); list.Proposal == nil || list.Proposal.Version != looser || list.Proposal.Reason != "rm is asked" {
		t.Errorf("%+v", list)
	}
	if code, text := bob.do("POST", path, activation(0, "", false)); code != 409 {
		t.Errorf("agreed without saying that it loosens: %d %s", code, text)
	}
	if code, text := bob.do("POST", path, activation(0, "", true)); code != 200 || !strings.Contains(text, `"in_force":true`) {
		t.Fatalf("%d %s", code, text)
	}
	d := s.decide("rm x", "")
	if d.Verdict != "ask" {
		t.Fatalf("%+v", d)
	}
	want := []string{"root wants version 1 of the policy in force, in place of the files that the server was started with; 1 of 2 have agreed: rm is asked",
		"root and bob put version 1 of the policy in force, in place of the files that the server was started with: rm is asked"}
	if got := s.puts(); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	if code, text := bob.do("POST", "/v1/requests/"+d.Request.ID+"/answer", `{"allow":true,"scope":"always","offer":1}`); code != 403 || !strings.Contains(text, "takes 2 people") {
		t.Errorf("always: %d %s", code, text)
	}
	if code, text := bob.do("POST", "/v1/requests/"+d.Request.ID+"/answer", `{"allow":true}`); code != 200 {
		t.Errorf("once: %d %s", code, text)
	}
	// A proposal that another version has overtaken counts no more.
	other := s.upload(`{"*": "deny"}`)
	for _, v := range []int{other, s.upload(`{"*": "ask"}`)} {
		if code, text := root.do("POST", fmt.Sprintf("/v1/policies/%d/activate", v), activation(1, "x", true)); code != 200 || !strings.Contains(text, `"in_force":false`) {
			t.Errorf("%d %s", code, text)
		}
	}
	if code, text := bob.do("POST", fmt.Sprintf("/v1/policies/%d/activate", other), activation(1, "y", true)); code != 200 || !strings.Contains(text, `"by":["bob"]`) {
		t.Errorf("root has proposed another since: %d %s", code, text)
	}
}

// TestAgreeByRole: who agrees need be no administrator where the roster names the role.
func TestAgreeByRole(t *testing.T) {
	t.Parallel()
	s := open(t, func(o *server.Options) { o.PolicyWho = approval.Who{Each: []string{server.RoleAdmin, "security"}} })
	path, body := fmt.Sprintf("/v1/policies/%d/activate", s.upload(`{"*": "deny"}`)), activation(0, "strict", true)
	sec := s.browser("sec", "security")
	if code, _ := sec.do("POST", path, body); code != 403 {
		t.Errorf("proposed by who is no administrator: %d", code)
	}
	if code, text := s.browser("root", server.RoleAdmin).do("POST", path, body); code != 200 || !strings.Contains(text, `"needed":2`) {
		t.Fatalf("%d %s", code, text)
	}
	if code, _ := s.browser("root2", server.RoleAdmin).do("POST", path, body); code != 403 {
		t.Errorf("a second administrator is no security: %d", code)
	}
	if code, text := sec.do("POST", path, body); code != 200 || !strings.Contains(text, `"in_force":true`) {
		t.Errorf("%d %s", code, text)
	}
}

// TestDifferenceOfSeveral: a version is compared with all policies that are in force beside each
// other, so that what another file denies is among the denials that it would lift.
func TestDifferenceOfSeveral(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("-short: several servers")
	}
	dir, home := t.TempDir(), t.TempDir()
	for name, text := range map[string]string{
		filepath.Join(dir, "opencode.json"):                     `{"permission": {"bash": {"*": "ask"}, "edit": "allow"}}`,
		filepath.Join(home, ".config", "obstat", "obstat.yaml"): "version: 1\ndeny:\n  - run shred\n",
	} {
		must(t, os.MkdirAll(filepath.Dir(name), 0o700))
		must(t, os.WriteFile(name, []byte(text), 0o600))
	}
	s := open(t, func(o *server.Options) {
		o.Policy = &gate.Files{Dir: dir, Home: home, Mine: true, NoPins: true, Getenv: func(string) string { return "" }}
	})
	code, body := s.do(s.admin, "POST", fmt.Sprintf("/v1/policies/%d/activate", s.upload(`{"*": "ask"}`)), activation(0, "the same", false))
	if code != 409 || !strings.Contains(body, "shred") || !strings.Contains(body, `"was":"deny","now":"ask"`) {
		t.Errorf("%d %s", code, body)
	}
}
