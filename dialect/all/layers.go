package all

import (
	"errors"
	"io/fs"
	"path/filepath"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/dialect/claudecode"
	"github.com/obstat/obstat/dialect/opencode"
)

// Where is what the place of a configuration hangs on.
type Where struct {
	Dir    string // of the project
	Home   string // of the user; "" is nobody's
	Getenv func(string) string
	// Read reads a file, List the names in a directory, and Glob finds the files
	// that a pattern names.
	Read func(name string) ([]byte, error)
	List func(dir string) ([]string, error)
	Glob func(pattern string) ([]string, error)
}

// A place is a file that an agent would read, or a pattern of them.
type place struct {
	name, layer string
	glob        bool
	data        []byte // from the environment
}

// layered returns where the program that a dialect belongs to looks for its
// configuration, lowest precedence first; nothing where a project's files are
// all there is.
func layered(name string, w *Where) (out []place, err error) {
	switch name {
	case claudecode.Dialect{}.Name():
		places, err := claudecode.Places(w.Dir, w.Home, "", w.List)
		if err != nil {
			return nil, obstat.Errors{dialect.IOError(claudecode.ManagedDir(), err)}
		}
		for _, p := range places {
			out = append(out, place{name: p.Name, layer: p.Layer})
		}
	case opencode.Dialect{}.Name():
		for _, p := range opencode.Places(w.Getenv, w.Home, w.worktree(), w.Dir) {
			if p.Path == "" {
				p.Path = "(environment)"
			}
			out = append(out, place{p.Path, p.Layer, p.Glob, p.Data})
		}
	}
	return out, nil
}

// worktree returns the root of the working tree that the directory is in, ""
// where it is in none.
func (w *Where) worktree() string {
	for dir := filepath.Clean(w.Dir); ; dir = filepath.Dir(dir) {
		if found, err := w.Glob(filepath.Join(dir, ".git")); err == nil && len(found) > 0 {
			return dir
		}
		if dir == filepath.Dir(dir) {
			return ""
		}
	}
}

// Looked returns every file that Layers would read, whether it is there or not.
func Looked(name string, w *Where) (out []string, err error) {
	places, err := layered(name, w)
	for _, p := range places {
		switch {
		case p.data != nil:
		case p.glob:
			found, _ := w.Glob(p.name) // the pattern is ours: it is not malformed
			out = append(out, found...)
		default:
			out = append(out, p.name)
		}
	}
	return out, err
}

// Layers returns the files of all layers that the program which a dialect
// belongs to would read for a project: the user's, the project's and the
// machine's, lowest precedence first; nil where a project's files are all there
// is.
func Layers(name string, w *Where) ([]dialect.File, error) {
	places, err := layered(name, w)
	if err != nil {
		return nil, err
	}
	var out []dialect.File
	for _, p := range places {
		if p.data != nil {
			out = append(out, dialect.File{Name: p.name, Layer: p.layer, Data: p.data})
			continue
		}
		names := []string{p.name}
		if p.glob {
			names, _ = w.Glob(p.name)
		}
		for _, n := range names {
			data, err := w.Read(n)
			if errors.Is(err, fs.ErrNotExist) {
				continue
			}
			if err != nil {
				return nil, obstat.Errors{dialect.IOError(n, err)}
			}
			out = append(out, dialect.File{Name: n, Layer: p.layer, Data: data})
		}
	}
	return out, nil
}
