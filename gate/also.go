package gate

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/approval"
	"github.com/obstat/obstat/effect"
	"github.com/obstat/obstat/ledger"
)

const (
	// lookBack is how many decisions an offer is tried on.
	lookBack = 200
	// maxAlso is how many calls are named that an offer would allow as well.
	maxAlso = 5
)

// also tries each offer on the calls that asked lately, so that whoever takes
// one sees what else it lets through. What cannot be looked up is left out:
// nothing hangs on it.
func (t *turn) also(ctx context.Context, offers []approval.Offer) {
	if len(offers) == 0 {
		return
	}
	store, err := t.g.keeps(ctx)
	if err != nil {
		return
	}
	var asked []*ledger.Record
	for r, err := range store.Records(ctx, ledger.Query{Kind: ledger.Decision, Tool: t.call.Tool, Limit: lookBack}) {
		if err != nil {
			return
		}
		asked = append(asked, r)
	}
	for i := range offers {
		rules, err := rulesOf(offers[i].Rules())
		if err != nil {
			continue
		}
		if pol, err := t.j.By.With(rules...); err == nil {
			offers[i].Also = t.allows(pol, asked)
		}
	}
}

// allows returns what pol would allow of the calls that asked.
func (t *turn) allows(pol *obstat.Policy, asked []*ledger.Record) (out []string) {
	own := mainText(t.call)
	for _, r := range slices.Backward(asked) {
		c, more, err := r.Replayable()
		if err != nil || more.Said != obstat.Ask || more.Partial != "" || r.World == nil {
			continue
		}
		now := t.j.By.Policy // what it allows by now, the offer does not add
		if text := mainText(c); text != own && !slices.Contains(out, text) && pol.Decide(c, r.World).Verdict == obstat.Allow && now.Decide(c, r.World).Verdict != obstat.Allow {
			if out = append(out, text); len(out) == maxAlso {
				return out
			}
		}
	}
	return out
}

// mainText returns what a call is about: its command, path or URL.
func mainText(c *obstat.Call) string {
	var fields map[string]json.RawMessage
	tool, known := effect.Lookup(c.Tool)
	if known && json.Unmarshal(c.Input, &fields) == nil {
		for _, names := range [][]string{tool.Command, tool.Paths, tool.URL} {
			for _, name := range names {
				var s string
				if json.Unmarshal(fields[name], &s) == nil && s != "" {
					return ledger.ClipTo(s, 200)
				}
			}
		}
	}
	return ledger.ClipTo(c.Tool+" "+string(c.Input), 200)
}
