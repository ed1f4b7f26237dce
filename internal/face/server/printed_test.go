package server_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/obstat/obstat/client"
	"github.com/obstat/obstat/ledger"
)

// TestPrinted: a tool's output comes back without its secrets, in the same shape, told and recorded; one without any is
// left as it is, and nothing is recorded.
func TestPrinted(t *testing.T) {
	s := open(t, nil)
	const key = "ghp_16C7e42F292c6912E7710c838347Ae178B4a"
	put := func(token, call, result string) (int, client.Masked) {
		t.Helper()
		code, body := s.do(token, "POST", "/v1/printed", `{"call":`+call+`,"result":`+result+`}`)
		var out client.Masked
		if code == 200 {
			must(t, json.Unmarshal([]byte(body), &out))
		}
		return code, out
	}
	call := `{"tool":"bash","input":{"command":"cat .env"},"session":"s1","dir":"/src"}`
	for _, tt := range []struct {
		result, want string
		secrets      int
	}{
		{`"token: ` + key + `"`, `"token: [masked]"`, 1},
		{`{"stdout":"` + key + `","code":0}`, `{"code":0,"stdout":"[masked]"}`, 1},
		{`[{"type":"text","text":"a ` + key + `"},{"type":"text","text":"b ` + key + `"}]`,
			`[{"text":"a [masked]","type":"text"},{"text":"b [masked]","type":"text"}]`, 2},
		{`"ok  ./... 1.2s"`, ``, 0}, {`null`, ``, 0}, {`17`, ``, 0},
	} {
		code, out := put(s.agent, call, tt.result)
		if code != 200 || string(out.Result) != tt.want || out.Secrets != tt.secrets || strings.Contains(out.Note, "masked") != (tt.secrets > 0) {
			t.Errorf("%s: %d %s %+v", tt.result, code, out.Result, out)
		}
	}
	var found int
	_, lines := s.do(s.ann, "GET", "/v1/ledger?kind=outcome", "")
	for line := range strings.Lines(lines) {
		var r ledger.Record
		must(t, json.Unmarshal([]byte(line), &r))
		if r.Tool == "bash" && r.Session == "s1" && strings.Contains(string(r.Detail), `"masked":[{`) {
			found++
		}
	}
	if found != 3 || strings.Contains(lines, key) {
		t.Errorf("%d records of masked outputs, want 3:\n%s", found, lines)
	}
	for name, body := range map[string]string{"no result": `{"call":` + call + `}`, "no tool": `{"call":{},"result":1}`, "no object": `[]`} {
		if code, _ := s.do(s.agent, "POST", "/v1/printed", body); code != 400 && code != 422 {
			t.Errorf("%s: %d", name, code)
		}
	}
	if code, _ := put("", call, `"x"`); code != 401 {
		t.Errorf("without a token: %d", code)
	}
}
