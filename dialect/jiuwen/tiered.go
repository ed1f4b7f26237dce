package jiuwen

import (
	"slices"

	"github.com/obstat/obstat"
)

// The names of the stages, as the document has them.
const (
	stageChannel     = "channel that is not checked"
	stageToolDeny    = "tool baseline: deny"
	stageBuiltinDeny = "built-in rules: deny"
	stageUserDeny    = "user rules: deny"
	stageOverrides   = "approval overrides"
	stageBuiltin     = "built-in rules"
	stageUser        = "user rules"
	stageTool        = "tool baseline"
	stageDefaults    = "defaults"
	stageOperators   = "shell operators"
	stageExternal    = "external directory"
)

// The lists of rules.
const (
	listTools     = "tools"
	listBuiltin   = "builtin"
	listRules     = "rules"
	listOverrides = "approval_overrides"
	listDefaults  = "defaults"
)

// tiered is section 2.3 of the document, step by step, with the checks of its section 2.4
// afterwards.
func tiered() obstat.Pipeline {
	deny := obstat.SetOf(obstat.Deny)
	return obstat.Pipeline{
		Stages: []obstat.Stage{
			obstat.Match{Name: stageToolDeny, Rules: listTools, Settle: deny},                              // 1
			obstat.Match{Name: stageBuiltinDeny, Rules: listBuiltin, Pick: obstat.Strictest, Settle: deny}, // 2
			obstat.Match{Name: stageUserDeny, Rules: listRules, Pick: obstat.Strictest, Settle: deny},      // 3
			obstat.Match{Name: stageOverrides, Rules: listOverrides, Settle: obstat.SetOf(obstat.Allow)},   // 4
			obstat.Match{Name: stageBuiltin, Rules: listBuiltin, Pick: obstat.Strictest},                   // 5
			obstat.Match{Name: stageUser, Rules: listRules, Pick: obstat.Strictest},                        // 6
			obstat.Match{Name: stageTool, Rules: listTools},                                                // 7
			obstat.Match{Name: stageDefaults, Rules: listDefaults},                                         // 8
		},
		Default: obstat.Ask, // 9
		Amend: []obstat.Stage{
			obstat.Check{Name: stageOperators, Check: checkOperators, Unless: []string{stageOverrides}},
			obstat.Check{Name: stageExternal, Check: checkExternal},
		},
	}
}

// tieredRules returns the lists that tiered names.
func tieredRules(c *config, bare bool) map[string][]obstat.Rule {
	closed := slices.ContainsFunc(c.fallback, func(r obstat.Rule) bool { return r.Verdict == obstat.Deny })
	return map[string][]obstat.Rule{
		listTools:     c.tools,
		listBuiltin:   parameterRules(c.builtin, bare, closed),
		listRules:     parameterRules(c.rules, bare, closed),
		listOverrides: parameterRules(c.overrides, bare, closed),
		listDefaults:  c.fallback,
	}
}

// parameterRules makes rules for the engine: one for each tool of a rule, and
// more where it also looks at effects. Where all else is denied, an ask does not get wider
// either than the original's.
func parameterRules(rules []ruleConfig, bare, closed bool) []obstat.Rule {
	out := []obstat.Rule{}
	for _, rule := range rules {
		rule.bare = rule.bare || closed && rule.verdict == obstat.Ask
		for _, tool := range rule.tools {
			out = rule.append(out, tool, bare)
		}
	}
	return out
}

// written returns the rule as people know it: by its id and pattern, or by its id alone where it
// looks at effects, which its pattern does not tell.
func (rule *ruleConfig) written(tool string) string {
	if len(rule.effects) > 0 {
		return rule.label
	}
	return rule.label + " " + tool + "(" + rule.pattern + ")"
}

func (rule *ruleConfig) append(out []obstat.Rule, tool string, bare bool) []obstat.Rule {
	made := obstat.Rule{ID: rule.label, Tool: obstat.Is(tool), Verdict: rule.verdict, Source: rule.written(tool),
		Reason: rule.why, Pos: rule.pos}
	if dir, ok := rule.trusted(); ok && !bare {
		made.Field, made.Pattern = fieldTrusted, obstat.Is(dir)
		return append(out, made)
	}
	field, text := rule.subject()
	made.Field = field
	for _, t := range rule.readings(text, bare) {
		if made.Pattern = t; t.IsZero() {
			made.Field = ""
		}
		out = append(out, made)
	}
	for _, expr := range rule.effects {
		made.Field, made.Pattern = fieldEffect, search(expr)
		out = append(out, made)
	}
	return out
}

// readings returns the patterns that count for a rule: its own, if it compiles. One
// that does not counts as matching for ask and deny and never for allow; in the
// bare document it counts as the original reads it, part by part or not at all.
func (rule *ruleConfig) readings(t obstat.Text, bare bool) (out []obstat.Text) {
	if !rule.broken {
		return []obstat.Text{t}
	}
	switch {
	case !bare && rule.verdict < obstat.Allow:
		return []obstat.Text{{}}
	case bare && rule.category == shellTools:
		if expr, ok := expression(rule.pattern); ok {
			for _, part := range alternatives(expr) {
				out = append(out, search(part))
			}
		}
	}
	return out
}
