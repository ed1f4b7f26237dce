package server

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/approval"
	"github.com/obstat/obstat/client"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/gate"
	"github.com/obstat/obstat/internal/study/explain"
	"github.com/obstat/obstat/internal/study/lint"
	"github.com/obstat/obstat/ledger"
	"github.com/obstat/obstat/paths"
)

// A Service is everything that people and pages do on a server: the routes and the
// console are faces of it. It is safe for concurrent use.
type Service struct {
	s *Server

	equals *equals

	taking sync.Map // by token: a *sync.Mutex, held while a machine's records are taken

	mu   sync.Mutex
	seen map[string]*seen // agents, since they were last written down
}

// seen counts the calls of an agent.
type seen struct {
	client.AgentSeen
	news bool
}

// decide puts a call to the gate and waits for people until ctx ends. Where another call has taken the approval that
// this one waited for as well, it is put anew: a grant may settle it by now.
func (v *Service) decide(ctx context.Context, c *caller, call *obstat.Call, in *client.DecisionRequest,
	key string) (*client.Decision, error) {
	if err := c.admit(call, v.s.shelf); err != nil {
		return nil, err
	}
	began := time.Now()
	if c.agent != nil && !c.agent.machine() {
		v.note(c, call.Agent, 1) // a machine's calls are counted by its records
	}
	for try := 0; ; try++ {
		d, req, err := v.put(ctx, c, call, key)
		if err != nil {
			return nil, err
		}
		if try == 0 {
			v.s.metrics.decided(d.Verdict, time.Since(began))
		}
		if req == nil {
			return client.NewDecision(&d, nil), nil
		}
		if req.State == approval.Pending {
			if req, err = v.hold(ctx, req, in.Wait); err != nil {
				return nil, err
			}
		}
		if req.State == approval.Pending || in.Unclaimed && req.State == approval.Approved {
			d.Verdict = obstat.Ask
			return client.NewDecision(&d, req), nil
		}
		again := key == "" && try < maxJoined
		if again && (req.State == approval.Claimed || req.State == approval.Done) {
			continue // an equal call that waited for it as well was faster
		}
		approved := req.State == approval.Approved
		out, err := v.claim(ctx, c, req, client.Claim{Digest: call.DigestText(), Key: key, Lease: in.Lease})
		if again && approved && err == nil && out.Verdict == obstat.Deny.String() && v.takenBefore(ctx, req.ID) {
			continue
		}
		return out, err
	}
}

// takenBefore tells whether a caller has claimed an approval.
func (v *Service) takenBefore(ctx context.Context, id string) bool {
	r, err := v.s.store.Request(ctx, id)
	return err == nil && r.Claim != nil
}

// maxJoined is how often a call is put anew after another has taken the approval that both waited for.
const maxJoined = 8

// hold waits some seconds for the end of a pending request. A server that ends waits no longer: the
// caller asks another.
func (v *Service) hold(ctx context.Context, r *approval.Request, seconds int) (*approval.Request, error) {
	if seconds == 0 {
		return r, nil
	}
	held, cancel := context.WithTimeout(ctx, time.Duration(seconds)*time.Second)
	defer cancel()
	defer context.AfterFunc(v.s.hub.over, cancel)()
	out, err := v.s.gate.Broker().Until(held, r.ID)
	if held.Err() != nil && err != nil {
		return r, ctx.Err()
	}
	return out, err
}

// put has a call decided, or finds the request that was put for it under the key.
func (v *Service) put(ctx context.Context, c *caller, call *obstat.Call,
	key string) (d obstat.Decision, req *approval.Request, err error) {
	if key == "" {
		return v.authorize(ctx, c, call, "")
	}
	sum := sha256.Sum256([]byte(c.id() + "\x00" + key))
	id := "req_" + hex.EncodeToString(sum[:16])
	old, err := v.s.store.Request(ctx, id)
	if err != nil {
		d, req, err := v.authorize(ctx, c, call, id)
		if err != nil || req != nil || d.Verdict != obstat.Deny {
			return d, req, err
		}
		if old, err = v.s.store.Request(ctx, id); err != nil { // not put at the same time by another
			return d, nil, nil
		}
	}
	if !sameCall(&old.Call, old.Digest, call) {
		return obstat.Decision{}, nil, fmt.Errorf("%w: the key was used for another call before", approval.ErrOther)
	}
	return obstat.Decision{Verdict: obstat.Ask, Note: cmp.Or(old.Reason, "it was asked before"), Tool: call.Tool}, old,
		nil
}

