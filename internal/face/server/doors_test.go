package server_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/obstat/obstat/client"
)

// TestBadStrings: a string that is no Unicode is refused with its position, wherever it stands and however long
// the body is, and breaks nothing.
func TestBadStrings(t *testing.T) {
	s := open(t, nil)
	long := strings.Repeat("x", 80<<10) // beyond the size that is read without a tree
	for _, text := range []string{`\ud800`, `\udc00 x`, "a\x01b", `\q`, "\xff", "\xc3"} {
		for _, pad := range []string{"", long} {
			for _, call := range []string{
				`{"call":{"tool":"bash","input":{"command":"%s"},"channel":"` + pad + `"}}`,
				`{"call":{"tool":"bash","input":{"command":["` + pad + `",{"%s":1}]}}}`,
				`{"call":{"tool":"%s","input":{"command":"` + pad + `"}}}`,
				`{"calls":[{"tool":"bash","input":{"x":"` + pad + `"}},{"tool":"bash","input":"%s"}]}`,
			} {
				code, body := s.do(s.agent, "POST", "/v1/decisions", strings.Replace(call, "%s", text, 1))
				if code != http.StatusBadRequest || !strings.Contains(body, `"line":1`) {
					t.Errorf("%q in %.60s: %d %.300s", text, call, code, body)
				}
			}
			body := `{"subject":{"type":"user","id":"u"},"action":{"name":"bash","properties":{"command":"` + text + `","x":"` +
				pad + `"}},"resource":{"type":"command","id":""}}`
			if code, body := s.do(s.agent, "POST", "/access/v1/evaluation", body); code != http.StatusBadRequest ||
				!strings.Contains(body, "1:") {
				t.Errorf("AuthZEN %q: %d %.300s", text, code, body)
			}
		}
	}
}

// TestLongNames: names that people have to read, and stores have to index, are bounded at the door; a directory may be as
// long as a path, and an input as long as a body.
func TestLongNames(t *testing.T) {
	s := open(t, nil)
	long := strings.Repeat("n", 9<<10)
	for field, at := range map[string]string{
		`"session":"` + long + `"`:         "call.session",
		`"agent":"` + long + `"`:           "call.agent",
		`"channel":"` + long + `"`:         "call.channel",
		`"mode":"` + long + `"`:            "call.mode",
		`"dir":"/` + long + `"`:            "call.dir",
		`"roots":["/a","/` + long + `"]`:   "call.roots[1]",
		`"tool":"` + long + `"`:            "call.tool",
		`"user":"` + long + `","tool":"t"`: "call.user",
	} {
		if !strings.Contains(field, `"tool"`) {
			field += `,"tool":"bash"`
		}
		code, body := s.do(s.agent, "POST", "/v1/decisions", `{"call":{`+field+`,"input":{}}}`)
		if code != http.StatusBadRequest || !strings.Contains(body, at) || !strings.Contains(body, `"col":`) || len(body) > 2000 {
			t.Errorf("%s: %d %.300s", at, code, body)
		}
	}
	if code, body := s.do(s.agent, "POST", "/v1/decisions", `{"call":{"tool":"`+strings.Repeat("t", 1<<20)+`","input":{}}}`); code != 400 || !strings.Contains(body, "call.tool has 1048576 bytes") || len(body) > 2000 {
		t.Errorf("a tool's name of 1 MB: %d %.300s", code, body)
	}
	if code, body := s.do(s.agent, "POST", "/v1/decisions", `{"calls":[{"tool":"bash","input":{}},{"tool":"`+long+`","input":{}}]}`); code != 400 || !strings.Contains(body, "calls[1].tool") {
		t.Errorf("%d %.300s", code, body)
	}
	if code, body := s.do(s.agent, "POST", "/v1/decisions", fmt.Sprintf(`{"call":{"tool":"edit","session":"s","dir":"/%s","input":{"content":"%s"}}}`, strings.Repeat("d", 3000), strings.Repeat("x", 1<<20))); code != 200 {
		t.Errorf("a long directory and a long input: %d %.300s", code, body)
	}
	if code, body := s.do(s.agent, "POST", "/access/v1/evaluation", `{"subject":{"type":"user","id":"u"},"action":{"name":"`+long+`"},"resource":{"type":"command","id":""}}`); code != 400 {
		t.Errorf("AuthZEN: %d %.200s", code, body)
	}
	for _, name := range []string{"name", "agent", "workspace", "user"} {
		body := `{"kind":"agent","name":"x"}`
		if name == "name" {
			body = `{"kind":"agent","name":"` + long + `"}`
		} else {
			body = `{"kind":"agent","name":"x","` + name + `":"/` + long + `"}`
		}
		if code, body := s.do(s.admin, "POST", "/v1/tokens", body); code != 400 || len(body) > 2000 {
			t.Errorf("a token's %s: %d %.200s", name, code, body)
		}
	}
}

