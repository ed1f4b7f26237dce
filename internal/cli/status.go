package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/approval"
	"github.com/obstat/obstat/internal/store/sqlite"
	"github.com/obstat/obstat/ledger"
	"github.com/obstat/obstat/policy"
)

// statusOptions are the options of obstat status.
type statusOptions struct {
	*Factory
	Policy policyOptions
	Store  storeOptions
}

func newStatus(f *Factory) *cobra.Command {
	o := &statusOptions{Factory: f}
	cmd := command("status", some(0, 0), func(ctx context.Context, _ []string) error { return statusRun(ctx, o) })
	o.Policy.flags(cmd, true)
	o.Store.flags(cmd)
	return cmd
}

// statusJSON is the output of --json.
type statusJSON struct {
	V       int           `json:"v"`
	Policy  string        `json:"policy,omitempty"` // digest
	Dialect string        `json:"dialect,omitempty"`
	Files   []string      `json:"files,omitempty"`
	Errors  obstat.Errors `json:"errors,omitempty"`
	// InForce are all policies that decide, Looked the files that exist and were
	// looked at, New the rules that wait to be accepted; Pins says whether that
	// matters.
	InForce []inForceJSON   `json:"in_force"`
	Looked  []policy.Looked `json:"looked"`
	New     []policy.New    `json:"new"`
	Pins    string          `json:"pins"`
	Store   *storeJSON      `json:"store,omitempty"`
}

// inForceJSON is one policy in force.
type inForceJSON struct {
	Policy   string   `json:"policy"` // digest
	Dialect  string   `json:"dialect"`
	Files    []string `json:"files"`
	Role     string   `json:"role"`
	Why      string   `json:"why"`
	OnDisk   bool     `json:"on_disk"`
	Accepted bool     `json:"accepted"`
}

// storeJSON is how a store stands.
type storeJSON struct {
	Path    string      `json:"path"`
	Head    ledger.Head `json:"head"`
	Pending int         `json:"pending"`
	Grants  int         `json:"grants"`
	// Last is the newest record about a policy of any gate: its reason, time and
	// digest.
	Last  *lastPolicyJSON `json:"last_policy,omitempty"`
	Error string          `json:"error,omitempty"`
}

type lastPolicyJSON struct {
	Time   time.Time `json:"time"`
	Policy string    `json:"policy"`
	Reason string    `json:"reason"`
}

func statusRun(ctx context.Context, o *statusOptions) error {
	out := statusJSON{V: 1, InForce: []inForceJSON{}, Looked: []policy.Looked{}, New: []policy.New{}}
	code := ExitOK
	p, err := o.find(&o.Policy)
	if err == nil {
		out.fill(p)
		err = p.inForce.Err()
	}
	if err != nil && !errors.As(err, &out.Errors) {
		return err
	}
	if len(out.Errors) > 0 {
		code = ExitError
	}
	if out.Store = o.store(ctx); out.Store.Error != "" {
		code = ExitError
	}
	if o.jsonFlag {
		return errors.Join(writeJSON(o.IO.Out, out), done(code))
	}
	o.print(&out)
	return done(code)
}

// fill fills in the policies and files that were found.
func (st *statusJSON) fill(p *loaded) {
	in := p.inForce
	if main := in.Main(); main != nil {
		st.Policy, st.Dialect, st.Files = main.Loaded.Policy.Digest(), main.Dialect.Name(), namesOf(main)
	}
	for _, pol := range in.Policies {
		st.InForce = append(st.InForce, inForceJSON{pol.Loaded.Policy.Digest(), pol.Dialect.Name(), namesOf(pol), pol.Role.String(), pol.Why, pol.OnDisk, pol.Accepted})
	}
	st.Looked, st.New, st.Pins = append(st.Looked, in.Looked...), append(st.New, in.New...), in.Pins
}

// store looks at the store. Not having one yet is no error.
func (o *statusOptions) store(ctx context.Context) *storeJSON {
	out := &storeJSON{Path: o.Store.Path}
	if out.Path == "" {
		out.Path, _ = sqlite.DefaultPath()
	}
	s, err := o.Store.open(ctx)
	var es obstat.Errors
	if errors.As(err, &es) && es[0].Code == obstat.CodeMissing {
		return out
	}
	if err == nil {
		defer s.Close()
		err = out.fill(ctx, s)
	}
	if err != nil {
		out.Error = err.Error()
	}
	return out
}

func (j *storeJSON) fill(ctx context.Context, s *sqlite.Store) error {
	head, err := s.Head(ctx)
	if err != nil {
		return err
	}
	pending, err := approval.New(s, nil).Pending(ctx)
	if err != nil {
		return err
	}
	grants, err := s.Grants(ctx, time.Now())
	if err != nil {
		return err
	}
	j.Head, j.Pending, j.Grants = head, len(pending), len(grants)
	for _, kind := range []ledger.Kind{ledger.Start, ledger.Policy} {
		for r, err := range s.Records(ctx, ledger.Query{Kind: kind, Limit: 1}) {
			if err != nil {
				return err
			}
			if j.Last == nil || r.Time.After(j.Last.Time) {
				j.Last = &lastPolicyJSON{r.Time, r.Policy, r.Reason}
			}
		}
	}
	return nil
}

func (o *statusOptions) print(st *statusJSON) {
	io := o.IO
	sc := newScreen(io)
	if len(st.Errors) > 0 {
		sc.text("policy", io.paint(red, "cannot be loaded; what was accepted before decides, or everything is denied"))
	}
	for _, p := range st.InForce {
		sc.text("policy", fmt.Sprintf("%s (%s), %s: %s", o.title(p.Files), p.Dialect, clip(p.Policy, 13), p.Why))
	}
	for _, l := range st.Looked {
		state := "in force: "
		if !l.InForce {
			state = "not in force: "
		}
		if !l.Accepted {
			state = "not accepted, " + state
		}
		sc.text("file", fmt.Sprintf("%s (%s, %s) %s%s", o.short(l.Name), l.Layer, l.Dialect, state, l.Why))
	}
	if st.Pins != "on" {
		sc.text("pins", st.Pins)
	}
	sc.news(st.New)
	fmt.Fprint(io.Out, sc.b.String())
	if len(st.Errors) > 0 {
		o.problems(io.Out, st.Errors, io.OutTTY)
	}
	sc = newScreen(io)
	j := st.Store
	switch {
	case j.Error != "":
		sc.text("store", j.Path+": "+j.Error)
	case j.Head.Seq == 0:
		sc.text("store", j.Path+": nothing yet")
	default:
		sc.text("store", j.Path)
		sc.text("ledger", fmt.Sprintf("up to record %d, head %s", j.Head.Seq, j.Head.Hash))
		sc.text("asked", fmt.Sprintf("%d waiting for an answer (obstat ask)", j.Pending))
		sc.text("grants", fmt.Sprintf("%d in force (obstat grants)", j.Grants))
		if j.Last != nil {
			sc.text("last", fmt.Sprintf("%s: %s", j.Last.Time.Local().Format(time.DateTime), j.Last.Reason))
		}
	}
	fmt.Fprint(io.Out, sc.b.String())
}
