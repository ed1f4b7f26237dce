package opencode

import (
	"bytes"
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/dialect/kit"
	"github.com/obstat/obstat/internal/format/jsonx"
	"github.com/obstat/obstat/internal/format/tree"
)

// The keys that hold rules: the program's and the document's.
const (
	keyProgram  = "permission"
	keyDocument = "permissions"
)

// key returns the key that an order reads.
func (o Order) key() string {
	if o == First {
		return keyDocument
	}
	return keyProgram
}

// settings are the rules of a file, or of an agent in it.
type settings struct {
	section section
	list    Ruleset // the array format
	tools   section // the legacy switches, as permissions
}

// A fileConfig is the content of one file.
type fileConfig struct {
	settings
	file   *dialect.File
	agents []agentConfig
}

// An agentConfig is the settings of one agent, from all files.
type agentConfig struct {
	settings
	name    string
	mode    string // primary, subagent or all; "" is not said
	disable bool
	pos     obstat.Pos
}

// A reader reads files.
type reader struct {
	kit.Reader
	order Order
	home  string
	// strict: the program reads the file, so mistakes that it refuses are
	// refused. It does not read a ruleset that is given as a layer.
	strict bool
}

// parse reads the text of a configuration file, nil if it cannot be used.
func (r *reader) parse(f *dialect.File) *tree.Node {
	if len(bytes.TrimSpace(f.Data)) == 0 {
		return &tree.Node{Kind: tree.Object} // an empty file says nothing
	}
	root := r.Parse(f, format)
	if !r.Is(root, "a configuration", tree.Object) {
		return nil
	}
	return root
}

// read reads the rules of a configuration file in the given order.
func (r *reader) read(f *dialect.File, root *tree.Node) *fileConfig {
	r.File = f
	r.keys(root)
	return &fileConfig{file: f, settings: r.settings(root),
		agents: append(r.agents(root, "mode"), r.agents(root, "agent")...)}
}

// settings reads the rules of a file, or of an agent.
func (r *reader) settings(n *tree.Node) (s settings) {
	if v := n.Get(r.order.key()); v != nil {
		s.section, s.list = r.rulesNode(v)
	}
	if r.order == Last {
		s.tools = r.tools(n.Get("tools"))
	}
	return s
}

// keys looks at the keys of the whole file: one that is not read must not pass
// for one that is.
func (r *reader) keys(root *tree.Node) {
	for _, m := range root.Members {
		switch {
		case m.Key == r.order.other().key():
			r.otherKey(&m, root)
		case m.Key == keyDocument && programFile(r.File.Name):
			r.Warn(m.KeyNode, obstat.CodeNoEffect, `opencode reads "permission"`,
				"opencode itself reads %q in this file and ignores %q", keyProgram, keyDocument)
		case m.Key == keyProgram || m.Key == keyDocument:
		case strings.EqualFold(m.Key, keyProgram) || strings.EqualFold(m.Key, keyDocument) || near(m.Key):
			r.Warn(m.KeyNode, obstat.CodeUnknownKey, "write "+jsonx.Quote(r.order.key()), "nobody reads %q", m.Key)
		}
	}
}

func near(key string) bool {
	word, ok := tree.Nearest(key, keyProgram, keyDocument)
	return ok && word != "" && len(key) > 6
}

// otherKey warns of the key that the other order reads.
func (r *reader) otherKey(m *tree.Member, root *tree.Node) {
	if r.order == Last {
		r.Warn(m.KeyNode, obstat.CodeNoEffect, "move its rules to "+jsonx.Quote(keyProgram),
			"opencode reads %q and ignores %q", keyProgram, keyDocument)
		return
	}
	hint := "say order: last to read it as opencode does"
	if root.Get(keyDocument) != nil {
		hint = "keep one of the two"
	}
	r.Warn(m.KeyNode, obstat.CodeNoEffect, hint, "with order first, %q is read and %q is not", keyDocument, keyProgram)
}

// programFile tells whether opencode itself reads a file of that name.
func programFile(name string) bool {
	base := path.Base(slashes(name))
	return base == "opencode.json" || base == "opencode.jsonc"
}

