package gate

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/confine"
	"github.com/obstat/obstat/dialect/native"
	"github.com/obstat/obstat/effect"
	"github.com/obstat/obstat/internal/guard/confined"
	"github.com/obstat/obstat/internal/guard/person"
	"github.com/obstat/obstat/internal/keep/statedir"
	"github.com/obstat/obstat/policy"
)

// Confining is how a gate's calls may run confined. Its functions may be nil: then nothing speaks
// against it, and nothing is kept.
type Confining struct {
	// Machine tells the level that this machine gives.
	Machine func(ctx context.Context) confine.Report
	// Not says why a call of this face cannot be changed into one that is confined, "" where it can.
	// over are the judges of the agent's own that the policy outranks.
	Not func(call *obstat.Call, over obstat.Over) (why string)
	// Change returns the input by which the call runs confined; nil changes nothing, for a face that
	// only tells the answer.
	Change func(b *confined.Bounds, t *confined.Ticket) (json.RawMessage, error)
	// Environ are the variables of the agent; nil are the process's.
	Environ []string
}

// Server returns the lines of the policy in force at a directory for a server that `obstat mcp` starts; ok is false
// where it has none, and the server is not confined.
func (g *Gate) Server(ctx context.Context, call *obstat.Call, name string) (s native.ConfinedServer, ok bool) {
	c := *call
	s, ok = g.judge(ctx, &c, g.world(), "").wish().Servers[name]
	return s, ok
}

// Bounds returns the policy's answer to a call, and the limits inside which it would run here, whatever the
// policy says of confined runs; none for a call that is denied. It is for `obstat run`, and asks no person.
func (g *Gate) Bounds(ctx context.Context, call *obstat.Call) (obstat.Decision, *confined.Bounds, error) {
	return g.bounds(ctx, call, "")
}

// ServerBounds is [Gate.Bounds] for a server, by its own lines of the policy.
func (g *Gate) ServerBounds(ctx context.Context, call *obstat.Call, name string) (
	obstat.Decision, *confined.Bounds, error) {
	return g.bounds(ctx, call, name)
}

func (g *Gate) bounds(ctx context.Context, call *obstat.Call, server string) (
	obstat.Decision, *confined.Bounds, error) {
	c := *call
	j := g.judge(ctx, &c, g.world(), "")
	if j.Verdict == obstat.Deny {
		return j.Decision, nil, nil
	}
	wish := j.wish()
	s, lines := wish.Servers[server]
	if server != "" && !lines {
		return j.Decision, nil, fmt.Errorf("the policy has no lines for the server %s", server)
	}
	wish.Read, wish.Write = slices.Concat(wish.Read, s.Read), slices.Concat(wish.Write, s.Write)
	p := g.place(ctx, &c, j, wish)
	if lines {
		p.Server = &s
	}
	p.Asked = j.Verdict == obstat.Ask && !j.OnlyUnknown
	b, err := confined.Make(p)
	return j.Decision, b, err
}

// Judges gives a confined run the functions that put one thing to the policies in force for a call, and name
// the guard at a path: they judge the changes that it makes. It returns how much of these is kept.
func (g *Gate) Judges(ctx context.Context, call *obstat.Call, r *confined.Run) (native.Undo, *effect.Analysis) {
	c := *call
	j := g.judge(ctx, &c, g.world(), "")
	p := g.place(ctx, &c, j, native.Confine{})
	r.Ask, r.Runs, r.Guards = p.Ask, p.Runs, p.Guards
	r.Offer = func(face, target string) string { return j.offer(&c, face, target, g.opts.World) }
	return j.undo(), j.world.Analysis(&c)
}

// offer returns the rule that would allow one thing, as the strictest policy of a line writes it, "" for none.
func (j *judged) offer(c *obstat.Call, face, target string, world obstat.World) string {
	var strictest *policy.Ruling
	for _, f := range j.line {
		if r := f.Touch(c, face, target, world); strictest == nil || r.Verdict < strictest.Verdict {
			strictest = &r
		}
	}
	if strictest == nil || strictest.Verdict != obstat.Ask || strictest.From == nil {
		return ""
	}
	for _, o := range strictest.From.Offers(&strictest.Call, world, &strictest.Decision) {
		if o.Text != "" {
			return o.Text
		}
	}
	return ""
}

// wish returns how the policies in force want calls to be confined. Where one agent was started by another,
// the stricter wish of the two counts.
func (j *judged) wish() native.Confine {
	var out native.Confine
	for i, f := range j.line {
		w := f.Confine()
		if i > 0 {
			w = out.Tighten(w)
		}
		out = w
	}
	return out
}

