package client

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/ledger"
	"github.com/obstat/obstat/paths"
)

// AnyAgent in [TokenRequest].Agent makes a token for all agents of a machine.
const AnyAgent = "*"

// A TokenRequest makes a token.
type TokenRequest struct {
	Kind  string   `json:"kind"` // agent or person
	Name  string   `json:"name"`
	Roles []string `json:"roles,omitempty"` // of a person
	// Agent, Workspace and Dialect bound an agent's token; empty:
	// any.
	Agent     string `json:"agent,omitempty"`
	Workspace string `json:"workspace,omitempty"`
	Dialect   string `json:"dialect,omitempty"`
	User      string `json:"user,omitempty"` // that the agent works for
	// Vouches makes the token of a machine one whose word on users' roles counts: a gateway that has
	// logged its users in, such as an AuthZEN enforcement point.
	Vouches bool `json:"vouches,omitempty"`
	// Days is how long the token holds; zero is 90.
	Days int `json:"days,omitempty"`
}

// A Token is a token as the server keeps it: without the secret.
type Token struct {
	ID        string    `json:"id"`
	Kind      string    `json:"kind"`
	Name      string    `json:"name"`
	Roles     []string  `json:"roles,omitempty"`
	Agent     string    `json:"agent,omitempty"`
	Workspace string    `json:"workspace,omitempty"`
	Dialect   string    `json:"dialect,omitempty"`
	User      string    `json:"user,omitempty"`
	Vouches   bool      `json:"vouches,omitempty"` // its word on users' roles counts
	By        string    `json:"by"`
	Created   time.Time `json:"created"`
	Expires   time.Time `json:"expires"`
	// Secret is the token itself, which only the answer that made it has.
	Secret string `json:"secret,omitempty"`
}

// Tokens is a list of tokens.
type Tokens struct {
	Tokens []Token `json:"tokens"`
}

// A PolicyFile is one file of a policy.
type PolicyFile struct {
	Name  string `json:"name"`
	Layer string `json:"layer,omitempty"`
	Text  string `json:"text"`
}

// A PolicyUpload is a policy to be kept, or only validated.
type PolicyUpload struct {
	Files   []PolicyFile      `json:"files"`
	Dialect string            `json:"dialect,omitempty"` // "" is told by name and shape
	Options map[string]string `json:"options,omitempty"`
	Note    string            `json:"note,omitempty"`
}

// A PolicyVersion is a policy that the server keeps. Versions count from one and
// never change.
type PolicyVersion struct {
	Version int               `json:"version"`
	Digest  string            `json:"digest"`
	Dialect string            `json:"dialect"`
	Files   []PolicyFile      `json:"files,omitempty"`
	Options map[string]string `json:"options,omitempty"`
	By      string            `json:"by"`
	Time    time.Time         `json:"time"`
	Note    string            `json:"note,omitempty"`
	Active  bool              `json:"active"`
	// Warnings are problems that do not keep the policy from being used.
	Warnings obstat.Errors `json:"warnings,omitempty"`
}

// Policies is a list of the versions, newest first, without their files.
type Policies struct {
	Policies []PolicyVersion `json:"policies"`
	Active   int             `json:"active"` // zero: the files that the server was started with
	Files    []string        `json:"files,omitempty"`
	// Before is the version that a rollback puts in force; nil: there is none.
	Before *int `json:"before,omitempty"`
	// Proposal waits for others to agree.
	Proposal *Proposal `json:"proposal,omitempty"`
}

// A Flip is a call that another policy decides otherwise.
type Flip struct {
	Tool   string    `json:"tool"`
	Text   string    `json:"text"`
	Was    string    `json:"was"`
	Now    string    `json:"now"`
	Rule   string    `json:"rule,omitempty"`
	Reason string    `json:"reason"`
	Count  int       `json:"count"`
	Last   time.Time `json:"last"`
}

// A Witness is a call made up to show how two policies differ.
type Witness struct {
	Tool  string `json:"tool"`
	Text  string `json:"text"`
	Mode  string `json:"mode,omitempty"` // that the agent is in
	Was   string `json:"was"`
	Now   string `json:"now"`
	WasBy string `json:"was_by"` // why
	NowBy string `json:"now_by"`
	// Looser: the version lets through more than is let through now. Where Was is deny, it lifts
	// a denial.
	Looser bool `json:"looser,omitempty"`
}

// A PolicyDiff compares a version with the policy in force.
type PolicyDiff struct {
	From    int       `json:"from"`
	To      int       `json:"to"`
	Same    bool      `json:"same"`          // equal digests: they decide alike
	Witness []Witness `json:"witness"`       // looser ones first
	Cut     bool      `json:"cut,omitempty"` // the search was ended early: there may be more
	Calls   int       `json:"calls"`         // of the last days, decided again
	// Distinct is how many distinct calls those are: the most frequent ones. Of is how many calls there were.
	Distinct int            `json:"distinct,omitempty"`
	Of       int            `json:"of,omitempty"`
	Flipped  map[string]int `json:"flipped"`
	Flips    []Flip         `json:"flips"`
}

// Looser returns the witnesses of calls that the version lets through and the policy in force does
// not.
func (d *PolicyDiff) Looser() (out []Witness) {
	for _, w := range d.Witness {
		if w.Looser {
			out = append(out, w)
		}
	}
	return out
}

