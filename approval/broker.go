package approval

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/obstat/obstat"
)

// A Broker puts requests to humans and waits for their answers. Several brokers,
// in several processes, may share one Store: the first answer anywhere wins
// everywhere.
type Broker struct {
	store Store
	opts  Options

	mu      sync.Mutex
	waiting map[string]chan struct{} // gets a value when the request may have changed
	open    map[string]bool          // requests whose end Options.Settled has not heard of
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
	// Asked is told of every new request, to show it to a person; nil: it is only kept.
	Asked func(r *Request)
	// Settled is told once how a request ended that this broker put or waited for:
	// approved, refused, expired or canceled, here or in another process. It is
	// called before Answer returns. nil: not called.
	Settled func(r *Request)
}

// New returns a broker on a store.
func New(store Store, opts *Options) *Broker {
	b := &Broker{store: store, waiting: map[string]chan struct{}{}, open: map[string]bool{}}
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

// NewID returns an identifier that cannot be guessed.
func NewID(prefix string) string { return prefix + rand.Text() }

// Ask puts r to humans and returns it once it is settled: approved, refused,
// expired or canceled. An error means that no human could be asked, and is to
// be taken for a refusal.
func (b *Broker) Ask(ctx context.Context, r *Request) (*Request, error) {
	if r.ID == "" {
		r.ID = NewID("req_")
	}
	wake := b.watch(r.ID)
	defer b.unwatch(r.ID)
	if err := b.Put(ctx, r); err != nil {
		return nil, err
	}
	return b.wait(ctx, r, wake)
}

// Put puts r to humans and returns at once; [Broker.Wait] waits for the answer.
func (b *Broker) Put(ctx context.Context, r *Request) error {
	if r.ID == "" {
		r.ID = NewID("req_")
	}
	r.Created = time.Now()
	if r.Expires.IsZero() {
		r.Expires = r.Created.Add(b.opts.Timeout)
	}
	b.follow(r.ID)
	if err := b.store.PutRequest(ctx, r); err != nil {
		b.mu.Lock()
		delete(b.open, r.ID)
		b.mu.Unlock()
		return fmt.Errorf("the request could not be kept: %w", err)
	}
	if b.opts.Asked != nil {
		b.opts.Asked(r)
	}
	return nil
}

// follow makes the end of a request one that Settled is told of.
func (b *Broker) follow(id string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.open[id] = b.opts.Settled != nil
}

// tell tells Settled how r ended, unless it was told before.
func (b *Broker) tell(r *Request) {
	b.mu.Lock()
	open := b.open[r.ID]
	delete(b.open, r.ID)
	b.mu.Unlock()
	if open {
		b.opts.Settled(r)
	}
}

// Wait waits for a request that was put before, by this process or another.
func (b *Broker) Wait(ctx context.Context, id string) (*Request, error) {
	r, err := b.store.Request(ctx, id)
	if err != nil || r.State != Pending {
		return r, err
	}
	wake := b.watch(id)
	defer b.unwatch(id)
	b.follow(id)
	return b.wait(ctx, r, wake)
}

// Follow waits for a request in the background, for a host that shows it to
// humans of its own and may be answered by others first. The context ends when
// the request does; end waits for that and says how it ended, nil if it cannot be
// looked up.
func (b *Broker) Follow(ctx context.Context, id string) (during context.Context, end func() *Request) {
	during, stop := context.WithCancel(ctx)
	ended := make(chan *Request, 1)
	go func() {
		r, _ := b.Wait(ctx, id)
		ended <- r
		stop()
	}()
	return during, func() *Request { return <-ended }
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

// maxFailures is how often in a row a waiting request may fail to be looked up
// before the ask is given up.
const maxFailures = 5

func (b *Broker) wait(ctx context.Context, r *Request, wake chan struct{}) (*Request, error) {
	timeout := time.NewTimer(time.Until(r.Expires))
	defer timeout.Stop()
	poll := time.NewTicker(b.opts.Poll)
	defer poll.Stop()
	for failures := 0; ; {
		select {
		case <-wake:
		case <-poll.C:
		case <-timeout.C:
			return b.end(r.ID, Expired)
		case <-ctx.Done():
			return b.end(r.ID, Canceled)
		}
		now, err := b.store.Request(ctx, r.ID)
		switch {
		case err == nil && now.State != Pending:
			b.tell(now)
			return now, nil
		case err == nil:
			failures = 0
		case ctx.Err() == nil:
			if failures++; failures >= maxFailures {
				return nil, fmt.Errorf("the request cannot be looked up: %w", err)
			}
		}
	}
}

// end settles a request that was not answered. An answer that came just now
// counts.
func (b *Broker) end(id string, to State) (*Request, error) {
	ctx := context.Background()
	r, err := b.store.Request(ctx, id)
	if err != nil {
		return nil, err
	}
	if err := b.store.Settle(ctx, id, to, r.Answers, nil); err != nil && !errors.Is(err, ErrSettled) {
		return nil, err
	}
	if r, err = b.store.Request(ctx, id); err == nil {
		b.tell(r)
	}
	return r, err
}

// Pending returns the requests that can still be answered, oldest first. Those
// whose time is over, because the asking process ended before, are settled on the way.
func (b *Broker) Pending(ctx context.Context) ([]*Request, error) {
	all, err := b.store.Requests(ctx, Pending)
	if err != nil {
		return nil, err
	}
	now := time.Now()
	var out []*Request
	for _, r := range all {
		if now.Before(r.Expires) {
			out = append(out, r)
			continue
		}
		if err := b.store.Settle(ctx, r.ID, Expired, r.Answers, nil); err == nil {
			b.tell(r.with(Expired, r.Answers))
		} else if !errors.Is(err, ErrSettled) {
			return nil, err
		}
	}
	return out, nil
}

// Answer takes a person's answer to a pending request. The first answer wins;
// a later one gets ErrSettled and leaves nothing behind. Where several must
// agree, an approval may leave the request pending; one refusal settles it.
func (b *Broker) Answer(ctx context.Context, id string, a Answer) (*Request, error) {
	for {
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
			if len(answers) < max(r.Who.Needed, 1) {
				err := b.note(ctx, r, answers)
				if errors.Is(err, ErrSettled) && len(answers) < maxAnswers {
					continue // another answer came meanwhile: look at the request again
				}
				if err != nil {
					return nil, err
				}
				return r.with(Pending, answers), nil
			}
			said := agreed(answers)
			to, grant = Approved, said.grant(r)
		}
		if err := b.store.Settle(ctx, id, to, answers, grant); err != nil {
			return nil, err
		}
		settled := r.with(to, answers)
		b.tell(settled)
		b.wake(id)
		if !a.Allow && a.All {
			b.refuseOthers(ctx, r)
		}
		return settled, nil
	}
}

// with returns the request as an answer made it; the process that waited for it
// may have used it by now.
func (r *Request) with(s State, answers []Answer) *Request {
	c := *r
	c.State, c.Answers = s, answers
	return &c
}

// maxAnswers bounds how many people can have a say in one request.
const maxAnswers = 100

// admit tells whether an answer counts: the request is open, the person may
// answer, and the grant is no more than was asked for.
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
	case !r.Who.admits(a):
		return fmt.Errorf("%w: %s", ErrNotYou, r.Who.words())
	case slices.ContainsFunc(r.Answers, func(o Answer) bool { return o.By == a.By }):
		return fmt.Errorf("%w: you have answered it", ErrNotYou)
	}
	if !a.Allow {
		return nil
	}
	if err := a.sensible(r); err != nil {
		return fmt.Errorf("%w: %w", ErrBad, err)
	}
	if b.opts.Check != nil {
		return b.opts.Check(r, a)
	}
	return nil
}

