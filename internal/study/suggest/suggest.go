// Package suggest finds rules that would take asks away: of the asks in the ledger that people
// allowed, those that a few rules would settle.
//
// It owns the choice of rules and the proof that they do nothing else: every call of the ledger is
// decided again with the rules in force, and none but approved asks may flip; none of the
// commands that are known to do harm may become allowed; and no deny or ask rule is lifted. How a rule is
// said is the dialect's
// business, and whether it is accepted a person's.
package suggest

import (
	"cmp"
	"iter"
	"slices"
	"strings"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/internal/study/diff"
	"github.com/obstat/obstat/internal/study/explain"
	"github.com/obstat/obstat/ledger"
)

// Options are for [Suggest]; nil is the zero Options.
type Options struct {
	// Min is how many different asks a rule has to settle; zero is 2. For one call there is
	// "always" at a prompt.
	Min int
	// Max bounds the rules; zero is 40.
	Max int
}

// A Suggestion is rules, mostly one, that settle asks.
type Suggestion struct {
	Offers []obstat.Offer `json:"-"`
	Rules  []string       `json:"rules"`  // in the dialect's own notation; none are needed where there are none
	Effect string         `json:"effect"` // of the asks: "run npm test", "write src/"
	Asks   int            `json:"asks"`   // how many asks of the ledger it settles
	Calls  []string       `json:"calls"`  // different ones, in short
	// Gone are the rules of a pile that need not stay beside these; see [Pile].
	Gone []obstat.Pos `json:"gone,omitempty"`
}

// Kind is the effect without its target: "run"; "tool" where it is none that is known.
func (s *Suggestion) Kind() string {
	if kind, _, ok := strings.Cut(s.Effect, " "); ok {
		return kind
	}
	return "tool"
}

// A Report is the outcome of a search.
type Report struct {
	V     int          `json:"v"`
	Calls int          `json:"calls"` // of the ledger
	Asks  int          `json:"asks"`  // by the policy as it is
	Left  int          `json:"left"`  // with all suggestions accepted
	List  []Suggestion `json:"suggestions"`
}

// A deed is a call of the ledger, with all that are equal to it.
type deed struct {
	call    *obstat.Call
	world   obstat.World
	said    obstat.Verdict // by the policy as it is
	refused bool           // a person said no to one of them, or did not answer
	open    int            // prompts of the agent whose answer is not known
	n       int
	at      obstat.Pos // of the rule of a pile
	exact   bool       // which is about this command alone
}

// Suggest looks through records, of decisions and of outcomes, for asks that rules of l's dialect would settle.
func Suggest(l *dialect.Loaded, records iter.Seq2[*ledger.Record, error], o *Options) (*Report, error) {
	if o == nil {
		o = &Options{}
	}
	s := &search{l: l, least: cmp.Or(o.Min, 2), byKey: map[string]*candidate{}}
	if err := s.read(records); err != nil {
		return nil, err
	}
	rep := &Report{V: 1, List: []Suggestion{}}
	for _, d := range s.deeds {
		rep.Calls += d.n
		if d.said == obstat.Ask {
			rep.Asks += d.n
		}
	}
	for _, d := range harmIn(s.deeds) {
		d.said = l.Policy.Decide(d.call, d.world).Verdict
		s.harm = append(s.harm, d)
	}
	s.gather()
	rep.List = s.choose(cmp.Or(o.Max, 40))
	rep.Left = rep.Asks
	for i := range rep.List {
		rep.Left -= rep.List[i].Asks
	}
	return rep, nil
}

type search struct {
	l        *dialect.Loaded
	least    int
	deeds    []*deed
	harm     []*deed
	list     []*candidate
	byKey    map[string]*candidate
	accepted []obstat.Offer
	made     diff.Made // of the policy, over all suggestions
}

// read takes the calls out of the records and decides each by the policy as it is.
func (s *search) read(records iter.Seq2[*ledger.Record, error]) error {
	known := map[string]*deed{}
	open := map[prompt]*deed{}
	for r, err := range records {
		if err != nil {
			return err
		}
		at := prompt{r.Agent, r.Session, r.Call}
		if d := open[at]; r.Kind == ledger.Outcome && d != nil && (r.Verdict == "ran" || r.Verdict == "failed") {
			d.open-- // which it did since a person said yes
			delete(open, at)
		}
		call, more, err := r.Replayable()
		if err != nil || r.Kind != ledger.Decision {
			continue
		}
		asked := r.Verdict == obstat.Ask.String()
		refused := more.Said == obstat.Ask && r.Verdict == obstat.Deny.String()
		key := strings.Join([]string{call.Tool, string(call.Input), call.Dir, call.Agent, string(call.Mode)}, "\x00")
		d := known[key]
		if d == nil {
			d = &deed{call: call, world: &obstat.Snapshot{}}
			if r.World != nil {
				d.world = r.World
			}
			d.said = s.l.Policy.Decide(call, d.world).Verdict
			known[key] = d
			s.deeds = append(s.deeds, d)
		}
		if asked && (r.Call == "" || open[at] == nil) {
			d.open++
			open[at] = d
		}
		d.n++
		d.refused = d.refused || refused || more.Partial != ""
	}
	for _, d := range s.deeds {
		d.refused = d.refused || d.open > 0
	}
	return nil
}

// A prompt is an ask that the agent put to its user; only the outcome of the call tells the answer.
type prompt struct{ agent, session, call string }

