package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/approval"
	"github.com/obstat/obstat/client"
	"github.com/obstat/obstat/internal/keep/docs"
	"github.com/obstat/obstat/internal/study/diff"
	"github.com/obstat/obstat/internal/study/explain"
)

// proposalKind is the kind of the document of the version that waits for others to agree.
const proposalKind = "proposal"

// A proposal is a version that waits for others to agree. It counts until another version is put
// in force.
type proposal struct {
	Version int               `json:"version"`
	Instead int               `json:"instead"`
	Doc     int               `json:"doc"` // version of the document about the version in force
	Back    bool              `json:"back,omitempty"`
	Reason  string            `json:"reason"`
	Answers []approval.Answer `json:"answers"` // approvals so far
	Time    time.Time         `json:"time"`
}

// wire returns the proposal as it is sent.
func (p *proposal) wire(who *approval.Who) *client.Proposal {
	out := &client.Proposal{Version: p.Version, Instead: p.Instead, Back: p.Back, Reason: p.Reason, Needed: who.People(),
		Time: p.Time}
	for _, a := range p.Answers {
		out.By = append(out.By, a.By)
	}
	return out
}

// Proposal returns the version that waits for others to agree; nil: none does.
func (v *Service) Proposal(ctx context.Context) (*client.Proposal, error) {
	p, _, err := docs.Get[proposal](ctx, v.s.store, proposalKind, activeID)
	if errors.Is(err, docs.ErrNotFound) || err == nil && (v.s.opts.PolicyWho.People() < 2 || p.Doc != v.s.shelf.doc()) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return p.wire(&v.s.opts.PolicyWho), nil
}

// maxReason bounds why a version is put in force.
const maxReason = 2000

// Activate puts a version in force on all replicas, within two seconds; zero are
// the files that each was started with. Where the roster wants several people, it proposes the
// version or agrees to it.
func (v *Service) Activate(ctx context.Context, p *Person, version int,
	in *client.Activation) (*client.Activated, error) {
	return v.activate(ctx, p, version, false, in)
}

// Rollback puts the version in force that was before.
func (v *Service) Rollback(ctx context.Context, p *Person, in *client.Activation) (*client.Activated, error) {
	before, err := v.before(ctx)
	if err != nil {
		return nil, err
	}
	if before == nil {
		return nil, cmp.Or(mayActivate(p, &v.s.opts.PolicyWho, false), error(newProblem(http.StatusConflict, "changed",
			"no other version was in force before", "")))
	}
	return v.activate(ctx, p, *before, true, in)
}

