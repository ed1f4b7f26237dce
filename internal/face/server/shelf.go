package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/approval"
	"github.com/obstat/obstat/client"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/dialect/all"
	"github.com/obstat/obstat/gate"
	"github.com/obstat/obstat/internal/keep/docs"
	"github.com/obstat/obstat/ledger"
	"github.com/obstat/obstat/policy"
)

// The kinds of documents of policies. There is one document of kind active.
const (
	policyKind = "policy"
	activeKind = "active"
	activeID   = "policy"
)

// active says which version is in force.
type active struct {
	Version int       `json:"version"` // zero: the files that the server was started with
	By      string    `json:"by"`
	Reason  string    `json:"reason,omitempty"`
	Time    time.Time `json:"time"`
	// Before are the versions that were in force before, the latest last.
	Before []int `json:"before,omitempty"`
}

// A shelf is the policies that a server keeps: the [gate.Source] of its gate. One
// version is in force on all replicas; until one is activated, the files are.
type shelf struct {
	store   Store
	who     approval.Who // has to agree to a version
	files   gate.Source
	shared  bool              // other servers have files of their own: see [Options]
	changed func(version int) // is told when another version is in force
	now     atomic.Pointer[onShelf]
}

// onShelf is the version in force, compiled.
type onShelf struct {
	version int
	doc     int // version of the document that says so
	inForce *policy.InForce
	err     error // why it cannot be loaded
}

var _ gate.Source = (*shelf)(nil)

// run keeps the policy in force up to date: it is looked for each second, so that
// all replicas have it within two.
func (s *shelf) run(ctx context.Context) {
	// While the store is away the policy stays as it is.
	every(ctx, time.Second, func() { _ = s.refresh(ctx) })
}

