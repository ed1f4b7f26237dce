package agentscope

import (
	"slices"
	"strings"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/dialect/kit"
	"github.com/obstat/obstat/internal/format/textedit"
	"github.com/obstat/obstat/internal/format/tree"
	"github.com/obstat/obstat/pattern"
)

// A reader reads a PermissionContext.
type reader struct {
	kit.Reader
	custom map[string]CustomTool // the host's tools
	bare   bool                  // the floor is off

	mode  string
	dirs  []string // keys of working_directories
	rules map[string][]obstat.Rule
	// contents are the contents of the rules of tools that match them themselves.
	contents map[string][]string
}

// buckets are the lists of rules; each rule has the verdict of its bucket.
var buckets = []obstat.Verdict{obstat.Deny, obstat.Ask, obstat.Allow}

// contextKeys are the keys of a PermissionContext.
var contextKeys = []string{"mode", "working_directories", "allow_rules", "deny_rules", "ask_rules"}

// stateKey is the key of an AgentState that holds its context; its other keys
// are not about permissions.
const stateKey = "permission_context"

// ownField is the subject of tools that match their rules themselves: the
// contents that match.
const ownField = "$rule"

// read reads the context and reports everything that is wrong with it.
func (r *reader) read(f *dialect.File) {
	r.mode, r.rules, r.contents = modeDefault, map[string][]obstat.Rule{}, map[string][]string{}
	root := r.Parse(f, textedit.JSON)
	if !r.Is(root, "a permission context", tree.Object) {
		return
	}
	if inner := root.Get(stateKey); inner.Is(tree.Object) {
		for _, m := range root.Members {
			if slices.Contains(contextKeys, m.Key) {
				r.Fail(m.KeyNode, obstat.CodeConflict, "move it into "+stateKey, "%q stands beside %q, where it is not read",
					m.Key, stateKey)
			}
		}
		root = inner
	}
	fields := []tree.Field{kit.Key("mode")}
	for _, key := range contextKeys[1:] {
		fields = append(fields, kit.Key(key, tree.Object))
	}
	r.Fields(root, fields...)
	if n := root.Get("mode"); n != nil {
		if r.mode = n.Str; !slices.Contains(modeNames, n.Str) {
			r.Fail(n, obstat.CodeBadValue, "mode names are lower case", "mode is %s, not one of %q", n.Source(f.Data), modeNames)
		}
	}
	r.directories(root.Get("working_directories"))
	for _, v := range buckets {
		r.bucket(v, root.Get(v.String()+"_rules"))
	}
}

func (r *reader) directories(n *tree.Node) {
	if !n.Is(tree.Object) {
		return
	}
	for _, m := range n.Members {
		r.Fields(m.Value, kit.Needed("path", tree.String), kit.Needed("source", tree.String))
		if v := m.Value.Get("path"); v.Is(tree.String) && v.Str != m.Key {
			r.Warn(v, obstat.CodeNoEffect, "", "the directory is the key %q; the path %q beside it is not read", m.Key, v.Str)
		}
		r.dirs = append(r.dirs, m.Key)
	}
}

func (r *reader) bucket(v obstat.Verdict, n *tree.Node) {
	r.rules[v.String()] = []obstat.Rule{}
	if !n.Is(tree.Object) {
		return
	}
	for _, m := range n.Members {
		if m.Key == "" {
			r.Fail(m.KeyNode, obstat.CodeMissing, "", "rules for a tool without a name")
		} else if r.Is(m.Value, "the rules of "+m.Key, tree.Array) {
			for _, e := range m.Value.Elems {
				r.rule(v, m.Key, e)
			}
		}
	}
}

// rule reads one rule of a bucket, under its tool: an object, or the content alone,
// `allow_rules["DeployTool"] = ["*"]`.
func (r *reader) rule(v obstat.Verdict, tool string, n *tree.Node) {
	source, content := n.Get("source"), n
	if !n.Is(tree.String) {
		r.Fields(n, kit.Needed("tool_name", tree.String), kit.Needed("rule_content", tree.String, tree.Null),
			kit.Needed("behavior", tree.String), kit.Needed("source", tree.String))
		r.misplaced(v.String(), tool, n)
		content = n.Get("rule_content")
	}
	out, at := Rule(tool, "", v), n
	if content.Is(tree.String) {
		out, at = ruleOf(r.custom, tool, content.Str, v), content
	}
	if out.Field == ownField && !slices.Contains(r.contents[tool], content.Str) {
		r.contents[tool] = append(r.contents[tool], content.Str)
	}
	if out.Pos = r.Pos(at); source.Is(tree.String) {
		out.Layer = source.Str
	}
	if out.Whole() || r.compiles(content, &out) {
		r.rules[v.String()] = append(r.rules[v.String()], out)
		r.directly(&out)
	}
}

