package approval

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/obstat/obstat"
)

// Answer takes a person's answer to a pending request. The first answer wins;
// a later one gets ErrSettled and leaves nothing behind. Where several must
// agree, an approval may leave the request pending; one refusal settles it.
func (b *Broker) Answer(ctx context.Context, id string, a Answer) (*Request, error) {
	out := b.AnswerWith(ctx, id, a)
	return out.Request, out.Err
}

// AnswerWith is Answer for a caller that wants to know which other requests an answer
// for All has ended, as one whose broker Logs has to.
func (b *Broker) AnswerWith(ctx context.Context, id string, a Answer) Answered {
	r, err := b.answer(ctx, id, a)
	out := Answered{Request: r, Err: err}
	if err == nil && !a.Allow && a.All {
		out.Others = b.refuseOthers(ctx, r, &a)
	}
	return out
}

func (b *Broker) answer(ctx context.Context, id string, a Answer) (*Request, error) {
	var out *Request
	if b.gone(id) {
		if _, err := b.withdraw(ctx, id, Canceled, true); err != nil {
			return nil, err
		}
		return nil, fmt.Errorf("%q: %w: it was withdrawn, for the agent that asked is gone", id, ErrSettled)
	}
	_, err := b.change(ctx, id, func(r *Request) (*Request, *Grant, error) {
		if err := b.admit(r, &a); err != nil {
			return nil, nil, err
		}
		answers := append(slices.Clone(r.Answers), a)
		switch {
		case !a.Allow:
			out = r.with(Refused, answers)
			out.Logged = b.opts.Logs
			return out.Spent(), nil, nil
		case !r.Who.Enough(answers):
			out = r.with(Pending, answers)
			return out, nil, nil
		}
		out = r.with(Approved, answers)
		out.Logged, out.ClaimBy = b.opts.Logs, b.now().Add(b.opts.Valid)
		said := agreed(answers)
		left := said.grant(r)
		if left != nil && left.Scope == Session && b.opts.Apart {
			left.Of = owner(&r.Call)
		}
		return out, left, nil
	})
	if err != nil {
		return nil, err
	}
	if out.State != Pending {
		b.tell(out)
	}
	return out, nil
}

// with returns the request as an answer made it; the process that waited for it
// may have used it by now.
func (r *Request) with(s State, answers []Answer) *Request {
	c := *r
	c.State, c.Answers = s, answers
	return &c
}

// maxAnswers bounds how many people can have a say in one request.
const maxAnswers = 100

// admit tells whether an answer counts: the request is open, the person may
// answer, and the grant is no more than was asked for.
func (b *Broker) admit(r *Request, a *Answer) error {
	if a.Time.IsZero() {
		a.Time = b.now()
	}
	switch {
	case r.State != Pending:
		return fmt.Errorf("%q: %w", r.ID, ErrSettled)
	case !a.Time.Before(r.Expires):
		return fmt.Errorf("%q: %w: its time is over", r.ID, ErrSettled)
	case a.By == "":
		return fmt.Errorf("%w: an answer needs a name", ErrNotYou)
	case r.Who.NotCaller && a.goesBy(r.Call.User):
		return fmt.Errorf("%w: somebody other than %s has to", ErrNotYou, a.By)
	case a.Allow && r.Void() != "":
		return fmt.Errorf("%w: %s", ErrNotYou, r.Void())
	}
	if err := r.Who.Admit(r.Answers, a); err != nil || !a.Allow {
		return err
	}
	if err := a.sensible(r); err != nil {
		return fmt.Errorf("%w: %w", ErrBad, err)
	}
	if b.opts.Check != nil {
		return b.opts.Check(r, a)
	}
	return nil
}

