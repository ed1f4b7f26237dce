package hookrun

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/agent"
	"github.com/obstat/obstat/internal/statedir"
	"github.com/obstat/obstat/ledger"
	"github.com/obstat/obstat/store"
)

// A turn is one call on its way to a decision.
type turn struct {
	*run
	event *agent.Event
	world obstat.Recorder
	home  string
	found []string // see places
	// accepted are rules that the agent is to remember.
	accepted []obstat.Offer
}

// decide answers the call by the policies of its project and of the directory
// that the agent started the hook in: a call can choose where it is made, so
// the stricter of the two counts.
func (t *turn) decide() obstat.Decision {
	t.world.Of = t.World
	t.home, _ = t.World.Home("")
	if c := t.event.Call; c.Dir == "" { // not said: rules for paths start somewhere
		c.Dir, _ = t.Getwd()
	}
	policies, err := t.policies()
	if err != nil {
		return t.record(t.failed("the policy cannot be loaded: "+firstProblem(err)), obstat.Deny, nil)
	}
	d, by := t.judge(policies)
	said := d.Verdict // by the policy, for whoever decides it again
	q := &Ask{Event: t.event, Self: t.protect(policies, &d)}
	if d.Verdict == obstat.Ask {
		q.Native = t.event.CanAsk(t.hookOptions())
	}
	other := d.Verdict == obstat.Ask && (!q.Native || !q.Self && t.mayBeGranted())
	if other && t.Wait != nil {
		recorded := false
		d, recorded = t.ask(q, d, by, policies)
		t.accepted = t.remembered(q)
		if recorded {
			return d
		}
	}
	return t.record(d, said, by)
}

// remembered returns the rules of a grant that the agent is to remember: those that
// were granted, or, where that was this very call, what the agent suggests for no
// more than that.
func (t *turn) remembered(q *Ask) []obstat.Offer {
	if !t.Remember || q.Scope == "" {
		return nil
	}
	if len(q.Accepted) > 0 {
		return q.Accepted
	}
	s, ok := t.event.Exact()
	if !ok {
		return nil
	}
	s.Scope = q.Scope
	return []obstat.Offer{s}
}

// mayBeGranted tells whether anything is granted in the store, without opening
// it.
func (t *turn) mayBeGranted() bool {
	dir, err := statedir.Dir(t.Getenv)
	if err != nil {
		return false
	}
	_, err = os.Lstat(statedir.Grants(statedir.Store(dir)))
	return err == nil
}

func (t *turn) hookOptions() *agent.Options { return &agent.Options{Interactive: t.Interactive} }

// failed denies a call that could not be decided.
func (t *turn) failed(why string) obstat.Decision {
	return obstat.Decision{Tool: t.event.Call.Tool, Faults: []obstat.Fault{{Msg: why}}}
}

// judge returns the strictest decision, and whose it is. Of a policy below a
// project's own only the rules count, not what it says where there is none, and
// where there is nothing but such policies they allow nothing.
func (t *turn) judge(policies []*policy) (out obstat.Decision, by *policy) {
	own := false
	for _, p := range policies {
		call := t.put(p)
		d := p.Policy.Decide(&call, &t.world)
		own = own || !p.Inner
		if p.Inner && d.Stage == "default" && len(d.Faults) == 0 {
			continue
		}
		if by == nil || d.Verdict < out.Verdict {
			out, by = d, p
		}
	}
	if by == nil || !own && out.Verdict == obstat.Allow {
		place := cmp.Or(t.places()...)
		if len(policies) > 0 {
			place = "the directory that the agent runs in"
		}
		return obstat.Decision{Verdict: obstat.Ask, Tool: t.event.Call.Tool, Stage: "no policy",
			Note: "there is no policy for " + place + "; write an obstat.json there, or name one with --policy"}, nil
	}
	return out, by
}

// mode returns the mode of a policy that the call is made in; "" is the policy's
// own. Another agent's word is no mode of this policy.
func (t *turn) mode(p *obstat.Program) obstat.Mode {
	mode := t.event.Call.Mode
	if _, has := p.Pipelines[mode]; !has || t.event.Agent != agent.ClaudeCode {
		return ""
	}
	return mode
}

// firstProblem returns the first line of an error.
func firstProblem(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	return line
}

// record writes the decision down before anybody is told. A call that cannot be
// written down is not allowed.
func (t *turn) record(d obstat.Decision, said obstat.Verdict, by *policy) obstat.Decision {
	if t.NoLedger {
		return d
	}
	m := &ledger.Made{Call: t.event.Call, Decision: &d, Said: said, Given: d.Input, World: t.world.Seen()}
	if by != nil {
		m.Policy, m.Mode = by.Policy.Digest(), d.Mode
	}
	rec := m.Record()
	rec.Nanos = time.Since(t.began).Nanoseconds()
	if err := t.append(rec); err != nil && d.Verdict != obstat.Deny {
		return t.failed("the decision cannot be written down, and nothing is allowed without that: " + firstProblem(err))
	}
	return d
}

// append puts a record at the end of the ledger, durably, its secrets masked.
func (t *turn) append(r *ledger.Record) error {
	dir, err := statedir.Dir(t.Getenv)
	if err != nil {
		return err
	}
	db := statedir.Store(dir)
	key, err := ledger.LoadKey(ledger.KeyPath(db))
	if errors.Is(err, fs.ErrNotExist) { // nobody has kept anything yet
		if err = os.MkdirAll(dir, 0o700); err == nil {
			key, err = ledger.LoadKey(ledger.KeyPath(db))
		}
	}
	if err != nil {
		return err
	}
	m, err := ledger.NewMasker(&ledger.MaskOptions{Key: key})
	if err != nil {
		return err
	}
	m.Mask(r)
	log, err := store.Log(context.Background(), db, t.Getenv)
	if err != nil {
		return err
	}
	return errors.Join(log.Append(context.Background(), r), log.Close())
}