// unasked denies a call that asks, where the policy leaves nothing to ask a person about.
func (j *judged) unasked(d obstat.Decision) obstat.Decision {
	if d.Verdict == obstat.Ask && slices.ContainsFunc(programsOf(j.line), native.Unwatched) {
		return d.Refuse(obstat.By{Kind: obstat.ByDefault, Note: "the policy has nobody asked, and denies it"})
	}
	return d
}

// confine lets a call run confined that would ask only because it cannot be known, where the policy
// wants that; with `confine: always`, one that is allowed as well, and with `confine: code` one that is allowed and
// runs unseen code. Where it cannot be, the call asks, and the note says why.
func (g *Gate) confine(ctx context.Context, c *obstat.Call, j *judged, digest string) obstat.Decision {
	d := j.Decision
	unknown := d.Verdict == obstat.Ask && d.OnlyUnknown
	held := d.Verdict == obstat.Allow && d.Input == nil && runsCommand(c)
	if !unknown && !held {
		return d // without a look at the policies' words
	}
	wish := j.wish()
	unknown = unknown && wish.Code
	always := held && wish.Always
	unseen := ""
	if held && wish.Code {
		unseen = g.unseen(c, j)
	}
	if unseen != "" && !always && g.cannot(ctx, c, &d) && !j.byRegistries(c, g.opts.World) {
		return d // the rule stands as it would without confined runs
	}
	if !unknown && !always && unseen == "" || g.opts.Confine == nil && unseen == "" {
		return d
	}
	out, err := g.confined(ctx, c, j, wish, digest)
	if err == nil {
		return out
	}
	note := "it cannot run confined: " + err.Error()
	if always || unseen != "" {
		why := cmp.Or(unseen, "the policy confines every command") + ", and "
		return obstat.Decision{Verdict: obstat.Ask, By: obstat.By{Kind: obstat.ByGuard}, Stage: obstat.StageConfined,
			Tool: d.Tool, Mode: d.Mode, Note: why + note}
	}
	if d.Note == "" && d.Rule == nil {
		note = "part of it cannot be known, and " + note
	}
	d.Note = join(d.Note, note)
	return d
}

// cannot tells whether no command runs confined here: this face changes none, or the machine cannot.
func (g *Gate) cannot(ctx context.Context, c *obstat.Call, d *obstat.Decision) bool {
	o := g.opts.Confine
	if o == nil || o.Not != nil && o.Not(c, d.Over) != "" {
		return true
	}
	return o.Machine == nil || o.Machine(ctx).Level == confine.LevelNone
}

// byRegistries tells whether a command that fetches may be allowed since it goes to registries alone, which only a
// confined run is held to: a file of the project may name other hosts.
func (j *judged) byRegistries(c *obstat.Call, world obstat.World) bool {
	anywhere := func() bool {
		return j.touch(c, obstat.FaceConnect, "https://host.invalid/", world).Verdict == obstat.Allow
	}
	if !j.world.Analysis(c).Fetches() || anywhere() {
		return false
	}
	return j.touch(c, obstat.FaceConnect, "registries", world).Verdict == obstat.Allow
}

// unseen says why a command that a rule allows runs code that cannot be looked into all the same, "" where it does
// not. A confined run may have left that code behind: a repository in a directory of its own, a program in
// `node_modules/.bin`, a hook in `.husky`.
func (g *Gate) unseen(c *obstat.Call, j *judged) string {
	an := j.world.Analysis(c)
	outside := &confined.Outside{Path: g.opts.Getenv("PATH"), Roots: append([]string{c.Dir}, c.Roots...)}
	switch {
	case an.Fetches():
		return "it fetches packages"
	case an.Steered():
		return "files that are no part of it can make it run other programs"
	case outside.Planted(an):
		return "it runs a program of the project"
	case an.RunsHooks() && outside.HasHooks(c.Dir):
		return "git runs hooks"
	case g.beside(an):
		return "code in the background may put links in the place of its files"
	}
	return ""
}

func (g *Gate) beside(an *effect.Analysis) bool {
	state, err := statedir.Dir(g.opts.Getenv)
	return err == nil && confined.Beside(state, an)
}

// runsCommand tells whether a call is of a shell.
func runsCommand(c *obstat.Call) bool {
	t, known := effect.Lookup(c.Tool)
	return known && t.Shell() && t.Canonical == "shell"
}

