package all

import (
	"errors"
	"io/fs"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
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
	if name != "claudecode" && name != "opencode" {
		return nil, nil
	}
	d, err := Find(name)
	if err != nil {
		return nil, err
	}
	places, err := dialect.PlacesOf(d, &dialect.Where{Dir: w.Dir, Home: w.Home, Getenv: w.Getenv, List: w.List})
	for _, p := range places {
		out = append(out, place{p.Name, p.Layer, p.Glob, p.Data})
	}
	return out, err
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
