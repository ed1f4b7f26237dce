package obstat

// Approve returns the decision of a call that asked and was approved, by a human
// or by a grant that a human gave before; note says who and how. Any other decision is
// returned as it is: nothing lifts a denial.
func (d Decision) Approve(note string) Decision {
	if d.Verdict != Ask || len(d.Faults) > 0 {
		return d
	}
	o := outcome{verdict: Allow, stage: StageApproval, rule: d.Rule, said: &remark{note: note, part: d.Part, input: d.Input}}
	var out Decision
	settle(&o, &Call{Tool: d.Tool}, d.Mode, &out)
	return out
}

// Refuse returns the decision of a call that a human refused, or that was never
// answered because of a time-out or an error; note says which, for the model. Of a call that asked, the
// reason goes on to say why it did.
func (d Decision) Refuse(note string) Decision {
	switch {
	case d.Verdict != Ask:
	case d.Note != "":
		note = d.Note + "; " + note
	case d.Rule == nil && len(d.Faults) == 0:
		note = d.unsettled() + "; " + note
	}
	d.Verdict, d.Safety, d.Stage, d.Note, d.Offers, d.Input, d.Over = Deny, false, StageApproval, note, nil, nil, 0
	return d
}

// StageApproval is the stage of a decision that was made after the policy
// asked.
const StageApproval = "approval"
