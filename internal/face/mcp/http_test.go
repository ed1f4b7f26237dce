//lint:file-ignore SA1019 servers may sample and list roots until the protocol drops that

package mcp_test

import (
	"bufio"
	"context"
	"encoding/base64"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/obstat/obstat/approval"
	obstat "github.com/obstat/obstat/internal/face/mcp"
	"github.com/obstat/obstat/store"
)

// station opens a gate in the lab's project.
func (l *lab) station() *obstat.Station {
	l.t.Helper()
	getenv := func(name string) string {
		for i := len(l.env) - 1; i >= 0; i-- {
			if v, ok := strings.CutPrefix(l.env[i], name+"="); ok {
				return v
			}
		}
		return ""
	}
	st, err := obstat.Open(l.t.Context(), obstat.Options{Dir: l.dir, Home: filepath.Dir(l.dir), Getenv: getenv, Log: io.Discard})
	if err != nil {
		l.t.Fatal(err)
	}
	l.t.Cleanup(st.Close)
	return st
}

func (l *lab) guard() *obstat.Guard {
	l.t.Helper()
	g, err := l.station().Guard("toy")
	if err != nil {
		l.t.Fatal(err)
	}
	return g
}

// dial connects a client of the SDK to an address.
func (l *lab) dial(url, version string, o *mcp.ClientOptions) *mcp.ClientSession {
	l.t.Helper()
	ctx, cancel := context.WithTimeout(l.t.Context(), time.Minute)
	defer cancel()
	s, err := mcp.NewClient(&mcp.Implementation{Name: "claude-code", Version: "1"}, o).Connect(ctx, &mcp.StreamableClientTransport{Endpoint: url}, &mcp.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		l.t.Fatal(err)
	}
	l.t.Cleanup(func() { _ = s.Close() })
	return s
}

// sdkUpstream is the toy server of the SDK over HTTP.
func sdkUpstream(t *testing.T, modern bool) string {
	h := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return sdkServer(nil) }, &mcp.StreamableHTTPOptions{Stateless: modern})
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.URL
}

// TestHTTP: the official SDK on both sides over HTTP, before a server over HTTP and before a
// process, in both eras.
func TestHTTP(t *testing.T) {
	for _, era := range eras[:3] {
		for _, up := range []string{"remote", "process"} {
			t.Run(era+" "+up, func(t *testing.T) {
				t.Parallel()
				l := newLab(t, []string{"mcp__toy__echo", "mcp__toy__progress"}, []string{"mcp__toy__touch"}, []string{"mcp__toy__erase"})
				var h http.Handler
				if up == "remote" {
					h = l.guard().Handler(nil, &obstat.Remote{URL: sdkUpstream(t, era == eras[0])}, nil)
				} else {
					h = l.guard().Handler(&obstat.Process{Command: []string{l.self}, Env: []string{"OBSTAT_MCP_TEST=sdk"}, Stderr: os.Stderr}, nil, nil)
				}
				front := httptest.NewServer(h)
				t.Cleanup(front.Close)
				l.everyKind(front.URL, era)
			})
		}
	}
}

// everyKind makes an allowed, a denied and an asked call.
func (l *lab) everyKind(url, era string) {
	l.t.Helper()
	t := l.t
	s := l.dial(url, era, &mcp.ClientOptions{ElicitationHandler: func(_ context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
		return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"answer": "once"}}, nil
	}})
	for range 3 {
		if text, failed := l.call(s, "echo", map[string]any{"text": "hi"}); text != "hi" || failed {
			t.Errorf("echo: %q %v", text, failed)
		}
	}
	if text, failed := l.call(s, "erase", map[string]any{"path": "/nowhere"}); !failed || !strings.Contains(text, "obstat denied erase") {
		t.Errorf("erase: %q %v", text, failed)
	}
	made := filepath.Join(l.dir, "made")
	if text, failed := l.call(s, "touch", map[string]any{"path": made}); failed {
		t.Errorf("touch: %q", text)
	}
	if _, err := os.Stat(made); err != nil {
		t.Error(err)
	}
	tools, err := s.ListTools(t.Context(), nil)
	if err != nil || len(tools.Tools) < 5 {
		t.Errorf("%v, %v", tools, err)
	}
}