// authorize puts a call to the gate. An ask joins the request of an equal call that waits. Where that has just been
// answered, the call is put once more: the answer may have left a grant.
func (v *Service) authorize(ctx context.Context, c *caller, call *obstat.Call,
	id string) (d obstat.Decision, req *approval.Request, err error) {
	j := &joining{v: v, terms: gate.Terms{Ask: gate.Put, Request: id, Claimed: c.claims(call)}}
	if id == "" { // a caller with a key finds its own request again, and no other
		j.terms.Same = j.same
	}
	for try := 0; ; try++ {
		j.put, j.ended, j.joined, j.began = "", false, false, time.Now()
		out, err := v.inTurn(ctx, c, call, &j.terms)
		if err != nil {
			return obstat.Decision{}, nil, err
		}
		if j.put != "" {
			v.equals.done(j.put, out.Request == nil)
		}
		if j.ended && try < maxJoined {
			v.equals.heard(out.Request)
			continue
		}
		if !j.joined {
			v.asked(out.Request)
		}
		return out.Decision, out.Request, nil
	}
}

// A joining is how an ask fared that may join the request of an equal call.
type joining struct {
	v             *Service
	terms         gate.Terms
	put           string // ID of the request that is put
	joined, ended bool   // there was one, which waits or has just ended
	began         time.Time
}

func (j *joining) same(ctx context.Context, r *approval.Request) *approval.Request {
	id := j.v.equals.take(ctx, r)
	if id == "" && j.v.equals.endedSince(r, j.began) {
		j.v.equals.done(r.ID, true)
		j.ended = true
		return r // it is not put, and judged again
	}
	if id == "" {
		j.put = r.ID
		return nil
	}
	old, err := j.v.s.store.Request(ctx, id)
	if err != nil {
		j.v.equals.heard(&approval.Request{ID: id})
		return nil
	}
	j.joined, j.ended = old.State == approval.Pending, old.State != approval.Pending
	return old
}

// inTurn has the gate decide a call when it is the caller's turn. People are not waited for meanwhile.
func (v *Service) inTurn(ctx context.Context, c *caller, call *obstat.Call, terms *gate.Terms) (gate.Result, error) {
	leave, err := v.s.turns.enter(ctx, c.id())
	if err != nil {
		return gate.Result{}, err
	}
	defer leave()
	// Where the ledger fails, the decision denies and says so.
	out, _ := v.s.gate.Authorize(ctx, call, terms)
	return out, nil
}

func (v *Service) asked(req *approval.Request) {
	if req != nil {
		v.s.metrics.asks.Add(1)
	}
}

// sameCall tells whether a call that the caller repeats is the one that was put: its
// bytes, and where and for whom it is made, which the digest does not say.
func sameCall(put *obstat.Call, digest string, c *obstat.Call) bool {
	return digest == c.DigestText() && put.Dir == c.Dir && put.Agent == c.Agent && put.User == c.User
}

// claim decides a call by its request, once.
func (v *Service) claim(ctx context.Context, c *caller, r *approval.Request,
	in client.Claim) (*client.Decision, error) {
	d, err := v.s.gate.Resume(ctx, r.ID, &gate.Terms{Claim: approval.Claiming{By: c.id(), Key: in.Key,
		Digest: in.Digest, Lease: time.Duration(in.Lease) * time.Second}})
	if err != nil && d.Stage == "" && len(d.Faults) == 0 && d.Rule == nil {
		return nil, err
	}
	if now, err := v.s.store.Request(ctx, r.ID); err == nil {
		r = now
	}
	return client.NewDecision(&d, r), nil
}

// Claim takes an approval for a caller that is about to run its call.
func (v *Service) claimRequest(ctx context.Context, c *caller, id string, in client.Claim) (*client.Decision, error) {
	r, err := v.owned(ctx, c, id)
	if err != nil {
		return nil, err
	}
	if r.State == approval.Pending {
		return nil, newProblem(409, "pending", "nobody has answered yet", "")
	}
	if in.Digest != r.Digest {
		return nil, fmt.Errorf("%q: %w", id, approval.ErrOther)
	}
	return v.claim(ctx, c, r, in)
}