// before returns the version that was in force before; nil: there was none.
func (v *Service) before(ctx context.Context) (*int, error) {
	a, _, err := docs.Get[active](ctx, v.s.store, activeKind, activeID)
	if errors.Is(err, docs.ErrNotFound) || err == nil && len(a.Before) == 0 {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return &a.Before[len(a.Before)-1], nil
}

func (v *Service) activate(ctx context.Context, p *Person, version int, back bool,
	in *client.Activation) (*client.Activated, error) {
	who, answer := &v.s.opts.PolicyWho, approval.Answer{By: p.Name, Roles: p.Roles, Login: p.Login, Names: p.Names,
		Allow: true, Time: time.Now()}
	open, err := v.Proposal(ctx)
	if err != nil {
		return nil, err
	}
	agrees := open != nil && open.Version == version && open.Back == back
	if err := mayActivate(p, who, agrees); err != nil {
		return nil, err
	}
	c := &change{version: version, instead: in.Instead, back: back, reason: strings.TrimSpace(in.Reason)}
	if agrees && c.reason == "" {
		c.reason = open.Reason
	}
	if c.reason == "" || len(c.reason) > maxReason {
		return nil, invalid(fmt.Sprintf("a reason has 1 to %d bytes: it is written down with the version", maxReason))
	}
	if err := v.compare(ctx, c, in.Loosens); err != nil {
		return nil, err
	}
	if err := who.Admit(nil, &answer); err != nil && who.People() < 2 {
		return nil, err
	}
	c.people = []approval.Answer{answer}
	if who.People() > 1 {
		waits, err := v.agree(ctx, c, &answer)
		if err != nil || waits != nil {
			return &client.Activated{Version: version, Proposal: waits}, err
		}
	}
	if err := v.s.shelf.putInForce(ctx, c, v.s.gate.Record); err != nil {
		return nil, v.conflict(ctx, c, err)
	}
	if who.People() > 1 {
		_ = docs.Delete(ctx, v.s.store, proposalKind, activeID) // it counts no more in any case
	}
	return &client.Activated{Version: version, InForce: true}, nil
}

// mayActivate refuses people without the role admin. To agree to a proposal takes none where the
// roster names roles or people for it.
func mayActivate(p *Person, who *approval.Who, agrees bool) error {
	named := len(who.Roles)+len(who.Users)+len(who.Each) > 0
	if p.Is(RoleAdmin) || agrees && named {
		return nil
	}
	return fmt.Errorf("%w: it takes the role %s", errForbidden, RoleAdmin)
}

// compare refuses a change that was made with another version in view than the one in force, and
// one that is looser without saying so. It fills in which calls become looser.
func (v *Service) compare(ctx context.Context, c *change, loosens bool) error {
	if err := v.s.shelf.refresh(ctx); err != nil {
		return err
	}
	if v.s.shelf.version() != c.instead {
		return v.conflict(ctx, c, docs.ErrChanged)
	}
	next, err := v.Kept(ctx, c.version)
	if err != nil {
		return err
	}
	c.digest = next.Digest
	d, err := v.difference(uploadOf(next), c.version)
	switch {
	case err != nil && !loosens:
		return newProblem(http.StatusConflict, "loosens", "how the version differs cannot be shown",
			firstLine(err.Error())+"; say that it may loosen")
	case err != nil:
		return nil // the policy in force is broken, and this mends it
	}
	if c.lifted = d.Looser(); len(c.lifted) > 0 && !loosens {
		return &client.Problem{Type: "loosens", Title: "the version lets calls through that are not let through now",
			Status: http.StatusConflict,
			Detail: fmt.Sprintf("%d ways, the first: %s is %s and would be %s; say that it is meant to loosen", len(c.lifted),
				c.lifted[0].Text, c.lifted[0].Was, c.lifted[0].Now), Diff: d}
	}
	return nil
}

// conflict returns the problem that another version is in force than the change was made for, with
// the difference to that one; other errors as they are.
func (v *Service) conflict(ctx context.Context, c *change, err error) error {
	if !errors.Is(err, docs.ErrChanged) {
		return err
	}
	p := v.conflicting(ctx)
	if next, err := v.Kept(ctx, c.version); err == nil {
		p.Diff, _ = v.difference(uploadOf(next), c.version) // without it the words say enough
	}
	return p
}

// conflicting says which version is in force, and names the people who put it there.
func (v *Service) conflicting(ctx context.Context) *client.Problem {
	p := newProblem(http.StatusConflict, "changed", "another version was put in force since you looked", "")
	if now, _, err := docs.Get[active](ctx, v.s.store, activeKind, activeID); err == nil ||
		errors.Is(err, docs.ErrNotFound) {
		p.Detail = now.words()
	}
	return p
}

// agree adds a person's approval to a proposal. It returns the proposal while others are waited
// for, and nil once all have agreed; they are the people of the change then.
func (v *Service) agree(ctx context.Context, c *change, answer *approval.Answer) (*client.Proposal, error) {
	who, doc := &v.s.opts.PolicyWho, v.s.shelf.doc()
	p, err := docs.Change(ctx, v.s.store, proposalKind, activeID, func(p *proposal) error {
		if p.Version != c.version || p.Back != c.back || p.Doc != doc {
			*p = proposal{Version: c.version, Instead: c.instead, Doc: doc, Back: c.back, Reason: c.reason,
				Time: time.Now().UTC()}
		}
		if err := who.Admit(p.Answers, answer); err != nil {
			return err
		}
		p.Answers = append(p.Answers, *answer)
		return nil
	})
	if err != nil {
		return nil, err
	}
	if len(p.Answers) > 1 && c.reason != p.Reason {
		c.reason = p.Reason + "; " + answer.By + ": " + c.reason
	}
	if c.people = p.Answers; who.Enough(p.Answers) {
		return nil, nil
	}
	words := fmt.Sprintf("%s wants %s in force, in place of %s; %d of %d have agreed", answer.By, versionName(c.version),
		versionName(c.instead), len(p.Answers), who.People())
	return p.wire(who), v.s.gate.Record(ctx, c.record(words))
}

// MayActivate is the check of Activate for a policy that is not kept yet: it refuses where another version is in
// force than the one that it was compared with.
func (v *Service) MayActivate(ctx context.Context, up *client.PolicyUpload, in *client.Activation) error {
	if err := v.s.shelf.refresh(ctx); err != nil {
		return err
	}
	if v.s.shelf.version() == in.Instead {
		return nil
	}
	p := v.conflicting(ctx)
	p.Diff, _ = v.difference(up, 0) // without it the words say enough
	return p
}

// PolicyPeople returns how many people have to agree to a version.
func (v *Service) PolicyPeople() int { return v.s.opts.PolicyWho.People() }

// Kept returns a version; zero are the files that the server was started with.
func (v *Service) Kept(ctx context.Context, version int) (*client.PolicyVersion, error) {
	if version == 0 {
		return v.fromFiles()
	}
	return v.Policy(ctx, version)
}

// uploadOf returns a version as it was sent.
func uploadOf(p *client.PolicyVersion) *client.PolicyUpload {
	return &client.PolicyUpload{Files: p.Files, Dialect: p.Dialect, Options: p.Options}
}

// difference compares a policy with the one in force, by calls that are made up.
func (v *Service) difference(up *client.PolicyUpload, version int) (*client.PolicyDiff, error) {
	next, err := load(up)
	if err != nil {
		return nil, err
	}
	f, err := v.s.shelf.InForce(&obstat.Call{})
	if err != nil {
		return nil, err
	}
	if f == nil || len(f.Policies) == 0 {
		return nil, bad("no policy is in force")
	}
	now := make([]*obstat.Policy, len(f.Policies))
	for i, p := range f.Policies {
		now[i] = p.Policy
	}
	out := &client.PolicyDiff{From: v.s.shelf.version(), To: version, Same: len(now) == 1 &&
		now[0].Digest() == next.Policy.Digest(), Flips: []client.Flip{}, Flipped: map[string]int{}}
	// Of several in force the strictest counts: a version is one policy, so denials of another
	// file beside it would be lifted.
	rep := diff.CompareAll(now, next.Policy, maxCompared)
	out.Cut, out.Witness = rep.Cut, []client.Witness{}
	for _, r := range rep.Regions {
		out.Witness = append(out.Witness, client.Witness{Tool: r.Call.Tool, Text: explain.TextOf(r.Call), Looser: r.Looser,
			Mode: string(r.Call.Mode), Was: r.Was.String(), Now: r.Now.String(), WasBy: r.WasBy.Reason, NowBy: r.NowBy.Reason})
	}
	return out, nil
}

// maxCompared bounds the calls that a comparison makes up for each policy in force.
const maxCompared = 10_000
