//go:build !obstat_quick

package hookrun

import (
	"slices"
	"time"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/internal/policycache"
)

// ask puts an ask to a human elsewhere.
func (t *turn) ask(d obstat.Decision, by *policy, policies []*policy) (out obstat.Decision, recorded bool) {
	limit := t.Waiting.Limit(t.event.Agent)
	a := &Ask{Event: t.event, Call: *t.event.Call, Decision: d, Limit: time.Until(t.began.Add(limit))}
	if by != nil {
		a.Call = t.put(by)
		f := &finder{turn: t, look: policycache.Looker{Read: t.Read}}
		found, err := f.find()
		at := slices.Index(policies, by)
		if err != nil || at < 0 || at >= len(found) {
			return t.failed("the policy changed while the call was decided; make the call again"), false
		}
		found[0], found[at] = found[at], found[0]
		a.Policies = found
	}
	a.Guarded = programs()
	t.extend(limit + ownMargin)
	return t.Wait(a)
}
