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

// ask settles a call that asks: by a grant, or by a human.
func (t *turn) ask(ctx context.Context, d obstat.Decision) obstat.Decision {
	if asks := t.j.by.opts.Asks; asks != nil && len(d.Faults) == 0 {
		asked := time.Now()
		approved, by, err := asks(ctx, t.call)
		t.waited(asked)
		switch {
		case err != nil:
			return d.Refuse(fault(unasked + "the server cannot be asked: " + err.Error()))
		case !approved:
			return d.Refuse(by)
		default:
			return approve(d, by)
		}
	}
	d, req := t.inquire(ctx, d)
	if req == nil {
		return d
	}
	if err := t.g.append(ctx, t.asked(req)); err != nil {
		return d.Refuse(fault("nobody was asked, for the ledger cannot be written: " + err.Error()))
	}
	asked := time.Now()
	r, err := t.j.by.Broker().Ask(ctx, req)
	t.waited(asked)
	if err != nil {
		return d.Refuse(fault("nobody could be asked: " + err.Error()))
	}
	if r, err = t.j.by.use(ctx, r, approval.Claiming{By: t.call.Agent, Digest: t.digest}); err != nil {
		return d.Refuse(fault("it was answered, but that could not be taken down: " + err.Error()))
	}
	t.log(r)
	return t.settle(ctx, d, r)
}

// waited takes the time since people were asked out of what the decision took: a chart of that
// would show how long they were at lunch.
func (t *turn) waited(since time.Time) { t.began = t.began.Add(time.Since(since)) }

// Put decides a call as Authorize does, without waiting: where a human has to
// answer, the request is put and returned, and [Gate.Resume] decides the call
// once it is answered. Without a request the decision is final and in the
// ledger. The offers, if any, are proposed in place of the dialect's own.
func (g *Gate) Put(ctx context.Context, call *obstat.Call, offers ...obstat.Offer) (obstat.Decision, *approval.Request, error) {
	t := g.begin(ctx, call)
	t.proposed = offers
	return t.decide(ctx)
}

// A Question is what a caller says of the request that a call may become.
type Question struct {
	// ID is the request's; "" makes one. A call whose request is there is denied.
	ID string
	// Claimed: the call's user is the agent's word alone; see [approval.Request].
	Claimed bool
}

// PutAs is [Gate.Put] with what is known of the request.
func (g *Gate) PutAs(ctx context.Context, q Question, call *obstat.Call) (obstat.Decision, *approval.Request, error) {
	t := g.begin(ctx, call)
	t.question = q
	return t.decide(ctx)
}

// decide puts a request where the policy asks, or writes the decision down.
func (t *turn) decide(ctx context.Context) (obstat.Decision, *approval.Request, error) {
	d := t.j.Decision
	if d.Verdict == obstat.Ask {
		req := t.earlier(ctx)
		if req != nil {
			return d, req, nil
		}
		if d, req = t.inquire(ctx, d); req != nil {
			err := t.put(ctx, req)
			if err == nil {
				return d, req, nil
			}
			d = d.Refuse(fault("nobody could be asked: " + err.Error()))
		}
	}
	d, err := t.finish(ctx, d)
	return d, nil, err
}

// A Keeper is a Store that keeps a request and records about it in one commit.
type Keeper interface {
	PutRecorded(ctx context.Context, r *approval.Request, records ...*ledger.Record) error
}

// put puts a request to humans, and writes down that it is put: before anybody can
// answer it, or at once where the store keeps both.
func (t *turn) put(ctx context.Context, req *approval.Request) error {
	g, broker, rec := t.g, t.j.by.Broker(), t.asked(req)
	g.mu.Lock()
	both, ok := g.store.(Keeper)
	ok = ok && g == t.j.by && !g.opts.NoRecord && g.opts.Ledger == ledger.Appender(g.store)
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

// earlier returns a request for the same call that is still open, or nil. What
// cannot be looked up is asked anew.
func (t *turn) earlier(ctx context.Context) *approval.Request {
	if !t.g.opts.TakeUp || len(t.j.Faults) > 0 {
		return nil
	}
	store, err := t.j.by.keeps(ctx)
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
			if c := &r.Call; r.Digest == t.digest && c.Agent == t.call.Agent && c.User == t.call.User && c.Dir == t.call.Dir && c.Channel == t.call.Channel && now.Before(until) {
				return r
			}
		}
	}
	return nil
}

