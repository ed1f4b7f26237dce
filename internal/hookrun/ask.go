//go:build !obstat_quick

package hookrun

import (
	"slices"
	"time"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/internal/policycache"
)

// ask settles an ask by what was granted before, or puts it to a human elsewhere.
func (t *turn) ask(a *Ask, d obstat.Decision, by *policy, policies []*policy) (out obstat.Decision, recorded bool) {
	limit := t.Waiting.Limit(t.event.Agent)
	a.Call, a.Decision, a.Limit = *t.event.Call, d, time.Until(t.began.Add(limit))
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
	a.Guarded = t.programs()
	if !a.Native {
		t.extend(limit + ownMargin)
	}
	return t.Wait(a)
}
