package dialect

import (
	"slices"

	"github.com/obstat/obstat"
)

// maxOffered is the longest input that a rule is proposed for: nobody would read a longer one, and
// each proposal costs another decision.
const maxOffered = 8 << 10

// Offers returns the rules that the dialect proposes for an ask, as far as they
// pass [Loaded.Tried].
func (l *Loaded) Offers(call *obstat.Call, world obstat.World, d *obstat.Decision) []obstat.Offer {
	o, ok := l.Dialect.(Offerer)
	if !ok || d.Verdict != obstat.Ask || len(call.Input) > maxOffered {
		return nil
	}
	about := call
	if own := l.Policy.AsOwn(call, world); len(own) == 1 { // rules name the dialect's own tool
		about = own[0]
	}
	return l.Tried(call, world, o.Offers(l, about, world, d))
}

// Tried returns those of the offers that may be shown. With the floor on, each is
// tried first: one that would not settle this very call, that is wider than the
// call has any use for, or that hands out an interpreter, a shell or a wrapper is
// left out.
func (l *Loaded) Tried(call *obstat.Call, world obstat.World, offers []obstat.Offer) []obstat.Offer {
	if !l.Program.HasFloor() {
		return offers
	}
	var out []obstat.Offer
	for i := range offers {
		if !Broad(&offers[i].Rule) && l.settles(call, world, offers[i:i+1]) {
			out = append(out, offers[i])
		}
	}
	if all := narrow(offers); len(out) == 0 && len(all) > 1 && l.settles(call, world, all) {
		return l.needed(call, world, all) // together they do
	}
	return out
}

// needed leaves out of offers that settle a call together those that it does not take.
func (l *Loaded) needed(call *obstat.Call, world obstat.World, offers []obstat.Offer) []obstat.Offer {
	for i := len(offers) - 1; i >= 0; i-- {
		if rest := slices.Delete(slices.Clone(offers), i, i+1); l.settles(call, world, rest) {
			offers = rest
		}
	}
	return offers
}

// Choices divides offers that passed [Loaded.Tried] into those that settle the call by
// themselves: one each, or all of them where they do so only together.
func (l *Loaded) Choices(call *obstat.Call, world obstat.World, offers []obstat.Offer) (out [][]obstat.Offer) {
	if len(offers) > 1 && !l.settles(call, world, offers[:1]) {
		return [][]obstat.Offer{offers}
	}
	for i := range offers {
		out = append(out, offers[i:i+1])
	}
	return out
}

// narrow returns the offers that do not hand out too much.
func narrow(offers []obstat.Offer) (out []obstat.Offer) {
	for i := range offers {
		if !Broad(&offers[i].Rule) {
			out = append(out, offers[i])
		}
	}
	return out
}

// A Trier is a Dialect whose offers are not all rules of a list: it returns the
// policy with them accepted.
type Trier interface {
	With(l *Loaded, offers ...obstat.Offer) (*obstat.Policy, error)
}

// settles tells whether the call is allowed once the offers are accepted.
func (l *Loaded) settles(call *obstat.Call, world obstat.World, offers []obstat.Offer) bool {
	pol, err := l.With(offers...)
	return err == nil && pol.Decide(call, world).Verdict == obstat.Allow
}

// EffectRun is the effect of running a program, beside those that have a face.
const EffectRun = "run"

// AnyBelow stands, in the target of an effect, between a directory and the ending of files at any depth
// of it: `/p/src/**/*.go`.
const AnyBelow = "/**/*"

// A Generalizer is a Dialect that can say an effect as a rule: to run a command that starts with
// words, `npm run`; to read, write or delete below a directory; to connect to a host. A directory
// is absolute; anchor is the one that the policy's paths start from. ok is false where it has no
// words for it.
type Generalizer interface {
	RuleFor(l *Loaded, effect, target, anchor string) (offer obstat.Offer, ok bool)
}

// Narrowed rewrites the rule that decided so that it leaves out the targets of this call, where the dialect can
// do that. It returns the rule's new text, the offers that allow those targets, and a function for the policy with the
// new rule and some of these offers; "" where there is none.
func (l *Loaded) Narrowed(call *obstat.Call, world obstat.World, d *obstat.Decision) (
	text string, offers []obstat.Offer, with func(...obstat.Offer) (*obstat.Policy, error),
) {
	n, ok := l.Dialect.(Narrower)
	o, proposes := l.Dialect.(Offerer)
	if !ok || !proposes || d.Rule == nil || len(call.Input) > maxOffered {
		return "", nil, nil
	}
	name := d.Rule.Pos.File
	at := slices.IndexFunc(l.Input.Files, func(f File) bool { return f.Name == name })
	if at < 0 {
		return "", nil, nil
	}
	data, text, offers := n.Narrow(&l.Input.Files[at], d.Rule, o.Offers(l, call, world, d))
	if len(offers) == 0 {
		return "", nil, nil
	}
	return text, offers, func(some ...obstat.Offer) (*obstat.Policy, error) {
		with, err := l.written(name, data, some)
		if err != nil {
			return nil, err
		}
		return with.Policy, nil
	}
}
