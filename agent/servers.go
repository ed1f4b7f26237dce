package agent

import (
	"bytes"
	"cmp"
	"fmt"
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
	place
	// keys lead to the servers: `mcpServers`, or `projects/*/mcpServers`, where the star is the
	// project's directory.
	keys []string
	list bool // the command is one list: opencode
}

// jsonServers are the places of agents that have `mcpServers` in a file of a project, "" for none,
// and in one of a directory below home.
func jsonServers(project, under, user string) (out []serverPlace) {
	keys := []string{"mcpServers"}
	if project != "" {
		out = append(out, serverPlace{place: place{scope: Project, path: project}, keys: keys})
	}
	return append(out, serverPlace{place: place{scope: User, under: under, path: user}, keys: keys})
}

// A Server is a server of the Model Context Protocol in an agent's settings.
type Server struct {
	Agent, File, Name string
	// Command starts it, without obstat's gateway if that is in front of it.
	Command []string
	Env     []string
	Dir     string
	URL     string
	Header  map[string]string // as written: `authorization`
	// Gateway is the command of obstat's gateway in front of it, nil where there is none.
	Gateway []string
}

// file returns the place's file, "" where there is none in such surroundings.
func (p *serverPlace) file(w *Where) string {
	for _, dir := range p.bases(w) {
		return filepath.Join(dir, filepath.FromSlash(p.path))
	}
	return ""
}

// each calls visit with the steps to every server of a document, and its node.
func (p *serverPlace) each(root *tree.Node, w *Where, visit func(at []string, n *tree.Node)) {
	for _, keys := range p.keys {
		at, n := strings.Split(keys, "/"), root
		for i, k := range at {
			if k == "*" && len(w.Projects) > 0 {
				at[i] = w.Projects[0]
			}
			n = n.Get(at[i])
		}
		if n.Is(tree.Object) {
			for _, m := range n.Members {
				visit(append(slices.Clone(at), m.Key), m.Value)
			}
		}
	}
}

// Servers returns the servers that agents have in their settings, or, where config names a
// file, those of its mcpServers.
func Servers(w *Where, config string) (out []Server, err error) {
	if config != "" {
		p := &serverPlace{keys: []string{"mcpServers"}}
		return p.servers(Generic, config, true, w)
	}
	for _, a := range All().sorted() {
		for i := range a.servers {
			p := &a.servers[i]
			file := p.file(w)
			if file == "" {
				continue
			}
			list, err := p.servers(a.Name, file, false, w)
			if err != nil {
				return nil, err
			}
			out = append(out, list...)
		}
	}
	return out, nil
}

// servers reads the servers of a file, which has to be there if that is wanted.
func (p *serverPlace) servers(agent, name string, wanted bool, w *Where) (out []Server, err error) {
	data, err := textedit.ReadFile(name)
	if err == nil && data == nil && wanted {
		err = fmt.Errorf("%s is not there", name)
	}
	if err != nil {
		return nil, err
	}
	root, problems := parseServers(name, data)
	if tree.Fatal(problems) && len(bytes.TrimSpace(data)) > 0 {
		return nil, fmt.Errorf("%s:%w", name, &textedit.BrokenError{Src: data, Problems: problems})
	}
	p.each(root, w, func(at []string, n *tree.Node) {
		s := p.server(n)
		s.Agent, s.File, s.Name = agent, name, at[len(at)-1]
		out = append(out, s)
	})
	return out, nil
}

func parseServers(name string, data []byte) (*tree.Node, []tree.Problem) {
	if filepath.Ext(name) == ".toml" {
		return tomlx.Parse(data)
	}
	return textedit.JSONC.Parse(data)
}

// server reads one server.
func (p *serverPlace) server(n *tree.Node) Server {
	s := Server{Dir: text(n, "cwd"), URL: cmp.Or(text(n, "httpUrl"), text(n, "url")), Header: map[string]string{}}
	if p.list {
		s.Command = texts(n.Get("command"))
	} else if c := text(n, "command"); c != "" {
		s.Command = append([]string{c}, texts(n.Get("args"))...)
	}
	for _, key := range []string{"env", "environment"} {
		eachText(n.Get(key), func(name, value string) { s.Env = append(s.Env, name+"="+value) })
	}
	for _, key := range []string{"headers", "http_headers"} {
		eachText(n.Get(key), func(name, value string) { s.Header[name] = value })
	}
	if own := behind(s.Command); own != nil {
		s.Gateway, s.Command = s.Command[:len(s.Command)-len(own)], own
	}
	return s
}

// eachText calls visit with the keys and texts of an object.
func eachText(n *tree.Node, visit func(key, value string)) {
	if n.Is(tree.Object) {
		for _, m := range n.Members {
			visit(m.Key, m.Value.Str)
		}
	}
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
	for i := range a.servers {
		p := &a.servers[i]
		name := p.file(r.Where)
		if p.scope != r.Scope || name == "" {
			continue
		}
		data, err := textedit.ReadFile(name)
		if err != nil || data == nil {
			continue
		}
		found := false
		root, _ := parseServers(name, data)
		p.each(root, r.Where, func(at []string, n *tree.Node) {
			started := p.server(n).Command != nil
			if found = found || started; !started && !remove {
				left = append(left, fmt.Sprintf("%s in %s", at[len(at)-1], name))
			}
		})
		if found {
			edit := func(old []byte) ([]byte, error) { return p.guard(old, a.Name, name, r, remove) }
			out = append(out, Change{Name: name, Edit: edit, Same: sameServers(name)})
		}
	}
	return out, left
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
func (p *serverPlace) guard(old []byte, agent, name string, r *Request, remove bool) (out []byte, err error) {
	root, problems := parseServers(name, old)
	if tree.Fatal(problems) {
		return nil, &textedit.BrokenError{Src: old, Problems: problems}
	}
	out = old
	p.each(root, r.Where, func(at []string, n *tree.Node) {
		s := p.server(n)
		if err != nil || s.Command == nil || remove && s.Gateway == nil {
			return
		}
		command := s.Command
		if !remove {
			command = append(Gateway(r.Program, at[len(at)-1], agent), command...)
		}
		out, err = p.setCommand(out, name, at, command)
	})
	return out, err
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
