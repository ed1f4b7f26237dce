package dialect

import (
	"errors"
	"io/fs"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// The layers that a file can be of.
const (
	LayerManaged = "managed" // the machine's, written by its administrator
	LayerUser    = "user"
	LayerProject = "project"
	LayerLocal   = "local" // the project's, of this user alone
	LayerSession = "session"
)

// Where is the place whose configuration is looked for.
type Where struct {
	Dir     string // the project's directory; "" leaves the project's files out
	Home    string // the user's; "" is not known
	Machine string // stands before the machine's own directories; "" outside of tests
	Getenv  func(string) string
	// List returns the names in a directory.
	List func(dir string) ([]string, error)
}

// A Place is a file that the dialect's system reads its configuration from,
// `/home/u/.claude/settings.json`, or a pattern of such files.
type Place struct {
	Name  string
	Glob  bool // Name is a pattern
	Layer string
	// Set groups the files that are read together; "" is a set like any other. A
	// system without layers has a set for each directory.
	Set string
	// Env is the environment variable that names the file, or holds its text, which
	// is in Data then. A project may have set it.
	Env  string
	Data []byte
}

// A Layered is a Dialect whose system reads more than a project's files. The
// places come lowest precedence first.
type Layered interface {
	Places(w *Where) ([]Place, error)
}

// A Companion is a Dialect whose system reads more files of the directory that a named
// file lies in: JiuwenSwarm a builtin_rules.yaml beside config.yaml.
type Companion interface {
	Beside(name string) []string
}

// A Speaker is a Dialect that tells a file with rules from one of the same name
// that has nothing to say about permissions, such as an opencode.json that only
// names a model.
type Speaker interface {
	Speaks(f *File) bool
}

// PlacesOf returns where the system of d reads its configuration, lowest
// precedence first.
func PlacesOf(d Dialect, w *Where) ([]Place, error) {
	if l, ok := d.(Layered); ok {
		return l.Places(w)
	}
	return InProject(w, WellKnown(d)...), nil
}

// InProject returns the places of the project's files of those names.
func InProject(w *Where, names ...string) (out []Place) {
	if w.Dir == "" {
		return nil
	}
	for _, rel := range names {
		out = append(out, Place{Name: filepath.Join(w.Dir, filepath.FromSlash(rel)), Layer: LayerProject})
	}
	return out
}

// OwnedBy tells whether d's files are the own configuration of an agent.
func OwnedBy(d Dialect, agent string) bool { return slices.Contains(d.Info().Agents, agent) }

// Speaks tells whether f is a file of d with something to say about permissions.
// A broken file at d's own place is one.
func Speaks(d Dialect, f *File) bool {
	if d.Detect(f) == No {
		return false
	}
	s, ok := d.(Speaker)
	return !ok || s.Speaks(f)
}

// Parts returns the files of a directory of parts such as managed-settings.d, in
// alphabetical order. A directory that cannot be read is an error: it may hold
// denials.
func (w *Where) Parts(dir, suffix string) ([]string, error) {
	names, err := w.List(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, IOError(dir, err)
	}
	var out []string
	for _, name := range names {
		if strings.HasSuffix(name, suffix) && !strings.HasPrefix(name, ".") {
			out = append(out, filepath.Join(dir, name))
		}
	}
	slices.Sort(out)
	return out, nil
}

// Slashed returns the file's name, clean and with slashes alone: `a\.claude\settings.json` is
// `a/.claude/settings.json`.
func (f *File) Slashed() string { return path.Clean(strings.ReplaceAll(f.Name, `\`, "/")) }

// Places collects places, lowest precedence first.
type Places []Place

// Add adds files of a directory, patterns among them; "" is a directory that is not known.
func (p *Places) Add(layer, dir string, names ...string) {
	for _, name := range names {
		if dir != "" {
			at := filepath.Join(dir, filepath.FromSlash(name))
			*p = append(*p, Place{Name: at, Glob: strings.Contains(name, "*"), Layer: layer})
		}
	}
}

// Managed returns the directory of the machine's own policy: that of the system this runs on.
func (w *Where) Managed(linux, darwin, windows string) string {
	return filepath.Join(w.Machine, OnSystem(linux, darwin, windows))
}

// OnSystem returns the text for the system that this runs on.
func OnSystem(linux, darwin, windows string) string {
	switch runtime.GOOS {
	case "darwin":
		return darwin
	case "windows":
		return windows
	}
	return linux
}
