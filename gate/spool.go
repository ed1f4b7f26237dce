package gate

import (
	"context"
	"os"
	"time"

	"github.com/obstat/obstat/ledger"
)

// absorbEvery is how often the spool is looked at.
const absorbEvery = 5 * time.Second

// absorber takes the spool in from time to time.
func (g *Gate) absorber(ctx context.Context, done chan<- struct{}) {
	defer close(done)
	tick := time.NewTicker(absorbEvery)
	defer tick.Stop()
	var last os.FileInfo
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		now, err := os.Stat(g.opts.Spool.Path)
		if err != nil || last != nil && os.SameFile(last, now) && last.Size() == now.Size() && last.ModTime().Equal(now.ModTime()) {
			continue // nothing was written since it was taken in
		}
		if last = now; g.absorb(ctx) {
			last = nil // another file is in its place
		}
	}
}

// absorb takes in what short-lived processes wrote down. It was acknowledged and
// stays where it is until it is in the ledger. It tells whether the spool is to
// be looked at again.
func (g *Gate) absorb(ctx context.Context) bool {
	n, err := ledger.Absorb(ctx, g.opts.Spool, g.opts.Store)
	g.mu.Lock()
	defer g.mu.Unlock()
	if ctx.Err() == nil {
		g.spool = err
	}
	return n > 0 || err != nil
}