// Admit tells whether an answer counts beside those that were given before: the person may
// answer, has not answered yet and, for an approval, brings the question nearer to its end.
func (w *Who) Admit(had []Answer, a *Answer) error {
	switch {
	case !w.admits(a):
		return fmt.Errorf("%w: %s", ErrNotYou, w.words())
	case slices.ContainsFunc(had, a.samePerson):
		return fmt.Errorf("%w: you have answered it", ErrNotYou)
	case len(had) >= maxAnswers:
		return fmt.Errorf("%w: %d people have had their say", ErrNotYou, maxAnswers)
	case a.Allow && w.Logins() && a.Login == "":
		return fmt.Errorf("%w: it takes a person who is logged in; a token or a terminal can be anybody's", ErrNotYou)
	case a.Allow && !w.adds(had, a):
		return fmt.Errorf("%w: it takes a person for each of the roles %q, and one with yours has agreed", ErrNotYou, w.Each)
	}
	return nil
}

// Logins tells whether an approval has to come from a person who is logged in: where several have
// to agree, or another than the caller. An administrator makes as many tokens as there are names.
func (w *Who) Logins() bool { return w.People() > 1 || w.NotCaller }

// People returns how many people have to agree.
func (w *Who) People() int { return max(w.Needed, len(w.Each), 1) }

// Void says why no approval of the request can count; "" where one can.
func (r *Request) Void() string {
	if r.Who.NotCaller && (r.Call.User == "" || r.Claimed) {
		return "somebody other than the user has to approve it, and who that is is not known: the agent's token names no user (obstat token create --user)"
	}
	return ""
}

// samePerson tells whether two answers share a name or a login. `Ann` and `ann ` are one person.
func (a *Answer) samePerson(o Answer) bool {
	return slices.ContainsFunc(append([]string{o.By, o.Login}, o.Names...), a.goesBy)
}

// goesBy tells whether a name is one of the person who answers.
func (a *Answer) goesBy(name string) bool {
	name = strings.TrimSpace(name)
	return name != "" && slices.ContainsFunc(append([]string{a.By, a.Login}, a.Names...), func(own string) bool {
		return strings.EqualFold(strings.TrimSpace(own), name)
	})
}

// admits tells whether the answering person is one of Users or has one of
// Roles; where neither is given, anybody may answer. Where each of some roles has
// to agree, the person has one of them, unless more people than roles are needed.
func (w *Who) admits(a *Answer) bool {
	has := func(roles []string) bool {
		return slices.ContainsFunc(a.Roles, func(role string) bool { return slices.Contains(roles, role) })
	}
	return (len(w.Roles)+len(w.Users) == 0 || slices.Contains(w.Users, a.By) || has(w.Roles)) &&
		(len(w.Each) == 0 || w.Needed > len(w.Each) || has(w.Each))
}

// counted returns the answers that count. Where logins are wanted, an older obstat may have taken
// one without.
func (w *Who) counted(answers []Answer) []Answer {
	if !w.Logins() {
		return answers
	}
	return slices.DeleteFunc(slices.Clone(answers), func(a Answer) bool { return a.Login == "" })
}

// Enough tells whether those who must agree have.
func (w *Who) Enough(answers []Answer) bool {
	answers = w.counted(answers)
	return len(answers) >= max(w.Needed, 1) && w.filled(answers) == len(w.Each)
}

// adds tells whether an approval brings the request nearer to its end: not, where
// another person has to speak for each role that is left.
func (w *Who) adds(had []Answer, a *Answer) bool {
	had = w.counted(had)
	now := append(slices.Clone(had), *a)
	return len(w.Each) == 0 || w.filled(now) > w.filled(had) || len(now) <= w.Needed-(len(w.Each)-w.filled(had))
}

// filled returns for how many of the roles in Each a person of its own has
// agreed: a person with two roles stands for one of them.
func (w *Who) filled(answers []Answer) (n int) {
	holds := make([]int, len(answers)) // 1 and up: the role that each person stands for
	var place func(role int, tried []bool) bool
	place = func(role int, tried []bool) bool {
		for i := range answers {
			if tried[i] || !slices.Contains(answers[i].Roles, w.Each[role]) {
				continue
			}
			tried[i] = true
			if holds[i] == 0 || place(holds[i]-1, tried) {
				holds[i] = role + 1
				return true
			}
		}
		return false
	}
	for role := range w.Each {
		if place(role, make([]bool, len(answers))) {
			n++
		}
	}
	return n
}