// TestUpstream: a client on standard input and output, a server over HTTP.
func TestUpstream(t *testing.T) {
	for _, era := range eras[:3] {
		t.Run(era, func(t *testing.T) {
			t.Parallel()
			l := newLab(t, []string{"mcp__toy__echo"}, nil, []string{"mcp__toy__erase"})
			s := l.connect(l.obstat("mcp", "--name", "toy", "--upstream", sdkUpstream(t, era == eras[0])), era, nil)
			if text, failed := l.call(s, "echo", map[string]any{"text": "hi"}); text != "hi" || failed {
				t.Errorf("echo: %q %v", text, failed)
			}
			if text, failed := l.call(s, "erase", map[string]any{"path": "/nowhere"}); !failed || !strings.Contains(text, "obstat denied erase") {
				t.Errorf("erase: %q %v", text, failed)
			}
		})
	}
}

// answer answers the one request that waits, as obstat ask does.
func (l *lab) answer(allow bool) {
	s, err := store.Open(l.t.Context(), filepath.Join(filepath.Dir(l.dir), "state", "obstat", "obstat.db"))
	if err != nil {
		l.t.Error(err)
		return
	}
	defer s.Close()
	broker := approval.New(s, nil)
	for i := 0; ; i++ {
		all, err := broker.Pending(l.t.Context())
		if err != nil {
			l.t.Error(err)
			return
		}
		if len(all) == 1 {
			if _, err := broker.Answer(l.t.Context(), all[0].ID, approval.Answer{By: "ann", Allow: allow, Time: time.Now()}); err != nil {
				l.t.Error(err)
			}
			return
		}
		if i > 3000 {
			l.t.Errorf("%d requests wait", len(all))
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// TestHeld: a client without forms is kept waiting for the answer in obstat ask.
func TestHeld(t *testing.T) {
	for _, allow := range []bool{true, false} {
		l := newLab(t, nil, []string{"mcp__toy__echo"}, nil)
		s := l.connect(l.gateway([]string{"--wait", "1m"}), "2025-06-18", nil)
		go l.answer(allow)
		text, failed := l.call(s, "echo", map[string]any{"text": "hello"})
		if failed == allow || allow && text != "hello" || !allow && !strings.Contains(text, "refused by ann") {
			t.Errorf("%q %v", text, failed)
		}
	}
}

// TestChanged: a tool that describes itself differently than when it was first seen, and one
// that is new, are hidden; a call of it asks, with the reason, although a rule allows it.
func TestChanged(t *testing.T) {
	l := newLab(t, []string{"mcp__toy"}, nil, nil)
	names := func(s *mcp.ClientSession) (out []string) {
		r, err := s.ListTools(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, tool := range r.Tools {
			out = append(out, tool.Name)
		}
		return out
	}
	first := names(l.connect(l.gateway(nil), "", nil))
	asked := ""
	s := l.connect(l.gateway(nil, "changed"), "", &mcp.ClientOptions{ElicitationHandler: func(_ context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
		asked = r.Params.Message
		return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"answer": "once"}}, nil
	}})
	second := names(s)
	if !slices.Contains(first, "echo") || slices.Contains(second, "echo") || slices.Contains(second, "new_tool") || !slices.Contains(second, "touch") {
		t.Errorf("first %v, then %v", first, second)
	}
	if text, failed := l.call(s, "echo", map[string]any{"text": "hi"}); text != "hi" || failed || !strings.Contains(asked, "describes itself differently") {
		t.Errorf("%q %v; asked %q", text, failed, asked)
	}
	quiet := l.connect(l.gateway(nil, "changed"), "2025-06-18", nil)
	if text, failed := l.call(quiet, "new_tool", nil); !failed || !strings.Contains(text, "is new since") {
		t.Errorf("%q %v", text, failed)
	}
}

// TestServerAsks: sampling and roots are calls of the server's that the policy decides;
// elicitation is between the server and the user.
func TestServerAsks(t *testing.T) {
	for _, allow := range []bool{true, false} {
		rules := []string{"mcp__toy__sampling_createMessage", "mcp__toy__roots_list"}
		l := newLab(t, append([]string{"mcp__toy__samples", "mcp__toy__roots", "mcp__toy__asks"}, rules...), nil, nil)
		if !allow {
			l.settings([]string{"mcp__toy__samples", "mcp__toy__roots", "mcp__toy__asks"}, nil, rules)
		}
		s := l.connect(l.gateway(nil), "2025-06-18", &mcp.ClientOptions{
			CreateMessageHandler: func(context.Context, *mcp.CreateMessageRequest) (*mcp.CreateMessageResult, error) {
				return &mcp.CreateMessageResult{Role: "assistant", Model: "m", Content: &mcp.TextContent{Text: "yes"}}, nil
			},
			ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
				return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"word": "tea"}}, nil
			}})
		for tool, want := range map[string]string{"samples": "the model says yes", "roots": "0 roots"} {
			text, failed := l.call(s, tool, nil)
			if failed == allow || allow && text != want || !allow && !strings.Contains(text, "obstat denied") {
				t.Errorf("%s: %q %v", tool, text, failed)
			}
		}
		if text, failed := l.call(s, "asks", nil); failed || text != "the word is tea" {
			t.Errorf("asks: %q %v", text, failed)
		}
	}
}

