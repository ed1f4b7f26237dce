package jiuwen

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/internal/format/jsonx"
	"github.com/obstat/obstat/internal/format/pytext"
	"github.com/obstat/obstat/internal/format/tree"
	"github.com/obstat/obstat/pattern"
)

// A ruleConfig is one parameter rule: of builtin_rules.yaml, of rules, or of
// approval_overrides.
type ruleConfig struct {
	label    string // builtin[id], as matched_rule shows it
	source   string // cli_add_dir, user_approval, ...
	tools    []string
	category category
	pattern  string
	bare     bool     // the pattern is read as the original reads it
	broken   bool     // the pattern does not compile
	effects  []string // expressions on the lines of effects; ours alone
	verdict  obstat.Verdict
	always   bool   // by its action, not by its severity in a mode
	why      string // words for the model and the human
	pos      obstat.Pos
}

// ruleList reads a list of rules. One that can never match is reported and left
// out; the examples of a rule are tried if that is asked for.
func (r *reader) ruleList(space string, n *tree.Node, strict, examples bool) []ruleConfig {
	return r.entries(space, n, func(what string, e *tree.Node, rule *ruleConfig) bool {
		rule.verdict, rule.always, rule.why = r.action(what, e, strict)
		if examples {
			r.checkExamples(what, e, rule)
		}
		return true
	})
}

// overrides reads approval_overrides; only those that allow take part.
func (r *reader) overrides(n *tree.Node) []ruleConfig {
	return r.entries(listOverrides, n, func(what string, e *tree.Node, rule *ruleConfig) bool {
		rule.verdict = obstat.Allow
		if strings.EqualFold(text(e.Get("action")), "allow") {
			return true
		}
		r.Warn(e, obstat.CodeNoEffect, "a deny or an ask belongs to rules",
			"%s does not allow, and an override does nothing else", what)
		return false
	})
}

// entries reads a list of rules with the keys that all of them share; finish reads
// the rest of one and tells whether it takes part.
func (r *reader) entries(space string, n *tree.Node,
	finish func(what string, e *tree.Node, rule *ruleConfig) bool) (out []ruleConfig) {
	seen := map[string]*tree.Node{}
	for i, e := range r.elements(n, space) {
		what := fmt.Sprintf("%s[%d]", space, i)
		if !e.Is(tree.Object) {
			r.Warn(e, obstat.CodeWrongType, "", "%s should be an object, not %v: it counts for nothing", what, e.Kind)
			continue
		}
		r.duplicateID(space, e, seen)
		if rule, ok := r.rule(space, what, e); ok && finish(what, e, &rule) {
			out = append(out, rule)
		}
	}
	return out
}

// duplicateID reports two rules of one id: an edit by id would meet the first.
func (r *reader) duplicateID(space string, e *tree.Node, seen map[string]*tree.Node) {
	id := e.Get("id")
	if !id.Is(tree.String) || id.Str == "" {
		return
	}
	if first := seen[id.Str]; first != nil {
		err := r.Warn(id, obstat.CodeConflict, "give each rule its own id", "%s has two entries of the id %q; both count",
			space, id.Str)
		err.Also = []obstat.Pos{r.Pos(first)}
		return
	}
	seen[id.Str] = id
}

// rule reads the keys that rules and overrides share. ok is false for one that
// can never match, for a reason that has been reported.
func (r *reader) rule(space, what string, e *tree.Node) (rule ruleConfig, ok bool) {
	id := "?"
	if n := e.Get("id"); pytext.Truthy(n) {
		id = pytext.Str(n)
	}
	rule = ruleConfig{label: space + "[" + id + "]", bare: r.bare, pos: r.Pos(e)}
	rule.source = e.Get("source").Text()
	if !r.ruleTools(what, e, &rule) {
		return rule, false
	}
	p := e.Get("pattern")
	if !p.Is(tree.String) || pytext.Strip(p.Str) == "" {
		r.Warn(e, obstat.CodeNoEffect, "", "%s has no pattern and can never match", what)
		return rule, false
	}
	rule.pattern = pytext.Strip(p.Str)
	rule.effects = r.effectPatterns(what, e.Get("effects"))
	r.checkPattern(what, p, &rule)
	return rule, true
}

// ruleTools reads the tools of a rule: all of one category, or the rule is dead.
func (r *reader) ruleTools(what string, e *tree.Node, rule *ruleConfig) bool {
	n := e.Get("tools")
	names := []*tree.Node{n}
	switch {
	case n.Is(tree.Array):
		names = n.Elems
	case !n.Is(tree.String):
		r.Warn(e, obstat.CodeNoEffect, "", "%s names no tools and can never match", what)
		return false
	}
	for _, n := range names {
		if !n.Is(tree.String) || pytext.Strip(n.Str) == "" {
			r.Warn(n, obstat.CodeWrongType, "", "a tool of %s has no name; the others count", what)
			continue
		}
		c, known := categories[pytext.Strip(n.Str)]
		switch {
		case !known:
			r.deadTool(what, n)
			return false
		case rule.category != "" && c != rule.category:
			r.Warn(n, obstat.CodeNoEffect, "write one rule for each",
				"%s names tools of two categories (%s and %s) and can never match", what, rule.category, c)
			return false
		}
		rule.category = c
		if known && n.Str == pytext.Strip(n.Str) && !slices.Contains(rule.tools, n.Str) {
			rule.tools = append(rule.tools, n.Str)
		} else if n.Str != pytext.Strip(n.Str) {
			r.Warn(n, obstat.CodeNoEffect, "", "%s: no tool is called %q, with its blanks", what, n.Str)
		}
	}
	switch {
	case len(rule.tools) == 0:
		r.Warn(e, obstat.CodeNoEffect, "", "%s names no tools and can never match", what)
	case rule.category == networkTools:
		r.Warn(e, obstat.CodeNoEffect, "set a level under tools",
			"%s is about network tools, which have no parameter rules", what)
	default:
		return true
	}
	return false
}

