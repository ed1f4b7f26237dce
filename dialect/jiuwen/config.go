package jiuwen

import (
	"cmp"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/dialect/kit"
	"github.com/obstat/obstat/internal/format/pytext"
	"github.com/obstat/obstat/internal/format/tree"
	"github.com/obstat/obstat/pattern"
)

// A config is the permissions section of a config.yaml, as it is meant.
type config struct {
	enabled   bool
	tiered    bool
	strict    bool // permission_mode: strict
	tools     []obstat.Rule
	rules     []ruleConfig
	overrides []ruleConfig
	builtin   []ruleConfig
	fallback  []obstat.Rule // defaults."*"
	external  externalConfig
	owners    ownerConfig
}

// A reader reads configuration files and keeps all that is wrong with them.
type reader struct {
	kit.Reader
	// bare is the document to the letter: a broken value counts for nothing, as
	// it does in the original. Otherwise it never counts for less protection.
	bare bool
	ours bool // the built-in list: its patterns are known to compile
}

func newReader(name string, data []byte) *reader {
	return &reader{Reader: kit.Reader{File: &dialect.File{Name: name, Data: data}}}
}

// document reads the file's YAML; nil means that it cannot be used.
func (r *reader) document() *tree.Node { return r.Parse(r.File, format) }

// has tells whether n is a value of that kind. null is none, and a value of another
// kind counts for nothing, which is reported.
func (r *reader) has(n *tree.Node, what string, kind tree.Kind) bool {
	if n == nil || n.Kind == tree.Null {
		return false
	}
	if n.Kind != kind {
		r.Warn(n, obstat.CodeWrongType, "", "%s should be %v, not %v: it counts for nothing", what, kind, n.Kind)
	}
	return n.Kind == kind
}

// members returns the members of an object.
func (r *reader) members(n *tree.Node, what string) []tree.Member {
	if !r.has(n, what, tree.Object) {
		return nil
	}
	return n.Members
}

// elements returns the elements of a list.
func (r *reader) elements(n *tree.Node, what string) []*tree.Node {
	if !r.has(n, what, tree.Array) {
		return nil
	}
	return n.Elems
}

// known are the keys of the permissions section; those that are false are read
// by the host or by other versions of the original, and mean nothing here.
var known = sync.OnceValue(func() map[string]bool {
	return map[string]bool{
		"enabled": true, "schema": true, "version": true, "permission_mode": true, "tools": true, "rules": true,
		"approval_overrides": true, "defaults": true, "external_directory": true, "owner_scopes": true,
		"deny_guidance_message": false, "file_guard": false,
	}
})

// config reads the permissions section of a config.yaml.
func (r *reader) config() *config {
	c := &config{enabled: true}
	root := r.document()
	if root == nil {
		return nil
	}
	sec := root.Get(permissions)
	if sec == nil || sec.Kind == tree.Null {
		if !root.Is(tree.Null) && !r.Is(root, "the file", tree.Object) {
			return nil
		}
		r.Warn(root, obstat.CodeMissing, "every call asks", "the file has no permissions section")
		sec = &tree.Node{Kind: tree.Object}
	}
	if !r.Is(sec, permissions, tree.Object) {
		return nil
	}
	r.keys(sec)
	c.enabled = r.enabled(sec.Get("enabled"))
	c.tiered = r.schema(sec)
	c.strict = r.strict(sec.Get("permission_mode"))
	c.tools = r.tools(sec.Get("tools"), c.tiered)
	c.rules = r.ruleList("rules", sec.Get("rules"), c.strict, true)
	c.overrides = r.overrides(sec.Get("approval_overrides"))
	c.fallback = r.fallback(sec.Get("defaults"), c.tiered)
	c.external = r.external(sec.Get("external_directory"))
	c.owners = r.owners(sec.Get("owner_scopes"))
	r.legacyWarnings(sec, c)
	return c
}