func (g *Gate) confined(ctx context.Context, c *obstat.Call, j *judged, wish native.Confine, digest string) (
	obstat.Decision, error) {
	d := j.Decision
	if !runsCommand(c) {
		return d, fmt.Errorf("%s is no command", c.Tool)
	}
	if g.opts.Confine == nil {
		return d, errors.New("here commands are only judged")
	}
	if not := g.opts.Confine.Not; not != nil {
		over := wish.Over
		if d.Verdict == obstat.Allow {
			over = d.Over
		}
		if why := not(c, over); why != "" {
			return d, fmt.Errorf("%s", why)
		}
	}
	b, err := confined.Make(g.place(ctx, c, j, wish))
	if err != nil {
		return d, err
	}
	if d.Partly && len(b.Tracked) > 0 {
		return d, fmt.Errorf("it may read %s, which git tracks, so that it cannot be hidden", b.Tracked[0])
	}
	var input json.RawMessage
	if change := g.opts.Confine.Change; change != nil {
		t := &confined.Ticket{Command: j.world.Analysis(c).Source, Call: *c, Bounds: *b, Digest: digest,
			Policy: j.digest(), Expires: time.Now().Add(confined.Lifetime)}
		under := person.AgentAbove()
		t.PID, t.Started = under.PID, under.Started
		if input, err = change(b, t); err != nil {
			return d, err
		}
	}
	out := d.Confine(said(b), input)
	if d.Verdict == obstat.Ask && out.Verdict == obstat.Allow {
		out.Over = wish.Over
	}
	return out, nil
}

// said says bounds in words.
func said(b *confined.Bounds) *obstat.Confined {
	p := b.Profile
	out := &obstat.Confined{Level: string(p.Level), Profile: p.Digest(), Brief: p.Brief()}
	for line := range strings.Lines(p.String()) {
		out.Says = append(out.Says, strings.TrimSuffix(line, "\n"))
	}
	for _, gap := range p.NotEnforced {
		out.NotEnforced = append(out.NotEnforced, gap.String())
	}
	return out
}

// place is the call with everything that its bounds are made of.
func (g *Gate) place(ctx context.Context, c *obstat.Call, j *judged, wish native.Confine) *confined.Place {
	guard := g.guarding(j.line)
	home, _ := g.opts.World.Home("")
	state, _ := statedir.Dir(g.opts.Getenv) // "" remembers nothing
	p := &confined.Place{Call: c, Analysis: j.world.Analysis(c), Wish: wish, Home: home, State: state,
		Getenv: g.opts.Getenv, Environ: os.Environ(), Key: keyOf(c, j), Rules: confined.Rules(programsOf(j.line), c.Tool)}
	p.Ask = func(face, target string) obstat.Decision { return j.touch(c, face, target, g.opts.World) }
	p.Runs = func(command string) obstat.Decision { return j.runs(c, command, g.opts.World) }
	p.Guards = func(path string) string { return guard.Holds(c, g.opts.World, path) }
	p.Hosts = confined.Hosts(programsOf(j.line))
	p.Machine = confine.Report{Level: confine.LevelNone, Why: "nobody has looked"}
	if o := g.opts.Confine; o != nil {
		if o.Machine != nil {
			p.Machine = o.Machine(ctx)
		}
		if o.Environ != nil {
			p.Environ = o.Environ
		}
	}
	return p
}

func programsOf(line []*policy.InForce) (out []*obstat.Program) {
	for _, f := range line {
		for _, p := range f.Policies {
			out = append(out, p.Program)
		}
	}
	return out
}

// touch puts one thing to all policies of a line of agents; the strictest answer counts.
func (j *judged) touch(c *obstat.Call, face, target string, world obstat.World) (out obstat.Decision) {
	for i, f := range j.line {
		if d := f.Touch(c, face, target, world).Decision; i == 0 || d.Verdict < out.Verdict {
			out = d
		}
	}
	return out
}

// runs puts another command to all policies, as a call of the same tool.
func (j *judged) runs(c *obstat.Call, command string, world obstat.World) (out obstat.Decision) {
	as := *c
	as.Input, _ = json.Marshal(map[string]string{effect.MainFields(c.Tool)[0]: command}) // texts
	for i, f := range j.line {
		if d := f.Decide(&as, world).Decision; i == 0 || d.Verdict < out.Verdict {
			out = d
		}
	}
	return out
}

// keyOf tells answers apart that are remembered: by the policies and by all that conditions look at.
// Where one looks at the time, nothing is remembered.
func keyOf(c *obstat.Call, j *judged) string {
	if !c.Time.IsZero() {
		return ""
	}
	parts := []string{c.Dir, strings.Join(c.Roots, "\x01")}
	for at := range obstat.Circumstances() {
		parts = append(parts, strings.Join(at.Values(c), "\x01"))
	}
	for _, f := range j.line {
		for _, p := range f.Policies {
			parts = append(parts, p.Loaded.Policy.Digest(), p.Role.String(), p.Place)
		}
	}
	return strings.Join(parts, "\x00")
}