func (r *reader) deadTool(what string, n *tree.Node) {
	hint := cmp.Or(dialect.Near(n.Str, slices.Collect(maps.Keys(categories))...), "set a level under tools")
	r.Warn(n, obstat.CodeNoEffect, hint, "%s can never match: parameter rules are for shell and path tools, and %q is neither", what, n.Str)
}

// action reads the verdict of a rule: its action, or else its severity in the mode
// that is in force.
func (r *reader) action(what string, e *tree.Node, strict bool) (v obstat.Verdict, always bool, why string) {
	why = text(e.Get("description"))
	if a := e.Get("action"); a.Is(tree.String) && pytext.Strip(a.Str) != "" {
		v, ok := r.level(a, what+".action", false)
		if !ok {
			return obstat.Deny, true, noLevel
		}
		return v, true, why
	} else if a != nil && !a.Is(tree.String) && a.Kind != tree.Null {
		r.Warn(a, obstat.CodeWrongType, "", "%s.action should be a level, not %v: the severity counts", what, a.Kind)
	}
	severity := "HIGH"
	if s := e.Get("severity"); s.Is(tree.String) {
		severity = strings.ToUpper(pytext.Strip(s.Str))
	}
	if v, ok := severityVerdict(severity, strict); ok {
		return v, false, why
	}
	r.Warn(e.Get("severity"), obstat.CodeBadValue, "the severities are LOW, MEDIUM, HIGH and CRITICAL",
		"%s: severity %q is taken for HIGH", what, severity)
	return obstat.Ask, false, why
}

// severityVerdict is the table of the document's section 2.1.
func severityVerdict(severity string, strict bool) (v obstat.Verdict, ok bool) {
	normal := map[string]obstat.Verdict{"LOW": obstat.Allow, "MEDIUM": obstat.Allow, "HIGH": obstat.Ask,
		"CRITICAL": obstat.Ask}
	if strict {
		normal["MEDIUM"], normal["CRITICAL"] = obstat.Ask, obstat.Deny
	}
	v, ok = normal[severity]
	return v, ok
}

// IsSeverity tells whether there is a severity of that name.
func IsSeverity(name string) bool {
	_, ok := severityVerdict(name, false)
	return ok
}

// CheckRule refuses a rule, given as JSON, that could never match, with the words
// that loading it would have for it. The original takes such a rule and never
// uses it.
func CheckRule(rule []byte) error {
	n, _ := jsonx.Parse(rule, jsonx.Options{})
	r := newReader("rule", rule)
	if r.rule("rules", "rule", n); len(r.Errs) == 0 {
		return nil
	}
	msg := r.Errs[0].Msg
	if hint := r.Errs[0].Hint; hint != "" && r.Errs[0].Code != obstat.CodeBadPattern {
		msg += " (" + hint + ")"
	}
	return errors.New(msg)
}

// text returns a text without the blanks around it, "" for anything else.
func text(n *tree.Node) string { return pytext.Strip(n.Text()) }

// effectPatterns reads the expressions of a rule's effects.
func (r *reader) effectPatterns(what string, n *tree.Node) (out []string) {
	for _, e := range r.elements(n, what+".effects") {
		switch {
		case !e.Is(tree.String) || pytext.Strip(e.Str) == "":
			r.Warn(e, obstat.CodeWrongType, "", "an effect of %s should be an expression, not %v", what, e.Kind)
		case r.ours || r.Compiles(e, search(e.Str), what+".effects"): // a test has tried ours
			out = append(out, e.Str)
		}
	}
	return out
}

// checkPattern reports a pattern that does not compile, as the original reads it.
func (r *reader) checkPattern(what string, n *tree.Node, rule *ruleConfig) {
	if r.ours {
		return // a test has tried it
	}
	original := *rule
	original.bare = true
	_, t := original.subject()
	_, err := pattern.Compile(t.Flavour, t.Text)
	if rule.broken = err != nil; !rule.broken {
		return
	}
	if _, ok := expression(rule.pattern); ok {
		r.Warn(n, obstat.CodeBadPattern, "until it is mended an ask or a deny counts as matching, an allow never does",
			"%s: %v", what, err)
	} else {
		r.Warn(n, obstat.CodeBadPattern, `a wildcard that ends in " *" can have no other *`,
			"%s: the wildcard %q can never match", what, rule.pattern)
	}
}

// subject returns the field and the pattern of the rule. The glob
// of the document is wider than the original's wildcard: an allow keeps to that.
func (rule *ruleConfig) subject() (field string, t obstat.Text) {
	bare := rule.bare || rule.verdict == obstat.Allow
	if rule.category == pathTools {
		return pathPattern(rule.pattern, bare)
	}
	return commandPattern(rule.pattern, bare)
}
