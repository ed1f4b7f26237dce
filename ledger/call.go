package ledger

import (
	"encoding/json"
	"errors"
	"slices"

	"github.com/obstat/obstat"
)

// Circumstances are the detail of a decision: the parts of the call that have no
// field of their own in the record, and the policy's verdict before a person was
// asked.
// Together with the record's World they make the decision repeatable.
type Circumstances struct {
	// Said is the policy's own verdict; the record's is the outcome.
	Said obstat.Verdict `json:"said"`
	// By is the kind of thing that settled the call; its sentence is the record's reason.
	By obstat.ByKind `json:"by"`
	// InMode is the policy's mode that the call was decided in, where it names none itself.
	InMode   obstat.Mode `json:"in_mode,omitempty"`
	Subjects []string    `json:"subjects,omitempty"`
	Roots    []string    `json:"roots,omitempty"`
	Project  string      `json:"project,omitempty"`
	Repeat   int         `json:"repeat,omitempty"`
	// Marks of the session, such as `read secrets`, once the call has run.
	Marks []string `json:"marks,omitempty"`
	// Given is the input that a human or the policy put in place of the call's,
	// which is the record's; masked as well.
	Given json.RawMessage `json:"given,omitempty"`
	// Partial says why the call cannot be decided again exactly.
	Partial string `json:"partial,omitempty"`
	// Suggested are the rules that the agent showed with its own prompt, in its own
	// notation, such as `Bash(make *)`: a person may have chosen one of them there.
	Suggested []string `json:"suggested,omitempty"`

	// call has the further keys: one for each of [obstat.Circumstances] that has a key.
	call *obstat.Call
}

// ErrNoCall is the error of a record that is not about a call.
var ErrNoCall = errors.New("the record is not a decision about a call")

// Replayable returns the call that the record is a decision about, and its
// circumstances.
func (r *Record) Replayable() (*obstat.Call, *Circumstances, error) {
	if r.Kind != Decision || r.Tool == "" {
		return nil, nil, ErrNoCall
	}
	var c Circumstances
	if len(r.Detail) > 0 {
		if err := json.Unmarshal(r.Detail, &c); err != nil {
			return nil, nil, err
		}
	} else {
		v, err := obstat.ParseVerdict(r.Verdict)
		if err != nil {
			return nil, nil, err
		}
		c = Circumstances{Said: v, Partial: "the circumstances of the call were not written down"}
	}
	if slices.ContainsFunc(r.Masked, func(m Masked) bool { return m.Field == "" || m.Field == "detail" }) && c.Partial == "" {
		c.Partial = "secrets were masked"
	}
	call := &obstat.Call{Tool: r.Tool, Input: r.Input, Subjects: c.Subjects, Agent: r.Agent, Session: r.Session,
		User: r.User, Dir: r.Dir, Roots: c.Roots, Project: c.Project, Repeat: c.Repeat}
	return call, &c, restore(call, r.Detail)
}

// restore gives a call the circumstances that a detail records.
func restore(call *obstat.Call, detail []byte) error {
	var keys map[string]json.RawMessage
	if len(detail) == 0 {
		return nil
	}
	if err := json.Unmarshal(detail, &keys); err != nil {
		return err
	}
	for at := range obstat.Circumstances() {
		raw, ok := keys[at.Key]
		if !ok || at.Key == "" {
			continue
		}
		values := make([]string, 1)
		into := any(&values[0])
		if at.List {
			into = &values
		}
		if err := json.Unmarshal(raw, into); err != nil {
			return err
		}
		at.Set(call, values...)
	}
	return nil
}
