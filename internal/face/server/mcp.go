package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/approval"
	"github.com/obstat/obstat/client"
	"github.com/obstat/obstat/gate"
	"github.com/obstat/obstat/internal/face/mcp"
	"github.com/obstat/obstat/internal/keep/docs"
	"github.com/obstat/obstat/ledger"
	"github.com/obstat/obstat/policy"
)

// allServers is the name, at /mcp, of all servers as one.
const allServers = ""

// guards is the server's face for the Model Context Protocol: agents reach the servers
// behind it at /mcp/NAME, by the tokens that they put calls with. A client's own forms are
// not used: asks go to the people at the server, since an agent's token never answers.
type guards struct {
	members []mcp.Member
	fronts  map[string]*mcp.Front // by name
}

// callerKey is the key of the caller in the context of a request to a front.
type callerKey struct{}

// openGuards puts the gate in front of the servers of opts.MCP.
func (s *Server) openGuards(ctx context.Context, opts gate.Options) error {
	s.guards.fronts = map[string]*mcp.Front{}
	if len(s.opts.MCP) == 0 {
		return nil
	}
	opts.NoStart = true
	g, err := gate.Open(ctx, opts)
	if err != nil {
		return err
	}
	who := &mcp.HTTPOptions{OwnTokens: true, Caller: func(r *http.Request) mcp.Caller {
		c, _ := r.Context().Value(callerKey{}).(mcp.Caller)
		return c
	}}
	words := logWriter(func(text string) { s.opts.Log.Warn(text) })
	for _, m := range s.opts.MCP {
		if err := mcp.CheckName(m.Guard.Name); err != nil {
			return err
		}
		guard := &mcp.Guard{Name: m.Guard.Name, Dir: m.Guard.Dir, Gate: g, Log: words, Attended: func() bool { return true },
			Accepting: "an administrator accepts it with POST /v1/mcp/servers/" + m.Guard.Name + "/accept",
			Store:     func(context.Context) (approval.Store, error) { return s.store, nil },
			Pins:      &pinDocs{store: s.store, name: m.Guard.Name}}
		m.Guard = guard
		s.guards.members = append(s.guards.members, m)
		s.guards.fronts[guard.Name] = guard.Handler(m.Process, m.Remote, who)
	}
	b := &mcp.Bundle{Members: s.guards.members, Version: client.API, Log: words}
	s.guards.fronts[allServers] = b.Handler(who)
	return nil
}

// logWriter hands each line that is written to a log.
type logWriter func(string)

// Write logs one message.
func (w logWriter) Write(b []byte) (int, error) {
	w(firstLine(string(b)))
	return len(b), nil
}

// close ends all sessions.
func (g *guards) close() {
	var all sync.WaitGroup
	for _, f := range g.fronts {
		all.Go(f.Close)
	}
	all.Wait()
}

// serveMCP hands a message of an agent's client to the server that it names, or to all.
func (s *Server) serveMCP(w http.ResponseWriter, r *http.Request, c *caller) {
	name := r.PathValue("name")
	front := s.guards.fronts[name]
	if front == nil {
		s.problem(w, newProblem(http.StatusNotFound, "not-found", "there is no such MCP server",
			"obstat serve --mcp FILE names them"))
		return
	}
	call := &obstat.Call{Tool: mcp.Tool(name, "any")}
	for i := range s.guards.members {
		if g := s.guards.members[i].Guard; name == allServers || g.Name == name {
			call.Dir = g.Dir
			if err := c.admit(call, s.shelf); err != nil {
				s.fail(w, err)
				return
			}
		}
	}
	s.service.note(c, call.Agent, 1)
	who := mcp.Caller{ID: c.id(), Agent: call.Agent, User: call.User}
	front.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), callerKey{}, who)))
}

func mcpRoutes() (out []route) {
	for _, method := range []string{http.MethodPost, http.MethodGet, http.MethodDelete} {
		for _, path := range []string{"/mcp", "/mcp/{name}"} {
			out = append(out, raw(method, path, "Speak the Model Context Protocol with a server behind the policy, or with all as one", "application/json", agents, nil, (*Server).serveMCP))
		}
	}
	return append(out,
		op("GET", "/v1/mcp/servers", "List the MCP servers behind the policy, their tools, and what changed of them",
			admins, nil, listMCP),
		op("POST", "/v1/mcp/servers/{name}/accept", "Accept the tools of an MCP server as they are", admins, nil, acceptMCP))
}

func listMCP(v *Service, ctx context.Context, _ *request[none]) (*client.MCPServers, error) {
	return v.MCP(ctx), nil
}

// MCP starts or calls the servers behind the policy, and returns their tools.
func (v *Service) MCP(ctx context.Context) *client.MCPServers {
	out := &client.MCPServers{Servers: []client.MCPServer{}}
	for i := range v.s.guards.members {
		m := &v.s.guards.members[i]
		one := client.MCPServer{Server: m.Guard.Name, Tools: []client.MCPTool{}}
		offered, _, err := m.Guard.Inspect(ctx, m.Process, m.Remote)
		if err != nil {
			one.Error = firstLine(err.Error())
		}
		for j := range offered {
			one.Tools = append(one.Tools, offered[j].Wire())
		}
		out.Servers = append(out.Servers, one)
	}
	return out
}

func acceptMCP(v *Service, ctx context.Context, r *request[none]) (none, error) {
	return none{}, v.AcceptMCP(ctx, r.person, r.PathValue("name"))
}

// AcceptMCP accepts the tools of a server as they are now.
func (v *Service) AcceptMCP(ctx context.Context, p *Person, name string) error {
	at := slices.IndexFunc(v.s.guards.members, func(m mcp.Member) bool { return m.Guard.Name == name })
	if at < 0 {
		return fmt.Errorf("the MCP server %q: %w", name, docs.ErrNotFound)
	}
	m := &v.s.guards.members[at]
	_, defs, err := m.Guard.Inspect(ctx, m.Process, m.Remote)
	if err != nil {
		return err
	}
	return m.Guard.Accept(ctx, defs, p.Name)
}

// pinDocs keep the accepted tools of a server for all replicas.
type pinDocs struct {
	store Store
	name  string
}

// toolsKind is the kind of the documents of accepted tools.
const toolsKind = "mcp-tools"

// Accepted returns the tools that were accepted.
func (p *pinDocs) Accepted(ctx context.Context) ([]policy.PinTool, error) {
	tools, _, err := docs.Get[[]policy.PinTool](ctx, p.store, toolsKind, p.name)
	if errors.Is(err, docs.ErrNotFound) {
		return nil, nil
	}
	return tools, err
}

// Keep accepts definitions. Another replica's first sight stands.
func (p *pinDocs) Keep(ctx context.Context, defs []mcp.Definition, by string) error {
	tools := mcp.PinTools(defs)
	text, err := json.Marshal(tools)
	if err != nil {
		return err
	}
	version := 0
	if by != mcp.FirstSight {
		if old, err := p.store.Doc(ctx, toolsKind, p.name); err == nil {
			version = old.Version
		}
	}
	err = p.store.PutDoc(ctx, &docs.Doc{Kind: toolsKind, ID: p.name, Version: version, Body: text})
	if errors.Is(err, docs.ErrChanged) && by == mcp.FirstSight {
		return nil
	}
	if err != nil {
		return err
	}
	return p.store.Append(ctx, &ledger.Record{Time: time.Now(), Kind: ledger.Policy, User: by, Dir: "mcp:" + p.name,
		Reason: fmt.Sprintf("accepted %d tools of the MCP server %s", len(defs), p.name)})
}
