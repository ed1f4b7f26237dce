package gate

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/approval"
	"github.com/obstat/obstat/effect"
	"github.com/obstat/obstat/ledger"
)

// ask settles a call that asks, or returns the request that it waits for.
func (p *passage) ask(ctx context.Context, d obstat.Decision) (obstat.Decision, *approval.Request) {
	if r := p.earlier(ctx); r != nil {
		return d, r
	}
	d, req := p.inquire(ctx, d)
	if req == nil {
		return d, nil
	}
	if p.terms.Ask != Put {
		p.request = req
		return p.wait(ctx, d, req), nil
	}
	if p.terms.Same != nil {
		if same := p.terms.Same(ctx, req); same != nil {
			return d, same
		}
	}
	if err := p.put(ctx, req); err != nil {
		return d.Refuse(fault("nobody could be asked: " + err.Error())), nil
	}
	return d, req
}

// wait puts a request to humans and waits for their answer.
func (p *passage) wait(ctx context.Context, d obstat.Decision, req *approval.Request) obstat.Decision {
	if err := p.g.append(ctx, p.askRecord(req)); err != nil {
		return d.Refuse(fault("nobody was asked, for the ledger cannot be written: " + err.Error()))
	}
	asked := time.Now()
	r, err := p.j.by.Broker().Ask(ctx, req)
	p.waited(asked)
	if err != nil {
		return d.Refuse(fault("nobody could be asked: " + err.Error()))
	}
	if r, err = p.j.by.use(ctx, r, approval.Claiming{By: p.call.Agent, Digest: p.digest}); err != nil {
		return d.Refuse(fault("it was answered, but that could not be taken down: " + err.Error()))
	}
	p.log(r)
	return p.settle(ctx, d, r)
}

// waited takes the time since people were asked out of the decision's time: a chart of that
// would show how long they were at lunch.
func (p *passage) waited(since time.Time) { p.began = p.began.Add(time.Since(since)) }

// A Keeper is a Store that keeps a request and records about it in one commit.
type Keeper interface {
	PutRecorded(ctx context.Context, r *approval.Request, records ...*ledger.Record) error
}

// put puts a request to humans, and writes down that it is put: before anybody can
// answer it, or at once where the store keeps both.
func (p *passage) put(ctx context.Context, req *approval.Request) error {
	g, broker, rec := p.g, p.j.by.Broker(), p.askRecord(req)
	g.mu.Lock()
	both, ok := g.store.(Keeper)
	ok = ok && g == p.j.by && !g.opts.NoRecord && g.opts.Ledger == ledger.Appender(g.store)
	mask, err := g.masker()
	g.mu.Unlock()
	if ok && err == nil {
		mask.Mask(rec)
		return broker.PutBy(ctx, req, func(ctx context.Context, r *approval.Request) error { return both.PutRecorded(ctx, r, rec) })
	}
	if err := g.append(ctx, rec); err != nil {
		return fmt.Errorf("the ledger cannot be written: %w", err)
	}
	return broker.Put(ctx, req)
}

// earlier returns a request for the same call that is still open, or nil. Where that
// cannot be looked up, the call is asked anew.
func (p *passage) earlier(ctx context.Context) *approval.Request {
	if !p.terms.TakeUp || p.terms.Ask != Put || len(p.j.Faults) > 0 {
		return nil
	}
	store, err := p.j.by.keeps(ctx)
	if err != nil {
		return nil
	}
	now := time.Now()
	for _, state := range []approval.State{approval.Approved, approval.Pending} {
		all, _ := store.Requests(ctx, approval.Query{State: state})
		for _, r := range all {
			until := r.Expires
			if state == approval.Approved {
				until = r.ClaimBy
			}
			if r.Digest == p.digest && sameAsker(&r.Call, p.call) && now.Before(until) {
				return r
			}
		}
	}
	return nil
}

// sameAsker tells whether two calls come from the same agent and user, in the same place.
func sameAsker(a, b *obstat.Call) bool {
	return a.Agent == b.Agent && a.User == b.User && a.Dir == b.Dir && a.Channel == b.Channel
}

