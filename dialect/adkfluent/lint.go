package adkfluent

import (
	"fmt"
	"slices"
	"strings"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/dialect/kit"
	"github.com/obstat/obstat/internal/format/jsonx"
	"github.com/obstat/obstat/pattern"
)

// Lint warns of entries that have no effect, or another one than they read like:
// asks that can never happen, approvals that a denial overrides, and denials of
// commands that are written as denials of tools.
func (Dialect) Lint(in *dialect.Input, _ *obstat.Program) obstat.Errors {
	p, errs := load(in)
	if p == nil || errs.Fatal() != nil {
		return nil
	}
	return p.Lint()
}

// A linter asks the compiled policy which step of the chain settles a tool's calls.
type linter struct {
	*Policy
	bare *obstat.Policy
	out  obstat.Errors
}

// Lint returns the warnings of Dialect.Lint for this policy.
func (p *Policy) Lint() obstat.Errors {
	bare, err := p.Bare().Compile()
	if err != nil {
		return nil
	}
	l := &linter{Policy: p, bare: bare}
	early := map[string][]string{} // tools of the ask list, by the step that settles them before
	for _, r := range p.rules[askNames] {
		if d := l.decide(r.Source); d.Verdict != obstat.Ask {
			early[d.Stage] = append(early[d.Stage], r.Source)
		}
	}
	for stage, tools := range early {
		why, hint := p.whyNot(stage, tools)
		for _, r := range p.rules[askNames] {
			if slices.Contains(tools, r.Source) {
				l.warn(&r, obstat.CodeNoEffect, hint, "%s is on the ask list, but the ask can never happen: %s", r.Source, why)
			}
		}
	}
	for _, r := range p.rules[askPatterns] {
		l.askPattern(&r)
	}
	for _, r := range p.rules[allowNames] {
		switch l.decide(r.Source).Stage {
		case stageDenyNames, stageDenyPatterns:
			l.warn(&r, obstat.CodeNoEffect, "", "%s is allowed, but a denial comes first in the chain", r.Source)
		case stagePlan:
			l.warn(&r, obstat.CodeNoEffect, "", "%s is allowed, but plan mode denies mutating tools first", r.Source)
		}
	}
	for _, r := range p.rules[denyNames] {
		if slices.Contains(commands, r.Source) {
			l.warn(&r, obstat.CodeRisky, "rules here are about tools; to stop the command, deny the tools that run commands (bash, shell, run_command, ...) or use a dialect with rules for commands",
				"this denies a tool called %s, not a shell command %[1]s", r.Source)
		}
	}
	l.out.Sort()
	return l.out
}

// commands are programs that people put on the deny list of tools, where they stop
// nothing that a shell tool runs.
var commands = []string{"rm", "sudo", "curl", "wget", "dd", "chmod", "chown", "mkfs", "kill", "git", "ssh", "scp",
	"mv", "cp", "python", "python3", "node", "npm", "pip", "docker"}

func (l *linter) warn(r *obstat.Rule, code obstat.Code, hint, format string, args ...any) {
	l.out = append(l.out, &obstat.Error{Code: code, Pos: r.Pos, Warning: true, Hint: hint,
		Msg: fmt.Sprintf(format, args...)})
}

// decide returns the chain's answer for a tool.
func (l *linter) decide(tool string) obstat.Decision {
	return l.bare.Decide(&obstat.Call{Tool: tool, Input: []byte("{}")}, nil)
}

// askPattern looks at the tools that the policy knows by name.
func (l *linter) askPattern(r *obstat.Rule) {
	if l.mode == ModeBypass || l.mode == ModeDontAsk {
		why, hint := l.whyNot("default", nil)
		l.warn(r, obstat.CodeNoEffect, hint, "the ask pattern %s can never make anything ask: %s", r.Source, why)
		return
	}
	pat, err := pattern.Compile(r.Tool.Flavour, r.Source)
	if err != nil {
		return
	}
	var tools []string
	step := stageAcceptEdits
	if l.mode == ModePlan {
		step = stagePlan
	}
	for _, tool := range l.mutating {
		if ok, err := pat.Match(tool); ok && err == nil && l.decide(tool).Stage == step {
			tools = append(tools, tool)
		}
	}
	if len(tools) > 0 {
		why, hint := l.whyNot(step, tools)
		l.warn(r, obstat.CodeNoEffect, hint, "the ask pattern %s can never make %s ask: %s", r.Source,
			strings.Join(tools, ", "), why)
	}
}

// whyNot says which step settles the tools before the ask list is reached, and the
// change that would help.
func (p *Policy) whyNot(stage string, tools []string) (why, hint string) {
	switch stage {
	case stageDenyNames, stageDenyPatterns:
		return "step 1 or 2 of the chain denies it", "take it off the deny list or out of the deny pattern's reach"
	case stageAllowNames:
		return "step 5 of the chain allows it", "take " + strings.Join(tools, ", ") + " off the allow list"
	case stageAllowPatterns:
		return "step 6 of the chain allows it", "make the allow pattern narrower, or name the tools instead"
	case stagePlan:
		return "step 4 of the chain denies mutating tools in plan mode", "use another mode, or say what is mutating without it: " + p.withoutMutating(tools)
	case stageAcceptEdits:
		return "step 7 of the chain allows mutating tools in accept_edits mode, before step 9 could ask",
			"say what is mutating without it, and it is asked about: " + p.withoutMutating(tools)
	}
	if p.mode == ModeBypass {
		return "step 3 of the chain allows everything in bypass mode", `use "mode": "default" or "accept_edits"`
	}
	return "step 8 of the chain denies in dont_ask mode, where nobody is there to answer", `use "mode": "default"`
}

// withoutMutating is the line to write so that tools are not mutating.
func (p *Policy) withoutMutating(tools []string) string {
	rest := slices.DeleteFunc(slices.Clone(p.mutating), func(t string) bool { return slices.Contains(tools, t) })
	for i := range rest {
		rest[i] = jsonx.Quote(rest[i])
	}
	return fmt.Sprintf("%q: [%s]", keyMutating, strings.Join(rest, ", "))
}

// ToolNames returns the tool of a rule; adk-fluent's tools are called as their authors like.
func (Dialect) ToolNames(r *obstat.Rule) (names []string, open bool) {
	return kit.OneTool(r.Tool), true
}
