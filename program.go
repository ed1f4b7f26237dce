package obstat

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"slices"
)

// A Program is the meaning of a configuration as plain, printable data. Two Programs
// with equal digests decide equally.
type Program struct {
	Dialect   string
	Mode      Mode // in force when a call names none
	Pipelines map[Mode]Pipeline
	Rules     map[string][]Rule // named lists
	// View names how calls become questions; "" is the built-in view, which
	// matches rules against the input's fields.
	View string
	// Faces name the tools whose rules judge a command's effects on files and
	// hosts, for the floor; an effect without a face is not judged by rules.
	Faces map[string]Face
	// NoFloor turns the floor off: Compile adds none. See [Program.WithFloor].
	NoFloor bool
	// Params are the parameters of the dialect's view and checks, as JSON; the
	// engine hands them on unread.
	Params json.RawMessage
}

// ListLimit names the rules that bound how many calls there are: `200 calls per session`. No stage looks at them,
// since a decision knows one call; a gate counts.
const ListLimit = "limit"

// A Face is how the rules of a dialect speak of an effect: the tool that would
// have it, and the field that its target stands in.
type Face struct {
	Tool  string `json:"tool"`
	Field string `json:"field"`
}

// The effects that can have a face.
const (
	FaceRead    = "read"
	FaceWrite   = "write"
	FaceDelete  = "delete"
	FaceConnect = "connect"
)

// A Pipeline is one mode's way through the stages.
type Pipeline struct {
	Stages  []Stage // asked in order until one settles the question
	Default Verdict
	Amend   []Stage // run on the settled call; the outcome is the stricter of the two
}

// A Stage is one step of a pipeline: a [Match], a [Check], a [When], a [Mark] or a
// [Floor]. The sum is closed.
type Stage interface {
	// StageName returns the name that explanations use.
	StageName() string
	stage()
}

// A Pick says which of the rules that match a question decides.
type Pick uint8

// The picks.
const (
	First     Pick = iota // the first in the list
	Last                  // the last in the list
	Strictest             // the strictest, the first of these in the list
)

var pickNames = [...]string{"first", "last", "strictest"}

// String returns the pick's name.
func (p Pick) String() string { return pickNames[min(int(p), len(pickNames)-1)] }

// A Match puts the question to a list of rules.
type Match struct {
	Name  string
	Rules string // which list
	Pick  Pick
	// Settle says which verdicts of the picked rule settle the question; with
	// any other the stage passes. Zero: all settle.
	Settle Verdicts
	// AskDenies makes an ask settle as deny, for modes in which no human answers.
	AskDenies bool
	// Except names a filter of the Library: the rules that it picks out are not
	// in this stage's list. "" leaves none out.
	Except string
}

// Outcomes is a set of things that a check can say.
type Outcomes uint8

// The outcomes of a check.
const (
	PlainAsk  Outcomes = 1 << iota // an ask that an allow rule may settle
	SafetyAsk                      // an ask that no allow rule silences
	CheckDeny
	CheckAllow
)

// A Check asks a named piece of code about the call's arguments.
type Check struct {
	Name  string
	Check string // which check; "" is Name
	// Pass are the outcomes on which the stage passes; all others settle.
	Pass Outcomes
	// AskDenies makes an ask settle as deny.
	AskDenies bool
	// Unless names stages; in an amendment, a call that one of them settled is
	// not checked.
	Unless []string
}

// A When settles the question by a yes-or-no property of the call.
type When struct {
	Name string
	// Is names a predicate that code answers; "" asks whether the tool is one
	// of Tools.
	Is    string
	Tools []string
	// Then settles the question where the answer is yes; Else, if not nil,
	// where it is no.
	Then Verdict
	Else *Verdict
}

// A Mark settles nothing. It notes the IDs of the rules that match, in
// [Decision.Marks], for later calls of the session: once a call was marked
// `read secrets`, rules with the condition `call.after` on that count.
type Mark struct {
	Name  string
	Rules string // which list
}

// A Floor is the amendment that holds in every dialect: each command a call
// would run, each file it would write, is put to the same rules, and what
// cannot be seen is not allowed by a narrow rule. It only tightens.
type Floor struct{ Name string }

// StageName returns the stage's name.
func (s Match) StageName() string { return s.Name }

// StageName returns the stage's name.
func (s Check) StageName() string { return s.Name }

// StageName returns the stage's name.
func (s When) StageName() string { return s.Name }

// StageName returns the stage's name.
func (s Mark) StageName() string { return s.Name }

// StageName returns the stage's name.
func (s Floor) StageName() string {
	if s.Name == "" {
		return "floor"
	}
	return s.Name
}

func (Match) stage() {}
func (Check) stage() {}
func (When) stage()  {}
func (Mark) stage()  {}
func (Floor) stage() {}

// Digest returns the hash of the Program's meaning: its stable JSON, with the
// floor that Compile would add and without positions.
func (p *Program) Digest() string {
	q := *p
	q.Pipelines = maps.Clone(p.Pipelines)
	q.addFloor()
	b, err := q.marshal(false)
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(b)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// HasFloor reports whether the policy that Compile makes of p has the floor.
func (p *Program) HasFloor() bool { return !p.NoFloor }

// addFloor gives each pipeline without a Floor one as its last amendment, unless
// p turns the floor off. The map of pipelines must be p's own.
func (p *Program) addFloor() {
	for m, pl := range p.Pipelines {
		if !p.NoFloor && !slices.ContainsFunc(pl.Amend, isFloor) {
			pl.Amend = append(slices.Clip(pl.Amend), Floor{})
			p.Pipelines[m] = pl
		}
	}
}

func isFloor(s Stage) bool {
	_, ok := s.(Floor)
	return ok
}

// WithFloor returns a copy of p whose every pipeline has the floor as its last
// amendment, or, off, one that has none and says so.
func (p *Program) WithFloor(on bool) *Program {
	q := *p
	q.NoFloor = !on
	q.Pipelines = make(map[Mode]Pipeline, len(p.Pipelines))
	for m, pl := range p.Pipelines {
		var amend []Stage
		for _, s := range pl.Amend {
			if !isFloor(s) {
				amend = append(amend, s)
			}
		}
		if on {
			amend = append(amend, Floor{})
		}
		pl.Amend = amend
		q.Pipelines[m] = pl
	}
	return &q
}
