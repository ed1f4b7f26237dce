package mcp_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// bundled makes a lab with two servers of the SDK in a file, and one that cannot start.
func bundled(t *testing.T, allow, ask, deny []string) *lab {
	t.Helper()
	l := newLab(t, allow, ask, deny)
	server := `{"command":"` + l.self + `","env":{"OBSTAT_MCP_TEST":"sdk"}}`
	l.write("project/mcp.json", `{"mcpServers":{"one":`+server+`,"two":`+server+`,"lost":{"command":"/no/such/program"}}}`)
	return l
}

// TestBundle: several servers as one. Names have the server's in front, rules hold as for the
// server by itself, and what one server asks is answered to that one.
func TestBundle(t *testing.T) {
	for _, era := range eras {
		t.Run(era, func(t *testing.T) {
			t.Parallel()
			l := bundled(t, []string{"mcp__one__echo", "mcp__two__echo", "mcp__two__asks", "mcp__one__touch", "mcp__one__prompts_get", "mcp__one__resources_read"}, nil, []string{"mcp__two__touch"})
			forms := 0
			s := l.connect(l.obstat("mcp", "--config", "mcp.json"), era, &mcp.ClientOptions{ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
				forms++
				return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"word": "plum"}}, nil
			}})
			tools, err := s.ListTools(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			var names []string
			for _, tool := range tools.Tools {
				names = append(names, tool.Name)
			}
			for name, want := range map[string]bool{"one__echo": true, "two__echo": true, "one__touch": true, "two__touch": false, "echo": false, "lost__echo": false} {
				if slices.Contains(names, name) != want {
					t.Errorf("%s in the list: %v; %v", name, !want, names)
				}
			}
			for _, name := range []string{"one", "two"} {
				if text, failed := l.call(s, name+"__echo", map[string]any{"text": name}); failed || text != name {
					t.Errorf("%s: %q %v", name, text, failed)
				}
				made := filepath.Join(l.dir, name)
				text, failed := l.call(s, name+"__touch", map[string]any{"path": made})
				_, err := os.Stat(made)
				if denied := name == "two"; failed != denied || strings.Contains(text, "deny rule mcp__two__touch") != denied || (err != nil) != denied {
					t.Errorf("%s touch: %q %v %v", name, text, failed, err)
				}
			}
			if _, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: "three__echo"}); err == nil || !strings.Contains(err.Error(), "none of the servers") {
				t.Errorf("a tool of no server: %v", err)
			}
			if p, err := s.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: "one__greet"}); err != nil || len(p.Messages) != 1 {
				t.Errorf("prompt: %v", err)
			}
			if list, err := s.ListResources(t.Context(), nil); err != nil || len(list.Resources) != 2 {
				t.Errorf("resources: %v", err)
			}
			if r, err := s.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "file:///tmp/notes.txt"}); err != nil || r.Contents[0].Text != "notes" {
				t.Errorf("resource: %v", err)
			}
			if era < "2026" { // later ones have no requests of servers
				if text, _ := l.call(s, "two__asks", nil); text != "the word is plum" || forms != 1 {
					t.Errorf("a form: %q, %d", text, forms)
				}
			}
			if err := s.Ping(t.Context(), nil); err != nil && era < "2026" {
				t.Error(err)
			}
		})
	}
}

// TestBundleFrames: what either side may not send, and two servers that ask with the same id.
func TestBundleFrames(t *testing.T) {
	l := bundled(t, []string{"mcp__one__echo"}, nil, nil)
	cmd := l.obstat("mcp", "--config", "mcp.json")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	send := func(text string) { fmt.Fprintln(in, text) }
	next := func() string {
		for lines.Scan() {
			if !strings.Contains(lines.Text(), `"method":"notifications/`) {
				return lines.Text()
			}
		}
		t.Fatal("the gateway has ended")
		return ""
	}
	defer func() {
		_ = in.Close()
		if err := cmd.Wait(); err != nil {
			t.Errorf("after the client has ended: %v", err)
		}
	}()
	send(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`)
	var hello struct {
		Result struct {
			ProtocolVersion string
			ServerInfo      struct{ Name string }
			Capabilities    map[string]any
		}
	}
	if err := json.Unmarshal([]byte(next()), &hello); err != nil || hello.Result.ServerInfo.Name != "obstat" || hello.Result.ProtocolVersion != "2025-06-18" || hello.Result.Capabilities["tools"] == nil {
		t.Fatalf("%+v %v", hello, err)
	}
	send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	for _, tt := range []struct{ send, want string }{
		{`{"jsonrpc":"2.0","id":2,"id":3,"method":"tools/list"}`, "refused"},
		{`[{"jsonrpc":"2.0","id":2,"method":"tools/list"}]`, `"id":null,"error"`},
		{`{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"one","arguments":{}}}`, "none of the servers"},
		{`{"jsonrpc":"2.0","id":5,"method":"tools/list","params":{"cursor":"x"}}`, "no cursor"},
		{`{"jsonrpc":"2.0","id":6,"method":"tasks/get","params":{"taskId":"x"}}`, "connect to the one"},
		{`{"jsonrpc":"2.0","id":7,"method":"resources/read","params":{"uri":"file:///x"}}`, "no server has listed"},
		{`{"jsonrpc":"2.0","id":"nobody asked","result":{}}`, ""},
		{`{"jsonrpc":"2.0","id":8,"method":"tools/call","params":{"arguments":{"text":"still here"},"name":"one__echo"}}`, "still here"},
	} {
		send(tt.send)
		if tt.want == "" {
			continue
		}
		if got := next(); !strings.Contains(got, tt.want) {
			t.Errorf("%s: %s", tt.send, got)
		}
	}
}

// TestHint: what a server says of its tool counts where the policy believes that server.
func TestHint(t *testing.T) {
	l := newLab(t, nil, nil, nil)
	l.write(".claude/settings.json", "{}")
	l.write("config/obstat/obstat.yaml", "version: 1\nallow:\n  - {rule: 'tool mcp__toy__*', when: {hint: read-only}}\ndeny:\n  - {rule: 'tool mcp__toy__*', when: {hint: destructive}}\n")
	s := l.connect(l.gateway([]string{"--wait", "off"}), "2025-06-18", nil)
	for tool, want := range map[string]string{"look": "looked", "add": "obstat denied add: ", "touch": "obstat denied touch: deny"} {
		if text, _ := l.call(s, tool, map[string]any{"path": filepath.Join(l.dir, "x")}); !strings.HasPrefix(text, want) {
			t.Errorf("%s: %q", tool, text)
		}
	}
}
