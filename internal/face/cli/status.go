package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/approval"
	"github.com/obstat/obstat/confine"
	"github.com/obstat/obstat/internal/guard/person"
	"github.com/obstat/obstat/internal/keep/sqlite"
	"github.com/obstat/obstat/internal/keep/statedir"
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
	return command("status", some(0, 0), o, o.run)
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
	InForce []inForceJSON       `json:"in_force"`
	Looked  []policy.Looked     `json:"looked"`
	New     []policy.Unaccepted `json:"new"`
	Pins    string              `json:"pins"`
	Store   *storeJSON          `json:"store,omitempty"`
	// Confined are the commands that run confined in the background.
	Confined []confine.Kept `json:"confined,omitempty"`
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

func (o *statusOptions) run(ctx context.Context, _ []string) error {
	out := statusJSON{V: 1, InForce: []inForceJSON{}, Looked: []policy.Looked{}, New: []policy.Unaccepted{}}
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
	if state, err := statedir.Dir(os.Getenv); err == nil {
		out.Confined, _, _ = leftBehind(state) // what cannot be listed is not shown
	}
	return cmp.Or(o.show(out, func(s *screen) { s.status(o.Factory, &out) }), done(code))
}

// fill fills in the policies and files that were found.
func (st *statusJSON) fill(p *loaded) {
	in := p.inForce
	if main := in.Main(); main != nil {
		st.Policy, st.Dialect, st.Files = main.Loaded.Policy.Digest(), main.Dialect.Name(), main.Input.Names()
	}
	for _, pol := range in.Policies {
		st.InForce = append(st.InForce, inForceJSON{pol.Loaded.Policy.Digest(), pol.Dialect.Name(), pol.Input.Names(),
			pol.Role.String(), pol.Why, pol.OnDisk, pol.Accepted})
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

func (s *screen) status(f *Factory, st *statusJSON) {
	if len(st.Errors) > 0 {
		s.line("policy", s.io.paint(red, "cannot be loaded; what was accepted before decides, or everything is denied"))
	}
	for _, p := range st.InForce {
		s.text("policy", fmt.Sprintf("%s (%s), %s: %s", f.title(p.Files), p.Dialect, clip(p.Policy, 13), p.Why))
	}
	for _, l := range st.Looked {
		state := "in force: "
		if !l.InForce {
			state = "not in force: "
		}
		if !l.Accepted {
			state = "not accepted, " + state
		}
		s.text("file", fmt.Sprintf("%s (%s, %s) %s%s", f.short(l.Name), l.Layer, l.Dialect, state, l.Why))
	}
	if st.Pins != "on" {
		s.text("pins", st.Pins)
	}
	s.news(st.New)
	f.problems(&s.b, st.Errors, s.io.OutTTY)
	s.kept(st.Confined)
	switch j := st.Store; {
	case j.Error != "":
		s.text("store", j.Path+": "+j.Error)
	case j.Head.Seq == 0:
		s.text("store", j.Path+": nothing yet")
	default:
		s.text("store", j.Path)
		s.text("ledger", fmt.Sprintf("up to record %d, head %s", j.Head.Seq, j.Head.Hash))
		s.text("asked", fmt.Sprintf("%d waiting for an answer (obstat ask)", j.Pending))
		s.text("grants", fmt.Sprintf("%d in force (obstat grants)", j.Grants))
		if j.Last != nil {
			s.text("last", fmt.Sprintf("%s: %s", j.Last.Time.Local().Format(time.DateTime), j.Last.Reason))
		}
	}
}

// trustOptions are the options of obstat trust.
type trustOptions struct {
	*Factory
	Dir    string
	Yes    bool `flag:"yes y"`
	Off    bool `flag:"off"`
	On     bool `flag:"on"`
	Getenv func(string) string
}

func newTrust(f *Factory) *cobra.Command {
	o := &trustOptions{Factory: f, Getenv: os.Getenv}
	return command("trust", some(0, 1), o, o.run)
}

// trustJSON is the output of `obstat trust --json`.
type trustJSON struct {
	V        int                 `json:"v"`
	New      []policy.Unaccepted `json:"new"`
	Accepted bool                `json:"accepted"`
}

func (o *trustOptions) run(ctx context.Context, args []string) error {
	if len(args) > 0 {
		o.Dir = args[0]
	}
	if o.Off && o.On {
		return usagef("--off and --on exclude each other")
	}
	w, err := o.where()
	if err != nil {
		return err
	}
	if !o.Off && !o.On {
		return o.acceptNew(ctx, w)
	}
	who := &person.Who{} // switching them on only tightens
	if o.Off {
		if who, err = o.meant(everywhere); err != nil {
			return err
		}
	}
	return (&policy.Finder{Who: who}).Off(ctx, w, o.Off, userName())
}

func (o *trustOptions) where() (*policy.Where, error) {
	dir, err := o.dir(o.Dir)
	home, _ := o.World.Home("")
	getenv := func(name string) string {
		if name == person.TrustVariable {
			return "" // its directories are accepted like any other
		}
		return o.Getenv(name)
	}
	return &policy.Where{Dir: dir, Home: home, Getenv: getenv, Mine: true, Every: true}, err
}

// maxRounds bounds how often changes are shown again.
const maxRounds = 5

// acceptNew shows the new rules, asks, and accepts them; again where they have changed
// meanwhile.
func (o *trustOptions) acceptNew(ctx context.Context, w *policy.Where) error {
	f := new(policy.Finder)
	for range maxRounds {
		found, err := f.Find(w)
		if err == nil {
			err = found.Err()
		}
		if err != nil {
			return err
		}
		if len(found.New) == 0 {
			if _, err := os.Stat(w.Dir); err != nil {
				return err // a name that is mistyped
			}
			return o.show(trustJSON{1, []policy.Unaccepted{}, true}, func(s *screen) {
				s.printf("nothing is new here%s\n", map[bool]string{false: ": pins are " + found.Pins}[found.Pins == "on"])
			})
		}
		if f.Who, err = o.ask(found, w.Dir); errors.Is(err, errDeclined) {
			return done(ExitAsk)
		} else if err != nil {
			return err
		}
		if err = f.Pin(ctx, found, w, userName()); err == nil {
			return o.show(trustJSON{1, found.New, true}, func(s *screen) { s.printf("accepted\n") })
		}
		if !errors.Is(err, policy.ErrChanged) {
			return err
		}
		fmt.Fprintln(o.IO.Err, "it has changed meanwhile; this is how it stands now:")
	}
	return policy.ErrChanged
}

// ask shows the new rules and asks whether they are accepted.
func (o *trustOptions) ask(found *policy.InForce, dir string) (*person.Who, error) {
	if !o.Yes || !o.jsonFlag {
		if err := o.show(trustJSON{1, found.New, false}, func(s *screen) { s.news(found.New) }); err != nil {
			return nil, err
		}
	}
	if o.jsonFlag && !o.Yes {
		return nil, done(ExitAsk)
	}
	return o.accept(dir, "accept all of it?", o.Yes)
}

// news writes the rules that wait to be accepted, one a line, and all of them: a yes
// accepts the last one, too.
func (s *screen) news(news []policy.Unaccepted) {
	for _, nw := range news {
		what := "has changed since it was accepted"
		if nw.First {
			what = "was never accepted"
		}
		if nw.Twin != "" {
			what += "; the same files were accepted for " + nw.Twin + ", of which this is a clone or copy and no worktree"
		}
		s.text("new", fmt.Sprintf("the policy of %s %s (obstat trust %s)", nw.Place, what, nw.Place))
		for _, c := range nw.Changes {
			sign := cmp.Or(map[string]string{policy.Added: "+", policy.Removed: "-"}[c.Kind], "~")
			verdict := ""
			if c.Pos.IsValid() {
				verdict = s.io.paint(verdictInk(c.Verdict), c.Verdict.String()) + " "
			}
			s.line("", fmt.Sprintf("%s %s%s  %s", sign, verdict, visible(c.Text), s.io.paint(dim, visible(c.Pos.String()))))
		}
	}
}

// offerTrust shows the new rules of a project after an install there, and asks
// whether they are accepted, if a person can be asked.
func (f *Factory) offerTrust(ctx context.Context, dir string) error {
	o := &trustOptions{Factory: f, Dir: dir, Getenv: os.Getenv}
	w, err := o.where()
	if err != nil {
		return err
	}
	found, err := new(policy.Finder).Find(w)
	if err != nil || len(found.New) == 0 || f.jsonFlag {
		return err
	}
	if _, no := f.person(w.Dir); no == nil && f.IO.InTTY {
		if err := o.acceptNew(ctx, w); err != nil {
			fmt.Fprintln(f.IO.Err, visible(err.Error())) // not now; it is installed all the same
		}
		return nil
	}
	for _, nw := range found.New {
		fmt.Fprintf(f.IO.Err, "the policy of %s waits to be accepted: obstat trust %s\n", visible(nw.Place),
			visible(nw.Place))
	}
	return nil
}