// inquire settles a call that asks without a human, by a grant or because
// nobody can be asked, or makes the request for one. Without a request the decision
// stands.
func (t *turn) inquire(ctx context.Context, d obstat.Decision) (obstat.Decision, *approval.Request) {
	j := t.j
	if len(d.Faults) > 0 {
		return d.Refuse(fault("nobody can approve a call that could not be judged")), nil
	}
	gr, err := t.granted(ctx)
	switch {
	case err != nil && !j.by.opts.NoWait: // who asks by himself needs no grant
		return d.Refuse(fault("what was granted before cannot be looked up, and nobody can be asked: " + err.Error())), nil
	case gr != nil:
		t.request, t.grant = gr.Request, gr
		return approve(d, byGrant(gr)), nil
	}
	if leaves := j.by.opts.Leaves; leaves != nil {
		if why := leaves(&d); why != "" {
			d.Note = strings.TrimPrefix(d.Note+"; "+why, "; ")
			return d, nil
		}
	}
	if before := j.by.opts.Before; before != nil {
		if words := before(t.call); words != "" {
			return approve(d, obstat.By{Kind: obstat.ByPerson, Note: words}), nil
		}
	}
	if n := len(t.call.Input); n > maxInput && !j.by.opts.NoWait {
		return d.Refuse(fault(fmt.Sprintf("its input of %d bytes is more than a human can be shown; make it smaller", n))), nil
	}
	switch {
	case j.self: // no rule settles that, so none is offered
	case t.proposed != nil:
		d.Offers = j.From.Tried(&j.Call, t.world, t.proposed)
	default:
		d.Offers = j.From.Offers(&j.Call, t.world, &d)
	}
	if j.by.opts.NoWait {
		return d, nil
	}
	var expires time.Time
	if j.by.opts.Waits != nil {
		limit, why := j.by.opts.Waits()
		if why != "" {
			return d.Refuse(obstat.By{Kind: obstat.ByTimeout, Note: unasked + why}), nil
		}
		expires = time.Now().Add(limit)
	}
	if _, err := j.by.keeps(ctx); err != nil {
		return d.Refuse(fault(unasked + "nobody can be asked, for the store cannot be opened: " + err.Error())), nil
	}
	req := t.makeRequest(ctx, &d)
	if why := req.Void(); why != "" {
		return d.Refuse(obstat.By{Kind: obstat.ByTimeout, Note: unasked + why}), nil
	}
	req.Expires, t.request = expires, req.ID
	return d, req
}

// unasked begins every denial of a call that needs an answer that nobody was
// asked for.
const unasked = "this call needs a person's approval; no person has refused it, but "

// Granted decides a call that asks by what was granted before, and tells whether
// that settles it. Nobody is asked and nothing is written down.
func (g *Gate) Granted(ctx context.Context, call *obstat.Call) (obstat.Decision, *approval.Grant) {
	c := *call
	t := &turn{g: g, call: &c, digest: c.DigestText(), world: g.world()}
	t.j = g.judge(ctx, &c, t.world)
	d := t.j.Decision
	if d.Verdict != obstat.Ask || len(d.Faults) > 0 {
		return d, nil
	}
	gr, err := t.granted(ctx)
	if err != nil || gr == nil {
		return d, nil
	}
	if d = approve(d, byGrant(gr)); d.Verdict != obstat.Allow {
		gr = nil
	}
	return d, gr
}

// byGrant says that an earlier answer settles a call.
func byGrant(gr *approval.Grant) obstat.By {
	return obstat.By{Kind: obstat.ByGrant, Who: gr.By, Note: fmt.Sprintf("approved by %s for the %s on %s", gr.By, gr.Scope, gr.Created.Format(time.DateTime))}
}

// fault says what went wrong with asking.
func fault(note string) obstat.By { return obstat.By{Kind: obstat.ByFault, Note: note} }

// approve turns an ask into what its approval makes of it. What cannot be
// approved is refused: after an ask, nothing asks again.
func approve(d obstat.Decision, by obstat.By) obstat.Decision {
	out := d.Approve(by)
	if out.Verdict != obstat.Allow {
		return d.Refuse(fault("it was approved, but cannot be"))
	}
	return out
}

