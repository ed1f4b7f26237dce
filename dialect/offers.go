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
	return l.Tried(call, world, l.offered(call, world, d))
}

// offered returns the rules that the dialect proposes, none of them tried.
func (l *Loaded) offered(call *obstat.Call, world obstat.World, d *obstat.Decision) []obstat.Offer {
	o, ok := l.Dialect.(Offerer)
	if !ok || d.Verdict != obstat.Ask || len(call.Input) > maxOffered {
		return nil
	}
	about := call
	if own := l.Policy.AsOwn(call, world); len(own) == 1 { // rules name the dialect's own tool
		about = own[0]
	}
	return o.Offers(l, about, world, d)
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

// EffectRun is the kind that RuleFor gets for running a program, with the command as its target: `npm run`.
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

// maxNarrowed is how many rules are rewritten for one call.
const maxNarrowed = 4

// A Narrowing is a policy whose rules leave the targets of one call out.
type Narrowing struct {
	Rules  []*obstat.Rule // as they are
	Texts  []string       // as they would be
	Offers []obstat.Offer // sentences that allow those targets
	Rest   []obstat.Offer // sentences that allow what is asked about then, none of them broad
	now    *Loaded
}

// With returns the policy with the rules narrowed and some of the offers added.
func (n *Narrowing) With(offers ...obstat.Offer) (*obstat.Policy, error) {
	if len(offers) == 0 {
		return n.now.Policy, nil
	}
	return n.now.Written(n.Rules[0].Pos.File, offers...)
}

// Narrowed rewrites the rule that decided so that it leaves out the targets of this call, and the one that decides
// then, until the call gets a freer verdict; nil where the dialect cannot do that.
func (l *Loaded) Narrowed(call *obstat.Call, world obstat.World, d *obstat.Decision) *Narrowing {
	n, ok := l.Dialect.(Narrower)
	if !ok || len(call.Input) > maxOffered {
		return nil
	}
	out, targets, at := &Narrowing{now: l}, n.Targets(call, world), *d
	for range maxNarrowed {
		if at.Rule == nil || !out.narrow(n, at.Rule, targets) {
			break
		}
		if at = out.now.Policy.Decide(call, world); at.Verdict > d.Verdict {
			break
		}
		if pol, err := out.With(out.Offers...); err == nil { // with them no other rule may have to change
			if with := pol.Decide(call, world); with.Verdict > d.Verdict || with.Rule == nil {
				at = with
				break
			}
		}
	}
	if len(out.Rules) == 0 {
		return nil
	}
	if at.Verdict == obstat.Ask {
		out.Rest = narrow(out.now.offered(call, world, &at))
	}
	return out
}

// narrow rewrites one more rule.
func (n *Narrowing) narrow(by Narrower, r *obstat.Rule, targets []obstat.Offer) bool {
	files := n.now.Input.Files
	at := slices.IndexFunc(files, func(f File) bool { return f.Name == r.Pos.File })
	again := func(o *obstat.Rule) bool { return o.Pos.File == r.Pos.File && o.Pos.Line == r.Pos.Line }
	if at < 0 || slices.ContainsFunc(n.Rules, again) {
		return false
	}
	data, text, used := by.Narrow(&files[at], r, targets)
	if len(used) == 0 {
		return false
	}
	now, err := n.now.written(r.Pos.File, data, nil)
	if err != nil {
		return false
	}
	n.Rules, n.Texts, n.now = append(n.Rules, r), append(n.Texts, text), now
	n.Offers = append(n.Offers, used...)
	return true
}
