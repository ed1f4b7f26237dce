package obstat

import (
	"encoding/json"
	"strings"
)

// A Decision answers one call.
type Decision struct {
	Verdict Verdict
	// Safety marks an ask that no allow rule can silence.
	Safety bool
	// OnlyUnknown marks an ask that has no other reason than that part of the call cannot be
	// known: a confined run need not ask.
	OnlyUnknown bool
	// Partly marks an OnlyUnknown ask about many files of which a rule is about some, `grep -r x .`: a run that does
	// not keep every one of these from the command has to ask.
	Partly bool
	// Stage is the stage that settled the call, "default" when none did.
	Stage string
	// Rule decided, if a rule did; it belongs to the policy and is not to be
	// changed.
	Rule *Rule
	// By names the thing that settled the call.
	By By
	// Note says why in words where a check, the floor or a fault spoke.
	Note string
	// Part is the part of the call that decided, where that is not the whole:
	// one command of several, a redirect's target.
	Part string
	// Over are the judges of the agent's own that the call is allowed over: those that every rule
	// which allowed a part of it outranks.
	Over Over
	// Input, if not nil, replaces the call's input.
	Input json.RawMessage
	// Confined says inside which limits the call is allowed, nil where it is not confined: then Input
	// is the command that holds it.
	Confined *Confined
	// Offers are rules that would settle calls like this one, proposed with an
	// ask.
	Offers []Offer
	// Faults are things that went wrong; a decision with a fault never allows.
	Faults []Fault
	// Marks are what the session is known to have done, or may have done, once this
	// call has run; see [Mark].
	Marks []string
	Mode  Mode
	// Tool is the call's tool and About the call in short ([Call.Text]), both for Reason.
	// [Policy.Decide] leaves About empty; gates fill it in.
	Tool, About string
}

// A Fault is something that went wrong while deciding.
type Fault struct {
	Msg  string `json:"msg"`
	Rule *Rule  `json:"-"`
	Pos  Pos    `json:"pos,omitzero"`
}

// An Offer is a rule that would settle calls like this one.
type Offer struct {
	Rule  Rule
	List  string // the list of the Program it would join
	Scope string // "once", "session", "always", or the dialect's word
	// Text is the rule in the dialect's own notation.
	Text string
}

// Reason says in one sentence why the call was answered so, for the human and
// for the model. It is never empty.
func (d *Decision) Reason() string {
	var b strings.Builder
	for _, f := range d.Faults {
		b.WriteString(f.Msg + "; ")
	}
	switch {
	case d.Rule != nil:
		b.WriteString(d.Rule.Verdict.String() + " rule " + d.Rule.String())
		if d.Rule.Pos.IsValid() {
			b.WriteString(" (" + d.Rule.Pos.String() + ")")
		}
		if d.Rule.Reason != "" {
			b.WriteString(": " + d.Rule.Reason)
		}
	case d.Note == "" && len(d.Faults) == 0:
		b.WriteString(d.unsettled())
	case d.Part == "" && d.About != "" && d.By.Kind == ByMode:
		b.WriteString(d.what())
	}
	switch {
	case d.Part != "" && b.Len() > 0:
		b.WriteString(", on " + d.Part)
	case d.Part != "":
		b.WriteString(d.Part)
	}
	if d.Note != "" {
		if b.Len() > 0 && !strings.HasSuffix(b.String(), "; ") {
			b.WriteString(": ")
		}
		b.WriteString(d.Note)
	}
	return strings.TrimSuffix(b.String(), "; ")
}

// unsettled says that no rule is about the call, and how the mode answers then.
func (d *Decision) unsettled() string {
	s := d.what() + ": no rule is about it, and "
	if d.Mode == "" {
		does := [...]string{"what no rule allows is denied", "it is asked about then", "what no rule stops is allowed"}
		return s + does[min(d.Verdict, Allow)]
	}
	does := [...]string{" denies what no rule allows", " asks then", " allows what no rule stops"}
	return s + "mode " + string(d.Mode) + does[min(d.Verdict, Allow)]
}

// maxAbout bounds how much of a call a reason repeats.
const maxAbout = 120

// what names the call: `Bash npm test`.
func (d *Decision) what() string {
	about := d.About
	if len(about) > maxAbout {
		about = strings.ToValidUTF8(about[:maxAbout], "") + "…"
	}
	return strings.TrimSpace(d.Tool + " " + about)
}
