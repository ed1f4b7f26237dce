package hookrun

import (
	"os"
	"path/filepath"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/dialect/all"
	"github.com/obstat/obstat/dialect/claudecode"
	"github.com/obstat/obstat/effect"
	"github.com/obstat/obstat/internal/agents"
	"github.com/obstat/obstat/paths"
)

// protect makes an ask of an allowed call that would change what guards it: the
// policy, the hook entries in agents' settings, obstat itself. No rule allows
// that; a person does.
func (t *turn) protect(policies []*policy, d *obstat.Decision) {
	c := t.event.Call
	if d.Verdict != obstat.Allow {
		return
	}
	guarded := t.guarded(policies)
	a := effect.Analyze(&effect.Request{Tool: c.Tool, Input: c.Input, Options: effect.Options{Dir: c.Dir, Roots: c.Roots, FS: t.World}})
	for i := range a.Effects {
		e := &a.Effects[i]
		if e.Kind != effect.Write && e.Kind != effect.Delete {
			continue
		}
		for _, g := range guarded {
			if touches(e, g) {
				*d = obstat.Decision{Verdict: obstat.Ask, Safety: true, Stage: "self-protection", Tool: d.Tool, Mode: d.Mode, Part: e.Raw,
					Note: "it would change " + g + ", which guards this agent; only a person allows that"}
				return
			}
		}
	}
}

// touches tells whether an effect changes the file g, or a directory it is in.
func touches(e *effect.Effect, g string) bool {
	for _, p := range []string{e.Path, e.Real} {
		if p == "" {
			continue
		}
		if e.Glob {
			if ok, err := filepath.Match(p, g); ok || err != nil {
				return true
			}
			p = filepath.Dir(p)
			if filepath.Dir(g) == p {
				continue // the pattern was asked, and is of another file
			}
		}
		if p == g || (e.Kind == effect.Delete || e.Recursive) && paths.Inside(p, g) {
			return true
		}
	}
	return false
}

// guarded returns the files that no rule lets an agent change, links followed
// as well.
func (t *turn) guarded(policies []*policy) []string {
	var out []string
	add := func(name string) {
		abs, err := filepath.Abs(name)
		if err != nil {
			return
		}
		out = append(out, abs)
		if real, err := filepath.EvalSymlinks(abs); err == nil && real != abs {
			out = append(out, real)
		}
	}
	for _, p := range policies {
		for _, f := range p.Files {
			add(f)
		}
	}
	home := t.home
	var dirs []string
	for _, at := range t.places() {
		for _, dir := range ancestors(at, home) {
			for _, d := range all.All() {
				for _, rel := range dialect.WellKnown(d) {
					add(filepath.Join(dir, filepath.FromSlash(rel)))
				}
			}
			dirs = append(dirs, dir)
		}
	}
	for _, f := range agents.Files(home, dirs...) {
		add(f)
	}
	for _, p := range claudecode.Places("/", home, "") {
		add(p.Name)
	}
	if self, err := os.Executable(); err == nil {
		add(self)
	}
	return out
}
