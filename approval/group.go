package approval

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"time"
)

// GroupOf returns the group of a request: requests of one group are about the
// same tool, by the same rule, the same first offer would settle them, and they do
// the same kinds of things: a push that sends a secret along is not like a push.
func GroupOf(r *Request) string {
	offer := ""
	if len(r.Offers) > 0 {
		offer = r.Offers[0].Text
	}
	kinds := map[string]bool{}
	for _, e := range r.Effects {
		kinds[e.Kind] = true
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %q %q %q %t %q %t", r.Call.Agent, r.Call.Tool, r.Rule, offer, r.Safety, slices.Sorted(maps.Keys(kinds)), r.Part == ""))
	return "grp_" + hex.EncodeToString(sum[:10])
}

// maxGroupGrant bounds how long the grant of an answer to a group holds.
const maxGroupGrant = 24 * time.Hour

// Answered is one request of a group after an answer to all.
type Answered struct {
	Request *Request   // nil where the answer did not count
	Others  []*Request // that a refusal for All has ended as well
	Err     error
}

// AnswerGroup answers several requests of one group in the same way, each as if it
// were answered by itself: a request that another person answered first stays so. An
// approval with a scope leaves one grant for each session, agent, workspace or
// user, and it needs an end.
func (b *Broker) AnswerGroup(ctx context.Context, ids []string, a Answer) ([]Answered, error) {
	grants := a.Allow && a.Scope != Once && a.Scope != ""
	switch end := a.Until.Sub(b.now()); {
	case a.Input != nil || a.Rule != nil:
		return nil, fmt.Errorf("%w: a group is answered with one of its offers, not with other arguments or a rule of one's own", ErrBad)
	case a.Allow && a.Scope == Always:
		return nil, fmt.Errorf("%w: a rule for good is given to one request, not to a group", ErrBad)
	case grants && a.ForSeconds == 0 && a.Until.IsZero():
		return nil, fmt.Errorf("%w: the grant of a group needs an end", ErrBad)
	case grants && (end > maxGroupGrant || a.ForSeconds > int(maxGroupGrant/time.Second)):
		return nil, fmt.Errorf("%w: the grant of a group holds for %s at most", ErrBad, maxGroupGrant)
	}
	group, granted := "", map[string]bool{}
	out := make([]Answered, len(ids))
	for i, id := range ids {
		r, err := b.store.Request(ctx, id)
		if err != nil {
			out[i].Err = err
			continue
		}
		if group == "" {
			group = r.Group
		}
		if r.Group == "" || r.Group != group {
			out[i].Err = fmt.Errorf("%w: %q is not of the same group", ErrBad, id)
			continue
		}
		one := a
		if key := Keys(&r.Call)[a.Scope]; grants && granted[key] {
			one.Scope, one.Offer, one.More, one.Parts, one.Until, one.ForSeconds = Once, 0, nil, nil, time.Time{}, 0
		}
		if out[i] = b.AnswerWith(ctx, id, one); out[i].Err == nil && one.Scope == a.Scope {
			granted[Keys(&r.Call)[a.Scope]] = true
		}
	}
	return out, nil
}
