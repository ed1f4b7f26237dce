// Package hookwait answers asks of agents that cannot ask anybody themselves:
// the hook waits while a person answers in `obstat ask` in another terminal.
//
// It owns when waiting makes sense and what the model is told when nobody
// came; how long the agents wait is known to package hookrun. Putting the
// request, taking answers and keeping grants is the gate's work; who sits at the
// desk is known to package desk.
package hookwait

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"time"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/approval"
	"github.com/obstat/obstat/gate"
	"github.com/obstat/obstat/internal/desk"
	"github.com/obstat/obstat/internal/hookrun"
	"github.com/obstat/obstat/store"
)

// Options say how an ask is put to humans.
type Options struct {
	World   obstat.World
	DB      string // the database file
	Waiting hookrun.Waiting
	// Notify tells somebody that there is something to answer; nil tells nobody.
	Notify func(title, text string)

	// open and taken are for tests; nil is [store.Open] and [desk.Taken].
	open  func(ctx context.Context, db string) (store.Store, error)
	taken func(db string) bool
}

// A request is one ask at work.
type request struct {
	*Options
	*hookrun.Ask
}

// Run settles an ask. recorded tells whether what came of it is in the ledger
// already. Whatever goes wrong is a denial with words for the model.
func Run(ctx context.Context, a *hookrun.Ask, o *Options) (d obstat.Decision, recorded bool) {
	r := &request{o, a}
	if r.Call.User == "" {
		if u, err := user.Current(); err == nil {
			r.Call.User = u.Username
		}
	}
	if r.Native {
		return r.granted(ctx), false
	}
	waits := !r.Waiting.Off && (r.Waiting.Always || r.somebody()) && r.Limit > 0
	_, err := os.Stat(r.DB)
	if errors.Is(err, fs.ErrNotExist) && !waits && r.open == nil {
		return r.nobody(), false // nothing was ever granted, either
	}
	s, err := r.store(ctx)
	if err != nil {
		return r.refuse("nobody can be asked, for the store cannot be opened: " + err.Error()), false
	}
	defer s.Close()
	g, err := r.gate(ctx, s)
	if err != nil {
		return r.refuse("nobody can be asked: " + err.Error()), false
	}
	if d, gr := g.Granted(ctx, &r.Call); gr != nil && !r.Self {
		r.accept(gr)
		return d, false
	}
	if !waits {
		return r.nobody(), false
	}
	d, err = g.Authorize(ctx, &r.Call)
	switch {
	case err != nil:
		return d, false
	case d.Verdict == obstat.Allow && d.Stage != obstat.StageApproval, d.Verdict == obstat.Ask:
		// The policy has changed, or sees the call with other eyes; nobody approved.
		return r.Decision.Refuse("what decides this call has changed meanwhile; make the call again"), true
	}
	return d, true
}

// lookup is how long it may take to see what was granted, while an agent that
// can ask by itself waits.
const lookup = 5 * time.Second

// granted returns the ask, for the agent to put to somebody, or that it was
// granted before. Whatever goes wrong leaves it an ask.
func (r *request) granted(ctx context.Context) obstat.Decision {
	if r.Self {
		return r.Decision
	}
	ctx, cancel := context.WithTimeout(ctx, lookup)
	defer cancel()
	s, err := r.store(ctx)
	if err != nil {
		return r.Decision
	}
	defer s.Close()
	g, err := r.gate(ctx, s)
	if err != nil {
		return r.Decision
	}
	if d, gr := g.Granted(ctx, &r.Call); gr != nil {
		r.accept(gr)
		return d
	}
	return r.Decision
}

// accept says which rules were granted, as far as they are in the notation of the
// agent's own.
func (r *request) accept(gr *approval.Grant) {
	r.Scope = string(gr.Scope)
	if len(r.Policies) == 0 || r.Policies[0].Dialect.Name() != "claudecode" {
		return
	}
	for i := range gr.Rules {
		r.Accepted = append(r.Accepted, obstat.Offer{Text: gr.Rules[i].Text, Scope: r.Scope})
	}
}

// needs begins every denial of a call that nobody was asked about.
const needs = "this call needs a person's approval; no person has refused it, but "

// refuse denies a call that nobody was asked about, with why it asks.
func (r *request) refuse(why string) obstat.Decision {
	return r.Decision.Refuse(needs + why)
}

// nobody denies at once, and says how to change that.
func (r *request) nobody() obstat.Decision {
	return r.refuse("nobody is there to ask: do something else, or tell the user to run `obstat ask` in another terminal and try again")
}

func (r *request) somebody() bool {
	if r.taken != nil {
		return r.taken(r.DB)
	}
	return desk.Taken(r.DB)
}

func (r *request) store(ctx context.Context) (store.Store, error) {
	if r.open != nil {
		return r.open(ctx, r.DB)
	}
	return store.Open(ctx, r.DB)
}

// gate returns a gate for this one call: the policy that asks, and above it
// the others, so that changed arguments are put to all of them.
func (r *request) gate(ctx context.Context, s gate.Store) (*gate.Gate, error) {
	opts := gate.Options{Store: s, World: r.World, NoStart: true, Guarded: r.Guarded, Approval: approval.Options{Timeout: r.Limit, Asked: r.asked}}
	policies := []gate.Source{noPolicy{}}
	if len(r.Policies) > 0 {
		policies = nil
	}
	for _, l := range r.Policies {
		policies = append(policies, loaded{l})
	}
	var g *gate.Gate
	for i := len(policies) - 1; i >= 0; i-- {
		var err error
		opts.Policy, opts.Parent = policies[i], g
		if g, err = gate.Open(ctx, opts); err != nil {
			return nil, err
		}
	}
	return g, nil
}

// asked tells somebody of a request. The text names the agent and the tool and
// nothing of the call itself, which may hold secrets.
func (r *request) asked(q *approval.Request) {
	if r.Notify == nil {
		return
	}
	who := plain(r.Event.Agent)
	if who == "" {
		who = "an agent"
	}
	r.Notify("obstat: "+who+" asks", fmt.Sprintf("%s wants to use %s; answer with `obstat ask`, %s left", who, plain(q.Call.Tool), time.Until(q.Expires).Round(time.Second)))
}

// plain shortens a name to what is fit for a notification.
func plain(s string) string {
	out := make([]rune, 0, 40)
	for _, ch := range s {
		if len(out) == 40 {
			break
		}
		if ch < 0x20 || ch == 0x7f || ch == '<' || ch == '&' || ch == '%' {
			ch = '_'
		}
		out = append(out, ch)
	}
	return string(out)
}
