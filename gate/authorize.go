package gate

import (
	"context"
	"encoding/hex"
	"time"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/approval"
	"github.com/obstat/obstat/ledger"
	"github.com/obstat/obstat/policy"
)

// Asking says how far the gate goes to settle a call that asks.
type Asking uint8

// The ways to settle an ask. A grant settles it in each of them but Try.
const (
	// Wait puts a request to humans and returns with their answer.
	Wait Asking = iota
	// Put puts the request and returns it; [Gate.Resume] decides the call once it
	// is answered.
	Put
	// Leave returns the ask, for an agent that shows a prompt of its own.
	Leave
	// Try decides by the policy alone and records nothing, as `obstat check` does.
	// A grant that would settle the call is returned, and does not count.
	Try
)

// Terms say how one call is handled; nil is the zero Terms, which wait.
type Terms struct {
	Ask Asking
	// TakeUp returns a request for the same call, of the same agent in the same
	// place, that is pending or was approved and not used: for askers that may go
	// away before the answer comes, and come back.
	TakeUp bool
	// Same returns a request that waits for the same call already, which is taken up in
	// place of the one that would be put; nil, and a nil Same, put it.
	Same func(ctx context.Context, r *approval.Request) *approval.Request
	// Request is the ID of the request that an ask becomes; "" makes one. A call
	// whose request exists is denied.
	Request string
	// Claimed: the call's user is the agent's word alone; see [approval.Request].
	Claimed bool
	// Offers are shown with the request in place of the dialect's own; nil: those.
	Offers []obstat.Offer
	// Suggested are the rules that the agent shows with its own prompt, such as
	// `Bash(make *)`. They are recorded with an ask.
	Suggested []string
	// Doubt is a reason, unknown to the rules, to let a person look: a tool's
	// description has changed. The call asks at least, no grant settles it, and an
	// answer holds for once. "" is none.
	Doubt string
	// Settle settles an ask that no grant settled, before a person is asked; nil,
	// and a nil Settled, leave it open. An error denies.
	Settle func(ctx context.Context, call *obstat.Call, d *obstat.Decision) (*Settled, error)
	// Shown tells of an ask that no grant settled whether the agent's own rules put it to a person, in its own prompt:
	// then it is returned, as with Leave. nil: none is.
	Shown func(r *policy.Ruling, world obstat.World) bool
	// Claim has the proofs of the caller that takes the approval which [Gate.Resume] waits for,
	// and its call.
	Claim approval.Claiming
	// For begins the reason that people see with the command that wants the thing: "`make`, which runs confined, wants
	// it: ".
	For string
	// Silent says why an allow is kept from the agent, whose own rules decide then;
	// "" where it is told. The reason is recorded. nil tells all.
	Silent func(d *obstat.Decision) (why string)
}

// Settled is how a face settled an ask by itself: Allow approves it, Deny refuses
// it, and Ask leaves it to the agent, with By.Note as the reason.
type Settled struct {
	Verdict obstat.Verdict
	By      obstat.By
}

// A Result is a decision, and how it came about.
type Result struct {
	// Ruling holds the final decision, and the policy that it comes from.
	policy.Ruling
	// Self: the call would change a guard of the agent, which no rule allows.
	Self bool
	// Grant is the grant that settled the call; nil if none did.
	Grant *approval.Grant
	// Request is the request that was put to humans, or taken up; nil if none was.
	Request *approval.Request
}

// Authorize decides a call; where the policy asks, the terms say how that is
// settled. The decision is in the ledger before it is returned, unless it is still
// an ask with a Request, which [Gate.Resume] decides. An error means that something
// broke; the decision that comes with it denies.
func (g *Gate) Authorize(ctx context.Context, call *obstat.Call, terms *Terms) (Result, error) {
	p := g.begin(ctx, call, terms)
	if p.terms.Ask == Try {
		return p.try(ctx), nil
	}
	d := p.j.unasked(p.keepAllowed(g.confine(ctx, p.call, p.j, p.digest)))
	if d.Verdict == obstat.Ask {
		var open *approval.Request
		if d, open = p.ask(ctx, d); open != nil {
			p.request = open
			return p.result(d), nil
		}
	}
	d, err := p.finish(ctx, d)
	return p.result(d), err
}