// owned returns a request of the calling agent, or any to a person. Of others'
// requests an agent is not told that they are there.
func (v *Service) owned(ctx context.Context, c *caller, id string) (*approval.Request, error) {
	r, err := v.s.store.Request(ctx, id)
	if err != nil {
		return nil, err
	}
	if c.agent != nil && !c.owns(r) {
		return nil, fmt.Errorf("%q: %w", id, approval.ErrNotFound)
	}
	return r, nil
}

// owns tells whether a request was put by the calling agent.
func (c *caller) owns(r *approval.Request) bool {
	t := &c.agent.token
	return (t.Agent == "" || t.Agent == r.Call.Agent) && (t.User == "" || t.User == r.Call.User) &&
		(t.Workspace == "" || r.Call.Dir == "" || paths.Inside(t.Workspace, r.Call.Dir))
}

// admit refuses a call that the caller may not put, and fills in the agent,
// user and roles: they come from the token and never from the call.
func (c *caller) admit(call *obstat.Call, policies gate.Source) error {
	if call.Tool == "" {
		return bad("a call needs a tool")
	}
	if c.person != nil {
		call.User, call.Roles = c.person.Name, c.person.Roles
		return nil
	}
	t := &c.agent.token
	switch {
	case t.Agent != "" && call.Agent != "" && call.Agent != t.Agent:
		return fmt.Errorf("%w: the token is for the agent %q, and the call is of %q", errForbidden, t.Agent, call.Agent)
	case t.Workspace != "" && (call.Dir == "" || !paths.Inside(t.Workspace, call.Dir)):
		return fmt.Errorf("%w: the token is for the workspace %q, and the call is made in %q", errForbidden, t.Workspace,
			call.Dir)
	case t.User != "" && call.User != "" && call.User != t.User:
		return fmt.Errorf("%w: the token is for the user %q, and the call is of %q", errForbidden, t.User, call.User)
	}
	for _, root := range call.Roots {
		if t.Workspace != "" && !paths.Inside(t.Workspace, root) {
			return fmt.Errorf("%w: the token is for the workspace %q, and %q is not in it", errForbidden, t.Workspace, root)
		}
	}
	call.Agent, call.User = cmp.Or(t.Agent, call.Agent), cmp.Or(t.User, call.User)
	trust := obstat.SetByMachine // it decides by itself, and knows its branch and its sessions
	switch {
	case !c.agent.machine():
		trust = obstat.SetByAgent
		call.Subjects, call.Project = nil, ""
	case t.Vouches:
		trust = obstat.SetByServer // it has logged its users in
	}
	for at := range obstat.Circumstances() {
		if at.Setter > trust && at.Of == "" {
			at.Set(call)
		}
	}
	if t.Dialect != "" {
		f, _ := policies.InForce(call)
		if f == nil || f.Main() == nil || f.Main().Dialect.Name() != t.Dialect {
			return fmt.Errorf("%w: the token is for policies of %s, and another is in force", errForbidden, t.Dialect)
		}
	}
	return nil
}

// claims tells whether the user of a call is the agent's word alone. A machine knows its
// user, as it knows the branch.
func (c *caller) claims(call *obstat.Call) bool {
	return c.agent != nil && !c.agent.machine() && c.agent.token.User == "" && call.User != ""
}

// Local tells whether agents run on this machine, so that their paths are files here.
func (v *Service) Local() bool { return v.s.local }

// Requests returns requests, and the cursor that later changes come after.
func (v *Service) Requests(ctx context.Context, q approval.Query) ([]*approval.Request, int64, error) {
	cursor := max(1, v.s.feed.Cursor()) // before they are read, so that nothing is missed
	rs, err := v.s.store.Requests(ctx, q)
	return rs, cursor, err
}

// Request returns one request.
func (v *Service) Request(ctx context.Context, id string) (*approval.Request, error) {
	return v.s.store.Request(ctx, id)
}

// answerBy returns a person's answer, with the name and the roles.
func answerBy(p *Person, a *client.Answer) approval.Answer {
	return approval.Answer{By: p.Name, Roles: p.Roles, Login: p.Login, Names: p.Names, Allow: a.Allow, Scope: a.Scope,
		Until: a.Until, ForSeconds: a.For, Offer: a.Offer, More: a.More,
		Rule: a.Rule, Input: a.Input, Words: a.Words, All: a.All}
}

