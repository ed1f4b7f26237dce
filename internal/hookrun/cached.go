package hookrun

import (
	"errors"
	"maps"
	"slices"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/dialect/all"
	"github.com/obstat/obstat/internal/policycache"
	"github.com/obstat/obstat/internal/statedir"
)

// A policy is a configuration that a call is decided by.
type policy struct {
	policycache.Policy
	decides *obstat.Policy
}

// errElsewhere is the error where the other half of the pair has to find the
// policy.
var errElsewhere = errors.New("the policy is not cached")

// policies returns the policies that the call is decided by, from the cache if
// nothing has changed since they were put there; none means that there is none
// anywhere.
func (t *turn) policies() ([]*policy, error) {
	cache, question := t.cache(), t.question()
	if e, err := cache.Get(question...); err == nil {
		if out, err := compiled(e.Policies); err == nil {
			return out, nil
		}
	}
	if t.Handover != nil {
		return nil, errElsewhere
	}
	return t.search(cache, question)
}

// compiled makes what is kept ready to decide.
func compiled(kept []policycache.Policy) ([]*policy, error) {
	out := make([]*policy, len(kept))
	for i, k := range kept {
		d, err := all.Find(k.Dialect)
		if err != nil {
			return nil, err
		}
		p, err := obstat.Compile(k.Program, &obstat.Options{Library: dialect.LibraryFor(d, k.Program)})
		if err != nil {
			return nil, err
		}
		out[i] = &policy{k, p}
	}
	return out, nil
}

// cache returns where policies are kept, which is nowhere if no home is known.
func (t *turn) cache() *policycache.Cache {
	dir, err := statedir.Dir(t.Getenv)
	if err != nil {
		return &policycache.Cache{}
	}
	return &policycache.Cache{Dir: statedir.Cache(dir), Self: t.Self}
}

// question is all that the choice of policies depends on besides files.
func (t *turn) question() []string {
	out := []string{t.event.Agent, string(t.event.Call.Mode), t.home, t.Policy.Dialect, t.Policy.Dir, "places"}
	out = append(out, t.places()...)
	out = append(append(out, "files"), t.Policy.Files...)
	for _, k := range slices.Sorted(maps.Keys(t.Policy.Options)) {
		out = append(out, "option", k, t.Policy.Options[k])
	}
	return out
}

// places returns where the project of the call may be.
func (t *turn) places() []string {
	if t.found != nil {
		return t.found
	}
	c := t.event.Call
	t.found = []string{c.Dir}
	if len(c.Roots) > 0 {
		t.found[0] = c.Roots[0]
	}
	if wd, err := t.Getwd(); err == nil && wd != t.found[0] {
		t.found = append(t.found, wd)
	}
	return t.found
}
