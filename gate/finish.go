package gate

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/approval"
	"github.com/obstat/obstat/ledger"
	"github.com/obstat/obstat/policy"
)

// finish writes the decision down and hands it out. A decision that cannot be written down
// denies.
func (p *passage) finish(ctx context.Context, d obstat.Decision) (obstat.Decision, error) {
	g := p.g
	if p.j.broken != nil && !p.j.Bounded {
		d.Note = join(d.Note, brokenWords(p.j.broken))
	}
	if err := p.remember(&d); err != nil {
		err = fmt.Errorf("what the session has done could not be kept: %w", err)
		d = d.Refuse(fault(err.Error() + "; rules hang on it"))
	}
	p.renew(&d)
	if d.Verdict != obstat.Deny { // a person has allowed it, or the agent asks one by itself and may run it then
		d.Note = join(d.Note, p.keep(&d))
	}
	if silent := p.terms.Silent; silent != nil && d.Verdict == obstat.Allow {
		d.Note = join(d.Note, silent(&d))
	}
	if g.opts.NoRecord {
		return d, nil
	}
	rec := p.record(&d)
	rec.Nanos = time.Since(p.began).Nanoseconds()
	return p.hand(d, g.append(context.WithoutCancel(ctx), append(p.before, rec)...))
}

// hand returns a decision that was written down, or that it could not be.
func (p *passage) hand(d obstat.Decision, err error) (obstat.Decision, error) {
	g := p.g
	g.mu.Lock()
	g.lost = err
	g.mu.Unlock()
	if err != nil {
		err = fmt.Errorf("the decision could not be written to the ledger: %w", err)
		return d.Refuse(fault(err.Error() + "; what cannot be written down does not run")), err
	}
	return d, nil
}

// Mend tells whether decisions can be written down. Where the last one could not be, it tries a
// record that says so: callers wait for that without putting calls.
func (g *Gate) Mend(ctx context.Context) error {
	g.mu.Lock()
	lost := g.lost
	g.mu.Unlock()
	if lost == nil {
		return nil
	}
	err := g.append(ctx, &ledger.Record{Time: time.Now(), Kind: ledger.Damage, Reason: ledger.Clip("decisions could not be written down, and were denied: " + lost.Error())})
	g.mu.Lock()
	g.lost = err
	g.mu.Unlock()
	return err
}

// use takes an approval for the one run that it is for, whichever process
// decides it. Of one that was taken before nothing is left.
func (g *Gate) use(ctx context.Context, r *approval.Request, c approval.Claiming) (*approval.Request, error) {
	if r.State != approval.Approved && (r.State != approval.Claimed || c.Key == "") {
		return r, nil
	}
	broker, err := g.asks(ctx)
	if err != nil {
		return nil, err
	}
	whole, err := broker.Claim(ctx, r.ID, c)
	if errors.Is(err, approval.ErrSettled) {
		if now, err := g.store.Request(ctx, r.ID); err == nil && now.State == approval.Lapsed {
			return now, nil
		}
		r.State = approval.Done
		return r.Spent(), nil
	}
	return whole, err
}

// unapproved denies a call without an approval. Its text is not known any
// more, so there is nothing to decide.
func (p *passage) unapproved(ctx context.Context, r *approval.Request) (obstat.Decision, error) {
	_, broken := p.g.inForce(ctx, p.call)
	p.j = &judged{by: p.g, Ruling: policy.Ruling{Call: *p.call}, broken: broken}
	d := obstat.Decision{}.Refuse(byRequest(r))
	p.log(r)
	return p.hand(d, p.g.append(context.WithoutCancel(ctx), p.before...))
}

// log has it written down how a request ended, unless the process that ended it does so.
func (p *passage) log(r *approval.Request) {
	if !r.Logged {
		p.before = append(p.before, p.answered(r))
	}
}

// Log writes down how requests ended, for a face whose broker [approval.Options].Logs.
func (g *Gate) Log(ctx context.Context, ended ...*approval.Request) error {
	var records []*ledger.Record
	for _, r := range ended {
		p := &passage{g: g, call: &r.Call, digest: r.Digest, asked: r.ID, j: new(judged)}
		rec := p.answered(r)
		rec.Policy = r.Policy
		records = append(records, rec)
	}
	if len(records) == 0 {
		return nil
	}
	return g.append(context.WithoutCancel(ctx), records...)
}

// sameQuestion tells whether the policy of now still asks the question that the person
// answered: by the same rule, no more safety at stake.
func (p *passage) sameQuestion(r *approval.Request) bool {
	d := &p.j.Decision
	rule := ""
	if d.Rule != nil {
		rule = d.Rule.String()
	}
	return r.Policy == p.j.digest() || rule == r.Rule && ledger.Clip(d.Part) == r.Part && (!d.Safety || r.Safety)
}
