package chorus

import (
	"fmt"
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
	for _, name := range s.names() {
		if _, preset := Presets()[name]; preset {
			continue
		}
		p := s.Profiles[name]
		for _, r := range slices.Concat(p.Deny, p.Allow, p.Ask) {
			if code, hint, msg := lintPattern(r.Source); msg != "" {
				out = append(out, &obstat.Error{Code: code, Pos: r.Pos, Warning: true, Hint: hint, Msg: msg})
			}
		}
	}
	out.Sort()
	return out
}

// program are the categories of the shipped program's actions that the
// document's do not have, and their substitutes.
var program = map[string]string{
	"tool:file:":       "tool:create_file:, tool:str_replace: and tool:view:",
	"tool:info:":       "the tool's own name, such as tool:list_models:",
	"tool:agent_comm:": "the tool's own name, such as tool:send_to_agent:",
}

// lintPattern describes a problem of a pattern, "" where it has none.
func lintPattern(text string) (code obstat.Code, hint, msg string) {
	re, err := pattern.Compile(pattern.Full, text)
	if err != nil {
		return "", "", ""
	}
	if !re.MayMatch(toolPrefix) {
		return obstat.CodeNoEffect, "start it with tool:, and remember that the whole action has to match",
			fmt.Sprintf("the pattern %s matches no action: every action starts with tool:", text)
	}
	prefix := re.Shape().Prefix
	for start, instead := range program {
		if strings.HasPrefix(prefix, start) {
			return obstat.CodeNoEffect, "use " + instead, fmt.Sprintf("the pattern %s is about an action of the shipped program that the document does not have", text)
		}
	}
	if strings.HasPrefix(prefix, "tool:git:push ") && strings.Contains(text, "(?!") {
		return obstat.CodeRisky, "list the branches that may be pushed instead: tool:git:push origin (dev|staging)",
			fmt.Sprintf("the look-ahead of %s lets HEAD:main, +main and refs/heads/main through, and keeps mainline out", text)
	}
	return "", "", ""
}

// ToolNames returns the tool of a pattern such as `tool:bash:.*`.
func (Dialect) ToolNames(r *obstat.Rule) (names []string, open bool) {
	rest, ok := strings.CutPrefix(r.Source, toolPrefix)
	name, _, whole := strings.Cut(rest, ":")
	if !ok || !whole || strings.ContainsAny(name, `.*+?()[]{}|\\^$`) {
		return nil, true
	}
	return []string{name}, true
}
