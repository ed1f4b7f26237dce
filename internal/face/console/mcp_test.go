package console_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/obstat/obstat/approval"
	guarded "github.com/obstat/obstat/internal/face/mcp"
)

// withToken sends a token with everything.
type withToken string

func (w withToken) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(w))
	return http.DefaultTransport.RoundTrip(r)
}

// mcpCall: a tools/call of an MCP client waits until a person clicks in the console; it runs
// once, and the same call asks again.
func mcpCall(t *testing.T, browser context.Context) {
	var calls atomic.Int32
	up := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server {
		s := mcp.NewServer(&mcp.Implementation{Name: "tickets", Version: "1"}, nil)
		mcp.AddTool(s, &mcp.Tool{Name: "close"}, func(_ context.Context, _ *mcp.CallToolRequest, in struct {
			Ticket string `json:"ticket"`
		}) (*mcp.CallToolResult, any, error) {
			calls.Add(1)
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "closed " + in.Ticket}}}, nil, nil
		})
		return s
	}, nil))
	defer up.Close()
	s := open(t, guarded.Member{Guard: &guarded.Guard{Name: "tickets", Dir: "/src/shop"}, Remote: &guarded.Remote{URL: up.URL}})
	ann := s.tab(browser, "ann", "dev")
	c, err := mcp.NewClient(&mcp.Implementation{Name: "c", Version: "1"}, nil).Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: s.url + "/mcp/tickets", HTTPClient: &http.Client{Transport: withToken(s.agent)}},
		&mcp.ClientSessionOptions{ProtocolVersion: "2025-06-18"})
	must(t, err)
	defer c.Close()
	for i, button := range []string{"once", "deny"} {
		done := make(chan *mcp.CallToolResult, 1)
		go func() {
			r, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: "close", Arguments: map[string]any{"ticket": "SHOP-42"}})
			if err != nil {
				t.Error(err)
			}
			done <- r
		}()
		ann.sees("SHOP-42")
		if calls.Load() != int32(i) {
			t.Errorf("%d calls before the answer", calls.Load())
		}
		pending, err := s.store.Requests(t.Context(), approval.Query{State: approval.Pending})
		must(t, err)
		ann.answer(pending[0].ID, button)
		var r *mcp.CallToolResult
		select {
		case r = <-done:
		case <-time.After(limit):
			t.Fatalf("the call does not end after %s", button)
		}
		if r == nil || r.IsError != (button == "deny") || calls.Load() != 1 {
			t.Errorf("%s: %+v after %d calls", button, r, calls.Load())
		}
		ann.sees("Nothing stands in the way")
	}
}
