package policy

import (
	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/dialect/all"
)

// OwnRules says why an agent's own files deny a call, or have a rule that asks about it; "" where they
// do not. known is false for an agent whose files no dialect reads. An agent matches its rules against a
// changed command alone, so that the original has to be put to them before.
func OwnRules(w *Where, call *obstat.Call, world obstat.World) (why string, known bool, err error) {
	var own []dialect.Dialect
	for _, d := range all.All() {
		if dialect.OwnedBy(d, w.Agent) {
			own = append(own, d)
		}
	}
	if own == nil {
		return "", false, nil
	}
	at := *w
	at.Named = nil
	f, err := (&Finder{Dialects: own, NoPins: true}).Find(&at)
	if err == nil {
		err = f.Err()
	}
	if err != nil {
		return "", true, err
	}
	for _, p := range f.Policies {
		if !dialect.OwnedBy(p.Dialect, w.Agent) {
			continue // the built-in policy, where it has no files
		}
		c := f.put(call, p)
		d := p.Loaded.Policy.Decide(&c, world)
		if d.Verdict == obstat.Deny || d.Verdict == obstat.Ask && d.Rule != nil && d.Rule.Pos.IsValid() {
			return d.Reason(), true, nil
		}
	}
	return "", true, nil
}
