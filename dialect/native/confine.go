package native

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/internal/format/textedit"
	"github.com/obstat/obstat/internal/format/tree"
)

// Confine is the word `confine:` of a policy: which commands run confined, and in which limits.
// The zero value confines nothing, and unknown code is asked about.
type Confine struct {
	// Code: commands that would ask only because they cannot be looked into run confined.
	Code bool `json:"code,omitempty"`
	// Always: commands that the policy allows run confined as well.
	Always bool `json:"always,omitempty"`
	// Level is the least level that will do, "full" or "files"; "" is full.
	Level string `json:"level,omitempty"`
	// Read and Write are trees besides those that the policy and the toolchains give.
	Read  []string `json:"read,omitempty"`
	Write []string `json:"write,omitempty"`
	// Ports are those of allowed hosts besides 80 and 443.
	Ports []int `json:"ports,omitempty"`
	// During: the process waits while a person is asked about a file that it may not read.
	During bool `json:"during,omitempty"`
	// Time and Size bound a run and each file that it writes; zero is no limit.
	Time time.Duration `json:"time,omitempty"`
	Size int64         `json:"size,omitempty"`
	// Over are judges of an agent's own that a confined allow outranks.
	Over obstat.Over `json:"over,omitempty"`
	// Servers of the Model Context Protocol that `obstat mcp` starts confined, by their names.
	Servers map[string]ConfinedServer `json:"servers,omitempty"`
}

// A ConfinedServer has the lines of one server: trees, hosts and variables besides those that every confined command
// gets.
type ConfinedServer struct {
	Read    []string `json:"read,omitempty"`
	Write   []string `json:"write,omitempty"`
	Connect []string `json:"connect,omitempty"`
	Env     []string `json:"env,omitempty"`
}

// tighten returns the server with the lines that both have.
func (s ConfinedServer) tighten(b ConfinedServer) ConfinedServer {
	return ConfinedServer{common(s.Read, b.Read), common(s.Write, b.Write), common(s.Connect, b.Connect),
		common(s.Env, b.Env)}
}

// String is the word as a file has it: `code`, or `code, level files, write ~/x`.
func (c Confine) String() string {
	parts := []string{"off"}
	switch {
	case c.Always && c.Code:
		parts[0] = "always"
	case c.Always:
		parts[0] = "always, and code asks"
	case c.Code:
		parts[0] = "code"
	}
	if c.Level != "" {
		parts = append(parts, "level "+c.Level)
	}
	for _, list := range []struct {
		word  string
		trees []string
	}{{"read", c.Read}, {"write", c.Write}} {
		if len(list.trees) > 0 {
			parts = append(parts, list.word+" "+strings.Join(list.trees, " "))
		}
	}
	if len(c.Ports) > 0 {
		parts = append(parts, "ports "+strings.Trim(fmt.Sprint(c.Ports), "[]"))
	}
	if c.During {
		parts = append(parts, "ask during")
	}
	if c.Time > 0 {
		parts = append(parts, "time "+c.Time.String())
	}
	if c.Size > 0 {
		parts = append(parts, "size "+strconv.FormatInt(c.Size, 10))
	}
	if c.Over != 0 {
		parts = append(parts, "over "+c.Over.String())
	}
	if len(c.Servers) > 0 {
		parts = append(parts, "servers "+strings.Join(slices.Sorted(maps.Keys(c.Servers)), " "))
	}
	return strings.Join(parts, ", ")
}

// Wanted tells whether any command is to run confined.
func (c *Confine) Wanted() bool { return c.Code || c.Always }

// Tighten returns a with the limits of b: a command that may run confined by a alone asks, one that
// b confines is confined, and trees and ports are those that both have.
func (c Confine) Tighten(b Confine) Confine {
	c.Code, c.Always = c.Code && b.Code, c.Always || b.Always
	if b.Level != "files" {
		c.Level = ""
	}
	c.Read, c.Write, c.Ports = common(c.Read, b.Read), common(c.Write, b.Write), common(c.Ports, b.Ports)
	c.During, c.Over = c.During && b.During, c.Over&b.Over
	c.Servers = bothServers(c.Servers, b.Servers)
	c.Time, c.Size = least(c.Time, b.Time), least(c.Size, b.Size)
	return c
}

// bothServers returns all servers that one of two words confines, each with the lines that both give it.
func bothServers(a, b map[string]ConfinedServer) map[string]ConfinedServer {
	out := maps.Clone(a)
	for name, s := range b {
		if out == nil {
			out = map[string]ConfinedServer{}
		}
		if had, ok := out[name]; ok {
			s = had.tighten(s)
		}
		out[name] = s
	}
	return out
}

