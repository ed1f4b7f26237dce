// Package all is the only list of dialects. A program that reads any configuration
// file imports this package; one that knows its dialect imports that one alone.
//
// It owns the list and tells which dialect a file is of. Which files are in force
// is package policy's business.
package all

import (
	"errors"
	"fmt"
	"strings"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/dialect/adkfluent"
	"github.com/obstat/obstat/dialect/agentscope"
	"github.com/obstat/obstat/dialect/chorus"
	"github.com/obstat/obstat/dialect/claudecode"
	"github.com/obstat/obstat/dialect/codex"
	"github.com/obstat/obstat/dialect/copilot"
	"github.com/obstat/obstat/dialect/cursor"
	"github.com/obstat/obstat/dialect/gemini"
	"github.com/obstat/obstat/dialect/jiuwen"
	"github.com/obstat/obstat/dialect/native"
	"github.com/obstat/obstat/dialect/opencode"
	"github.com/obstat/obstat/dialect/program"
	"github.com/obstat/obstat/dialect/qwen"
)

// All returns every dialect there is, one line each.
func All() []dialect.Dialect {
	return []dialect.Dialect{
		adkfluent.Dialect{},
		&agentscope.Dialect{},
		native.Builtin{},
		chorus.Dialect{},
		claudecode.Dialect{},
		codex.Dialect{},
		copilot.Dialect{},
		cursor.Dialect{},
		gemini.Dialect{},
		jiuwen.Dialect{},
		native.Dialect{},
		opencode.Dialect{},
		program.Dialect{Libraries: library},
		qwen.Dialect{},
	}
}

// library returns the library of the dialect of that name, for Programs that
// were printed from its files.
func library(name string) *obstat.Library {
	if d, err := Find(name); err == nil {
		return d.Library()
	}
	return nil
}

// Names returns the names of all dialects.
func Names() []string { return names(All()) }

// Find returns the dialect of that name.
func Find(name string) (dialect.Dialect, error) {
	for _, d := range All() {
		if d.Name() == name {
			return d, nil
		}
	}
	return nil, obstat.Errors{{Code: obstat.CodeUnknownName, Msg: fmt.Sprintf("no dialect %q", name),
		Hint: "the dialects are " + strings.Join(Names(), ", ")}}
}

// Detect returns the dialect that f is written in, told by its name and shape.
// A file that could be of two is an error that lists them, and so is a file
// that is of none.
func Detect(f *dialect.File) (dialect.Dialect, error) { return detect(All(), f) }

func detect(list []dialect.Dialect, f *dialect.File) (dialect.Dialect, error) {
	var best dialect.Confidence
	var found []dialect.Dialect
	for _, d := range list {
		switch c := d.Detect(f); {
		case c == dialect.No || c < best:
		case c > best:
			best, found = c, []dialect.Dialect{d}
		default:
			found = append(found, d)
		}
	}
	if len(found) == 1 {
		return found[0], nil
	}
	e := &obstat.Error{Code: obstat.CodeAmbiguous, Pos: obstat.Pos{File: f.Name},
		Msg: "this could be a file of " + strings.Join(names(found), " or "), Hint: "say which with --dialect"}
	if len(found) == 0 {
		e.Code, e.Msg = obstat.CodeUnknownName, "this is not a file of any dialect that is known"
		e.Hint = "the dialects are " + strings.Join(names(list), ", ") + "; say which with --dialect"
	}
	return nil, obstat.Errors{e}
}

// Of returns the dialect that all files are of, or the one of that name.
func Of(name string, files []dialect.File) (dialect.Dialect, error) {
	if name != "" {
		return Find(name)
	}
	var found dialect.Dialect
	var errs obstat.Errors
	for i := range files {
		d, err := Detect(&files[i])
		switch {
		case err != nil:
			var es obstat.Errors
			errors.As(err, &es)
			errs = append(errs, es...)
		case found == nil:
			found = d
		case found.Name() != d.Name():
			errs = append(errs, &obstat.Error{Code: obstat.CodeConflict, Pos: obstat.Pos{File: files[i].Name},
				Msg:  fmt.Sprintf("this is a file of %s, and %s is one of %s", d.Name(), files[0].Name, found.Name()),
				Hint: "a policy is written in one dialect; say which with --dialect"})
		}
	}
	return found, errs.Fatal()
}

func names(list []dialect.Dialect) []string {
	out := make([]string, len(list))
	for i, d := range list {
		out[i] = d.Name()
	}
	return out
}
