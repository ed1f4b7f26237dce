package mcp_test

import (
	"errors"
	"io"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	obstat "github.com/obstat/obstat/internal/face/mcp"
)

// TestDurable: a client that is reached over HTTP may outlive this machine, so it sees a
// result once its record is on the disk, and an error where that cannot be; one on standard
// input and output does not wait for the disk, which the journal sees to.
func TestDurable(t *testing.T) {
	l := newLab(t, []string{"mcp__toy__echo"}, nil, nil)
	process := &obstat.Process{Command: []string{l.self}, Env: []string{"OBSTAT_MCP_TEST=sdk"}, Stderr: io.Discard}
	disk, asked := make(chan error), make(chan struct{}, 100)
	guard := func() *obstat.Guard {
		g := l.guard()
		g.Durable = func() error {
			asked <- struct{}{}
			return <-disk
		}
		return g
	}
	front := guard().Handler(process, nil, nil)
	t.Cleanup(front.Close)
	web := httptest.NewServer(front)
	t.Cleanup(web.Close)
	s := l.dial(web.URL, "2025-06-18", nil)
	for _, lost := range []error{nil, errors.New("the disk is gone")} {
		done := make(chan error, 1)
		text := ""
		go func() {
			r, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: "echo", Arguments: map[string]any{"text": "hi"}})
			if err == nil {
				text = r.Content[0].(*mcp.TextContent).Text
			}
			done <- err
		}()
		within(t, "the disk, while the server works", asked)
		within(t, "the disk, before the result is handed on", asked)
		select {
		case err := <-done:
			t.Fatalf("the result comes before the disk has the record: %v", err)
		case <-time.After(50 * time.Millisecond):
		}
		disk <- lost
		disk <- lost
		if err := within(t, "the result", done); (err != nil) != (lost != nil) || lost == nil && text != "hi" || lost != nil && !strings.Contains(err.Error(), "could not be made durable: the disk is gone") {
			t.Errorf("%q %v", text, err)
		}
	}
	in, client := io.Pipe()
	server, out := io.Pipe()
	go func() { _ = guard().Serve(t.Context(), process, in, out) }()
	lines := make(chan string, 10)
	go func() {
		buf := make([]byte, 64<<10)
		for {
			n, err := server.Read(buf)
			if err != nil {
				return
			}
			lines <- string(buf[:n])
		}
	}()
	for _, tt := range []struct{ say, hear string }{
		{`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`, `"toy"`},
		{`{"jsonrpc":"2.0","method":"notifications/initialized"}`, ""},
		{`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"echo","arguments":{"text":"hi"}}}`, `"hi"`},
	} {
		if _, err := io.WriteString(client, tt.say+"\n"); err != nil {
			t.Fatal(err)
		}
		for heard := ""; !strings.Contains(heard, tt.hear); {
			heard += within(t, tt.hear, lines)
		}
	}
	if len(asked) > 0 {
		t.Error("a client on standard input and output waits for the disk")
	}
	client.Close()
}
