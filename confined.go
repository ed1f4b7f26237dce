package obstat

import "encoding/json"

// StageConfined is the stage of a decision that allows a call inside limits which the kernel holds.
const StageConfined = "confined"

// Confined says inside which limits a call is allowed.
type Confined struct {
	Level string `json:"level"` // "full" or "files"
	// Brief says in a few words which files it may change and which hosts it reaches, and names gaps.
	Brief string `json:"brief,omitempty"`
	// Profile is the digest of the limits, and Says has them as sentences.
	Profile string   `json:"profile"`
	Says    []string `json:"says,omitempty"`
	// NotEnforced are parts of the policy that do not hold inside.
	NotEnforced []string `json:"not_enforced,omitempty"`
}

// Confine returns the decision of a call that runs confined, by the changed input, in place of one
// that asks only because part of the call cannot be known. A call that is allowed anyway is
// confined as well. Any other decision is returned as it is. A safety ask about what cannot be seen, as of a script
// that speaks of the agent's settings, is one of them: the run cannot write there.
func (d Decision) Confine(c *Confined, input json.RawMessage) Decision {
	if d.Verdict == Allow {
		d.Confined, d.Input = c, input
		return d
	}
	if d.Verdict != Ask || !d.OnlyUnknown || len(d.Faults) > 0 || d.Input != nil {
		return d
	}
	note := "runs confined at level " + c.Level + " to what the policy allows"
	if c.Brief != "" {
		note += ": " + c.Brief
	}
	o := outcome{verdict: Allow, stage: StageConfined, said: &remark{note: note, part: d.Part, input: input}}
	var out Decision
	settle(&o, &Call{Tool: d.Tool}, d.Mode, &out)
	out.By, out.Confined, out.Marks, out.About = By{Kind: ByConfined}, c, d.Marks, d.About
	return out
}
