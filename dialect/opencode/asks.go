package opencode

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"unicode"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect/kit"
	"github.com/obstat/obstat/effect"
	"github.com/obstat/obstat/internal/format/tree"
)

// An Ask is the question of a tool before it runs: may the call have this permission
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
var tools = sync.OnceValue(func() map[string]tool {
	return map[string]tool{
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
		"webfetch":    {"webfetch", (*callView).fetch},
		"websearch":   {"websearch", text("query")},
		"skill":       {"skill", name("name")},
		"task":        {"task", text("subagent_type")},

		"list_mcp_resources":          {"read", (*callView).resources},
		"list_mcp_resource_templates": {"read", (*callView).resources},
		"read_mcp_resource":           {"read", (*callView).resources},
	}
})

// A callView is a call on its way to asks.
type callView struct {
	params
	f *obstat.Facts
	// learn: the patterns of "always" are wanted as well.
	learn bool
	args  *tree.Node
	// theirs is the tool of another agent that is called; nil: it is opencode's own.
	theirs *effect.Tool
	perm   string
	part   bool     // it is made up of a file that a call touches
	main   []Ask    // the asks of the tool
	dirs   distinct // directories outside, as patterns
}

// Asks returns the asks of a call, in the program's order: directories outside
// the project before the tool's own asks, but for searches. The floor
// says whether to look at more than the program does.
func Asks(order Order, floor bool, call *obstat.Call, world obstat.World) ([]Ask, error) {
	v := view{params{Order: order, Floor: floor}}
	return v.asks(&obstat.Facts{Call: call, World: world}, true)
}

// OrderOf returns the order of a Program.
func OrderOf(p *obstat.Program) Order {
	v, err := readParams(p.Params)
	if err != nil {
		return Last
	}
	return v.Order
}

// AsksOf is Asks with the order and the floor of a Program.
func AsksOf(p *obstat.Program, call *obstat.Call, world obstat.World) ([]Ask, error) {
	v, err := readParams(p.Params)
	if err != nil {
		return nil, err
	}
	return Asks(v.Order, v.Floor, call, world)
}

func (v view) asks(f *obstat.Facts, learn bool) ([]Ask, error) {
	c := &callView{params: v.params, f: f, learn: learn, perm: sanitize(f.Call.Tool)}
	var err error
	if c.args, err = kit.Arguments(f); err != nil {
		return nil, err
	}
	t, known := tools()[f.Call.Tool]
	switch foreign, err := c.foreign(); {
	case err != nil:
		return nil, err
	case foreign:
	case known:
		c.perm = t.permission
		if err := t.ask(c); err != nil {
			return nil, err
		}
	default:
		c.ask([]string{"*"}, []string{"*"})
		c.alike()
	}
	out := c.main
	if dirs := c.dirs.texts; len(dirs) > 0 {
		external := Ask{Permission: permExternal, Patterns: dirs, Always: dirs}
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
// another spelling or runs shell text, the asks of that one as well: rules
// for the shell are meant for whatever is one. The program does not.
func (c *callView) alike() {
	name := c.f.Call.Tool
	t, known := tools()[strings.ToLower(name)]
	own := *c
	if e, ok := effect.Lookup(name); !known && ok && e.Shell() {
		t, known = tools()["bash"]
		own.theirs = &e // its command may be in `cmd`
	}
	if !known || !c.Floor {
		return
	}
	own.perm = t.permission
	if t.ask(&own) == nil {
		c.main, c.dirs = own.main, own.dirs
	}
}

// doomLoop is how many times the same call in a row is once too often.
const doomLoop = 3

// optional returns a field that need not be there, by opencode's name for it or the
// one that another agent's tool has.
func (c *callView) optional(field string) (text string, there bool, err error) {
	return kit.Text(c.f.Call.Tool, c.args, append([]string{field}, c.fields(field)...)...)
}

// fields returns the names that another agent's tool has for a field of opencode's.
func (c *callView) fields(field string) []string {
	if c.theirs == nil {
		return nil
	}
	switch field {
	case "command", "patchText":
		return c.theirs.Command
	case "workdir":
		return c.theirs.Dir
	case "path":
		return c.theirs.Paths
	case "url":
		return []string{"uri"}
	case "subagent_type":
		return []string{"agent_type", "agent_name"}
	case "name":
		return []string{"skill", "command"}
	case "pattern":
		if c.theirs.Canonical == "glob" {
			return c.theirs.Names
		}
	}
	return nil
}

// text returns a field that has to be there.
func (c *callView) text(field string) (string, error) {
	text, there, err := c.optional(field)
	if err == nil && !there {
		err = fmt.Errorf("a call of %s has a %s, and this one has none", c.f.Call.Tool, field)
	}
	return text, err
}

// ask adds patterns to the tool's asks.
func (c *callView) ask(patterns, always []string) {
	if c.Order == First { // the very values, and nothing that they would match as patterns
		always = nil
		for _, p := range patterns {
			always = append(always, quoteGlob(p))
		}
	}
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

// sanitize writes a tool's name as the program does.
func sanitize(name string) string {
	return strings.Map(func(r rune) rune {
		if r == '_' || r == '-' || r < 0x80 && (unicode.IsLetter(r) || unicode.IsDigit(r)) {
			return r
		}
		return '_'
	}, name)
}

// distinct are texts in the order they were first added, however many.
type distinct struct {
	texts []string
	seen  map[string]struct{}
}

func (d *distinct) add(texts ...string) {
	if d.seen == nil {
		d.seen = map[string]struct{}{}
	}
	for _, s := range texts {
		if _, ok := d.seen[s]; !ok {
			d.seen[s] = struct{}{}
			d.texts = append(d.texts, s)
		}
	}
}

// appendNew adds texts that a short list does not have.
func appendNew(list []string, texts ...string) []string {
	for _, s := range texts {
		if !slices.Contains(list, s) {
			list = append(list, s)
		}
	}
	return list
}
