// Package approval is the broker between a call that asks and the humans that
// answer: requests, answers, grants, roles and expiry.
//
// It owns the rules of answering: the first answer wins, exactly once; which
// people may answer; which grant an answer leaves. It does not decide calls (package
// obstat does), does not keep anything itself (a [Store] does) and does not
// show anything to anybody.
package approval

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/obstat/obstat"
)

// A Request is an ask put to humans. Once made, only its State and its Answers
// change, and it is [Request.Spent] once it is decided.
type Request struct {
	ID     string      `json:"id"`
	Call   obstat.Call `json:"call"`
	Digest string      `json:"digest"` // of tool and input: an answer holds for these bytes
	// About is the call in a line, without secrets; it stays when the request is
	// spent.
	About   string     `json:"about,omitempty"`
	Effects []Effect   `json:"effects,omitempty"`
	Reason  string     `json:"reason"`
	Rule    string     `json:"rule,omitempty"`
	Pos     obstat.Pos `json:"pos,omitzero"`
	Part    string     `json:"part,omitempty"` // the part of the command that asks
	Safety  bool       `json:"safety,omitempty"`
	Offers  []Offer    `json:"offers,omitempty"`
	Policy  string     `json:"policy"` // digest
	Created time.Time  `json:"created"`
	Expires time.Time  `json:"expires"`
	Who     Who        `json:"who,omitzero"`
	State   State      `json:"state"`
	Answers []Answer   `json:"answers,omitempty"` // so far; more than one where several must agree
}

// An Effect is one thing that the call would do.
type Effect struct {
	Kind   string `json:"kind"`
	Target string `json:"target,omitempty"` // a path, a host or a program
	Detail string `json:"detail,omitempty"`
}

// An Offer is a rule proposed with a request, in the dialect's notation, and
// the other calls that it would allow.
type Offer struct {
	Text string          `json:"text"`
	Rule json.RawMessage `json:"rule"`
	List string          `json:"list"`
	// And are rules that have to be accepted with it: only together do they settle
	// the call.
	And  []Offer  `json:"and,omitempty"`
	Also []string `json:"also,omitempty"` // other recent calls it would allow
}

// Rules returns the offer's own rule and those that go with it.
func (o *Offer) Rules() []Offer {
	own := *o
	own.And, own.Also = nil, nil
	return append([]Offer{own}, o.And...)
}

// Who names the people that may answer.
type Who struct {
	Roles     []string `json:"roles,omitempty"`      // one of these; none, and no Users: anybody
	Users     []string `json:"users,omitempty"`      // these people, whatever their roles
	NotCaller bool     `json:"not_caller,omitempty"` // not the person that started the agent
	Needed    int      `json:"needed,omitempty"`     // how many must agree; zero is one
}

// A State is where a request stands.
type State string

// The states of a request.
const (
	Pending  State = "pending"
	Approved State = "approved"
	Refused  State = "refused"
	Expired  State = "expired" // no answer came in time, which is not a refusal
	Canceled State = "canceled"
	Used     State = "used" // approved, and the call it was for was decided by it
)

// A Scope is the extent of an approval: one call, a session, a rule.
type Scope string

// The scopes of an approval.
const (
	Once      Scope = "once"
	Session   Scope = "session"
	Agent     Scope = "agent"
	Workspace Scope = "workspace"
	User      Scope = "user"
	Always    Scope = "always" // a rule, written to the dialect's own file
)

// An Answer is a person's answer to a request.
type Answer struct {
	By    string          `json:"by"`
	Roles []string        `json:"roles,omitempty"`
	Time  time.Time       `json:"time"`
	Allow bool            `json:"allow"`
	Scope Scope           `json:"scope,omitempty"` // of an approval
	Until time.Time       `json:"until,omitzero"`  // the grant ends then
	Offer int             `json:"offer,omitempty"` // 1 and up: which offer; with any scope but once
	More  []int           `json:"more,omitempty"`  // further offers that are accepted with Offer
	Rule  json.RawMessage `json:"rule,omitempty"`  // an edited rule instead of an offer
	Input json.RawMessage `json:"input,omitempty"` // edited arguments: decided again
	Words string          `json:"words,omitempty"` // for the model
	// All takes the session's other pending requests with it, where it refuses.
	All bool `json:"all,omitempty"`
}

