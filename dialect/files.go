package dialect

import (
	"cmp"
	"errors"
	"io/fs"
	"slices"
	"strings"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/agent"
)

// A Librarian is a Dialect whose library depends on the Program: one that was
// printed from another dialect's files has that dialect's.
type Librarian interface {
	LibraryFor(p *obstat.Program) *obstat.Library
}

// LibraryFor returns the library of p, which d has loaded, with the names of the agents
// whose calls are put to the rules as calls of the dialect's own tools.
func LibraryFor(d Dialect, p *obstat.Program) *obstat.Library {
	out := d.Library()
	if l, ok := d.(Librarian); ok && p.Dialect != d.Name() {
		out = l.LibraryFor(p)
	}
	if out != nil {
		out.Agents = agent.Agents()
	}
	return out
}

// DefaultFile returns the usual file name of d's configuration.
func DefaultFile(d Dialect) string { return cmp.Or(d.Info().Default, "policy.json") }

// WellKnown returns where a project may keep a configuration of d.
func WellKnown(d Dialect) []string {
	info := d.Info()
	if info.Files == nil && info.Default != "" {
		return []string{info.Default}
	}
	return info.Files
}

// Named tells whether a file has the name of one of d's files, such as
// `app/obstat.json`. It is d's also where it is broken: taken for no file at all, it
// would let other rules count.
func Named(d Dialect, name string) bool {
	name = "/" + strings.ReplaceAll(name, `\`, "/")
	return slices.ContainsFunc(WellKnown(d), func(rel string) bool { return strings.HasSuffix(name, "/"+rel) })
}

// IOError is the problem of a file that could not be read or written.
func IOError(name string, err error) *obstat.Error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		err = pe.Err
	}
	return &obstat.Error{Code: obstat.CodeIO, Pos: obstat.Pos{File: name}, Msg: err.Error()}
}