// inquire settles a call that asks without a human, by a grant or because
// no person can be asked, or makes the request for one. Without a request the decision
// stands.
func (p *passage) inquire(ctx context.Context, d obstat.Decision) (obstat.Decision, *approval.Request) {
	j := p.j
	if len(d.Faults) > 0 {
		return d.Refuse(fault("nobody can approve a call that could not be judged")), nil
	}
	gr, err := p.granted(ctx)
	switch {
	case err != nil && p.terms.Ask != Leave: // an agent that asks by itself needs no grant
		return d.Refuse(fault("what was granted before cannot be looked up, and nobody can be asked: " + err.Error())), nil
	case gr != nil:
		p.asked, p.grant = gr.Request, gr
		return approve(d, byGrant(gr)), nil
	}
	if settled := p.settledByFace(ctx, &d); settled != nil {
		return *settled, nil
	}
	if spent := p.spentAsks(); spent != nil {
		d.Rule = spent.Rule
		return d.Refuse(obstat.By{Kind: obstat.ByRule, Note: spent.why}), nil
	}
	leave := p.terms.Ask == Leave || p.shown()
	if n := len(p.call.Input); n > maxInput && !leave {
		return d.Refuse(fault(fmt.Sprintf("its input of %d bytes is more than a human can be shown; make it smaller", n))), nil
	}
	switch {
	case j.self: // no rule settles that, so none is offered
	case p.terms.Offers != nil:
		d.Offers = j.From.Tried(&j.Call, p.world, p.terms.Offers)
	default:
		d.Offers = j.From.Offers(&j.Call, p.world, &d)
	}
	if leave {
		return d, nil
	}
	var expires time.Time
	if j.by.opts.Waits != nil {
		limit, why := j.by.opts.Waits()
		if why != "" {
			return d.Refuse(late("%s", unasked+why)), nil
		}
		expires = time.Now().Add(limit)
	}
	if _, err := j.by.keeps(ctx); err != nil {
		return d.Refuse(fault(unasked + "nobody can be asked, for the store cannot be opened: " + err.Error())), nil
	}
	req := p.makeRequest(ctx, &d)
	if why := req.Void(); why != "" {
		return d.Refuse(late("%s", unasked+why)), nil
	}
	req.Expires, p.asked = expires, req.ID
	return d, req
}

// shown tells whether the agent puts the ask to a person by itself. One about a guard of the agent it does not.
func (p *passage) shown() bool {
	return p.terms.Shown != nil && !p.j.self && p.terms.Doubt == "" && p.terms.Shown(&p.j.Ruling, p.world)
}

// settledByFace returns the decision where [Terms].Settle makes one, nil where a
// person has to be asked.
func (p *passage) settledByFace(ctx context.Context, d *obstat.Decision) *obstat.Decision {
	if p.terms.Settle == nil {
		return nil
	}
	asked := time.Now()
	s, err := p.terms.Settle(ctx, p.call, d)
	p.waited(asked)
	var out obstat.Decision
	switch {
	case err != nil:
		out = d.Refuse(fault(unasked + err.Error()))
	case s == nil:
		return nil
	case s.Verdict == obstat.Allow:
		out = approve(*d, s.By)
	case s.Verdict == obstat.Ask:
		out = *d
		out.Note = join(out.Note, s.By.Note)
	default:
		out = d.Refuse(s.By)
	}
	return &out
}

// unasked begins every denial of a call that needs an answer and could not be put
// to a person.
const unasked = "this call needs a person's approval; no person has refused it, but "

// byGrant says that an earlier answer settles a call.
func byGrant(gr *approval.Grant) obstat.By {
	return obstat.By{Kind: obstat.ByGrant, Who: gr.By, Note: fmt.Sprintf("approved by %s for the %s on %s", gr.By, gr.Scope, gr.Created.Format(time.DateTime))}
}

// fault is an error of asking.
func fault(note string) obstat.By { return obstat.By{Kind: obstat.ByFault, Note: note} }

// late says why an ask ended without an answer.
func late(format string, args ...any) obstat.By {
	return obstat.By{Kind: obstat.ByTimeout, Note: fmt.Sprintf(format, args...)}
}

// approve turns an ask into its approval. A decision that cannot be
// approved is refused: after an ask, nothing asks again.
func approve(d obstat.Decision, by obstat.By) obstat.Decision {
	out := d.Approve(by)
	if out.Verdict != obstat.Allow {
		return d.Refuse(fault("it was approved, but cannot be"))
	}
	return out
}

