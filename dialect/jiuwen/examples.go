package jiuwen

import (
	"encoding/json"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/internal/format/tree"
	"github.com/obstat/obstat/pattern"
)

// checkExamples tries a rule on its own examples: those of match must match,
// those of not_match must not.
func (r *reader) checkExamples(what string, e *tree.Node, rule *ruleConfig) {
	for key, want := range map[string]bool{"match": true, "not_match": false} {
		for _, ex := range r.elements(e.Get(key), what+"."+key) {
			if !ex.Is(tree.String) {
				r.Fail(ex, obstat.CodeWrongType, "", "an example of %s should be a text, not %v", what, ex.Kind)
				continue
			}
			if got := rule.matchesExample(ex.Str); got != want {
				r.Fail(ex, obstat.CodeBadPattern, "change the pattern or the example", "%s (%s) should %s %q", what, rule.label,
					map[bool]string{true: "match", false: "not match"}[want], ex.Str)
			}
		}
	}
}

// exampleDir is the workspace in which examples are tried.
const exampleDir = "/srv/ws"

// matchesExample tells whether the rule matches a command, or a path.
func (rule *ruleConfig) matchesExample(text string) bool {
	key := "command"
	if rule.category == pathTools {
		key = "path"
	}
	input, err := json.Marshal(map[string]string{key: text})
	if err != nil || len(rule.tools) == 0 {
		return false
	}
	f := &obstat.Facts{Call: &obstat.Call{Tool: rule.tools[0], Input: input, Dir: exampleDir, Roots: []string{exampleDir}},
		World: &obstat.Snapshot{HomeDir: "/home/user"}}
	qs, err := view{&params{Effects: len(rule.effects) > 0}}.Questions(f)
	if err != nil {
		return false
	}
	for _, made := range rule.append(nil, rule.tools[0], false) {
		for _, s := range qs[0].Subjects {
			if made.Whole() || s.Field == made.Field && matches(made.Pattern, s.Text) {
				return true
			}
		}
	}
	return false
}

func matches(t obstat.Text, s string) bool {
	p, err := pattern.Compile(t.Flavour, t.Text)
	if err != nil {
		return false
	}
	ok, err := p.Match(s)
	return ok && err == nil
}