// rulesNode reads the value of permission or permissions.
func (r *reader) rulesNode(n *tree.Node) (out section, list Ruleset) {
	switch {
	case n.Is(tree.Object):
		for _, m := range n.Members {
			if r.keyText(&m) {
				r.permission(&out, &m)
			}
		}
	case n.Is(tree.Array) && (r.order == First || !r.strict):
		return out, r.list(n)
	case n.Is(tree.String) && r.order == Last:
		if v, ok := r.action(n); ok {
			out.set("*", r.rule(n, "*", "*", v, true))
		}
	case n.Is(tree.Array):
		r.Fail(n, obstat.CodeWrongType, `a list is the form of the document's "permissions"`,
			"opencode takes no list for %q: write an object", keyProgram)
	default:
		r.Is(n, jsonx.Quote(r.order.key()), tree.Object)
	}
	return out, nil
}

// rule returns a rule that stands at n.
func (r *reader) rule(n *tree.Node, permission, pattern string, v obstat.Verdict, short bool) Rule {
	return Rule{Permission: permission, Pattern: pattern, Action: v, Short: short, Layer: r.File.Layer, Pos: r.Pos(n)}
}

// wordsOnly are the permissions for which the program takes one action alone.
var wordsOnly = []string{"todowrite", "question", "webfetch", "websearch", "doom_loop"}

// permission reads one permission: an action, or actions by pattern.
func (r *reader) permission(out *section, m *tree.Member) {
	switch {
	case m.Key == "":
		r.Fail(m.KeyNode, obstat.CodeMissing, "", "a permission without a name")
	case m.Value.Is(tree.String):
		if v, ok := r.action(m.Value); ok {
			out.set(m.Key, r.rule(m.KeyNode, m.Key, "*", v, true))
		}
	case !m.Value.Is(tree.Object):
		r.Fail(m.Value, obstat.CodeWrongType, "", "%q should be an action or an object of patterns, not %s", m.Key,
			m.Value.Kind)
	case r.order == Last && r.strict && slices.Contains(wordsOnly, m.Key):
		r.Fail(m.Value, obstat.CodeWrongType, "write one of allow, ask and deny",
			"opencode takes one action for %q, not patterns", m.Key)
	default:
		out.set(m.Key, r.patterns(m.Key, m.Value)...)
	}
}

func (r *reader) patterns(name string, n *tree.Node) (out []Rule) {
	for _, m := range n.Members {
		if !r.keyText(&m) {
			continue
		}
		if r.order == Last && r.home == "" && needsHome(m.Key) {
			r.Warn(m.KeyNode, obstat.CodeRisky, "", "the home directory is not known, so %q is taken as it is written", m.Key)
		}
		if v, ok := r.action(m.Value); ok {
			if rule := r.rule(m.KeyNode, name, m.Key, v, false); r.compiles(m.KeyNode, rule) {
				out = append(out, rule)
			}
		}
	}
	return out
}

// keyText checks a key that is a permission or a pattern.
func (r *reader) keyText(m *tree.Member) bool {
	if isIndex(m.Key) {
		r.Warn(m.KeyNode, obstat.CodeRisky, "the order of keys decides: do not use a number for one",
			"JavaScript moves the key %q before all others", m.Key)
	}
	return r.plainText(m.KeyNode, m.Key)
}

// plainText refuses `{env:X}` and `{file:X}`, which opencode replaces when it
// reads the file: their value is not known here.
func (r *reader) plainText(n *tree.Node, s string) bool {
	for _, open := range []string{"{env:", "{file:"} {
		if i := strings.Index(s, open); i >= 0 && strings.Contains(s[i:], "}") {
			r.Fail(n, obstat.CodeBadValue, "write the text itself", "what opencode puts in for %s...} cannot be seen here", open)
			return false
		}
	}
	return true
}

// compiles tells whether the engine can read a rule's pattern. Any text is a
// wildcard of the program, if it is not too long.
func (r *reader) compiles(n *tree.Node, rule Rule) bool {
	const short = 1000
	if r.order == Last && len(rule.Pattern) < short && len(rule.Permission) < short {
		return true
	}
	for _, t := range []obstat.Text{rule.tool(r.order), rule.text(r.order)} {
		if !t.IsZero() && !r.Compiles(n, t, fmt.Sprintf("%.120q is not a pattern", t.Text)) {
			return false
		}
	}
	return true
}

