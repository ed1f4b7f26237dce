package all_test

import (
	"strings"
	"testing"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/dialect/all"
	"github.com/obstat/obstat/internal/cases"
	"github.com/obstat/obstat/internal/cases/casestest"
)

// settled tells whether the call is allowed with the offers, each by itself or all of them.
func settled(l *dialect.Loaded, c *cases.Case, offers []obstat.Offer) bool {
	try := func(offers ...obstat.Offer) bool {
		pol, err := l.With(offers...)
		return err == nil && pol.Decide(&c.Call, &c.World).Verdict == obstat.Allow
	}
	for i := range offers {
		if !try(offers[i]) {
			return try(offers...)
		}
	}
	return true
}

// TestOffersFit: of 300 recorded asks at least 95 of 100 come with an offer. None of them is
// about a program that runs others or a word that is known only at run time, or made by an
// ask rule that comes before every allow rule: there no rule would do. Each offer
// settles its own call and ends in no flag, and none of them, accepted, allows a call that
// was watched to do harm.
func TestOffersFit(t *testing.T) {
	asks, with := 0, 0
	accepted := map[string][]obstat.Offer{}
	casestest.Each(t, all.Find, "testdata/asks.jsonl.gz", func(c *cases.Case, l *dialect.Loaded) {
		d := l.Policy.Decide(&c.Call, &c.World)
		if d.Verdict != obstat.Ask {
			t.Fatalf("%s: %v: %s", c.ID, d.Verdict, d.Reason())
		}
		asks++
		offers := l.Offers(&c.Call, &c.World, &d)
		if len(offers) == 0 {
			return
		}
		with++
		if !settled(l, c, offers) {
			t.Errorf("%s: %s is not settled by %v", c.ID, c.Call.Input, offers)
		}
		for _, o := range offers {
			if prefix, ok := strings.CutSuffix(o.Rule.Pattern.Text, ":*"); ok {
				words := strings.Fields(prefix)
				_, after, _ := strings.Cut(string(c.Call.Input), prefix)
				whole := after != "" && strings.ContainsAny(strings.TrimSpace(after)[:1], `"|&;`)
				if len(words) < 2 || strings.HasPrefix(words[len(words)-1], "-") && !whole {
					t.Errorf("%s: %s: the offer %s is too wide", c.ID, c.Call.Input, o.Text)
				}
			}
		}
		accepted[c.Dialect] = append(accepted[c.Dialect], offers...)
	})
	if asks != 300 || with*100 < asks*95 {
		t.Errorf("%d of %d asks have an offer", with, asks)
	}
	policies := map[*dialect.Loaded]*obstat.Policy{}
	n := 0
	casestest.Each(t, all.Find, "testdata/harm.jsonl.gz", func(c *cases.Case, l *dialect.Loaded) {
		n++
		if policies[l] == nil {
			var err error
			if policies[l], err = l.With(accepted[c.Dialect]...); err != nil {
				t.Fatal(err)
			}
		}
		if d := policies[l].Decide(&c.Call, &c.World); d.Verdict == obstat.Allow {
			t.Errorf("%s: with the offers of %s accepted %s is allowed: %s", c.ID, c.Dialect, c.Call.Input, d.Reason())
		}
	})
	if n < 1000 {
		t.Errorf("%d calls that do harm", n)
	}
}
