package server_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/obstat/obstat/gate"
	"github.com/obstat/obstat/internal/face/server"
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
		{s.ann, "/permission/" + ids["make a"] + "/reply", `{"reply":"once"}`, 404},
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

// TestOpencodeReplies: a reply does what it does in opencode. A rejection takes the session's other requests along and
// leaves other sessions, "always" holds patterns and answers what it covers, and what is answered is not found.
func TestOpencodeReplies(t *testing.T) {
	s := open(t, nil)
	put := func(session, command string) string {
		t.Helper()
		body := fmt.Sprintf(`{"call":{"tool":"bash","input":{"command":%q},"session":%q,"dir":"/src"}}`, command, session)
		var d struct{ Request struct{ ID string } }
		if code, text := s.do(s.agent, "POST", "/v1/decisions", body); code != 200 || json.Unmarshal([]byte(text), &d) != nil {
			t.Fatalf("%d %s", code, text)
		}
		return "per_" + strings.TrimPrefix(d.Request.ID, "req_")
	}
	waiting := func() (out []string) {
		t.Helper()
		var list []struct{ ID string }
		s.get(s.ann, "/permission", &list)
		for _, r := range list {
			out = append(out, r.ID)
		}
		return out
	}
	reply := func(id, body string, want int) string {
		t.Helper()
		code, text := s.do(s.ann, "POST", "/permission/"+id+"/reply", body)
		if code != want {
			t.Fatalf("%s %s: %d %s", id, body, code, text)
		}
		return text
	}
	first, second, other := put("a", "make one"), put("a", "make two"), put("b", "make three")
	reply(first, `{"reply":"reject","message":"not now"}`, 200)
	if got := waiting(); len(got) != 1 || got[0] != other {
		t.Errorf("%v wait after a rejection", got)
	}
	if text := reply(second, `{"reply":"once"}`, 404); !strings.Contains(text, "PermissionNotFoundError") || !strings.Contains(text, second) {
		t.Error(text)
	}
	reply("per_nothing", `{"reply":"once"}`, 404)
	push, again, far := put("c", "git push origin a"), put("c", "git push origin b"), put("d", "git push origin c")
	var list []struct {
		ID     string
		Always []string
	}
	s.get(s.ann, "/permission", &list)
	if n := len(list); n != 4 || fmt.Sprint(list[1].Always) != "[git push *]" {
		t.Fatalf("%+v", list)
	}
	reply(push, `{"reply":"always"}`, 200)
	if got := waiting(); fmt.Sprint(got) != fmt.Sprint([]string{other, far}) {
		t.Errorf("%v wait after always for %s, which covers %s", got, push, again)
	}
}

// TestOpencodeNames: an ask about a directory outside, or about an equal call for the third time, is called that.
func TestOpencodeNames(t *testing.T) {
	s := open(t, func(o *server.Options) {
		file := filepath.Join(t.TempDir(), "opencode.json")
		must(t, os.WriteFile(file, []byte(`{"permission":{"*":"allow","external_directory":"ask","doom_loop":"ask"}}`), 0o600))
		o.Policy = &gate.Files{Names: []string{file}, NoPins: true}
	})
	put := func(call string) {
		t.Helper()
		if code, text := s.do(s.agent, "POST", "/v1/decisions", `{"call":`+call+`}`); code != 200 {
			t.Fatalf("%d %s", code, text)
		}
	}
	put(`{"tool":"read","input":{"filePath":"/etc/hosts"},"session":"a","dir":"/src"}`)
	for range 3 {
		put(`{"tool":"bash","input":{"command":"make test"},"session":"b","dir":"/src"}`)
	}
	var list []struct {
		Permission string
		Patterns   []string
	}
	s.get(s.ann, "/permission", &list)
	if got := fmt.Sprint(list); got != "[{external_directory [/etc/*]} {doom_loop [bash]}]" {
		t.Error(got)
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
		shown := "per_" + strings.TrimPrefix(id, "req_")
		if e := within(t, "the question about "+tt.command, all); e.Type != "permission.asked" || e.Properties.ID != shown || e.Properties.SessionID != "s" || e.Properties.Permission != "bash" || len(e.Properties.Patterns) != 1 {
			t.Errorf("%s: %+v", tt.command, e)
		}
		if code, body := s.do(s.ann, "POST", "/permission/"+id+"/reply", tt.answer); code != 200 {
			t.Fatalf("%d %s", code, body)
		}
		if e := within(t, "the reply to "+tt.command, all); e.Type != "permission.replied" || e.Properties.RequestID != shown || e.Properties.Reply != tt.reply {
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
