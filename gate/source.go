package gate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/internal/guard/person"
	"github.com/obstat/obstat/ledger"
	"github.com/obstat/obstat/policy"
)

// A Source says which policies decide a call.
type Source interface {
	// InForce returns the policies that decide a call: the same value as long as nothing has
	// changed. Where something cannot be loaded, the error says why, and what
	// decides asks or denies; nil denies.
	InForce(c *obstat.Call) (*policy.InForce, error)
	// Accept writes rules that a person has accepted for a call back to where the
	// policy came from, so that they count from now on.
	Accept(ctx context.Context, a *Accepted) error
}

// Accepted is rules that a human has accepted with an answer.
type Accepted struct {
	Policy *dialect.Loaded // that asked
	Call   *obstat.Call
	Rules  []obstat.Offer
	By     string
}

// Files is the Source of policies in files: those named, or those that package
// policy finds.
type Files struct {
	Names   []string // lowest precedence first, [LAYER=]FILE
	Dialect string   // "" is told by name and shape
	Options map[string]string
	// Dir is the agent's own project; "" is where its calls are made, or, with
	// Chosen, Start. A policy where the call is made counts in any case.
	Dir string
	// Serves: Dir is where a server runs. Its policy decides for all calls; where it has none, that is no
	// call's project.
	Serves bool
	// Start is where the face runs; policies there count as well.
	Start string
	// Chosen: the model chooses where calls are made.
	Chosen bool
	// Agent makes the calls, "claude-code": its own files count before those
	// of others, and its words for modes are not the policies'.
	Agent  string
	Home   string              // "" is the user's
	Getenv func(string) string // nil is the process's
	Read   func(name string) ([]byte, error)
	// NoPins: files on disk are in force without being accepted.
	NoPins bool
	// Mine: no agent has started this process, so that variables such as
	// OBSTAT_TRUST are its user's own; see [person.TrustVariable].
	Mine bool
	// Who accepts rules through [Files.Accept], for the record; nil is not known.
	Who *person.Who
	// Once: the source is asked for one call, and need not notice changes.
	Once bool
	// Into is the file that gets accepted rules; "" is the last of the project's,
	// or the last that is not the machine's.
	Into string

	mu      sync.Mutex
	found   map[string]*kept // by place
	watcher policy.Watcher
	// last is the find for the call before; most are made in the same place.
	last struct {
		dir   string
		roots []string
		*kept
	}
	ahead bool // last was found a moment ago, for the call that is decided next
}

var _ Source = (*Files)(nil)

var errNotOurs = errors.New("the policy's files are not the user's to change")

// kept is the find for a place.
type kept struct {
	latest *policy.InForce // nil: a named file could not be read
	err    error           // why the latest, or a part of it, could not be loaded
}

// maxPlaces bounds how many places are remembered.
const maxPlaces = 1000

// InForce finds the policies for a call, anew where files have changed.
func (f *Files) InForce(c *obstat.Call) (*policy.InForce, error) {
	f.mu.Lock() // one at a time, so that no older policy takes a newer one's place
	defer f.mu.Unlock()
	ahead := f.ahead
	f.ahead = false
	samePlace := f.last.dir == c.Dir && slices.Equal(f.last.roots, c.Roots)
	if k := f.last.kept; samePlace && k != nil && k.latest != nil && (ahead || !k.latest.Changed()) {
		return k.latest, k.err
	}
	w := f.where(c)
	place := w.Agent + "\x00" + w.Dir + "\x00" + strings.Join(w.Roots, "\x00")
	k := f.found[place]
	if k == nil {
		if k = new(kept); f.found == nil || len(f.found) > maxPlaces {
			f.found = map[string]*kept{}
		}
		f.found[place] = k
	}
	if k.latest == nil || k.latest.Changed() {
		f.find(w, k)
	}
	f.last.dir, f.last.roots, f.last.kept = c.Dir, slices.Clone(c.Roots), k
	return k.latest, k.err
}

// Ahead finds the policies for a call that a gate is about to decide. With Once, the gate's first look
// gets the same without reading the files a second time; any later one looks again.
func (f *Files) Ahead(c *obstat.Call) (*policy.InForce, error) {
	out, err := f.InForce(c)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.ahead = f.Once
	return out, err
}

func (f *Files) find(w *policy.Where, k *kept) {
	finder := f.finder()
	if k.latest, k.err = finder.Find(w); k.err == nil && len(k.latest.New) > 0 && !f.NoPins {
		// A rule that a person has just chosen in the agent's own prompt is accepted.
		if chosen, err := finder.Chosen(context.Background(), k.latest, w); err == nil && chosen {
			k.latest, k.err = finder.Find(w)
		}
	}
	if k.err != nil {
		k.latest = nil
		return
	}
	k.err = k.latest.Err() // the accepted policy decides then, and asks
}

func (f *Files) finder() *policy.Finder {
	out := &policy.Finder{Read: f.Read, NoPins: f.NoPins, Who: f.Who}
	if !f.Once {
		out.Watcher = &f.watcher
	}
	return out
}

