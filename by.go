package obstat

import "fmt"

// A ByKind is a kind of thing that settles a call.
type ByKind uint8

// The kinds. The zero value is a call that no rule spoke about.
const (
	ByDefault  ByKind = iota // no rule is about the call
	ByRule                   // a rule of the policy
	ByCheck                  // a check of the arguments
	ByMode                   // the mode, by a question about the call: "read-only? no"
	ByFloor                  // the floor: a part of the call is stricter than the whole, or cannot be seen
	ByGuard                  // self-protection, or a policy that was not accepted
	ByGrant                  // an earlier answer that still holds
	ByPerson                 // a person answered
	ByTimeout                // no person answered in time, or an answer was not used in time
	ByFault                  // something went wrong
	ByConfined               // the kernel holds the call to what the policy allows
)

var byNames = [...]string{"default", "rule", "check", "mode", "floor", "guard", "grant", "person", "time-out", "fault",
	"confined"}

// String returns the kind's name: "time-out".
func (k ByKind) String() string { return byNames[k] }

// MarshalText returns the kind's name.
func (k ByKind) MarshalText() ([]byte, error) {
	if int(k) >= len(byNames) {
		return nil, fmt.Errorf("there is no kind %d of what settles a call", k)
	}
	return []byte(byNames[k]), nil
}

// UnmarshalText reads a kind's name.
func (k *ByKind) UnmarshalText(text []byte) error {
	for i, name := range byNames {
		if name == string(text) {
			*k = ByKind(i)
			return nil
		}
	}
	return fmt.Errorf("%q settles no call", text)
}

// By names the thing that settled a call. Faces choose by it; sentences are made from it and never read.
type By struct {
	Kind ByKind `json:"kind"`
	// Who answered, where a person did or a grant remembers one: "ann and ben".
	Who string `json:"who,omitempty"`
	// Note tells how it was settled, for people and for the model: "refused by ann: not today".
	Note string `json:"note,omitempty"`
}

// Person reports whether a person stands behind the answer, now or by an earlier one.
func (b By) Person() bool { return b.Kind == ByPerson || b.Kind == ByGrant }

// by returns the kind of thing that settled an outcome.
func (o *outcome) by() ByKind {
	switch {
	case o.faulted:
		return ByFault
	case o.stage == stageFloor:
		return ByFloor
	case o.rule != nil:
		return ByRule
	case o.stage == stageDefault:
		return ByDefault
	case o.said != nil && o.said.mode:
		return ByMode
	}
	return ByCheck
}
