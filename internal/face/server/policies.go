package server

import (
	"context"
	"slices"
	"time"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/client"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/internal/keep/docs"
	"github.com/obstat/obstat/internal/study/explain"
	"github.com/obstat/obstat/internal/study/lint"
	"github.com/obstat/obstat/internal/study/replay"
)

// Policies returns the versions that are kept, newest first, and which one is in
// force.
func (v *Service) Policies(ctx context.Context) (*client.Policies, error) {
	list, err := docs.All[client.PolicyVersion](ctx, v.s.store, policyKind)
	if err != nil {
		return nil, err
	}
	out := &client.Policies{Policies: []client.PolicyVersion{}, Active: v.s.shelf.version(),
		Files: v.s.gate.Status(ctx).Files}
	if out.Before, err = v.before(ctx); err != nil {
		return nil, err
	}
	if out.Proposal, err = v.Proposal(ctx); err != nil {
		return nil, err
	}
	for _, p := range slices.Backward(list) {
		p.Files, p.Active = nil, p.Version == out.Active
		out.Policies = append(out.Policies, p)
	}
	return out, nil
}

// Policy returns a version with its files; zero is the policy in force.
func (v *Service) Policy(ctx context.Context, version int) (*client.PolicyVersion, error) {
	if version == 0 {
		version = v.s.shelf.version()
	}
	if version == 0 {
		return v.fromFiles()
	}
	p, err := v.s.shelf.get(ctx, version)
	p.Active = p.Version == v.s.shelf.version()
	return &p, err
}

// fromFiles returns the policy that the server was started with.
func (v *Service) fromFiles() (*client.PolicyVersion, error) {
	l, err := v.loaded(0)
	if err != nil {
		return nil, err
	}
	out := versionOf(l)
	out.By, out.Active = "the files it was started with", v.s.shelf.version() == 0
	return &out, nil
}

// loaded returns the policy in force, compiled; with version zero, that of the
// files.
func (v *Service) loaded(version int) (*dialect.Loaded, error) {
	from := v.s.shelf.InForce
	if version == 0 {
		from = v.s.shelf.files.InForce
	}
	f, err := from(&obstat.Call{})
	if err != nil {
		return nil, err
	}
	if f == nil || f.Main() == nil {
		return nil, bad("no policy is in force")
	}
	return f.Main().Loaded, nil
}

// Validate returns the problems of a policy and its warnings. It keeps nothing.
func (v *Service) Validate(up *client.PolicyUpload) (*client.PolicyVersion, error) {
	l, err := load(up)
	if err != nil {
		return nil, err
	}
	warnings := append(slices.Clone(l.Warnings), lint.Program(l.Program, lintOptions(l))...)
	warnings.Sort()
	return &client.PolicyVersion{Digest: l.Policy.Digest(), Dialect: l.Dialect.Name(), Note: up.Note,
		Warnings: warnings}, nil
}

// lintOptions has lint speak of the policy's own files alone.
func lintOptions(l *dialect.Loaded) *lint.Options {
	return &lint.Options{Files: l.Input.Names()}
}

// Upload keeps a policy as the next version. It is not in force yet.
func (v *Service) Upload(ctx context.Context, p *Person, up *client.PolicyUpload) (*client.PolicyVersion, error) {
	return v.s.shelf.add(ctx, up, p.Name)
}

// diffDays is how far back the calls go that a diff decides again.
const diffDays = 7

// Diff compares a version with the policy in force: calls made up to show where
// they differ, and the calls of the last days that would flip.
func (v *Service) Diff(ctx context.Context, version int) (*client.PolicyDiff, error) {
	up, err := v.Policy(ctx, version)
	if err != nil {
		return nil, err
	}
	return v.DiffWith(ctx, uploadOf(up), version)
}

// A madeUp is a difference by calls that are made up, or why there is none.
type madeUp struct {
	diff *client.PolicyDiff
	err  error
}

// madeUp compares by such calls beside the goroutine that decides the recorded ones: each takes half of the time of
// a diff.
func (v *Service) madeUp(up *client.PolicyUpload, version int) <-chan madeUp {
	out := make(chan madeUp, 1)
	go func() {
		said := madeUp{err: errBroken}
		defer func() {
			if broke := recover(); broke != nil {
				v.s.opts.Log.Error("a comparison broke", "panic", broke)
			}
			out <- said
		}()
		said.diff, said.err = v.difference(up, version)
	}()
	return out
}

// DiffWith is [Service.Diff] for a policy that is not kept yet.
func (v *Service) DiffWith(ctx context.Context, up *client.PolicyUpload, version int) (*client.PolicyDiff, error) {
	made := v.madeUp(up, version)
	next, err := load(up)
	if err != nil {
		return nil, err
	}
	now, err := v.loaded(v.s.shelf.version())
	if err != nil {
		return nil, err
	}
	calls, of, err := v.frequent(ctx, time.Now().AddDate(0, 0, -diffDays))
	if err != nil {
		return nil, err
	}
	rep := replay.RunCounted(calls, next.Policy, now.Policy)
	beside := <-made
	if beside.err != nil {
		return nil, beside.err
	}
	out := beside.diff
	out.Distinct, out.Of = len(calls), max(of, rep.Calls)
	out.Calls, out.Flipped = rep.Calls, rep.Flipped
	for i := range rep.Flips {
		f := &rep.Flips[i]
		out.Flips = append(out.Flips, client.Flip{Tool: f.Call.Tool, Text: explain.TextOf(f.Call), Was: f.Was.String(),
			Now: f.Now.String(), Rule: f.Rule, Reason: f.Reason, Count: f.Count, Last: f.Time})
	}
	return out, nil
}
