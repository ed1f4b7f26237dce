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

// A Request is an ask put to humans, with its state:
//
//	pending ─► approved ─► claimed ─► done
//	   │           │           └────► lapsed    its caller was not heard of again
//	   │           └────────────────► lapsed    it was not claimed in time
//	   └─► refused, expired, canceled
//
// Once made, only State, Answers and the fields after them change. It is
// [Request.Spent] once its call is decided, and stays as history.
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
	// Group is the same for requests that one answer would suit: the same tool,
	// rule and first offer.
	Group   string   `json:"group,omitempty"`
	State   State    `json:"state"`
	Answers []Answer `json:"answers,omitempty"` // so far; more than one where several must agree
	// ClaimBy is when an approval ends that is not claimed. It starts with the
	// approval, not with the request.
	ClaimBy time.Time `json:"claim_by,omitzero"`
	Claim   *Claim    `json:"claim,omitempty"`
	Outcome *Outcome  `json:"outcome,omitempty"`
	// Claimed: the call's user is the agent's word, since its token names none. For
	// [Who].NotCaller that is as good as no user.
	Claimed bool `json:"claimed,omitempty"`
	// Logged: the process that ended the request writes that down in the ledger.
	Logged bool `json:"logged,omitempty"`
	// Version counts the changes; [Store].Update compares it.
	Version int `json:"version"`
	// Changed is the store's cursor of the last change: later changes have larger
	// ones. It is no part of the request.
	Changed int64 `json:"-"`
}

// A Claim says which caller took an approval to run the call.
type Claim struct {
	By   string    `json:"by"`
	Time time.Time `json:"time"`
	// Until is when the caller should have reported the outcome.
	Until time.Time `json:"until,omitzero"`
}

// An Outcome is the caller's report of a call that it was allowed to run.
type Outcome struct {
	Time  time.Time `json:"time"`
	OK    bool      `json:"ok"`
	Words string    `json:"words,omitempty"`
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
	// File gets the rule if it is accepted for good; where none does, NoFile may say why.
	File   string `json:"file,omitempty"`
	NoFile string `json:"no_file,omitempty"`
}

// Rules returns the offer's own rule and those that go with it.
func (o *Offer) Rules() []Offer {
	own := *o
	own.And, own.Also, own.File, own.NoFile = nil, nil, "", ""
	return append([]Offer{own}, o.And...)
}

// WithPattern returns the offer's rule with another pattern, as an answer gives an
// edited rule.
func (o *Offer) WithPattern(text string) (json.RawMessage, error) {
	rule, err := obstat.ParseRule(o.Rule)
	if err != nil {
		return nil, err
	}
	if rule.Whole() {
		return nil, errors.New("that rule has no pattern")
	}
	rule.Pattern.Text, rule.Source, rule.ID, rule.Pos = text, "", "", obstat.Pos{}
	return json.Marshal(rule)
}

// Who names the people that may answer.
type Who struct {
	Roles     []string `json:"roles,omitempty"`      // one of these; none, and no Users: anybody
	Users     []string `json:"users,omitempty"`      // these people, whatever their roles
	NotCaller bool     `json:"not_caller,omitempty"` // not the person that started the agent, who has to be known
	Needed    int      `json:"needed,omitempty"`     // how many must agree; zero is one
	// Each are roles that all have to agree, each by a person of its own: with
	// `["dev", "security"]` two people with the role dev are not enough.
	Each []string `json:"each,omitempty"`
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
	Claimed  State = "claimed" // a caller has taken the approval and runs the call
	Done     State = "done"    // the call was decided by it, or its caller reported the outcome
	Lapsed   State = "lapsed"  // approved, and not claimed in time; or claimed, and not heard of again
)

