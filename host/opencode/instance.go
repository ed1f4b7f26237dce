// Package opencode is opencode's way to ask on a gate: a tool asks for a
// permission, the request waits for a reply, and a client hears of both over
// HTTP.
//
// It owns the requests, replies, errors and events of the program and their HTTP
// surface ([NewHandler]). Deciding, self-protection, grants, waiting and the
// ledger are the gate's; the meaning of files and patterns is package
// dialect/opencode's.
package opencode

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/approval"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/dialect/opencode"
	"github.com/obstat/obstat/gate"
)

// A Reply is a human's answer to a request.
type Reply string

// The replies.
const (
	Once   Reply = "once"
	Always Reply = "always"
	Reject Reply = "reject"
)

// A Refused names the permission that is refused, and of its patterns the one that
// decided.
type Refused struct {
	Permission, Pattern string
	order               opencode.Order
}

// message is the document's message to the model, "" where the program speaks.
func (r *Refused) message() string {
	if r.order != opencode.First {
		return ""
	}
	return "Permission denied: " + r.Permission + " " + r.Pattern
}

// A DeniedError says that a rule denies the call, unasked.
type DeniedError struct {
	Refused
	Rules    opencode.Ruleset // those about the permission
	Decision obstat.Decision
}

// Error is the message to the model: the document's, or the program's.
func (e *DeniedError) Error() string {
	if len(e.Rules) == 0 { // self-protection or the floor
		return "This tool call is denied: " + e.Decision.Reason()
	}
	if m := e.message(); m != "" {
		return m
	}
	return "The user has specified a rule which prevents you from using this specific tool call. Here are some of the relevant rules " + e.Rules.JSON()
}

// ErrRejected says that a human said no, to this call or to another one of the
// session.
//
//lint:ignore ST1005 these are opencode's own words, which the model reads
var ErrRejected = errors.New("The user rejected permission to use this specific tool call.")

// A RejectedError is an ErrRejected with the permission that a human refused.
type RejectedError struct{ Refused }

// Error is the message to the model: the document's, or the program's.
func (e *RejectedError) Error() string { return cmp.Or(e.message(), ErrRejected.Error()) }

// Unwrap returns ErrRejected.
func (e *RejectedError) Unwrap() error { return ErrRejected }

// A CorrectedError says that a human said no, with words for the model.
type CorrectedError struct{ Feedback string }

// Error is the program's message to the model.
func (e *CorrectedError) Error() string {
	return "The user rejected permission to use this specific tool call with the following feedback: " + e.Feedback
}

// A NotFoundError says that the request does not exist or has been answered.
type NotFoundError struct{ RequestID string }

// Error names the request.
func (e *NotFoundError) Error() string { return "Permission request not found: " + e.RequestID }

// Options configure an Instance.
type Options struct {
	// Gate configures the gate; its Policy, of opencode's files, is required. A
	// request waits for a day unless Gate.Approval.Timeout says otherwise.
	Gate gate.Options
	// Directory is the instance's: answers "always" hold for it. Zero: the
	// process's.
	Directory string
	// MaxPending bounds how many requests may wait at a time; one more is
	// rejected. Zero: 1,000.
	MaxPending int
	// User replies, in the ledger. Zero: "user".
	User string
}

// An Instance puts the asks of one directory to a human. It is safe for
// concurrent use.
type Instance struct {
	opts Options
	gate *gate.Gate

	events Events // asks and replies, in the order in which they happened

	mu     sync.Mutex
	closed bool
	refs   map[string]*ToolRef // of requests that wait
}

var _ Board = (*Instance)(nil)

// Open returns an instance without requests.
func Open(ctx context.Context, opts Options) (*Instance, error) {
	if opts.Gate.Policy == nil {
		return nil, errors.New("an instance needs a policy")
	}
	if opts.Directory == "" {
		dir, err := os.Getwd()
		if err != nil {
			return nil, err
		}
		opts.Directory = dir
	}
	if opts.MaxPending <= 0 {
		opts.MaxPending = 1000
	}
	if opts.User == "" {
		opts.User = "user"
	}
	i := &Instance{opts: opts, refs: map[string]*ToolRef{}}
	g := opts.Gate
	g.Approval.Settled = i.settled
	if g.Approval.Timeout == 0 {
		g.Approval.Timeout = 24 * time.Hour
	}
	var err error
	i.gate, err = gate.Open(ctx, g)
	return i, err
}