func common[T comparable](a, b []T) (out []T) {
	for _, v := range a {
		if slices.Contains(b, v) {
			out = append(out, v)
		}
	}
	return out
}

// least returns the smaller limit; zero is none.
func least[T int64 | time.Duration](a, b T) T {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}

// ConfineOf returns the word `confine:` of a Program of this dialect; said is false where it says
// nothing about it.
func ConfineOf(p *obstat.Program) (c Confine, said bool) {
	if word := paramsOf(p, "confine").Confine; word != nil {
		return *word, true
	}
	return Confine{}, false
}

// Aside tells whether the files of a Program hold nothing but `confine:`, `undo:` and `limit:`, so that they decide
// no call.
func Aside(p *obstat.Program) bool {
	return paramsOf(p, "only").Only
}

// OnlyConfines tells whether a file has nothing to say but how commands are confined, how much of their changes is
// kept, and how many calls there may be. It then counts beside any other policy, and decides no call.
func OnlyConfines(f *dialect.File) bool {
	root, problems := textedit.YAML.Parse(f.Data)
	if tree.Fatal(problems) {
		return false
	}
	aside := 0
	for _, m := range root.Members {
		switch m.Key {
		case "version":
		case "confine", "undo", obstat.ListLimit:
			aside++
		default:
			return false
		}
	}
	return aside > 0
}

var confineFields = []tree.Field{
	{Name: "run", Kinds: []tree.Kind{tree.String}, Required: true},
	{Name: "level", Kinds: []tree.Kind{tree.String}},
	{Name: "read", Kinds: []tree.Kind{tree.Array}},
	{Name: "write", Kinds: []tree.Kind{tree.Array}},
	{Name: "ports", Kinds: []tree.Kind{tree.Array}},
	{Name: "ask", Kinds: []tree.Kind{tree.String}},
	{Name: "time", Kinds: []tree.Kind{tree.String}},
	{Name: "size", Kinds: []tree.Kind{tree.String}},
	{Name: "over", Kinds: []tree.Kind{tree.String, tree.Array}},
	{Name: "servers", Kinds: []tree.Kind{tree.Object}},
}

var serverFields = []tree.Field{
	{Name: "read", Kinds: []tree.Kind{tree.Array}},
	{Name: "write", Kinds: []tree.Kind{tree.Array}},
	{Name: "connect", Kinds: []tree.Kind{tree.String, tree.Array}},
	{Name: "env", Kinds: []tree.Kind{tree.String, tree.Array}},
}

const confineHint = "write `confine: code`, `always` or `off`, or `confine: {run: code, level: files, read: [~/data]}`"

// readConfine reads `confine:` of one file. A project may tighten the word of the user and the machine.
func (l *loader) readConfine(n *tree.Node, layer string) {
	if n == nil {
		return
	}
	var c Confine
	word := n
	if n.Is(tree.Object) {
		l.fields(n, confineFields)
		word = n.Get("run")
		l.confineLimits(n, &c)
	}
	if !word.Is(tree.String) {
		if !n.Is(tree.Object) {
			l.r.Fail(n, obstat.CodeWrongType, confineHint, "confine is a word or an object, not %s", n.Kind)
		}
		return
	}
	switch word.Str {
	case "off":
	case "code":
		c.Code = true
	case "always":
		c.Code, c.Always = true, true
	default:
		l.r.Fail(word, obstat.CodeBadValue, confineHint, "commands run confined for code, always or off, not %q", word.Str)
		return
	}
	at := &l.confine
	if layer == dialect.LayerProject || layer == dialect.LayerLocal {
		at = &l.confineHere
	}
	if *at != nil {
		c = (*at).Tighten(c)
	}
	*at = &c
}

// confined returns the word of all files together, nil where none has it.
func (l *loader) confined() *Confine {
	switch {
	case l.confine == nil:
		return l.confineHere
	case l.confineHere == nil:
		return l.confine
	}
	c := *l.confineHere
	own := *l.confine
	if c.Read == nil { // a project that names no trees leaves those of the user
		c.Read = own.Read
	}
	if c.Write == nil {
		c.Write = own.Write
	}
	if c.Ports == nil {
		c.Ports = own.Ports
	}
	c = own.Tighten(c)
	return &c
}

