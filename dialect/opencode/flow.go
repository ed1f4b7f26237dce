package opencode

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/obstat/obstat"
)

// A Request is an ask that waits for a human.
type Request struct {
	ID         string          `json:"id"`
	SessionID  string          `json:"sessionID"`
	Permission string          `json:"permission"`
	Patterns   []string        `json:"patterns"`
	Always     []string        `json:"always"`
	Metadata   json.RawMessage `json:"metadata"`
	Tool       *ToolRef        `json:"tool,omitempty"`
}

// A ToolRef says which call of which message asks.
type ToolRef struct {
	MessageID string `json:"messageID"`
	CallID    string `json:"callID"`
}

// A Reply is what a human said.
type Reply string

// The replies.
const (
	Once   Reply = "once"
	Always Reply = "always"
	Reject Reply = "reject"
)

// A DeniedError says that a rule denies the call; nobody was asked.
type DeniedError struct {
	Rules Ruleset // those about the permission
}

// Error is the program's message to the model.
func (e *DeniedError) Error() string {
	return "The user has specified a rule which prevents you from using this specific tool call. Here are some of the relevant rules " + string(rulesJSON(e.Rules))
}

// ErrRejected says that a human said no, to this call or to another one of the
// session.
var ErrRejected = errors.New("The user rejected permission to use this specific tool call.")

// A CorrectedError says that a human said no, and what to do instead.
type CorrectedError struct{ Feedback string }

// Error is the program's message to the model.
func (e *CorrectedError) Error() string {
	return "The user rejected permission to use this specific tool call with the following feedback: " + e.Feedback
}

// A NotFoundError says that nobody waits for a reply to this request, or not any
// more.
type NotFoundError struct{ RequestID string }

// Error names the request.
func (e *NotFoundError) Error() string { return "Permission request not found: " + e.RequestID }

// BrokerOptions are for [NewBroker]; nil means the zero value.
type BrokerOptions struct {
	// Order says how rules are read. Zero: Last, the program's.
	Order Order
	// MaxPending bounds how many requests may wait at a time; one more is
	// rejected. Zero: 1,000.
	MaxPending int
	// MaxApproved bounds how many answers are remembered. Zero: 1,000.
	MaxApproved int
}

// A Broker holds the asks of one instance that wait for a human, and what was
// answered "always", until it is closed. It is safe for concurrent use.
type Broker struct {
	opts BrokerOptions

	mu       sync.Mutex
	closed   bool
	pending  []*Wait // in the order they were asked
	approved Ruleset
	known    patterns
	subs     map[*Subscription]struct{}
}

// NewBroker returns a broker that nobody has asked anything.
func NewBroker(opts *BrokerOptions) *Broker {
	b := &Broker{known: patterns{}, subs: map[*Subscription]struct{}{}}
	if opts != nil {
		b.opts = *opts
	}
	if b.opts.Order != First {
		b.opts.Order = Last
	}
	if b.opts.MaxPending <= 0 {
		b.opts.MaxPending = 1000
	}
	if b.opts.MaxApproved <= 0 {
		b.opts.MaxApproved = 1000
	}
	return b
}

// A Wait is a request that waits for its reply.
type Wait struct {
	Request Request

	broker *Broker
	rules  Ruleset
	done   chan struct{}
	err    error // set before done is closed
}

// Done is closed when the request is answered.
func (w *Wait) Done() <-chan struct{} { return w.done }

// Err returns nil if the call may run, and ErrRejected or a CorrectedError if it
// may not; before Done it returns ErrRejected.
func (w *Wait) Err() error {
	select {
	case <-w.done:
		return w.err
	default:
		return ErrRejected
	}
}

// Cancel takes the request back; nobody is told.
func (w *Wait) Cancel() {
	w.broker.mu.Lock()
	defer w.broker.mu.Unlock()
	w.broker.take(w, ErrRejected)
}

// Ask asks and waits: nil means that the call may run. A context that ends takes
// the request back, and the call may not run.
func (b *Broker) Ask(ctx context.Context, req Request, rules Ruleset) error {
	w, err := b.Put(req, rules)
	if err != nil || w == nil {
		return err
	}
	select {
	case <-w.Done():
		return w.Err()
	case <-ctx.Done():
		w.Cancel()
		return fmt.Errorf("%w (%w)", ErrRejected, context.Cause(ctx))
	}
}

