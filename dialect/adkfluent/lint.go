package adkfluent

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/internal/tree"
	"github.com/obstat/obstat/pattern"
)

// Lint warns of entries that have no effect, or another one than they read like: asks that can never happen, approvals that a denial overrides, and
// denials of commands that are written as denials of tools.
func (Dialect) Lint(in *dialect.Input, _ *obstat.Program) obstat.Errors {
	p, errs := load(in)
	if p == nil || errs.Fatal() != nil {
		return nil
	}
	return p.Lint()
}

// Lint returns the warnings of Dialect.Lint for this policy.
func (p *Policy) Lint() obstat.Errors {
	if p.Err() != nil {
		return nil
	}
	var out obstat.Errors
	for i := range p.names.ask {
		out = append(out, p.lintAsk(&p.names.ask[i])...)
	}
	for i := range p.patterns.ask {
		out = append(out, p.lintAskPattern(&p.patterns.ask[i])...)
	}
	for i := range p.names.allow {
		out = append(out, p.lintAllow(&p.names.allow[i])...)
	}
	for i := range p.names.deny {
		out = append(out, lintDeny(&p.names.deny[i])...)
	}
	out.Sort()
	return out
}

func warn(e *entry, code obstat.Code, hint, format string, args ...any) obstat.Errors {
	return obstat.Errors{{Code: code, Pos: e.pos, Warning: true, Hint: hint, Msg: fmt.Sprintf(format, args...)}}
}

// stage returns which step of the chain settles a tool's calls, and how.
func (p *Policy) stage(tool string) (string, obstat.Verdict) {
	pol, err := p.Bare().Compile()
	if err != nil {
		return "policy", obstat.Deny
	}
	d := pol.Decide(&obstat.Call{Tool: tool, Input: []byte("{}")}, nil)
	return d.Stage, d.Verdict
}

// lintAsk warns of a name whose ask can never happen. In this chain an ask entry
// never changes an answer, so the question is only whether the tool is asked
// about at all.
func (p *Policy) lintAsk(e *entry) obstat.Errors {
	stage, verdict := p.stage(e.text)
	if verdict == obstat.Ask {
		return nil
	}
	why, hint := p.whyNot(stage, p.asked(stage))
	return warn(e, obstat.CodeNoEffect, hint, "%s is on the ask list, but the ask can never happen: %s", e.text, why)
}

// asked returns the names of the ask list that a step settles before it is
// reached, so that one change can free them all.
func (p *Policy) asked(step string) (out []string) {
	for i := range p.names.ask {
		if stage, _ := p.stage(p.names.ask[i].text); stage == step {
			out = append(out, p.names.ask[i].text)
		}
	}
	return out
}

// lintAskPattern looks at the tools that the policy knows by name.
func (p *Policy) lintAskPattern(e *entry) obstat.Errors {
	if p.mode == ModeBypass || p.mode == ModeDontAsk {
		why, hint := p.whyNot("default", nil)
		return warn(e, obstat.CodeNoEffect, hint, "the ask pattern %s can never make anything ask: %s", e.text, why)
	}
	pat, err := pattern.Compile(e.how.flavour(), e.text)
	if err != nil {
		return nil
	}
	var tools []string
	step := stageAcceptEdits
	if p.mode == ModePlan {
		step = stagePlan
	}
	for _, tool := range p.mutating {
		if ok, err := pat.Match(tool); !ok || err != nil {
			continue
		}
		if stage, _ := p.stage(tool); stage == step {
			tools = append(tools, tool)
		}
	}
	if len(tools) == 0 {
		return nil
	}
	why, hint := p.whyNot(step, tools)
	return warn(e, obstat.CodeNoEffect, hint, "the ask pattern %s can never make %s ask: %s", e.text, strings.Join(tools, ", "), why)
}

// whyNot says which step settles the tools before the ask list is reached, and
// what to change.
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
	if rest == nil {
		rest = []string{}
	}
	text, err := json.Marshal(rest)
	if err != nil {
		return ""
	}
	return fmt.Sprintf("%q: %s", keyMutating, strings.ReplaceAll(string(text), ",", ", "))
}

// lintAllow warns of a name that is allowed in vain.
func (p *Policy) lintAllow(e *entry) obstat.Errors {
	switch stage, _ := p.stage(e.text); stage {
	case stageDenyNames, stageDenyPatterns:
		return warn(e, obstat.CodeNoEffect, "", "%s is allowed, but a denial comes first in the chain", e.text)
	case stagePlan:
		return warn(e, obstat.CodeNoEffect, "", "%s is allowed, but plan mode denies mutating tools first", e.text)
	}
	return nil
}

// commands are programs that people put on the deny list of tools.
var commands = map[string]bool{"rm": true, "sudo": true, "curl": true, "wget": true, "dd": true, "chmod": true, "chown": true, "mkfs": true,
	"kill": true, "git": true, "ssh": true, "scp": true, "mv": true, "cp": true, "python": true, "python3": true, "node": true, "npm": true, "pip": true, "docker": true}

// lintDeny warns that the name of a program denies a tool of that name, and
// nothing that a shell tool runs.
func lintDeny(e *entry) obstat.Errors {
	if !commands[e.text] {
		return nil
	}
	return warn(e, obstat.CodeRisky, "rules here are about tools; to stop the command, deny the tools that run commands (bash, shell, run_command, ...) or use a dialect with rules for commands",
		"this denies a tool called %s, not a shell command %s", e.text, e.text)
}

// nearMode returns a hint for a mistyped mode.
func nearMode(word string) string {
	words := make([]string, 0, 5)
	for _, m := range Modes() {
		words = append(words, string(m))
	}
	if near, ok := tree.Nearest(word, words...); ok {
		return fmt.Sprintf("did you mean %q?", near)
	}
	return ""
}
