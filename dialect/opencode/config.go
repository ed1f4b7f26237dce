package opencode

import (
	"path"
	"slices"
	"strings"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/internal/jsonx"
	"github.com/obstat/obstat/internal/tree"
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

// A fileConfig is the content of one file.
type fileConfig struct {
	file    *dialect.File
	root    *tree.Node
	section section
	list    Ruleset // the array format
	tools   section // the legacy switches, as permissions
	agents  []agentConfig
}

// An agentConfig is the settings of one agent, from all files.
type agentConfig struct {
	name       string
	mode       string // primary, subagent or all; "" is not said
	disable    bool
	permission section
	list       Ruleset // the array format
	tools      section
	pos        obstat.Pos
}

// A reader reads files.
type reader struct {
	order Order
	home  string
	// strict: the file is one that the program reads, so what the program
	// refuses is refused. A ruleset that is given as a layer is not one.
	strict bool
	file   *dialect.File
	errs   obstat.Errors
	cursor cursor
}

// pos returns the place of a byte of the file.
func (r *reader) pos(offset int) obstat.Pos { return r.cursor.pos(r.file, offset) }

func (r *reader) fail(n *tree.Node, code obstat.Code, hint, format string, args ...any) {
	at := 0
	if n != nil {
		at = n.Start
	}
	e := r.file.Problem(at, code, format, args...)
	e.Hint = hint
	r.errs = append(r.errs, e)
}

func (r *reader) warn(n *tree.Node, code obstat.Code, hint, format string, args ...any) {
	r.fail(n, code, hint, format, args...)
	r.errs[len(r.errs)-1].Warning = true
}

// parse reads the text of a configuration file, nil if it cannot be used.
func (r *reader) parse(f *dialect.File) *tree.Node {
	r.file = f
	if len(strings.TrimSpace(string(f.Data))) == 0 {
		return &tree.Node{Kind: tree.Object} // an empty file says nothing
	}
	root, problems := jsonx.Parse(f.Data, jsonx.JSONC())
	r.errs = append(r.errs, f.Problems(problems)...)
	if tree.Fatal(problems) {
		return nil
	}
	if !root.Is(tree.Object) {
		r.fail(root, obstat.CodeWrongType, "", "a configuration is an object, not %s", root.Kind)
		return nil
	}
	return root
}

// read reads the rules of a configuration file in the given order.
func (r *reader) read(f *dialect.File, root *tree.Node) *fileConfig {
	r.file = f
	c := &fileConfig{file: f, root: root}
	r.keys(root)
	if n := root.Get(r.order.key()); n != nil {
		c.section, c.list = r.rulesNode(n)
	}
	if r.order == Last {
		c.tools = r.tools(root.Get("tools"))
	}
	c.agents = append(r.agents(root.Get("mode"), true), r.agents(root.Get("agent"), false)...)
	return c
}

// keys looks at the keys of the whole file: one that is not read must not pass
// for one that is.
func (r *reader) keys(root *tree.Node) {
	for _, m := range root.Members {
		switch {
		case m.Key == r.order.other().key():
			r.otherKey(&m, root)
		case m.Key == keyDocument && programFile(r.file.Name):
			r.warn(m.KeyNode, obstat.CodeNoEffect, `opencode reads "permission"`, "opencode itself reads %q in this file and ignores %q", keyProgram, keyDocument)
		case m.Key == keyProgram || m.Key == keyDocument:
		case strings.EqualFold(m.Key, keyProgram) || strings.EqualFold(m.Key, keyDocument) || near(m.Key):
			r.warn(m.KeyNode, obstat.CodeUnknownKey, "write "+jsonx.Quote(r.order.key()), "nobody reads %q", m.Key)
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
		r.warn(m.KeyNode, obstat.CodeNoEffect, "move its rules to "+jsonx.Quote(keyProgram), "opencode reads %q and ignores %q", keyProgram, keyDocument)
		return
	}
	hint := "say order: last to read it as opencode does"
	if root.Get(keyDocument) != nil {
		hint = "keep one of the two"
	}
	r.warn(m.KeyNode, obstat.CodeNoEffect, hint, "with order first, %q is read and %q is not", keyDocument, keyProgram)
}

// programFile tells whether opencode itself reads a file of that name.
func programFile(name string) bool {
	base := path.Base(strings.ReplaceAll(name, `\`, "/"))
	return base == "opencode.json" || base == "opencode.jsonc"
}

// rulesNode reads the value of permission or permissions.
func (r *reader) rulesNode(n *tree.Node) (section, Ruleset) {
	switch {
	case n.Is(tree.Object):
		return r.section(n), nil
	case n.Is(tree.Array) && (r.order == First || !r.strict):
		return nil, r.list(n)
	case n.Is(tree.String) && r.order == Last:
		v, ok := r.action(n)
		if !ok {
			return nil, nil
		}
		return section{{name: "*", short: true, action: v, layer: r.file.Layer, pos: r.pos(n.Start)}}, nil
	case n.Is(tree.Array):
		r.fail(n, obstat.CodeWrongType, `a list is the form of the document's "permissions"`, "opencode takes no list for %q: write an object", keyProgram)
	default:
		r.fail(n, obstat.CodeWrongType, "", "%q should be an object, not %s", r.order.key(), n.Kind)
	}
	return nil, nil
}

// wordsOnly are the permissions for which the program takes one action alone.
var wordsOnly = []string{"todowrite", "question", "webfetch", "websearch", "doom_loop"}

func (r *reader) section(n *tree.Node) section {
	var out section
	for _, m := range n.Members {
		if !r.keyText(&m, "permission") {
			continue
		}
		p := permission{name: m.Key, layer: r.file.Layer, pos: r.pos(m.KeyNode.Start)}
		switch {
		case m.Value.Is(tree.String):
			v, ok := r.action(m.Value)
			if !ok {
				continue
			}
			p.short, p.action = true, v
		case m.Value.Is(tree.Object):
			if r.order == Last && r.strict && slices.Contains(wordsOnly, m.Key) {
				r.fail(m.Value, obstat.CodeWrongType, "write one of allow, ask and deny", "opencode takes one action for %q, not patterns", m.Key)
				continue
			}
			p.patterns = r.patterns(m.Key, m.Value)
		default:
			r.fail(m.Value, obstat.CodeWrongType, "", "%q should be an action or an object of patterns, not %s", m.Key, m.Value.Kind)
			continue
		}
		out = append(out, p)
	}
	return out
}

func (r *reader) patterns(name string, n *tree.Node) (out []patternAction) {
	for _, m := range n.Members {
		if !r.keyText(&m, "pattern") {
			continue
		}
		if r.order == Last && r.home == "" && needsHome(m.Key) {
			r.warn(m.KeyNode, obstat.CodeRisky, "", "the home directory is not known, so %q is taken as it is written", m.Key)
		}
		v, ok := r.action(m.Value)
		if !ok || !r.compiles(m.KeyNode, Rule{Permission: name, Pattern: m.Key}) {
			continue
		}
		out = append(out, patternAction{m.Key, v, r.file.Layer, r.pos(m.KeyNode.Start)})
	}
	return out
}

// keyText checks a key that is a permission or a pattern.
func (r *reader) keyText(m *tree.Member, what string) bool {
	if what == "permission" && m.Key == "" {
		r.fail(m.KeyNode, obstat.CodeMissing, "", "a permission without a name")
		return false
	}
	if isIndex(m.Key) {
		r.warn(m.KeyNode, obstat.CodeRisky, "the order of keys decides: do not use a number for one", "JavaScript moves the key %q before all others", m.Key)
	}
	return r.plainText(m.KeyNode, m.Key)
}

// plainText refuses `{env:X}` and `{file:X}`, which opencode replaces when it
// reads the file: their value is not known here.
func (r *reader) plainText(n *tree.Node, s string) bool {
	for _, open := range []string{"{env:", "{file:"} {
		if i := strings.Index(s, open); i >= 0 && strings.Contains(s[i:], "}") {
			r.fail(n, obstat.CodeBadValue, "write the text itself", "what opencode puts in for %s...} cannot be seen here", open)
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
		if _, err := matches(t, ""); err != nil {
			r.fail(n, obstat.CodeBadPattern, "", "%q is not a pattern: %v", t.Text, err)
			return false
		}
	}
	return true
}

// action reads allow, ask or deny.
func (r *reader) action(n *tree.Node) (obstat.Verdict, bool) {
	if !n.Is(tree.String) {
		r.fail(n, obstat.CodeWrongType, "", "an action is one of allow, ask and deny, not %s", n.Kind)
		return obstat.Deny, false
	}
	v, err := obstat.ParseVerdict(n.Str)
	if err == nil {
		return v, true
	}
	if !r.plainText(n, n.Str) {
		return obstat.Deny, false
	}
	hint := "the actions are allow, ask and deny"
	if word, ok := tree.Nearest(n.Str, "allow", "ask", "deny"); ok {
		hint = "did you mean " + word + "?"
	}
	r.fail(n, obstat.CodeBadValue, hint, "%q is no action", n.Str)
	return obstat.Deny, false
}

// list reads the array format.
func (r *reader) list(n *tree.Node) (out Ruleset) {
	for _, e := range n.Elems {
		if e.Get("effect") != nil && e.Get("resource") != nil {
			r.fail(e, obstat.CodeUnknownKey, "write permission, pattern and action", "this is a rule of opencode 2, whose files are not read")
			continue
		}
		problems := e.Check(stringField("permission"), stringField("pattern"), stringField("action"))
		r.errs = append(r.errs, r.file.Problems(problems)...)
		if tree.Fatal(problems) || !e.Is(tree.Object) {
			continue
		}
		v, ok := r.action(e.Get("action"))
		rule := Rule{Permission: e.Get("permission").Str, Pattern: e.Get("pattern").Str, Action: v, Layer: r.file.Layer, Pos: r.pos(e.Start)}
		if rule.Permission == "" {
			r.fail(e.Get("permission"), obstat.CodeMissing, "", "a permission without a name")
			ok = false
		}
		if ok && r.plainText(e.Get("permission"), rule.Permission) && r.plainText(e.Get("pattern"), rule.Pattern) && r.compiles(e.Get("pattern"), rule) {
			out = append(out, rule)
		}
	}
	return out
}

// tools reads the legacy switches: true is allow, false is deny, and the tools
// that write files are one permission, whose last switch counts.
func (r *reader) tools(n *tree.Node) (out section) {
	if n == nil {
		return nil
	}
	if !n.Is(tree.Object) {
		r.fail(n, obstat.CodeWrongType, "", `"tools" should be an object, not %s`, n.Kind)
		return nil
	}
	for _, m := range n.Members {
		if !m.Value.Is(tree.Bool) {
			r.fail(m.Value, obstat.CodeWrongType, "", "a tool is switched with true or false, not with %s", m.Value.Kind)
			continue
		}
		if !r.keyText(&m, "permission") {
			continue
		}
		p := permission{name: m.Key, short: true, action: obstat.Deny, layer: r.file.Layer, pos: r.pos(m.KeyNode.Start)}
		if m.Value.Bool {
			p.action = obstat.Allow
		}
		if slices.Contains([]string{"write", "edit", "patch"}, p.name) {
			p.name = "edit"
		}
		out = assign(out, section{p})
	}
	return out
}

// agents reads the agents of a configuration file.
func (r *reader) agents(n *tree.Node, primary bool) (out []agentConfig) {
	if n == nil {
		return nil
	}
	if !n.Is(tree.Object) {
		r.fail(n, obstat.CodeWrongType, "", "agents are an object by name, not %s", n.Kind)
		return nil
	}
	for _, m := range n.Members {
		if !m.Value.Is(tree.Object) {
			r.fail(m.Value, obstat.CodeWrongType, "", "the agent %q should be an object, not %s", m.Key, m.Value.Kind)
			continue
		}
		a := r.agent(m.Key, m.Value)
		a.pos = r.pos(m.KeyNode.Start)
		if primary {
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
	a := agentConfig{name: name, pos: r.pos(n.Start)}
	r.agentName(n, name)
	if v := n.Get("mode"); v != nil {
		if !v.Is(tree.String) || !slices.Contains([]string{modePrimary, modeSubagent, modeAll}, v.Str) {
			r.fail(v, obstat.CodeBadValue, "", "an agent's mode is primary, subagent or all")
		}
		a.mode = v.Str
	}
	if v := n.Get("disable"); v != nil {
		if !v.Is(tree.Bool) {
			r.fail(v, obstat.CodeWrongType, "", `"disable" is true or false, not %s`, v.Kind)
		}
		a.disable = v.Bool
	}
	own, other := r.order.key(), r.order.other().key()
	if v := n.Get(own); v != nil {
		a.permission, a.list = r.rulesNode(v)
	}
	if m := n.Member(other); m != nil {
		r.warn(m.KeyNode, obstat.CodeNoEffect, "write "+jsonx.Quote(own), "with order %s, %q is read and %q is not", r.order, own, other)
	}
	if r.order == Last {
		a.tools = r.tools(n.Get("tools"))
	}
	return a
}

// agentName refuses names that modes of ours have.
func (r *reader) agentName(n *tree.Node, name string) {
	if name == "" || name == string(ModeRules) || strings.Contains(name, pairSign) {
		r.fail(n, obstat.CodeBadValue, "give the agent another name", "an agent cannot be called %q here", name)
	}
}
