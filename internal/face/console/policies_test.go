package console_test

import (
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/obstat/obstat/client"
	"github.com/obstat/obstat/internal/face/server"
)

// TestPolicy: problems are shown at their line, nothing is changed by them, and a
// good text is compared, kept and put in force by who may.
func TestPolicy(t *testing.T) {
	s := open(t)
	admin, ann := s.visitor("root", server.RoleAdmin), s.visitor("ann")
	s.run("rm x")
	bad := strings.Replace(rules, `"git push *": "ask"`, `"git push *": "perhaps"`, 1)
	form := func(do, text string) url.Values {
		return url.Values{"do": {do}, "name": {"opencode.json"}, "dialect": {"opencode"}, "text": {text}, "active": {"0"}}
	}
	code, page := admin.post("/policies", form("activate", bad))
	if code != http.StatusUnprocessableEntity || !strings.Contains(page, `data-line="3"`) || !strings.Contains(htmlText(page), "perhaps") {
		t.Errorf("%d %s", code, page)
	}
	good := strings.Replace(rules, `"rm *": "deny"`, `"rm *": "ask"`, 1)
	if code, page = ann.post("/policies", form("check", good)); code != 200 || !strings.Contains(page, "What would change") || !strings.Contains(page, "1 deny → ask") {
		t.Errorf("%d %s", code, page)
	}
	if code, _ = ann.post("/policies", form("activate", good)); code != http.StatusForbidden {
		t.Errorf("who may not puts a policy in force: %d", code)
	}
	if d := s.run("rm y"); d.Verdict != "deny" {
		t.Errorf("%+v", d)
	}
	// First it is shown what would change; without a reason, or without saying that a denial is meant
	// to be lifted, nothing changes.
	if code, page = admin.post("/policies", form("activate", good)); code != 200 || !strings.Contains(page, "Denied now, and no more") || !strings.Contains(page, `class="witnesses lifted"`) {
		t.Errorf("%d %s", code, page)
	}
	sure := form("confirm", good)
	for _, missing := range []string{"reason", "loosens"} {
		sure.Set("reason", "rm is asked about")
		sure.Set("loosens", "1")
		sure.Del(missing)
		if code, page = admin.post("/policies", sure); code < 400 || !strings.Contains(page, "Nothing was changed") || !strings.Contains(htmlText(page), `"rm *": "ask"`) {
			t.Errorf("without %s: %d %s", missing, code, page)
		}
		if d := s.run("rm y"); d.Verdict != "deny" {
			t.Errorf("without %s: %+v", missing, d)
		}
	}
	sure.Set("loosens", "1")
	if code, page = admin.post("/policies", sure); code != 200 || !strings.Contains(page, "in force, on all replicas") || !strings.Contains(page, "rm is asked about") {
		t.Errorf("%d %s", code, page)
	}
	if d := s.run("rm z"); d.Verdict != "ask" {
		t.Errorf("%+v", d)
	}
	late := strings.Replace(rules, `"rm *": "deny"`, `"rm *": "allow"`, 1)
	for _, do := range []string{"activate", "confirm"} {
		old := form(do, late)
		old.Set("reason", "I was slower")
		old.Set("loosens", "1")
		code, page = admin.post("/policies", old)
		for _, want := range []string{"Another version was put in force since you looked", "by root", "rm is asked about", "I was slower", `"rm *": "allow"`, `name="active" value="`} {
			if code != http.StatusConflict || !strings.Contains(htmlText(page), want) {
				t.Errorf("%s, a version that nobody has looked at: %d, without %q: %s", do, code, want, page)
			}
		}
	}
	if code, page = ann.post("/policies/try", url.Values{"tool": {"bash"}, "text": {"rm z"}}); code != 200 || !strings.Contains(page, "settled: ask") {
		t.Errorf("%d %s", code, page)
	}
	if code, page = admin.get("/policies/rollback"); code != 200 || !strings.Contains(page, "the files that the server was started with, in place of") {
		t.Errorf("%d %s", code, page)
	}
	active := regexp.MustCompile(`name="active" value="(\d+)"`).FindStringSubmatch(page)[1]
	if code, page = admin.post("/policies/rollback", url.Values{"active": {active}, "reason": {"it was a mistake"}}); code != 200 {
		t.Errorf("%d %s", code, page)
	}
	if d := s.run("rm z"); d.Verdict != "deny" {
		t.Errorf("after the rollback: %+v", d)
	}
}

// TestPolicyFiles: each file of a policy has the editor, and the others stay as they are.
func TestPolicyFiles(t *testing.T) {
	s := open(t)
	admin := s.visitor("root", server.RoleAdmin)
	tok, err := server.NewToken(t.Context(), s.store, client.TokenRequest{Kind: "person", Name: "root", Roles: []string{server.RoleAdmin}}, "test")
	must(t, err)
	api, err := client.New(client.Options{URL: s.url, Token: tok.Secret})
	must(t, err)
	v, err := api.Upload(t.Context(), client.PolicyUpload{Files: []client.PolicyFile{{Name: "a.json", Layer: "global", Text: `{"permission": {"bash": "ask"}}`}, {Name: "b.json", Layer: "project", Text: `{"permission": {"edit": "deny"}}`}}, Dialect: "opencode"})
	must(t, err)
	_, err = api.Activate(t.Context(), v.Version, client.Activation{Reason: "two files", Loosens: true})
	must(t, err)
	if code, page := admin.get("/policies?file=1"); code != 200 || !strings.Contains(htmlText(page), `{"edit": "deny"}}</textarea>`) || !strings.Contains(page, "file=0#edit") {
		t.Errorf("%d %s", code, page)
	}
	form := url.Values{"do": {"check"}, "name": {"b.json"}, "dialect": {"opencode"}, "version": {"1"}, "file": {"1"}, "active": {"1"}, "text": {"{\"permission\":\n {\"edit\": \"never\"}}"}}
	if code, page := admin.post("/policies", form); code != http.StatusUnprocessableEntity || !strings.Contains(page, `data-line="2"`) {
		t.Errorf("%d %s", code, page)
	}
	form.Set("do", "confirm")
	form.Set("reason", "edits are asked")
	form.Set("loosens", "1")
	form.Set("text", `{"permission": {"edit": "ask"}}`)
	if code, page := admin.post("/policies", form); code != 200 || !strings.Contains(page, "version 2 is in force") {
		t.Errorf("%d %s", code, page)
	}
	got, err := api.Policy(t.Context(), 0)
	must(t, err)
	if len(got.Files) != 2 || got.Files[0].Text != `{"permission": {"bash": "ask"}}` || got.Files[1].Text != `{"permission": {"edit": "ask"}}` || got.Files[1].Layer != "project" {
		t.Errorf("%+v", got.Files)
	}
	for _, wrong := range []string{"/policies?file=2", "/policies?file=x", "/policies?version=-1"} {
		if code, _ := admin.get(wrong); code != http.StatusBadRequest {
			t.Errorf("%s: %d", wrong, code)
		}
	}
	if code, page := admin.get("/nothing"); code != http.StatusNotFound || !strings.Contains(page, "There is no such page: /nothing") {
		t.Errorf("%d %s", code, page)
	}
}
