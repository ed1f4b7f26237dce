package jiuwen

import (
	"strings"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/dialect/kit"
	"github.com/obstat/obstat/pattern"
)

var _ dialect.Linter = Dialect{}

// Lint finds rules that work as written and rarely as meant: overrides that allow
// more than was approved, a general allow that covers tools no rule can
// look into, and a configuration under which the built-in rules are not read.
func (Dialect) Lint(in *dialect.Input, p *obstat.Program) (out obstat.Errors) {
	warn := func(pos obstat.Pos, hint, msg string) {
		out = append(out, &obstat.Error{Code: obstat.CodeRisky, Pos: pos, Msg: msg, Hint: hint, Warning: true})
	}
	seen := map[string]bool{}
	for _, r := range p.Rules[listOverrides] {
		if r.Field == fieldTrusted || r.Pattern.Flavour == pattern.Exact || seen[r.ID] {
			continue
		}
		if c, err := pattern.Compile(r.Pattern.Flavour, r.Pattern.Text); err == nil && c.Shape().Exact {
			continue
		}
		seen[r.ID] = true
		warn(r.Pos, "approve the command itself, or write an allow under rules, which built-in rules still stop",
			r.ID+" allows every call that its pattern matches, before the built-in rules can ask")
	}
	for _, r := range p.Rules[listDefaults] {
		if r.Verdict == obstat.Allow {
			warn(r.Pos, "name them under tools, or let the default ask",
				`defaults."*": allow also covers tools that run code and have no rules: `+strings.Join(executors, ", "))
		}
	}
	if _, tiered := p.Rules[listBuiltin]; !tiered && len(p.Pipelines[p.Mode].Stages) > 0 && len(in.Files) > 0 {
		warn(obstat.Pos{File: in.Files[0].Name, Line: 1, Col: 1}, "set schema: tiered_policy",
			"the legacy matcher is in force: built-in rules are not read, and an allowed shell may shut the machine down")
	}
	return out
}

// executors are tools that run code and are in no category of the document.
var executors = []string{"code", "powershell"}

// ToolNames returns the tool of a rule; JiuwenSwarm's tools are called as their authors like.
func (Dialect) ToolNames(r *obstat.Rule) (names []string, open bool) {
	return kit.OneTool(r.Tool), true
}