// directly adds the files of the directory itself to a deny or ask rule such as `src/**/*.py`. To the document that is
// any `.py` below `src/`, to AgentScope's fnmatch one that is a directory further down: `src/x.py` would pass.
func (r *reader) directly(rule *obstat.Rule) {
	near := strings.ReplaceAll(rule.Pattern.Text, "/**/", "/")
	if r.bare || rule.Verdict == obstat.Allow || rule.Pattern.Flavour != pattern.Fnmatch || near == rule.Pattern.Text {
		return
	}
	also := *rule
	also.Pattern.Text = near
	r.rules[rule.Verdict.String()] = append(r.rules[rule.Verdict.String()], also)
}

// compiles reports a pattern that does not compile, and tells whether the rule can
// apply at all.
func (r *reader) compiles(n *tree.Node, rule *obstat.Rule) bool {
	if rule.Pattern.Flavour != pattern.JSON {
		return r.Compiles(n, rule.Pattern, "rule_content "+string(n.Source(r.File.Data)))
	}
	_, err := pattern.Compile(pattern.JSON, n.Str)
	if err != nil {
		r.Warn(n, obstat.CodeNoEffect, "", "%s is matched by its parameters as JSON, and %q is not JSON: the rule never applies", rule.Tool.Text, n.Str)
	}
	return err == nil
}

// misplaced warns about a rule that says one thing and stands where another
// holds: the bucket and the key decide.
func (r *reader) misplaced(bucket, tool string, n *tree.Node) {
	if v := n.Get("behavior"); v.Is(tree.String) && v.Str != bucket {
		if _, err := obstat.ParseVerdict(v.Str); err != nil && v.Str != "passthrough" {
			r.Fail(v, obstat.CodeBadValue, "", "behavior is %q, not allow, deny or ask", v.Str)
		} else {
			r.Warn(v, obstat.CodeConflict, "", "a rule with behavior %q stands in %s_rules, and there it means %[2]s", v.Str,
				bucket)
		}
	}
	if v := n.Get("tool_name"); v.Is(tree.String) && v.Str != tool {
		r.Warn(v, obstat.CodeConflict, "", "a rule for %q stands under %q, and there it is about %[2]s", v.Str, tool)
	}
}

// ruleOf is [Rule] for a tool that may be one of the host's, which may match its rules
// itself.
func ruleOf(custom map[string]CustomTool, tool, content string, v obstat.Verdict) obstat.Rule {
	out := Rule(tool, content, v)
	h := hears(custom[tool])
	if h != nil && h.Known && v != obstat.Allow && content != "" && h.matches(content) {
		out.Field, out.Pattern, out.Source = "", obstat.Text{}, tool+"("+content+")" // it matches this call
		return out
	}
	if _, own := custom[tool].(RuleMatcher); own && content != "" {
		out.Field, out.Pattern, out.Source = ownField, obstat.Is(content), tool+"("+content+")"
	}
	return out
}

// Rule returns the rule that a PermissionRule with these fields means; content
// "" is every call to the tool, and so is "*" where the parameters are matched.
func Rule(tool, content string, v obstat.Verdict) obstat.Rule {
	r := obstat.Rule{Tool: obstat.Is(tool), Verdict: v, Source: tool, Pattern: obstat.Text{Text: content}}
	switch tool {
	case "Bash":
		r.Field, r.Pattern.Flavour = "command", pattern.Bash
	case "Read", "Write", "Edit":
		r.Field, r.Pattern.Flavour = "file_path", pattern.Fnmatch
	case "Glob", "Grep":
		r.Field, r.Pattern.Flavour = "path", pattern.Fnmatch
	default:
		r.Pattern.Flavour = pattern.JSON
	}
	if content == "" || r.Field == "" && content == "*" {
		r.Field, r.Pattern = "", obstat.Text{}
		return r
	}
	r.Source = tool + "(" + content + ")"
	return r
}