// words names the people that may answer.
func (w *Who) words() string {
	switch {
	case len(w.Each) > 0:
		return fmt.Sprintf("it takes a person for each of the roles %q", w.Each)
	case len(w.Users) == 0:
		return fmt.Sprintf("it takes one of the roles %q", w.Roles)
	case len(w.Roles) == 0:
		return fmt.Sprintf("it is for %q to answer", w.Users)
	}
	return fmt.Sprintf("it is for %q to answer, or for one of the roles %q", w.Users, w.Roles)
}

// maxSeconds is how long a grant may hold, ten years: more than a Duration may take is no time.
const maxSeconds = 10 * 366 * 24 * 3600

// sensible tells whether an approval says one thing.
func (a *Answer) sensible(r *Request) error {
	for _, check := range []func(*Request) error{a.sensibleRule, a.sensibleEnd, a.sensibleInput} {
		if err := check(r); err != nil {
			return err
		}
	}
	return nil
}

// takesRule tells whether the answer takes an offer or brings a rule of its own.
func (a *Answer) takesRule() bool { return a.Rule != nil || a.Offer != 0 }

// sensibleRule checks the scope and the rules that go with it: `always` without a rule
// says nothing, and a rule for once does neither.
func (a *Answer) sensibleRule(r *Request) error {
	missing := func(n int) bool { return n < 0 || n > len(r.Offers) }
	once := a.Scope == Once || a.Scope == ""
	switch {
	case !slices.Contains([]Scope{"", Once, Session, Agent, Workspace, User, Always}, a.Scope):
		return fmt.Errorf("there is no scope %q", a.Scope)
	case slices.ContainsFunc(append([]int{a.Offer}, a.More...), missing):
		return fmt.Errorf("there is no offer %d, only %d", a.Offer, len(r.Offers))
	case len(a.More) > 0 && (a.Offer == 0 || slices.Contains(a.More, 0)):
		return errors.New("more offers than one, and none that is the first")
	case len(a.Parts) > 0 && !a.partsOf(r):
		return errors.New("parts are some of the rules of one offer, kept for good")
	case a.Scope == Always && !a.takesRule():
		return fmt.Errorf("always needs one of the %d offers, or a rule", len(r.Offers))
	case once && a.takesRule():
		return errOnce
	}
	return nil
}

var errOnce = errors.New("an approval for once leaves nothing behind, neither a rule nor a time")

// sensibleEnd checks how long the grant holds: `for 3600 seconds` or `until noon`.
func (a *Answer) sensibleEnd(*Request) error {
	ends := !a.Until.IsZero() || a.ForSeconds > 0
	switch {
	case a.ForSeconds < 0 || a.ForSeconds > 0 && !a.Until.IsZero():
		return errors.New("a grant holds for some seconds or until a time, not both")
	case a.ForSeconds > maxSeconds || !a.Until.IsZero() && !a.Until.After(a.Time):
		return fmt.Errorf("a grant ends after now, and holds for %d seconds at most", maxSeconds)
	case ends && (a.Scope == Once || a.Scope == ""):
		return errOnce
	case ends && a.Scope == Always:
		return errors.New("a rule in a file has no end; give the rule to the session, agent, workspace or user")
	}
	return nil
}

// sensibleInput checks arguments that take the place of the call's.
func (a *Answer) sensibleInput(r *Request) error {
	switch {
	case a.Input == nil:
		return nil
	case a.takesRule():
		return errors.New("other arguments and a rule: the rule was made for the arguments as they were")
	case r.Who.People() > 1:
		return errors.New("where several must agree, arguments cannot be changed: the others have not seen them")
	case !json.Valid(a.Input):
		return errors.New("the arguments are not JSON")
	}
	return nil
}

// partsOf tells whether the parts are rules of the one offer that the answer takes.
func (a *Answer) partsOf(r *Request) bool {
	if a.Offer == 0 || a.Rule != nil || len(a.More) > 0 || a.Scope != Always {
		return false
	}
	n := len(r.Offers[a.Offer-1].Rules())
	return !slices.ContainsFunc(a.Parts, func(part int) bool { return part < 1 || part > n })
}

