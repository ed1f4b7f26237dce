package agentscope

import (
	"fmt"
	"strings"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
)

// A PermissionDecision is a decision in the form and the words of AgentScope.
type PermissionDecision struct {
	Behavior       string           `json:"behavior"`
	Message        string           `json:"message"`
	DecisionReason *string          `json:"decision_reason"`
	BypassImmune   bool             `json:"bypass_immune"`
	SuggestedRules []PermissionRule `json:"suggested_rules"`
}

// A PermissionRule is a rule of a context.
type PermissionRule struct {
	ToolName    string  `json:"tool_name"`
	RuleContent *string `json:"rule_content"`
	Behavior    string  `json:"behavior"`
	Source      string  `json:"source"`
}

// Unattended tells whether the document lets no person be asked about a decision: in dont_ask never, in
// explore only by an ask rule.
func (*Dialect) Unattended(d *obstat.Decision) bool {
	return d.Mode == modeDontAsk || d.Mode == modeExplore && d.Stage != askRules.Name
}

// Words returns a decision as AgentScope's engine says it. Where the floor or self-protection decided,
// which AgentScope does not have, their reason follows.
func (d *Dialect) Words(l *dialect.Loaded, dec *obstat.Decision) any {
	out := &PermissionDecision{Behavior: dec.Verdict.String(), BypassImmune: dec.Verdict == obstat.Ask && dec.Safety}
	message, reason := d.words(dec, l.Input.Options[OptionVersion] == "head")
	out.Message = message
	if reason != "" {
		out.DecisionReason = &reason
	}
	for i := range dec.Offers {
		r := &dec.Offers[i].Rule
		one := PermissionRule{ToolName: r.Tool.Text, Behavior: r.Verdict.String(), Source: "suggested"}
		if !r.Whole() {
			one.RuleContent = &r.Pattern.Text
		}
		out.SuggestedRules = append(out.SuggestedRules, one)
	}
	return out
}

// openings begin a message, by verdict.
var openings = map[obstat.Verdict]string{
	obstat.Allow: "Permission granted for ", obstat.Ask: "Permission required for ", obstat.Deny: "Permission denied for ",
}

// converted is the message of an ask in dont_ask.
const converted = " (dont_ask mode - ASK converted to DENY, user not available)"

func (d *Dialect) words(dec *obstat.Decision, head bool) (message, reason string) {
	opening := openings[dec.Verdict] + dec.Tool
	h := hears(d.Tools[dec.Tool])
	if h != nil && dec.Stage == toolCheckName && strings.HasPrefix(dec.Note, ownCheck) {
		if said := h.Checked; said.Behavior == dec.Verdict.String() {
			return said.Message, said.DecisionReason
		}
		return opening + converted, original(h.Checked.DecisionReason)
	}
	silenced := dec.Stage == askRules.Name && dec.Mode == modeDontAsk
	asked := dec.Part == "" && (dec.Stage == readOnly.Name || silenced) // its note is the answer to the box
	switch {
	case len(dec.Faults) > 0 || !asked && (dec.Note != "" || dec.Part != ""):
		return opening + ": " + dec.Reason(), dec.Reason()
	case dec.Rule != nil && dec.Stage == denyRules.Name:
		return "Permission to use " + dec.Tool + " has been denied", "Rule: " + content(dec.Rule)
	case dec.Rule != nil && dec.Stage == askRules.Name && dec.Verdict == obstat.Deny:
		return opening + converted, original("Rule: " + content(dec.Rule))
	case dec.Rule != nil && dec.Stage == askRules.Name:
		return opening, "Rule: " + content(dec.Rule)
	case dec.Stage == allowRules.Name && dec.Verdict == obstat.Allow:
		return opening, ""
	}
	return modeWords(dec, opening, head)
}

// modeWords are the words of a mode's own answer.
func modeWords(dec *obstat.Decision, opening string, head bool) (message, reason string) {
	switch name := strings.ReplaceAll(string(dec.Mode), "_", " "); {
	case dec.Stage == readOnly.Name && dec.Verdict == obstat.Allow && head:
		return opening + " (read-only invocation)", "Read-only operations are auto-allowed"
	case dec.Stage == readOnly.Name && dec.Verdict == obstat.Allow:
		first := strings.ToUpper(name[:1]) + name[1:]
		return fmt.Sprintf("%s (%s mode - read-only invocation)", opening, name), first + " mode allows read-only operations"
	case dec.Stage == readOnly.Name:
		return opening + " (explore mode is read-only)", "Explore mode does not allow modifications"
	case dec.Stage != "default":
		return opening + ": " + dec.Reason(), dec.Reason()
	case dec.Mode == modeBypass && dec.Verdict == obstat.Allow:
		return opening + " (bypass mode)", "Bypass mode allows all operations"
	case dec.Mode == modeDontAsk:
		return opening + " (dont_ask mode - user not available)", "User is not available to answer permission prompts"
	}
	return opening, "Mode: " + string(dec.Mode)
}

func original(reason string) string {
	return "DONT_ASK mode converted ASK to DENY. Original reason: " + reason
}

// content returns the content of a rule as Python prints it.
func content(r *obstat.Rule) string {
	text, ok := strings.CutPrefix(r.Source, r.Tool.Text+"(")
	if !ok {
		return "None"
	}
	return strings.TrimSuffix(text, ")")
}