// admits tells whether the answering person is one of Users or has one of
// Roles; where neither is given, anybody may answer.
func (w *Who) admits(a *Answer) bool {
	return len(w.Roles)+len(w.Users) == 0 || slices.Contains(w.Users, a.By) ||
		slices.ContainsFunc(a.Roles, func(role string) bool { return slices.Contains(w.Roles, role) })
}

// words names the people that may answer.
func (w *Who) words() string {
	switch {
	case len(w.Users) == 0:
		return fmt.Sprintf("it takes one of the roles %q", w.Roles)
	case len(w.Roles) == 0:
		return fmt.Sprintf("it is for %q to answer", w.Users)
	}
	return fmt.Sprintf("it is for %q to answer, or for one of the roles %q", w.Users, w.Roles)
}

// sensible tells whether an approval says one thing.
func (a *Answer) sensible(r *Request) error {
	rule := a.Rule != nil || a.Offer != 0
	switch {
	case !slices.Contains([]Scope{"", Once, Session, Agent, Workspace, User, Always}, a.Scope):
		return fmt.Errorf("there is no scope %q", a.Scope)
	case slices.ContainsFunc(append([]int{a.Offer}, a.More...), func(n int) bool { return n < 0 || n > len(r.Offers) }):
		return fmt.Errorf("there is no offer %d, only %d", a.Offer, len(r.Offers))
	case len(a.More) > 0 && (a.Offer == 0 || slices.Contains(a.More, 0)):
		return errors.New("more offers than one, and none that is the first")
	case a.Scope == Always && !rule:
		return fmt.Errorf("always needs one of the %d offers, or a rule", len(r.Offers))
	case (a.Scope == Once || a.Scope == "") && (rule || !a.Until.IsZero()):
		return errors.New("an approval for once leaves nothing behind, neither a rule nor a time")
	case a.Scope == Always && !a.Until.IsZero():
		return errors.New("a rule in a file has no end; give the rule to the session, agent, workspace or user")
	case a.Input == nil:
		return nil
	case rule:
		return errors.New("other arguments and a rule: the rule was made for the arguments as they were")
	case r.Who.Needed > 1:
		return errors.New("where several must agree, arguments cannot be changed: the others have not seen them")
	case !json.Valid(a.Input):
		return errors.New("the arguments are not JSON")
	}
	return nil
}

