package gate

import (
	"context"
	"path"
	"slices"
	"strings"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/effect"
	"github.com/obstat/obstat/internal/guard/protect"
	"github.com/obstat/obstat/internal/keep/statedir"
	"github.com/obstat/obstat/policy"
)

// judged is the strictest policy's answer to a call.
type judged struct {
	by *Gate // whose policy that is
	policy.Ruling
	said   obstat.Verdict // the policy's own verdict
	self   bool           // the call would change a guard of the agent
	broken error          // of any gate in the line
	line   []*policy.InForce
	world  *obstat.Recorder
}

// digest returns the digest of the policy that decided; "" where none could.
func (j *judged) digest() string {
	if j.From == nil {
		return ""
	}
	return j.From.Policy.Digest()
}

// world returns the machine as one call sees it, and remembers it.
func (g *Gate) world() *obstat.Recorder { return &obstat.Recorder{Of: &memo{of: g.opts.World}} }

// judge judges a call and its other readings ([obstat.Call.Readings]); the strictest answer counts. The
// policies have done so by themselves; this is for self-protection and for other projects that a reading works in.
func (g *Gate) judge(ctx context.Context, c *obstat.Call, world *obstat.Recorder, doubt string) *judged {
	out := g.judgeOne(ctx, c, world, doubt)
	if out.Verdict == obstat.Deny {
		return out
	}
	for _, as := range c.Readings() {
		one := g.judgeOne(ctx, as, world, doubt)
		if one.Verdict < out.Verdict && one.digest() != out.digest() || one.self && !out.self {
			one.Call.Input = c.Input
			out = one
		}
	}
	return out
}

// judgeOne puts a call to the gate's policies and to those of the agents that
// started this one, each in its own mode; the strictest answer counts.
func (g *Gate) judgeOne(ctx context.Context, c *obstat.Call, world *obstat.Recorder, doubt string) *judged {
	var out *judged
	var broken error
	var inForce [4]*policy.InForce // most often one
	line := inForce[:0]
	for p := g; p != nil; p = p.opts.Parent {
		f, err := p.inForce(ctx, c)
		if err != nil && broken == nil {
			broken = err
		}
		f = p.elsewhere(c, world, f)
		g.circumstances(c, f, world)
		line = append(line, f)
		put := *c
		if put.Mode == "" || p != g {
			// A subagent's mode is nothing to its parent's policy.
			put.Mode = p.opts.Mode
		}
		a := f.Decide(&put, world)
		if out != nil && a.Verdict >= out.Verdict {
			out.Over &= a.Over
			continue
		}
		if p != g {
			a.Note = join(a.Note, "the agent that started this one may do no more")
		}
		out = &judged{by: p, Ruling: a, said: a.Verdict}
	}
	out.broken, out.line, out.world = broken, slices.Clone(line), world
	var analysis *effect.Analysis
	if len(c.Roots) == 0 || c.InRoots(c.Dir) { // else its workspace is another
		analysis = world.Analysis(c)
	}
	out.self = g.guarding(line).Tighten(&out.Decision, c, g.opts.World, analysis)
	if doubt != "" && out.Verdict != obstat.Deny {
		out.doubted(doubt)
	}
	out.unattended()
	switch {
	case out.Part != "":
	case out.Rule == nil:
		out.About = c.Text()
	case out.Verdict < obstat.Allow && out.From != nil && len(world.Analysis(c).Commands) > 1:
		out.Part = out.From.Policy.PartOf(&out.Call, world, &out.Decision)
	}
	return out
}

// doubted has a person asked, for a reason that no rule has seen; see [Terms].Doubt.
func (j *judged) doubted(why string) {
	if d := &j.Decision; d.Verdict == obstat.Allow {
		*d = obstat.Decision{Verdict: obstat.Ask, By: obstat.By{Kind: obstat.ByGuard}, Stage: "doubt",
			Tool: d.Tool, Mode: d.Mode, Input: d.Input}
	}
	j.Safety, j.OnlyUnknown, j.Offers, j.Note, j.self = true, false, nil, join(j.Note, why), true
}

// unattended denies an ask in a mode in which no person may be asked, such as AgentScope's DONT_ASK.
func (j *judged) unattended() {
	if j.Verdict != obstat.Ask || j.From == nil {
		return
	}
	if d, ok := j.From.Dialect.(dialect.Attendant); ok && d.Unattended(&j.Decision) {
		j.Decision = j.Refuse(obstat.By{Kind: obstat.ByGuard, Note: "nobody can be asked in this mode"})
	}
}

