package agentscope

import (
	"errors"
	"fmt"
	"sync"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/internal/textedit"
)

// A State is where a tool call stands between being asked for and being done.
type State string

// The states of a call, as the document's events name them.
const (
	Asking  State = "asking"
	Allowed State = "allowed"
	Denied  State = "denied"
)

// A Session is the runtime contract: it decides calls, parks those that ask,
// takes confirmations, and keeps accepted rules, in force at once and written
// to the context. It is safe for concurrent use.
type Session struct {
	opts SessionOptions
	d    *Dialect

	mu     sync.Mutex
	loaded *dialect.Loaded
	parked map[string]parked
}

// SessionOptions configure a Session.
type SessionOptions struct {
	World obstat.World // nil: nothing is known of the machine
	// Save, if not nil, is called with the context's new bytes whenever a rule
	// or the mode changes; an error undoes the change.
	Save func(context []byte) error
}

// parked is a call that waits for a human, bound to its bytes.
type parked struct {
	call   obstat.Call
	digest [32]byte
	safety bool
}

// A Parked says how a call that was checked stands.
type Parked struct {
	State    State
	Decision obstat.Decision
	// Suggested are the rules that come with an ask.
	Suggested []obstat.Offer
}

// A Confirmation is what a human said to a parked call. Tool and Input are the
// call as the human saw it: another call is another question.
type Confirmation struct {
	ID        string
	Tool      string
	Input     []byte
	Confirmed bool
	Rules     []obstat.Rule // accepted rules, in force from now on
}

// ErrNotParked is the error of a confirmation for a call that does not ask.
var ErrNotParked = errors.New("no call of that id is waiting for a confirmation")

// NewSession starts a session on a context.
func NewSession(d *Dialect, in *dialect.Input, opts *SessionOptions) (*Session, error) {
	l, err := dialect.Load(d, in)
	if err != nil {
		return nil, err
	}
	s := &Session{d: d, loaded: l, parked: map[string]parked{}}
	if opts != nil {
		s.opts = *opts
	}
	return s, nil
}

// Context returns the context as it is now, byte for byte.
func (s *Session) Context() []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]byte(nil), s.loaded.Input.Files[0].Data...)
}

// Check decides a call. One that asks is parked under id until it is confirmed.
func (s *Session) Check(id string, call *obstat.Call) Parked {
	s.mu.Lock()
	defer s.mu.Unlock()
	d := s.loaded.Policy.Decide(call, s.opts.World)
	p := Parked{State: Denied, Decision: d}
	switch d.Verdict {
	case obstat.Allow:
		p.State = Allowed
	case obstat.Ask:
		p.State, p.Suggested = Asking, s.loaded.Offers(call, s.opts.World, &d)
		s.parked[id] = parked{*call, call.Digest(), d.Safety}
	}
	return p
}

// Confirm takes a human's answer. A confirmed call is decided once more: it is
// bound to the tool and input that were parked, deny rules still hold, and so
// does a mode that was tightened meanwhile.
func (s *Session) Confirm(c *Confirmation) (State, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p, ok := s.parked[c.ID]
	if !ok {
		return Denied, fmt.Errorf("%q: %w", c.ID, ErrNotParked)
	}
	seen := obstat.Call{Tool: c.Tool, Input: c.Input}
	if seen.Digest() != p.digest {
		return Denied, fmt.Errorf("%q was confirmed as another call than the one that asked; ask again", c.ID)
	}
	if !c.Confirmed {
		delete(s.parked, c.ID)
		return Denied, nil
	}
	if d := s.loaded.Policy.Decide(&p.call, s.opts.World); d.Verdict == obstat.Deny {
		delete(s.parked, c.ID)
		return Denied, fmt.Errorf("denied meanwhile: %s", d.Reason())
	}
	if err := s.accept(&p.call, c.Rules); err != nil {
		return Asking, err
	}
	delete(s.parked, c.ID)
	return Allowed, nil
}

// accept writes rules to the context and puts them in force. A rule that allows
// has to be about the call that was confirmed.
func (s *Session) accept(call *obstat.Call, rules []obstat.Rule) error {
	if len(rules) == 0 {
		return nil
	}
	file := s.loaded.Input.Files[0]
	for i := range rules {
		r := &rules[i]
		if r.Verdict == obstat.Allow && !covers(r, call, s.opts.World, s.d) {
			return fmt.Errorf("the rule %s is not about the call that was confirmed", r)
		}
		data, err := s.d.AddRule(&file, &obstat.Offer{Rule: *r})
		if err != nil {
			return err
		}
		file.Data = data
	}
	return s.swap(file)
}

// covers tells whether an allow rule matches the call.
func covers(r *obstat.Rule, call *obstat.Call, world obstat.World, d *Dialect) bool {
	p := &obstat.Program{Mode: "m", View: viewName, Rules: map[string][]obstat.Rule{"r": {*r}},
		Pipelines: map[obstat.Mode]obstat.Pipeline{"m": {Stages: []obstat.Stage{obstat.Match{Name: "r", Rules: "r"}}}}}
	pol, err := obstat.Compile(p, &obstat.Options{Library: d.Library()})
	return err == nil && pol.Decide(call, world).Rule != nil
}

// swap loads the changed context and, if that works, saves it and uses it.
func (s *Session) swap(file dialect.File) error {
	in := *s.loaded.Input
	in.Files = []dialect.File{file}
	l, err := dialect.Load(s.d, &in)
	if err != nil {
		return err
	}
	if s.opts.Save != nil {
		if err := s.opts.Save(file.Data); err != nil {
			return err
		}
	}
	s.loaded = l
	return nil
}

// SetMode switches the mode while running.
func (s *Session) SetMode(mode obstat.Mode) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	file := s.loaded.Input.Files[0]
	data, err := textedit.JSON.Set(file.Data, string(mode), "mode")
	if err != nil {
		return err
	}
	file.Data = data
	return s.swap(file)
}

// Waits tells whether a call need not be put to the human by itself because a
// suggestion that was already shown would settle it; a safety ask always is.
func (s *Session) Waits(call *obstat.Call, shown []obstat.Offer, d *obstat.Decision) bool {
	if d.Safety {
		return false
	}
	for i := range shown {
		if covers(&shown[i].Rule, call, s.opts.World, s.d) {
			return true
		}
	}
	return false
}
