// Package program is the dialect of Programs written by hand: the file is the
// Program's own JSON form, as docs/program.md describes it and `obstat policy
// show --format json` prints it.
//
// It owns how such a file is recognised and loaded; the engine owns the meaning of
// a Program. A Program written by hand has no views, checks or
// predicates and does not compile if it names one; one that was printed from
// another dialect's files has those of that dialect, if this one is told where
// they are.
package program

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/dialect/kit"
	"github.com/obstat/obstat/internal/format/jsonx"
	"github.com/obstat/obstat/internal/format/tree"
)

// Dialect reads Programs. The zero value is ready for use.
type Dialect struct {
	// Libraries returns the library of the dialect that a Program was printed
	// from, nil if there is no such dialect. nil: there is none at all.
	Libraries func(dialect string) *obstat.Library
}

var (
	_ dialect.Librarian = Dialect{}
	_ dialect.Layered   = Dialect{}
	_ dialect.ToolNamer = Dialect{}
)

// Name returns "program".
func (Dialect) Name() string { return "program" }

// Info says where a project keeps a Program: where there is one, it decides for
// every agent.
func (Dialect) Info() dialect.Info {
	return dialect.Info{Files: []string{"obstat.json", ".obstat/program.json"}, Default: "program.json",
		Agents: []string{"*"}}
}

// Places returns the user's Program and the project's. A Program stands alone, so
// that each file is a set of its own.
func (d Dialect) Places(w *dialect.Where) ([]dialect.Place, error) {
	var out []dialect.Place
	config := w.Getenv("XDG_CONFIG_HOME")
	if config == "" && w.Home != "" {
		config = filepath.Join(w.Home, ".config")
	}
	if config != "" {
		out = append(out, dialect.Place{Name: filepath.Join(config, "obstat", "obstat.json"), Layer: dialect.LayerUser})
	}
	out = append(out, dialect.InProject(w, d.Info().Files...)...)
	for i := range out {
		out[i].Set = out[i].Name
	}
	return out, nil
}

// Detect is sure of an object with a key "obstat": the key holds the version of
// the Program's form and nobody else has it. Whatever else stands in a file that
// is called obstat.json is a Program that is broken, but for obstat's own entry in a
// directory of hooks, as in .copilot/hooks/obstat.json.
func (d Dialect) Detect(f *dialect.File) dialect.Confidence {
	found := dialect.No
	if dialect.Named(d, f.Name) {
		found = dialect.Maybe
	}
	if len(f.Data) > jsonx.MaxBytes {
		return max(found, detectLarge(f.Data))
	}
	n, _ := jsonx.Parse(f.Data, jsonx.Options{})
	switch {
	case n.Get("obstat") != nil:
		return dialect.Sure
	case n.Get("hooks").Is(tree.Object) && filepath.Base(filepath.Dir(f.Name)) == "hooks":
		return dialect.No
	}
	return found
}

// detectLarge looks only at the first key: a Program as it is printed starts
// with its version, and a file of a hundred megabytes was printed.
func detectLarge(data []byte) dialect.Confidence {
	const blanks = " \t\r\n"
	rest, ok := bytes.CutPrefix(bytes.TrimLeft(data, blanks), []byte("{"))
	if ok && bytes.HasPrefix(bytes.TrimLeft(rest, blanks), []byte(`"obstat"`)) {
		return dialect.Sure
	}
	return dialect.No
}

// Load reads the one file that a Program is.
func (Dialect) Load(in *dialect.Input) (*obstat.Program, obstat.Errors) {
	var errs obstat.Errors
	for _, f := range in.Files[min(1, len(in.Files)):] {
		errs = append(errs, &obstat.Error{Code: obstat.CodeConflict, Pos: obstat.Pos{File: f.Name, Line: 1, Col: 1},
			Msg:  "a Program stands alone; it has no layers",
			Hint: "put the rules of both files into one"})
	}
	if len(in.Files) == 0 {
		errs = append(errs, &obstat.Error{Code: obstat.CodeMissing, Msg: "no file to read a Program from"})
	}
	if len(in.Tools) > 0 {
		errs = append(errs, &obstat.Error{Code: obstat.CodeConflict,
			Msg: fmt.Sprintf("a Program takes no tool declarations, and %d are given", len(in.Tools))})
	}
	if len(errs) > 0 {
		return nil, errs
	}
	p, err := obstat.ParseProgram(in.Files[0].Name, in.Files[0].Data)
	if err != nil {
		errors.As(err, &errs)
		return nil, errs
	}
	return p, nil
}

// Library is empty: a Program written by hand has no views, checks or predicates.
func (Dialect) Library() *obstat.Library {
	return &obstat.Library{Own: kit.OwnTools("patch edit file_path")} // each file of a patch is an edit
}

// LibraryFor returns the library of the dialect that p was printed from.
func (d Dialect) LibraryFor(p *obstat.Program) *obstat.Library {
	if d.Libraries != nil && p.Dialect != "" && p.Dialect != d.Name() {
		if l := d.Libraries(p.Dialect); l != nil {
			return l
		}
	}
	return d.Library()
}

// ToolNames returns the tool of a rule of a Program that was written by hand.
func (Dialect) ToolNames(r *obstat.Rule) (names []string, open bool) {
	return kit.OneTool(r.Tool), false
}
