package confined

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/confine"
)

// late looks, in a workspace that was written through, for names that were made since a run began and that the policy
// keeps from code: `.env`, `.vscode/tasks.json`, `sub/.git`. A layer would have held them back; here they are moved
// into obstat's state, so that nothing runs or reads them, and a person can take them back.
func (r *Run) late(began time.Time) (out []Refused) {
	root, since := r.Bounds.Root, began.Add(-time.Second).UnixNano()
	had := slices.Concat(r.Bounds.Profile.Hidden, r.Bounds.Profile.ReadOnly, r.Bounds.Make, r.Bounds.Known)
	_ = filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if name == root || d == nil {
			return nil
		}
		if slices.Contains(had, name) || d.IsDir() && isObjects(name) {
			return skipped(d)
		}
		info, ierr := d.Info()
		if ierr != nil || changeTime(info) < since {
			return nil
		}
		why := r.protects(name)
		if err != nil && why == "" {
			why = "it cannot be looked into, and a later call could open it: " + err.Error()
		}
		if why == "" && info.Mode()&fs.ModeSymlink != 0 {
			target, _ := os.Readlink(name) // "" leads to its own directory
			why = r.leadsOut(name, target)
		}
		if why == "" {
			return nil
		}
		at, err := r.putAway(name)
		if err != nil {
			why += "; it could not be moved away: " + err.Error()
		} else {
			why += "; it was moved to " + at
		}
		out = append(out, Refused{Kind: obstat.FaceWrite, What: name, Why: why})
		return skipped(d)
	})
	return out
}

func skipped(d fs.DirEntry) error {
	if d.IsDir() {
		return fs.SkipDir
	}
	return nil
}

// protects says why code may not make a name, "" where it may.
func (r *Run) protects(name string) string {
	if why := r.kept(name); why != "" {
		return why
	}
	if filepath.Base(name) == ".git" {
		return "it is a new repository, and git runs the programs that its config names"
	}
	if completesBare(name, name) {
		return "git would take " + filepath.Dir(name) + " for a repository, and run the programs that its config names"
	}
	if d, base := r.Ask(obstat.FaceWrite, name), r.base(obstat.FaceWrite); refusesName(&d, &base) {
		return d.Reason()
	}
	return ""
}

// putAway moves a name of the workspace into obstat's state, and returns where it is now.
func (r *Run) putAway(name string) (string, error) {
	dir := filepath.Join(r.State, "moved-away", time.Now().UTC().Format("20060102T150405.000000000"))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	rel := strings.TrimPrefix(name, r.Bounds.Root+"/")
	// On another file system: beside it, under a name that nothing looks for.
	spare := "obstat-moved-away-" + filepath.Base(dir) + "-" + strings.TrimLeft(filepath.Base(name), ".")
	return confine.TakeOut(r.Bounds.Root, rel, filepath.Join(dir, strings.ReplaceAll(rel, "/", "__")), spare)
}
