package faces

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/internal/face/mcp"
	"github.com/obstat/obstat/policy"
)

// serverVariable makes the test's program a tool server.
const serverVariable = "OBSTAT_FACES_SERVER"

func TestMain(m *testing.M) {
	if os.Getenv(serverVariable) != "" {
		serveTools()
		return
	}
	os.Exit(m.Run())
}

// serveTools answers every request of an MCP client; a call does nothing.
func serveTools() {
	in, out := bufio.NewScanner(os.Stdin), json.NewEncoder(os.Stdout)
	in.Buffer(nil, 16<<20)
	for in.Scan() {
		var m struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
		}
		if json.Unmarshal(in.Bytes(), &m) != nil || m.ID == nil {
			continue
		}
		result := map[string]any{"content": []any{}, "isError": false}
		switch m.Method {
		case "initialize":
			result = map[string]any{"protocolVersion": "2025-06-18", "capabilities": map[string]any{"tools": map[string]any{}}, "serverInfo": map[string]any{"name": "faces", "version": "1"}}
		case "tools/list":
			var tools []any
			for _, name := range []string{"touch", "erase", "note", "write"} {
				tools = append(tools, map[string]any{"name": name, "inputSchema": map[string]any{"type": "object"}})
			}
			result = map[string]any{"tools": tools}
		}
		_ = out.Encode(map[string]any{"jsonrpc": "2.0", "id": m.ID, "result": result})
	}
}

// served returns calls of a server's tools under a policy that allows some, asks about some and denies
// some, by their names and by the paths in their arguments.
func served(t *testing.T, home string) *work {
	settings := filepath.Join(home, "servers.json")
	write(t, settings, `{"permissions":{"allow":["mcp__canary","Edit(/srv/**)"],"ask":["mcp__canary__note"],"deny":["mcp__canary__erase","Edit(/etc/**)"]}}`)
	w := &work{setting: setting{dialect: "claudecode", files: []string{settings}, home: home}}
	for i := range 30 {
		for _, c := range [][2]string{{"touch", "/srv/faces/project/f"}, {"erase", "/srv/faces/project/f"}, {"note", "/srv/faces/project/f"}, {"write", "/etc/f"}} {
			input, _ := json.Marshal(map[string]string{"path": fmt.Sprint(c[1], i)})
			w.calls = append(w.calls, &obstat.Call{Tool: "mcp__canary__" + c[0], Input: input, Dir: dir, Session: fmt.Sprint("served", len(w.calls))})
		}
	}
	return w
}

// serverTool tells whether a call is one of an MCP server's tool.
func serverTool(c *obstat.Call) bool {
	server, tool, ok := strings.Cut(strings.TrimPrefix(c.Tool, "mcp__"), "__")
	return ok && strings.HasPrefix(c.Tool, "mcp__") && tool != "" && mcp.CheckName(server) == nil
}

// gateway has a client call tools through `obstat mcp`, in front of a real server; the client can show a
// form to a person, who declines.
func gateway(t *testing.T, s *setting) (func(*obstat.Call) said, func()) {
	station, err := mcp.Open(t.Context(), mcp.Options{Policy: policy.Named{Files: s.files, Dialect: s.dialect, Options: s.options}, Dir: dir, Home: s.home, NoPins: true, Getenv: os.Getenv})
	if err != nil {
		t.Fatal(err)
	}
	servers := map[string]*gatewayClient{}
	return func(c *obstat.Call) said {
			t.Helper()
			server, tool, _ := strings.Cut(strings.TrimPrefix(c.Tool, "mcp__"), "__")
			if servers[server] == nil {
				servers[server] = newClient(t, station, server)
			}
			return servers[server].call(t, tool, c.Input)
		}, func() {
			for _, c := range servers {
				c.to.Close()
				<-c.done
			}
			station.Close()
		}
}

// A gatewayClient is an MCP client of the gateway.
type gatewayClient struct {
	to   *io.PipeWriter
	from *bufio.Reader
	done chan struct{}
	n    int
}

func newClient(t *testing.T, station *mcp.Station, server string) *gatewayClient {
	t.Helper()
	guard, err := station.Guard(server)
	if err != nil {
		t.Fatal(err)
	}
	in, to := io.Pipe()
	from, out := io.Pipe()
	c := &gatewayClient{to: to, from: bufio.NewReaderSize(from, 1<<20), done: make(chan struct{})}
	go func() {
		defer close(c.done)
		_ = guard.Serve(t.Context(), &mcp.Process{Command: []string{os.Args[0]}, Env: []string{serverVariable + "=1"}}, in, out)
		out.Close()
	}()
	c.send(t, `{"jsonrpc":"2.0","id":"init","method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{"elicitation":{}},"clientInfo":{"name":"faces","version":"1"}}}`)
	c.next(t)
	c.send(t, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	return c
}

func (c *gatewayClient) send(t *testing.T, line string) {
	t.Helper()
	if _, err := io.WriteString(c.to, line+"\n"); err != nil {
		t.Fatal(err)
	}
}

// message is a message to the client, as far as it is looked at.
type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Result struct {
		Meta map[string]struct{ Verdict, Reason, Rule string } `json:"_meta"`
	} `json:"result"`
}

func (c *gatewayClient) next(t *testing.T) (m message) {
	t.Helper()
	line, err := c.from.ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, &m)
	}
	if err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	return m
}

// call calls a tool, and declines where a person is asked.
func (c *gatewayClient) call(t *testing.T, tool string, input json.RawMessage) said {
	t.Helper()
	c.n++
	c.send(t, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, c.n, tool, input))
	out := said{}
	for {
		switch m := c.next(t); {
		case m.Method == "elicitation/create":
			out.verdict = "ask"
			c.send(t, fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"action":"decline"}}`, m.ID))
		case m.Method != "" || string(m.ID) != fmt.Sprint(c.n):
		case out.verdict != "":
			return out
		default:
			if d, refused := m.Result.Meta["obstat/decision"]; refused {
				return said{d.Verdict, d.Rule, d.Reason}
			}
			return said{verdict: "allow"}
		}
	}
}