// Put evaluates all patterns of a request first: any that is denied denies the
// request, if all are allowed both results are nil, and else the one request
// waits with all its patterns. A request without patterns is about everything.
//
// What the rules deny is denied, whatever was answered before: there the program
// lets an answer lift a rule.
func (b *Broker) Put(req Request, rules Ruleset) (*Wait, error) {
	if len(req.Patterns) == 0 {
		req.Patterns = []string{"*"}
	}
	if req.Always == nil {
		req.Always = []string{}
	}
	if req.Metadata == nil {
		req.Metadata = json.RawMessage("{}")
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	switch v := b.evaluate(&req, rules); {
	case v == obstat.Deny:
		return nil, &DeniedError{about(b.opts.Order, rules, req.Permission)}
	case v == obstat.Allow:
		return nil, nil
	case b.closed || len(b.pending) >= b.opts.MaxPending:
		return nil, ErrRejected
	}
	if req.ID == "" {
		req.ID = newID("per_")
	}
	if b.find(req.ID) != nil {
		return nil, fmt.Errorf("%w (a request %s waits already)", ErrRejected, req.ID)
	}
	w := &Wait{Request: req, broker: b, rules: rules, done: make(chan struct{})}
	b.pending = append(b.pending, w)
	b.publish(Event{Type: EventAsked, Properties: req})
	return w, nil
}

// newID returns an identifier that nobody can guess.
func newID(prefix string) string {
	var b [16]byte
	rand.Read(b[:]) // never fails
	return prefix + hex.EncodeToString(b[:])
}

// ReplyIn is [Broker.Reply] for a request of one session, or of any if none is
// named.
func (b *Broker) ReplyIn(session, id string, r Reply, message string) error {
	if session != "" {
		b.mu.Lock()
		w := b.find(id)
		b.mu.Unlock()
		if w == nil || w.Request.SessionID != session {
			return &NotFoundError{id}
		}
	}
	return b.Reply(id, r, message)
}

// evaluate returns the strictest answer to the patterns of a request.
func (b *Broker) evaluate(req *Request, rules Ruleset) obstat.Verdict {
	out := obstat.Allow
	for _, p := range req.Patterns {
		v, _ := rules.evaluate(b.opts.Order, req.Permission, p, b.known)
		if v == obstat.Ask && b.remembered(req.Permission, p) {
			v = obstat.Allow
		}
		out = min(out, v)
	}
	return out
}

// remembered tells whether an answer "always" allows a value.
func (b *Broker) remembered(permission, value string) bool {
	v, _ := b.approved.evaluate(b.opts.Order, permission, value, b.known)
	return v == obstat.Allow
}

// about returns the rules whose permission is the one asked for.
func about(o Order, rules Ruleset, permission string) Ruleset {
	out := Ruleset{}
	for i := range rules {
		if ok, err := matches(rules[i].tool(o), permission); ok || err != nil {
			out = append(out, rules[i])
		}
	}
	return out
}

// Pending returns the requests that wait, oldest first.
func (b *Broker) Pending() []Request {
	b.mu.Lock()
	defer b.mu.Unlock()
	out := make([]Request, len(b.pending))
	for i, w := range b.pending {
		out[i] = w.Request
	}
	return out
}

// Approved returns what was answered "always".
func (b *Broker) Approved() Ruleset {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.approved)
}

func (b *Broker) find(id string) *Wait {
	for _, w := range b.pending {
		if w.Request.ID == id {
			return w
		}
	}
	return nil
}

// take ends a wait, once; false means that somebody was first.
func (b *Broker) take(w *Wait, err error) bool {
	i := slices.Index(b.pending, w)
	if i < 0 {
		return false
	}
	b.pending = slices.Delete(b.pending, i, i+1)
	w.err = err
	close(w.done)
	return true
}

// settle answers one request and tells whoever listens.
func (b *Broker) settle(w *Wait, r Reply, err error) {
	if b.take(w, err) {
		b.publish(Event{Type: EventReplied, Properties: Replied{w.Request.SessionID, w.Request.ID, r}})
	}
}

// Reply answers a request; the first answer counts, and any later one is a
// NotFoundError. A reject takes all other requests of the session with it, and
// only the request that was answered gets the words. "Always" is remembered and
// answers those requests of the session that it covers.
func (b *Broker) Reply(id string, r Reply, message string) error {
	if r != Once && r != Always && r != Reject {
		return fmt.Errorf("a reply is once, always or reject, not %q", r)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	w := b.find(id)
	if w == nil {
		return &NotFoundError{id}
	}
	switch r {
	case Reject:
		b.reject(w, message)
	case Once:
		b.settle(w, Once, nil)
	case Always:
		b.settle(w, Always, nil)
		b.remember(w)
	}
	return nil
}

func (b *Broker) reject(w *Wait, message string) {
	err := ErrRejected
	if message != "" {
		err = &CorrectedError{message}
	}
	b.settle(w, Reject, err)
	for _, other := range slices.Clone(b.pending) {
		if other.Request.SessionID == w.Request.SessionID {
			b.settle(other, Reject, ErrRejected)
		}
	}
}

// remember keeps what "always" allows and answers what it covers.
func (b *Broker) remember(w *Wait) {
	for _, p := range w.Request.Always {
		r := Rule{Permission: w.Request.Permission, Pattern: p, Action: obstat.Allow}
		if len(b.approved) < b.opts.MaxApproved && !slices.Contains(b.approved, r) {
			b.approved = append(b.approved, r)
		}
	}
	for _, other := range slices.Clone(b.pending) {
		if other.Request.SessionID == w.Request.SessionID && b.evaluateRemembered(other) {
			b.settle(other, Always, nil)
		}
	}
}

// evaluateRemembered tells whether what was answered "always" allows all that a
// request asks for, with nothing that its rules deny.
func (b *Broker) evaluateRemembered(w *Wait) bool {
	for _, p := range w.Request.Patterns {
		if v, _ := w.rules.evaluate(b.opts.Order, w.Request.Permission, p, b.known); v == obstat.Deny || !b.remembered(w.Request.Permission, p) {
			return false
		}
	}
	return true
}

// Close rejects everything that waits and whatever is asked later, and ends the
// subscriptions.
func (b *Broker) Close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	for _, w := range slices.Clone(b.pending) {
		b.settle(w, Reject, ErrRejected)
	}
	for s := range b.subs {
		b.drop(s)
	}
}