// confineLimits reads the keys besides the word.
func (l *loader) confineLimits(n *tree.Node, c *Confine) {
	switch v := n.Get("level"); {
	case !v.Is(tree.String) || v.Str == "full":
	case v.Str == "files":
		c.Level = v.Str
	default:
		l.r.Fail(v, obstat.CodeBadValue, "the levels are full and files", "%q is no level", v.Str)
	}
	c.Read, c.Write = l.trees(n.Get("read"), "read"), l.trees(n.Get("write"), "write")
	for _, e := range n.Get("ports").Items() {
		port, err := strconv.Atoi(e.Num)
		if !e.Is(tree.Number) || err != nil || port < 1 || port > 65535 {
			l.r.Fail(e, obstat.CodeBadValue, "write `ports: [22, 5432]`", "a port is a number from 1 to 65535")
			continue
		}
		c.Ports = append(c.Ports, port)
	}
	if v := n.Get("ask"); v.Is(tree.String) {
		if c.During = v.Str == "during"; !c.During {
			l.r.Fail(v, obstat.CodeBadValue, "write `ask: during`, or leave it out",
				"a confined command can ask during its run, not %q", v.Str)
		}
	}
	for _, e := range l.texts(n.Get("over"), "over") {
		judge, ok := obstat.ParseOver(e.Str)
		if !ok || judge == obstat.OverParts {
			l.r.Fail(e, obstat.CodeBadValue, "write `over: auto-mode`, `over: reviewer`, or a list of both",
				"%q is no judge of an agent's", e.Str)
			continue
		}
		c.Over |= judge
	}
	c.Servers = l.servers(n.Get("servers"))
	if v := n.Get("time"); v.Is(tree.String) {
		limit, err := time.ParseDuration(v.Str)
		if err != nil || limit <= 0 {
			l.r.Fail(v, obstat.CodeBadValue, "write `time: 10m`", "%q is no length of time", v.Str)
		}
		c.Time = limit
	}
	if v := n.Get("size"); v.Is(tree.String) {
		size, err := sizeOf(v.Str)
		if err != nil {
			l.r.Fail(v, obstat.CodeBadValue, "write `size: 500M` or `size: 2G`", "%v", err)
		}
		c.Size = size
	}
}

// servers reads `servers: {notes: {read: [~/notes], connect: api.example.org, env: NOTES_TOKEN}}`.
func (l *loader) servers(n *tree.Node) map[string]ConfinedServer {
	if !n.Is(tree.Object) {
		return nil
	}
	out := map[string]ConfinedServer{}
	for _, m := range n.Members {
		if !m.Value.Is(tree.Object) {
			l.r.Fail(m.Value, obstat.CodeWrongType, "write `"+m.Key+": {}`, or `"+m.Key+": {read: [~/notes]}`",
				"the lines of a server are an object, not %s", m.Value.Kind)
			continue
		}
		l.fields(m.Value, serverFields)
		s := ConfinedServer{Read: l.trees(m.Value.Get("read"), "read"), Write: l.trees(m.Value.Get("write"), "write")}
		for _, e := range l.texts(m.Value.Get("connect"), "connect") {
			if _, bad := l.host(target{text: e.Str}); bad != nil || strings.Contains(e.Str, "*") {
				l.r.Fail(e, obstat.CodeBadValue, "write `connect: api.example.org`", "%q is not the name of one host", e.Str)
				continue
			}
			s.Connect = append(s.Connect, strings.ToLower(e.Str))
		}
		for _, e := range l.texts(m.Value.Get("env"), "env") {
			s.Env = append(s.Env, e.Str)
		}
		out[m.Key] = s
	}
	return out
}

// trees reads directories, which are absolute or begin with `~/`.
func (l *loader) trees(n *tree.Node, key string) (out []string) {
	for _, e := range n.Items() {
		text := e.Str
		ok := strings.HasPrefix(text, "/") || strings.HasPrefix(text, "~/") && len(text) > 2
		ok = ok && !strings.ContainsAny(text, "*?$\x00") && !slices.Contains(strings.Split(text, "/"), "..")
		if !e.Is(tree.String) || !ok {
			l.r.Fail(e, obstat.CodeBadValue, "write `"+key+": [~/data, /srv/models]`: directories, without patterns",
				"a tree of a confined command begins with / or ~/")
			continue
		}
		out = append(out, text)
	}
	return out
}

// sizeOf reads `500M`.
func sizeOf(text string) (int64, error) {
	units := map[byte]int64{'K': 1 << 10, 'M': 1 << 20, 'G': 1 << 30}
	unit := int64(1)
	if n := len(text); n > 0 && units[text[n-1]] != 0 {
		unit, text = units[text[n-1]], text[:n-1]
	}
	v, err := strconv.ParseInt(text, 10, 32)
	if err != nil || v <= 0 {
		return 0, fmt.Errorf("%q is no size", text)
	}
	return v * unit, nil
}
