package mcp

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/approval"
)

// hidden is a message that looks harmless, with a denied call on a line of its own.
func hidden(end string) string {
	return `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}},"x":[` + end +
		`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"erase","arguments":{}}}` + end + `]}}`
}

// second returns a message that begins on a line of its own within another one, for a reader
// that takes all kinds of ends for the end of a line; "": none.
func second(text string) string {
	for i, line := range strings.FieldsFunc(text, func(r rune) bool { return r == '\n' || r == '\r' }) {
		if i > 0 && begins([]byte(line)) {
			return line
		}
	}
	return ""
}

// TestHiddenCall: a call on a line of its own within another message is not one to a server
// that reads lines, nor an answer to a client that does.
func TestHiddenCall(t *testing.T) {
	w := newWire(t, open)
	w.says(hidden("\r"))
	if got := second(w.next(w.server)); got != "" {
		t.Errorf("the server reads %s", got)
	}
	w.answers(`{"jsonrpc":"2.0","id":1,"result":{"x":[` + "\r" + `{"jsonrpc":"2.0","id":2,"result":{"tools":[]}}` + "\r" + `]}}`)
	if got := second(w.next(w.client)); got != "" {
		t.Errorf("the client reads %s", got)
	}
}

// TestHiddenCallOverHTTP: the same in the body of a request, for a server that is a process.
func TestHiddenCallOverHTTP(t *testing.T) {
	w := newWire(t, open)
	seen := filepath.Join(t.TempDir(), "seen")
	f := w.s.Guard.Handler(&Process{Command: []string{"sh", "-c", `while read -r line; do printf '%s\n' "$line" >> "$0"; echo '{"jsonrpc":"2.0","id":1,"result":{}}'; done`, seen}}, nil, nil)
	t.Cleanup(f.Close)
	front := httptest.NewServer(f)
	t.Cleanup(front.Close)
	for _, end := range []string{"\n", "\r\n", "\r"} {
		req, err := http.NewRequestWithContext(t.Context(), "POST", front.URL, strings.NewReader(hidden(end)))
		if err != nil {
			t.Fatal(err)
		}
		for name, value := range map[string]string{"Content-Type": "application/json", "Mcp-Method": "ping", "Mcp-Protocol-Version": "2026-07-28"} {
			req.Header.Set(name, value)
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil || resp.StatusCode != 200 {
			t.Fatalf("%v %v", resp, err)
		}
		resp.Body.Close()
	}
	text, err := os.ReadFile(seen)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	for _, line := range lines {
		if got := second(line); got != "" || !strings.Contains(line, `"ping"`) {
			t.Errorf("the server reads %s", line)
		}
	}
	if len(lines) != 3 {
		t.Errorf("the server reads %d messages", len(lines))
	}
}

// TestRequestsWithoutID: a call that has no id is no notification, and goes nowhere.
func TestRequestsWithoutID(t *testing.T) {
	w := newWire(t, open)
	for _, method := range []string{"tools/call", "resources/read", "tools/list", "x"} {
		w.says(`{"jsonrpc":"2.0","method":"` + method + `","params":{"name":"erase","arguments":{"path":"/"},"uri":"file:///etc/shadow"}}`)
	}
	w.says(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	if got := w.next(w.server); !strings.Contains(got, "notifications/initialized") {
		t.Errorf("the server was sent %s", got)
	}
	if text := w.log.String(); !strings.Contains(text, "tools/call without an id") {
		t.Errorf("nobody is told: %s", text)
	}
	w.answers(`{"jsonrpc":"2.0","method":"sampling/createMessage","params":{"messages":[]}}`)
	w.answers(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"x"}}`)
	if got := w.next(w.client); !strings.Contains(got, "notifications/message") {
		t.Errorf("the client was sent %s", got)
	}
}

// TestServerAnswersForm: the answer to a question of the gateway's comes from the client, even
// if a server knows its id.
func TestServerAnswersForm(t *testing.T) {
	w := newWire(t, open)
	w.says(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{"elicitation":{}},"clientInfo":{"name":"c","version":"1"}}}`)
	w.next(w.server)
	w.answers(`{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-06-18","capabilities":{},"serverInfo":{"name":"s","version":"1"}}}`)
	w.next(w.client)
	w.lists("ask")
	w.says(`{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"ask","arguments":{}}}`)
	form := w.next(w.client)
	m, err := (&reader{}).read([]byte(form))
	if err != nil || m.method != "elicitation/create" {
		t.Fatalf("%s", form)
	}
	answer := `{"jsonrpc":"2.0","id":` + m.id + `,"result":{"action":"accept","content":{"answer":"once"}}}`
	w.answers(answer)
	if got := w.next(w.server); !strings.Contains(got, "nothing waits for a response") {
		t.Errorf("the server has answered for the person: %s", got)
	}
	w.says(answer)
	if got := w.next(w.server); !strings.Contains(got, `"name":"ask"`) {
		t.Errorf("the client's answer does not count: %s", got)
	}
}

// TestSealedPlace: the answer to a question is for the directory that it was asked in.
func TestSealedPlace(t *testing.T) {
	w := newWire(t, open)
	w.s.Key = []byte("key")
	c := obstat.Call{Tool: "mcp__toy__ask", Input: []byte(`{"path":"x"}`), Dir: "/a"}
	state, err := w.s.seal(&question{id: "r", call: &c, req: &approval.Request{Expires: time.Now().Add(time.Hour)}})
	if err != nil {
		t.Fatal(err)
	}
	st, _ := w.s.unseal(state)
	if why := w.s.fits(st, &c); why != "" {
		t.Errorf("in its place: %s", why)
	}
	if c.Dir = "/b"; w.s.fits(st, &c) == "" {
		t.Error("it fits in another place")
	}
}
