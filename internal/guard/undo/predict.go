package undo

import (
	"path/filepath"
	"slices"

	"github.com/obstat/obstat/confine"
	"github.com/obstat/obstat/effect"
	"github.com/obstat/obstat/internal/keep/changes"
	"github.com/obstat/obstat/paths"
)

// A Surprise is a path that a command changed and that was not predicted.
type Surprise struct {
	Program string             `json:"program"`
	Path    string             `json:"path"`
	Kind    confine.ChangeKind `json:"kind"`
	// Operand: the command names the path, or a directory around it.
	Operand bool `json:"operand,omitempty"`
	// Known: the knowledge base has the program.
	Known bool `json:"known,omitempty"`
}

// maxSurprises bounds those of one call.
const maxSurprises = 20

// Surprises returns the paths that a confined run changed and that its analysis, made before it, did not have. Of code
// that cannot be looked into, as `make` runs it, nothing was predicted, and so nothing surprises.
func Surprises(a *effect.Analysis, list []confine.Change, root string) (out []Surprise) {
	if a == nil || slices.ContainsFunc(a.Effects, isOpen) {
		return nil
	}
	reach := Of(a)
	for i := range list {
		c := &list[i]
		predicted := slices.ContainsFunc(reach.Paths, func(r changes.Reach) bool { return within(r.Paths, c.Path) })
		if predicted || c.Kind == confine.Touched || c.Outcome != confine.Committed || againIn(root, c.Path) != "" {
			continue
		}
		if len(out) == maxSurprises {
			break
		}
		out = append(out, surprise(a, c))
	}
	return out
}

// isOpen tells whether an effect says nothing of which paths change: code does not, nor do a program's own files,
// such as `.git`.
func isOpen(e effect.Effect) bool {
	return e.Kind == effect.Code && !e.Harmless || e.Tags.Has(effect.Books)
}

// within tells whether a path is predicted, or a directory above one that is and is made with it.
func within(set paths.Set, path string) bool { return set.Has(path) || paths.Inside(path, set.Known()) }

// surprise says which program of a call changed a path: the one that names it, else one that is not known, else the
// first.
func surprise(a *effect.Analysis, c *confine.Change) Surprise {
	out := Surprise{Path: c.Path, Kind: c.Kind}
	by := -1
	for i := range a.Commands {
		cmd := &a.Commands[i]
		for j := range cmd.Words {
			word := cmd.Words[j].Text
			if j == 0 || word == "" {
				continue
			}
			if !filepath.IsAbs(word) {
				word = filepath.Join(cmd.Dir, word)
			}
			if paths.Inside(word, c.Path) && word != cmd.Dir {
				by, out.Operand = i, true
			}
		}
		if by < 0 && !cmd.Catalogued {
			by = i
		}
	}
	if by = max(by, 0); by < len(a.Commands) {
		out.Program, out.Known = a.Commands[by].Program, a.Commands[by].Catalogued
	}
	return out
}
