// Package gate is the running gate: it decides calls by the policy in force,
// asks humans when it must, remembers answers where it may, and writes down
// everything before an answer leaves the process.
//
// It owns putting policy, grants, approvals and ledger together for one host
// process, and holding when one of them breaks. It does not own any of them:
// policies are obstat's, answering is approval's, records are ledger's, and
// the opener of the gate chooses where things are kept.
package gate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/approval"
	"github.com/obstat/obstat/internal/guard/protect"
	"github.com/obstat/obstat/internal/keep/memory"
	"github.com/obstat/obstat/ledger"
	"github.com/obstat/obstat/policy"
)

// A Store keeps the ledger, requests and grants.
type Store interface {
	ledger.Store
	approval.Store
}

// Options open a Gate.
type Options struct {
	// Policy says which policies decide a call. Required.
	Policy Source
	// Store keeps requests, grants and, without a Ledger, records; nil keeps
	// them in memory, while the process lives.
	Store Store
	// Open opens the store when a call first needs it, in place of Store: for a
	// grant that may be there (see MayGrant) or for a request.
	Open func(ctx context.Context) (Store, error)
	// Ledger is where records are written; nil is the store.
	Ledger ledger.Appender
	// NoRecord leaves everything that happens unrecorded.
	NoRecord bool
	// MayGrant tells without opening the store whether anything is granted in it;
	// nil: look.
	MayGrant func() bool
	// Parent is the gate of the agent that started this one; nil: none did.
	// A call gets no more than the parent's policy gives it.
	Parent *Gate
	// World is the machine as decisions see it; nil is the machine itself.
	World obstat.World
	// Getenv reads the environment; nil reads the process's.
	Getenv func(string) string
	// Mode is the mode of calls that name none; "" is the policy's own.
	Mode obstat.Mode
	// Who returns the people that may answer for a call; nil: anybody. See [approval.Roster].
	Who func(call *obstat.Call, d *obstat.Decision) approval.Who
	// Approval configures the broker. Its Check is the gate's own.
	Approval approval.Options
	// Waits is asked before a request is put whether a person may answer it, and
	// how long that is waited for; where not, why, in words for the model. nil
	// always waits, for as long as Approval says.
	Waits func() (limit time.Duration, why string)
	// NoStart leaves the gate's beginning out of the ledger, for one that lives
	// for a single call.
	NoStart bool
	// Repeats counts equal calls in a row, for gates that share a session's calls; nil: the gate's own.
	Repeats *Repeats
	// Guarded are files and directories, beside the policy, the agents' hook
	// entries and obstat's own state, that a call changes only with a human's
	// answer. The files of a store that is a [Filer] are among them.
	Guarded []string
	// Places are directories, beside those of the calls, that a policy is looked
	// for in, and Programs the files of obstat itself; both are guarded as well.
	Places, Programs []string
	// Confine lets calls run confined that ask only because they cannot be known, where the policy
	// wants that; nil asks.
	Confine *Confining
	// Undo keeps the files that an allowed call changes, so that they can be taken back; nil keeps nothing.
	Undo Undoer
	// Sessions remember the deeds of a session's calls, for rules that come after something; nil
	// remembers while the process lives. See [SessionDir].
	Sessions Sessions
}

// A Keyer is a Store with a key that digests of masked values are made with.
type Keyer interface {
	Key() ([]byte, error)
}

// A Filer is a Store that says which files it keeps.
type Filer interface {
	Files() []string
}

// A Gate authorizes calls. It is safe for concurrent use.
type Gate struct {
	opts Options

	mu     sync.Mutex
	store  Store
	broker *approval.Broker
	mask   *ledger.Masker
	noted  map[string]noted // by directory
	said   noted            // in the ledger, last
	lost   error            // why the ledger could not be written the last time
	shield protect.Keeper
	last   guard // that was looked for last
	around policy.Neighbours
	state  []string // that is guarded
	tried  triedRule
}

// Repeats counts equal calls in a row, by agent and session. The zero value is ready, and safe for concurrent use.
type Repeats struct {
	mu sync.Mutex
	of map[string]repeat
}

type repeat struct {
	digest [32]byte
	n      int
	named  []putCall // the last calls with a request of their own
}

// A putCall is a call that was counted, by the ID of the request that an ask of it becomes. A framework puts `git push`
// twice under one ID: to learn whether it asks, and before it runs.
type putCall struct {
	request string
	digest  [32]byte
	repeats int
	reached []reached
}

// maxNamed is how many calls of a session may be under way at once, each put and not run yet.
const maxNamed = 64

// Open opens a gate. A policy that cannot be loaded is an error, unless the gate
// lives for a single call, which is denied then.
func Open(ctx context.Context, opts Options) (*Gate, error) {
	if opts.Policy == nil {
		return nil, errors.New("a gate needs a policy")
	}
	if opts.Store == nil && opts.Open == nil {
		opts.Store = new(memory.Store)
	}
	if opts.World == nil {
		opts.World = obstat.OS{}
	}
	if opts.Getenv == nil {
		opts.Getenv = os.Getenv
	}
	if opts.Sessions == nil {
		opts.Sessions = new(sessionMap)
	}
	g := &Gate{opts: opts, noted: map[string]noted{}}
	if g.opts.Repeats == nil {
		g.opts.Repeats = new(Repeats)
	}
	g.state = opts.keptFiles()
	if opts.Store != nil {
		if err := g.take(opts.Store); err != nil {
			return nil, err
		}
	}
	if opts.NoStart {
		return g, nil
	}
	f, err := g.inForce(ctx, &obstat.Call{})
	if err != nil {
		return nil, err
	}
	start := &ledger.Record{Time: time.Now(), Kind: ledger.Start, Policy: digestOf(f), Reason: "a gate began with " + sources(f)}
	if err := g.append(ctx, start); err != nil {
		return nil, fmt.Errorf("the ledger cannot be written: %w", err)
	}
	return g, nil
}

