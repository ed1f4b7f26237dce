package hookrun

import (
	"slices"
	"time"

	"github.com/obstat/obstat"
)

// ask settles an ask by what was granted before, or puts it to a human elsewhere.
func (t *turn) ask(a *Ask, d obstat.Decision, by *policy, policies []*policy) (out obstat.Decision, recorded bool) {
	limit := t.Waiting.Limit(t.event.Agent)
	a.Call, a.Decision, a.Limit = *t.event.Call, d, time.Until(t.began.Add(limit))
	if by != nil {
		a.Call = t.put(by)
		for _, p := range policies {
			a.Policies = append(a.Policies, p.Loaded)
		}
		at := slices.Index(policies, by)
		a.Policies[0], a.Policies[at] = a.Policies[at], a.Policies[0]
	}
	a.Guarded = t.programs()
	if !a.Native {
		t.extend(limit + ownMargin)
	}
	return t.Wait(a)
}
