// Package client talks to an obstat server: it puts calls to its gate, claims
// approvals, and answers requests for people.
//
// It owns the wire types of the HTTP API, which the server uses as well, and the
// client. It decides nothing: without the server's answer a call does not run.
package client

import (
	"encoding/json"
	"time"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/approval"
)

// A DecisionRequest puts one call, or several, to the gate.
type DecisionRequest struct {
	Call  *obstat.Call  `json:"call,omitempty"`
	Calls []obstat.Call `json:"calls,omitempty"` // in place of Call
	// Wait is for how many seconds the answer is held while a person is asked;
	// zero returns the ask at once.
	Wait int `json:"wait,omitempty"`
	// Key makes the call repeatable: the same key from the same agent is the same
	// ask and, with a Lease, a claim of its approval that was sent twice is one claim.
	Key string `json:"key,omitempty"`
	// Lease is in how many seconds the caller reports the outcome of a call that a
	// person approved; zero: it does not report.
	Lease int `json:"lease,omitempty"`
	// Unclaimed leaves an approval for [Client.Claim]: the answer is then an ask whose
	// request is approved. A caller whose own state can be put back, such as a
	// framework that resumes from a checkpoint, thus spends an approval once and not
	// once a resume.
	Unclaimed bool `json:"unclaimed,omitempty"`
}

// An ExplainRequest asks how a call would be decided. Nothing is recorded and no
// person is asked.
type ExplainRequest struct {
	Call *obstat.Call `json:"call"`
}

// API is the version of the HTTP API. Every answer has it in the header
// [APIHeader], so that a client of another version lets nothing run.
const (
	API       = "1"
	APIHeader = "Obstat-Api"
)

// A Decision is the gate's answer to a call.
type Decision struct {
	Verdict string `json:"verdict"` // allow, ask or deny
	Reason  string `json:"reason"`
	Rule    *Rule  `json:"rule,omitempty"`
	Stage   string `json:"stage,omitempty"`
	// By names the settler of the call: a rule, a person, a time-out, a fault ...
	By     obstat.By `json:"by,omitzero"`
	Part   string    `json:"part,omitempty"` // of the call, that decided
	Safety bool      `json:"safety,omitempty"`
	// Input, if there is one, replaces the call's input.
	Input json.RawMessage `json:"input,omitempty"`
	// Request is the ask that was put to people.
	Request *Asked `json:"request,omitempty"`
}

// A Rule is the rule that decided, and where it is written.
type Rule struct {
	Text    string     `json:"text"`
	Verdict string     `json:"verdict"`
	Pos     obstat.Pos `json:"pos,omitzero"`
}

// Asked is a request as its caller sees it.
type Asked struct {
	ID      string         `json:"id"`
	State   approval.State `json:"state"`
	Digest  string         `json:"digest"` // of the call; a claim shows it
	Policy  string         `json:"policy,omitempty"`
	Expires time.Time      `json:"expires"`
	ClaimBy time.Time      `json:"claim_by,omitzero"`
}

// A DecisionReply is the Decision about one call, or Decisions about several, in
// their order.
type DecisionReply struct {
	*Decision
	Decisions []Decision `json:"decisions,omitempty"`
}

// NewDecision returns a decision as it is sent.
func NewDecision(d *obstat.Decision, r *approval.Request) *Decision {
	out := &Decision{Verdict: d.Verdict.String(), Reason: d.Reason(), Stage: d.Stage, By: obstat.By{Kind: d.By.Kind, Who: d.By.Who}, Part: d.Part, Safety: d.Safety, Input: d.Input}
	if d.Rule != nil {
		out.Rule = &Rule{d.Rule.String(), d.Rule.Verdict.String(), d.Rule.Pos}
	}
	if r != nil {
		out.Request = NewAsked(r)
	}
	return out
}

// NewAsked returns a request as its caller sees it.
func NewAsked(r *approval.Request) *Asked {
	return &Asked{ID: r.ID, State: r.State, Digest: r.Digest, Policy: r.Policy, Expires: r.Expires, ClaimBy: r.ClaimBy}
}

// An Answer is a person's answer to a request. Who the person is, the server
// knows.
type Answer struct {
	Allow bool           `json:"allow"`
	Scope approval.Scope `json:"scope,omitempty"`
	Until time.Time      `json:"until,omitzero"`
	// For is for how many seconds a grant holds, from the last approval on.
	For   int             `json:"for,omitempty"`
	Offer int             `json:"offer,omitempty"` // 1 and up
	More  []int           `json:"more,omitempty"`
	Rule  json.RawMessage `json:"rule,omitempty"`
	Input json.RawMessage `json:"input,omitempty"`
	Words string          `json:"words,omitempty"`
	All   bool            `json:"all,omitempty"`
}

// A GroupAnswer answers several requests of one group alike.
type GroupAnswer struct {
	IDs    []string `json:"ids"`
	Answer Answer   `json:"answer"`
}

// A GroupResult is the end of one request of a group.
type GroupResult struct {
	ID    string         `json:"id"`
	State approval.State `json:"state,omitempty"`
	Error string         `json:"error,omitempty"`
}

