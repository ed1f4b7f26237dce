package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/approval"
	"github.com/obstat/obstat/client"
	"github.com/obstat/obstat/confine"
	"github.com/obstat/obstat/internal/guard/confined"
	"github.com/obstat/obstat/internal/guard/person"
	"github.com/obstat/obstat/internal/guard/undo"
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
	V int `json:"v"`
	// Protected says whether the agents that are used here ask obstat: yes, unproved, no, no-agent.
	Protected string         `json:"protected"`
	Agents    []agentJSON    `json:"agents"`
	Confine   confine.Report `json:"confine"`
	Confines  bool           `json:"confines,omitempty"` // a policy in force has commands run confined
	Policy    string         `json:"policy,omitempty"`   // digest
	Dialect   string         `json:"dialect,omitempty"`
	Files     []string       `json:"files,omitempty"`
	Errors    obstat.Errors  `json:"errors,omitempty"`
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
	// Lost are files of which a confined run that was killed has lost its changes.
	Lost []string `json:"lost,omitempty"`
	// Undo is what a killed process had begun and was ended now, or why that cannot be ended; Keeps are the policy's
	// own limits for undo.
	Undo  string `json:"undo,omitempty"`
	Keeps string `json:"keeps,omitempty"`
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

	proofs []client.AgentSeen
}

type lastPolicyJSON struct {
	Time   time.Time `json:"time"`
	Policy string    `json:"policy"`
	Reason string    `json:"reason"`
}

func (o *statusOptions) run(ctx context.Context, _ []string) error {
	out := statusJSON{V: 1, Agents: []agentJSON{}, InForce: []inForceJSON{}, Looked: []policy.Looked{},
		New: []policy.Unaccepted{}, Confine: confine.Probe(ctx)}
	code := ExitOK
	told, err := undo.Settle(os.Getenv)
	if out.Undo = strings.Join(told, "; "); err != nil {
		out.Undo, code = err.Error(), ExitError
	}
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
	out.Agents = append(out.Agents, o.agents(out.Store.proofs)...)
	out.Protected = protected(out.Agents)
	if state, err := statedir.Dir(os.Getenv); err == nil {
		out.Confined, _, _ = leftBehind(state) // what cannot be listed is not shown
		for _, c := range confine.Abandoned(statedir.Layers(state)) {
			out.Lost = append(out.Lost, c.Path)
		}
	}
	return cmp.Or(o.show(out, func(s *screen) { s.status(o.Factory, &out) }), done(code))
}

// fill fills in the policies and files that were found.
func (st *statusJSON) fill(p *loaded) {
	in := p.inForce
	confines := in.Confine()
	st.Confines = confines.Code || confines.Always
	st.Keeps = in.Undo().String()
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
	j.Head, j.Pending, j.Grants, j.proofs = head, len(pending), len(grants), proofs(ctx, s)
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

// status is the one screen that answers whether calls are guarded here: by which agents, which policy, how far
// commands can be confined, and how many people are waited for.
func (s *screen) status(f *Factory, st *statusJSON) {
	home, _ := f.World.Home("")
	s.protection(st)
	s.margin = len("confine ")
	for i, p := range st.InForce {
		s.text([]string{"policy", ""}[min(i, 1)], fmt.Sprintf("%s (%s): %s", f.title(p.Files), p.Dialect, p.Why))
	}
	for _, l := range st.Looked {
		if l.InForce {
			continue // it is named as a policy, and below where it waits to be accepted
		}
		state := "not in force: "
		if !l.Accepted {
			state = "not accepted, not in force: "
		}
		s.text("file", fmt.Sprintf("%s (%s, %s) %s%s", f.short(l.Name), l.Layer, l.Dialect, state, l.Why))
	}
	if st.Pins != "on" && st.Pins != "" {
		s.text("pins", st.Pins)
	}
	for _, nw := range st.New {
		for i := range nw.Changes {
			nw.Changes[i].Pos.File = f.short(nw.Changes[i].Pos.File)
		}
	}
	s.news(st.New, maxNews)
	f.problems(&s.b, st.Errors, s.io.OutTTY)
	s.text("confine", confinement(st.Confine, st.Confines))
	for _, text := range []string{st.Keeps, st.Undo} {
		if text != "" {
			s.text("undo", text)
		}
	}
	s.kept(st.Confined)
	if len(st.Lost) > 0 {
		s.text("lost", "a confined run was killed, and its changes do not count: "+visible(confined.Listed(st.Lost)))
	}
	switch j := st.Store; {
	case j.Error != "":
		s.text("store", inHome(j.Path, home)+": "+j.Error)
	case j.Head.Seq == 0:
		s.text("store", inHome(j.Path, home)+": nothing yet")
	default:
		s.text("asks", fmt.Sprintf("%d waiting for an answer (obstat ask) · %s (obstat grants)", j.Pending,
			plural(j.Grants, "grant")))
		s.text("ledger", fmt.Sprintf("%s up to head %.12s · %s", plural(int(j.Head.Seq), "record"), j.Head.Hash,
			inHome(j.Path, home)))
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
		if err := o.show(trustJSON{1, found.New, false}, func(s *screen) { s.news(found.New, 0) }); err != nil {
			return nil, err
		}
	}
	if o.jsonFlag && !o.Yes {
		return nil, done(ExitAsk)
	}
	return o.accept(dir, "accept all of it?", o.Yes)
}

// maxNews is how many rules that wait to be accepted the status shows of a place.
const maxNews = 5

// news writes the rules that wait to be accepted, one a line; most of zero is all of them: a yes accepts the last
// one, too.
func (s *screen) news(news []policy.Unaccepted, most int) {
	for _, nw := range news {
		what := "has changed since it was accepted"
		if nw.First {
			what = "was never accepted"
		}
		if nw.Twin != "" {
			what += "; the same files were accepted for " + nw.Twin + ", of which this is a clone or copy and no worktree"
		}
		s.text("new", fmt.Sprintf("the policy of %s %s (obstat trust %s)", nw.Place, what, nw.Place))
		for i, c := range nw.Changes {
			if i == most && most > 0 && len(nw.Changes) > most+1 {
				s.line("", s.io.paint(dim, plural(len(nw.Changes)-i, "rule")+" more"))
				break
			}
			sign := cmp.Or(map[string]string{policy.Added: "+", policy.Removed: "-"}[c.Kind], "~")
			verdict := ""
			if c.Pos.IsValid() {
				verdict = c.Verdict.String()
			}
			s.newRule(sign, verdict, verdictInk(c.Verdict), visible(c.Text), visible(c.Pos.String()))
		}
	}
}

// newRule writes a rule with its sign and place, the place on a line of its own where both do not fit.
func (s *screen) newRule(sign, verdict string, look ink, text, place string) {
	lead := sign + " "
	if verdict != "" {
		lead += s.io.paint(look, verdict) + " "
		verdict += " "
	}
	indent := strings.Repeat(" ", 2+len(verdict))
	lines := wrap(text, s.room()-len(indent))
	if last := lines[len(lines)-1]; columns(indent+last)+2+columns(place) <= s.room() {
		lines[len(lines)-1], place = last+"  "+s.io.paint(dim, place), ""
	}
	for _, l := range lines {
		s.line("", lead+l)
		lead = indent
	}
	if place != "" {
		for _, l := range wrap(place, s.room()-len(indent)) {
			s.line("", indent+s.io.paint(dim, l))
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
