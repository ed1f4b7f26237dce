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

// A Broker puts requests to humans and waits for their answers. Several brokers,
// in several processes, may share one Store: the first answer anywhere wins
// everywhere.
type Broker struct {
	store Store
	opts  Options

	mu      sync.Mutex
	waiting map[string][]chan *Request // each gets the request when it has changed
	open    map[string]bool            // requests whose end Options.Settled has not heard of
	attends map[string]func()          // ends saying that this process waits for a request, see Options.Attends
}

// Options configure a Broker; nil means the defaults.
type Options struct {
	// Timeout is how long a request waits where it does not say; zero is a minute.
	Timeout time.Duration
	// Poll is how often a waiting request is looked up, for answers given in
	// another process; zero is a quarter of a second.
	Poll time.Duration
	// Valid is how long an approval waits to be claimed; zero is a quarter of an
	// hour.
	Valid time.Duration
	// Feed tells of changes in other processes, so that a waiting request is
	// looked up when it has changed; nil: it is looked up each Poll.
	Feed *Feed
	// Attends: requests that are put without waiting are withdrawn when this process ends: the agent that
	// asked ends with it.
	Attends bool
	// Logs: the process that takes answers with this broker writes them down, so that the
	// one that claims an approval does not; see [Request].Logged.
	Logs bool
	// Apart: agents that know nothing of each other use the store, and each says by itself
	// the name of its session. A session is then that of its agent and user alone.
	Apart bool
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
	b := &Broker{store: store, waiting: map[string][]chan *Request{}, open: map[string]bool{}, attends: map[string]func(){}}
	if opts != nil {
		b.opts = *opts
	}
	if b.opts.Timeout <= 0 {
		b.opts.Timeout = time.Minute
	}
	if b.opts.Poll <= 0 {
		b.opts.Poll = 250 * time.Millisecond
		if b.opts.Feed != nil {
			b.opts.Poll = 15 * time.Second
		}
	}
	if b.opts.Valid <= 0 {
		b.opts.Valid = 15 * time.Minute
	}
	if b.opts.Feed != nil {
		b.opts.Feed.Each(b.wake)
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
	defer b.unwatch(r.ID, wake)
	defer b.attend(r.ID)()
	if err := b.Put(ctx, r); err != nil {
		return nil, err
	}
	return b.wait(ctx, r, wake)
}

// Put puts r to humans and returns at once; [Broker.Wait] waits for the answer.
func (b *Broker) Put(ctx context.Context, r *Request) error {
	return b.PutBy(ctx, r, b.store.PutRequest)
}

// PutBy is Put with the function that keeps the request, for a caller that has the
// store keep something else with it.
func (b *Broker) PutBy(ctx context.Context, r *Request, keep func(context.Context, *Request) error) error {
	if r.ID == "" {
		r.ID = NewID("req_")
	}
	r.Created, r.State = b.now(), Pending
	if r.Expires.IsZero() {
		r.Expires = r.Created.Add(b.opts.Timeout)
	}
	b.follow(r.ID)
	began := b.opts.Attends && b.attendLong(r.ID) // before anybody can see it
	if err := keep(ctx, r); err != nil {
		b.mu.Lock()
		delete(b.open, r.ID)
		b.mu.Unlock()
		if began {
			b.Leave(r.ID)
		}
		return fmt.Errorf("the request could not be kept: %w", err)
	}
	b.opts.Feed.Kick()
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
	defer b.unwatch(id, wake)
	b.follow(id)
	return b.wait(ctx, r, wake)
}

// Until waits like [Broker.Wait], and leaves the request as it is when ctx ends: the
// asker may come back for the answer.
func (b *Broker) Until(ctx context.Context, id string) (*Request, error) {
	wake := b.watch(id)
	defer b.unwatch(id, wake)
	r, err := b.store.Request(ctx, id)
	if err == nil && r.State != Pending {
		b.tell(r)
	}
	if err == nil && r.State == Pending {
		r, err = b.look(ctx, r, wake)
	}
	if err == nil && r.State != Pending {
		b.Leave(id)
	}
	return r, err
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

func (b *Broker) watch(id string) chan *Request {
	wake := make(chan *Request, 1)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.waiting[id] = append(b.waiting[id], wake)
	return wake
}

func (b *Broker) unwatch(id string, wake chan *Request) {
	b.mu.Lock()
	defer b.mu.Unlock()
	left := slices.DeleteFunc(b.waiting[id], func(c chan *Request) bool { return c == wake })
	if b.waiting[id] = left; len(left) == 0 {
		delete(b.waiting, id)
	}
}

// wake hands a changed request to all that wait for it, in place of an older version that
// they have not taken yet.
func (b *Broker) wake(r *Request) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, ch := range b.waiting[r.ID] {
		select {
		case <-ch:
		default:
		}
		ch <- r
	}
}

// maxFailures is how often in a row a waiting request may fail to be looked up
// before the ask is given up.
const maxFailures = 5

// wait waits for the end of a request, and takes it back when ctx ends.
func (b *Broker) wait(ctx context.Context, r *Request, wake chan *Request) (*Request, error) {
	out, err := b.look(ctx, r, wake)
	if err != nil && ctx.Err() != nil {
		return b.end(r.ID, Canceled)
	}
	return out, err
}

// look waits for the end of a request.
func (b *Broker) look(ctx context.Context, r *Request, wake chan *Request) (*Request, error) {
	timeout := time.NewTimer(r.Expires.Sub(b.now()))
	defer timeout.Stop()
	poll := time.NewTicker(b.opts.Poll)
	defer poll.Stop()
	for failures := 0; ; {
		select {
		case now := <-wake:
			if now.State != Pending {
				b.tell(now)
				return now, nil
			}
			continue
		case <-poll.C:
		case <-timeout.C:
			return b.end(r.ID, Expired)
		case <-ctx.Done():
			return nil, ctx.Err()
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
	r, err := b.settle(context.Background(), id, to, nil)
	if errors.Is(err, ErrSettled) {
		r, err = b.store.Request(context.Background(), id)
	}
	if err == nil {
		b.tell(r)
	}
	return r, err
}

// Withdraw ends a request that its asker does not want answered any more.
func (b *Broker) Withdraw(id string) (*Request, error) { return b.end(id, Canceled) }

// Pending returns the requests that can still be answered, oldest first. Those
// whose time is over, or whose asking process was killed, are settled on the way.
func (b *Broker) Pending(ctx context.Context) ([]*Request, error) {
	out, _, err := b.pending(ctx)
	return out, err
}

func (b *Broker) pending(ctx context.Context) (open, over []*Request, err error) {
	all, err := b.store.Requests(ctx, Query{State: Pending})
	if err != nil {
		return nil, nil, err
	}
	now := b.now()
	for _, r := range all {
		to, gone := Expired, b.gone(r.ID)
		if now.Before(r.Expires) {
			if !gone {
				open = append(open, r)
				continue
			}
			to = Canceled
		}
		if r, err := b.withdraw(ctx, r.ID, to, gone); err == nil {
			b.tell(r)
			over = append(over, r)
		} else if !errors.Is(err, ErrSettled) {
			return nil, nil, err
		}
	}
	return open, over, nil
}
