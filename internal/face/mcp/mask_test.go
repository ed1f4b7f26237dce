package mcp

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestMask: secrets in a server's results and errors do not reach the client, which is told, and the ledger has how many.
// A state that the client sends again and an image stay as they are.
func TestMask(t *testing.T) {
	const secret = "ghp_16C7e42F292c6912E7710c838347Ae178B4a"
	image := strings.Repeat("iVBORw0KGgoAAAANSUhEUgAA", 40)
	w := newWire(t, `{"allow":["mcp__toy"]}`)
	w.lists("echo")
	for _, tt := range []struct{ method, answer, want string }{
		{"tools/call", `"result":{"content":[{"type":"text","text":"token ` + secret + `"}],"isError":false}`, `token [masked]`},
		{"tools/call", `"result":{"content":[],"structuredContent":{"password":"a8f5f167f44f4964e6c998dee827110c"}}`, `"password":"[masked]"`},
		{"tools/call", `"result":{"content":[{"type":"image","data":"` + image + `"},{"type":"text","text":"` + secret + `"}]}`, image},
		{"tools/call", `"error":{"code":-32603,"message":"no login: ` + secret + `"}`, `no login: [masked]`},
		{"resources/read", `"result":{"contents":[{"uri":"file:///.env","text":"API_KEY=` + secret + `"}]}`, `API_KEY=[masked]`},
		{"tools/call", `"result":{"resultType":"input_required","requestState":"` + secret + `","content":[]}`, secret},
	} {
		params := `{"name":"echo","arguments":{}}`
		if tt.method == "resources/read" {
			params = `{"uri":"file:///.env"}`
		}
		w.one(w.says, w.server, `{"jsonrpc":"2.0","id":1,"method":"`+tt.method+`","params":`+params+`}`)
		answer := `{"jsonrpc":"2.0","id":1,` + tt.answer + `}`
		w.answers(answer)
		got := w.next(w.client)
		if !strings.Contains(got, tt.want) || strings.Contains(got, secret) != (tt.want == secret) {
			t.Errorf("%s\narrives as %s", answer, got)
		}
		if told := strings.Contains(got, "obstat has masked"); told != strings.Contains(got, `"content":[{`) {
			t.Errorf("told %v: %s", told, got)
		}
	}
	ledger, err := os.ReadFile(filepath.Join(w.home, "state/obstat/obstat.ledger"))
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(ledger), `"kind":"outcome"`); n != 5 || strings.Contains(string(ledger), secret) ||
		strings.Contains(string(ledger), "a8f5f167") {
		t.Errorf("%d outcomes", n)
	}
	w.s.NoMask = true
	w.through(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"echo"}}`,
		`{"jsonrpc":"2.0","id":2,"result":{"content":[{"type":"text","text":"`+secret+`"}]}}`)
}