// granted returns a grant that settles the call, or nil. What would change what
// guards the agent is asked every time: a file that is copied over the policy is
// not the file that it was when somebody said yes.
func (t *turn) granted(ctx context.Context) (*approval.Grant, error) {
	may := t.j.by.opts.MayGrant
	if t.j.self || may != nil && !may() {
		return nil, nil
	}
	store, err := t.j.by.keeps(ctx)
	if err != nil {
		return nil, err
	}
	now := time.Now()
	grants, err := store.Grants(ctx, now)
	if err != nil {
		return nil, err
	}
	keys, digest := approval.Keys(t.call), t.digest
	var rules []obstat.Offer
	var last *approval.Grant
	for _, gr := range grants {
		if gr.Covers(keys, t.call.Tool, digest, now) {
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
	if len(rules) > 0 && t.allowedWith(rules) {
		return last, nil
	}
	return nil, nil
}

func (t *turn) allowedWith(rules []obstat.Offer) bool {
	pol, err := t.j.From.With(rules...)
	return err == nil && t.g.decide(context.Background(), pol, &t.j.Call, t.world).Verdict == obstat.Allow
}

// makeRequest makes the request for a decision that asks.
func (t *turn) makeRequest(ctx context.Context, d *obstat.Decision) *approval.Request {
	j := t.j
	r := &approval.Request{ID: cmp.Or(t.question.ID, approval.NewID("req_")), Claimed: t.question.Claimed, Call: j.Call, Digest: t.digest, About: j.by.masks(mainText(t.call)), Reason: ledger.Clip(d.Reason()), Part: ledger.Clip(d.Part),
		Safety: d.Safety, Policy: j.digest(), Effects: effectsOf(t.analysis())}
	if j.broken != nil {
		r.Reason = join(r.Reason, brokenWords(j.broken))
	}
	if d.Rule != nil {
		r.Rule, r.Pos = d.Rule.String(), d.Rule.Pos
	}
	r.Offers = t.offers(d.Offers)
	t.also(ctx, r.Offers)
	if j.by.opts.Who != nil {
		r.Who = j.by.opts.Who(&j.Call, d)
	}
	r.Group = approval.GroupOf(r)
	return r
}

// offers returns the offers as a request carries them. Those that settle the
// call only together are one.
func (t *turn) offers(offers []obstat.Offer) (out []approval.Offer) {
	for i := range offers {
		o := &offers[i]
		rule, err := json.Marshal(&o.Rule)
		if err != nil {
			return nil
		}
		out = append(out, approval.Offer{Text: o.Text, Rule: rule, List: o.List})
	}
	if len(out) > 1 && !t.allowedWith(offers[:1]) {
		out[0].And = out[1:]
		out = out[:1]
	}
	return out
}

// analysis returns what the call would do.
func (t *turn) analysis() *effect.Analysis {
	c := &t.j.Call
	return effect.Analyze(&effect.Request{Tool: c.Tool, Input: c.Input, Options: effect.Options{Dir: c.Dir, Roots: c.Roots, FS: t.g.opts.World}})
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

// settle turns what happened to a request into a decision.
func (t *turn) settle(ctx context.Context, d obstat.Decision, r *approval.Request) obstat.Decision {
	if r.State != approval.Approved {
		return d.Refuse(byRequest(r))
	}
	said := r.Agreed()
	if said.Input != nil {
		return t.edited(ctx, d, &said)
	}
	by := byRequest(r)
	switch said.Scope {
	case approval.Always:
		// Who said so is written down before the file says it.
		if err := t.g.append(ctx, t.before...); err != nil {
			return d.Refuse(fault("the answer could not be written to the ledger: " + err.Error()))
		}
		t.before = nil
		err := t.accept(ctx, r, &said)
		if err != nil && !errors.Is(err, errWaits) {
			return d.Refuse(fault(by.Note + ", with a rule that could not be kept, so that it does not run: " + err.Error()))
		}
		if err != nil {
			by.Note += "; " + err.Error()
		}
	case approval.Once, "":
	default:
		if err := t.keepGrant(ctx, r, &said); err != nil {
			by.Note += "; it holds for this once: " + err.Error()
		}
	}
	return approve(d, by)
}

// keepGrant writes down the grant that an answer left behind. One with a rule is
// tried once more: the answer may have been taken by a process that knows no
// policy. What does not pass is taken back.
func (t *turn) keepGrant(ctx context.Context, r *approval.Request, a *approval.Answer) error {
	store, err := t.j.by.keeps(ctx)
	if err != nil {
		return err
	}
	grants, err := store.Grants(ctx, time.Now())
	if err != nil {
		return err
	}
	bad := t.j.by.checkAnswer(r, a)
	for _, gr := range grants {
		if gr.Request != r.ID {
			continue
		}
		t.before = append(t.before, GrantRecord(gr, ""))
		if bad != nil {
			if err := store.Revoke(ctx, gr.ID, time.Now()); err != nil {
				return err
			}
			t.before = append(t.before, GrantRecord(gr, "obstat"))
		}
	}
	return bad
}

const usedWords = "this request was decided before, and an answer is for one run"

// byRequest says how a request ended: whether a person spoke, the clock did, or the asker went
// away.
func byRequest(r *approval.Request) obstat.By {
	late := func(format string, args ...any) obstat.By {
		return obstat.By{Kind: obstat.ByTimeout, Note: fmt.Sprintf(format, args...)}
	}
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
// call, and what is denied stays denied.
func (t *turn) edited(ctx context.Context, d obstat.Decision, a *approval.Answer) obstat.Decision {
	other := *t.call
	other.Input = a.Input
	again := t.g.judge(ctx, &other, t.world)
	t.given = a.Input
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
