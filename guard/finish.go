package guard

import (
	"context"
	"fmt"
	"time"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/approval"
	"github.com/obstat/obstat/ledger"
)

// finish writes the decision down and hands it out. What cannot be written down
// is denied.
func (t *turn) finish(ctx context.Context, d obstat.Decision) (obstat.Decision, error) {
	g := t.g
	if t.j.broken != nil {
		d.Note = join(d.Note, brokenWords(t.j.broken))
	}
	rec := t.record(&d)
	rec.Nanos = time.Since(t.began).Nanoseconds()
	err := g.append(context.WithoutCancel(ctx), append(t.before, rec)...)
	g.mu.Lock()
	g.lost = err
	g.mu.Unlock()
	if err != nil {
		err = fmt.Errorf("the decision could not be written to the ledger: %w", err)
		return d.Refuse(err.Error() + "; what cannot be written down does not run"), err
	}
	return d, nil
}

// Resume takes up a request whose asker ended before it was answered, perhaps in
// another process: it waits for the answer and decides the request's call, by
// the policy of now. What was decided once is not decided again: an approval is
// for one run.
func (g *Guard) Resume(ctx context.Context, request string) (obstat.Decision, error) {
	began := time.Now()
	r, err := g.broker.Wait(ctx, request)
	if err != nil {
		return obstat.Decision{Note: err.Error()}, err
	}
	t := &turn{g: g, call: &r.Call, began: began, world: &obstat.Recorder{Of: g.opts.World}, request: r.ID}
	t.j = g.judge(ctx, t.call, t.world)
	d := t.j.d
	if d.Verdict != obstat.Ask {
		return t.finish(ctx, d)
	}
	switch used, err := t.used(ctx, r); {
	case err != nil:
		d = d.Refuse("whether it ran before cannot be looked up: " + err.Error())
	case used:
		d = d.Refuse("this request was decided before, and an answer is for one run")
	case len(d.Faults) > 0:
		d = d.Refuse("nobody can approve a call that could not be judged")
	default:
		t.before = append(t.before, t.answered(r))
		d = t.settle(ctx, d, r)
	}
	return t.finish(ctx, d)
}

// used tells whether the ledger has a decision on a request.
func (t *turn) used(ctx context.Context, r *approval.Request) (bool, error) {
	for rec, err := range t.g.opts.Store.Records(ctx, ledger.Query{Kind: ledger.Decision, Session: r.Call.Session}) {
		if err != nil {
			return false, err
		}
		if rec.Request == r.ID {
			return true, nil
		}
	}
	return false, nil
}
