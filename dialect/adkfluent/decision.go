package adkfluent

import (
	"fmt"
	"maps"
	"reflect"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
)

// A Decision is an answer in the document's words. Make one with NewAllow,
// NewDeny or NewAsk; the zero Decision denies.
type Decision struct {
	behavior obstat.Verdict
	reason   string
	prompt   string
	updated  map[string]any
}

// NewAllow returns the decision to let the tool run, with other arguments if
// updatedInput is not nil: it replaces all of them.
func NewAllow(updatedInput map[string]any) Decision {
	return Decision{behavior: obstat.Allow, updated: maps.Clone(updatedInput)}
}

// defaultReason is the original's reason where none is given.
const defaultReason = "Denied by permission policy"

// NewDeny returns the decision not to run the tool.
func NewDeny(reason string) Decision {
	if reason == "" {
		reason = defaultReason
	}
	return Decision{reason: reason}
}

// NewAsk returns the decision to ask a human.
func NewAsk(prompt string) Decision { return Decision{behavior: obstat.Ask, prompt: prompt} }

// IsAllow reports whether the tool may run.
func (d Decision) IsAllow() bool { return d.behavior == obstat.Allow }

// IsDeny reports whether the tool may not run.
func (d Decision) IsDeny() bool { return d.behavior == obstat.Deny }

// IsAsk reports whether a human has to say.
func (d Decision) IsAsk() bool { return d.behavior == obstat.Ask }

// IsTerminal reports whether the decision needs no handler.
func (d Decision) IsTerminal() bool { return !d.IsAsk() }

// Behavior returns "allow", "deny" or "ask".
func (d Decision) Behavior() string { return d.behavior.String() }

// Reason returns why the tool may not run; it is empty on other decisions.
func (d Decision) Reason() string {
	if d.IsDeny() && d.reason == "" {
		return defaultReason
	}
	return d.reason
}

// Prompt returns the question for the human; it is empty unless IsAsk.
func (d Decision) Prompt() string { return d.prompt }

// UpdatedInput returns the arguments that replace the call's, nil if they stay.
func (d Decision) UpdatedInput() map[string]any { return maps.Clone(d.updated) }

// Equal reports whether two decisions say the same.
func (d Decision) Equal(o Decision) bool {
	return d.behavior == o.behavior && d.Reason() == o.Reason() && d.prompt == o.prompt &&
		reflect.DeepEqual(d.updated, o.updated)
}

// DecisionOf says an engine's decision in the document's words.
func DecisionOf(d *obstat.Decision) Decision {
	switch d.Verdict {
	case obstat.Allow:
		return allowed(d)
	case obstat.Ask:
		prompt := fmt.Sprintf("Allow tool '%s'?", d.Tool)
		if d.Note != "" {
			prompt += " " + d.Reason()
		}
		return NewAsk(prompt)
	}
	return NewDeny(denial(d))
}

// Words returns a decision in the form and the words of adk-fluent.
func (Dialect) Words(_ *dialect.Loaded, d *obstat.Decision) any {
	said := DecisionOf(d)
	return map[string]any{"behavior": said.Behavior(), "reason": said.Reason(), "prompt": said.Prompt(),
		"updated_input": said.UpdatedInput()}
}

// Unattended tells whether no person may be asked about a decision: not in dont_ask.
func (Dialect) Unattended(d *obstat.Decision) bool { return d.Mode == ModeDontAsk }

func allowed(d *obstat.Decision) Decision {
	if d.Input == nil {
		return NewAllow(nil)
	}
	args, err := DecodeArgs(d.Input)
	if err != nil {
		return NewDeny("the rewritten arguments cannot be read: " + err.Error())
	}
	return NewAllow(args)
}

// denial returns the original's text where one of its steps denied.
func denial(d *obstat.Decision) string {
	if len(d.Faults) > 0 {
		return d.Reason()
	}
	switch d.Stage {
	case stageDenyNames:
		return fmt.Sprintf("Tool '%s' is in the permission deny list.", d.Tool)
	case stageDenyPatterns:
		return fmt.Sprintf("Tool '%s' matches a deny pattern.", d.Tool)
	case stagePlan:
		return fmt.Sprintf("Plan mode denies mutating tool '%s'. Describe your plan without executing side effects.", d.Tool)
	case "default":
		return fmt.Sprintf("Tool '%s' requires approval, but the policy is in 'dont_ask' mode (non-interactive).", d.Tool)
	}
	return d.Reason()
}