// granted returns a grant that settles the call, or nil. A change of the policy or of the
// agent's settings is asked every time: in `cp draft.yaml obstat.yaml`, the draft may be
// another one than when a person said yes.
func (p *passage) granted(ctx context.Context) (*approval.Grant, error) {
	may := p.j.by.opts.MayGrant
	if p.j.self || may != nil && !may() {
		return nil, nil
	}
	store, err := p.j.by.keeps(ctx)
	if err != nil {
		return nil, err
	}
	now := time.Now()
	grants, err := store.Grants(ctx, now)
	if err != nil {
		return nil, err
	}
	keys, digest := approval.Keys(p.call), p.digest
	var rules []obstat.Offer
	var last *approval.Grant
	for _, gr := range grants {
		if gr.Covers(keys, p.call.Tool, digest, now) {
			return gr, nil
		}
		if len(gr.Rules) == 0 || !gr.For(keys, now) {
			continue
		}
		if offers, err := rulesOf(gr.Rules); err == nil && checkRules(offers) == nil {
			rules, last = append(rules, offers...), gr
		}
	}
	// Rules that were granted are tried as if they stood in the policy, so that
	// a deny or a safety ask is as strong as ever.
	if len(rules) > 0 && p.allowedWith(rules) {
		return last, nil
	}
	return nil, nil
}

func (p *passage) allowedWith(rules []obstat.Offer) bool {
	pol, err := p.j.From.With(rules...)
	return err == nil && p.g.decide(context.Background(), pol, &p.j.Call, p.world).Verdict == obstat.Allow
}

// makeRequest makes the request for a decision that asks.
func (p *passage) makeRequest(ctx context.Context, d *obstat.Decision) *approval.Request {
	j := p.j
	r := &approval.Request{ID: cmp.Or(p.terms.Request, approval.NewID("req_")), Claimed: p.terms.Claimed, Call: j.Call,
		Digest: p.digest, About: j.by.masks(mainText(p.call)), Reason: ledger.Clip(p.terms.For + d.Reason()),
		Part: ledger.Clip(d.Part), Safety: d.Safety, Policy: j.digest(), Effects: effectsOf(p.analysis())}
	if j.broken != nil {
		r.Reason = join(r.Reason, brokenWords(j.broken))
	}
	if d.Rule != nil {
		r.Rule, r.Pos = d.Rule.String(), d.Rule.Pos
	}
	r.Offers = p.offers(d.Offers)
	p.also(ctx, r.Offers)
	if j.by.opts.Who != nil {
		r.Who = j.by.opts.Who(&j.Call, d)
	}
	r.Group = approval.GroupOf(r)
	return r
}

// offers returns the offers as a request carries them. Those that settle the
// call only together are one.
func (p *passage) offers(offers []obstat.Offer) (out []approval.Offer) {
	for i := range offers {
		o := &offers[i]
		rule, err := json.Marshal(&o.Rule)
		if err != nil {
			return nil
		}
		out = append(out, approval.Offer{Text: o.Text, Rule: rule, List: o.List})
	}
	if len(out) > 1 && !p.allowedWith(offers[:1]) {
		out[0].And = out[1:]
		out = out[:1]
	}
	return out
}

// analysis returns the effects of the call.
func (p *passage) analysis() *effect.Analysis {
	c := &p.j.Call
	return effect.Analyze(&effect.Request{Tool: c.Tool, Input: c.Input, Options: effect.Options{Dir: c.Dir, Roots: c.Roots, FS: p.g.opts.World}})
}

// maxEffects bounds how many effects a request lists.
const maxEffects = 50

func effectsOf(a *effect.Analysis) (out []approval.Effect) {
	if a == nil {
		return nil
	}
	for i := range a.Effects {
		e := &a.Effects[i]
		if len(out) == maxEffects {
			return append(out, approval.Effect{Kind: "more", Detail: fmt.Sprintf("%d things more", len(a.Effects)-i)})
		}
		target := e.Path
		for _, other := range []string{e.Host, e.Program, e.Raw} {
			if target == "" {
				target = other
			}
		}
		out = append(out, approval.Effect{Kind: e.Kind.String(), Target: ledger.ClipTo(target, 1000), Detail: ledger.ClipTo(e.Detail, 1000)})
	}
	return out
}