// GroupResults is the answer to a GroupAnswer.
type GroupResults struct {
	Results []GroupResult `json:"results"`
}

// A Claim takes an approval to run its call, once.
type Claim struct {
	Digest string `json:"digest"`          // of the call that is about to run
	Key    string `json:"key,omitempty"`   // the same key repeats a claim whose answer was lost
	Lease  int    `json:"lease,omitempty"` // in how many seconds the outcome is reported
}

// An Outcome reports how a call went whose approval was claimed.
type Outcome struct {
	OK    bool   `json:"ok"`
	Words string `json:"words,omitempty"`
	Key   string `json:"key,omitempty"` // that it was claimed with
}

// Printed is the output of a call that has run, on its way to the model.
type Printed struct {
	Call   obstat.Call     `json:"call"`
	Result json.RawMessage `json:"result"`           // a text, or the tool's object
	Failed bool            `json:"failed,omitempty"` // the output is an error's
}

// Masked is an output without its secrets.
type Masked struct {
	// Result has the shape of the output, with `[masked]` in each secret's place; empty where there was none, and the
	// output is to be left as it is.
	Result  json.RawMessage `json:"result,omitempty"`
	Secrets int             `json:"secrets"`
	Note    string          `json:"note,omitempty"` // a sentence about them, for the model
}

// Requests is a list of requests, and the cursor after which newer changes come.
type Requests struct {
	Requests []*approval.Request `json:"requests"`
	Cursor   int64               `json:"cursor"`
}

// Grants is a list of the grants in force.
type Grants struct {
	Grants []*approval.Grant `json:"grants"`
}

// Tools names tools; in an answer, those that an agent may be shown.
type Tools struct {
	Tools []string    `json:"tools"`
	Mode  obstat.Mode `json:"mode,omitempty"`
}

// A ToolReach says which verdicts calls to a tool can get.
type ToolReach struct {
	Tool      string `json:"tool"`
	Strictest string `json:"strictest"`
	Loosest   string `json:"loosest"`
}

// ToolReaches is the list of tools without those that are always denied.
type ToolReaches struct {
	Tools  []ToolReach `json:"tools"`
	Hidden []string    `json:"hidden,omitempty"` // denied whatever the input
}

// MCPServers is a list of servers of the Model Context Protocol.
type MCPServers struct {
	Servers []MCPServer `json:"servers"`
}

// An MCPServer is a server behind the policy, with its tools.
type MCPServer struct {
	Server string    `json:"server"`
	From   string    `json:"from,omitempty"`  // the file that names it
	Error  string    `json:"error,omitempty"` // why it could not be asked
	Tools  []MCPTool `json:"tools"`
}

// An MCPTool is a tool of a server: which verdicts calls of it can get, and how it differs
// from what was accepted.
type MCPTool struct {
	Name       string   `json:"name"`
	Strictest  string   `json:"strictest,omitempty"`
	Loosest    string   `json:"loosest,omitempty"`
	State      string   `json:"state,omitempty"`  // "" is as accepted; new, changed or gone
	Hidden     string   `json:"hidden,omitempty"` // why agents are not shown it
	Difference []string `json:"difference,omitempty"`
}

// An AgentSeen is an agent that has put calls to the server.
type AgentSeen struct {
	Agent    string    `json:"agent"`
	Token    string    `json:"token,omitempty"`
	From     []string  `json:"from,omitempty"` // addresses that its calls came from, the latest first
	First    time.Time `json:"first"`
	Last     time.Time `json:"last"`
	Calls    int       `json:"calls"`
	Doctor   string    `json:"doctor,omitempty"` // the last finding of obstat doctor
	DoctorAt time.Time `json:"doctor_at,omitzero"`
}

// A Proof is a finding of obstat doctor about an agent: holds, broken or open.
type Proof struct {
	Agent string `json:"agent"`
	State string `json:"state"`
}

// Proofs are the findings of obstat doctor on a machine.
type Proofs struct {
	Proofs []Proof `json:"proofs"`
}

// Agents is a list of the agents seen.
type Agents struct {
	Agents []AgentSeen `json:"agents"`
}

// Me says who the server takes the caller for.
type Me struct {
	Kind  string   `json:"kind"` // agent or person
	Name  string   `json:"name"`
	Roles []string `json:"roles,omitempty"`
	CSRF  string   `json:"csrf,omitempty"` // to be sent in X-CSRF-Token by a page
}

// A Problem is an error, as application/problem+json.
type Problem struct {
	Type   string        `json:"type"`
	Title  string        `json:"title"`
	Status int           `json:"status"`
	Detail string        `json:"detail,omitempty"`
	Errors obstat.Errors `json:"errors,omitempty"` // with positions
	// Diff is how a version differs from the policy in force that was not put in its place.
	Diff *PolicyDiff `json:"diff,omitempty"`
}

// Error returns the title and the details.
func (p *Problem) Error() string {
	if p.Detail == "" {
		return p.Title
	}
	return p.Title + ": " + p.Detail
}