// Ask asks and waits: nil means that the call may run. A context that ends takes
// the request back, and the call may not run.
func (i *Instance) Ask(ctx context.Context, req Request) error {
	w, err := i.Put(ctx, req)
	if err != nil || w == nil {
		return err
	}
	return w.Result(ctx)
}

// Put evaluates a request: a denied one is a DeniedError, if all is allowed both
// results are nil, and else the one request waits with all its patterns.
//
// An earlier "always" does not lift a deny rule; in the program it does.
func (i *Instance) Put(ctx context.Context, req Request) (*Wait, error) {
	pending, err := i.requests(ctx)
	if err != nil {
		return nil, err
	}
	i.mu.Lock()
	defer i.mu.Unlock() // the end of a request is announced after its ask
	if i.closed || len(pending) >= i.opts.MaxPending {
		return nil, ErrRejected
	}
	call, offers := i.call(&req)
	d, err := i.gate.Authorize(ctx, call, &gate.Terms{Ask: gate.Put, Offers: offers})
	switch r := d.Request; {
	case r != nil:
		i.refs[r.ID] = req.Tool
		shown := i.show(r, req.Tool)
		asked, _ := EventOf(r, shown)
		i.events.Publish(asked)
		return &Wait{Request: shown, in: i, id: r.ID}, nil
	case err != nil:
		return nil, err
	case d.Verdict == obstat.Allow:
		return nil, nil
	}
	return nil, i.denied(call, d.Decision)
}

// loaded returns the policy that stands for those in force for a call.
func (i *Instance) loaded(call *obstat.Call) *dialect.Loaded {
	f, _ := i.opts.Gate.Policy.InForce(call)
	if f == nil || f.Main() == nil {
		return &dialect.Loaded{Program: &obstat.Program{}, Input: &dialect.Input{}}
	}
	return f.Main().Loaded
}

func (i *Instance) denied(call *obstat.Call, d obstat.Decision) error {
	l := i.loaded(call)
	mode := call.Mode
	if mode == "" {
		mode = i.opts.Gate.Mode
	}
	e := &DeniedError{Decision: d, Refused: refusedOf(l, call, &d)}
	if d.Rule != nil {
		e.Rules = opencode.About(l.Program, mode, e.Permission)
	}
	return e
}

// A Wait is a request that waits for its reply.
type Wait struct {
	Request Request

	in   *Instance
	id   string
	once sync.Once
	err  error
}

// Result waits for the reply and returns nil if the call may run, and
// ErrRejected, a CorrectedError or a DeniedError if it may not. A context that
// ends takes the request back.
func (w *Wait) Result(ctx context.Context) error {
	w.once.Do(func() { w.err = w.result(ctx) })
	return w.err
}

func (w *Wait) result(ctx context.Context) error {
	r, err := w.in.gate.Broker().Wait(ctx, w.id)
	if err != nil {
		return fmt.Errorf("%w (%w)", ErrRejected, err)
	}
	d, err := w.in.gate.Resume(context.WithoutCancel(ctx), w.id, nil)
	switch {
	case err != nil:
		return fmt.Errorf("%w (%w)", ErrRejected, err)
	case d.Verdict == obstat.Allow:
		return nil
	case r.State == approval.Approved: // denied meanwhile
		return w.in.denied(&r.Call, d)
	case r.State == approval.Canceled:
		return fmt.Errorf("%w (%w)", ErrRejected, context.Cause(ctx))
	case r.State == approval.Expired:
		return fmt.Errorf("%w (nobody answered in time)", ErrRejected)
	}
	if a := r.Agreed(); a.By != byItself && a.Words != "" {
		return &CorrectedError{a.Words}
	}
	shown := &obstat.Call{Tool: w.Request.Permission, Subjects: w.Request.Patterns}
	return &RejectedError{refusedOf(w.in.loaded(&r.Call), shown, &obstat.Decision{})}
}

// byItself answers a request because of the answer to another one.
const byItself = "obstat"

// requests returns the instance's requests that wait, oldest first.
func (i *Instance) requests(ctx context.Context) ([]*approval.Request, error) {
	all, err := i.gate.Broker().Pending(ctx)
	return slices.DeleteFunc(all, func(r *approval.Request) bool { return r.Call.Dir != i.opts.Directory }), err
}

