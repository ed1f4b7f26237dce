package undo

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/obstat/obstat/internal/keep/changes"
	"github.com/obstat/obstat/ledger"
	"github.com/obstat/obstat/paths"
)

// A Path is a path and how it changed, in a word.
type Path struct {
	Path changes.Name `json:"path"`
	Was  string       `json:"was"` // new, changed, deleted, mode
}

// PathsOf returns the paths that a change changed.
func PathsOf(c *changes.Change) []Path {
	out := []Path{}
	for _, d := range c.Differences() {
		out = append(out, Path{d.Path, WordOf(&d.Before, &d.After)})
	}
	return out
}

// WordOf says in a word how a path changed.
func WordOf(before, after *changes.State) string {
	switch {
	case before.Kind == changes.None:
		return "new"
	case after.Kind == changes.None:
		return "deleted"
	case before.Kind != after.Kind:
		return string(after.Kind) + " now"
	case before.Digest == after.Digest && before.Target == after.Target:
		return "mode"
	}
	return "changed"
}

// MostShown is the largest file whose difference is shown.
const MostShown = 256 << 10

// TextOf returns the text of a state that is kept, or that the path has now; not ok of bytes that are no text, or too
// many.
func TextOf(store *changes.Store, path string, st *changes.State) (text string, ok bool) {
	switch st.Kind {
	case changes.None, changes.Dir:
		return "", true
	case changes.Link:
		return string(st.Target), true
	case changes.File:
		b, err := store.Contents(st.Digest, MostShown)
		if err != nil && st.Size <= MostShown {
			if b, err = os.ReadFile(path); err == nil && changes.DigestOf(b) != st.Digest {
				return "", false
			}
		}
		return string(b), err == nil && utf8.Valid(b)
	}
	return "", false
}

// Standing returns the changes, the latest first, that can be taken back: of one session, since a time, on some paths
// or below. Taking back is itself a change, and among them only where paths are named. A call that a person was asked
// about and that was not reported to have ended is none of them, since it may not have run.
func Standing(s *changes.Store, session string, since time.Time, only []string) ([]*changes.Change, error) {
	all, err := s.List()
	return slices.DeleteFunc(all, func(c *changes.Change) bool {
		other := session != "" && c.Session != session || c.Began.Before(since)
		none := c.Ended.IsZero() && c.Asked || !c.Ended.IsZero() && len(c.Differences()) == 0
		return c.Undone != "" || other || none || len(c.Undoes) > 0 && len(only) == 0 || !touches(c, only)
	}), err
}

// Here tells whether a change was made in a project, or changed something in it.
func Here(c *changes.Change, root string) bool {
	return paths.Inside(root, c.Dir) || touches(c, []string{root})
}

// ProjectOf returns the top of the repository that a directory lies in, or the directory.
func ProjectOf(dir string) string {
	if root, _ := repository(dir); root != "" {
		return root
	}
	return dir
}

// touches tells whether a change is on one of these paths, or below.
func touches(c *changes.Change, only []string) bool {
	if len(only) == 0 {
		return true
	}
	return slices.ContainsFunc(c.Differences(), func(d changes.Difference) bool {
		return slices.ContainsFunc(only, func(p string) bool { return paths.Inside(p, string(d.Path)) })
	})
}

// An Undone is what taking back made: the output of `obstat undo --json`, and the detail of its record.
type Undone struct {
	V      int      `json:"v"`
	ID     string   `json:"id"` // of the change that taking back made
	Undone []string `json:"undone"`
	Paths  []Path   `json:"paths"`
}

// TakeBack puts the paths of a plan back for a person, and writes that down in the ledger.
func TakeBack(ctx context.Context, plan *changes.Plan, by string, l ledger.Appender) (*Undone, error) {
	out := &Undone{V: 1, Paths: []Path{}}
	var short []string
	for _, c := range plan.Changes {
		out.Undone, short = append(out.Undone, c.ID), append(short, changes.ShortID(c.ID))
	}
	for _, s := range plan.Steps {
		out.Paths = append(out.Paths, Path{s.Path, WordOf(&s.Now, &s.To)})
	}
	c, err := plan.Apply(changes.Of{Call: "undo", Text: clip("obstat undo " + strings.Join(short, " ")),
		Dir: CommonDir(plan), Reason: "by " + by})
	if err != nil {
		return nil, err
	}
	out.ID = c.ID
	rec := &ledger.Record{Time: time.Now(), Kind: ledger.Undo, User: by, Dir: c.Dir, Verdict: "taken back",
		Reason: ledger.Clip(fmt.Sprintf("%d paths put back by %s", len(plan.Steps), by))}
	rec.Detail, _ = json.Marshal(out) // texts
	if err := l.Append(ctx, rec); err != nil {
		return nil, fmt.Errorf("it was put back, but the ledger cannot be written: %w", err)
	}
	return out, nil
}

// CommonDir is the directory that a plan changes something in.
func CommonDir(plan *changes.Plan) string {
	dir := filepath.Dir(string(plan.Steps[0].Path))
	for _, s := range plan.Steps {
		for !strings.HasPrefix(string(s.Path), strings.TrimSuffix(dir, "/")+"/") {
			dir = filepath.Dir(dir)
		}
	}
	return dir
}
