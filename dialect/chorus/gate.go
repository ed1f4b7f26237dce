package chorus

import (
	"context"
	"fmt"
	"time"

	"github.com/obstat/obstat"
)

// A Gate is one call's whole way: the check, the confirmation where the profile
// asks, and the audit row.
type Gate struct {
	// Policy decides; nil denies everything.
	Policy *obstat.Policy
	// World is what the policy may know of the machine; nil: nothing.
	World obstat.World
	// Confirm puts asks to people; nil denies them.
	Confirm *Confirmer
	// Audit keeps a row of every check; nil: none are kept.
	Audit Auditor
	// Now is the clock of the rows; nil is time.Now.
	Now func() time.Time
}

// A Result says whether a call may run.
type Result struct {
	Allowed bool
	// Error is what the tool's caller gets in place of a result; empty if
	// Allowed.
	Error    string
	Row      Row
	Decision obstat.Decision
}

// Check answers one call, waiting for people where that is needed.
func (g *Gate) Check(ctx context.Context, call *obstat.Call) Result {
	r := Result{Row: Row{AgentName: call.Agent, Timestamp: g.now(), UserID: call.User, Decision: AuditDeny}}
	action, err := Action(call, g.World)
	if err != nil {
		action = toolPrefix + call.Tool + ":"
	}
	r.Row.ActionString = action
	if g.Policy == nil {
		r.Decision.Faults = []obstat.Fault{{Msg: "there is no policy"}}
	} else {
		r.Decision = g.Policy.Decide(call, g.World)
	}
	switch r.Decision.Verdict {
	case obstat.Allow:
		r.Row.Decision, r.Allowed = AuditAllow, true
	case obstat.Ask:
		g.ask(ctx, call, &r)
	default:
		r.Row.Detail = denied(&r.Decision)
		r.Error = fmt.Sprintf("Permission denied: %s (%s)", action, r.Row.Detail)
	}
	g.record(ctx, &r)
	return r
}

// denied is the detail of a denial: the profile where it simply allows nothing
// like it, else the reason.
func denied(d *obstat.Decision) string {
	if d.Stage == "default" && len(d.Faults) == 0 && d.Note == "" {
		return "Profile: " + string(d.Mode)
	}
	return d.Reason()
}

func (g *Gate) ask(ctx context.Context, call *obstat.Call, r *Result) {
	q := Question{Agent: call.Agent, Action: r.Row.ActionString, Channel: call.Channel, User: call.User}
	if r.Decision.Note != "" {
		q.Why = r.Decision.Reason()
	}
	a := g.Confirm.Confirm(ctx, q)
	if a.Approved {
		r.Row.Decision, r.Allowed = AuditAskApproved, true
		if a.By != call.User {
			r.Row.Detail = "Approved by " + a.By
		}
		return
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

// record keeps the row; a call that nobody could look up later does not run.
func (g *Gate) record(ctx context.Context, r *Result) {
	if g.Audit == nil {
		return
	}
	if err := record(context.WithoutCancel(ctx), g.Audit, r.Row); err != nil {
		r.Allowed = false
		r.Error = fmt.Sprintf("the audit log could not be written, so nothing is run: %v", err)
	}
}

func record(ctx context.Context, a Auditor, row Row) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v", r)
		}
	}()
	return a.Record(ctx, row)
}

// CheckAll answers the calls of one response one after the other; a denial does
// not keep the next from being asked about.
func (g *Gate) CheckAll(ctx context.Context, calls []*obstat.Call) []Result {
	out := make([]Result, len(calls))
	for i, call := range calls {
		out[i] = g.Check(ctx, call)
	}
	return out
}

func (g *Gate) now() time.Time {
	if g.Now == nil {
		return time.Now()
	}
	return g.Now()
}