// Pending returns the requests that wait, oldest first.
func (i *Instance) Pending(ctx context.Context) ([]Request, error) {
	all, err := i.requests(ctx)
	i.mu.Lock()
	defer i.mu.Unlock()
	out := make([]Request, len(all))
	for n, r := range all {
		out[n] = i.show(r, i.refs[r.ID])
	}
	return out, err
}

// Listed returns the requests that wait, none for another directory than the instance's.
func (i *Instance) Listed(ctx context.Context, directory string) ([]Request, error) {
	if directory != "" && directory != i.opts.Directory {
		return nil, nil
	}
	return i.Pending(ctx)
}

// Subscribe returns a subscription to all events from now on.
func (i *Instance) Subscribe() *Subscription { return i.events.Subscribe() }

// Reply answers a request, the first reply wins. A rejection takes the other
// requests of the session with it, and only the request that was answered gets
// the words. "Always" is remembered and answers those requests of the session
// that it covers.
func (i *Instance) Reply(ctx context.Context, id string, reply Reply, message string) error {
	return i.Answer(ctx, Target{ID: id}, reply, message)
}

// Answer is Reply for a request of one session and directory, or of any if none is named.
func (i *Instance) Answer(ctx context.Context, to Target, reply Reply, message string) error {
	id, session := to.ID, to.Session
	if err := reply.Check(); err != nil {
		return err
	}
	if to.Directory != "" && to.Directory != i.opts.Directory {
		return &NotFoundError{id}
	}
	all, err := i.requests(ctx)
	if err != nil {
		return err
	}
	at := slices.IndexFunc(all, func(r *approval.Request) bool {
		return ShownID(r.ID) == id && (session == "" || session == r.Call.Session)
	})
	if at < 0 {
		return &NotFoundError{id}
	}
	r := all[at]
	a := approval.Answer{By: i.opts.User, Allow: reply != Reject, Words: message, All: reply == Reject}
	if reply == Always {
		if a.Words = string(Always); len(r.Offers) > 0 {
			a.Scope, a.Offer = approval.Workspace, 1
		}
	}
	_, err = i.gate.Broker().Answer(ctx, r.ID, a)
	if a.Offer > 0 && (errors.Is(err, approval.ErrBad) || errors.Is(err, approval.ErrBroader)) {
		// A pattern that would not settle this request, or hands out a shell, is not
		// remembered.
		a.Scope, a.Offer = "", 0
		_, err = i.gate.Broker().Answer(ctx, r.ID, a)
	}
	switch {
	case errors.Is(err, approval.ErrSettled):
		return &NotFoundError{id}
	case err == nil && a.Offer > 0:
		return i.cover(ctx, r.Call.Session)
	}
	return err
}

// cover answers those requests of a session that are granted by now.
func (i *Instance) cover(ctx context.Context, session string) error {
	all, err := i.requests(ctx)
	if err != nil {
		return err
	}
	for _, r := range all {
		if r.Call.Session != session {
			continue
		}
		if now, _ := i.gate.Authorize(ctx, &r.Call, &gate.Terms{Ask: gate.Try}); now.Grant == nil {
			continue
		}
		_, err := i.gate.Broker().Answer(ctx, r.ID, approval.Answer{By: byItself, Allow: true, Words: string(Always)})
		if err != nil && !errors.Is(err, approval.ErrSettled) {
			return err
		}
	}
	return nil
}

// settled tells the subscriptions how a request ended.
func (i *Instance) settled(r *approval.Request) {
	i.mu.Lock()
	defer i.mu.Unlock()
	delete(i.refs, r.ID)
	if r.State == approval.Canceled || r.Call.Dir != i.opts.Directory {
		return // the program says nothing of an ask that was taken back
	}
	if replied, ok := EventOf(r, Request{ID: ShownID(r.ID)}); ok {
		i.events.Publish(replied)
	}
}

// Close rejects everything that waits and whatever is asked later, and ends the
// subscriptions.
func (i *Instance) Close(ctx context.Context) error {
	i.mu.Lock()
	i.closed = true
	i.mu.Unlock()
	all, err := i.requests(ctx)
	for _, r := range all {
		if _, aerr := i.gate.Broker().Answer(ctx, r.ID, approval.Answer{By: byItself}); aerr != nil &&
			!errors.Is(aerr, approval.ErrSettled) {
			err = errors.Join(err, aerr)
		}
	}
	i.events.Close()
	i.gate.Close()
	return err
}

// ShownID returns the program's form of a request's identifier: `per_...`.
func ShownID(id string) string { return "per_" + strings.TrimPrefix(id, "req_") }
