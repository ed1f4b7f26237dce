package server_test

import (
	"fmt"
	"strings"
	"testing"
)

// TestOpencodePermissions: opencode's clients list what waits and reply in their own
// form, once, always or with words; an agent's token does neither.
func TestOpencodePermissions(t *testing.T) {
	s := open(t, nil)
	ids := map[string]string{}
	for _, command := range []string{"make a", "make b", "npm test"} {
		ids[command] = s.decide(command, "").Request.ID
	}
	var list []struct {
		ID, SessionID, Permission string
		Patterns, Always          []string
	}
	if s.get(s.ann, "/permission", &list); len(list) != 3 || list[0].SessionID != "s" || list[0].Permission != "bash" || len(list[0].Patterns) != 1 {
		t.Fatalf("%+v", list)
	}
	if s.get(s.ann, "/permission?directory=/other", &list); len(list) != 0 {
		t.Errorf("%+v", list)
	}
	for _, tt := range []struct {
		token, path, body string
		code              int
	}{
		{s.agent, "/permission/" + ids["make a"] + "/reply", `{"reply":"once"}`, 403},
		{s.ann, "/permission/" + ids["make a"] + "/reply", `{"reply":"yes"}`, 400},
		{s.ann, "/permission/nothing/reply", `{"reply":"once"}`, 404},
		{s.ann, "/session/other/permissions/" + ids["make b"], `{"response":"once"}`, 404},
		{s.ann, "/permission/" + ids["make a"] + "/reply", `{"reply":"once"}`, 200},
		{s.ann, "/permission/" + ids["make a"] + "/reply", `{"reply":"once"}`, 409},
		{s.ann, "/session/s/permissions/" + ids["make b"], `{"response":"always"}`, 200},
		{s.ann, "/permission/" + ids["npm test"] + "/reply", `{"reply":"reject","message":"use make"}`, 200},
	} {
		if code, body := s.do(tt.token, "POST", tt.path, tt.body); code != tt.code || code == 200 && strings.TrimSpace(body) != "true" {
			t.Errorf("%s %s: %d %s", tt.path, tt.body, code, body)
		}
	}
	if code, body := s.do(s.agent, "GET", "/permission", ""); code != 403 {
		t.Errorf("an agent lists: %d %s", code, body)
	}
	var r struct{ State, Reason string }
	if s.get(s.ann, fmt.Sprintf("/v1/requests/%s", ids["npm test"]), &r); r.State != "refused" {
		t.Errorf("%+v", r)
	}
}
