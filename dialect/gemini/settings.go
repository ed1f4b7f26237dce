package gemini

import (
	"slices"
	"strings"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/internal/format/jsonx"
	"github.com/obstat/obstat/internal/format/textedit"
	"github.com/obstat/obstat/internal/format/tree"
)

const settingsFile = ".gemini/settings.json"

// isSettings tells whether a file is settings, not a policy.
func isSettings(name string) bool { return strings.HasSuffix(name, ".json") }

// A setting is a list of settings.json that stands for rules. All are in the user's tier, whichever file
// they are in.
type setting struct {
	section, key string
	verdict      obstat.Verdict
	priority     int
	servers      bool // it names servers, not tools
	united       bool // those of all files count; else the last file's
	others       bool // tools that it does not name are denied
}

// settings are the lists, with the priorities that Gemini CLI gives them.
var settings = []setting{
	{section: "mcp", key: "excluded", verdict: obstat.Deny, priority: 900, servers: true, united: true},
	{section: "tools", key: "exclude", verdict: obstat.Deny, priority: 400, united: true},
	{section: "tools", key: "confirmationRequired", verdict: obstat.Ask, priority: 350},
	{section: "tools", key: "allowed", verdict: obstat.Allow, priority: 300},
	{section: "tools", key: "core", verdict: obstat.Allow, priority: 250, others: true},
	{section: "mcp", key: "allowed", verdict: obstat.Allow, priority: 100, servers: true},
}

// trusted is the priority of tools of servers with `"trust": true`.
const trusted = 200

// notPlan are the modes that allow rules of settings count in.
var notPlan = []string{modeDefault, modeAutoEdit, modeYolo}

// Speaks tells settings with rules from others; a server that is trusted is no policy by itself.
func (Dialect) Speaks(f *dialect.File) bool {
	if !isSettings(f.Name) {
		return true
	}
	root, problems := textedit.JSONC.Parse(f.Data)
	return tree.Fatal(problems) || slices.ContainsFunc(settings,
		func(s setting) bool { return root.At(s.section, s.key) != nil })
}

// settingsOf reads the rules of the settings among the files.
func (l *loader) settingsOf(files []dialect.File) {
	last := map[setting]*dialect.File{}
	read := map[*dialect.File]*tree.Node{}
	for i := range files {
		f := &files[i]
		if !isSettings(f.Name) {
			continue
		}
		root := l.Parse(f, textedit.JSONC)
		if root == nil {
			continue
		}
		read[f] = root
		for _, s := range settings {
			if root.At(s.section, s.key) != nil {
				last[s] = f
			}
		}
	}
	for i := range files {
		f := &files[i]
		root := read[f]
		if root == nil {
			continue
		}
		l.File = f
		for _, s := range settings {
			if n := root.At(s.section, s.key); n != nil && (s.united || last[s] == f) {
				l.setting(s, n)
			}
		}
		if servers := root.Get("mcpServers"); servers.Is(tree.Object) {
			for _, m := range servers.Members {
				if t := m.Value.Get("trust"); t.Is(tree.Bool) && t.Bool {
					l.set(rule{priority: trusted, verdict: obstat.Allow, modes: notPlan, source: "mcpServers." + m.Key + ".trust"},
						t, "*", m.Key)
				}
			}
		}
	}
}

// setting reads one list.
func (l *loader) setting(s setting, n *tree.Node) {
	var modes []string
	if s.verdict == obstat.Allow && (s.servers || s.key != "allowed") {
		modes = notPlan
	}
	narrowed := false
	for _, e := range l.Texts(n, s.section+"."+s.key) {
		r := rule{priority: s.priority, verdict: s.verdict, modes: modes,
			source: s.section + "." + s.key + ": " + jsonx.Quote(e.Str)}
		if s.servers {
			l.set(r, e, "*", e.Str)
			continue
		}
		name, args, whole := e.Str, "", true
		if at := strings.IndexByte(name, '('); s.verdict == obstat.Allow && at > 0 && strings.HasSuffix(name, ")") {
			name, args, whole = name[:at], name[at+1:len(name)-1], false
		}
		if name == "ShellTool" {
			name = shellTool
		}
		if !whole && name == shellTool {
			narrowed = true
			if args != "" {
				r.regexp = prefixRegexp(args)
			}
		}
		l.set(r, e, name, "")
	}
	switch rest := "(" + s.section + "." + s.key + " names all that is allowed)"; {
	case s.others:
		l.set(rule{priority: s.priority - 10, verdict: obstat.Deny, modes: modes, source: rest}, n, "*", "")
	case narrowed:
		l.set(rule{priority: s.priority - 10, verdict: obstat.Deny, modes: modes, source: rest}, n, shellTool, "")
	}
}

// set adds a rule of the user's tier for a tool, or for a server's tools.
func (l *loader) set(r rule, at *tree.Node, tool, server string) {
	text := func(s string) *tree.Node { return &tree.Node{Kind: tree.String, Str: s, Start: at.Start, End: at.End} }
	r.tier, r.layer, r.pos = tierUser, l.File.Layer, l.Pos(at)
	var of *tree.Node
	if server != "" {
		of = text(server)
	}
	if l.tool(text(tool), of, &r) {
		l.rules = append(l.rules, r)
	}
}
