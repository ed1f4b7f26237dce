package agent

import (
	"bytes"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"

	"github.com/obstat/obstat/internal/format/jsonx"
	"github.com/obstat/obstat/internal/format/textedit"
	"github.com/obstat/obstat/internal/format/tomlx"
	"github.com/obstat/obstat/internal/format/tree"
)

// A serverPlace is a file in which an agent has servers of the Model Context Protocol.
type serverPlace struct {
	agent string
	scope Scope
	// env names the variable that moves the user's directory, under what it moves.
	env, under, path string
	keys             []string // that lead to the servers, "*" for the project's directory
	list             bool     // the command is one list: opencode
}

// serverPlaces are where agents have their servers.
var serverPlaces = []serverPlace{
	{agent: ClaudeCode, scope: Project, path: ".mcp.json", keys: []string{"mcpServers"}},
	{agent: ClaudeCode, scope: User, path: ".claude.json", keys: []string{"mcpServers"}},
	{agent: ClaudeCode, scope: User, path: ".claude.json", keys: []string{"projects", "*", "mcpServers"}},
	{agent: Codex, scope: Project, path: ".codex/config.toml", keys: []string{"mcp_servers"}},
	{agent: Codex, scope: User, env: "CODEX_HOME", under: ".codex", path: "config.toml", keys: []string{"mcp_servers"}},
	{agent: Gemini, scope: Project, path: ".gemini/settings.json", keys: []string{"mcpServers"}},
	{agent: Gemini, scope: User, under: ".gemini", path: "settings.json", keys: []string{"mcpServers"}},
	{agent: Qwen, scope: Project, path: ".qwen/settings.json", keys: []string{"mcpServers"}},
	{agent: Qwen, scope: User, under: ".qwen", path: "settings.json", keys: []string{"mcpServers"}},
	{agent: OpenCode, scope: Project, path: "opencode.json", keys: []string{"mcp"}, list: true},
	{agent: OpenCode, scope: Project, path: "opencode.jsonc", keys: []string{"mcp"}, list: true},
	{agent: OpenCode, scope: User, env: "XDG_CONFIG_HOME", under: ".config", path: "opencode/opencode.json", keys: []string{"mcp"}, list: true},
	{agent: OpenCode, scope: User, env: "XDG_CONFIG_HOME", under: ".config", path: "opencode/opencode.jsonc", keys: []string{"mcp"}, list: true},
	{agent: Cursor, scope: Project, path: ".cursor/mcp.json", keys: []string{"mcpServers"}},
	{agent: Cursor, scope: User, under: ".cursor", path: "mcp.json", keys: []string{"mcpServers"}},
	{agent: Copilot, scope: User, under: ".copilot", path: "mcp-config.json", keys: []string{"mcpServers"}},
}

// A Server is a server of the Model Context Protocol in an agent's settings.
type Server struct {
	Agent, File, Name string
	// Command starts it, without obstat's gateway if that is in front of it.
	Command []string
	Env     []string
	Dir     string
	URL     string
	Header  http.Header
	// Gateway is the command of obstat's gateway in front of it, nil where there is none.
	Gateway []string
}

// file returns the place's file, "" where there is none in such surroundings.
func (p *serverPlace) file(w *Where) string {
	base := place{scope: p.scope, env: p.env, under: p.under}
	for _, dir := range base.bases(w) {
		return filepath.Join(dir, filepath.FromSlash(p.path))
	}
	return ""
}

// at returns the steps to the servers in the file.
func (p *serverPlace) at(w *Where) []string {
	keys := slices.Clone(p.keys)
	for i, k := range keys {
		if k == "*" && len(w.Projects) > 0 {
			keys[i] = w.Projects[0]
		}
	}
	return keys
}

// Servers returns the servers that agents have in their settings, or, where config names a
// file, those of its mcpServers.
func Servers(w *Where, config string) (out []Server, err error) {
	places := serverPlaces
	if config != "" {
		places = []serverPlace{{agent: Generic, path: config, keys: []string{"mcpServers"}}}
	}
	for i := range places {
		p := &places[i]
		name := config
		if config == "" {
			name = p.file(w)
		}
		if name == "" {
			continue
		}
		data, err := textedit.ReadFile(name)
		if err == nil && data == nil && config != "" {
			err = fmt.Errorf("%s is not there", name)
		}
		if err != nil {
			return nil, err
		}
		root, problems := parseServers(name, data)
		if tree.Fatal(problems) && len(bytes.TrimSpace(data)) > 0 {
			return nil, fmt.Errorf("%s:%w", name, &textedit.BrokenError{Src: data, Problems: problems})
		}
		for _, k := range p.at(w) {
			root = root.Get(k)
		}
		if !root.Is(tree.Object) {
			continue
		}
		for _, m := range root.Members {
			s := p.server(m.Key, m.Value)
			s.File = name
			out = append(out, s)
		}
	}
	return out, nil
}

