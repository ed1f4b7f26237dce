package gate

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/approval"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/ledger"
)

const (
	// lookBack is how many decisions an offer is tried on, none of them older than lookDays.
	lookBack = 200
	lookDays = 7
	// maxAlso is how many calls are named that an offer would allow as well.
	maxAlso = 5
)

// also tries each offer on the calls that asked lately, and in the file that it would be written
// to, so that a person sees which other calls it lets through. Records that cannot be read are
// left out: nothing hangs on them.
func (p *passage) also(ctx context.Context, offers []approval.Offer) {
	for i := range offers {
		o := &offers[i]
		rules, err := rulesOf(o.Rules())
		if err != nil {
			continue
		}
		if f, ok := p.j.by.opts.Policy.(*Files); ok {
			if o.File = f.into(p.j.From.Loaded); o.File != "" {
				_, err = p.j.From.Written(o.File, rules...)
			} else {
				err = errNotOurs
			}
			if err != nil {
				o.File, o.NoFile = "", firstLine(err.Error())
			}
		}
		if store, err := p.g.keeps(ctx); err == nil {
			o.Also = Also(ctx, store, p.j.From.Loaded, p.call, rules)
		}
	}
}

// Also returns up to five calls that l asks about and would allow with the rules as well: of
// those to the same tool as c that asked within the last days.
func Also(ctx context.Context, records ledger.Reader, l *dialect.Loaded, c *obstat.Call, rules []obstat.Offer) (out []string) {
	with, err := l.With(rules...)
	if err != nil {
		return nil
	}
	own := mainText(c)
	q := ledger.Query{Kind: ledger.Decision, Tool: c.Tool, Limit: lookBack, Since: time.Now().AddDate(0, 0, -lookDays)}
	var asked []*ledger.Record
	for r, err := range records.Records(ctx, q) {
		if err != nil {
			return nil
		}
		asked = append(asked, r)
	}
	for _, r := range slices.Backward(asked) {
		c, more, err := r.Replayable()
		if err != nil || more.Said != obstat.Ask || more.Partial != "" || r.World == nil {
			continue
		}
		if text := mainText(c); text != own && !slices.Contains(out, text) && with.Decide(c, r.World).Verdict == obstat.Allow && l.Policy.Decide(c, r.World).Verdict != obstat.Allow {
			if out = append(out, text); len(out) == maxAlso {
				break
			}
		}
	}
	return out
}

// mainText returns the main argument of a call: its command, path or URL.
func mainText(c *obstat.Call) string {
	return ledger.ClipTo(cmp.Or(c.Text(), c.Tool+" "+string(c.Input)), 200)
}
