package jiuwen

import (
	"fmt"
	"path"
	"strings"
	"sync"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/internal/pytext"
	"github.com/obstat/obstat/internal/tree"
	"github.com/obstat/obstat/internal/yamlx"
)

// A config is the permissions section of a config.yaml, as it is meant.
type config struct {
	enabled   bool
	tiered    bool
	strict    bool // permission_mode: strict
	tools     []toolConfig
	rules     []ruleConfig
	overrides []ruleConfig
	builtin   []ruleConfig
	fallback  *levelConfig // defaults."*"
	external  externalConfig
	owners    ownerConfig
}

// A levelConfig is a level with the place where it was written.
type levelConfig struct {
	verdict obstat.Verdict
	why     string // what is wrong with it, "" if nothing is
	pos     obstat.Pos
}

// A toolConfig is one entry of tools.
type toolConfig struct {
	name     string
	level    *levelConfig // nil: none
	star     bool         // written as {"*": level}
	patterns []patternConfig
}

// A patternConfig is one entry of a tool's patterns, which only the legacy
// matcher reads.
type patternConfig struct {
	text  string
	level levelConfig
}

// A reader reads configuration files and keeps all that is wrong with them.
type reader struct {
	file *dialect.File
	// bare is the document to the letter: what is broken counts for nothing, as
	// it does in the original. Otherwise it never counts for less protection.
	bare bool
	ours bool // the built-in list: its patterns are known to compile
	errs obstat.Errors
}

func (r *reader) report(n *tree.Node, code obstat.Code, hint, format string, args ...any) *obstat.Error {
	off := 0
	if n != nil {
		off = n.Start
	}
	e := r.file.Problem(off, code, format, args...)
	e.Hint = hint
	r.errs = append(r.errs, e)
	return e
}

func (r *reader) warn(n *tree.Node, code obstat.Code, hint, format string, args ...any) {
	r.report(n, code, hint, format, args...).Warning = true
}

func (r *reader) pos(n *tree.Node) obstat.Pos { return r.file.Pos(n.Start) }

