package hook

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"strings"
	"time"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/agent"
	"github.com/obstat/obstat/approval"
	"github.com/obstat/obstat/gate"
	"github.com/obstat/obstat/internal/face/remote"
	"github.com/obstat/obstat/internal/guard/undo"
	"github.com/obstat/obstat/internal/keep/statedir"
	"github.com/obstat/obstat/ledger"
	"github.com/obstat/obstat/ledger/logfile"
	"github.com/obstat/obstat/policy"
	"github.com/obstat/obstat/store"
)

// A turn is one call on its way through a gate of its own.
type turn struct {
	*run
	event *agent.Event
	db    string // the database file; "" where there is no home to keep it in
	noDB  error
	// shown: the agent asks about the call in its own prompt.
	shown bool
	// decides: it is the call's own turn, whose decision comes too late once the agent is answered.
	decides bool
}

// answered is the gate's answer, and the rules that the agent is to remember.
type answered struct {
	gate.Result
	remember []obstat.Offer
	shown    bool // in the agent's own prompt
}

// byPerson tells whether a person has approved this very call, or granted it before.
func byPerson(d *obstat.Decision) bool {
	return d.Stage == obstat.StageApproval && d.Verdict == obstat.Allow
}

// lookup is how long it may take to look up grants, while an agent that
// can ask by itself waits.
var lookup = 5 * time.Second

