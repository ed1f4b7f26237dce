package approval

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
)

// A Broker puts requests to humans and waits for what they say. Several
// brokers, in several processes, may share one Store: whoever answers first
// anywhere wins everywhere.
type Broker struct {
	store Store
	opts  Options

	mu      sync.Mutex
	waiting map[string]chan struct{} // closed when the request may have changed
}

// Options configure a Broker; nil means the defaults.
type Options struct {
	// Timeout is how long a request waits where it does not say; zero is a minute.
	Timeout time.Duration
	// Poll is how often a waiting request is looked up, for answers given in
	// another process; zero is a quarter of a second.
	Poll time.Duration
	// Check is asked about an answer before it counts: whether an accepted rule
	// works and is no broader than the call. nil takes any.
	Check func(r *Request, a *Answer) error
	// Asked is told of every new request, to show it to somebody. nil tells nobody.
	Asked func(r *Request)
}

// New returns a broker on a store.
func New(store Store, opts *Options) *Broker {
	b := &Broker{store: store, waiting: map[string]chan struct{}{}}
	if opts != nil {
		b.opts = *opts
	}
	if b.opts.Timeout <= 0 {
		b.opts.Timeout = time.Minute
	}
	if b.opts.Poll <= 0 {
		b.opts.Poll = 250 * time.Millisecond
	}
	return b
}

// NewID returns an identifier that nobody can guess.
func NewID(prefix string) string { return prefix + rand.Text() }

// Ask puts r to humans and returns it once it is settled: approved, refused,
// expired or canceled. An error means that nobody could be asked, and is to be
// taken for a refusal.
func (b *Broker) Ask(ctx context.Context, r *Request) (*Request, error) {
	if r.ID == "" {
		r.ID = NewID("req_")
	}
	r.Created = time.Now()
	if r.Expires.IsZero() {
		r.Expires = r.Created.Add(b.opts.Timeout)
	}
	wake := b.watch(r.ID)
	defer b.unwatch(r.ID)
	if err := b.store.PutRequest(ctx, r); err != nil {
		return nil, fmt.Errorf("the request could not be kept: %w", err)
	}
	if b.opts.Asked != nil {
		b.opts.Asked(r)
	}
	return b.wait(ctx, r, wake)
}

// Wait waits for a request that was put before, by this process or another.
func (b *Broker) Wait(ctx context.Context, id string) (*Request, error) {
	r, err := b.store.Request(ctx, id)
	if err != nil || r.State != Pending {
		return r, err
	}
	wake := b.watch(id)
	defer b.unwatch(id)
	return b.wait(ctx, r, wake)
}

func (b *Broker) watch(id string) chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.waiting[id] == nil {
		b.waiting[id] = make(chan struct{}, 1)
	}
	return b.waiting[id]
}

func (b *Broker) unwatch(id string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.waiting, id)
}

func (b *Broker) wake(id string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if ch := b.waiting[id]; ch != nil {
		select {
		case ch <- struct{}{}:
		default:
		}
	}
}

func (b *Broker) wait(ctx context.Context, r *Request, wake chan struct{}) (*Request, error) {
	timeout := time.NewTimer(time.Until(r.Expires))
	defer timeout.Stop()
	poll := time.NewTicker(b.opts.Poll)
	defer poll.Stop()
	for {
		select {
		case <-wake:
		case <-poll.C:
		case <-timeout.C:
			return b.end(r.ID, Expired)
		case <-ctx.Done():
			return b.end(r.ID, Canceled)
		}
		now, err := b.store.Request(ctx, r.ID)
		if err != nil {
			if ctx.Err() != nil {
				continue
			}
			return nil, err
		}
		if now.State != Pending {
			return now, nil
		}
	}
}

// end settles a request that nobody answered. If somebody just did, that
// counts.
func (b *Broker) end(id string, to State) (*Request, error) {
	ctx := context.Background()
	if err := b.store.Settle(ctx, id, to, nil, nil); err != nil && !errors.Is(err, ErrSettled) {
		return nil, err
	}
	return b.store.Request(ctx, id)
}

