package hookrun

import (
	"path/filepath"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/internal/protect"
	"github.com/obstat/obstat/internal/statedir"
)

// protect makes an ask of an allowed call that would change what guards it, and
// tells whether it would. No rule and no grant allows that; a person does.
func (t *turn) protect(policies []*policy, d *obstat.Decision) bool {
	if d.Verdict == obstat.Deny {
		return false
	}
	g := &protect.Guarded{Places: t.places(), Getenv: t.Getenv}
	for _, p := range policies {
		for _, f := range p.Input.Files {
			g.Policies = append(g.Policies, f.Name)
		}
	}
	if dir, err := statedir.Dir(t.Getenv); err == nil {
		g.State = []string{dir}
	}
	g.Programs = t.programs()
	return g.Tighten(d, t.event.Call, t.World, nil)
}

// programs returns obstat's own binaries.
func (o *Options) programs() []string {
	if o.Exe == "" {
		return nil
	}
	return []string{o.Exe, filepath.Join(filepath.Dir(o.Exe), "obstat")}
}
