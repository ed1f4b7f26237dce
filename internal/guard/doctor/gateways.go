package doctor

import (
	"bytes"
	"context"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/obstat/obstat/agent"
	"github.com/obstat/obstat/internal/format/jsonx"
	"github.com/obstat/obstat/internal/format/tree"
)

// gateways sends a canary through the gateway before each of the agent's MCP servers: a server
// that is obstat's own stands behind it, and a call that would overwrite obstat must not
// reach it. It tells of servers that were added since and have none.
func (x *exam) gateways(ctx context.Context) {
	list, err := agent.Servers(x.Options.Where, "")
	if err != nil {
		return // the settings are broken, which is told of elsewhere
	}
	list = slices.DeleteFunc(list, func(s agent.Server) bool { return s.Agent != x.Agent.Name })
	any := slices.ContainsFunc(list, func(s agent.Server) bool { return s.Gateway != nil })
	for _, s := range list {
		switch {
		case s.Gateway != nil:
			x.gateway(ctx, &s)
		case any && s.Command != nil:
			x.note(&s, Warning, "open-server", "obstat install --mcp "+x.Agent.Name,
				"the MCP server %s has no gateway in front of it", s.Name)
		}
	}
}

func (x *exam) note(s *agent.Server, level agent.Level, code, hint, format string, args ...any) {
	x.Findings = append(x.Findings, Finding{Level: level, Code: code, File: s.File, Msg: fmt.Sprintf(format, args...),
		Hint: hint})
}

// gateway proves one gateway.
func (x *exam) gateway(ctx context.Context, s *agent.Server) {
	again := "obstat install --mcp " + x.Agent.Name
	program := s.Gateway[0]
	if b, err := x.Inspect(program); err != nil || !b.Obstat || !filepath.IsAbs(program) {
		x.note(s, Error, "gateway-program", again, "%s in front of the MCP server %s is not obstat, or not there", program,
			s.Name)
		return
	}
	if !slices.Equal(s.Gateway, agent.Gateway(program, s.Name, s.Agent)) {
		x.note(s, Warning, "not-proved", again, "the gateway in front of the MCP server %s is not as obstat writes it, so "+
			"that it was not run", s.Name)
		return
	}
	call := "a write to obstat through the MCP server " + s.Name
	argv := append(slices.Clone(s.Gateway), program, "mcp", "canary")
	reply := x.Run(ctx, &Command{Argv: argv, Dir: x.Dir, Stdin: x.exchange(program)})
	outcome := agent.Runs
	if denied(reply.Stdout) {
		outcome = agent.Blocked
	}
	said, _, _ := bytes.Cut(bytes.TrimSpace(reply.Stderr), []byte("\n"))
	x.out.Proofs = append(x.out.Proofs, Proof{File: s.File, Event: "mcp " + s.Name, Canary: call,
		Outcome: outcome.String(), Held: outcome != agent.Runs, Said: string(said), Exit: reply.Exit})
	if outcome == agent.Runs {
		x.note(s, Error, "not-held", again, "%s is not refused by its gateway", call)
	}
}

// exchange returns the messages of a client that calls a tool.
func (x *exam) exchange(program string) []byte {
	var out bytes.Buffer
	for i, m := range []jsonx.Object{
		{{Key: "method", Value: "initialize"}, {Key: "params", Value: jsonx.Object{{Key: "protocolVersion",
			Value: "2025-06-18"}, {Key: "capabilities", Value: jsonx.Object{}},
			{Key: "clientInfo", Value: jsonx.Object{{Key: "name", Value: "obstat-doctor"}, {Key: "version", Value: "1"}}}}}},
		{{Key: "method", Value: "tools/list"}},
		{{Key: "method", Value: "tools/call"}, {Key: "params", Value: jsonx.Object{{Key: "name", Value: "write_file"},
			{Key: "arguments", Value: jsonx.Object{{Key: "path", Value: program}, {Key: "content", Value: ""}}}}}},
	} {
		line, _ := jsonx.Marshal(append(jsonx.Object{{Key: "jsonrpc", Value: "2.0"}, {Key: "id", Value: i + 1}}, m...))
		out.Write(append(line, '\n'))
	}
	return out.Bytes()
}

// denied tells whether the call was answered with a refusal. The canary's own answer is none.
func denied(out []byte) bool {
	for line := range bytes.Lines(out) {
		n, problems := jsonx.Parse(bytes.TrimSpace(line), jsonx.Options{})
		if !tree.Fatal(problems) && n.Get("id").Is(tree.Number) && n.Get("id").Num == "3" {
			failed := n.Get("result").Get("isError")
			return failed.Is(tree.Bool) && failed.Bool
		}
	}
	return false
}
