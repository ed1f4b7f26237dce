package agentscope

import (
	"slices"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/internal/jsonx"
	"github.com/obstat/obstat/internal/tree"
	"github.com/obstat/obstat/pattern"
)

// A context is a PermissionContext with positions.
type context struct {
	Mode  string
	Dirs  []string // keys of working_directories
	Rules map[string][]permissionRule
}

// A permissionRule is one rule in its bucket, under its tool.
type permissionRule struct {
	tool, bucket string
	content      string // "" is every call
	own          bool   // the tool gives its rules a meaning of its own
	node         *tree.Node
	pos          obstat.Pos
	source       string
}

var buckets = []string{"deny", "ask", "allow"}

// ownField is the subject of tools that match their rules themselves: the
// contents that match.
const ownField = "$rule"

// parseContext reads the context and reports everything that is wrong with it.
// custom are the host's tools.
func parseContext(f *dialect.File, custom map[string]CustomTool) (*context, obstat.Errors) {
	root, problems := jsonx.Parse(f.Data, jsonx.Options{})
	if tree.Fatal(problems) {
		return nil, f.Problems(problems)
	}
	p := &contextParser{f: f, custom: custom, ctx: &context{Mode: modeDefault, Rules: map[string][]permissionRule{}}}
	p.errs = f.Problems(problems)
	if prob := root.Want("a permission context", tree.Object); prob != nil {
		p.errs = append(p.errs, f.Problems([]tree.Problem{*prob})...)
		return nil, p.errs
	}
	if inner := root.Get(stateKey); inner.Is(tree.Object) {
		p.stateKeys(root)
		root = inner
	}
	p.keys(root, "a permission context", contextKeys...)
	p.mode(root.Get("mode"))
	p.dirs(root.Get("working_directories"))
	for _, b := range buckets {
		p.bucket(b, root.Get(b+"_rules"))
	}
	return p.ctx, p.errs
}

// contextKeys are the keys of a PermissionContext.
var contextKeys = []string{"mode", "working_directories", "allow_rules", "deny_rules", "ask_rules"}

// stateKey is the key of an AgentState that holds its context; the rest of what
// AgentScope dumps there is not about permissions.
const stateKey = "permission_context"

// stateKeys refuses keys of a context that stand beside one: they would not be read.
func (p *contextParser) stateKeys(root *tree.Node) {
	for _, m := range root.Members {
		if slices.Contains(contextKeys, m.Key) {
			p.fail(m.KeyNode, obstat.CodeConflict, "%q stands beside %q, where it is not read", m.Key, stateKey).Hint = "move it into " + stateKey
		}
	}
}

type contextParser struct {
	f      *dialect.File
	custom map[string]CustomTool
	ctx    *context
	errs   obstat.Errors
}

func (p *contextParser) fail(n *tree.Node, code obstat.Code, format string, args ...any) *obstat.Error {
	e := p.f.Problem(n.Start, code, format, args...)
	p.errs = append(p.errs, e)
	return e
}

// keys warns about unknown keys: the original drops them silently.
func (p *contextParser) keys(n *tree.Node, what string, known ...string) {
	for _, m := range n.Members {
		if slices.Contains(known, m.Key) {
			continue
		}
		e := p.fail(m.KeyNode, obstat.CodeUnknownKey, "%s has no key %q", what, m.Key)
		if near, ok := tree.Nearest(m.Key, known...); ok {
			e.Hint = "did you mean " + near + "?"
			continue // too close to a real key to be only a warning
		}
		e.Warning = true
	}
}

func (p *contextParser) mode(n *tree.Node) {
	if n == nil {
		return
	}
	if n.Kind != tree.String || !slices.Contains(modeNames, n.Str) {
		e := p.fail(n, obstat.CodeBadValue, "mode is %s, not one of %q", n.Source(p.f.Data), modeNames)
		e.Hint = "mode names are lower case"
		return
	}
	p.ctx.Mode = n.Str
}