// document reads the file's YAML; nil means that it cannot be used.
func (r *reader) document() *tree.Node {
	root, problems := yamlx.Parse(r.file.Data, yamlx.Options{})
	r.errs = append(r.errs, r.file.Problems(problems)...)
	if tree.Fatal(problems) {
		return nil
	}
	return root
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
	sec := root.Get("permissions")
	if sec == nil || sec.Kind == tree.Null {
		if root.Kind != tree.Object && root.Kind != tree.Null {
			r.report(root, obstat.CodeWrongType, "", "the file should be an object with a permissions section, not %v", root.Kind)
			return nil
		}
		r.warn(root, obstat.CodeMissing, "every call asks", "the file has no permissions section")
		sec = &tree.Node{Kind: tree.Object}
	}
	if sec.Kind != tree.Object {
		r.report(sec, obstat.CodeWrongType, "", "permissions should be an object, not %v", sec.Kind)
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
	names := make([]string, 0, len(known()))
	for k := range known() {
		names = append(names, k)
	}
	for _, m := range sec.Members {
		read, ok := known()[m.Key]
		if read {
			continue
		}
		if ok {
			if pytext.Truthy(m.Value) {
				r.warn(m.KeyNode, obstat.CodeNoEffect, "", "%s is not part of the policy: it is read by other versions of the original, or by its host", m.Key)
			}
			continue
		}
		hint := ""
		if near, ok := tree.Nearest(m.Key, names...); ok {
			hint = fmt.Sprintf("did you mean %s?", near)
		}
		r.warn(m.KeyNode, obstat.CodeUnknownKey, hint, "permissions has no key %q", m.Key)
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
		r.warn(n, obstat.CodeRisky, "set enabled to true", "permissions are off: every call is allowed")
		return false
	}
	r.warn(n, obstat.CodeBadValue, "write false to switch permissions off", "enabled should be true or false, not %v: permissions stay on", n.Kind)
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
			r.warn(n, obstat.CodeBadValue, `write "v4.2" or tiered_policy`, "a number names no schema: the legacy matcher is in force")
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
		r.warn(n, obstat.CodeBadValue, "the modes are normal and strict", "permission_mode %q is taken for normal", mode)
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
	hint := "the levels are allow, ask and deny"
	if near, ok := tree.Nearest(pytext.Strip(n.Str), "allow", "ask", "deny"); ok {
		hint = fmt.Sprintf("did you mean %s?", near)
	}
	if n.Is(tree.String) {
		r.warn(n, obstat.CodeBadValue, hint, "%s: %q is no level", what, n.Str)
	} else {
		r.warn(n, obstat.CodeBadValue, hint, "%s: %v is no level", what, n.Kind)
	}
	return obstat.Deny, false
}

const noLevel = "its level is none of allow, ask and deny"

// tools reads the whole-tool baselines.
func (r *reader) tools(n *tree.Node, tiered bool) (out []toolConfig) {
	if n == nil || n.Kind == tree.Null {
		return nil
	}
	if n.Kind != tree.Object {
		r.warn(n, obstat.CodeWrongType, "", "tools should be an object of tool names and levels, not %v: it counts for nothing", n.Kind)
		return nil
	}
	for _, m := range n.Members {
		if m.Key != pytext.Strip(m.Key) || m.Key == "" || m.Key == "*" {
			r.warn(m.KeyNode, obstat.CodeNoEffect, `defaults."*" speaks for all tools`, "no tool is called %q: names are exact and have no wildcards", m.Key)
		}
		if t := r.tool(m, tiered); t.name != "" && (t.level != nil || len(t.patterns) > 0) {
			out = append(out, t)
		}
	}
	return out
}

func (r *reader) tool(m tree.Member, tiered bool) toolConfig {
	t := toolConfig{name: m.Key}
	what := "tools." + m.Key
	switch v := m.Value; {
	case v.Is(tree.Null):
		r.warn(m.KeyNode, obstat.CodeMissing, "", "%s has no level: it counts for nothing", what)
	case v.Is(tree.Object):
		t.star = true
		if star := v.Get("*"); star != nil {
			t.level = r.baseline(star, what+".*", tiered)
		}
		t.patterns = r.patterns(v.Get("patterns"), what, tiered)
	default:
		t.level = r.baseline(v, what, tiered)
	}
	return t
}

// baseline reads a tool's level. One that is none means nothing in the original
// (so that defaults."*": allow would take its place); here it denies.
func (r *reader) baseline(n *tree.Node, what string, tiered bool) *levelConfig {
	v, ok := r.level(n, what, !tiered)
	switch {
	case ok:
		return &levelConfig{v, "", r.pos(n)}
	case r.bare && (tiered || !n.Is(tree.String)):
		return nil
	}
	return &levelConfig{obstat.Deny, noLevel, r.pos(n)}
}

func (r *reader) patterns(n *tree.Node, what string, tiered bool) (out []patternConfig) {
	switch {
	case n == nil || n.Kind == tree.Null:
	case tiered:
		r.warn(n, obstat.CodeNoEffect, "write them as rules", "%s.patterns is read by the legacy matcher only", what)
	case n.Kind != tree.Object:
		r.warn(n, obstat.CodeNoEffect, "write pattern: level", "%s.patterns should be an object of patterns and levels; a list is not read", what)
	default:
		for _, m := range n.Members {
			v, ok := r.level(m.Value, what+".patterns", true)
			l := levelConfig{v, "", r.pos(m.KeyNode)}
			if !ok {
				l.why = noLevel
			}
			out = append(out, patternConfig{m.Key, l})
		}
	}
	return out
}

// fallback reads defaults."*".
func (r *reader) fallback(n *tree.Node, tiered bool) *levelConfig {
	if n == nil || n.Kind == tree.Null {
		return nil
	}
	if n.Kind != tree.Object {
		r.warn(n, obstat.CodeWrongType, `write {"*": level}`, "defaults should be an object, not %v: it counts for nothing", n.Kind)
		return nil
	}
	for _, m := range n.Members {
		if m.Key != "*" {
			r.warn(m.KeyNode, obstat.CodeNoEffect, "", `defaults has only the key "*"; %q is not read`, m.Key)
		}
	}
	star := n.Get("*")
	if star == nil || star.Kind == tree.Null {
		return nil
	}
	v, ok := r.level(star, `defaults."*"`, !tiered)
	switch {
	case ok:
		return &levelConfig{v, "", r.pos(star)}
	case r.bare && (tiered || !star.Is(tree.String)):
		return nil
	}
	return &levelConfig{obstat.Deny, noLevel, r.pos(star)}
}

// legacyWarnings reports the keys that the legacy matcher does not read.
func (r *reader) legacyWarnings(sec *tree.Node, c *config) {
	if c.tiered || !c.enabled {
		return
	}
	if len(c.rules) > 0 || len(c.overrides) > 0 {
		r.warn(sec, obstat.CodeNoEffect, "set schema: tiered_policy", "without schema: tiered_policy the legacy matcher is in force: rules, approval_overrides and the built-in rules are not read")
	}
}

// isBuiltin tells by its name whether a file is the list of built-in rules.
func isBuiltin(f *dialect.File) bool {
	base := strings.ToLower(path.Base(slashes(f.Name)))
	return base == "builtin_rules.yaml" || base == "builtin_rules.yml"
}

func newReader(name string, data []byte) *reader {
	return &reader{file: &dialect.File{Name: name, Data: data}}
}
