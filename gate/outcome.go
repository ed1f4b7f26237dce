package gate

import (
	"context"
	"time"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/ledger"
)

// An Outcome is the end of a call that a gate has decided.
type Outcome struct {
	State  string        // ran, failed, not run
	Took   time.Duration // zero is not known
	Result []byte        // of which a digest is written down
	Error  string        // the error, in the agent's words
	// Masked are the secrets of Result that the model does not get to see.
	Masked []ledger.Masked
}

// Printed returns a call's result without its secrets, for the model, and a list of them; nil where there are none.
func (g *Gate) Printed(result []byte) ([]byte, []ledger.Masked) {
	g.mu.Lock()
	mask, err := g.masker()
	g.mu.Unlock()
	if err != nil {
		mask = ledger.NewMasker(nil) // without its key there are no digests, and the secrets are masked all the same
	}
	return mask.Printed(result)
}

// Refused writes down that a call was denied before any policy was asked, and why.
func (g *Gate) Refused(ctx context.Context, c *obstat.Call, why string) error {
	d := obstat.Decision{Tool: c.Tool, Faults: []obstat.Fault{{Msg: why}}}
	m := &ledger.Made{Call: c, Decision: &d, World: &obstat.Snapshot{}}
	return g.append(context.WithoutCancel(ctx), m.Record())
}

// Report writes down the outcome of a call: with the digest of its result, never the result itself.
func (g *Gate) Report(ctx context.Context, c *obstat.Call, o *Outcome) error {
	if o.State == "ran" || o.State == "failed" {
		g.ran(c)
	}
	g.mu.Lock()
	mask, err := g.masker()
	g.mu.Unlock()
	if err != nil {
		return err
	}
	return g.append(context.WithoutCancel(ctx), &ledger.Record{Time: time.Now(), Kind: ledger.Outcome, Agent: c.Agent, Session: c.Session, User: c.User, Dir: c.Dir, Tool: c.Tool,
		Call: c.DigestText(), Verdict: o.State, Nanos: o.Took.Nanoseconds(), Reason: ledger.ClipTo(o.Error, 500), Detail: mask.Result(o.Result, o.Masked)})
}