// Open tells whether something may still become of a request in this state.
func (s State) Open() bool { return s == Pending || s == Approved || s == Claimed }

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
	By    string   `json:"by"`
	Roles []string `json:"roles,omitempty"`
	// Login is the identity that the person has logged in with, such as `https://id.example 4711`
	// or `link ann`; "" is an answer by a token or at a terminal, which makes no second person.
	Login string `json:"login,omitempty"`
	// Names are other names of the same person, such as an address: two answers that share one
	// are of one person.
	Names []string `json:"names,omitempty"`
	// From says where it was given: `ann at pts/3 (obstat 812, bash 640, sshd 590)`.
	From  string    `json:"from,omitempty"`
	Time  time.Time `json:"time"`
	Allow bool      `json:"allow"`
	Scope Scope     `json:"scope,omitempty"` // of an approval
	Until time.Time `json:"until,omitzero"`  // the grant ends then
	// ForSeconds is how long the grant holds, from the moment that the last of
	// those who must agree has said so; in place of Until.
	ForSeconds int `json:"for_seconds,omitempty"`

	Offer int   `json:"offer,omitempty"` // 1 and up: which offer; with any scope but once
	More  []int `json:"more,omitempty"`  // further offers that are accepted with Offer
	// Parts are, of an Offer with several rules, those that are accepted, 1 and up; none: all of them. The
	// answer approves the call, and only these rules are kept.
	Parts []int           `json:"parts,omitempty"`
	Rule  json.RawMessage `json:"rule,omitempty"`  // an edited rule instead of an offer
	Input json.RawMessage `json:"input,omitempty"` // edited arguments: decided again
	Words string          `json:"words,omitempty"` // for the model
	// All takes the session's other pending requests with it, where it refuses.
	All bool `json:"all,omitempty"`
}

// A Grant is a remembered approval. It is bound to a call's digest, or to a
// rule, and never lifts a denial.
type Grant struct {
	ID    string `json:"id"`
	Scope Scope  `json:"scope"`
	Key   string `json:"key"` // session, agent, workspace or user it holds for
	// Of is the agent and user whose session that is, of a broker that keeps agents Apart;
	// "" where the session's name says enough.
	Of      string    `json:"of,omitempty"`
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

// leavesAs tells whether two answers leave the same behind: rules, for as long.
func (a *Answer) leavesAs(o *Answer) bool {
	rules := a.Offer == o.Offer && slices.Equal(a.More, o.More) && slices.Equal(a.Parts, o.Parts) && bytes.Equal(a.Rule, o.Rule)
	return rules && a.Scope == o.Scope && a.Until.Equal(o.Until) && a.ForSeconds == o.ForSeconds
}

func agreed(answers []Answer) Answer {
	last := answers[len(answers)-1]
	for i := range answers {
		o := &answers[i]
		if last.Allow && !o.leavesAs(&last) {
			last.Scope, last.Offer, last.More, last.Parts, last.Rule, last.Until, last.ForSeconds = Once, 0, nil, nil, nil, time.Time{}, 0
			break
		}
	}
	if last.ForSeconds > 0 {
		last.Until = last.Time.Add(time.Duration(last.ForSeconds) * time.Second)
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
	RequestStore
	GrantStore
}

// A RequestStore keeps requests.
type RequestStore interface {
	// PutRequest adds a pending request; ErrExists if there is one with its ID.
	PutRequest(ctx context.Context, r *Request) error
	// Requests returns the requests that q asks for, oldest first.
	Requests(ctx context.Context, q Query) ([]*Request, error)
	// Request returns one request, or ErrNotFound.
	Request(ctx context.Context, id string) (*Request, error)
	// Update replaces a request, together with adding the grant that an answer
	// leaves behind, if any. It succeeds where the request still has r's Version,
	// which it then counts up, and returns ErrChanged where it has another: of
	// several that change a request at once exactly one succeeds, and the others
	// leave nothing.
	Update(ctx context.Context, r *Request, grant *Grant) error
}

// A Query says which requests are wanted; the zero Query wants all.
type Query struct {
	State State // "" is any
	Group string
	// After is a cursor: only requests that changed since. A request may come
	// twice, with the same Version, and none is left out.
	After int64
	// Late bounds how much later than others a change may become visible and still come,
	// for a reader that looks again without it; zero is as late as the store knows.
	Late time.Duration
	// Told, if not nil, tells of a request that it need not come again as it is: a store may
	// leave it out, and spare reading it.
	Told  func(id string, version int) bool
	Limit int // at most so many, the newest; zero is all
}

// Matches tells whether q wants r; After and Limit are not looked at.
func (q *Query) Matches(r *Request) bool {
	return (q.State == "" || q.State == r.State) && (q.Group == "" || q.Group == r.Group)
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
	ErrChanged  = errors.New("the request was changed meanwhile")
	ErrExists   = errors.New("there is such a request")
	ErrOther    = errors.New("the approval is for another call")
	ErrNotYou   = errors.New("you may not answer this request")
	ErrBroader  = errors.New("the rule is broader than the call")
	ErrBad      = errors.New("the answer makes no sense")
)
