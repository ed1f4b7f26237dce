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
	f := &finder{turn: t, look: policycache.Looker{Read: t.Read}}
	found, err := f.find()
	if err != nil {
		return nil, err
	}
	e := &policycache.Entry{Seen: f.look.Seen()}
	out := make([]*policy, len(found))
	for i, l := range found {
		kept := policycache.Policy{Dialect: l.Dialect.Name(), Digest: l.Policy.Digest(), Program: l.Program}
		for _, file := range l.Input.Files {
			kept.Files = append(kept.Files, file.Name)
		}
		out[i] = &policy{kept, l.Policy}
		kept.Program = needed(l.Program, t.mode(l.Program))
		e.Policies = append(e.Policies, kept)
	}
	if f.look.Err == nil {
		_ = cache.Put(e, question...) // the next one finds it again
	}
	return out, nil
}

// needed returns what of a Program a call in a mode needs; a process that decides
// one call need not read the rest.
func needed(p *obstat.Program, mode obstat.Mode) *obstat.Program {
	q := *p
	q.Pipelines, q.Rules = map[obstat.Mode]obstat.Pipeline{}, map[string][]obstat.Rule{}
	for _, m := range []obstat.Mode{p.Mode, mode} {
		pl, ok := p.Pipelines[m]
		if !ok {
			continue
		}
		q.Pipelines[m] = pl
		for _, s := range slices.Concat(pl.Stages, pl.Amend) {
			if match, ok := s.(obstat.Match); ok {
				q.Rules[match.Rules] = p.Rules[match.Rules]
			}
		}
	}
	return &q
}

// compiled makes what is kept ready to decide.
func compiled(kept []policycache.Policy) ([]*policy, error) {
	out := make([]*policy, len(kept))
	for i, k := range kept {
		d, err := all.Find(k.Dialect)
		if err != nil {
			return nil, err
		}
		p, err := obstat.Compile(k.Program, &obstat.Options{Library: dialect.LibraryFor(d, k.Program), Trusted: k.Digest})
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
