package server

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/obstat/obstat/client"
	"github.com/obstat/obstat/internal/keep/docs"
	"github.com/obstat/obstat/ledger"
)

// machine reports whether the token is a machine's, for all agents there.
func (a *agentID) machine() bool { return a.token.ID != "" && a.token.Agent == "" }

// bound returns the limits of the token.
func (a *agentID) bound() client.Bound {
	return client.Bound{Agent: a.token.Agent, User: a.token.User, Workspace: a.token.Workspace}
}

// maxFrom bounds how many addresses of an agent are remembered.
const maxFrom = 4

// note remembers that an agent was there, and made so many calls.
func (v *Service) note(c *caller, agent string, calls int) {
	name := ledger.ClipTo(cmp.Or(agent, c.agent.token.Name, "unnamed"), maxName) // a machine's records have any
	now := time.Now()
	v.mu.Lock()
	defer v.mu.Unlock()
	a := v.seen[name]
	if a == nil {
		if len(v.seen) > 10_000 {
			return
		}
		a = &seen{AgentSeen: client.AgentSeen{Agent: name, First: now}}
		v.seen[name] = a
	}
	a.Last, a.Token, a.news = now, c.agent.token.Name, true
	a.From = latest(c.address, a.From)
	a.Calls += calls
}

// latest puts an address before those that were seen earlier.
func latest(address string, before []string) []string {
	if address == "" || len(before) > 0 && before[0] == address {
		return before
	}
	out := append([]string{address}, slices.DeleteFunc(slices.Clone(before),
		func(b string) bool { return b == address })...)
	return out[:min(len(out), maxFrom)]
}

// agentKind is the kind of the documents of agents.
const agentKind = "agent"

// flush writes down now and then which agents were there.
func (v *Service) flush(ctx context.Context) {
	every(ctx, 5*time.Second, func() { v.flushOnce(ctx) })
}

func (v *Service) flushOnce(ctx context.Context) {
	var news []client.AgentSeen
	v.mu.Lock()
	for _, a := range v.seen {
		if a.news {
			news = append(news, a.AgentSeen)
			a.news, a.Calls = false, 0
		}
	}
	v.mu.Unlock()
	for _, n := range news {
		_, err := docs.Change(ctx, v.s.store, agentKind, n.Agent, func(a *client.AgentSeen) error {
			if a.First.IsZero() {
				a.First = n.First
			}
			a.Agent, a.Token, a.Last = n.Agent, n.Token, n.Last
			for _, address := range slices.Backward(n.From) {
				a.From = latest(address, a.From)
			}
			a.Calls += n.Calls
			return nil
		})
		if err != nil {
			v.s.opts.Log.Warn("it could not be written down that an agent was seen", "agent", n.Agent, "error", err)
		}
	}
}

// Agents returns the agents that were seen, the latest first.
func (v *Service) Agents(ctx context.Context) ([]client.AgentSeen, error) {
	v.flushOnce(ctx)
	out, err := Seen(ctx, v.s.store)
	slices.SortFunc(out, func(a, b client.AgentSeen) int { return b.Last.Compare(a.Last) })
	return out, err
}

// Seen returns the agents that a store knows, with the last findings of `obstat doctor`, for a command that has
// opened it.
func Seen(ctx context.Context, store docs.Store) ([]client.AgentSeen, error) {
	return docs.All[client.AgentSeen](ctx, store, agentKind)
}

// takeProofs stores the findings of `obstat doctor`. An agent does not prove itself: the token is a
// person's, or that of a machine.
func takeProofs(v *Service, ctx context.Context, r *request[client.Proofs]) (none, error) {
	if r.agent != nil && !r.agent.machine() {
		return none{}, fmt.Errorf("%w: an agent does not prove itself; it takes the token of a machine or of a person",
			errForbidden)
	}
	return none{}, KeepProofs(ctx, v.s.store, r.body.Proofs)
}

// KeepProofs stores the findings of `obstat doctor`, for a command that has opened the store.
func KeepProofs(ctx context.Context, store docs.Store, proofs []client.Proof) error {
	if len(proofs) > 100 {
		return bad("100 agents at a time at most")
	}
	for _, p := range proofs {
		if p.Agent == "" || p.State != "holds" && p.State != "broken" && p.State != "open" {
			return bad(fmt.Sprintf("a proof names an agent and says holds, broken or open, not %q of %q", p.State, p.Agent))
		}
	}
	for _, p := range proofs {
		_, err := docs.Change(ctx, store, agentKind, p.Agent, func(a *client.AgentSeen) error {
			a.Agent, a.Doctor, a.DoctorAt = p.Agent, p.State, time.Now()
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}
