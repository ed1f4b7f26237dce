package obstat

import (
	"bytes"
	"path"
	"slices"

	"github.com/obstat/obstat/effect"

	"github.com/obstat/obstat/paths"
)

// maxSeen bounds how much of the machine is written down with one decision.
const maxSeen = 1000

// A Recorder is a World that remembers the answers of another one, so that a
// decision can be made again on the same observations. A link or directory that
// it does not remember was not there. It is for one decision at a time.
type Recorder struct {
	Of World // nil knows nothing

	snap  Snapshot
	dirs  map[string]bool
	count int

	analyses []analysed // of the call to decide, and of those that mean the same
}

// analysed is the analysis of a call, which is known by its tool, input and directory.
type analysed struct {
	tool, dir string
	input     []byte
	analysis  *effect.Analysis
}

var _ World = (*Recorder)(nil)

// Analysis returns the effects of a call. For the first call that it is asked
// about, which is the one to decide, it is worked out once for all policies.
func (r *Recorder) Analysis(c *Call) *effect.Analysis {
	for i := range r.analyses {
		if of := &r.analyses[i]; of.tool == c.Tool && of.dir == c.Dir && bytes.Equal(of.input, c.Input) {
			return of.analysis
		}
	}
	a := c.analyze(r)
	if r.analyses == nil {
		r.known(c, a)
	}
	return a
}

// known keeps the analysis of a call.
func (r *Recorder) known(c *Call, a *effect.Analysis) {
	input := bytes.Clone(c.Input) // the caller may use the buffer again
	r.analyses = append(r.analyses, analysed{c.Tool, c.Dir, input, a})
}

// Home returns a home directory.
func (r *Recorder) Home(user string) (string, bool) {
	if r.Of == nil {
		return "", false
	}
	h, ok := r.Of.Home(user)
	switch {
	case !ok:
	case user == "":
		r.snap.HomeDir = h
	default:
		note(r, &r.snap.Homes, user, h)
	}
	return h, ok
}

// Readlink returns the target of a symbolic link.
func (r *Recorder) Readlink(name string) (string, bool) {
	if r.Of == nil {
		return "", false
	}
	t, ok := r.Of.Readlink(name)
	if ok {
		note(r, &r.snap.Links, name, t)
	}
	return t, ok
}

// Walk looks at a whole path. That there is no link is not noted: what is not remembered was
// not there.
func (r *Recorder) Walk(name string) (straight, dir bool) {
	w, ok := r.Of.(paths.Walker)
	if !ok {
		return false, false
	}
	return w.Walk(name)
}

// IsDir reports whether path is a directory.
func (r *Recorder) IsDir(path string) bool {
	ok := r.Of != nil && r.Of.IsDir(path)
	if ok && !r.dirs[path] {
		if note(r, &r.dirs, path, true); r.dirs[path] {
			r.snap.Dirs = append(r.snap.Dirs, path)
		}
	}
	return ok
}

// IsFile reports whether path is a file.
func (r *Recorder) IsFile(path string) bool {
	f, ok := r.Of.(paths.Filer)
	if ok = ok && f.IsFile(path); ok {
		r.seeFile(path)
	}
	return ok
}

// seeFile notes that a file is there.
func (r *Recorder) seeFile(path string) {
	if slices.Contains(r.snap.Files, path) {
		return
	}
	if r.count++; r.count <= maxSeen {
		r.snap.Files = append(r.snap.Files, path)
	}
}

// List returns the names of the symbolic links and of the directories in a directory. Where the
// links lead is noted; of the directories those that IsDir is asked for.
func (r *Recorder) List(dir string) (links, dirs []string, all bool) {
	l, ok := r.Of.(paths.Lister)
	if !ok {
		return nil, nil, true
	}
	links, dirs, all = l.List(dir)
	if !all || len(links) > maxSeen {
		r.count = maxSeen + 1 // what is not known cannot be recorded
		return nil, nil, false
	}
	for _, n := range links {
		r.Readlink(path.Join(dir, n))
	}
	return links, dirs, true
}

// Secrets returns the secrets in a directory, which are noted.
func (r *Recorder) Secrets(dir string) (files []string, all bool) {
	s, ok := r.Of.(paths.Searcher)
	if !ok {
		return nil, false
	}
	files, all = s.Secrets(dir)
	for _, f := range files {
		r.seeFile(f)
	}
	if all && !slices.Contains(r.snap.Searched, dir) {
		if r.count++; r.count <= maxSeen {
			r.snap.Searched = append(r.snap.Searched, dir)
		}
	}
	return files, all
}

// Twins returns the other names of a file, which are noted.
func (r *Recorder) Twins(file string) []string {
	t, ok := r.Of.(paths.Twinner)
	if !ok {
		return nil
	}
	names := t.Twins(file)
	for _, name := range names {
		if _, have := r.snap.Hard[name]; !have {
			note(r, &r.snap.Hard, name, file)
		}
	}
	return names
}

func note[V comparable](r *Recorder, m *map[string]V, k string, v V) {
	if *m == nil {
		*m = map[string]V{}
	}
	if have, ok := (*m)[k]; ok && have == v {
		return
	}
	if r.count++; r.count <= maxSeen {
		(*m)[k] = v
	}
}

// Seen returns the answers that were given, nil where they are too many to record.
func (r *Recorder) Seen() *Snapshot {
	if r.count > maxSeen {
		return nil
	}
	return &r.snap
}