// Answer takes what somebody said to a pending request. The first answer wins;
// a later one gets ErrSettled and leaves nothing behind. Where several must
// agree, an approval may leave the request pending; one refusal settles it.
func (b *Broker) Answer(ctx context.Context, id string, a Answer) (*Request, error) {
	r, err := b.store.Request(ctx, id)
	if err != nil {
		return nil, err
	}
	if err := b.admit(r, &a); err != nil {
		return nil, err
	}
	answers := append(slices.Clone(r.Answers), a)
	to, grant := Refused, (*Grant)(nil)
	if a.Allow {
		if need := max(r.Who.Needed, 1); len(answers) < need {
			return b.note(ctx, r, answers)
		}
		to, grant = Approved, a.grant(r)
	}
	if err := b.store.Settle(ctx, id, to, answers, grant); err != nil {
		return nil, err
	}
	b.wake(id)
	if !a.Allow && a.All {
		b.refuseOthers(ctx, r)
	}
	return b.store.Request(ctx, id)
}

// admit tells whether an answer counts: the request is open, the person may
// answer, and what is granted is not more than was asked for.
func (b *Broker) admit(r *Request, a *Answer) error {
	if a.Time.IsZero() {
		a.Time = time.Now()
	}
	switch {
	case r.State != Pending:
		return fmt.Errorf("%q: %w", r.ID, ErrSettled)
	case !a.Time.Before(r.Expires):
		return fmt.Errorf("%q: %w: its time is over", r.ID, ErrSettled)
	case a.By == "":
		return fmt.Errorf("%w: an answer needs a name", ErrNotYou)
	case r.Who.NotCaller && a.By == r.Call.User:
		return fmt.Errorf("%w: somebody other than %s has to", ErrNotYou, a.By)
	case len(r.Who.Roles) > 0 && !slices.ContainsFunc(a.Roles, func(role string) bool { return slices.Contains(r.Who.Roles, role) }):
		return fmt.Errorf("%w: it takes one of the roles %q", ErrNotYou, r.Who.Roles)
	case slices.ContainsFunc(r.Answers, func(o Answer) bool { return o.By == a.By }):
		return fmt.Errorf("%w: you have answered it", ErrNotYou)
	case a.Scope == Always && a.Rule == nil && (a.Offer < 1 || a.Offer > len(r.Offers)):
		return fmt.Errorf("always needs one of the %d offers, or a rule", len(r.Offers))
	}
	if a.Allow && b.opts.Check != nil {
		return b.opts.Check(r, a)
	}
	return nil
}

// note keeps an approval that is not enough by itself.
func (b *Broker) note(ctx context.Context, r *Request, answers []Answer) (*Request, error) {
	n, ok := b.store.(Noter)
	if !ok {
		return nil, errors.New("this store cannot keep requests that several must approve")
	}
	if err := n.Note(ctx, r.ID, len(r.Answers), answers); err != nil {
		return nil, err
	}
	return b.store.Request(ctx, r.ID)
}

// A Noter is a Store that can keep answers to a request that stays pending.
type Noter interface {
	// Note replaces the answers of a pending request that has had answers so far;
	// ErrSettled if it is no longer pending or has had more.
	Note(ctx context.Context, id string, had int, answers []Answer) error
}

// refuseOthers takes the session's other pending requests along.
func (b *Broker) refuseOthers(ctx context.Context, r *Request) {
	pending, err := b.store.Requests(ctx, Pending)
	if err != nil {
		return
	}
	for _, o := range pending {
		if o.Call.Session == r.Call.Session && o.ID != r.ID {
			if b.store.Settle(ctx, o.ID, Refused, []Answer{{By: "obstat", Time: time.Now(), Words: "another request of this session was refused"}}, nil) == nil {
				b.wake(o.ID)
			}
		}
	}
}

// grant returns what an approval leaves behind; nil where it is for this once.
func (a *Answer) grant(r *Request) *Grant {
	g := &Grant{ID: NewID("grant_"), Scope: a.Scope, Tool: r.Call.Tool, Digest: r.Digest, By: a.By, Request: r.ID, Created: a.Time, Expires: a.Until}
	switch a.Scope {
	case Session:
		g.Key = r.Call.Session
	case Agent:
		g.Key = r.Call.Agent
	case Workspace:
		g.Key = r.Call.Dir
	case User:
		g.Key = r.Call.User
	case Always:
		g.Digest, g.Rule = "", a.Rule
		if g.Rule == nil {
			g.Rule = r.Offers[a.Offer-1].Rule
		}
	default:
		return nil
	}
	return g
}

// Covers tells whether the grant settles a call: its scope is the call's, and
// it is bound to this very call. Grants that hold a rule are for whoever reads
// rules.
func (g *Grant) Covers(key map[Scope]string, tool, digest string, now time.Time) bool {
	return g.InForce(now) && g.Digest != "" && g.Digest == digest && g.Tool == tool && g.Key != "" && key[g.Scope] == g.Key
}
