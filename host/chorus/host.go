// Package chorus is Chorus's permission check on a gate: a call is decided, put
// to people in a channel where the profile asks, and every check leaves a row in
// the audit table.
//
// It owns the confirmation (the prompt, the approvers, [Channel]) and the rows.
// Deciding, self-protection, grants and the ledger are the gate's; the meaning
// of a profile is package dialect/chorus's. It does not talk to Discord: the module
// chorusdiscord does, through [Channel].
package chorus

import (
	"context"
	"fmt"
	"time"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/approval"
	"github.com/obstat/obstat/dialect/chorus"
	"github.com/obstat/obstat/gate"
)

// Options configure a Host.
type Options struct {
	// Gate configures the gate. Its Policy is required; the host names the
	// approvers and the time they have, unless Gate does.
	Gate gate.Options
	// Channel shows the questions to people; nil denies every call that asks.
	Channel Channel
	// Timeout is how long a question waits; zero is [chorus.DefaultTimeout].
	Timeout time.Duration
	// Approvers are the roles that may answer. None: the session's user, and
	// administrators.
	Approvers []string
	// Audit keeps a row of every check; nil: none are kept but in the ledger, from
	// which [Rows] makes them.
	Audit Auditor
	// Now is the clock of the rows; nil is time.Now.
	Now func() time.Time
}

// A Host takes a call its whole way: the check, the confirmation where the
// profile asks, and the audit row.
type Host struct {
	opts Options
	gate *gate.Gate
}

// Open returns a host.
func Open(ctx context.Context, opts Options) (*Host, error) {
	if opts.Timeout <= 0 {
		opts.Timeout = chorus.DefaultTimeout
	}
	if opts.Now == nil {
		opts.Now = time.Now
	}
	if opts.Gate.World == nil {
		opts.Gate.World = obstat.OS{}
	}
	h := &Host{opts: opts}
	g := opts.Gate
	g.Approval.Timeout = opts.Timeout
	if g.Who == nil {
		g.Who = h.who
	}
	var err error
	h.gate, err = gate.Open(ctx, g)
	return h, err
}

// Close ends the host's gate.
func (h *Host) Close() { h.gate.Close() }

// who returns the approvers of a call.
func (h *Host) who(call *obstat.Call, _ *obstat.Decision) approval.Who {
	if len(h.opts.Approvers) > 0 {
		return approval.Who{Roles: h.opts.Approvers}
	}
	return approval.Who{Users: []string{call.User}, Roles: []string{chorus.RoleAdministrator}}
}

// A Result says whether a call may run.
type Result struct {
	Allowed bool
	// Error is the tool's result where the call may not run; empty if Allowed.
	Error    string
	Row      Row
	Decision obstat.Decision
}

// Check answers one call, waiting for people where that is needed.
func (h *Host) Check(ctx context.Context, call *obstat.Call) Result {
	action, err := chorus.Action(call, h.opts.Gate.World)
	if err != nil {
		action = "tool:" + call.Tool + ":"
	}
	r := Result{Row: Row{AgentName: call.Agent, Timestamp: h.opts.Now(), ActionString: action, UserID: call.User,
		Decision: AuditDeny}}
	d, _ := h.gate.Authorize(ctx, call, &gate.Terms{Ask: gate.Put}) // an error comes with a decision that denies
	r.Decision = d.Decision
	switch {
	case d.Request != nil:
		h.ask(ctx, d.Request, &r)
	case d.Verdict == obstat.Allow:
		r.Row.Decision, r.Row.Detail, r.Allowed = AuditAllow, d.Note, true
	default:
		r.Row.Detail = denied(&d.Decision)
		r.Error = fmt.Sprintf("Permission denied: %s (%s)", action, r.Row.Detail)
	}
	if h.opts.Audit == nil {
		return r
	}
	err = guarded(func() error { return h.opts.Audit.Record(context.WithoutCancel(ctx), r.Row) })
	if err != nil { // a call without a row does not run
		r.Allowed = false
		r.Error = fmt.Sprintf("the audit log could not be written, so nothing is run: %v", err)
	}
	return r
}

// denied is the detail of a denial: the profile where it simply allows nothing
// like it, else the reason.
func denied(d *obstat.Decision) string {
	if d.By.Kind == obstat.ByDefault {
		return profileDetail(d.Mode)
	}
	return d.Reason()
}

// ask puts a request to people and decides the call by their answer.
func (h *Host) ask(ctx context.Context, req *approval.Request, r *Result) {
	q := Question{Agent: req.Call.Agent, Action: r.Row.ActionString, Channel: req.Call.Channel, User: req.Call.User,
		Timeout: h.opts.Timeout}
	if r.Decision.Note != "" {
		q.Why = r.Decision.Reason()
	}
	a := h.confirm(ctx, req, &q)
	d, err := h.gate.Resume(context.WithoutCancel(ctx), req.ID, nil)
	r.Decision = d
	if err == nil && a.Approved && d.Verdict == obstat.Allow {
		r.Row.Decision, r.Allowed = AuditAskApproved, true
		if a.By != req.Call.User {
			r.Row.Detail = "Approved by " + a.By
		}
		return
	}
	if a.Approved { // the policy of now denies it, or the answer could not be written down
		a = Answer{By: a.By, Detail: d.Reason()}
	}
	r.Row.Decision, r.Row.Detail = AuditAskDenied, a.Detail
	if a.Err != nil {
		r.Row.Detail += ": " + a.Err.Error()
	}
	r.Error = fmt.Sprintf("User declined: %s (%s)", r.Row.ActionString, r.Row.Detail)
	if a.By == "" {
		r.Error = fmt.Sprintf("Permission requires approval, and nobody gave it: %s (%s)", r.Row.ActionString, r.Row.Detail)
	}
}

// CheckAll answers the calls of one response one after the other; a denial does
// not keep the next from being asked about.
func (h *Host) CheckAll(ctx context.Context, calls []*obstat.Call) []Result {
	out := make([]Result, len(calls))
	for i, call := range calls {
		out[i] = h.Check(ctx, call)
	}
	return out
}
