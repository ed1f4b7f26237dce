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
	seen   map[string]int // versions that may come again
}

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
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		case <-f.kick:
		case <-hints:
		}
		_ = f.pull(ctx) // it is looked for again
	}
}

// pull tells of what has changed since the last time.
func (f *Feed) pull(ctx context.Context) error {
	if f.Cursor() == 0 {
		if err := f.Begin(ctx); err != nil {
			return err
		}
	}
	changed, err := f.store.Requests(ctx, Query{After: f.Cursor()})
	if err != nil || len(changed) == 0 {
		return err
	}
	f.mu.Lock()
	before, tell := f.seen, slices.Clone(f.tell)
	f.seen = make(map[string]int, len(changed))
	for _, r := range changed {
		f.seen[r.ID] = r.Version
		f.cursor = max(f.cursor, r.Changed)
	}
	f.mu.Unlock()
	for _, r := range changed {
		if v, told := before[r.ID]; told && v == r.Version {
			continue
		}
		for _, hear := range tell {
			hear(r)
		}
	}
	return nil
}
