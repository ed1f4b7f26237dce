package mcp_test

import (
	"bufio"
	"bytes"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/obstat/obstat/internal/face/cli"
	"github.com/obstat/obstat/internal/guard/person/persontest"
)

// withToken sends a token with everything.
type withToken string

func (w withToken) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(w))
	return http.DefaultTransport.RoundTrip(r)
}

// TestServeMCP: obstat serve --mcp starts servers as processes for agents with a token, each
// with its own session, in every era; when it ends, so do they.
func TestServeMCP(t *testing.T) {
	l := newLab(t, []string{"mcp__one__echo"}, nil, []string{"mcp__one__touch"})
	l.write("project/mcp.json", `{"mcpServers":{"one":{"command":"`+l.self+`","env":{"OBSTAT_MCP_TEST":"sdk"}}}}`)
	rules := filepath.Join(filepath.Dir(l.dir), ".claude", "settings.json")
	db := filepath.Join(l.dir, "obstat.db")
	cmd := l.obstat("serve", "--mcp", "mcp.json", "--addr", "127.0.0.1:0", "--store", db, "--policy", rules)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := false
	end := func() {
		if !ended {
			ended = true
			_ = cmd.Process.Signal(os.Interrupt)
			if err := cmd.Wait(); err != nil {
				t.Error(err)
			}
		}
	}
	t.Cleanup(end)
	address := ""
	for lines := bufio.NewScanner(out); address == "" && lines.Scan(); {
		_, address, _ = strings.Cut(lines.Text(), "listens on ")
	}
	go io.Copy(io.Discard, out)
	made := l.obstat("token", "create", "--agent", "coder", "--store", db)
	text, err := made.Output()
	if err != nil {
		t.Fatal(err)
	}
	token, _, _ := strings.Cut(string(text), "\n")
	for _, era := range eras {
		for path, tool := range map[string]string{"/mcp/one": "", "/mcp": "one__"} {
			c := mcp.NewClient(&mcp.Implementation{Name: "c", Version: "1"}, nil)
			s, err := c.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: address + path, HTTPClient: &http.Client{Transport: withToken(token)}}, &mcp.ClientSessionOptions{ProtocolVersion: era})
			if err != nil {
				t.Fatal(err)
			}
			for range 2 {
				if text, failed := l.call(s, tool+"echo", map[string]any{"text": era}); failed || text != era {
					t.Errorf("%s %s: %q %v", era, path, text, failed)
				}
			}
			mark := filepath.Join(l.dir, "made")
			if text, failed := l.call(s, tool+"touch", map[string]any{"path": mark}); !failed || !strings.Contains(text, "deny rule mcp__one__touch") {
				t.Errorf("%s %s: %q %v", era, path, text, failed)
			}
			if _, err := os.Stat(mark); err == nil {
				t.Errorf("%s %s: a denied call has run", era, path)
			}
			_ = s.Close()
		}
	}
	end()
}

// TestAskedAtTerminal: a call that asks waits while somebody runs obstat ask; yes lets it run
// once, and no tells the model the words.
func TestAskedAtTerminal(t *testing.T) {
	for answer, want := range map[string]string{"y": "hello", "n use the other tool": "use the other tool"} {
		t.Run(answer, func(t *testing.T) {
			l := newLab(t, nil, []string{"mcp__toy__echo"}, nil)
			for _, v := range l.env {
				if name, value, _ := strings.Cut(v, "="); name == "HOME" || strings.HasPrefix(name, "XDG_") {
					t.Setenv(name, value)
				}
			}
			keys, types := io.Pipe()
			screen := new(shown)
			left := make(chan int, 1)
			go func() {
				left <- int(cli.Main([]string{"ask", "--as", "ann"}, &cli.IO{In: keys, Out: screen, Err: screen, InTTY: true, Person: persontest.Typist}))
			}()
			screen.shows(t, "")
			s := l.connect(l.gateway([]string{"--wait", "1m"}), "2025-06-18", nil)
			type result struct {
				text   string
				failed bool
			}
			done := make(chan result, 1)
			go func() {
				text, failed := l.call(s, "echo", map[string]any{"text": "hello"})
				done <- result{text, failed}
			}()
			screen.shows(t, "mcp__toy__echo")
			if _, err := io.WriteString(types, answer+"\n"); err != nil {
				t.Fatal(err)
			}
			if got := within(t, "the result", done); !strings.Contains(got.text, want) || got.failed != (answer != "y") {
				t.Errorf("%+v", got)
			}
			_ = types.Close()
			within(t, "the end of obstat ask", left)
		})
	}
}

// shown is what a command has printed so far.
type shown struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (s *shown) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.buf.Write(b)
}

// shows waits until a text was printed.
func (s *shown) shows(t *testing.T, text string) {
	t.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		s.mu.Lock()
		all := s.buf.String()
		s.mu.Unlock()
		if strings.Contains(all, text) {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%q is not shown: %s", text, all)
		}
	}
}