// TestLongWords: what people and machines say beside a call is bounded as names are, and refused with its position.
func TestLongWords(t *testing.T) {
	s := open(t, nil)
	id := s.decide("make", "").Request.ID
	machine := s.token(client.TokenRequest{Kind: "agent", Name: "laptop", Agent: client.AnyAgent})
	long := strings.Repeat("w", 9<<10)
	for _, tt := range []struct{ token, path, body, at string }{
		{s.ann, "/v1/requests/" + id + "/answer", `{"allow":false,"words":"LONG"}`, "words"},
		{s.ann, "/v1/requests/answer", `{"ids":["` + id + `"],"answer":{"allow":true,"words":"LONG"}}`, "answer.words"},
		{s.ann, "/v1/requests/answer", `{"ids":["x","LONG"],"answer":{"allow":true}}`, "ids[1]"},
		{s.agent, "/v1/requests/" + id + "/claim", `{"digest":"x","key":"LONG"}`, "key"},
		{s.agent, "/v1/requests/" + id + "/outcome", `{"ok":true,"key":"LONG"}`, "key"},
		{s.agent, "/v1/tools", `{"tools":["bash","LONG"]}`, "tools[1]"},
		{machine, "/v1/agents/proofs", `{"proofs":[{"agent":"LONG","state":"holds"}]}`, "proofs[0].agent"},
		{s.admin, "/v1/policies", `{"files":[{"name":"opencode.json","text":"{}"}],"note":"LONG"}`, "note"},
		{s.admin, "/v1/policies", `{"files":[{"name":"opencode.json","text":"{}"},{"name":"LONG","text":"{}"}]}`, "files[1].name"},
		{s.ann, "/v1/policies/validate", `{"files":[{"name":"opencode.json","text":"{}"}],"options":{"agent":"LONG"}}`, "options"},
	} {
		code, body := s.do(tt.token, "POST", tt.path, strings.Replace(tt.body, "LONG", long, 1))
		if code != http.StatusBadRequest || !strings.Contains(body, tt.at+" has ") || !strings.Contains(body, `"col":`) || len(body) > 2000 {
			t.Errorf("%s %s: %d %.300s", tt.path, tt.at, code, body)
		}
	}
	if code, body := s.do(s.ann, "POST", "/permission/"+id+"/reply", `{"reply":"reject","message":"`+long+`"}`); code != 400 {
		t.Errorf("opencode's reply: %d %.200s", code, body)
	}
	if r := s.pending(1); r[0].ID != id {
		t.Errorf("%+v", r[0])
	}
}