// A candidate is rules that would settle some ask.
type candidate struct {
	offers []obstat.Offer
	from   []*deed // that it is offered with, or that have the effect it is about
	gained []*deed // that it settles alone
}

func (s *search) add(from []*deed, offers ...obstat.Offer) {
	if len(offers) == 0 || slices.ContainsFunc(offers, func(o obstat.Offer) bool { return dialect.Broad(&o.Rule) }) {
		return
	}
	key := ""
	for i := range offers {
		key += offers[i].List + "\x00" + offers[i].Text + "\x00"
	}
	c := s.byKey[key]
	if c == nil {
		c = &candidate{offers: offers}
		s.byKey[key] = c
		s.list = append(s.list, c)
	}
	c.from = append(c.from, from...)
}

// maxCandidates bounds the rules that are tried.
const maxCandidates = 200

// gather collects the dialect's offers for each ask, and wider rules for several.
func (s *search) gather() {
	s.generalize()
	for _, d := range s.asks() {
		if d.at.IsValid() && !d.exact {
			continue // its words behind the first are made up
		}
		decision := s.l.Policy.Decide(d.call, d.world)
		offers := s.l.Offers(d.call, d.world, &decision)
		for i := range offers {
			s.add([]*deed{d}, offers[i])
		}
		if len(offers) > 1 {
			s.add([]*deed{d}, offers...)
		}
	}
	s.list = slices.DeleteFunc(s.list, func(c *candidate) bool { return !s.enough(c.from) })
	slices.SortStableFunc(s.list, func(a, b *candidate) int { return calls(b.from) - calls(a.from) })
	s.list = s.list[:min(len(s.list), maxCandidates)]
	for _, c := range s.list {
		if pol, err := s.l.With(c.offers...); err == nil {
			c.gained = settled(pol, s.asks())
		}
	}
	slices.SortStableFunc(s.list, func(a, b *candidate) int {
		return cmp.Or(cmp.Compare(len(a.offers), len(b.offers)), cmp.Compare(calls(b.gained), calls(a.gained)))
	})
}

// enough tells whether the asks are worth a rule: different ones, or one again and again.
func (s *search) enough(list []*deed) bool {
	return len(list) >= s.least || calls(list) >= 3*s.least
}

// asks returns the asks that a rule may settle.
func (s *search) asks() (out []*deed) {
	for _, d := range s.deeds {
		if d.said == obstat.Ask && !d.refused {
			out = append(out, d)
		}
	}
	return out
}

// settled returns those of the asks that pol allows.
func settled(pol *obstat.Policy, asks []*deed) (out []*deed) {
	for _, d := range asks {
		if pol.Decide(d.call, d.world).Verdict == obstat.Allow {
			out = append(out, d)
		}
	}
	return out
}

// choose accepts candidates, those that settle most first, as long as each settles enough that the
// ones before do not, and nothing else, and can be written into the file.
func (s *search) choose(most int) []Suggestion {
	out := []Suggestion{}
	gone := map[*deed]bool{}
	for _, c := range s.list {
		left := slices.DeleteFunc(slices.Clone(c.gained), func(d *deed) bool { return gone[d] })
		if len(out) == most {
			break
		}
		if !s.enough(left) {
			continue
		}
		with := append(slices.Clone(s.accepted), c.offers...)
		pol, err := s.l.Written(s.l.Into(), with...)
		if err != nil || !s.harmless(pol) || s.loosens(pol) {
			continue
		}
		if left = settled(pol, left); !s.enough(left) {
			continue
		}
		for _, d := range left {
			gone[d] = true
		}
		s.accepted = with
		out = append(out, newSuggestion(c, left))
	}
	return out
}

// harmless tells whether pol allows, of all that the policy as it is does not, only asks that
// people approved.
func (s *search) harmless(pol *obstat.Policy) bool {
	for _, d := range slices.Concat(s.deeds, s.harm) {
		now := pol.Decide(d.call, d.world).Verdict
		if now > d.said && (d.said == obstat.Deny || d.refused) || now < d.said {
			return false
		}
	}
	return true
}

// maxWitnesses bounds the calls that a suggestion is tried on.
const maxWitnesses = 1_500

// loosens tells whether pol lifts a deny or ask rule of the policy, which stays however often people
// have approved its asks.
func (s *search) loosens(pol *obstat.Policy) bool {
	return len(diff.Loosened(&diff.Draft{Was: []*obstat.Policy{s.l.Policy}, Now: pol, Specific: true,
		Limit: maxWitnesses, Made: &s.made})) > 0
}

func calls(list []*deed) (n int) {
	for _, d := range list {
		n += d.n
	}
	return n
}

// maxShown is how many calls of a suggestion are named.
const maxShown = 5

func newSuggestion(c *candidate, gained []*deed) Suggestion {
	out := Suggestion{Offers: c.offers, Rules: []string{}, Asks: calls(gained), Effect: effectOf(gained[0])}
	for i := range c.offers {
		out.Rules = append(out.Rules, cmp.Or(c.offers[i].Text, c.offers[i].Rule.String()))
	}
	for _, d := range gained {
		if d.at.IsValid() {
			out.Gone = append(out.Gone, d.at)
		}
	}
	slices.SortStableFunc(gained, func(a, b *deed) int { return b.n - a.n })
	for _, d := range gained[:min(maxShown, len(gained))] {
		text := explain.TextOf(d.call)
		if d.at.IsValid() && !d.exact {
			text = strings.TrimSuffix(text, anyArgument) + " …"
		}
		out.Calls = append(out.Calls, text)
	}
	return out
}
