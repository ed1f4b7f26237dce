package guard

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/approval"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/ledger"
)

// ask settles a call that asks: by a grant, or by a human.
func (g *Guard) ask(ctx context.Context, l *dialect.Loaded, c *obstat.Call, d obstat.Decision) obstat.Decision {
	d.Offers = l.Offers(c, g.opts.World, &d)
	if gr := g.granted(ctx, c); gr != nil {
		return d.Approve(fmt.Sprintf("approved by %s for the %s on %s", gr.By, gr.Scope, gr.Created.Format(time.DateTime)))
	}
	if g.opts.NoWait {
		return d
	}
	req := g.request(c, &d, l)
	g.note(ctx, ledger.Ask, c, req, "")
	r, err := g.broker.Ask(ctx, req)
	if err != nil {
		return d.Refuse("nobody could be asked: " + err.Error())
	}
	g.note(ctx, ledger.Answer, c, r, string(r.State))
	return g.answered(ctx, l, c, d, r)
}

// granted returns a grant that settles the call, or nil. What cannot be looked
// up grants nothing.
func (g *Guard) granted(ctx context.Context, c *obstat.Call) *approval.Grant {
	now := time.Now()
	grants, err := g.opts.Store.Grants(ctx, now)
	if err != nil {
		return nil
	}
	keys := map[approval.Scope]string{approval.Session: c.Session, approval.Agent: c.Agent, approval.Workspace: c.Dir, approval.User: c.User}
	for _, gr := range grants {
		if gr.Covers(keys, c.Tool, hexDigest(c), now) {
			return gr
		}
	}
	return nil
}

func (g *Guard) request(c *obstat.Call, d *obstat.Decision, l *dialect.Loaded) *approval.Request {
	r := &approval.Request{ID: approval.NewID("req_"), Call: *c, Digest: hexDigest(c), Reason: d.Reason(), Part: d.Part, Safety: d.Safety, Policy: l.Policy.Digest()}
	if d.Rule != nil {
		r.Rule, r.Pos = d.Rule.String(), d.Rule.Pos
	}
	for i := range d.Offers {
		o := &d.Offers[i]
		rule, err := json.Marshal(obstat.RuleJSON(&o.Rule))
		if err == nil {
			r.Offers = append(r.Offers, approval.Offer{Text: o.Text, Rule: rule, List: o.List})
		}
	}
	if g.opts.Who != nil {
		r.Who = g.opts.Who(c, d)
	}
	return r
}

// note writes an ask or an answer to the ledger. It is not what the decision
// hangs on: that record follows, and without it the call is denied.
func (g *Guard) note(ctx context.Context, kind ledger.Kind, c *obstat.Call, r *approval.Request, state string) {
	rec := &ledger.Record{Time: time.Now(), Kind: kind, Agent: c.Agent, Session: c.Session, User: c.User, Dir: c.Dir, Request: r.ID, Tool: c.Tool, Call: r.Digest, Verdict: state, Reason: r.Reason}
	if len(r.Answers) > 0 {
		rec.Detail, _ = json.Marshal(r.Answers)
	}
	_ = g.opts.Store.Append(context.WithoutCancel(ctx), rec)
}

// answered turns what happened to a request into a decision.
func (g *Guard) answered(ctx context.Context, l *dialect.Loaded, c *obstat.Call, d obstat.Decision, r *approval.Request) obstat.Decision {
	switch r.State {
	case approval.Expired:
		return d.Refuse("nobody answered in time; this is not a refusal by a human, but it does not run")
	case approval.Canceled:
		return d.Refuse("the request was withdrawn before anybody answered")
	case approval.Approved:
	default:
		return d.Refuse(refusal(r))
	}
	last := r.Answers[len(r.Answers)-1]
	if last.Input != nil {
		return g.edited(l, c, d, &last)
	}
	note := "approved by " + last.By
	if last.Scope == approval.Always {
		if err := g.accept(r, &last); err != nil {
			note += "; the rule could not be kept: " + err.Error()
		}
	}
	return d.Approve(note)
}

func refusal(r *approval.Request) string {
	if len(r.Answers) == 0 {
		return "refused"
	}
	a := r.Answers[len(r.Answers)-1]
	if a.Words != "" {
		return fmt.Sprintf("refused by %s: %s", a.By, a.Words)
	}
	return "refused by " + a.By
}

// edited decides the call with the arguments a human changed: it is another
// call, and deny rules hold for it as well.
func (g *Guard) edited(l *dialect.Loaded, c *obstat.Call, d obstat.Decision, a *approval.Answer) obstat.Decision {
	other := *c
	other.Input = a.Input
	again := l.Policy.Decide(&other, g.opts.World)
	if again.Verdict == obstat.Deny {
		return again
	}
	d = d.Approve("approved by " + a.By + " with other arguments")
	d.Input = a.Input
	return d
}

// checkAnswer refuses an accepted rule that would not settle the call or is
// broader than anyone means.
func (g *Guard) checkAnswer(r *approval.Request, a *approval.Answer) error {
	if a.Scope != approval.Always {
		return nil
	}
	o, err := offerOf(r, a)
	if err != nil {
		return err
	}
	if obstat.Broad(&o.Rule) {
		return fmt.Errorf("%w: %s would hand out more than this call", approval.ErrBroader, o.Rule.String())
	}
	l, _ := g.current()
	pol, err := l.Policy.With(o)
	if err != nil {
		return err
	}
	if d := pol.Decide(&r.Call, g.opts.World); d.Verdict != obstat.Allow {
		return fmt.Errorf("the rule %s would not allow this call: %s", o.Rule.String(), d.Reason())
	}
	return nil
}

// offerOf returns the offer that an answer takes, edited or not.
func offerOf(r *approval.Request, a *approval.Answer) (obstat.Offer, error) {
	raw, list := a.Rule, "allow"
	if a.Offer >= 1 && a.Offer <= len(r.Offers) {
		o := r.Offers[a.Offer-1]
		list = o.List
		if raw == nil {
			raw = o.Rule
		}
	} else if len(r.Offers) > 0 {
		list = r.Offers[0].List
	}
	rule, err := obstat.ParseRule(raw)
	if err != nil {
		return obstat.Offer{}, err
	}
	return obstat.Offer{Rule: rule, List: list, Scope: string(approval.Always), Text: rule.String()}, nil
}

// accept writes an accepted rule to the dialect's own file.
func (g *Guard) accept(r *approval.Request, a *approval.Answer) error {
	o, err := offerOf(r, a)
	if err != nil {
		return err
	}
	if err := g.opts.Policy.Add(&o); err != nil {
		return err
	}
	g.reload(context.Background())
	return nil
}