func parseServers(name string, data []byte) (*tree.Node, []tree.Problem) {
	if filepath.Ext(name) == ".toml" {
		return tomlx.Parse(data)
	}
	return textedit.JSONC.Parse(data)
}

// server reads one server.
func (p *serverPlace) server(name string, n *tree.Node) Server {
	s := Server{Agent: p.agent, Name: name, Dir: text(n, "cwd"), URL: text(n, "url"), Header: http.Header{}}
	if u := text(n, "httpUrl"); u != "" {
		s.URL = u
	}
	words := texts(n.Get("args"))
	if p.list {
		s.Command = texts(n.Get("command"))
	} else if c := text(n, "command"); c != "" {
		s.Command = append([]string{c}, words...)
	}
	for _, key := range []string{"env", "environment"} {
		if e := n.Get(key); e.Is(tree.Object) {
			for _, m := range e.Members {
				s.Env = append(s.Env, m.Key+"="+m.Value.Str)
			}
		}
	}
	for _, key := range []string{"headers", "http_headers"} {
		if h := n.Get(key); h.Is(tree.Object) {
			for _, m := range h.Members {
				s.Header.Set(m.Key, m.Value.Str)
			}
		}
	}
	if own := behind(s.Command); own != nil {
		s.Gateway, s.Command = s.Command[:len(s.Command)-len(own)], own
	}
	return s
}

func texts(n *tree.Node) (out []string) {
	if n.Is(tree.Array) {
		for _, e := range n.Elems {
			out = append(out, e.Str)
		}
	}
	return out
}

// behind returns the command that obstat's gateway starts, nil where the command is not
// that of a gateway.
func behind(command []string) []string {
	if len(command) < 2 || command[1] != "mcp" || !strings.HasPrefix(filepath.Base(command[0]), "obstat") {
		return nil
	}
	if i := slices.Index(command, "--"); i > 0 && i+1 < len(command) {
		return command[i+1:]
	}
	return nil
}

// Gateway returns the command that stands in front of a server's own.
func Gateway(program, server, agent string) []string {
	return []string{program, "mcp", "--name", server, "--agent", agent, "--"}
}

// GuardServers returns the changes that put obstat's gateway in front of the servers that
// the agent starts as processes, or take it out again, and the servers that are left as
// they are: a server at an address would change the audience of its tokens.
func (a *Agent) GuardServers(r *Request, remove bool) (out []Change, left []string) {
	for i := range serverPlaces {
		p := &serverPlaces[i]
		name := p.file(r.Where)
		if p.agent != a.Name || p.scope != r.Scope || name == "" || slices.ContainsFunc(out, func(c Change) bool { return c.Name == name }) {
			continue
		}
		data, err := textedit.ReadFile(name)
		if err != nil || data == nil {
			continue
		}
		root, _ := parseServers(name, data)
		found := false
		for _, keys := range p.allKeys(r.Where) {
			n := root
			for _, k := range keys {
				n = n.Get(k)
			}
			if n.Is(tree.Object) {
				for _, m := range n.Members {
					s := p.server(m.Key, m.Value)
					if s.Command == nil && !remove {
						left = append(left, fmt.Sprintf("%s in %s", m.Key, name))
					}
					found = found || s.Command != nil
				}
			}
		}
		if !found {
			continue
		}
		out = append(out, Change{Name: name, Edit: func(old []byte) ([]byte, error) { return p.guard(old, name, r, remove) }, Same: sameServers(name)})
	}
	return out, left
}

// allKeys returns the steps to all servers of the place's file: one file may have several.
func (p *serverPlace) allKeys(w *Where) (out [][]string) {
	for i := range serverPlaces {
		if q := &serverPlaces[i]; q.agent == p.agent && q.path == p.path && q.scope == p.scope {
			out = append(out, q.at(w))
		}
	}
	return out
}