// Answer takes a person's answer to a request. One that another person has given and that is about to be sent counts
// before it.
func (v *Service) Answer(ctx context.Context, p *Person, id string, a client.Answer) (*approval.Request, error) {
	if err := v.errHeld(ctx, p, id); err != nil {
		return nil, err
	}
	return v.answerNow(ctx, p, id, a)
}

func (v *Service) answerNow(ctx context.Context, p *Person, id string, a client.Answer) (*approval.Request, error) {
	answer := answerBy(p, &a)
	if a.Allow && a.Scope == approval.Always {
		who := &v.s.opts.PolicyWho
		if why := alwaysChanges(who); why != "" {
			return nil, fmt.Errorf("%w: %s", approval.ErrNotYou, why)
		}
		if err := who.Admit(nil, &answer); err != nil {
			return nil, err
		}
	}
	out := v.s.gate.Broker().AnswerWith(ctx, id, answer)
	if out.Err != nil {
		return nil, out.Err
	}
	v.s.metrics.answers.Add(1)
	if out.Request.State == approval.Pending {
		return out.Request, nil
	}
	return out.Request, v.s.gate.Log(ctx, append(out.Others, out.Request)...)
}

// maxGroup is how many requests are answered together.
const maxGroup = 1000

// AnswerGroup takes a person's answer to several similar requests.
func (v *Service) AnswerGroup(ctx context.Context, p *Person, ids []string,
	a client.Answer) ([]client.GroupResult, error) {
	if len(ids) == 0 || len(ids) > maxGroup {
		return nil, bad("a group has between one and a thousand requests")
	}
	notes, err := v.Notes(ctx)
	if err != nil {
		return nil, err
	}
	for _, id := range ids {
		if by := notes[id].Held; by != "" && by != p.Name {
			return nil, v.heldBy(ctx, id)
		}
	}
	answered, err := v.s.gate.Broker().AnswerGroup(ctx, ids, answerBy(p, &a))
	if err != nil {
		return nil, err
	}
	out := make([]client.GroupResult, len(ids))
	var ended []*approval.Request
	for i, r := range answered {
		out[i].ID = ids[i]
		if r.Err != nil {
			out[i].Error = firstLine(r.Err.Error())
			continue
		}
		v.s.metrics.answers.Add(1)
		if out[i].State = r.Request.State; r.Request.State != approval.Pending {
			ended = append(append(ended, r.Request), r.Others...)
		}
	}
	return out, v.s.gate.Log(ctx, ended...)
}

// Grants returns the grants in force.
func (v *Service) Grants(ctx context.Context) ([]*approval.Grant, error) {
	return v.s.store.Grants(ctx, time.Now())
}

// Revoke takes a grant back.
func (v *Service) Revoke(ctx context.Context, p *Person, id string) error {
	grants, err := v.Grants(ctx)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(grants, func(g *approval.Grant) bool { return g.ID == id })
	if i < 0 {
		return fmt.Errorf("%q: %w", id, approval.ErrNotFound)
	}
	// The record comes first: a database that is made anew from the ledger must not
	// bring the grant back.
	if err := v.s.store.Append(ctx, gate.GrantRecord(grants[i], p.Name)); err != nil {
		return err
	}
	return v.s.store.Revoke(ctx, id, time.Now())
}

// Records yields the records of the ledger that q asks for.
func (v *Service) Records(ctx context.Context, q ledger.Query) iter.Seq2[*ledger.Record, error] {
	return v.s.store.Records(ctx, q)
}

// Verify verifies the ledger.
func (v *Service) Verify(ctx context.Context) client.Verified {
	got, err := v.s.store.Verify(ctx, ledger.Hash{})
	out := client.Verified{OK: err == nil, Records: got.Records, Head: got.Head.Hash.String(), Foreign: got.Foreign}
	if err != nil {
		out.Problem = err.Error()
	}
	return out
}

// Explain shows how a recorded decision comes about under the policy of now, and
// whether that is the policy that decided it.
func (v *Service) Explain(ctx context.Context, r *ledger.Record) (view *explain.View, same bool, err error) {
	call, _, err := r.Replayable()
	if err != nil {
		return nil, false, err
	}
	var world obstat.World = &obstat.Snapshot{}
	if r.World != nil {
		world = r.World
	}
	view, digest, err := v.Try(call, world)
	return view, err == nil && digest == r.Policy, err
}

