package native

import (
	"fmt"
	"slices"
	"strings"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/dialect/kit"
)

var _ dialect.Linter = Dialect{}

// minExamples is how many examples a rule with examples should have.
const minExamples = 2

// Lint finds allow rules for commands that are wider than all their examples: `run npm` with the
// examples `npm test` and `npm test -- x` hands out `npm publish`.
func (d Dialect) Lint(in *dialect.Input, _ *obstat.Program) (out obstat.Errors) {
	l := &loader{names: map[string]*rule{}}
	for i := range in.Files {
		l.file(&in.Files[i])
	}
	for _, r := range l.rules {
		if r.verdict != obstat.Allow || len(r.examples) < minExamples || r.s == nil {
			continue
		}
		if !slices.Contains(r.s.verbs, "run") || len(r.s.targets) != 1 || r.s.targets[0].exactly {
			continue
		}
		start := strings.Fields(r.examples[0].Str)
		for _, n := range r.examples[1:] {
			words := strings.Fields(n.Str)
			same := 0
			for same < min(len(start), len(words)) && start[same] == words[same] {
				same++
			}
			start = start[:same]
		}
		said := r.s.targets[0].text
		if len(start) > len(strings.Fields(said)) && strings.HasPrefix(strings.Join(start, " "), said) {
			out = append(out, &obstat.Error{Code: obstat.CodeRisky, Pos: r.pos, Warning: true,
				Msg:  fmt.Sprintf("the rule is wider than its examples, which all start with %q", strings.Join(start, " ")),
				Hint: "write `run " + strings.Join(start, " ") + "`, or add an example of what else is meant"})
		}
	}
	return out
}

// ToolNames returns the tool that a target of `tool` names.
func (Dialect) ToolNames(r *obstat.Rule) (names []string, open bool) {
	if r.Field != fieldTool {
		return nil, false
	}
	return kit.OneTool(r.Pattern), false
}
