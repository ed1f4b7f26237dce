// Package gate is the running gate: it decides calls by the policy in force,
// asks humans when it must, remembers what may be remembered, and writes down
// everything before an answer leaves the process.
//
// It owns putting policy, grants, approvals and ledger together for one host
// process, and holding when one of them breaks. It does not own any of them:
// policies are obstat's, answering is approval's, records are ledger's, and
// where things are kept is chosen by whoever opens the gate.
package gate

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/approval"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/internal/store/memory"
	"github.com/obstat/obstat/ledger"
)

// A Store keeps the ledger, requests and grants.
type Store interface {
	ledger.Store
	approval.Store
}

// Options open a Gate.
type Options struct {
	// Policy is where the policy comes from. Required.
	Policy Source
	// Store keeps what happens; nil keeps it in memory, while the process lives.
	Store Store
	// Parent is the gate of the agent that started this one; nil: nobody did.
	// A call gets at most what the parent's policy gives it.
	Parent *Gate
	// World is what decisions may know of the machine; nil is the machine itself.
	World obstat.World
	// Mode is the mode of calls that name none; "" is the policy's own.
	Mode obstat.Mode
	// Who says who may answer for a call; nil: anybody. See [approval.Roster].
	Who func(call *obstat.Call, d *obstat.Decision) approval.Who
	// Approval configures the broker. Its Check is the gate's own.
	Approval approval.Options
	// NoWait makes an ask that no grant settles come back as an ask, for hosts
	// that ask by themselves.
	NoWait bool
	// NoStart leaves the gate's beginning out of the ledger, for one that lives
	// for a single call.
	NoStart bool
	// Guarded are files and directories, beside the policy, the agents' hook
	// entries and what obstat keeps in its usual place, that a call changes only
	// with a human's answer. What a store that is a [Filer] keeps is among them.
	Guarded []string
	// Mask takes secrets out of what is written down; nil masks what every ledger
	// masks, with the store's key for the digests if it is a [Keyer].
	Mask *ledger.Masker
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
	opts   Options
	broker *approval.Broker

	loading sync.Mutex // held while the policy is built anew

	mu      sync.Mutex
	policy  *dialect.Loaded
	broken  error             // why the newest policy is not in force
	stamp   string            // of the sources the policy was made from
	lost    error             // why the ledger could not be written the last time
	repeats map[string]repeat // by agent and session
}

type repeat struct {
	digest [32]byte
	n      int
}

// Open opens a gate. A policy that cannot be loaded is an error: there is no
// last good one yet.
func Open(ctx context.Context, opts Options) (*Gate, error) {
	if opts.Policy == nil {
		return nil, errors.New("a gate needs a policy")
	}
	if opts.Store == nil {
		opts.Store = new(memory.Store)
	}
	if opts.World == nil {
		opts.World = obstat.OS{}
	}
	if err := opts.fromStore(); err != nil {
		return nil, err
	}
	g := &Gate{opts: opts, repeats: map[string]repeat{}}
	stamp, err := opts.Policy.Stamp()
	if err != nil {
		return nil, err
	}
	if g.policy, err = opts.Policy.Load(); err != nil {
		return nil, err
	}
	g.stamp = stamp
	broker := opts.Approval
	broker.Check = g.checkAnswer
	g.broker = approval.New(opts.Store, &broker)
	if opts.NoStart {
		return g, nil
	}
	start := &ledger.Record{Time: time.Now(), Kind: ledger.Start, Policy: g.policy.Policy.Digest(), Reason: "a gate began with " + sources(g.policy)}
	if err := opts.Store.Append(ctx, start); err != nil {
		return nil, fmt.Errorf("the ledger cannot be written: %w", err)
	}
	return g, nil
}

// fromStore fills in what the store has and nobody named.
func (o *Options) fromStore() error {
	if o.Mask == nil {
		var key []byte
		if k, ok := o.Store.(Keyer); ok {
			var err error
			if key, err = k.Key(); err != nil {
				return fmt.Errorf("the key of the ledger's digests: %w", err)
			}
		}
		var err error
		if o.Mask, err = ledger.NewMasker(&ledger.MaskOptions{Key: key}); err != nil {
			return err
		}
	}
	if f, ok := o.Store.(Filer); ok {
		o.Guarded = append(slices.Clone(o.Guarded), f.Files()...)
	}
	return nil
}

// Close ends the use of the gate. It does not close the store.
func (g *Gate) Close() {}

// Broker returns the gate's broker, for whoever shows requests to humans.
func (g *Gate) Broker() *approval.Broker { return g.broker }

// A Status is how a gate stands.
type Status struct {
	Policy  string   `json:"policy"` // digest
	Dialect string   `json:"dialect"`
	Files   []string `json:"files"`
	// Broken says why a newer policy is not in force; the last good one is.
	Broken string `json:"broken,omitempty"`
	// Ledger says why the last decision could not be written down; while that is
	// so, every call is denied.
	Ledger string `json:"ledger,omitempty"`
}

// Status returns how the gate stands, after looking whether the policy has
// changed.
func (g *Gate) Status(ctx context.Context) Status {
	l, broken := g.reload(ctx)
	s := Status{Policy: l.Policy.Digest(), Dialect: l.Dialect.Name()}
	for _, f := range l.Input.Files {
		s.Files = append(s.Files, f.Name)
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

// Authorize decides a call and, where it asks, waits for a human. The decision
// is in the ledger before it is returned. An error means that something broke;
// the decision that comes with it denies.
func (g *Gate) Authorize(ctx context.Context, call *obstat.Call) (obstat.Decision, error) {
	t := g.begin(ctx, call)
	d := t.j.d
	if d.Verdict == obstat.Ask {
		d = t.ask(ctx, d)
	}
	return t.finish(ctx, d)
}

// begin judges a call.
func (g *Gate) begin(ctx context.Context, call *obstat.Call) *turn {
	began := time.Now()
	c := *call
	c.Repeat = max(c.Repeat, g.repeated(&c))
	t := &turn{g: g, call: &c, digest: hexDigest(&c), began: began, world: &obstat.Recorder{Of: g.opts.World}}
	t.j = g.judge(ctx, &c, t.world)
	return t
}

// append masks records and writes them.
func (g *Gate) append(ctx context.Context, records ...*ledger.Record) error {
	for _, r := range records {
		g.opts.Mask.Mask(r)
	}
	return g.opts.Store.Append(ctx, records...)
}

func join(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + "; " + b
}

func brokenWords(err error) string {
	return "a newer policy could not be loaded and the last good one is in force: " + firstLine(err.Error())
}

func (g *Gate) current() (*dialect.Loaded, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.policy, g.broken
}

// repeated counts how often the session made this very call in a row before.
func (g *Gate) repeated(c *obstat.Call) int {
	digest, key := c.Digest(), c.Agent+"\x00"+c.Session
	g.mu.Lock()
	defer g.mu.Unlock()
	r, ok := g.repeats[key]
	if !ok || r.digest != digest {
		if len(g.repeats) > 10_000 {
			clear(g.repeats) // sessions end without saying so
		}
		g.repeats[key] = repeat{digest: digest}
		return 0
	}
	r.n++
	g.repeats[key] = r
	return r.n
}
