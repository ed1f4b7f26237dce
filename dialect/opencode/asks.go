package opencode

import (
	"fmt"
	"slices"
	"strings"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/effect"
	"github.com/obstat/obstat/internal/jsonx"
	"github.com/obstat/obstat/internal/tree"
)

// An Ask is what a tool asks before it runs: may the call have this permission
// for these patterns? Always are the patterns that an answer "always" allows.
type Ask struct {
	Permission string   `json:"permission"`
	Patterns   []string `json:"patterns"`
	Always     []string `json:"always"`

	by map[string][]string // which of Always belong to which pattern of a shell call
}

// The permissions that no tool has as its name.
const (
	permExternal = "external_directory"
	permDoomLoop = "doom_loop"
)

// A tool is how a tool's calls are turned into asks.
type tool struct {
	permission string
	ask        func(c *callView) error
}

// tools are the tools that opencode has of itself; every other one is of an MCP
// server or a plugin.
var tools = map[string]tool{
	"bash":        {"bash", (*callView).bash},
	"read":        {"read", (*callView).file},
	"write":       {"edit", (*callView).file},
	"edit":        {"edit", (*callView).file},
	"multiedit":   {"edit", (*callView).file},
	"apply_patch": {"edit", (*callView).patch},
	"patch":       {"edit", (*callView).patch},
	"glob":        {"glob", (*callView).glob},
	"grep":        {"grep", (*callView).grep},
	"list":        {"list", (*callView).list},
	"webfetch":    {"webfetch", text("url")},
	"websearch":   {"websearch", text("query")},
	"skill":       {"skill", name("name")},
	"task":        {"task", text("subagent_type")},

	"list_mcp_resources":          {"read", (*callView).resources},
	"list_mcp_resource_templates": {"read", (*callView).resources},
	"read_mcp_resource":           {"read", (*callView).resources},
}

// A callView is a call on its way to asks.
type callView struct {
	params
	f *obstat.Facts
	// learn: what "always" would remember is wanted as well.
	learn bool
	args  *tree.Node
	perm  string
	main  []Ask    // what the tool asks
	dirs  []string // directories outside, as patterns
}

// Asks returns what a call asks, in the program's order: directories outside
// the project before what the tool itself asks, but for searches. The floor
// says whether to look at more than the program does.
func Asks(order Order, floor bool, call *obstat.Call, world obstat.World) ([]Ask, error) {
	v := view{params{order, floor}}
	return v.asks(&obstat.Facts{Call: call, World: world}, true)
}

func (v view) asks(f *obstat.Facts, learn bool) ([]Ask, error) {
	c := &callView{params: v.params, f: f, learn: learn, perm: sanitize(f.Call.Tool)}
	if err := c.read(); err != nil {
		return nil, err
	}
	t, known := tools[f.Call.Tool]
	if known {
		c.perm = t.permission
		if err := t.ask(c); err != nil {
			return nil, err
		}
	} else {
		c.ask([]string{"*"}, []string{"*"})
		c.alike()
	}
	out := c.main
	if len(c.dirs) > 0 {
		external := Ask{Permission: permExternal, Patterns: c.dirs, Always: c.dirs}
		if v.Order == Last && (c.perm == "glob" || c.perm == "grep") {
			out = append(out, external)
		} else {
			out = append([]Ask{external}, out...)
		}
	}
	if f.Call.Repeat >= doomLoop-1 && f.Part() == nil {
		out = append(out, Ask{Permission: permDoomLoop, Patterns: []string{f.Call.Tool}, Always: []string{f.Call.Tool}})
	}
	return out, nil
}

// alike asks, of a tool that is not opencode's own but looks like one of them in
// another spelling or runs shell text, what that one would ask as well: rules
// for the shell are meant for whatever is one. The program does not.
func (c *callView) alike() {
	name := c.f.Call.Tool
	t, known := tools[strings.ToLower(name)]
	if e, ok := effect.Lookup(name); !known && ok && e.Shell() {
		t, known = tools["bash"]
	}
	if !known || !c.Floor {
		return
	}
	own := *c
	own.perm = t.permission
	if t.ask(&own) == nil {
		c.main, c.dirs = own.main, own.dirs
	}
}

// doomLoop is how many times the same call in a row is once too often.
const doomLoop = 3

// read reads the call's input. No input is an empty one.
func (c *callView) read() error {
	c.args = &tree.Node{Kind: tree.Object}
	raw := c.f.Call.Input
	if s := strings.TrimSpace(string(raw)); s == "" || s == "null" {
		return nil
	}
	n, problems := jsonx.Parse(raw, jsonx.Options{NUL: true})
	switch {
	case tree.Fatal(problems):
		return fmt.Errorf("the input cannot be read: %w", problems[0])
	case !n.Is(tree.Object):
		return fmt.Errorf("the input is %s, not an object", n.Kind)
	}
	c.args = n
	return c.f.Fault()
}

// text returns the input's field, which has to be a text.
func (c *callView) text(field string) (string, error) {
	n := c.args.Get(field)
	if n == nil {
		return "", fmt.Errorf("a call of %s has a %s, and this one has none", c.f.Call.Tool, field)
	}
	if !n.Is(tree.String) {
		return "", fmt.Errorf("%s is %s, not a text", field, n.Kind)
	}
	return n.Str, nil
}

