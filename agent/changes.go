package agent

import (
	"fmt"
	"slices"
	"strings"

	"github.com/obstat/obstat"
)

// Changes tells whether it was seen that the agent, in the version of [Agent.Covers], runs the changed
// text of a command where its hook allows it so.
func (a *Agent) Changes() bool { return a.changes != "" }

// NotChanged says why the command of the call is not changed into one that runs confined; "" where it
// can be. over are the judges of the agent's that the policy outranks.
func (e *Event) NotChanged(over obstat.Over) string {
	a := e.Who()
	if e.Call == nil || !a.Changes() {
		return "it was not seen that " + a.Title + " runs a changed command"
	}
	if !among(a.changes, e.Name) && !among(a.changes, e.Name+":"+e.Mode) {
		return fmt.Sprintf("%s is not told a changed command at %s", a.Title, strings.TrimSpace(e.Name+" "+e.Mode))
	}
	for _, w := range e.Started {
		if name, _, _ := strings.Cut(w, "="); among(a.rulesBy, name) {
			return fmt.Sprintf("%s was started with rules of its own: %s", a.Title, name)
		}
	}
	if a.unboxedBy != "" && !slices.ContainsFunc(e.Started, func(w string) bool { return among(a.unboxedBy, w) }) {
		return fmt.Sprintf("%s runs commands in its own sandbox, unless it is started with %s", a.Title,
			strings.Join(strings.Fields(a.unboxedBy), " or "))
	}
	switch m := e.mode(); {
	case m.Allow == Skips || m.Allow == Idle:
		return ""
	case m.Allow == Silences && over.Has(m.Over):
		return ""
	case m.Allow == Silences:
		return fmt.Sprintf("the judge of %s decides in the mode %s: no rule says `over: %s`", a.Title, e.Mode, m.Over)
	}
	return fmt.Sprintf("an allow could lift what %s refuses in the mode %s", a.Title, e.Mode)
}

// ReadsRules tells whether the agent's command line may hold rules, or have its commands run in a sandbox, so that a
// hook has to look at it before it changes a command.
func (a *Agent) ReadsRules() bool { return a.rulesBy != "" || a.unboxedBy != "" }

// Ruleless tells whether the agent has no rules of its own, so that none is asked before a command is changed.
func (a *Agent) Ruleless() bool { return a.ruleless }

// Boxed says that settings here have the agent run commands in a sandbox of its own, where a ticket cannot be spent;
// "" where they do not.
func (a *Agent) Boxed(w *Where) string {
	if a.boxedBy == "" {
		return ""
	}
	section, key, _ := strings.Cut(a.boxedBy, ".")
	for _, f := range a.Look(w).Files {
		if n := f.root.At(section, key); isBool(n, true) {
			return fmt.Sprintf("%s runs commands in its own sandbox: %s in %s", a.Title, a.boxedBy, f.Name)
		}
	}
	return ""
}
