package protect

import (
	"slices"
	"sync"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/paths"
)

// A Keeper hands out the same Guarded as long as the same files guard the agent, so that
// they are looked up once and not with every call.
type Keeper struct {
	mu   sync.Mutex
	last *Guarded
}

// Get returns want, or the one before it if that guards the same.
func (k *Keeper) Get(want *Guarded) *Guarded {
	k.mu.Lock()
	defer k.mu.Unlock()
	l := k.last
	same := l != nil && l.Pinned == want.Pinned && slices.Equal(l.Policies, want.Policies)
	same = same && slices.Equal(l.Places, want.Places) && slices.Equal(l.State, want.State)
	if !same || !slices.Equal(l.Programs, want.Programs) {
		k.last = want
	}
	return k.last
}

// Holds tells what a path is where it guards the agent: `a policy` of `/p/obstat.yaml`; "" where it
// does not. It is for paths that no call names yet, such as those that a confined command may write.
func (g *Guarded) Holds(c *obstat.Call, world obstat.World, path string) string {
	k := &check{g: g, call: c, world: world}
	p := fold(path)
	if e := named(p); e != nil {
		return e.what
	}
	one := paths.Exactly(p)
	for _, it := range k.own() {
		if it.set.Meets(one) {
			return it.what
		}
	}
	return ""
}
