package explain

import (
	"encoding/json"

	"github.com/obstat/obstat"
)

// A Decision is the JSON form of an answer.
type Decision struct {
	Tool    string          `json:"tool"`
	Verdict obstat.Verdict  `json:"verdict"`
	Safety  bool            `json:"safety,omitempty"`
	Mode    obstat.Mode     `json:"mode"`
	Stage   string          `json:"stage"`
	Rule    *Rule           `json:"rule,omitempty"`
	Part    string          `json:"part,omitempty"`
	Note    string          `json:"note,omitempty"`
	Reason  string          `json:"reason"`
	Input   json.RawMessage `json:"input,omitempty"`
	Offers  []Offer         `json:"offers,omitempty"`
	Faults  []obstat.Fault  `json:"faults,omitempty"`
}

// A Rule is the JSON form of a rule: as its user wrote it, and where.
type Rule struct {
	ID      string         `json:"id,omitempty"`
	Text    string         `json:"text"`
	Verdict obstat.Verdict `json:"verdict"`
	Layer   string         `json:"layer,omitempty"`
	Pos     obstat.Pos     `json:"pos,omitzero"`
}

// An Offer is the JSON form of an offer.
type Offer struct {
	Text  string `json:"text"`
	List  string `json:"list,omitempty"`
	Scope string `json:"scope,omitempty"`
}

// NewDecision returns d's JSON form.
func NewDecision(d *obstat.Decision) Decision {
	out := Decision{Tool: d.Tool, Verdict: d.Verdict, Safety: d.Safety, Mode: d.Mode, Stage: d.Stage, Rule: NewRule(d.Rule),
		Part: d.Part, Note: d.Note, Reason: d.Reason(), Input: d.Input, Faults: d.Faults}
	for i := range d.Offers {
		o := &d.Offers[i]
		out.Offers = append(out.Offers, Offer{offerText(o), o.List, o.Scope})
	}
	return out
}

// NewRule returns r's JSON form, nil for no rule.
func NewRule(r *obstat.Rule) *Rule {
	if r == nil {
		return nil
	}
	return &Rule{r.ID, r.String(), r.Verdict, r.Layer, r.Pos}
}

func offerText(o *obstat.Offer) string {
	if o.Text != "" {
		return o.Text
	}
	return o.Rule.String()
}