// decide puts the call to a gate.
func (t *turn) decide(ctx context.Context) answered {
	c := t.event.Call
	t.decides = true
	wd := t.complete(c)
	var dir string
	if dir, t.noDB = statedir.Dir(t.Getenv); t.noDB == nil {
		t.db = statedir.Store(dir)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	opts, terms := t.options(ctx, cancel, wd)
	var kept store.Store
	opts.Open = func(ctx context.Context) (gate.Store, error) {
		s, err := t.open(ctx, t.db)
		if err != nil {
			return nil, err
		}
		kept = s
		return s, nil
	}
	if err := t.serve(&opts, &terms); err != nil {
		return broken(c, err)
	}
	if terms.Ask == gate.Leave { // with a server, its people are asked, which takes longer
		var done context.CancelFunc
		ctx, done = context.WithTimeout(ctx, lookup)
		defer done()
	}
	g, err := gate.Open(ctx, opts)
	if err != nil {
		return broken(c, err)
	}
	a, _ := g.Authorize(ctx, c, &terms) // where there is an error, it denies and says so
	if kept != nil {
		defer kept.Close()
	}
	if a.Verdict == obstat.Allow && a.Request != nil && a.Grant == nil && t.event.Who().AsksAgain() && !t.event.Again() {
		as := *c
		if a.Input != nil {
			as.Input = a.Input
		}
		t.approved(&as)
	}
	return answered{a, t.remembered(&a), t.shown}
}

// broken denies a call, for the reason that the gate could not be opened.
func broken(c *obstat.Call, err error) answered {
	var out answered
	out.Decision = obstat.Decision{Tool: c.Tool, Faults: []obstat.Fault{{Msg: err.Error()}}}
	return out
}

// serve has the policy of a server decide, and asks put to the people there.
func (t *turn) serve(o *gate.Options, terms *gate.Terms) error {
	url := t.Server
	if url == "" {
		c := *t.event.Call
		if len(c.Roots) == 0 && c.Dir != "" {
			c.Roots = []string{c.Dir} // as the gate asks, which then finds the same
		}
		files, ok := o.Policy.(*gate.Files)
		if !ok {
			return nil
		}
		f, _ := files.Ahead(&c) // the gate tells of a broken one
		url = f.Server()
	}
	if url == "" {
		return nil
	}
	if t.noDB != nil {
		return t.noDB
	}
	dir := filepath.Dir(t.db)
	j, err := remote.Load(dir)
	if err != nil {
		return err
	}
	if strings.TrimSuffix(j.URL, "/") != strings.TrimSuffix(url, "/") {
		return fmt.Errorf("this machine has joined %s, not %s", j.URL, url)
	}
	s, err := remote.Open(j, dir, o.Policy, logfile.New(statedir.LedgerOf(t.db)))
	if err != nil {
		return err
	}
	terms.Shown = nil // the server's people answer
	o.Policy, o.MayGrant, terms.Ask = s, func() bool { return false }, gate.Wait
	terms.Settle = func(ctx context.Context, call *obstat.Call, _ *obstat.Decision) (*gate.Settled, error) {
		most := t.Waiting.Limit(t.event.Agent)
		t.extend(most + ownMargin)
		approved, by, err := s.Ask(ctx, call, time.Until(t.began.Add(most)))
		switch {
		case err != nil:
			return nil, fmt.Errorf("the server cannot be asked: %w", err)
		case approved:
			return &gate.Settled{Verdict: obstat.Allow, By: by}, nil
		}
		return &gate.Settled{By: by}, nil
	}
	return nil
}

// complete says of a call where it is made, if it does not, and for whom; it returns the process's
// directory.
func (t *turn) complete(c *obstat.Call) string {
	wd, _ := t.Getwd() // one that is gone is no directory
	if c.Dir == "" {   // rules for paths start somewhere
		c.Dir = wd
	}
	if a := t.event.Who(); a.ModelDir && len(c.Roots) == 0 && wd != "" {
		c.Roots = []string{wd} // the directory that the model chose is not the workspace
	}
	if u, err := user.Current(); c.User == "" && err == nil {
		c.User = u.Username
	}
	return wd
}

// options returns the options of a gate for this one call, and how the call is handled.
func (t *turn) options(ctx context.Context, cancel func(), wd string) (gate.Options, gate.Terms) {
	files := t.files
	if files == nil {
		files = t.sources(t.event.Agent, wd)
		files.Once = true
	}
	o := gate.Options{Policy: files, World: t.World, Getenv: t.Getenv, NoStart: true, Repeats: t.repeats,
		Places: []string{wd}, MayGrant: t.mayBeGranted,
		Approval: approval.Options{Asked: t.asked}, Ledger: t, NoRecord: t.NoLedger,
		Waits: func() (time.Duration, string) { return t.waits(ctx, cancel) }}
	if t.ledger != nil {
		o.Ledger = t.ledger
	}
	if t.Exe != "" {
		o.Programs = []string{t.Exe}
	}
	o.Confine = t.confining(wd)
	o.Undo = &undo.Keeper{Getenv: t.Getenv, Say: func(text string) { fmt.Fprintf(t.Err, "obstat: %s\n", text) }}
	if t.db != "" {
		o.Sessions = gate.SessionDir(statedir.Sessions(filepath.Dir(t.db)))
	}
	terms := gate.Terms{Suggested: suggested(t.event), Settle: t.settle, Silent: t.silent}
	if t.agentAsks() {
		terms.Ask = gate.Leave
	}
	if t.event.Prompts() && !t.Waiting.Always && t.Policy.IsZero() {
		terms.Shown = t.isShown
	}
	return o, terms
}

// sources returns where the policies of an agent's calls are found.
func (r *run) sources(name, wd string) *gate.Files {
	files := &gate.Files{Names: r.Policy.Files, Dialect: r.Policy.Dialect, Options: r.Policy.Options, Dir: r.Dir,
		Start: wd,
		Agent: cmp.Or(name, agent.Generic), Getenv: r.Getenv, NoPins: r.NoPins}
	files.Home, _ = r.World.Home("")
	if a := agent.Of(name); a != nil {
		files.Chosen = a.ModelDir
	}
	return files
}

// agentAsks tells whether an ask goes to the agent's own prompt. It does not where a person has said
// that the hook waits (--wait 60s), nor in an unattended run while `obstat ask` is open.
func (t *turn) agentAsks() bool {
	if !t.event.CanAsk(nil) || t.Waiting.Always {
		return false
	}
	return !t.event.Unattended || t.Waiting.Off || t.db == "" || !t.taken(t.db)
}

// isShown tells whether the agent's own rules, by the files that are on disk, ask a person about the call.
func (t *turn) isShown(r *policy.Ruling, world obstat.World) bool {
	own := t.event.Who().Dialect
	t.shown = r.From != nil && r.From.OnDisk && r.From.Dialect.Name() == own &&
		r.From.Prompts(&r.Call, world, t.event.Approved)
	return t.shown
}

// suggested returns the rules that the agent shows with its own prompt.
func suggested(e *agent.Event) (out []string) {
	for i := range e.Suggestions {
		out = append(out, e.Suggestions[i].Text)
	}
	return out
}

// mayBeGranted tells whether anything is granted in the store, without opening
// it.
func (t *turn) mayBeGranted() bool {
	if t.db == "" {
		return false
	}
	_, err := os.Lstat(statedir.Grants(t.db))
	return err == nil
}

// remembered returns the rules of a grant that the agent is to remember: those
// that were granted, as far as they are in its own notation, or, where this very
// call was granted, the agent's suggestion for no more than that.
func (t *turn) remembered(a *gate.Result) []obstat.Offer {
	if !t.Remember || a.Grant == nil {
		return nil
	}
	var out []obstat.Offer
	scope, own := string(a.Grant.Scope), agent.Of(t.event.Agent)
	if own != nil && a.From != nil && a.From.Dialect.Name() == own.Dialect {
		for i := range a.Grant.Rules {
			out = append(out, obstat.Offer{Text: a.Grant.Rules[i].Text, Scope: scope})
		}
	}
	if s, ok := t.event.Exact(); ok && out == nil {
		s.Scope = scope
		out = []obstat.Offer{s}
	}
	return out
}

// settle leaves an ask about a tool that only keeps house to the agent, and approves one that a
// person has approved for the event before.
func (t *turn) settle(_ context.Context, c *obstat.Call, d *obstat.Decision) (*gate.Settled, error) {
	switch {
	case t.event.Left(d):
		return &gate.Settled{Verdict: obstat.Ask, By: obstat.By{Note: "the tool only keeps house, and is left to the " +
			"agent"}}, nil
	case t.event.Again() && t.approvedBefore(c):
		by := obstat.By{Kind: obstat.ByPerson, Note: "approved a moment ago, before the agent's own rules asked again"}
		return &gate.Settled{Verdict: obstat.Allow, By: by}, nil
	}
	return nil, nil
}

// silent says why an allow is not told to the agent.
func (t *turn) silent(d *obstat.Decision) string { return t.event.Silent(d, byPerson(d)) }

// waits tells how long the hook may wait for a person, or why it does not.
func (t *turn) waits(ctx context.Context, cancel func()) (time.Duration, string) {
	most := t.Waiting.Limit(t.event.Agent)
	limit := time.Until(t.began.Add(most))
	switch {
	case t.db == "":
		return 0, "nobody can be asked: " + t.noDB.Error()
	case t.Waiting.Off || limit <= 0 || !t.Waiting.Always && !t.taken(t.db):
		return 0, "nobody is there to ask: do something else, or tell the user to run `obstat ask` in another terminal and " +
			"try again"
	}
	t.extend(most + ownMargin)
	watch(ctx, cancel)
	return limit, ""
}

// asked shows a notification of a request. The text names the agent and the tool and
// nothing of the call itself, which may hold secrets.
func (t *turn) asked(q *approval.Request) {
	if t.Notify == nil {
		return
	}
	who := cmp.Or(plain(t.event.Agent), "an agent")
	t.Notify("obstat: "+who+" asks", fmt.Sprintf("%s wants to use %s; answer with `obstat ask`, %s left", who,
		plain(q.Call.Tool), time.Until(q.Expires).Round(time.Second)))
}

// plain makes a name fit for a notification.
func plain(s string) string {
	out := make([]rune, 0, 40)
	for _, ch := range s {
		if len(out) == 40 {
			break
		}
		if ch < 0x20 || ch == 0x7f || ch == '<' || ch == '&' || ch == '%' {
			ch = '_'
		}
		out = append(out, ch)
	}
	return string(out)
}

// Key returns the key of the ledger's digests, and makes one where there is none.
func (t *turn) Key() ([]byte, error) {
	if t.noDB != nil {
		return nil, t.noDB
	}
	key, err := ledger.LoadKey(ledger.KeyPath(t.db))
	if os.IsNotExist(err) { // nothing was written down yet
		if err = os.MkdirAll(filepath.Dir(t.db), 0o700); err == nil {
			key, err = ledger.LoadKey(ledger.KeyPath(t.db))
		}
	}
	return key, err
}

// Append writes records down, durably, without opening the database.
func (t *turn) Append(ctx context.Context, records ...*ledger.Record) error {
	if t.decides && t.late() {
		return errLate
	}
	log, err := store.Log(t.db, t.Getenv)
	if err != nil {
		return err
	}
	return errors.Join(log.Append(ctx, records...), log.Close())
}
