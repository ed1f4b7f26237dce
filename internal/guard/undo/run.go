package undo

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/confine"
	"github.com/obstat/obstat/dialect/native"
	"github.com/obstat/obstat/effect"
	"github.com/obstat/obstat/internal/keep/changes"
	"github.com/obstat/obstat/paths"
)

// A Run keeps what a confined command changes: of code that cannot be looked into only its layer tells that, when
// it has ended and nothing of it counts yet.
type Run struct {
	Getenv func(string) string
	Call   *obstat.Call
	Reason string // why it was allowed
	Root   string // of the workspace
	// Secret tells whether contents of a path are a secret, which are kept for a shorter time.
	Secret func(path string) bool
	Limits native.Undo
	// Analysis was made before the run; the paths that changed and that it did not have are Surprises.
	Analysis  *effect.Analysis
	Surprises []Surprise
	Err       error // why nothing was kept

	store *changes.Store
}

// Before keeps the paths that will be changed.
func (r *Run) Before(list []confine.Change) {
	r.Surprises = Surprises(r.Analysis, list, r.Root)
	reach, gaps, secret := r.reach(list)
	if r.Limits.Off || len(reach) == 0 && len(gaps) == 0 {
		return
	}
	if r.store, r.Err = open(r.Getenv, r.Limits); r.Err == nil {
		_, r.Err = r.store.Save(of(r.Call, r.Reason), reach, secret, gaps...)
	}
}

// reach returns the changed paths, without directories that programs make again: their files are many, and come
// back by the command that made them.
func (r *Run) reach(list []confine.Change) (reach []changes.Reach, gaps []changes.Gap, secret bool) {
	again := map[string]bool{}
	for i := range list {
		c := &list[i]
		if c.Outcome != confine.Committed || c.Kind == confine.Touched {
			continue
		}
		if dir := againIn(r.Root, c.Path); dir != "" {
			again[dir] = true
			continue
		}
		if c.Kind != confine.Created && c.Type == "file" && r.Secret(c.Path) {
			secret = true
		}
		set := paths.Exactly(c.Path)
		if info, err := os.Lstat(c.Path); err == nil && info.Mode()&os.ModeSymlink != 0 && c.Type == "dir" {
			set = paths.Under(c.Path) // the files in it would be looked for where the link leads
		}
		reach = append(reach, changes.Reach{Paths: set})
	}
	for dir := range again {
		gaps = append(gaps, changes.Gap{Path: changes.Name(dir), Stays: true, Why: "programs make it again"})
	}
	slices.SortFunc(gaps, func(a, b changes.Gap) int { return strings.Compare(string(a.Path), string(b.Path)) })
	return reach, gaps, secret
}

// againIn returns the topmost directory of a path that programs make again, "" where there is none:
// `/p/node_modules` for `/p/node_modules/a/b.js`.
func againIn(root, path string) string {
	for dir, out := path, ""; ; dir = filepath.Dir(dir) {
		if len(dir) <= len(root) || dir == filepath.Dir(dir) {
			return out
		}
		if madeAgain().Has(filepath.Base(dir)) {
			out = dir
		}
	}
}

// After notes what the paths have become.
func (r *Run) After() error {
	if r.store == nil || r.Err != nil {
		return r.Err
	}
	if _, err := r.store.End(r.Call.DigestText(), r.Call.Session); err != nil {
		return err
	}
	return r.store.SweepNow()
}