// object reports and skips a value that is not an object.
func (p *contextParser) object(n *tree.Node, what string) bool {
	if n == nil {
		return false
	}
	if n.Kind != tree.Object {
		p.fail(n, obstat.CodeWrongType, "%s is %v, not an object", what, n.Kind)
		return false
	}
	return true
}

func (p *contextParser) dirs(n *tree.Node) {
	if !p.object(n, "working_directories") {
		return
	}
	for _, m := range n.Members {
		if !p.object(m.Value, "a working directory") {
			continue
		}
		p.keys(m.Value, "a working directory", "path", "source")
		for _, key := range []string{"path", "source"} {
			if v := m.Value.Get(key); v == nil {
				p.fail(m.Value, obstat.CodeMissing, "a working directory needs %q", key)
			} else if v.Kind != tree.String {
				p.fail(v, obstat.CodeWrongType, "%s is %v, not a string", key, v.Kind)
			}
		}
		if v := m.Value.Get("path"); v.Is(tree.String) && v.Str != m.Key {
			e := p.fail(v, obstat.CodeNoEffect, "the directory is the key %q; the path %q beside it is not read", m.Key, v.Str)
			e.Warning = true
		}
		p.ctx.Dirs = append(p.ctx.Dirs, m.Key)
	}
}

func (p *contextParser) bucket(name string, n *tree.Node) {
	p.ctx.Rules[name] = nil
	if !p.object(n, name+"_rules") {
		return
	}
	for _, m := range n.Members {
		if m.Value.Kind != tree.Array {
			p.fail(m.Value, obstat.CodeWrongType, "the rules of %s are %v, not a list", m.Key, m.Value.Kind)
			continue
		}
		if m.Key == "" {
			p.fail(m.KeyNode, obstat.CodeMissing, "rules for a tool without a name")
			continue
		}
		for _, e := range m.Value.Elems {
			p.rule(name, m.Key, e)
		}
	}
}

func (p *contextParser) rule(bucket, tool string, n *tree.Node) {
	_, own := p.custom[tool].(RuleMatcher)
	r := permissionRule{tool: tool, bucket: bucket, node: n, own: own, pos: p.f.Pos(n.Start)}
	if n.Kind == tree.String { // the content alone: `allow_rules["DeployTool"] = ["*"]`
		r.content = n.Str
		p.keep(&r, n)
		return
	}
	if !p.object(n, "a rule") {
		return
	}
	p.keys(n, "a rule", "tool_name", "rule_content", "behavior", "source")
	for _, key := range []string{"tool_name", "rule_content", "behavior", "source"} {
		v := n.Get(key)
		switch {
		case v == nil:
			p.fail(n, obstat.CodeMissing, "a rule needs %q", key)
		case v.Kind != tree.String && !(key == "rule_content" && v.Kind == tree.Null):
			p.fail(v, obstat.CodeWrongType, "%s is %v, not a string", key, v.Kind)
		}
	}
	p.misplaced(bucket, tool, n)
	if v := n.Get("rule_content"); v.Is(tree.String) {
		r.content, r.pos = v.Str, p.f.Pos(v.Start)
	}
	if v := n.Get("source"); v.Is(tree.String) {
		r.source = v.Str
	}
	p.keep(&r, n)
}

// keep takes the rule into its bucket. "*" for a tool that is matched by its parameters
// is the document's blanket rule, one for every call.
func (p *contextParser) keep(r *permissionRule, n *tree.Node) {
	if field, _ := r.match(); field == "" && r.content == "*" {
		r.content = ""
	}
	if p.checkContent(r, n) {
		p.ctx.Rules[r.bucket] = append(p.ctx.Rules[r.bucket], *r)
	}
}

