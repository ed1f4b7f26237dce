package claudecode

import (
	"slices"
	"strings"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/pattern"
)

// The modes; "manual" is another name of default.
const (
	modeDefault     = "default"
	modeAcceptEdits = "acceptEdits"
	modePlan        = "plan"
	modeAuto        = "auto"
	modeDontAsk     = "dontAsk"
	modeBypass      = "bypassPermissions"
)

var modeNames = []string{modeDefault, modeAcceptEdits, modePlan, modeAuto, modeDontAsk, modeBypass}

// The lists of a Program: the files' three, and the built-in one.
const (
	listDeny      = "deny"
	listAsk       = "ask"
	listAllow     = "allow"
	listCritical  = "critical"
	listProtected = "protected"
	listFree      = "free"
	listEdits     = "edits"
	listPlan      = "plan"
)

var (
	denyRules      = obstat.Match{Name: "deny rules", Rules: listDeny}
	askRules       = obstat.Match{Name: "ask rules", Rules: listAsk}
	criticalPaths  = obstat.Match{Name: "critical paths", Rules: listCritical}
	protectedPaths = obstat.Match{Name: "protected paths", Rules: listProtected}
	reads          = obstat.Match{Name: "reads", Rules: listFree}
	edits          = obstat.Match{Name: "accepted edits", Rules: listEdits}
	planning       = obstat.Match{Name: "plan mode", Rules: listPlan}
	allowRules     = obstat.Match{Name: "allow rules", Rules: listAllow}
	autoRules      = obstat.Match{Name: "allow rules", Rules: listAllow, Except: exceptBroad}
)

// pipelines returns the modes: deny rules, ask rules, safety, the mode, allow
// rules, prompt.
func pipelines() map[obstat.Mode]obstat.Pipeline {
	stages := func(def obstat.Verdict, s ...obstat.Stage) obstat.Pipeline {
		return obstat.Pipeline{Stages: append([]obstat.Stage{denyRules}, s...), Default: def}
	}
	no := func(m obstat.Match) obstat.Match { m.AskDenies = true; return m }
	return map[obstat.Mode]obstat.Pipeline{
		modeDefault:     stages(obstat.Ask, askRules, criticalPaths, protectedPaths, reads, allowRules),
		modeAcceptEdits: stages(obstat.Ask, askRules, criticalPaths, protectedPaths, reads, edits, allowRules),
		modePlan:        stages(obstat.Ask, askRules, criticalPaths, planning, protectedPaths, reads, allowRules),
		modeAuto:        stages(obstat.Ask, askRules, criticalPaths, protectedPaths, reads, edits, autoRules),
		modeDontAsk:     stages(obstat.Deny, no(askRules), no(criticalPaths), no(protectedPaths), reads, allowRules),
		modeBypass:      stages(obstat.Allow, askRules, criticalPaths),
	}
}

// some is the pattern of a property that the view says of a call: whatever it
// says there. It is not the zero Text, which would make a rule for every call.
var some = obstat.Text{Flavour: pattern.Fnmatch, Text: "?*"}

// builtin returns the lists that no file has.
func builtin() map[string][]obstat.Rule {
	rule := func(tools obstat.Text, field string, v obstat.Verdict, source, reason string) obstat.Rule {
		return obstat.Rule{Tool: tools, Field: field, Pattern: some, Verdict: v, Source: source, Reason: reason,
			Layer: "built in"}
	}
	shell := anyOf(shellTools...)
	return map[string][]obstat.Rule{
		listCritical: {rule(shell, fieldCritical, obstat.Ask, "critical path",
			"removing this is asked about in every mode")},
		listProtected: {rule(anyOf(editTools...), fieldProtected, obstat.Ask, "protected path",
			"no rule of a file allows writing this")},
		listFree: {
			rule(shell, fieldReadOnly, obstat.Allow, "read-only command", ""),
			rule(anyOf(readTools...), fieldInside, obstat.Allow, "read in the working directories", ""),
			{Tool: anyOf(freeTools...), Verdict: obstat.Allow, Source: "tool without permission", Layer: "built in"},
		},
		listEdits: {
			rule(anyOf(editTools...), fieldInside, obstat.Allow, "edit in the working directories", ""),
			rule(shell, fieldScoped, obstat.Allow, "file command in the working directories", ""),
		},
		listPlan: {{Tool: anyOf(editTools...), Verdict: obstat.Deny, Source: "plan mode",
			Reason: "no file is changed while planning", Layer: "built in"}},
	}
}

// Asks returns the protected and critical paths as sentences.
func (Dialect) Asks() []string {
	var out []string
	for _, p := range append(slices.Clone(list("protected dirs")), list("protected files")...) {
		below := "/**/" + p // outside of the project, too
		if strings.Contains(p, "/") {
			p = "**/" + p
		}
		out = append(out, p, below)
	}
	return []string{"write and delete " + strings.Join(out, ", "), "delete outside workspace"}
}
