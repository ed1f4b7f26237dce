package hook

import (
	"context"
	"errors"
	"path/filepath"
	"time"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/agent"
	"github.com/obstat/obstat/gate"
	"github.com/obstat/obstat/internal/guard/confined"
	"github.com/obstat/obstat/internal/guard/undo"
	"github.com/obstat/obstat/internal/keep/statedir"
)

// lastWords is how long a hook whose time is up may take to write that down.
const lastWords = time.Second

// errLate is the error of a record of a decision that the agent was not told any more.
var errLate = errors.New("the time is up: the call was denied")

// gateFor opens a gate that only writes down.
func (r *run) gateFor(e *agent.Event) (*gate.Gate, *turn, error) {
	t := &turn{run: r, event: e}
	dir, err := statedir.Dir(r.Getenv)
	if err != nil {
		return nil, nil, err
	}
	t.db = statedir.Store(dir)
	o := gate.Options{Policy: gate.Fixed{}, World: r.World, Getenv: r.Getenv, NoStart: true, Ledger: t,
		NoRecord: r.NoLedger, Sessions: gate.SessionDir(statedir.Sessions(dir))}
	if r.ledger != nil {
		o.Ledger = r.ledger
	}
	g, err := gate.Open(context.Background(), o)
	return g, t, err
}

// report writes down the outcome of a call, and returns its output without secrets where the agent can show the model
// that instead. Problems go unheard: the call is over.
func (r *run) report(e *agent.Event) *agent.Options {
	g, t, err := r.gateFor(e)
	if err != nil {
		return nil
	}
	t.complete(e.Call)
	r.ended(e.Call)
	if t.db != "" && e.Done.State != agent.NotRun {
		confined.Ran(filepath.Dir(t.db), e.Who().Name, e.ToolUse, time.Now())
	}
	o := &gate.Outcome{State: e.Done.State, Took: e.Done.Took, Result: e.Done.Result, Error: e.Done.Error}
	out := &agent.Options{}
	if !r.NoMask && e.Who().Replaces(e.Name) && len(o.Result) > 0 {
		out.Printed, o.Masked = g.Printed(o.Result)
		out.Secrets = len(o.Masked)
	}
	_ = g.Report(context.Background(), e.Call, o)
	return out
}

// ended notes how the files look that a call has changed. Without it, undo cannot tell later changes from these.
func (r *run) ended(c *obstat.Call) {
	if s, err := undo.Store(r.Getenv); err == nil {
		_, _ = s.End(c.DigestText(), c.Session)
	}
}

// record writes down a denial that no policy has spoken: of a payload that cannot be read, for example.
// Where the time is up, that is the call's one entry.
func (r *run) record(why string) {
	if !r.late() {
		_ = r.refused(why)
	}
}

func (r *run) refused(why string) error {
	r.mu.Lock()
	e := r.event
	r.mu.Unlock()
	g, _, err := r.gateFor(e)
	if err != nil || e.Done != nil {
		return err
	}
	c := e.Call
	if c == nil {
		c = &obstat.Call{Agent: e.Agent}
	}
	return g.Refused(context.Background(), c, why)
}

// recordLate writes down that the time was up, in the little that is left: the ledger itself may have
// made the hook late.
func (r *run) recordLate() {
	done := make(chan error, 1)
	go func() { done <- r.refused("it took longer than " + r.deadline.String()) }()
	select {
	case <-done:
	case <-time.After(lastWords):
	}
}

// late tells whether the agent was answered before the decision came.
func (r *run) late() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.answered
}