// refuseOthers takes the session's other pending requests along, and returns them:
// those that the person may answer as well. A call that names no session is by itself.
func (b *Broker) refuseOthers(ctx context.Context, r *Request, by *Answer) (refused []*Request) {
	if r.Call.Session == "" {
		return nil
	}
	pending, err := b.store.Requests(ctx, Query{State: Pending})
	if err != nil {
		return nil
	}
	for _, o := range pending {
		other := o.ID == r.ID || o.Call.Session != r.Call.Session || b.opts.Apart && owner(&o.Call) != owner(&r.Call)
		if other || b.admit(o, by) != nil {
			continue
		}
		refusal := Answer{By: "obstat", Time: b.now(), Words: "another request of this session was refused"}
		if o, err := b.settle(ctx, o.ID, Refused, []Answer{refusal}); err == nil {
			b.tell(o)
			refused = append(refused, o)
		}
	}
	return refused
}

// grant returns the grant that an approval leaves; nil where it is for this once.
// An accepted rule that goes to a file is no grant: the file says it.
func (a *Answer) grant(r *Request) *Grant {
	g := &Grant{ID: NewID("grant_"), Scope: a.Scope, Key: Keys(&r.Call)[a.Scope], Tool: r.Call.Tool, Digest: r.Digest, About: r.About, By: a.By, Request: r.ID, Created: a.Time, Expires: a.Until}
	if g.Key == "" {
		return nil
	}
	if a.Input != nil {
		other := r.Call
		other.Input = a.Input
		g.Digest = other.DigestText()
	}
	if rules := a.Rules(r); len(rules) > 0 {
		g.Digest, g.Rules = "", rules
	}
	return g
}

// Rules returns the rules that an answer to r takes: those of an offer, or one
// that was written by hand, which joins the list of the offer it replaces.
func (a *Answer) Rules(r *Request) []Offer {
	var o Offer
	switch {
	case a.Offer >= 1 && a.Offer <= len(r.Offers):
		o = r.Offers[a.Offer-1]
	case len(r.Offers) > 0:
		o = r.Offers[0]
	}
	switch {
	case a.Rule != nil:
		return []Offer{{Rule: a.Rule, List: o.List}}
	case a.Offer >= 1 && a.Offer <= len(r.Offers):
		out := o.Rules()
		if len(a.Parts) > 0 {
			return pick(out, a.Parts)
		}
		for _, n := range a.More {
			if n >= 1 && n <= len(r.Offers) {
				out = append(out, r.Offers[n-1].Rules()...)
			}
		}
		return out
	}
	return nil
}

// pick returns the rules with these numbers, 1 and up, each once and in the order that they were offered.
func pick(rules []Offer, numbers []int) (out []Offer) {
	for i := range rules {
		if slices.Contains(numbers, i+1) {
			out = append(out, rules[i])
		}
	}
	return out
}

// Keys returns, for each scope, the key that a grant needs to cover a call: the
// session, agent, directory or user.
func Keys(c *obstat.Call) map[Scope]string {
	return map[Scope]string{Session: c.Session, Agent: c.Agent, Workspace: c.Dir, User: c.User}
}

// owner names the agent and the user that a call is of, and its session with it.
func owner(c *obstat.Call) string { return strconv.Quote(c.Agent) + " " + strconv.Quote(c.User) }

// For tells whether the grant holds for these keys.
func (g *Grant) For(keys map[Scope]string, now time.Time) bool {
	return g.InForce(now) && g.Key != "" && keys[g.Scope] == g.Key && (g.Of == "" || g.Of == owner(&obstat.Call{Agent: keys[Agent], User: keys[User]}))
}

// Covers tells whether the grant settles a call: its scope is the call's, and
// it is bound to this very call. Grants that hold a rule are tried by
// the gate, as rules.
func (g *Grant) Covers(key map[Scope]string, tool, digest string, now time.Time) bool {
	return g.For(key, now) && g.Digest != "" && g.Digest == digest && g.Tool == tool
}
