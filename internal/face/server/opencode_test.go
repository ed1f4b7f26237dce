package server_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
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

// TestOpencodeEvents: opencode's clients hear of requests that are put and answered, in
// their own form, and of those of their directory alone.
func TestOpencodeEvents(t *testing.T) {
	s := open(t, nil)
	type event struct {
		ID, Type   string
		Properties struct {
			ID, SessionID, RequestID, Reply, Permission string
			Patterns                                    []string
		}
	}
	listen := func(path string) chan event {
		req, err := http.NewRequestWithContext(t.Context(), "GET", s.http.URL+path, nil)
		must(t, err)
		req.Header.Set("Authorization", "Bearer "+s.ann)
		resp, err := s.http.Client().Do(req)
		must(t, err)
		t.Cleanup(func() { resp.Body.Close() })
		if got := resp.Header.Get("Content-Type"); resp.StatusCode != 200 || got != "text/event-stream" {
			t.Fatalf("%d %s", resp.StatusCode, got)
		}
		out := make(chan event, 16)
		go func() {
			for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
				var e event
				if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok && json.Unmarshal([]byte(data), &e) == nil && e.Type != "server.heartbeat" {
					out <- e
				}
			}
		}()
		if e := within(t, "the first event of "+path, out); e.Type != "server.connected" || e.ID == "" {
			t.Fatalf("%+v", e)
		}
		return out
	}
	all, other := listen("/event?directory=/src"), listen("/event?directory=/other")
	for _, tt := range []struct{ command, answer, reply string }{{"make a", `{"reply":"once"}`, "once"}, {"make b", `{"reply":"always"}`, "always"}, {"make c", `{"reply":"reject"}`, "reject"}} {
		id := s.decide(tt.command, "").Request.ID
		if e := within(t, "the question about "+tt.command, all); e.Type != "permission.asked" || e.Properties.ID != id || e.Properties.SessionID != "s" || e.Properties.Permission != "bash" || len(e.Properties.Patterns) != 1 {
			t.Errorf("%s: %+v", tt.command, e)
		}
		if code, body := s.do(s.ann, "POST", "/permission/"+id+"/reply", tt.answer); code != 200 {
			t.Fatalf("%d %s", code, body)
		}
		if e := within(t, "the reply to "+tt.command, all); e.Type != "permission.replied" || e.Properties.RequestID != id || e.Properties.Reply != tt.reply {
			t.Errorf("%s: %+v", tt.command, e)
		}
	}
	select {
	case e := <-other:
		t.Errorf("another directory hears of %+v", e)
	default:
	}
	if code, _ := s.do(s.agent, "GET", "/event", ""); code != 403 {
		t.Errorf("an agent listens: %d", code)
	}
}
