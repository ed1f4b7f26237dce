package obstat

// Approve returns the decision of a call that asked and that a human, or what a
// human said before, has approved; note says who and how. Any other decision is
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

// Refuse returns the decision of a call that somebody, or something that went
// wrong, refused; note says who and why, for the model. Of a call that asked, the
// reason goes on to say why it did.
func (d Decision) Refuse(note string) Decision {
	switch {
	case d.Verdict != Ask:
	case d.Note != "":
		note = d.Note + "; " + note
	case d.Rule == nil && len(d.Faults) == 0:
		note = d.unsettled() + "; " + note
	}
	d.Verdict, d.Safety, d.Stage, d.Note, d.Offers, d.Input = Deny, false, StageApproval, note, nil, nil
	return d
}

// StageApproval is the stage of a decision that was made after the policy
// asked.
const StageApproval = "approval"
