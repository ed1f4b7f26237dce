package guard

import (
	"context"
	"time"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/ledger"
)

// A turn is one call on its way through the guard.
type turn struct {
	g     *Guard
	call  *obstat.Call
	began time.Time
	world *recorder
	j     *judged
	// request is the request that was put to humans, if one was.
	request string
	given   []byte           // the input that takes the place of the call's
	before  []*ledger.Record // to be written together with the decision
}

// judged is what the strictest policy says of a call.
type judged struct {
	by     *Guard // whose policy that is
	loaded *dialect.Loaded
	call   *obstat.Call // as it was put to that policy
	d      obstat.Decision
	trace  *obstat.Trace
	broken error // of any guard in the line
}

// judge puts a call to the guard's policy and to those of the agents that
// started this one, each in its own mode; the strictest answer counts.
func (g *Guard) judge(ctx context.Context, c *obstat.Call, world obstat.World) *judged {
	var out *judged
	var broken error
	for p := g; p != nil; p = p.opts.Parent {
		l, err := p.reload(ctx)
		if err != nil && broken == nil {
			broken = err
		}
		put := *c
		if put.Mode == "" || p != g {
			// What a subagent calls its mode is nothing to its parent's policy.
			put.Mode = p.opts.Mode
		}
		d, trace := l.Policy.Explain(&put, world)
		if out != nil && d.Verdict >= out.d.Verdict {
			continue
		}
		if p != g {
			d.Note = join(d.Note, "the agent that started this one may do no more")
		}
		out = &judged{by: p, loaded: l, call: &put, d: d, trace: trace}
	}
	out.broken = broken
	return out
}

// maxSeen bounds how much of the machine is written down with one decision.
const maxSeen = 1000

// A recorder is a World that remembers what was found in another one. What is
// not remembered was not there.
type recorder struct {
	of    obstat.World
	snap  obstat.Snapshot
	dirs  map[string]bool
	count int
}

var _ obstat.World = (*recorder)(nil)

// Home returns a home directory.
func (r *recorder) Home(user string) (string, bool) {
	h, ok := r.of.Home(user)
	switch {
	case !ok:
	case user == "":
		r.snap.HomeDir = h
	default:
		note(r, &r.snap.Homes, user, h)
	}
	return h, ok
}

// Readlink returns the target of a symbolic link.
func (r *recorder) Readlink(path string) (string, bool) {
	t, ok := r.of.Readlink(path)
	if ok {
		note(r, &r.snap.Links, path, t)
	}
	return t, ok
}

// IsDir reports whether path is a directory.
func (r *recorder) IsDir(path string) bool {
	ok := r.of.IsDir(path)
	if ok && !r.dirs[path] {
		if r.count++; r.count <= maxSeen {
			note(r, &r.dirs, path, true)
			r.snap.Dirs = append(r.snap.Dirs, path)
		}
	}
	return ok
}

func note[V comparable](r *recorder, m *map[string]V, k string, v V) {
	if *m == nil {
		*m = map[string]V{}
	}
	if have, ok := (*m)[k]; ok && have == v {
		return
	}
	if r.count++; r.count <= maxSeen {
		(*m)[k] = v
	}
}

// seen returns what was found, nil where that is too much to write down.
func (r *recorder) seen() *obstat.Snapshot {
	if r.count > maxSeen {
		return nil
	}
	return &r.snap
}