// TestEqualAsks: an agent that makes the same call again in its session waits for the request that is there; people
// see one, and one answer for the session lets all of them run, one for once lets one.
func TestEqualAsks(t *testing.T) {
	s := open(t, nil)
	first := s.decide("git push", "").Request.ID
	for range 10 {
		if d := s.decide("git push", ""); d.Request == nil || d.Request.ID != first {
			t.Fatalf("asked again: %+v", d)
		}
	}
	if n := len(s.pending(1)); n != 1 {
		t.Fatalf("%d requests wait", n)
	}
	other := `{"call":{"tool":"bash","input":{"command":"git push"},"session":"another","dir":"/src"}}`
	if _, body := s.do(s.agent, "POST", "/v1/decisions", other); strings.Contains(body, first) {
		t.Error("another session has the same request")
	}
	got := make(chan client.Decision, 8)
	for range 4 {
		go func() { got <- s.decide("make all", `,"wait":60`) }()
	}
	id := s.pending(3)[2].ID
	answer := func(id, body string) {
		t.Helper()
		if code, text := s.do(s.ann, "POST", "/v1/requests/"+id+"/answer", body); code != 200 {
			t.Fatalf("%d %s", code, text)
		}
	}
	answer(id, `{"allow":true,"scope":"session"}`)
	for range 4 {
		if d := within(t, "make all", got); d.Verdict != "allow" {
			t.Errorf("%+v", d)
		}
	}
	for range 2 {
		go func() { got <- s.decide("make once", `,"wait":60`) }()
	}
	ran := 0
	for range 2 { // the second is asked about on its own: it is a second run
		for _, r := range s.pending(3) {
			if strings.Contains(string(r.Call.Input), "make once") {
				answer(r.ID, `{"allow":true,"scope":"once"}`)
			}
		}
		if d := within(t, "make once", got); d.Verdict == "allow" {
			ran++
		}
	}
	if ran != 2 {
		t.Errorf("%d of 2 ran", ran)
	}
}

// TestSemicolon: a query that net/http would drop in part is refused, not answered with all records.
func TestSemicolon(t *testing.T) {
	s := open(t, nil)
	if code, _ := s.do(s.ann, "GET", "/v1/ledger?session=x;y", ""); code != 400 {
		t.Errorf("%d", code)
	}
	if code, _ := s.do(s.ann, "GET", "/v1/ledger?session=x%3By", ""); code != 200 {
		t.Errorf("%d", code)
	}
}

// FuzzDoors: whatever a body holds, no handler breaks.
func FuzzDoors(f *testing.F) {
	for _, body := range []string{aCall, `{"call":{"tool":"bash","input":{"command":"\ud800"}}}`, `{"calls":[{}]}`, "{}", "[]", "\xff",
		`{"subject":{"type":"user","id":"u"},"action":{"name":"bash"},"resource":{"type":"command","id":""}}`,
		`{"lines":["{}"]}`, `{"reply":"once"}`, `{"ids":["a"],"answer":{"allow":true}}`, `{"tools":["a"]}`,
		`{"policy":{"dialect":"agentscope","files":[{"text":"{}"}]},"call":{"tool":"t"},"said":{"check":{"behavior":"ask"}}}`,
		`{"call":{"tool":"t"},"result":[{"a":"\ud800"}]}`} {
		for route := range uint8(18) {
			f.Add(route, body)
		}
	}
	f.Fuzz(func(t *testing.T, n uint8, body string) {
		s := open(t, nil)
		doors := []string{"/v1/decisions", "/v1/explain", "/v1/requests/x/answer", "/v1/requests/answer", "/v1/requests/x/claim",
			"/v1/requests/x/outcome", "/v1/agents/proofs", "/v1/tools", "/v1/records", "/v1/policies", "/v1/policies/validate",
			"/v1/policies/1/activate", "/v1/tokens", "/access/v1/evaluation", "/access/v1/evaluations", "/permission/x/reply",
			"/v1/try", "/v1/printed"}
		for _, token := range []string{s.agent, s.admin} {
			req := httptest.NewRequest("POST", s.http.URL+doors[int(n)%len(doors)], strings.NewReader(body))
			req.Header.Set("Authorization", "Bearer "+token)
			req.Header.Set("Content-Type", "application/json")
			rec := httptest.NewRecorder()
			s.srv.Handler().ServeHTTP(rec, req)
			if rec.Code >= 500 {
				t.Errorf("%s %q: %d %s", doors[int(n)%len(doors)], body, rec.Code, rec.Body)
			}
		}
	})
}