// where returns the agent, the user and the directory of a call.
func (f *Files) where(c *obstat.Call) *policy.Where {
	w := &policy.Where{Agent: f.Agent, Start: f.Start, Chosen: f.Chosen, Home: f.home(), Getenv: f.Getenv, Mine: f.Mine,
		Named: &policy.Named{Files: f.Names, Dialect: f.Dialect, Options: f.Options}}
	if len(f.Names) > 0 {
		return w
	}
	w.Dir, w.Roots = c.Dir, c.Roots
	if f.Chosen && len(c.Roots) == 1 && c.Roots[0] == c.Dir {
		w.Roots = nil // the directory that the model has chosen is not the workspace
	}
	if f.Serves {
		w.Server = f.Dir
	} else if f.Dir != "" {
		w.Roots, w.Also = []string{f.Dir}, c.Roots
	}
	return w
}

func (f *Files) home() string {
	if f.Home != "" {
		return f.Home
	}
	home, _ := obstat.OS{}.Home("")
	return home
}

// Accept writes rules to the file that gets them, every other byte unchanged, and
// keeps them as accepted.
func (f *Files) Accept(ctx context.Context, a *Accepted) error {
	l, name := a.Policy, f.into(a.Policy)
	switch {
	case name == "" && len(l.Input.Files) == 0:
		return errors.New("there is no policy to write the rule to; make an obstat.json")
	case name == "":
		return errNotOurs
	}
	if err := l.Accept(name, a.Rules...); err != nil || f.NoPins || len(f.Names) > 0 {
		return err
	}
	kept, err := f.finder().Keep(ctx, f.where(a.Call), a.Rules, a.By)
	if err == nil && !kept {
		err = errWaits
	}
	return err
}

// errWaits says that a rule was written and does not count yet.
var errWaits = errors.New("the rule is in the file, and counts once a person accepts what else is new there")

// into returns the file of l that gets accepted rules.
func (f *Files) into(l *dialect.Loaded) string { return cmp.Or(f.Into, l.Into()) }

// Fixed is a policy that does not change while the gate runs: one that was
// loaded elsewhere or written in Go. Accepted rules cannot be written to it.
type Fixed struct{ *dialect.Loaded }

var _ Source = Fixed{}

// InForce returns the policy.
func (f Fixed) InForce(*obstat.Call) (*policy.InForce, error) {
	if f.Loaded == nil {
		return nil, errors.New("there is no policy")
	}
	return policy.Of(f.Loaded), nil
}

// Accept refuses.
func (Fixed) Accept(context.Context, *Accepted) error {
	return errors.New("this policy has no file that rules could be written to")
}

// inForce returns the policies that decide a call, and writes down when that has changed.
func (g *Gate) inForce(ctx context.Context, c *obstat.Call) (*policy.InForce, error) {
	f, err := g.opts.Policy.InForce(c)
	if f == nil {
		if err == nil {
			err = errors.New("there is no policy")
		}
		f = &policy.InForce{Broken: []policy.Broken{{Err: err}}}
	}
	if g.opts.NoStart || g.opts.NoRecord {
		return f, err
	}
	now := noted{digestOf(f), ""}
	if err != nil {
		now.broken = err.Error()
	}
	if !g.news(c.Dir, now) {
		return f, err
	}
	rec := &ledger.Record{Time: time.Now(), Kind: ledger.Policy, Policy: now.digest, Reason: "in force: " + sources(f)}
	if err != nil {
		rec.Reason = "the policy cannot be loaded; calls ask or are denied: " + firstLine(err.Error())
	}
	// Every decision names its policy; this record only tells when it came.
	_ = g.opts.Ledger.Append(context.WithoutCancel(ctx), rec)
	return f, err
}

// news tells whether something else is in force in a directory than for the last call,
// and was not written down yet.
func (g *Gate) news(dir string, now noted) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	before, known := g.noted[dir]
	if known && before == now {
		return false
	}
	if len(g.noted) > maxPlaces {
		clear(g.noted)
	}
	if g.noted[dir] = now; !known || g.said == now {
		return false
	}
	g.said = now
	return true
}

// noted are the policies that decided the last call.
type noted struct{ digest, broken string }

// digestOf returns the digest of the policy that stands for all in force.
func digestOf(f *policy.InForce) string {
	if p := f.Main(); p != nil {
		return p.Policy.Digest()
	}
	return ""
}

// sources names the files in force: `a.json, b.json (opencode)`.
func sources(f *policy.InForce) string {
	p := f.Main()
	if p == nil {
		return "nothing"
	}
	names := filesOf(f)
	if len(names) == 0 {
		names = []string{p.Why}
	}
	return fmt.Sprintf("%s (%s)", strings.Join(names, ", "), p.Dialect.Name())
}

// filesOf returns the files that are in force.
func filesOf(f *policy.InForce) (out []string) {
	for _, p := range f.Policies {
		for i := range p.Input.Files {
			if name := p.Input.Files[i].Name; !slices.Contains(out, name) {
				out = append(out, name)
			}
		}
	}
	return out
}
