// Package builtin is the policy in force where no other is found: a call that
// provably only reads inside the workspace, and no secret, is allowed; everything
// else is asked about.
//
// It owns that one Program. It has no files: it takes the place of a dialect so
// that the Program is printed, explained and compiled like any other.
package builtin

import (
	"encoding/json"
	"slices"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/effect"
	"github.com/obstat/obstat/paths"
)

// Name is the dialect's name.
const Name = "builtin"

// Dialect makes the built-in Program. The zero value is ready for use.
type Dialect struct{}

var _ dialect.Dialect = Dialect{}

// Name returns "builtin".
func (Dialect) Name() string { return Name }

// Info is empty: the policy has no files.
func (Dialect) Info() dialect.Info { return dialect.Info{} }

// Detect knows no file.
func (Dialect) Detect(*dialect.File) dialect.Confidence { return dialect.No }

const (
	mode  = "default"
	reads = "builtin.reads"
)

// Load returns the built-in Program and ignores the files.
func (Dialect) Load(*dialect.Input) (*obstat.Program, obstat.Errors) {
	return &obstat.Program{
		Dialect: Name,
		Mode:    mode,
		Pipelines: map[obstat.Mode]obstat.Pipeline{mode: {
			Stages: []obstat.Stage{
				obstat.When{Name: "only reads in the workspace", Is: reads, Then: obstat.Allow},
				obstat.Match{Name: "everything else", Rules: "rest"},
			},
			Default: obstat.Ask,
		}},
		Rules: map[string][]obstat.Rule{"rest": {{Verdict: obstat.Ask, Source: "built-in policy", Layer: "built in",
			Reason: "no policy says more; it allows what only reads in the workspace and asks about the rest"}}},
	}, nil
}

// Library returns the predicate of the built-in Program.
func (Dialect) Library() *obstat.Library {
	return &obstat.Library{Predicates: map[string]func(json.RawMessage) (obstat.Predicate, error){
		reads: func(json.RawMessage) (obstat.Predicate, error) { return onlyReads{}, nil },
	}}
}

// onlyReads holds for a call that provably reads inside the workspace and does
// nothing else: `cat go.mod`, not `cat ~/.ssh/id_rsa` or `cat $X`.
type onlyReads struct{}

// Holds looks at the effects of the call.
func (onlyReads) Holds(f *obstat.Facts) (bool, error) {
	a := f.Analysis()
	if !a.ReadOnly || !a.Full {
		return false, nil
	}
	roots := workspace(f)
	for i := range a.Effects {
		if !harmless(&a.Effects[i], roots) {
			return false, nil
		}
	}
	return true, nil
}

// workspace returns the directories that the call may read in, links followed.
func workspace(f *obstat.Facts) (out []string) {
	r := paths.Resolver{FS: f.World}
	for _, dir := range append([]string{f.Call.Dir}, f.Call.Roots...) {
		if p := r.Literal(dir); dir != "" && p.Real != "" {
			out = append(out, p.Real)
		}
	}
	return out
}

// harmless tells whether an effect runs a program that only reads, or reads a path
// of the workspace that holds no secret.
func harmless(e *effect.Effect, roots []string) bool {
	switch {
	case e.Secret || e.Where != "" || e.Host != "" || e.Kind == effect.Connect:
		return false
	case e.Kind != effect.Read:
		return e.Harmless
	}
	return slices.ContainsFunc(roots, func(root string) bool { return paths.Inside(root, e.Real) })
}
