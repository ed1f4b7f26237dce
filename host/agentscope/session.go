// Package agentscope is AgentScope's confirmation flow on a gate: a session
// checks the calls of an agent, parks those that ask, and takes the human's
// confirmations, with accepted rules, back.
//
// It owns the document's states and the context that the session runs on:
// accepted rules and mode changes are written to its bytes. Deciding, self-
// protection, asking and the ledger are the gate's; the meaning of a context is
// package dialect/agentscope's.
package agentscope

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/approval"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/dialect/agentscope"
	"github.com/obstat/obstat/gate"
	"github.com/obstat/obstat/internal/format/jsonx"
	"github.com/obstat/obstat/internal/format/textedit"
	"github.com/obstat/obstat/policy"
)

// A State is where a tool call stands between being asked for and being done.
type State string

// The states of a call, as the document's events name them.
const (
	Asking  State = "asking"
	Allowed State = "allowed"
	Denied  State = "denied"
)

// Options configure a Session; nil means the zero value.
type Options struct {
	// Gate configures the gate; its Policy is the session's own. A call waits for
	// its confirmation for a day unless Gate.Approval.Timeout says otherwise.
	Gate gate.Options
	// Save, if not nil, is called with the context's new bytes whenever a rule
	// or the mode changes; an error undoes the change.
	Save func(context []byte) error
}

// A Session is the runtime contract of the document. It is safe for concurrent
// use.
type Session struct {
	gate    *gate.Gate
	context *contextFile

	mu     sync.Mutex
	parked map[string]*approval.Request // by the host's id of the call
}

// A Parked says how a call that was checked stands.
type Parked struct {
	State    State
	Decision obstat.Decision
	// Suggested are the rules that come with an ask.
	Suggested []obstat.Offer
}

// A Confirmation is a human's answer to a parked call. Tool and Input are the
// call as the human saw it: another call is another question.
type Confirmation struct {
	ID        string
	Tool      string
	Input     []byte
	Confirmed bool
	Rules     []obstat.Rule // accepted rules, in force from now on
	By        string        // name for the ledger; "" is "user"
}

// ErrNotParked is the error of a confirmation for a call that does not ask.
var ErrNotParked = errors.New("no call of that id is waiting for a confirmation")

// Open starts a session on a context.
func Open(ctx context.Context, d *agentscope.Dialect, in *dialect.Input, opts *Options) (*Session, error) {
	var o Options
	if opts != nil {
		o = *opts
	}
	l, err := dialect.Load(d, in)
	if err != nil {
		return nil, err
	}
	s := &Session{context: &contextFile{loaded: l, save: o.Save}, parked: map[string]*approval.Request{}}
	o.Gate.Policy = s.context
	if o.Gate.Approval.Timeout == 0 {
		o.Gate.Approval.Timeout = 24 * time.Hour
	}
	s.gate, err = gate.Open(ctx, o.Gate)
	return s, err
}

// Close ends the session's gate.
func (s *Session) Close() { s.gate.Close() }

// Context returns the context as it is now, byte for byte.
func (s *Session) Context() []byte { return slices.Clone(s.context.now().Input.Files[0].Data) }

// Check decides a call. One that asks is parked under id until it is confirmed.
func (s *Session) Check(ctx context.Context, id string, call *obstat.Call) Parked {
	d, _ := s.gate.Authorize(ctx, call, &gate.Terms{Ask: gate.Put}) // an error comes with a decision that denies
	switch {
	case d.Request != nil:
		s.mu.Lock()
		s.parked[id] = d.Request
		s.mu.Unlock()
		return Parked{Asking, d.Decision, d.Offers}
	case d.Verdict == obstat.Allow:
		return Parked{State: Allowed, Decision: d.Decision}
	}
	return Parked{State: Denied, Decision: d.Decision}
}

// Confirm takes a human's answer. A confirmed call is decided once more: it is
// bound to the tool and input that were parked, deny rules still hold, and so
// does a mode that was tightened meanwhile.
func (s *Session) Confirm(ctx context.Context, c *Confirmation) (State, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r, ok := s.parked[c.ID]
	if !ok {
		return Denied, fmt.Errorf("%q: %w", c.ID, ErrNotParked)
	}
	if c.Tool != r.Call.Tool || !sameInput(c.Input, r.Call.Input) {
		return Denied, fmt.Errorf("%q was confirmed as another call than the one that asked; ask again", c.ID)
	}
	a := approval.Answer{By: c.By, Allow: c.Confirmed}
	if a.By == "" {
		a.By = "user"
	}
	var stricter []obstat.Offer
	if c.Confirmed {
		var err error
		if stricter, err = take(r, c.Rules, &a); err != nil {
			return Asking, err
		}
	}
	if _, err := s.gate.Broker().Answer(ctx, r.ID, a); err != nil {
		return Asking, err
	}
	delete(s.parked, c.ID)
	if err := s.context.Accept(ctx, &gate.Accepted{Rules: stricter}); err != nil {
		return Denied, err
	}
	d, err := s.gate.Resume(ctx, r.ID, nil)
	switch {
	case err != nil:
		return Denied, err
	case d.Verdict == obstat.Allow:
		return Allowed, nil
	case c.Confirmed:
		return Denied, fmt.Errorf("denied meanwhile: %s", d.Reason())
	}
	return Denied, nil
}