// An Activation puts a version of the policy in force, or the one that was before.
type Activation struct {
	// Instead is the version in force that the person has compared with, zero for the files: where
	// another was put in force since, nothing changes and the answer is 409.
	Instead int `json:"instead"`
	// Reason is written down with it.
	Reason string `json:"reason"`
	// Loosens says that it is meant to let calls through that are denied or asked now. A version
	// that does so is not put in force without it.
	Loosens bool `json:"loosens,omitempty"`
}

// An Activated is the result of an [Activation].
type Activated struct {
	Version int  `json:"version"`
	InForce bool `json:"in_force"`
	// Proposal waits for others, where the roster wants several people.
	Proposal *Proposal `json:"proposal,omitempty"`
}

// A Proposal is a version that waits for more administrators to agree.
type Proposal struct {
	Version int       `json:"version"`
	Instead int       `json:"instead"` // the version that is in force
	Back    bool      `json:"back,omitempty"`
	Reason  string    `json:"reason"`
	By      []string  `json:"by"`     // those who have agreed
	Needed  int       `json:"needed"` // how many have to
	Time    time.Time `json:"time"`
}

// Verified says whether the ledger holds.
type Verified struct {
	OK      bool   `json:"ok"`
	Records uint64 `json:"records"`
	Head    string `json:"head,omitempty"`
	Problem string `json:"problem,omitempty"`
	// Foreign counts the records that machines have sent, by the names of their tokens: what they
	// say is the machines' word.
	Foreign map[string]uint64 `json:"foreign,omitempty"`
}

// A Bundle is the policy in force as a server distributes it.
type Bundle struct {
	Policy    string `json:"policy"`    // a NumberedPolicy as JSON, byte for byte as it was signed
	Signature string `json:"signature"` // Ed25519, base64
	Key       string `json:"key"`       // public, base64
	// For is the bound of the caller's token, so that a machine sends the records that are
	// its token's to send.
	For Bound `json:"for,omitzero"`
}

// Bound limits an agent's token; "" is anything.
type Bound struct {
	Agent     string `json:"agent,omitempty"`
	User      string `json:"user,omitempty"`
	Workspace string `json:"workspace,omitempty"`
}

// Sends says why a record is not one that a machine with the token may send; nil: it may. A token of
// one agent is for that agent's calls: answers, grants and accepted policies beside it are the
// word of the machine, whose token is for all its agents.
func (b *Bound) Sends(r *ledger.Record) error {
	own := r.Kind == ledger.Decision || r.Kind == ledger.Ask || r.Kind == ledger.Outcome
	switch {
	case b.Agent != "" && !own:
		return fmt.Errorf("the token is for the agent %q, and a record of kind %q is not an agent's to write", b.Agent, r.Kind)
	case b.Agent != "" && r.Agent != b.Agent:
		return fmt.Errorf("the token is for the agent %q, and the record is of %q", b.Agent, r.Agent)
	case b.User != "" && r.User != b.User && (own || r.User != ""):
		return fmt.Errorf("the token is for the user %q, and the record is of %q", b.User, r.User)
	case b.Workspace != "" && (own || r.Dir != "") && (r.Dir == "" || !paths.Inside(b.Workspace, r.Dir)):
		return fmt.Errorf("the token is for the workspace %q, and the record is of %q", b.Workspace, r.Dir)
	}
	return nil
}

// A NumberedPolicy is a policy in the order of those that a server has distributed: each that
// differs from the one before has a higher number, also after a rollback, so that a machine can
// tell an old one that is played back to it.
type NumberedPolicy struct {
	Number uint64 `json:"number"`
	PolicyVersion
}

// Line returns a record as the machine sends it: sealed, or its place in the chain alone where it
// is not the token's to send, so that the server can tell that none is left out.
func (b *Bound) Line(r *ledger.Record) (string, error) {
	line, err := r.Encode()
	if b.Sends(r) != nil {
		line, err = json.Marshal(Place{r.Seq, r.Prev, r.Hash})
	}
	return string(line), err
}

// A Place is where a record is in a chain.
type Place struct {
	Seq  uint64      `json:"seq"`
	Prev ledger.Hash `json:"prev"`
	Hash ledger.Hash `json:"hash"`
}

// Records are sealed records of a machine's own ledger, one line each, in order; of those that are
// not the token's to send, the [Place].
type Records struct {
	Lines []string `json:"lines"`
}

// A Session is a person's login with a browser.
type Session struct {
	ID      string    `json:"id"`
	Person  string    `json:"person"`
	Roles   []string  `json:"roles,omitempty"`
	Login   string    `json:"login,omitempty"` // the identity that it began with
	Expires time.Time `json:"expires"`
}

// Sessions are the logins that are open.
type Sessions struct {
	Sessions []Session `json:"sessions"`
}

// Ended says how many logins were ended.
type Ended struct {
	Sessions int `json:"sessions"`
}

// A Notification is a message about requests that wait, which could not be delivered.
type Notification struct {
	To       string    `json:"to"`
	Requests []string  `json:"requests"`
	Error    string    `json:"error"`
	Time     time.Time `json:"time"`
	Until    time.Time `json:"until"` // it is listed until then
}

// Undelivered are the notifications that could not be delivered.
type Undelivered struct {
	Notifications []Notification `json:"notifications"`
}