// keys reports unknown keys.
func (r *reader) keys(sec *tree.Node) {
	for _, m := range sec.Members {
		read, ok := known()[m.Key]
		if read {
			continue
		}
		if ok {
			if pytext.Truthy(m.Value) {
				r.Warn(m.KeyNode, obstat.CodeNoEffect, "",
					"%s is not part of the policy: it is read by other versions of the original, or by its host", m.Key)
			}
			continue
		}
		r.Warn(m.KeyNode, obstat.CodeUnknownKey, dialect.Near(m.Key, slices.Collect(maps.Keys(known()))...),
			"permissions has no key %q", m.Key)
	}
}

// enabled reads the master switch. The original takes anything that Python
// holds false for off; only a written false (or 0) is taken for it here, since
// an empty value is more likely a file that is not finished.
func (r *reader) enabled(n *tree.Node) bool {
	switch {
	case n == nil || pytext.Truthy(n):
		return true
	case n.Kind == tree.Bool || n.Kind == tree.Number || r.bare:
		r.Warn(n, obstat.CodeRisky, "set enabled to true", "permissions are off: every call is allowed")
		return false
	}
	r.Warn(n, obstat.CodeBadValue, "write false to switch permissions off",
		"enabled should be true or false, not %v: permissions stay on", n.Kind)
	return true
}

// tieredNames are the schemas under which the tiered policy is in force.
var tieredNames = map[string]bool{"tiered_policy": true, "v_cc": true, "v4.2": true}

// schema tells whether the tiered policy is in force, or the legacy matcher.
func (r *reader) schema(sec *tree.Node) bool {
	n := sec.Get("schema")
	if !pytext.Truthy(n) {
		n = sec.Get("version")
	}
	if n == nil {
		return false
	}
	name := n.Str
	if n.Kind == tree.Number {
		name = "" // version: 4.2 is a number, and the original wants a text
		if n.Num == "4.2" {
			r.Warn(n, obstat.CodeBadValue, `write "v4.2" or tiered_policy`,
				"a number names no schema: the legacy matcher is in force")
		}
	}
	return tieredNames[strings.ReplaceAll(strings.ToLower(pytext.Strip(name)), " ", "")]
}

// strict reads permission_mode: strict, or anything else, which is normal.
func (r *reader) strict(n *tree.Node) bool {
	if !pytext.Truthy(n) {
		return false
	}
	switch mode := strings.ToLower(pytext.Strip(pytext.Str(n))); mode {
	case "strict":
		return true
	case "normal":
	default:
		r.Warn(n, obstat.CodeBadValue, "the modes are normal and strict", "permission_mode %q is taken for normal", mode)
	}
	return false
}

// level reads a level. In the tiered policy blanks and capitals do not matter,
// in the legacy matcher they do.
func (r *reader) level(n *tree.Node, what string, exact bool) (v obstat.Verdict, ok bool) {
	text := n.Str
	if !exact {
		text = strings.ToLower(pytext.Strip(text))
	}
	if n.Is(tree.String) {
		if v, err := obstat.ParseVerdict(text); err == nil {
			return v, true
		}
	}
	hint := cmp.Or(dialect.Near(pytext.Strip(n.Str), "allow", "ask", "deny"), "the levels are allow, ask and deny")
	if n.Is(tree.String) {
		r.Warn(n, obstat.CodeBadValue, hint, "%s: %q is no level", what, n.Str)
	} else {
		r.Warn(n, obstat.CodeBadValue, hint, "%s: %v is no level", what, n.Kind)
	}
	return obstat.Deny, false
}

const noLevel = "its level is none of allow, ask and deny"

// baseline returns the rule of a level. One that is none means nothing in the
// original (so that defaults."*": allow would take its place); here it denies.
func (r *reader) baseline(n *tree.Node, what string, tool obstat.Text, tiered bool) []obstat.Rule {
	v, ok := r.level(n, what, !tiered)
	rule := obstat.Rule{ID: what, Tool: tool, Verdict: v, Source: what + ": " + v.String(), Pos: r.Pos(n)}
	if !ok {
		if r.bare && (tiered || !n.Is(tree.String)) {
			return nil
		}
		rule.Reason = noLevel
	}
	return []obstat.Rule{rule}
}