// note keeps an approval that is not enough by itself.
func (b *Broker) note(ctx context.Context, r *Request, answers []Answer) error {
	n, ok := b.store.(Noter)
	if !ok {
		return errors.New("this store cannot keep requests that several must approve")
	}
	return n.Note(ctx, r.ID, len(r.Answers), answers)
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
			answers := []Answer{{By: "obstat", Time: time.Now(), Words: "another request of this session was refused"}}
			if b.store.Settle(ctx, o.ID, Refused, answers, nil) == nil {
				b.tell(o.with(Refused, answers))
				b.wake(o.ID)
			}
		}
	}
}

// grant returns the grant that an approval leaves; nil where it is for this once.
// An accepted rule that goes to a file is no grant: the file says it.
func (a *Answer) grant(r *Request) *Grant {
	g := &Grant{ID: NewID("grant_"), Scope: a.Scope, Key: Keys(&r.Call)[a.Scope], Tool: r.Call.Tool, Digest: r.Digest, About: r.About, By: a.By, Request: r.ID, Created: a.Time, Expires: a.Until}
	if g.Key == "" {
		return nil
	}
	if a.Input != nil {
		other := r.Call
		other.Input = a.Input
		digest := other.Digest()
		g.Digest = hex.EncodeToString(digest[:])
	}
	if rules := a.Rules(r); len(rules) > 0 {
		g.Digest, g.Rules = "", rules
	}
	return g
}

// Rules returns the rules that an answer to r takes: those of an offer, or one
// that was written by hand, which joins the list of the offer it replaces.
func (a *Answer) Rules(r *Request) []Offer {
	var o Offer
	switch {
	case a.Offer >= 1 && a.Offer <= len(r.Offers):
		o = r.Offers[a.Offer-1]
	case len(r.Offers) > 0:
		o = r.Offers[0]
	}
	switch {
	case a.Rule != nil:
		return []Offer{{Rule: a.Rule, List: o.List}}
	case a.Offer >= 1 && a.Offer <= len(r.Offers):
		out := o.Rules()
		for _, n := range a.More {
			if n >= 1 && n <= len(r.Offers) {
				out = append(out, r.Offers[n-1].Rules()...)
			}
		}
		return out
	}
	return nil
}

// Keys returns, for each scope, the key that a grant needs to cover a call: the
// session, agent, directory or user.
func Keys(c *obstat.Call) map[Scope]string {
	return map[Scope]string{Session: c.Session, Agent: c.Agent, Workspace: c.Dir, User: c.User}
}

// For tells whether the grant holds for these keys.
func (g *Grant) For(keys map[Scope]string, now time.Time) bool {
	return g.InForce(now) && g.Key != "" && keys[g.Scope] == g.Key
}

// Covers tells whether the grant settles a call: its scope is the call's, and
// it is bound to this very call. Grants that hold a rule are tried by
// the gate, as rules.
func (g *Grant) Covers(key map[Scope]string, tool, digest string, now time.Time) bool {
	return g.For(key, now) && g.Digest != "" && g.Digest == digest && g.Tool == tool
}
