package obstat

// Approve returns the decision of a call that asked and was approved, by a person or by a grant
// that one gave before. Any other decision is returned as it is: nothing lifts a denial.
func (d Decision) Approve(by By) Decision {
	if d.Verdict != Ask || len(d.Faults) > 0 {
		return d
	}
	said := &remark{note: by.Note, part: d.Part, input: d.Input}
	o := outcome{verdict: Allow, stage: StageApproval, rule: d.Rule, said: said}
	var out Decision
	settle(&o, &Call{Tool: d.Tool}, d.Mode, &out)
	out.By = by
	return out
}

// Refuse returns the decision of a call that a person refused, or that was not answered because
// of a time-out or a fault. Of a call that asked, the reason goes on to say why it did.
func (d Decision) Refuse(by By) Decision {
	note := by.Note
	switch {
	case d.Verdict != Ask:
	case d.Note != "":
		note = d.Note + "; " + note
	case d.Rule == nil && len(d.Faults) == 0:
		note = d.unsettled() + "; " + note
	}
	d.Verdict, d.Safety, d.Stage, d.By, d.Note, d.Offers, d.Input = Deny, false, StageApproval, by, note, nil, nil
	d.Over, d.OnlyUnknown, d.Partly, d.Confined = 0, false, false, nil
	return d
}

// StageApproval is the stage of a decision that was made after the policy
// asked.
const StageApproval = "approval"