// action reads allow, ask or deny.
func (r *reader) action(n *tree.Node) (v obstat.Verdict, ok bool) {
	v, err := obstat.ParseVerdict(n.Str)
	switch {
	case !n.Is(tree.String):
		r.Fail(n, obstat.CodeWrongType, "", "an action is one of allow, ask and deny, not %s", n.Kind)
	case err == nil:
		return v, true
	case r.plainText(n, n.Str):
		r.Fail(n, obstat.CodeBadValue, cmp.Or(dialect.Near(n.Str, "allow", "ask", "deny"),
			"the actions are allow, ask and deny"), "%q is no action", n.Str)
	}
	return obstat.Deny, false
}

// list reads the array format.
func (r *reader) list(n *tree.Node) (out Ruleset) {
	for _, e := range n.Elems {
		if e.Get("effect") != nil && e.Get("resource") != nil {
			r.Fail(e, obstat.CodeUnknownKey, "write permission, pattern and action",
				"this is a rule of opencode 2, whose files are not read")
			continue
		}
		before := len(r.Errs)
		r.Add(e.Check(ruleFields()...)...)
		if r.Errs[before:].Fatal() != nil {
			continue
		}
		permission, pattern := e.Get("permission"), e.Get("pattern")
		v, ok := r.action(e.Get("action"))
		rule := r.rule(e, permission.Str, pattern.Str, v, false)
		if rule.Permission == "" {
			r.Fail(permission, obstat.CodeMissing, "", "a permission without a name")
			ok = false
		}
		if ok && r.plainText(permission, rule.Permission) && r.plainText(pattern, rule.Pattern) && r.compiles(pattern, rule) {
			out = append(out, rule)
		}
	}
	return out
}

// tools reads the legacy switches: true is allow, false is deny, and the tools
// that write files are one permission, whose last switch counts.
func (r *reader) tools(n *tree.Node) (out section) {
	for _, m := range r.Members(n, `"tools"`) {
		switch {
		case !m.Value.Is(tree.Bool):
			r.Fail(m.Value, obstat.CodeWrongType, "", "a tool is switched with true or false, not with %s", m.Value.Kind)
			continue
		case m.Key == "":
			r.Fail(m.KeyNode, obstat.CodeMissing, "", "a permission without a name")
			continue
		case !r.keyText(&m):
			continue
		}
		name, v := m.Key, obstat.Deny
		if m.Value.Bool {
			v = obstat.Allow
		}
		if slices.Contains([]string{"write", "edit", "patch"}, name) {
			name = "edit"
		}
		out.set(name, r.rule(m.KeyNode, name, "*", v, true))
	}
	return out
}

// agents reads the agents of a configuration file under a key; those of "mode" are
// all primary.
func (r *reader) agents(root *tree.Node, key string) (out []agentConfig) {
	for _, m := range r.Members(root.Get(key), jsonx.Quote(key)) {
		if !r.Is(m.Value, fmt.Sprintf("the agent %q", m.Key), tree.Object) {
			continue
		}
		a := r.agent(m.Key, m.Value)
		if a.pos = r.Pos(m.KeyNode); key == "mode" {
			a.mode = modePrimary
		}
		out = append(out, a)
	}
	return out
}

// The modes of agents.
const (
	modePrimary  = "primary"
	modeSubagent = "subagent"
	modeAll      = "all"
)

func (r *reader) agent(name string, n *tree.Node) agentConfig {
	a := agentConfig{name: name, settings: r.settings(n), pos: r.Pos(n)}
	if name == "" || name == string(ModeRules) || strings.Contains(name, pairSign) { // modes of ours
		r.Fail(n, obstat.CodeBadValue, "give the agent another name", "an agent cannot be called %q here", name)
	}
	if v := n.Get("mode"); v != nil {
		if !v.Is(tree.String) || !slices.Contains([]string{modePrimary, modeSubagent, modeAll}, v.Str) {
			r.Fail(v, obstat.CodeBadValue, "", "an agent's mode is primary, subagent or all")
		}
		a.mode = v.Str
	}
	if v := n.Get("disable"); r.Is(v, `"disable"`, tree.Bool) {
		a.disable = v.Bool
	}
	own, other := r.order.key(), r.order.other().key()
	if m := n.Member(other); m != nil {
		r.Warn(m.KeyNode, obstat.CodeNoEffect, "write "+jsonx.Quote(own), "with order %s, %q is read and %q is not",
			r.order, own, other)
	}
	return a
}
