package jiuwen

import (
	"slices"
	"strings"

	"github.com/obstat/obstat"
)

// Matched returns the original's matched_rule: the rules that decided, under
// the name of their stage, and after a bar the external directories.
// It is empty where no rule was asked.
func (Dialect) Matched(d *obstat.Decision, t *obstat.Trace) string {
	if t == nil || len(t.Questions) == 0 {
		return ""
	}
	steps := t.Questions[0].Steps
	if len(steps) == 0 {
		return "" // switched off: no stage at all
	}
	out := "default"
	for i := range steps {
		if s := &steps[i]; s.Settled {
			out = matched(s)
			break
		}
	}
	for i := range t.Amend {
		if s := &t.Amend[i]; s.Stage == stageExternal && s.Settled {
			out += "|external_directory.*"
		}
	}
	return out
}

// matchedNames are the original's names of the tiered policy's stages.
var matchedNames = map[string]string{
	stageBuiltinDeny: "builtin:deny:", stageUserDeny: "rules:deny:", stageOverrides: "approval_overrides:", stageBuiltin: "builtin:", stageUser: "rules:",
}

// matched names the rules of a stage that settled a question.
func matched(s *obstat.StepTrace) string {
	const tiered = "tiered_policy:"
	switch name := matchedNames[s.Stage]; {
	case name != "":
		return tiered + name + labels(s)
	case s.Stage == stageDefaults:
		return tiered + "defaults.*"
	case s.Rule != nil:
		return s.Rule.ID
	}
	return ""
}

// labels joins the ids of all rules with the verdict that was settled, each once, in
// the order of their code points.
func labels(s *obstat.StepTrace) string {
	var out []string
	for _, r := range s.Hits {
		if r.Verdict == s.Verdict && !slices.Contains(out, r.ID) {
			out = append(out, r.ID)
		}
	}
	slices.Sort(out)
	return strings.Join(out, "+")
}