// elsewhere adds the policies of other projects that the call works in: `cd ../B && make`
// is held to B's rules as well.
func (g *Gate) elsewhere(c *obstat.Call, world *obstat.Recorder, f *policy.InForce) *policy.InForce {
	var touched []string
	seen := map[string]bool{c.Dir: true}
	add := func(p string) {
		if !world.IsDir(p) {
			p = path.Dir(p) // a file holds no policy
		}
		if !seen[p] {
			seen[p] = true
			touched = append(touched, p)
		}
	}
	a, whole := world.Analysis(c), true
	for i := range a.Effects {
		e := &a.Effects[i]
		if e.Where != "" {
			continue
		}
		if e.Path != "" && !e.Glob {
			if add(e.Path); e.Real != e.Path && e.Real != "" {
				add(e.Real)
			}
		}
		if p := patternOf(e); p != "" {
			dirs, all := policy.Dirs(p)
			whole = whole && (all || e.Kind == effect.Read || !e.Glob)
			if e.Kind == effect.Read {
				dirs = dirs[:min(len(dirs), 8)] // looking around is not asked about
			}
			for _, dir := range dirs {
				add(dir)
			}
		}
	}
	if touched == nil {
		return f
	}
	home, _ := g.opts.World.Home("")
	var others []*policy.InForce
	dirs, all := g.around.Of(touched, append([]string{c.Dir}, c.Roots...), home)
	if !all || !whole {
		f = f.Crowded()
	}
	for _, dir := range dirs {
		there := *c
		there.Dir, there.Roots = dir, nil
		if o, _ := g.opts.Policy.InForce(&there); o != nil { // a broken policy there says so itself
			others = append(others, o)
		}
	}
	if others == nil {
		return f
	}
	return f.With(others...)
}

// patternOf returns the shell pattern of the directories that an effect reaches besides its path: that
// of a glob, of a path that is known in part, and of the entries of a directory that is
// deleted with all that is in it.
func patternOf(e *effect.Effect) string {
	switch p := e.Path; {
	case e.Kind != effect.Write && e.Kind != effect.Delete && e.Kind != effect.Read:
		return ""
	case p != "" && e.Glob:
		return p
	case p != "" && e.Recursive && e.Kind == effect.Delete:
		return strings.TrimSuffix(p, "/") + "/*/."
	case p == "" && strings.HasPrefix(e.Shape(), "/"):
		return strings.Map(func(r rune) rune {
			if r < ' ' {
				return '*'
			}
			return r
		}, e.Shape())
	}
	return ""
}

// A guard protects the files that calls are judged by.
type guard struct {
	under []*policy.InForce
	state int // how many files were kept
	by    *protect.Guarded
}

// guarding returns the guard of calls under the policies of a line of agents, the same one
// as before while they are the same.
func (g *Gate) guarding(line []*policy.InForce) *protect.Guarded {
	g.mu.Lock()
	last, state := g.last, len(g.state)
	g.mu.Unlock()
	if last.by != nil && last.state == state && slices.Equal(last.under, line) {
		return last.by
	}
	out := g.guarded()
	out.Pinned = true
	for _, f := range line {
		out.Policies = append(out.Policies, filesOf(f)...)
		out.Pinned = out.Pinned && f.Pinned
	}
	out = g.shield.Get(out)
	g.mu.Lock()
	g.last = guard{slices.Clone(line), state, out}
	g.mu.Unlock()
	return out
}

// guarded are the files, besides policies, that the gate's agent may not change unasked.
func (g *Gate) guarded() *protect.Guarded {
	g.mu.Lock()
	state := g.state
	g.mu.Unlock()
	return &protect.Guarded{State: state, Places: g.opts.Places, Programs: g.opts.Programs, Getenv: g.opts.Getenv}
}

// keptFiles returns the files and directories that obstat keeps.
func (o *Options) keptFiles() []string {
	out := slices.Clone(o.Guarded)
	if dir, err := statedir.Dir(o.Getenv); err == nil {
		out = append(append(out, dir), statedir.Heads(statedir.Store(dir), o.Getenv)...)
	}
	return out
}

// guards are the files that a call which r is about may not change unasked.
func (g *Gate) guards(ctx context.Context, c *obstat.Call) *protect.Guarded {
	out := g.guarded()
	for p := g; p != nil; p = p.opts.Parent {
		f, _ := p.inForce(ctx, c)
		out.Policies = append(out.Policies, filesOf(f)...)
	}
	return g.shield.Get(out)
}

// decide puts a call to a policy that is not in force, for an answer that would
// put it there. Self-protection holds for it as for any other.
func (g *Gate) decide(ctx context.Context, pol *obstat.Policy, c *obstat.Call, world obstat.World) obstat.Decision {
	d := pol.Decide(c, world)
	g.guards(ctx, c).Tighten(&d, c, g.opts.World, nil)
	return d
}

// Reach returns the strictest and the loosest verdict that calls to a tool can get
// where the call says, by the policies alone. A tool whose loosest is Deny may be left
// out of the list that an agent is shown.
func (g *Gate) Reach(ctx context.Context, c *obstat.Call) obstat.Reach {
	out := obstat.Reach{Strictest: obstat.Allow, Loosest: obstat.Allow}
	for p := g; p != nil; p = p.opts.Parent {
		f, _ := p.inForce(ctx, c) // a policy that cannot be loaded asks or denies
		r := f.Reach(c.Tool, p.opts.Mode)
		out.Strictest, out.Loosest = min(out.Strictest, r.Strictest), min(out.Loosest, r.Loosest)
	}
	return out
}