// TestCancelled: cancelling a call reaches the server; progress reaches the client.
func TestCancelled(t *testing.T) {
	l := newLab(t, []string{"mcp__toy"}, nil, nil)
	told := make(chan string, 100)
	s := l.connect(l.gateway(nil), "2025-06-18", &mcp.ClientOptions{ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) { told <- r.Params.Message }})
	params := &mcp.CallToolParams{Name: "progress", Arguments: map[string]any{"n": 20}}
	params.SetProgressToken("t1")
	if _, err := s.CallTool(t.Context(), params); err != nil {
		t.Error(err)
	}
	for range 20 {
		within(t, "progress", told)
	}
	mark := filepath.Join(l.dir, "mark")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		holds(t, mark, "begun")
		cancel()
	}()
	if _, err := s.CallTool(ctx, &mcp.CallToolParams{Name: "slow", Arguments: map[string]any{"path": mark}}); err == nil {
		t.Error("it was cancelled")
	}
	holds(t, mark, "cancelled")
}

// TestHeaders: what the headers say has to be what the body says, and pages of others may
// not call.
func TestHeaders(t *testing.T) {
	l := newLab(t, []string{"mcp__toy"}, nil, nil)
	front := httptest.NewServer(l.guard().Handler(nil, &obstat.Remote{URL: sdkUpstream(t, true)}, nil))
	t.Cleanup(front.Close)
	meta := `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`
	body := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"text":"x"},` + meta + `}}`
	good := map[string]string{"Mcp-Method": "tools/call", "Mcp-Name": "echo", "Mcp-Protocol-Version": "2026-07-28"}
	for name, tt := range map[string]struct {
		change map[string]string
		status int
	}{
		"as it should be": {nil, 200},
		"another method":  {map[string]string{"Mcp-Method": "tools/list"}, 400},
		"another name":    {map[string]string{"Mcp-Name": "erase"}, 400},
		"name in base64":  {map[string]string{"Mcp-Name": "=?base64?ZWNobw==?="}, 200},
		"no name":         {map[string]string{"Mcp-Name": ""}, 400},
		"another version": {map[string]string{"Mcp-Protocol-Version": "2025-06-18"}, 400},
		"another origin":  {map[string]string{"Origin": "https://evil.example"}, 403},
		"our origin":      {map[string]string{"Origin": "http://localhost:8080"}, 200},
		"another host":    {map[string]string{"Host": "evil.example"}, 403},
	} {
		req, err := http.NewRequest("POST", front.URL, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Accept", "application/json, text/event-stream")
		req.Header.Set("Content-Type", "application/json")
		for _, h := range []map[string]string{good, tt.change} {
			for k, v := range h {
				if k == "Host" {
					req.Host = v
				}
				if req.Header.Set(k, v); v == "" {
					req.Header.Del(k)
				}
			}
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		text, _ := io.ReadAll(res.Body)
		res.Body.Close()
		if res.StatusCode != tt.status || tt.status == 400 && !strings.Contains(string(text), "-32020") {
			t.Errorf("%s: %d %s", name, res.StatusCode, text)
		}
	}
}

// TestTokens: a challenge of the server's is relayed; a client's token goes to the server
// only after it has asked for one, never one for somebody else, and never where it is the
// front's own.
func TestTokens(t *testing.T) {
	jwt := func(aud string) string {
		return "Bearer e30." + base64.RawURLEncoding.EncodeToString([]byte(`{"aud":"`+aud+`"}`)) + ".x"
	}
	for _, own := range []bool{false, true} {
		var got []string
		up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			got = append(got, r.Header.Get("Authorization"))
			if r.Header.Get("Authorization") == "" {
				w.Header().Set("WWW-Authenticate", `Bearer resource_metadata="https://up.example/.well-known/oauth-protected-resource"`)
				w.WriteHeader(401)
				return
			}
			body, _ := io.ReadAll(r.Body)
			w.Header().Set("Content-Type", "application/json")
			if strings.Contains(string(body), "initialize") {
				w.Write([]byte(`{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-06-18","capabilities":{},"serverInfo":{"name":"x","version":"1"}}}`))
			}
		}))
		l := newLab(t, []string{"mcp__toy"}, nil, nil)
		front := httptest.NewServer(l.guard().Handler(nil, &obstat.Remote{URL: up.URL}, &obstat.HTTPOptions{OwnTokens: own}))
		send := func(token string) *http.Response {
			req, _ := http.NewRequest("POST", front.URL, strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`))
			req.Header.Set("Authorization", token)
			res, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			res.Body.Close()
			return res
		}
		if res := send("Bearer first"); res.StatusCode != 401 || !strings.Contains(res.Header.Get("WWW-Authenticate"), "https://up.example/") {
			t.Errorf("%d %v", res.StatusCode, res.Header)
		}
		want := []string{"", jwt(up.URL + "/mcp"), "", "Bearer opaque"}
		if own {
			want = []string{"", "", "", ""}
		}
		send(jwt(up.URL + "/mcp"))
		send(jwt("https://other.example"))
		send("Bearer opaque")
		if !slices.Equal(got, want) {
			t.Errorf("own %v: the server got %q", own, got)
		}
		front.Close()
		up.Close()
	}
}

// TestConfig: the servers of a file behind one address, each under its own name.
func TestConfig(t *testing.T) {
	l := newLab(t, []string{"mcp__one__echo", "mcp__two__echo"}, nil, []string{"mcp__two__touch"})
	server := `{"command":"` + l.self + `","env":{"OBSTAT_MCP_TEST":"sdk"}}`
	l.write("project/mcp.json", `{"mcpServers":{"one":`+server+`,"two":`+server+`,"far":{"url":"`+sdkUpstream(t, false)+`"}}}`)
	cmd := l.obstat("mcp", "--config", "mcp.json", "--listen", "localhost:0")
	cmd.Stderr = nil
	words, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt)
		_ = cmd.Wait()
	})
	address := ""
	for lines := bufio.NewScanner(words); address == "" && lines.Scan(); {
		_, address, _ = strings.Cut(lines.Text(), "http://")
	}
	go io.Copy(io.Discard, words)
	for _, era := range eras {
		s := l.dial("http://"+address+"/mcp", era, nil)
		if text, failed := l.call(s, "two__echo", map[string]any{"text": era}); failed || text != era {
			t.Errorf("all, %s: %q %v", era, text, failed)
		}
	}
	for name, denied := range map[string]bool{"one": false, "two": true} {
		s := l.dial("http://"+address+"/mcp/"+name, "2025-06-18", nil)
		if text, failed := l.call(s, "echo", map[string]any{"text": name}); failed || text != name {
			t.Errorf("%s: %q %v", name, text, failed)
		}
		text, _ := l.call(s, "touch", map[string]any{"path": filepath.Join(l.dir, name)})
		if got := strings.Contains(text, "deny rule mcp__two__touch"); got != denied {
			t.Errorf("%s: %q", name, text)
		}
	}
}