// settle turns the end of a request into a decision.
func (p *passage) settle(ctx context.Context, d obstat.Decision, r *approval.Request) obstat.Decision {
	if r.State != approval.Approved {
		return d.Refuse(byRequest(r))
	}
	said := r.Agreed()
	if said.Input != nil {
		return p.edited(ctx, d, &said)
	}
	by := byRequest(r)
	switch said.Scope {
	case approval.Always:
		// The answer is written down before the file has the rule.
		if err := p.g.append(ctx, p.before...); err != nil {
			return d.Refuse(fault("the answer could not be written to the ledger: " + err.Error()))
		}
		p.before = nil
		err := p.accept(ctx, r, &said)
		if err != nil && !errors.Is(err, errWaits) {
			return d.Refuse(fault(by.Note + ", with a rule that could not be kept, so that it does not run: " + err.Error()))
		}
		if err != nil {
			by.Note += "; " + err.Error()
		}
	case approval.Once, "":
	default:
		if err := p.keepGrant(ctx, r, &said); err != nil {
			by.Note += "; it holds for this once: " + err.Error()
		}
	}
	return approve(d, by)
}

// keepGrant writes down the grant that an answer left behind. One with a rule is
// tried once more: the answer may have been taken by a process that knows no
// policy. An offer that does not pass is taken back.
func (p *passage) keepGrant(ctx context.Context, r *approval.Request, a *approval.Answer) error {
	store, err := p.j.by.keeps(ctx)
	if err != nil {
		return err
	}
	grants, err := store.Grants(ctx, time.Now())
	if err != nil {
		return err
	}
	bad := p.j.by.checkAnswer(r, a)
	for _, gr := range grants {
		if gr.Request != r.ID {
			continue
		}
		p.before = append(p.before, GrantRecord(gr, ""))
		if bad != nil {
			if err := store.Revoke(ctx, gr.ID, time.Now()); err != nil {
				return err
			}
			p.before = append(p.before, GrantRecord(gr, "obstat"))
		}
	}
	return bad
}

const usedWords = "this request was decided before, and an answer is for one run"

// byRequest says how a request ended: whether a person spoke, the clock did, or the asker went
// away.
func byRequest(r *approval.Request) obstat.By {
	switch r.State {
	case approval.Expired:
		return late("nobody answered within %s; no human refused it, but it does not run", r.Expires.Sub(r.Created).Round(time.Second))
	case approval.Done, approval.Claimed:
		return late(usedWords)
	case approval.Lapsed:
		if r.Claim != nil {
			return late("it was approved by %s and claimed, but its caller did not report the outcome in time; ask again", r.Agreed().By)
		}
		return late("it was approved by %s, but nobody claimed the approval in time; ask again", r.Agreed().By)
	case approval.Canceled:
		return late("the request was withdrawn before anybody answered")
	}
	if len(r.Answers) == 0 {
		return late("%s", r.State)
	}
	return byPeople(r)
}

// byPeople names the people who answered, with the words of the last: of a refusal the one who
// refused alone.
func byPeople(r *approval.Request) obstat.By {
	verb, answers := "approved by ", r.Answers
	if r.State == approval.Refused {
		verb, answers = "refused by ", answers[len(answers)-1:]
	}
	var who []string
	for _, a := range answers {
		who = append(who, a.By)
	}
	by := obstat.By{Kind: obstat.ByPerson, Who: strings.Join(who, " and ")}
	by.Note = verb + by.Who
	if words := answers[len(answers)-1].Words; words != "" {
		by.Note += ": " + words
	}
	return by
}

// edited decides the call with the arguments a human changed: it is another
// call, and a denial stays one.
func (p *passage) edited(ctx context.Context, d obstat.Decision, a *approval.Answer) obstat.Decision {
	other := *p.call
	other.Input = a.Input
	again := p.g.judge(ctx, &other, p.world, p.terms.Doubt)
	p.given = a.Input
	if again.Verdict == obstat.Deny || len(again.Faults) > 0 {
		out := again.Decision
		out.Verdict = obstat.Deny
		return out.Refuse(obstat.By{Kind: out.By.Kind, Who: a.By, Note: join(out.Note, "so are the arguments as "+a.By+" changed them")})
	}
	d = approve(d, obstat.By{Kind: obstat.ByPerson, Who: a.By, Note: "approved by " + a.By + " with other arguments"})
	if d.Verdict == obstat.Allow {
		d.Input = a.Input
		if again.Input != nil {
			d.Input = again.Input
		}
	}
	return d
}