// A Grant is a remembered approval. It is bound to a call's digest, or to a
// rule, and never lifts a denial.
type Grant struct {
	ID      string    `json:"id"`
	Scope   Scope     `json:"scope"`
	Key     string    `json:"key"` // session, agent, workspace or user it holds for
	Tool    string    `json:"tool"`
	Digest  string    `json:"digest,omitempty"`
	About   string    `json:"about,omitempty"` // the call that was approved, in a line without secrets
	Rules   []Offer   `json:"rules,omitempty"` // in place of Digest
	By      string    `json:"by"`
	Request string    `json:"request"`
	Created time.Time `json:"created"`
	Expires time.Time `json:"expires,omitzero"`
	Revoked time.Time `json:"revoked,omitzero"`
}

// Agreed returns the answer that counts of a settled request. Where several had
// to agree, it grants no more than all of them did: unless they said the same,
// it is for this once.
func (r *Request) Agreed() Answer {
	if len(r.Answers) == 0 {
		return Answer{}
	}
	return agreed(r.Answers)
}

func agreed(answers []Answer) Answer {
	last := answers[len(answers)-1]
	for i := range answers {
		o := &answers[i]
		if last.Allow && (o.Scope != last.Scope || o.Offer != last.Offer || !bytes.Equal(o.Rule, last.Rule) || !o.Until.Equal(last.Until)) {
			last.Scope, last.Offer, last.Rule, last.Until = Once, 0, nil, time.Time{}
			break
		}
	}
	return last
}

// InForce tells whether the grant holds at a time.
func (g *Grant) InForce(now time.Time) bool {
	return g.Revoked.IsZero() && (g.Expires.IsZero() || now.Before(g.Expires))
}

// Spent returns the request without the call's input: humans have to see that
// while it is pending, secrets included, and it is dropped afterwards. The ledger
// has it, masked.
func (r *Request) Spent() *Request {
	c := *r
	c.Call.Input, c.Call.Subjects = nil, nil
	c.Reason, c.Part, c.Effects, c.Offers = "", "", nil, nil
	c.Answers = slices.Clone(r.Answers)
	for i := range c.Answers {
		c.Answers[i].Input, c.Answers[i].Rule = nil, nil
	}
	return &c
}

// A Store keeps requests and grants for every process that shares it.
type Store interface {
	// PutRequest adds a pending request.
	PutRequest(ctx context.Context, r *Request) error
	// Requests returns the requests in a state, oldest first; "" is any.
	Requests(ctx context.Context, s State) ([]*Request, error)
	// Request returns one request, or ErrNotFound.
	Request(ctx context.Context, id string) (*Request, error)
	// Settle changes a request from pending to another state, together with the
	// grant that the answer leaves behind, if any. Exactly one caller succeeds:
	// every other gets ErrSettled and leaves nothing. A request that is not
	// approved is kept as spent.
	Settle(ctx context.Context, id string, to State, answers []Answer, grant *Grant) error
	// Use returns an approved request to the process that decides its call by it, and
	// keeps it as spent. Exactly one caller succeeds: every other gets ErrSettled.
	Use(ctx context.Context, id string) (*Request, error)
	GrantStore
}

// A GrantStore keeps grants.
type GrantStore interface {
	// Grants returns the grants that are neither expired nor revoked at a time.
	Grants(ctx context.Context, now time.Time) ([]*Grant, error)
	// Revoke ends a grant.
	Revoke(ctx context.Context, id string, now time.Time) error
}

// The errors of answering, wrapped.
var (
	ErrNotFound = errors.New("no such request")
	ErrSettled  = errors.New("the request was answered already")
	ErrNotYou   = errors.New("you may not answer this request")
	ErrBroader  = errors.New("the rule is broader than the call")
	ErrBad      = errors.New("the answer makes no sense")
)