// refresh looks which version is in force.
func (s *shelf) refresh(ctx context.Context) error {
	a, doc, err := docs.Get[active](ctx, s.store, activeKind, activeID)
	if errors.Is(err, docs.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	if now := s.now.Load(); now != nil && now.doc == doc {
		return nil
	}
	next := &onShelf{version: a.Version, doc: doc}
	if a.Version > 0 {
		v, err := s.get(ctx, a.Version)
		if err != nil {
			return err
		}
		l, err := load(&client.PolicyUpload{Files: v.Files, Dialect: v.Dialect, Options: v.Options})
		if err != nil {
			next.err = fmt.Errorf("version %d of the policy cannot be loaded: %w", a.Version, err)
		} else {
			next.inForce = policy.Of(l)
		}
	}
	s.now.Store(next)
	if s.changed != nil {
		s.changed(a.Version)
	}
	return nil
}

// version returns the version in force; zero is the files.
func (s *shelf) version() int {
	if now := s.now.Load(); now != nil {
		return now.version
	}
	return 0
}

// doc returns the version of the document that says which version is in force.
func (s *shelf) doc() int {
	if now := s.now.Load(); now != nil {
		return now.doc
	}
	return 0
}

// InForce returns the version in force, or the files.
func (s *shelf) InForce(c *obstat.Call) (*policy.InForce, error) {
	if now := s.now.Load(); now != nil && now.version > 0 {
		return now.inForce, now.err
	}
	return s.files.InForce(c)
}

// Accept writes accepted rules to the policy: the version with them is a new one,
// and in force on all replicas. Until there is one, a server that is alone writes to its files;
// of several, the first such version is made of the files of the one that is asked.
func (s *shelf) Accept(ctx context.Context, a *gate.Accepted) error {
	if why := alwaysChanges(&s.who); why != "" {
		return errors.New(why)
	}
	if s.version() == 0 && !s.shared {
		return s.files.Accept(ctx, a)
	}
	ed, ok := a.Policy.Dialect.(dialect.Editor)
	if !ok {
		return fmt.Errorf("rules cannot be written to files of %s", a.Policy.Dialect.Name())
	}
	v, err := s.inForce(ctx, a)
	if err != nil {
		return err
	}
	up := client.PolicyUpload{Files: slices.Clone(v.Files), Dialect: v.Dialect, Options: v.Options,
		Note: "always, answered by " + a.By}
	into := a.Policy.Into() // no administrator's
	at := slices.IndexFunc(up.Files, func(f client.PolicyFile) bool { return f.Name == into })
	if into == "" || at < 0 {
		return errors.New("the policy has no file that the rule could be written to")
	}
	file := &up.Files[at]
	for i := range a.Rules {
		text, err := ed.AddRule(&dialect.File{Name: file.Name, Layer: file.Layer, Data: []byte(file.Text)}, &a.Rules[i])
		if err != nil {
			return err
		}
		file.Text = string(text)
	}
	next, err := s.add(ctx, &up, a.By)
	if err != nil {
		return err
	}
	c := change{version: next.Version, instead: v.Version, digest: next.Digest, reason: up.Note,
		people: []approval.Answer{{By: a.By, Time: time.Now()}}}
	return s.putInForce(ctx, &c, s.store.Append)
}

// alwaysChanges says why one person's "always" cannot change the policy; "" where it can.
func alwaysChanges(who *approval.Who) string {
	if who.People() < 2 {
		return ""
	}
	return fmt.Sprintf("a rule for good changes the policy, which takes %d people: give it to the session, or put a version in force", who.People())
}

// errSeveral refuses to make a version of one policy where others deny beside it.
var errSeveral = errors.New("several policies are in force here, and a version made of one would lift what the others deny; an administrator puts a version in force first")

// inForce returns the version in force; the files as version zero. Where the policy that asked is
// not alone, it returns an error: a version is one policy, so `rm` that the administrator's
// /etc/obstat/obstat.yaml denies beside a project's .claude/settings.json would be denied no more.
func (s *shelf) inForce(ctx context.Context, a *gate.Accepted) (client.PolicyVersion, error) {
	if version := s.version(); version > 0 {
		return s.get(ctx, version)
	}
	now, err := s.files.InForce(a.Call)
	if err != nil {
		return client.PolicyVersion{}, err
	}
	if len(now.Policies) != 1 || len(now.Broken) > 0 {
		return client.PolicyVersion{}, errSeveral
	}
	return versionOf(a.Policy), nil
}

// versionOf returns a policy that was loaded as a version that is not kept.
func versionOf(l *dialect.Loaded) client.PolicyVersion {
	out := client.PolicyVersion{Digest: l.Policy.Digest(), Dialect: l.Dialect.Name(), Options: l.Input.Options,
		Warnings: l.Warnings}
	for _, f := range l.Input.Files {
		out.Files = append(out.Files, client.PolicyFile{Name: f.Name, Layer: f.Layer, Text: string(f.Data)})
	}
	return out
}

// load compiles a policy as it was sent.
func load(up *client.PolicyUpload) (*dialect.Loaded, error) {
	in := &dialect.Input{Options: up.Options}
	for _, f := range up.Files {
		in.Files = append(in.Files, dialect.File{Name: f.Name, Layer: f.Layer, Data: []byte(f.Text)})
	}
	if len(in.Files) == 0 {
		return nil, obstat.Errors{{Code: obstat.CodeMissing, Msg: "a policy has at least one file"}}
	}
	d, err := all.Of(up.Dialect, in.Files)
	if err != nil {
		return nil, err
	}
	return dialect.Load(d, in)
}

// get returns a version.
func (s *shelf) get(ctx context.Context, version int) (client.PolicyVersion, error) {
	v, _, err := docs.Get[client.PolicyVersion](ctx, s.store, policyKind, fmt.Sprintf("%08d", version))
	if errors.Is(err, docs.ErrNotFound) {
		err = newProblem(http.StatusNotFound, "not-found", "there is no such version of the policy",
			fmt.Sprintf("version %d", version))
	}
	return v, err
}

// add keeps a policy as the next version. One that does not load is not kept.
func (s *shelf) add(ctx context.Context, up *client.PolicyUpload, by string) (*client.PolicyVersion, error) {
	l, err := load(up)
	if err != nil {
		return nil, err
	}
	v := &client.PolicyVersion{Digest: l.Policy.Digest(), Dialect: l.Dialect.Name(), Files: up.Files,
		Options: up.Options, By: by, Time: time.Now().UTC(), Note: up.Note, Warnings: l.Warnings}
	for {
		list, err := s.store.Docs(ctx, policyKind)
		if err != nil {
			return nil, err
		}
		v.Version = len(list) + 1
		if err := docs.Put(ctx, s.store, policyKind, fmt.Sprintf("%08d", v.Version), 0, v); !errors.Is(err, docs.ErrChanged) {
			return v, err
		}
	}
}

// A change puts another version in force.
type change struct {
	version int
	instead int    // the version that has to be in force still
	back    bool   // it is the version before, and the one in force is taken off
	digest  string // of the version
	reason  string
	people  []approval.Answer // approvals
	lifted  []client.Witness  // looser calls
}

// by names the people.
func (c *change) by() string {
	names := make([]string, len(c.people))
	for i := range c.people {
		names[i] = c.people[i].By
	}
	return strings.Join(names, " and ")
}

// name returns a version in words.
func versionName(version int) string {
	if version == 0 {
		return "the files that the server was started with"
	}
	return fmt.Sprintf("version %d of the policy", version)
}

// record returns the record that something becomes of the change: `put`, `rolled back to`.
func (c *change) record(words string) *ledger.Record {
	type person struct {
		By    string    `json:"by"`
		Login string    `json:"login,omitempty"`
		Roles []string  `json:"roles,omitempty"`
		Time  time.Time `json:"time"`
	}
	detail := struct {
		Version int              `json:"version"`
		Instead int              `json:"instead"`
		Back    bool             `json:"back,omitempty"`
		Reason  string           `json:"reason"`
		People  []person         `json:"people"`
		Looser  int              `json:"looser,omitempty"`
		Lifted  []client.Witness `json:"lifted,omitempty"` // the first of the looser ones
	}{Version: c.version, Instead: c.instead, Back: c.back, Reason: c.reason, Looser: len(c.lifted), Lifted: c.lifted[:min(len(c.lifted), maxLifted)]}
	for _, a := range c.people {
		detail.People = append(detail.People, person{a.By, a.Login, a.Roles, a.Time})
	}
	rec := &ledger.Record{Time: time.Now(), Kind: ledger.Policy, User: c.by(), Policy: c.digest,
		Reason: ledger.Clip(words + ": " + c.reason)}
	rec.Detail, _ = json.Marshal(detail) // texts and numbers can be written
	return rec
}

// maxLifted bounds how many looser calls a record lists.
const maxLifted = 50

// putInForce puts a version in force, if the one that it was compared with still is. The record
// comes first: nothing is in force that is not written down. Where another was faster after all, a
// second record says so.
func (s *shelf) putInForce(ctx context.Context, c *change, log func(context.Context, ...*ledger.Record) error) error {
	if c.version > 0 {
		v, err := s.get(ctx, c.version)
		if err != nil {
			return err
		}
		if _, err := load(&client.PolicyUpload{Files: v.Files, Dialect: v.Dialect, Options: v.Options}); err != nil {
			return err // a newer obstat may have taken it
		}
	}
	now, _, err := docs.Get[active](ctx, s.store, activeKind, activeID)
	if err != nil && !errors.Is(err, docs.ErrNotFound) {
		return err
	}
	if err := now.follow(c); err != nil {
		return err
	}
	words := fmt.Sprintf("%s put %s in force, in place of %s", c.by(), versionName(c.version), versionName(c.instead))
	if c.back {
		words = fmt.Sprintf("%s rolled back to %s, from %s", c.by(), versionName(c.version), versionName(c.instead))
	}
	if err := log(ctx, c.record(words)); err != nil {
		return err
	}
	if _, err := docs.Change(ctx, s.store, activeKind, activeID,
		func(a *active) error { return a.follow(c) }); err != nil {
		return errors.Join(err, log(ctx, c.record(versionName(c.version)+" was not put in force: "+firstLine(err.Error()))))
	}
	return s.refresh(ctx)
}

// follow makes the change, if the version that it was compared with is in force.
func (a *active) follow(c *change) error {
	before := append(slices.Clone(a.Before), a.Version)
	switch {
	case a.Version != c.instead:
		return fmt.Errorf("%w: %s", docs.ErrChanged, a.words())
	case c.back && (len(a.Before) == 0 || a.Before[len(a.Before)-1] != c.version):
		return fmt.Errorf("%w: another version is the one before by now", docs.ErrChanged)
	case c.back:
		before = a.Before[:len(a.Before)-1]
	}
	*a = active{Version: c.version, By: c.by(), Reason: c.reason, Time: time.Now().UTC(),
		Before: before[max(0, len(before)-100):]}
	return nil
}

// words names the version in force, and the people who put it there.
func (a *active) words() string {
	text := versionName(a.Version) + " is in force by now"
	if a.By != "" {
		text += fmt.Sprintf(", by %s at %s", a.By, a.Time.UTC().Format(time.DateTime+" UTC"))
	}
	if a.Reason != "" {
		text += ": " + a.Reason
	}
	return text
}