// misplaced warns about a rule that says one thing and stands where another
// holds: the bucket and the key decide.
func (p *contextParser) misplaced(bucket, tool string, n *tree.Node) {
	if v := n.Get("behavior"); v.Is(tree.String) && v.Str != bucket {
		if !slices.Contains(append([]string{"passthrough"}, buckets...), v.Str) {
			p.fail(v, obstat.CodeBadValue, "behavior is %q, not allow, deny or ask", v.Str)
			return
		}
		p.fail(v, obstat.CodeConflict, "a rule with behavior %q stands in %s_rules, and there it means %s", v.Str, bucket, bucket).Warning = true
	}
	if v := n.Get("tool_name"); v.Is(tree.String) && v.Str != tool {
		p.fail(v, obstat.CodeConflict, "a rule for %q stands under %q, and there it is about %[2]s", v.Str, tool).Warning = true
	}
}

// checkContent reports patterns that do not compile, and whether the rule can
// be kept at all.
func (p *contextParser) checkContent(r *permissionRule, n *tree.Node) bool {
	if r.content == "" {
		return true
	}
	at := n
	if v := n.Get("rule_content"); v != nil {
		at = v
	}
	_, text := r.match()
	if text.Flavour == pattern.JSON {
		if _, err := pattern.Compile(text.Flavour, text.Text); err != nil {
			e := p.fail(at, obstat.CodeNoEffect, "%s is matched by its parameters as JSON, and %q is not JSON: the rule never applies", r.tool, r.content)
			e.Warning = true
			return false
		}
	}
	if _, err := pattern.Compile(text.Flavour, text.Text); err != nil {
		p.fail(at, obstat.CodeBadPattern, "rule_content %q: %v", r.content, err)
	}
	return true
}

// match returns the field and the pattern of the rule's content.
func (r *permissionRule) match() (field string, text obstat.Text) {
	if r.own {
		return ownField, obstat.Text{Flavour: pattern.Exact, Text: r.content}
	}
	switch r.tool {
	case "Bash":
		return "command", obstat.Text{Flavour: pattern.Bash, Text: r.content}
	case "Read", "Write", "Edit":
		return "file_path", obstat.Text{Flavour: pattern.Fnmatch, Text: r.content}
	case "Glob", "Grep":
		return "path", obstat.Text{Flavour: pattern.Fnmatch, Text: r.content}
	}
	return "", obstat.Text{Flavour: pattern.JSON, Text: r.content}
}

var verdicts = map[string]obstat.Verdict{"deny": obstat.Deny, "ask": obstat.Ask, "allow": obstat.Allow}

// rules returns the three lists of the Program.
func (c *context) rules() map[string][]obstat.Rule {
	out := map[string][]obstat.Rule{}
	for _, b := range buckets {
		out[b] = []obstat.Rule{}
		for i := range c.Rules[b] {
			out[b] = append(out[b], c.Rules[b][i].rule())
		}
	}
	return out
}

func (r *permissionRule) rule() obstat.Rule {
	out := obstat.Rule{Tool: obstat.Is(r.tool), Verdict: verdicts[r.bucket], Pos: r.pos, Layer: r.source, Source: r.tool}
	if r.content != "" {
		out.Field, out.Pattern = r.match()
		out.Source = r.tool + "(" + r.content + ")"
	}
	return out
}

// contents returns the contents of the rules of tools that match them
// themselves, each once.
func (c *context) contents() map[string][]string {
	out := map[string][]string{}
	for _, b := range buckets {
		for i := range c.Rules[b] {
			if r := &c.Rules[b][i]; r.own && r.content != "" && !slices.Contains(out[r.tool], r.content) {
				out[r.tool] = append(out[r.tool], r.content)
			}
		}
	}
	return out
}

// Rule returns the rule that a PermissionRule with these fields means; content
// "" is every call to the tool.
func Rule(tool, content string, v obstat.Verdict) obstat.Rule {
	r := permissionRule{tool: tool, bucket: v.String(), content: content}
	return r.rule()
}
