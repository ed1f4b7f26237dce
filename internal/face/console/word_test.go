package console_test

import (
	"encoding/json"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/obstat/obstat/client"
	"github.com/obstat/obstat/internal/face/server"
	"github.com/obstat/obstat/ledger"
)

// laptop has a machine send a record of its own ledger.
func (s *site) laptop(r *ledger.Record) {
	s.t.Helper()
	tok, err := server.NewToken(s.t.Context(), s.store, client.TokenRequest{Kind: "agent", Name: "laptop", Agent: client.AnyAgent}, "test")
	must(s.t, err)
	must(s.t, r.Seal(0, ledger.Hash{}))
	line, err := r.Encode()
	must(s.t, err)
	c, err := client.New(client.Options{URL: s.url, Token: tok.Secret})
	must(s.t, err)
	must(s.t, c.SendRecords(s.t.Context(), []string{string(line)}))
}

// TestForeignRecordsAreMarked: the history, and the page of a record, say whose word it is where a
// machine has sent it; what this server decided has no such mark.
func TestForeignRecordsAreMarked(t *testing.T) {
	s := open(t)
	s.laptop(&ledger.Record{Time: time.Now(), Kind: ledger.Answer, Agent: "a2", Tool: "bash", Verdict: "approved", Reason: "approved by boss"})
	s.run("git status")
	ann := s.visitor("ann")
	_, page := ann.get("/history")
	if strings.Count(page, "word of laptop") != 1 {
		t.Errorf("%s", page)
	}
	_, page = ann.get("/history?kind=answer")
	link := htmlText(regexp.MustCompile(`/history/\d+[^"]*`).FindString(page))
	if code, page := ann.get(link); code != http.StatusOK || !strings.Contains(page, "This is the word of <strong>laptop</strong>") || !strings.Contains(page, "did not decide it") {
		t.Errorf("%s: %d %s", link, code, page)
	}
	_, page = ann.get("/history?kind=decision")
	link = htmlText(regexp.MustCompile(`/history/\d+[^"]*`).FindString(page))
	if _, page := ann.get(link); strings.Contains(page, "the word of") {
		t.Errorf("%s", page)
	}
}

// TestPolicyOfTwo: where two people are wanted, the page says who proposes a version and why, and
// another agrees to it.
func TestPolicyOfTwo(t *testing.T) {
	s := openWith(t, func(o *server.Options) { o.PolicyWho.Needed = 2 })
	root, bob := s.visitor("root", server.RoleAdmin), s.visitor("bob", server.RoleAdmin)
	form := map[string][]string{"do": {"activate"}, "name": {"opencode.json"}, "dialect": {"opencode"}, "text": {strings.Replace(rules, `"rm *": "deny"`, `"rm *": "ask"`, 1)}, "active": {"0"}}
	if code, page := root.post("/policies", form); code != 200 || !strings.Contains(page, "It takes 2 people") || !strings.Contains(page, ">Propose<") {
		t.Fatalf("%d %s", code, page)
	}
	form["do"], form["reason"], form["loosens"] = []string{"confirm"}, []string{"rm is asked about"}, []string{"1"}
	if code, page := root.post("/policies", form); code != 200 || !strings.Contains(page, "The version is proposed") {
		t.Fatalf("%d %s", code, page)
	}
	if d := s.run("rm x"); d.Verdict != "deny" {
		t.Fatalf("%+v", d)
	}
	if _, page := bob.get("/policies"); !strings.Contains(page, "root wants version 1 in force: rm is asked about. 1 of 2 have agreed") || !strings.Contains(page, `href="/policies/1/activate"`) {
		t.Errorf("%s", page)
	}
	if code, page := bob.get("/policies/1/activate"); code != 200 || !strings.Contains(page, ">Agree<") || !strings.Contains(page, "Denied now, and no more") {
		t.Errorf("%d %s", code, page)
	}
	if code, page := bob.post("/policies/1/activate", map[string][]string{"active": {"0"}, "loosens": {"1"}}); code != 200 || !strings.Contains(page, "version 1 is in force") {
		t.Errorf("%d %s", code, page)
	}
	if d := s.run("rm x"); d.Verdict != "ask" {
		t.Errorf("%+v", d)
	}
}

// TestStaticIsNotListed: the directories of the pages' files have no page.
func TestStaticIsNotListed(t *testing.T) {
	s := open(t)
	for path, want := range map[string]int{"/static/": 404, "/static/uplot/": 404, "/static/console.css": 200} {
		resp, err := http.Get(s.url + path)
		must(t, err)
		resp.Body.Close()
		if resp.StatusCode != want {
			t.Errorf("%s: %d", path, resp.StatusCode)
		}
	}
}

// TestRulesAsWritten: a sentence that makes several rules is shown with the answer that it says.
func TestRulesAsWritten(t *testing.T) {
	s := open(t)
	tok, err := server.NewToken(t.Context(), s.store, client.TokenRequest{Kind: "person", Name: "root", Roles: []string{server.RoleAdmin}}, "test")
	must(t, err)
	api, err := client.New(client.Options{URL: s.url, Token: tok.Secret})
	must(t, err)
	const text = "version: 1\nallow:\n  - run git status, npm test\n  - write workspace\n  - {rule: \"run make ship\", when: {branch: main}}\nask:\n  - write .github/**\ndeny:\n  - read secrets\n"
	v, err := api.Upload(t.Context(), client.PolicyUpload{Files: []client.PolicyFile{{Name: "obstat.yaml", Text: text}}})
	must(t, err)
	_, err = api.Activate(t.Context(), v.Version, client.Activation{Reason: "a test", Loosens: true})
	must(t, err)
	_, page := s.visitor("root", server.RoleAdmin).get("/policies")
	got := map[string]string{}
	for _, m := range regexp.MustCompile(`<tr><td><span class="badge \w+">(\w+)</span></td><td class="text">([^<]*)</td>`).FindAllStringSubmatch(page, -1) {
		got[htmlText(m[2])] = m[1]
	}
	for rule, want := range map[string]string{"run git status, npm test": "allow", "write workspace": "allow", "run make ship": "allow", "write .github/**": "ask", "read secrets": "deny"} {
		if got[rule] != want {
			all, _ := json.Marshal(got)
			t.Errorf("%s: %q, want %s; %s", rule, got[rule], want, all)
		}
	}
}
