package client

import (
	"time"

	"github.com/obstat/obstat"
)

// AnyAgent in [TokenRequest].Agent makes a token for all agents of a machine.
const AnyAgent = "*"

// A TokenRequest makes a token.
type TokenRequest struct {
	Kind  string   `json:"kind"` // agent or person
	Name  string   `json:"name"`
	Roles []string `json:"roles,omitempty"` // of a person
	// Agent, Workspace and Dialect bound what an agent's token is good for; empty:
	// any.
	Agent     string `json:"agent,omitempty"`
	Workspace string `json:"workspace,omitempty"`
	Dialect   string `json:"dialect,omitempty"`
	User      string `json:"user,omitempty"` // that the agent works for
	// Days is how long the token holds; zero is 90.
	Days int `json:"days,omitempty"`
}

// A Token is what the server keeps of a token: all but the secret.
type Token struct {
	ID        string    `json:"id"`
	Kind      string    `json:"kind"`
	Name      string    `json:"name"`
	Roles     []string  `json:"roles,omitempty"`
	Agent     string    `json:"agent,omitempty"`
	Workspace string    `json:"workspace,omitempty"`
	Dialect   string    `json:"dialect,omitempty"`
	User      string    `json:"user,omitempty"`
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
}

// A PolicyDiff compares a version with the policy in force.
type PolicyDiff struct {
	From    int            `json:"from"`
	To      int            `json:"to"`
	Same    bool           `json:"same"` // equal digests: they decide alike
	Witness []Witness      `json:"witness"`
	Calls   int            `json:"calls"` // of the last days, decided again
	Flipped map[string]int `json:"flipped"`
	Flips   []Flip         `json:"flips"`
}

// Verified says whether the ledger holds.
type Verified struct {
	OK      bool   `json:"ok"`
	Records uint64 `json:"records"`
	Head    string `json:"head,omitempty"`
	Problem string `json:"problem,omitempty"`
}

// A Bundle is the policy in force as a server distributes it.
type Bundle struct {
	Policy    string `json:"policy"`    // a NumberedPolicy as JSON, byte for byte what was signed
	Signature string `json:"signature"` // Ed25519, base64
	Key       string `json:"key"`       // public, base64
}

// A NumberedPolicy is a policy in the order of those that a server has distributed: each that
// differs from the one before has a higher number, also after a rollback, so that a machine can
// tell an old one that is played back to it.
type NumberedPolicy struct {
	Number uint64 `json:"number"`
	PolicyVersion
}

// Records are sealed records of a machine's own ledger, one line each, in order.
type Records struct {
	Lines []string `json:"lines"`
}