// take makes s the gate's store: it guards the store's files against agents, and loads the key that secrets
// in records are masked with.
func (g *Gate) take(s Store) error {
	o := &g.opts
	if o.Ledger == nil {
		o.Ledger = s
	}
	if f, ok := s.(Filer); ok {
		g.state = append(slices.Clone(g.state), f.Files()...)
	}
	broker := o.Approval
	broker.Check = g.checkAnswer
	g.store, g.broker = s, approval.New(s, &broker)
	_, err := g.masker()
	return err
}

// keeps returns the store, opening it where that was left until now.
func (g *Gate) keeps(ctx context.Context) (Store, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.store == nil {
		s, err := g.opts.Open(ctx)
		if err != nil {
			return nil, err
		}
		if err := g.take(s); err != nil {
			g.store, g.broker = nil, nil // the next call tries again, and is told the same
			return nil, err
		}
	}
	return g.store, nil
}

// masker takes secrets out of records.
func (g *Gate) masker() (*ledger.Masker, error) {
	if g.mask != nil {
		return g.mask, nil
	}
	var key []byte
	for _, from := range []any{g.opts.Ledger, g.store} {
		if k, ok := from.(Keyer); ok && key == nil {
			var err error
			if key, err = k.Key(); err != nil {
				return nil, fmt.Errorf("the key of the ledger's digests: %w", err)
			}
		}
	}
	g.mask = ledger.NewMasker(key)
	return g.mask, nil
}

// Close ends the use of the gate. It does not close the store.
func (g *Gate) Close() {}

// Broker returns the gate's broker, to show requests to humans; nil while the
// store is not open.
func (g *Gate) Broker() *approval.Broker {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.broker
}

// asks returns the broker, opening the store where that was left until now.
func (g *Gate) asks(ctx context.Context) (*approval.Broker, error) {
	if _, err := g.keeps(ctx); err != nil {
		return nil, err
	}
	return g.Broker(), nil
}

// A Status is how a gate stands.
type Status struct {
	Policy  string   `json:"policy"` // digest
	Dialect string   `json:"dialect"`
	Files   []string `json:"files"`
	// Broken says why the policy, or a part of it, cannot be loaded; while that is
	// so, every call asks or is denied.
	Broken string `json:"broken,omitempty"`
	// Ledger says why the last decision could not be written down; while that is
	// so, every call is denied.
	Ledger string `json:"ledger,omitempty"`
}

// Status returns how the gate stands, after looking whether the policy has
// changed.
func (g *Gate) Status(ctx context.Context) Status {
	f, broken := g.inForce(ctx, &obstat.Call{})
	s := Status{Policy: digestOf(f), Files: filesOf(f)}
	if p := f.Main(); p != nil {
		s.Dialect = p.Dialect.Name()
	}
	if broken != nil {
		s.Broken = broken.Error()
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.lost != nil {
		s.Ledger = g.lost.Error()
	}
	return s
}

// Record writes down a face's deeds beside calls, such as putting a policy in force. Secrets are
// masked.
func (g *Gate) Record(ctx context.Context, records ...*ledger.Record) error {
	return g.append(ctx, records...)
}

// append masks records and writes them.
func (g *Gate) append(ctx context.Context, records ...*ledger.Record) error {
	g.mu.Lock()
	if g.opts.NoRecord {
		g.mu.Unlock()
		return nil
	}
	to := g.opts.Ledger
	mask, err := g.masker()
	g.mu.Unlock()
	if err != nil || to == nil {
		return cmp.Or(err, errors.New("there is no ledger"))
	}
	for _, r := range records {
		mask.Mask(r)
	}
	return to.Append(ctx, records...)
}

func join(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + "; " + b
}

func brokenWords(err error) string {
	return "the policy cannot be loaded: " + firstLine(err.Error())
}

// masks returns a text without its secrets.
func (g *Gate) masks(text string) string {
	g.mu.Lock()
	mask, err := g.masker()
	g.mu.Unlock()
	if err != nil {
		return ledger.Mask
	}
	return mask.Text(text)
}

// count returns how often the session made this very call in a row before.
func (r *Repeats) count(c *obstat.Call, digest [32]byte) int {
	key := c.Agent + "\x00" + c.Session
	r.mu.Lock()
	defer r.mu.Unlock()
	last, ok := r.of[key]
	if r.of == nil || !ok && len(r.of) > 10_000 {
		r.of = map[string]repeat{} // sessions end without saying so
	}
	last.n++
	if last.digest != digest || !ok {
		last.digest, last.n = digest, 0
	}
	r.of[key] = last
	return last.n
}

// again returns the count of a call that was put before under the same request; nil for a new call.
func (r *Repeats) again(c *obstat.Call, digest [32]byte, request string) *putCall {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, old := range r.of[c.Agent+"\x00"+c.Session].named {
		if request != "" && old.request == request && old.digest == digest {
			return &old
		}
	}
	return nil
}

// keep remembers the count of a call that has a request of its own.
func (r *Repeats) keep(c *obstat.Call, made putCall) {
	key := c.Agent + "\x00" + c.Session
	r.mu.Lock()
	defer r.mu.Unlock()
	if last, ok := r.of[key]; ok && made.request != "" {
		last.named = append(last.named[max(0, len(last.named)-maxNamed+1):len(last.named):len(last.named)], made)
		r.of[key] = last
	}
}
