package mcp_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	obstat "github.com/obstat/obstat/internal/mcp"
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
	ctx, cancel := context.WithTimeout(l.t.Context(), 30*time.Second)
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