// A passage is one call on its way through the gate.
type passage struct {
	g     *Gate
	terms Terms
	call  *obstat.Call
	// digest is the call's, as it was made.
	digest string
	began  time.Time
	world  *obstat.Recorder
	j      *judged
	grant  *approval.Grant  // settled the call
	asked  string           // ID of the request that records name
	given  []byte           // takes the place of the call's input
	before []*ledger.Record // to be written together with the decision
	// request was put to humans, or taken up.
	request *approval.Request
	kept    bool      // what the call changes
	reached []reached // limits
}

// begin judges a call.
func (g *Gate) begin(ctx context.Context, call *obstat.Call, terms *Terms) *passage {
	c := *call
	p := &passage{g: g, call: &c, began: time.Now(), world: g.world()}
	if terms != nil {
		p.terms = *terms
	}
	digest := c.Digest()
	p.digest = hex.EncodeToString(digest[:])
	if p.terms.Ask != Try {
		if len(c.Roots) == 0 && c.Dir != "" {
			c.Roots = []string{c.Dir} // the workspace of a call that names none
		}
		old := g.opts.Repeats.again(&c, digest, p.terms.Request)
		if old == nil {
			return p.counting(ctx, digest)
		}
		c.Repeat = max(c.Repeat, old.repeats)
		p.j = g.judge(ctx, &c, p.world, p.terms.Doubt)
		p.recount(old)
		return p
	}
	p.j = g.judge(ctx, &c, p.world, p.terms.Doubt)
	p.count(true)
	return p
}

// counting judges a call that was not put before, and remembers its counts for when it is put again.
func (p *passage) counting(ctx context.Context, digest [32]byte) *passage {
	c, repeats := p.call, p.g.opts.Repeats
	c.Repeat = max(c.Repeat, repeats.count(c, digest))
	p.j = p.g.judge(ctx, c, p.world, p.terms.Doubt)
	p.count(false)
	repeats.keep(c, putCall{p.terms.Request, digest, c.Repeat, p.reached})
	return p
}

// result returns the decision with the rest of the ruling.
func (p *passage) result(d obstat.Decision) Result {
	out := Result{Ruling: p.j.Ruling, Self: p.j.self, Grant: p.grant, Request: p.request}
	out.Decision = d
	return out
}

// try returns the judgement, and a grant that would settle it.
func (p *passage) try(ctx context.Context) Result {
	d := p.j.unasked(p.g.confine(ctx, p.call, p.j, ""))
	if d.Verdict == obstat.Ask && len(d.Faults) == 0 {
		gr, err := p.granted(ctx)
		if err == nil && gr != nil && approve(d, byGrant(gr)).Verdict == obstat.Allow {
			p.grant = gr
		}
	}
	return p.result(d)
}

// Resume takes up a request that was put before, perhaps by another process: it
// waits for the answer and decides the request's call by the policy of now. An
// approval is for one run, and of several callers one gets it; see
// [approval.Broker.Claim]. One that was given under another policy counts where the
// policy of now asks the same question, and is used up without a run where not.
func (g *Gate) Resume(ctx context.Context, request string, terms *Terms) (obstat.Decision, error) {
	p := &passage{g: g, world: g.world()}
	if terms != nil {
		p.terms = *terms
	}
	broker, err := g.asks(ctx)
	if err != nil {
		return obstat.Decision{By: fault(""), Note: err.Error()}, err
	}
	r, err := broker.Wait(ctx, request)
	p.began = time.Now()
	if err == nil {
		r, err = g.use(ctx, r, p.terms.Claim)
	}
	if err != nil {
		return obstat.Decision{By: fault(""), Note: err.Error()}, err
	}
	p.call, p.digest, p.asked = &r.Call, r.Digest, r.ID
	if r.State != approval.Approved {
		return p.unapproved(ctx, r)
	}
	p.j = g.judge(ctx, p.call, p.world, p.terms.Doubt)
	p.count(true)
	d := p.j.Decision
	switch {
	case d.Verdict != obstat.Ask:
	case len(d.Faults) > 0:
		d = d.Refuse(fault("nobody can approve a call that could not be judged"))
	case !p.sameQuestion(r):
		p.log(r)
		d = d.Refuse(late("it was approved under another policy, which asked for another reason; ask again"))
	default:
		p.log(r)
		d = p.settle(ctx, d, r)
	}
	return p.finish(ctx, d)
}
