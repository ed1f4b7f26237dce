package gate

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/approval"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/internal/study/diff"
	"github.com/obstat/obstat/ledger"
)

// checkAnswer refuses an accepted rule that would not settle the call or is
// broader than the call. The broker asks it before an answer counts; the gate
// asks it again before it acts on one that another process took.
func (g *Gate) checkAnswer(r *approval.Request, a *approval.Answer) error {
	if a.Allow && a.Scope != "" && a.Scope != approval.Once && g.guards(context.Background(), &r.Call).Check(&r.Call, g.opts.World, nil) != nil {
		return fmt.Errorf("%w: what guards the agent is changed with an answer for once only", approval.ErrBad)
	}
	if a.Rule == nil && a.Offer == 0 {
		return nil
	}
	l, _ := g.asking(context.Background(), &r.Call)
	if l == nil {
		return fmt.Errorf("%w: no policy is in force", approval.ErrBad)
	}
	whole := *a
	whole.Parts = nil // all rules of the offer settle the call, and some of them may be kept
	offers, err := rulesOf(whole.Rules(r))
	if err != nil {
		return err
	}
	if err := checkRules(offers); err != nil {
		return err
	}
	pol, err := with(l, a, offers)
	if err != nil {
		return fmt.Errorf("%w: %w", approval.ErrBad, err)
	}
	if d := g.decide(context.Background(), pol, &r.Call, g.opts.World); d.Verdict != obstat.Allow {
		return fmt.Errorf("%w: with the rule %s this call would not be allowed: %s", approval.ErrBad, offers[0].Rule.String(), d.Reason())
	}
	if a.Rule != nil {
		if err := g.narrow(l, pol, r, &offers[0].Rule); err != nil {
			return err
		}
	}
	return g.lifts(l, pol, &r.Call, &offers[0].Rule)
}

// maxWitnesses bounds the calls of rules in force that an accepted rule is tried on.
const maxWitnesses = 800

// lifts refuses a rule that would lift a deny or ask rule other than the one that has asked: in a notation where
// the last rule wins, `git *` behind `git push *: deny` would.
func (g *Gate) lifts(l *dialect.Loaded, pol *obstat.Policy, call *obstat.Call, rule *obstat.Rule) error {
	asked := l.Policy.Decide(call, g.opts.World).Rule
	key := l.Policy.Digest() + pol.Digest()
	if asked != nil {
		key += " " + asked.Pos.String()
	}
	g.mu.Lock()
	known := g.tried.key == key
	err := g.tried.err
	g.mu.Unlock()
	if known {
		return err
	}
	err = nil
	for _, r := range diff.Loosened(&diff.Draft{Was: []*obstat.Policy{l.Policy}, Now: pol, Specific: true, Limit: maxWitnesses}) {
		if asked == nil || r.WasBy.Pos != asked.Pos {
			err = fmt.Errorf("%w: %s would lift the %s rule %s (%s): %s %s", approval.ErrBroader, rule, r.Was, r.WasBy.Rule, r.WasBy.Pos, r.Call.Tool, ledger.ClipTo(string(r.Call.Input), 200))
			break
		}
	}
	g.mu.Lock()
	g.tried = triedRule{key, err}
	g.mu.Unlock()
	return err
}

// A triedRule keeps the result of the last search for a rule that another would lift: an answer is checked when it
// is given and again when it is kept, and under many patterns, as JiuwenSwarm's built-in ones, a search takes seconds.
type triedRule struct {
	key string // the digests of the policies without and with the rule, and the place of the rule that asked
	err error
}

// with returns the policy with the rules of an answer. A rule that a person wrote and that is kept
// for good is tried as the file will have it: not every notation can say `terraform plan -out=x`
// and nothing more.
func with(l *dialect.Loaded, a *approval.Answer, offers []obstat.Offer) (*obstat.Policy, error) {
	if a.Rule != nil && a.Scope == approval.Always {
		return l.Written(l.Into(), offers...)
	}
	return l.With(offers...)
}

// CheckAnswer refuses an accepted rule as far as that can be done without the policy, where
// another process takes the answer. It does for
// [approval.Options].Check; the gate that asked tries the rule itself.
func CheckAnswer(r *approval.Request, a *approval.Answer) error {
	if a.Rule == nil && a.Offer == 0 {
		return nil
	}
	offers, err := rulesOf(a.Rules(r))
	if err != nil {
		return err
	}
	return checkRules(offers)
}

