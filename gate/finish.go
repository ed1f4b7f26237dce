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

// finish writes the decision down and hands it out. What cannot be written down
// is denied.
func (t *turn) finish(ctx context.Context, d obstat.Decision) (obstat.Decision, error) {
	g := t.g
	if t.j.broken != nil && !t.j.Bounded {
		d.Note = join(d.Note, brokenWords(t.j.broken))
	}
	if err := t.remember(&d); err != nil {
		err = fmt.Errorf("what the session has done could not be kept: %w", err)
		d = d.Refuse(fault(err.Error() + "; rules hang on it"))
	}
	if silent := g.opts.Silent; silent != nil && d.Verdict == obstat.Allow {
		d.Note = join(d.Note, silent(&d))
	}
	if g.opts.NoRecord {
		return d, nil
	}
	rec := t.record(&d)
	rec.Nanos = time.Since(t.began).Nanoseconds()
	return t.hand(d, g.append(context.WithoutCancel(ctx), append(t.before, rec)...))
}

// hand returns a decision that was written down, or that it could not be.
func (t *turn) hand(d obstat.Decision, err error) (obstat.Decision, error) {
	g := t.g
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
// record that says so: who waits for that to end puts no calls meanwhile.
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

// Resume takes up a request whose asker ended before it was answered, perhaps in
// another process: it waits for the answer and decides the request's call, by
// the policy of now. What was decided once is not decided again: an approval is
// for one run.
func (g *Gate) Resume(ctx context.Context, request string) (obstat.Decision, error) {
	return g.Claim(ctx, request, approval.Claiming{})
}

// Claim does what Resume does, for a caller that says who it is, which call it is
// about to run, and that it will report the outcome; see [approval.Broker.Claim].
// An approval that was given under another policy counts where the policy of now
// asks the same question, and is used up without one where it does not.
func (g *Gate) Claim(ctx context.Context, request string, c approval.Claiming) (obstat.Decision, error) {
	broker, err := g.asks(ctx)
	if err != nil {
		return obstat.Decision{By: fault(""), Note: err.Error()}, err
	}
	r, err := broker.Wait(ctx, request)
	began := time.Now()
	if err == nil {
		r, err = g.use(ctx, r, c)
	}
	if err != nil {
		return obstat.Decision{By: fault(""), Note: err.Error()}, err
	}
	t := &turn{g: g, call: &r.Call, digest: r.Digest, began: began, world: g.world(), request: r.ID}
	if r.State != approval.Approved {
		return t.unapproved(ctx, r)
	}
	t.j = g.judge(ctx, t.call, t.world)
	d := t.j.Decision
	switch {
	case d.Verdict != obstat.Ask:
	case len(d.Faults) > 0:
		d = d.Refuse(fault("nobody can approve a call that could not be judged"))
	case !t.sameQuestion(r):
		t.log(r)
		d = d.Refuse(obstat.By{Kind: obstat.ByTimeout, Note: "it was approved under another policy, which asked for another reason; ask again"})
	default:
		t.log(r)
		d = t.settle(ctx, d, r)
	}
	return t.finish(ctx, d)
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

// unapproved denies what nobody approved. What the call said is not known any
// more, so there is nothing to decide.
func (t *turn) unapproved(ctx context.Context, r *approval.Request) (obstat.Decision, error) {
	_, broken := t.g.inForce(ctx, t.call)
	t.j = &judged{by: t.g, Ruling: policy.Ruling{Call: *t.call}, broken: broken}
	d := obstat.Decision{}.Refuse(byRequest(r))
	t.log(r)
	return t.hand(d, t.g.append(context.WithoutCancel(ctx), t.before...))
}

// log has it written down how a request ended, unless whoever ended it does so.
func (t *turn) log(r *approval.Request) {
	if !r.Logged {
		t.before = append(t.before, t.answered(r))
	}
}

// Log writes down how requests ended, for a face whose broker [approval.Options].Logs.
func (g *Gate) Log(ctx context.Context, ended ...*approval.Request) error {
	var records []*ledger.Record
	for _, r := range ended {
		t := &turn{g: g, call: &r.Call, digest: r.Digest, request: r.ID, j: new(judged)}
		rec := t.answered(r)
		rec.Policy = r.Policy
		records = append(records, rec)
	}
	if len(records) == 0 {
		return nil
	}
	return g.append(context.WithoutCancel(ctx), records...)
}

// sameQuestion tells whether the policy of now asks about a call what the person
// who answered was asked: by the same rule, no more safety at stake.
func (t *turn) sameQuestion(r *approval.Request) bool {
	d := &t.j.Decision
	rule := ""
	if d.Rule != nil {
		rule = d.Rule.String()
	}
	return r.Policy == t.j.digest() || rule == r.Rule && ledger.Clip(d.Part) == r.Part && (!d.Safety || r.Safety)
}
