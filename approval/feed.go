package approval

import (
	"context"
	"slices"
	"sync"
	"time"
)

// A Hinter is a store that hears of changes by other processes. A hint may be
// lost; a change may come without one.
type Hinter interface {
	Hints() <-chan struct{}
}

// A Feed tells of every request that is put or changed, by whichever process that
// shares the store. One query looks for all who wait.
type Feed struct {
	store RequestStore
	poll  time.Duration
	kick  chan struct{}

	mu     sync.Mutex
	tell   []func(*Request)
	cursor int64
	seen   map[string]int      // versions that may come again
	open   map[string]*Request // as they were last told: an answer or a claim is likely
}

// maxOpen bounds how many requests a feed keeps, and maxOpenInput how long the input of one may be.
const (
	maxOpen      = 1024
	maxOpenInput = 16 << 10
)

// NewFeed returns a feed that looks for changes each poll, and when it is kicked
// or the store hints; zero is a second. [Feed.Run] runs it.
func NewFeed(store RequestStore, poll time.Duration) *Feed {
	if poll <= 0 {
		poll = time.Second
	}
	return &Feed{store: store, poll: poll, kick: make(chan struct{}, 1)}
}

// Each makes f hear of every change from now on, in the order of the changes. It
// must not wait for anything.
func (f *Feed) Each(hear func(*Request)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.tell = append(f.tell, hear)
}

// Kick has the feed look now. It does not wait, and does nothing on a nil Feed.
func (f *Feed) Kick() {
	if f == nil {
		return
	}
	select {
	case f.kick <- struct{}{}:
	default:
	}
}

// Cursor returns the cursor of the last change that was told.
func (f *Feed) Cursor() int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.cursor
}

// known returns a request as it was last told, nil where it is not kept: it may have changed since,
// which only [RequestStore.Update] can tell.
func (f *Feed) known(id string) *Request {
	if f == nil {
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	r := f.open[id]
	if r == nil {
		return nil
	}
	c := *r
	c.Answers = slices.Clip(c.Answers)
	return &c
}

// keep keeps a request that can still be answered or claimed, and drops any other. f.mu is held.
func (f *Feed) keep(r *Request) {
	delete(f.open, r.ID)
	if r.State != Pending && r.State != Approved || len(r.Call.Input) > maxOpenInput {
		return
	}
	if f.open == nil {
		f.open = map[string]*Request{}
	}
	for id := range f.open {
		if len(f.open) < maxOpen {
			break
		}
		delete(f.open, id) // any one: it is read again when it is needed
	}
	f.open[r.ID] = r
}

// Begin finds where the changes are that come from now on.
func (f *Feed) Begin(ctx context.Context) error {
	last, err := f.store.Requests(ctx, Query{After: 1, Limit: 1})
	if err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.cursor = 1; len(last) > 0 {
		f.cursor = max(1, last[0].Changed)
		f.seen = map[string]int{last[0].ID: last[0].Version}
	}
	return nil
}

// Run tells of changes until ctx ends. While the store fails it looks again each
// poll.
func (f *Feed) Run(ctx context.Context) {
	var hints <-chan struct{}
	if h, ok := f.store.(Hinter); ok {
		hints = h.Hints()
	}
	tick := time.NewTicker(f.poll)
	defer tick.Stop()
	for {
		late := soon
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			late = 0
		case <-f.kick:
		case <-hints:
		}
		_ = f.pull(ctx, late) // it is looked for again
	}
}

// soon is how late a change may come to be found by the look that a hint asks for: of two
// transactions at once, the later one may be seen first. The next poll finds changes that come
// later than that, since it reads all that was changed lately.
const soon = 100 * time.Millisecond

// pull tells of changes since the last time, and of late ones; see [Query].
func (f *Feed) pull(ctx context.Context, late time.Duration) error {
	if f.Cursor() == 0 {
		if err := f.Begin(ctx); err != nil {
			return err
		}
	}
	f.mu.Lock()
	before, after := f.seen, f.cursor
	f.mu.Unlock()
	seen := map[string]int{} // versions that do not come any more are forgotten
	told := func(id string, version int) bool {
		v, was := before[id]
		if was = was && v == version; was {
			seen[id] = v
		}
		return was
	}
	changed, err := f.store.Requests(ctx, Query{After: after, Late: late, Told: told})
	if err != nil {
		return err
	}
	changed = slices.DeleteFunc(changed, func(r *Request) bool { return told(r.ID, r.Version) })
	if late > 0 { // those that are not so late may come again
		for id, v := range before {
			seen[id] = v
		}
	}
	f.mu.Lock()
	for _, r := range changed {
		seen[r.ID] = r.Version
		f.cursor = max(f.cursor, r.Changed)
		f.keep(r)
	}
	f.seen = seen
	tell := slices.Clone(f.tell)
	f.mu.Unlock()
	for _, r := range changed {
		for _, hear := range tell {
			hear(r)
		}
	}
	return nil
}