// sameServers tells whether two files say the same, but for empty lists of arguments.
func sameServers(name string) func(a, b []byte) bool {
	return func(a, b []byte) bool {
		x, bad := parseServers(name, a)
		y, worse := parseServers(name, b)
		return !tree.Fatal(bad) && !tree.Fatal(worse) && tree.Equal(withoutArgs(x), withoutArgs(y))
	}
}

// withoutArgs returns a document without empty lists of arguments. The order of a TOML
// table's keys is kept: only obstat's own line comes and goes.
func withoutArgs(n *tree.Node) *tree.Node {
	if !n.Is(tree.Object) {
		return n
	}
	out := *n
	out.Members = nil
	for _, m := range n.Members {
		if m.Key == "args" && m.Value.Is(tree.Array) && len(m.Value.Elems) == 0 {
			continue
		}
		m.Value = withoutArgs(m.Value)
		out.Members = append(out.Members, m)
	}
	return &out
}

// guard edits the file: each server's command becomes obstat's, with the old one behind it,
// or the other way round. Names stay: rules hang on them.
func (p *serverPlace) guard(old []byte, name string, r *Request, remove bool) ([]byte, error) {
	textOf := old
	for _, keys := range p.allKeys(r.Where) {
		root, problems := parseServers(name, textOf)
		if tree.Fatal(problems) {
			return nil, &textedit.BrokenError{Src: textOf, Problems: problems}
		}
		for _, k := range keys {
			root = root.Get(k)
		}
		if !root.Is(tree.Object) {
			continue
		}
		for _, m := range root.Members {
			s := p.server(m.Key, m.Value)
			if s.Command == nil || remove && s.Gateway == nil {
				continue
			}
			command := s.Command
			if !remove {
				command = append(Gateway(r.Program, m.Key, p.agent), s.Command...)
			}
			var err error
			if textOf, err = p.setCommand(textOf, name, append(slices.Clone(keys), m.Key), command); err != nil {
				return nil, err
			}
		}
	}
	return textOf, nil
}

// setCommand writes a server's command.
func (p *serverPlace) setCommand(src []byte, name string, at, command []string) ([]byte, error) {
	if filepath.Ext(name) == ".toml" {
		return setTOMLCommand(src, at, command)
	}
	steps := func(last string) (out []any) {
		for _, k := range at {
			out = append(out, k)
		}
		return append(out, last)
	}
	format := textedit.JSONC
	if p.list {
		return format.Set(src, command, steps("command")...)
	}
	out, err := format.Set(src, command[0], steps("command")...)
	if err != nil {
		return nil, err
	}
	if root, _ := format.Parse(out); len(command) == 1 && root.At(steps("args")...) != nil {
		return format.Delete(out, steps("args")...)
	}
	return format.Set(out, command[1:], steps("args")...)
}

// setTOMLCommand writes `command` and `args` of a table.
func setTOMLCommand(src []byte, at, command []string) ([]byte, error) {
	doc, problems := tomlx.ParseDoc(src)
	if tree.Fatal(problems) {
		return nil, &textedit.BrokenError{Src: src, Problems: problems}
	}
	n := doc.Root
	for _, k := range at {
		n = n.Get(k)
	}
	c, args := n.Get("command"), n.Get("args")
	if c == nil {
		return nil, fmt.Errorf("%s has no command", strings.Join(at, "."))
	}
	quoted := make([]string, len(command))
	for i, w := range command {
		quoted[i] = jsonx.Quote(w) // a basic string of TOML has the same escapes
	}
	list := "[" + strings.Join(quoted[1:], ", ") + "]"
	edits := []textedit.Edit{{Start: c.Start, End: c.End, Text: quoted[0]}}
	switch {
	case args != nil:
		edits = append(edits, textedit.Edit{Start: args.Start, End: args.End, Text: list})
	case len(command) > 1:
		edits = append(edits, textedit.Edit{Start: c.End, End: c.End, Text: "\nargs = " + list})
	}
	out, err := textedit.Apply(src, edits...)
	if err != nil {
		return nil, err
	}
	if _, problems := tomlx.Parse(out); tree.Fatal(problems) {
		return nil, fmt.Errorf("%s cannot be changed without changing something else", strings.Join(at, "."))
	}
	return out, nil
}