// Try shows how the policy in force decides a call; nothing is recorded or
// asked.
func (v *Service) Try(call *obstat.Call, world obstat.World) (*explain.View, string, error) {
	f, err := v.s.shelf.InForce(call)
	if f == nil || f.Main() == nil {
		return nil, "", cmp.Or(err, error(bad("no policy is in force")))
	}
	return explainWith(f.Main().Loaded, call, world), f.Main().Policy.Digest(), nil
}

func explainWith(l *dialect.Loaded, call *obstat.Call, world obstat.World) *explain.View {
	return explain.Explain(&explain.Request{Program: l.Program, Policy: l.Policy,
		Library: dialect.LibraryFor(l.Dialect, l.Program), Call: call, World: world,
		Offers: func(d *obstat.Decision) []obstat.Offer { return l.Offers(call, world, d) }, With: l.With})
}

// A RuleUse is a rule of the policy in force, and how often it decided.
type RuleUse struct {
	Text    string
	Verdict string
	Pos     obstat.Pos
	N       int
	Dead    string // why it can decide nothing; "" where it can
}

// Rules returns the rules of the policy in force in the order of their files, how
// often each decided since a time, and which can decide nothing.
func (v *Service) Rules(ctx context.Context, since time.Time) ([]RuleUse, error) {
	f, err := v.s.shelf.InForce(&obstat.Call{})
	if f == nil || f.Main() == nil {
		return nil, err
	}
	c, err := v.counted(ctx, since)
	if err != nil {
		return nil, err
	}
	used := c.rules()
	dead := map[obstat.Pos]string{}
	for _, e := range lint.Program(f.Main().Program, lintOptions(f.Main().Loaded)) {
		if e.Code == obstat.CodeNoEffect {
			dead[e.Pos] = e.Msg
		}
	}
	var out []RuleUse
	for _, rules := range f.Main().Program.Rules {
		for i := range rules {
			if r := &rules[i]; r.Pos.IsValid() {
				out = append(out, RuleUse{r.String(), r.Verdict.String(), r.Pos, used[r.String()], dead[r.Pos]})
			}
		}
	}
	slices.SortFunc(out, func(a, b RuleUse) int {
		return cmp.Or(cmp.Compare(a.Pos.File, b.Pos.File), cmp.Compare(a.Pos.Line, b.Pos.Line),
			cmp.Compare(a.Pos.Col, b.Pos.Col), cmp.Compare(a.Text, b.Text), cmp.Compare(written(&a), written(&b)))
	})
	// One sentence may be several rules: obstat.yaml's deny of `read secrets` also asks for files
	// that may be one. It is shown once, as it is written.
	return slices.CompactFunc(out, func(a, b RuleUse) bool { return a.Pos == b.Pos && a.Text == b.Text }), nil
}

// written orders the rules of one sentence by how likely it says so: an ask beside a denial or an
// allowance is made for targets that cannot be seen.
func written(u *RuleUse) int { return slices.Index([]string{"deny", "allow", "ask"}, u.Verdict) }

// Tools returns which verdicts calls to tools can get, and leaves out the tools
// that are denied whatever their input.
func (v *Service) Tools(call *obstat.Call, names []string) (*client.ToolReaches, error) {
	f, err := v.s.shelf.InForce(call)
	if f == nil || err != nil || len(f.Policies) == 0 {
		return nil, cmp.Or(err, error(bad("no policy is in force")))
	}
	out := &client.ToolReaches{Tools: []client.ToolReach{}}
	for _, name := range names {
		strictest, loosest := obstat.Allow, obstat.Allow
		for _, p := range f.Policies {
			r := p.Policy.Reach(name, call.Mode)
			strictest, loosest = min(strictest, r.Strictest), min(loosest, r.Loosest)
		}
		if loosest == obstat.Deny {
			out.Hidden = append(out.Hidden, name)
			continue
		}
		out.Tools = append(out.Tools, client.ToolReach{Tool: name, Strictest: strictest.String(), Loosest: loosest.String()})
	}
	return out, nil
}

// Text returns a call in short, for people: its command, path or URL.
func Text(c *obstat.Call) string { return strings.TrimSpace(explain.TextOf(c)) }
