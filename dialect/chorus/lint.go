package chorus

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/pattern"
)

var _ dialect.Linter = Dialect{}

// Lint warns of patterns that can never match an action, and of look-aheads that
// are passed by.
func (Dialect) Lint(in *dialect.Input, _ *obstat.Program) obstat.Errors {
	s, errs := Load(in)
	if errs.Fatal() != nil {
		return nil
	}
	var out obstat.Errors
	for _, name := range slices.Sorted(maps.Keys(s.Profiles)) {
		if _, preset := Presets()[name]; !preset {
			p := s.Profiles[name]
			out = append(out, p.lint()...)
		}
	}
	out.Sort()
	return out
}

func (p *Profile) lint() (out obstat.Errors) {
	for _, pat := range slices.Concat(p.Deny, p.Allow, p.Ask) {
		out = append(out, lintPattern(&pat)...)
	}
	return out
}

func warning(p *Pattern, code obstat.Code, hint, format string, args ...any) *obstat.Error {
	return &obstat.Error{Code: code, Pos: p.Pos, Warning: true, Hint: hint, Msg: fmt.Sprintf(format, args...)}
}

// program are the categories of the shipped program's actions that the
// document's do not have, and what takes their place.
var program = map[string]string{
	"tool:file:":       "tool:create_file:, tool:str_replace: and tool:view:",
	"tool:info:":       "the tool's own name, such as tool:list_models:",
	"tool:agent_comm:": "the tool's own name, such as tool:send_to_agent:",
}

func lintPattern(p *Pattern) obstat.Errors {
	re, err := pattern.Compile(pattern.Full, p.Text)
	if err != nil {
		return nil
	}
	if !re.MayMatch(toolPrefix) {
		return obstat.Errors{warning(p, obstat.CodeNoEffect, "start it with tool:, and remember that the whole action has to match",
			"the pattern %s matches no action: every action starts with tool:", p.Text)}
	}
	prefix := re.Shape().Prefix
	for start, instead := range program {
		if strings.HasPrefix(prefix, start) {
			return obstat.Errors{warning(p, obstat.CodeNoEffect, "use "+instead, "the pattern %s is about an action of the shipped program that the document does not have", p.Text)}
		}
	}
	if strings.HasPrefix(prefix, "tool:git:push ") && strings.Contains(p.Text, "(?!") {
		return obstat.Errors{warning(p, obstat.CodeRisky, "list the branches that may be pushed instead: tool:git:push origin (dev|staging)",
			"the look-ahead of %s lets HEAD:main, +main and refs/heads/main through, and keeps mainline out", p.Text)}
	}
	return nil
}