// tools reads the whole-tool baselines. In the legacy matcher a tool has patterns
// as well, which stand before its level: the first match decides.
func (r *reader) tools(n *tree.Node, tiered bool) []obstat.Rule {
	out := []obstat.Rule{}
	for _, m := range r.members(n, "tools") {
		if m.Key != pytext.Strip(m.Key) || m.Key == "" || m.Key == "*" {
			r.Warn(m.KeyNode, obstat.CodeNoEffect, `defaults."*" speaks for all tools`,
				"no tool is called %q: names are exact and have no wildcards", m.Key)
		}
		what, level := "tools."+m.Key, m.Value
		switch {
		case m.Key == "":
			continue
		case level.Is(tree.Null):
			r.Warn(m.KeyNode, obstat.CodeMissing, "", "%s has no level: it counts for nothing", what)
			continue
		case level.Is(tree.Object):
			out = append(out, r.patterns(level.Get("patterns"), m.Key, tiered)...)
			what, level = what+".*", level.Get("*")
		}
		if level != nil {
			out = append(out, r.baseline(level, what, obstat.Is(m.Key), tiered)...)
		}
	}
	return out
}

// patterns reads the patterns of a tool, which only the legacy matcher reads, and
// returns their rules, strictest first.
func (r *reader) patterns(n *tree.Node, tool string, tiered bool) (out []obstat.Rule) {
	what := "tools." + tool + ".patterns"
	switch {
	case n == nil || n.Kind == tree.Null:
		return nil
	case tiered:
		r.Warn(n, obstat.CodeNoEffect, "write them as rules", "%s is read by the legacy matcher only", what)
		return nil
	case n.Kind != tree.Object:
		r.Warn(n, obstat.CodeNoEffect, "write pattern: level",
			"%s should be an object of patterns and levels; a list is not read", what)
		return nil
	}
	for _, m := range n.Members {
		v, ok := r.level(m.Value, what, true)
		rule := patternRule(tool, m.Key, v, r.bare || v == obstat.Allow)
		if rule.Pos = r.Pos(m.KeyNode); !ok {
			rule.Reason = noLevel
		}
		if _, err := pattern.Compile(rule.Pattern.Flavour, rule.Pattern.Text); err == nil && m.Key != "" {
			out = append(out, rule)
		}
	}
	slices.SortStableFunc(out, func(a, b obstat.Rule) int { return cmp.Compare(a.Verdict, b.Verdict) })
	return out
}

// patternRule returns the rule of a pattern of the legacy matcher.
func patternRule(tool, text string, v obstat.Verdict, bare bool) obstat.Rule {
	id := "tools." + tool + ".patterns[" + pytext.Quote(text) + "]"
	return obstat.Rule{ID: id, Tool: obstat.Is(tool), Field: fieldArgs, Pattern: search(wildcard(text, bare)),
		Verdict: v, Source: id + ": " + v.String()}
}

// fallback reads defaults."*".
func (r *reader) fallback(n *tree.Node, tiered bool) []obstat.Rule {
	out := []obstat.Rule{}
	for _, m := range r.members(n, "defaults") {
		switch {
		case m.Key != "*":
			r.Warn(m.KeyNode, obstat.CodeNoEffect, "", `defaults has only the key "*"; %q is not read`, m.Key)
		case !m.Value.Is(tree.Null):
			out = append(out, r.baseline(m.Value, `defaults."*"`, obstat.Text{}, tiered)...)
		}
	}
	for i := range out {
		out[i].ID = "defaults.*"
	}
	return out
}

// legacyWarnings reports the keys that the legacy matcher does not read.
func (r *reader) legacyWarnings(sec *tree.Node, c *config) {
	if c.tiered || !c.enabled {
		return
	}
	if len(c.rules) > 0 || len(c.overrides) > 0 {
		r.Warn(sec, obstat.CodeNoEffect, "set schema: tiered_policy",
			"without schema: tiered_policy the legacy matcher is in force: rules, approval_overrides and the built-in rules are not read")
	}
}

// isBuiltin tells by its name whether a file is the list of built-in rules.
func isBuiltin(f *dialect.File) bool {
	base := strings.ToLower(path.Base(f.Slashed()))
	return base == "builtin_rules.yaml" || base == "builtin_rules.yml"
}