// checkRules refuses rules that no answer may leave behind, whatever the call.
func checkRules(offers []obstat.Offer) error {
	for i := range offers {
		switch rule := &offers[i].Rule; {
		case rule.Verdict != obstat.Allow:
			return fmt.Errorf("%w: the rule %s does not allow anything", approval.ErrBad, rule)
		case dialect.Broad(rule):
			return fmt.Errorf("%w: %s would hand out more than this call", approval.ErrBroader, rule)
		}
	}
	return nil
}

// narrow tries a rule that a person wrote on calls that have nothing to do with
// the one it is for. If one of them would be allowed, the rule is broader.
func (g *Gate) narrow(l *dialect.Loaded, pol *obstat.Policy, r *approval.Request, rule *obstat.Rule) error {
	for _, p := range probes(&r.Call) {
		if pol.Decide(&p, g.opts.World).Verdict == obstat.Allow && l.Policy.Decide(&p, g.opts.World).Verdict != obstat.Allow {
			return fmt.Errorf("%w: %s would allow %s %s as well", approval.ErrBroader, rule, p.Tool, ledger.ClipTo(string(p.Input), 200))
		}
	}
	return nil
}

// probes returns calls of the same shape as c about names that do not exist, and calls to
// a tool that does not.
func probes(c *obstat.Call) []obstat.Call {
	var fields map[string]json.RawMessage
	if json.Unmarshal(c.Input, &fields) != nil {
		fields = map[string]json.RawMessage{}
	}
	var out []obstat.Call
	for _, text := range []string{"obstat-probe", "/obstat/probe", "obstat/probe.txt", "~/.obstat-probe", "https://probe.obstat.invalid/x"} {
		quoted, _ := json.Marshal(text)
		all := map[string]json.RawMessage{}
		for k, v := range fields {
			if all[k] = v; len(v) > 0 && v[0] == '"' {
				all[k] = quoted
			}
		}
		p := *c
		if len(c.Subjects) > 0 {
			p.Subjects = []string{text}
		}
		p.Input, _ = json.Marshal(all)
		out = append(out, p)
	}
	other := *c
	other.Tool = "obstat_probe"
	return append(out, other)
}

// rulesOf reads rules as a request, an answer or a grant carries them.
func rulesOf(offers []approval.Offer) ([]obstat.Offer, error) {
	var out []obstat.Offer
	for i := range offers {
		o := &offers[i]
		rule, err := obstat.ParseRule(o.Rule)
		if err != nil {
			return nil, err
		}
		text := o.Text
		if text == "" { // a person wrote the rule: it is called by its pattern, and not `run rm`
			rule.Source = ""
			text = rule.String()
		}
		out = append(out, obstat.Offer{Rule: rule, List: o.List, Scope: string(approval.Always), Text: text})
	}
	if len(out) == 0 {
		return nil, errors.New("there is no rule")
	}
	return out, nil
}

// accept writes an accepted rule to the dialect's own file, after trying it once
// more: the answer may have been taken by a process that knows no policy. It is
// in force when accept returns.
func (p *passage) accept(ctx context.Context, r *approval.Request, a *approval.Answer) error {
	g := p.j.by
	if err := g.checkAnswer(r, a); err != nil {
		return err
	}
	offers, err := rulesOf(a.Rules(r))
	if err != nil {
		return err
	}
	l, broken := g.asking(ctx, &r.Call)
	if broken != nil || l == nil {
		return fmt.Errorf("the policy's files cannot be read as they are: %s", firstLine(cmp.Or(broken, errors.New("there is none")).Error()))
	}
	if err := g.opts.Policy.Accept(ctx, &Accepted{l, &r.Call, offers, a.By}); err != nil {
		return err
	}
	_, err = g.inForce(ctx, &r.Call)
	return err
}

// asking returns the policy that decides a call now.
func (g *Gate) asking(ctx context.Context, c *obstat.Call) (*dialect.Loaded, error) {
	f, err := g.inForce(ctx, c)
	if by := f.Decide(c, g.opts.World).From; by != nil {
		return by.Loaded, err
	}
	return nil, err
}