// optional returns a field that need not be there.
func (c *callView) optional(field string) (text string, there bool, err error) {
	n := c.args.Get(field)
	if n == nil || n.Is(tree.Null) {
		return "", false, nil
	}
	text, err = c.text(field)
	return text, true, err
}

// ask adds patterns to what the tool asks.
func (c *callView) ask(patterns, always []string) {
	c.main = append(c.main, Ask{Permission: c.perm, Patterns: patterns, Always: always})
}

// text is the ask of a tool whose one field is the pattern.
func text(field string) func(*callView) error {
	return func(c *callView) error {
		s, err := c.text(field)
		c.ask([]string{s}, []string{"*"})
		return err
	}
}

// name is the ask of a tool whose one field is remembered as it is.
func name(field string) func(*callView) error {
	return func(c *callView) error {
		s, err := c.text(field)
		c.ask([]string{s}, []string{s})
		return err
	}
}

// file is the ask of a tool that works on one file.
func (c *callView) file() error {
	var patterns []string
	for _, field := range pathFields(c.f.Call.Tool) {
		p, there, err := c.optional(field)
		if err != nil {
			return err
		}
		if there {
			patterns = appendNew(patterns, c.place(p, false)...)
		}
	}
	if len(patterns) == 0 {
		return fmt.Errorf("a call of %s has a filePath, and this one has none", c.f.Call.Tool)
	}
	c.ask(patterns, []string{"*"})
	return nil
}

// pathFields returns the fields that may hold the path of a file tool. The
// program's is filePath; a call that came another way may name it otherwise.
func pathFields(name string) []string {
	t, _ := effect.Lookup(name)
	return appendNew([]string{"filePath"}, t.Paths...)
}

// patch is the ask of a tool that applies a patch: every file that it names,
// and every file that it moves one to.
func (c *callView) patch() error {
	body, err := c.text("patchText")
	if err != nil {
		return err
	}
	var patterns []string
	for line := range strings.SplitSeq(body, "\n") {
		for _, head := range []string{"*** Add File:", "*** Update File:", "*** Delete File:", "*** Move to:"} {
			if p, ok := strings.CutPrefix(strings.TrimSuffix(line, "\r"), head); ok {
				patterns = appendNew(patterns, c.place(strings.TrimSpace(p), false)...)
			}
		}
	}
	if len(patterns) == 0 {
		return fmt.Errorf("the patch names no file")
	}
	c.ask(patterns, []string{"*"})
	return nil
}

// glob asks about the pattern, and about the directory that it looks in.
func (c *callView) glob() error {
	s, err := c.text("pattern")
	if err != nil {
		return err
	}
	c.ask([]string{s}, []string{"*"})
	if err := c.searched(true); err != nil {
		return err
	}
	if strings.HasPrefix(s, "/") || strings.Contains(s, "..") {
		c.globDir(s)
	}
	return nil
}

// globDir asks about the directory that a pattern leads to by itself.
func (c *callView) globDir(pattern string) {
	if !c.Floor {
		return
	}
	base, _, _ := c.optional("path")
	c.outside(joinPath(c.absolute(base), cutGlob(pattern)), true)
}

func (c *callView) grep() error {
	s, err := c.text("pattern")
	if err != nil {
		return err
	}
	c.ask([]string{s}, []string{"*"})
	if err := c.searched(false); err != nil {
		return err
	}
	return c.grepReads()
}

// grepReads asks whether the very file that is searched may be read: the rules
// of grep look at what is searched for, and would give any file away.
func (c *callView) grepReads() error {
	p, there, err := c.optional("path")
	if err != nil || !there || !c.Floor {
		return err
	}
	if abs := c.absolute(p); !c.isDir(abs) {
		c.main = append(c.main, Ask{Permission: "read", Patterns: []string{c.relative(abs)}, Always: []string{"*"}})
	}
	return nil
}

// searched asks about the directory of a search.
func (c *callView) searched(dir bool) error {
	p, there, err := c.optional("path")
	if err != nil || !there {
		return err
	}
	abs := c.absolute(p)
	c.outside(abs, dir || c.isDir(abs))
	return nil
}

// list asks about a directory.
func (c *callView) list() error {
	p, _, err := c.optional("path")
	if err != nil {
		return err
	}
	c.ask(c.place(p, true), []string{"*"})
	return nil
}

// resources asks about resources of an MCP server.
func (c *callView) resources() error {
	server, named, err := c.optional("server")
	if err != nil {
		return err
	}
	all := "mcp:" + server + ":*"
	if !named {
		all = "mcp:*"
	}
	uri, there, err := c.optional("uri")
	if err != nil {
		return err
	}
	if !there && c.f.Call.Tool == "read_mcp_resource" {
		return fmt.Errorf("a resource is read without saying which")
	}
	if !there {
		c.ask([]string{all}, []string{all})
		return nil
	}
	c.ask([]string{"mcp:" + server + ":" + uri}, []string{all})
	return nil
}

// sanitize writes a tool's name as the program does.
func sanitize(name string) string {
	return strings.Map(func(r rune) rune {
		if r == '_' || r == '-' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			return r
		}
		return '_'
	}, name)
}

func appendNew(list []string, texts ...string) []string {
	for _, s := range texts {
		if !slices.Contains(list, s) {
			list = append(list, s)
		}
	}
	return list
}
