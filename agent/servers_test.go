package agent_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/obstat/obstat/agent"
)

// The settings of each agent with a server that is started and one at an address, with
// comments and layout of their own.
var serverFiles = map[string]struct {
	agent string
	scope agent.Scope
	text  string
}{
	".mcp.json":                     {agent.ClaudeCode, agent.Project, "{\n\t\"mcpServers\": {\n\t\t\"files\": { \"command\":\"mcp-files\",  \"args\": [\"/src\"], \"env\": {\"A\":\"1\"} },\n\t\t\"web\": {\"type\": \"http\", \"url\": \"https://x.example/mcp\"}\n\t}\n}"},
	"home/.claude.json":             {agent.ClaudeCode, agent.User, `{"numStartups": 3, "mcpServers": {"files": {"type": "stdio", "command": "npx", "args": ["-y", "files"]}}, "z": [1]}`},
	"home/.codex/config.toml":       {agent.Codex, agent.User, "model = \"x\" # mine\n\n[mcp_servers.files]\ncommand = 'mcp-files' # the server\nstartup_timeout_sec = 5\n\n[mcp_servers.more]\nargs = [\n  \"-m\", \"more\",\n]\ncommand = \"python3\"\n\n[other]\na = 1\n"},
	".gemini/settings.json":         {agent.Gemini, agent.Project, "{\n  \"mcpServers\": {\n    \"files\": {\"command\": \"mcp-files\", \"trust\": true}\n  },\n  \"theme\": \"x\"\n}\n"},
	"opencode.jsonc":                {agent.OpenCode, agent.Project, "{\n  // servers\n  \"mcp\": {\n    \"files\": {\"type\": \"local\", \"command\": [\"mcp-files\", \"/src\"], \"enabled\": true,},\n  },\n}\n"},
	"home/.cursor/mcp.json":         {agent.Cursor, agent.User, `{"mcpServers":{"files":{"command":"mcp-files","args":[]}}}`},
	"home/.qwen/settings.json":      {agent.Qwen, agent.User, `{"mcpServers":{"files":{"command":"mcp-files","args":["a b","\u00e4"]}}}`},
	"home/.copilot/mcp-config.json": {agent.Copilot, agent.User, `{"mcpServers":{"files":{"type":"local","command":"mcp-files","args":["x"],"tools":["*"]}}}`},
}

// TestGuardServers: the gateway is put in front of every server that is started, twice
// changes nothing, and taking it out gives the file back, byte for byte.
func TestGuardServers(t *testing.T) {
	for name, tt := range serverFiles {
		t.Run(name, func(t *testing.T) {
			top := t.TempDir()
			w := &agent.Where{Home: filepath.Join(top, "home"), Projects: []string{top}, Getenv: func(string) string { return "" }}
			file := filepath.Join(top, filepath.FromSlash(name))
			if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, []byte(tt.text), 0o644); err != nil {
				t.Fatal(err)
			}
			before, err := agent.Servers(w, "")
			if err != nil {
				t.Fatal(err)
			}
			r := &agent.Request{Scope: tt.scope, Where: w, Program: "/opt/obstat"}
			change := func(remove bool, now []byte) ([]byte, agent.Change) {
				t.Helper()
				if err := os.WriteFile(file, now, 0o644); err != nil {
					t.Fatal(err)
				}
				plan, left := agent.Of(tt.agent).GuardServers(r, remove)
				if len(plan) != 1 || plan[0].Name != file {
					t.Fatalf("%v, %v", plan, left)
				}
				out, err := plan[0].Edit(now)
				if err != nil {
					t.Fatal(err)
				}
				return out, plan[0]
			}
			guarded, _ := change(false, []byte(tt.text))
			again, _ := change(false, guarded)
			if string(again) != string(guarded) {
				t.Errorf("twice:\n%s\n%s", guarded, again)
			}
			after, err := agent.Servers(w, "")
			if err != nil {
				t.Fatal(err)
			}
			if len(before) == 0 || len(after) != len(before) {
				t.Fatalf("%v, %v", before, after)
			}
			for i := range before {
				b, a := before[i], after[i]
				if !slices.Equal(a.Command, b.Command) || a.Name != b.Name || a.URL != b.URL || (a.Gateway != nil) != (b.Command != nil) || !slices.Equal(a.Env, b.Env) {
					t.Errorf("%+v, was %+v", a, b)
				}
			}
			if !strings.Contains(string(guarded), "/opt/obstat") {
				t.Errorf("%s", guarded)
			}
			_, c := change(true, guarded)
			u := agent.NewUndo(file, []byte(tt.text), guarded)
			back, err := c.Revert(u, guarded)
			if err != nil || string(back) != tt.text {
				t.Errorf("%v, given back:\n%s\nwas:\n%s", err, back, tt.text)
			}
			plain, err := c.Revert(nil, guarded)
			if err != nil || strings.Contains(string(plain), "obstat") {
				t.Errorf("without a record: %v\n%s", err, plain)
			}
		})
	}
}