// sameInput tells whether two inputs are equal but for the spaces and the order of their keys: a confirmation comes
// back as its sender's JSON writer has it. The input that was asked about runs.
func sameInput(a, b []byte) bool {
	one, err := jsonx.Canonical(a)
	other, otherErr := jsonx.Canonical(b)
	return bytes.Equal(a, b) || err == nil && otherErr == nil && bytes.Equal(one, other)
}

// take puts accepted rules into an answer: those that were suggested as offers,
// another one as the human's own, which the gate tries before it counts. Rules
// that ask or deny are returned: they only tighten.
func take(r *approval.Request, rules []obstat.Rule, a *approval.Answer) (stricter []obstat.Offer, err error) {
	for i := range rules {
		rule := &rules[i]
		if rule.Verdict != obstat.Allow {
			stricter = append(stricter, obstat.Offer{Rule: *rule})
			continue
		}
		offer, part := suggested(r, rule)
		switch {
		case offer == 0 && a.Offer == 0 && a.Rule == nil:
			a.Rule, err = json.Marshal(rule)
		case offer == 0 || a.Rule != nil:
			err = fmt.Errorf("the rule %s was not suggested; such a rule comes alone", rule)
		default:
			err = add(r, a, offer, part)
		}
		if err != nil {
			return nil, err
		}
		a.Scope = approval.Always
	}
	return stricter, nil
}

// suggested returns which offer of the request a rule is, and which part of it; 0 is none. A rule that
// was changed since it was shown is none, whatever it is called.
func suggested(r *approval.Request, rule *obstat.Rule) (offer, part int) {
	for i := range r.Offers {
		for j, o := range r.Offers[i].Rules() {
			shown, err := obstat.ParseRule(o.Rule)
			if err == nil && shown.Tool == rule.Tool && shown.Field == rule.Field && shown.Pattern == rule.Pattern &&
				o.Text == rule.Source {
				return i + 1, j + 1
			}
		}
	}
	return 0, 0
}

// add accepts a part of an offer. Of `npm install a && docker run alpine` the two suggestions are one
// offer, since the call takes both, and each of them can be accepted alone.
func add(r *approval.Request, a *approval.Answer, offer, part int) error {
	several := len(r.Offers[offer-1].And) > 0
	switch {
	case several && (a.Offer == 0 || a.Offer == offer):
		a.Offer, a.Parts = offer, append(a.Parts, part)
	case several || len(a.Parts) > 0:
		return errors.New("rules of different suggestions are accepted one after the other")
	case a.Offer == 0:
		a.Offer = offer
	case a.Offer != offer && !slices.Contains(a.More, offer):
		a.More = append(a.More, offer)
	}
	return nil
}

// SetMode switches the mode while running.
func (s *Session) SetMode(mode obstat.Mode) error {
	return s.context.change(func(f *dialect.File) ([]byte, error) {
		return textedit.JSON.Set(f.Data, string(mode), append(agentscope.Path(f.Data), "mode")...)
	})
}

// Waits tells whether a call need not be put to the human by itself because a
// suggestion that was already shown would settle it; a safety ask always is.
func (s *Session) Waits(call *obstat.Call, shown []obstat.Offer, world obstat.World, d *obstat.Decision) bool {
	return !d.Safety && slices.ContainsFunc(shown, func(o obstat.Offer) bool {
		pol, err := s.context.now().With(o)
		return err == nil && pol.Decide(call, world).Verdict == obstat.Allow
	})
}

// A contextFile is the session's context as the policy of its gate.
type contextFile struct {
	save func([]byte) error

	mu      sync.Mutex
	loaded  *dialect.Loaded
	inForce *policy.InForce // of loaded; nil: not made yet
}

var _ gate.Source = (*contextFile)(nil)

func (c *contextFile) now() *dialect.Loaded {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.loaded
}

// InForce returns the context as it was changed last.
func (c *contextFile) InForce(*obstat.Call) (*policy.InForce, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.inForce == nil {
		c.inForce = policy.Of(c.loaded)
	}
	return c.inForce, nil
}

// Accept writes rules to the context and puts them in force: all of them, or none where they cannot be
// saved.
func (c *contextFile) Accept(_ context.Context, a *gate.Accepted) error {
	if len(a.Rules) == 0 {
		return nil
	}
	return c.change(func(f *dialect.File) (data []byte, err error) {
		next := *f
		for i := range a.Rules {
			if next.Data, err = c.loaded.Dialect.(dialect.Editor).AddRule(&next, &a.Rules[i]); err != nil {
				return nil, err
			}
		}
		return next.Data, nil
	})
}

// change loads the changed context and, if that works, saves it and puts it in
// force.
func (c *contextFile) change(edit func(f *dialect.File) ([]byte, error)) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	in := *c.loaded.Input
	in.Files = slices.Clone(in.Files)
	data, err := edit(&in.Files[0])
	if err != nil {
		return err
	}
	in.Files[0].Data = data
	l, err := dialect.Load(c.loaded.Dialect, &in)
	if err != nil {
		return err
	}
	if c.save != nil {
		if err := c.save(data); err != nil {
			return err
		}
	}
	c.loaded, c.inForce = l, nil
	return nil
}
