package all

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
)

// Of returns the dialect that all files are of.
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

// Discover looks in dir for the files that projects keep their configuration
// in, of the dialect of that name or, if it is empty, of any; shown is how the
// user calls dir. Files of two dialects are an error: nobody said which one
// counts.
func Discover(shown, dir, name string, read func(name string) ([]byte, error)) ([]dialect.File, error) {
	found := map[string][]dialect.File{}
	var looked []string
	for _, d := range All() {
		if name != "" && d.Name() != name {
			continue
		}
		for _, rel := range dialect.WellKnown(d) {
			looked = append(looked, rel)
			data, err := read(filepath.Join(dir, filepath.FromSlash(rel)))
			if errors.Is(err, fs.ErrNotExist) || errors.Is(err, os.ErrInvalid) {
				continue
			}
			file := dialect.File{Name: filepath.Join(shown, filepath.FromSlash(rel)), Data: data}
			if err != nil {
				return nil, obstat.Errors{dialect.IOError(file.Name, err)}
			}
			if name != "" || d.Detect(&file) != dialect.No {
				found[d.Name()] = append(found[d.Name()], file)
			}
		}
	}
	return chosen(found, looked, dir)
}

func chosen(found map[string][]dialect.File, looked []string, dir string) ([]dialect.File, error) {
	switch len(found) {
	case 1:
		for _, files := range found {
			return files, nil
		}
	case 0:
		return nil, obstat.Errors{{Code: obstat.CodeMissing, Pos: obstat.Pos{File: dir}, Msg: "no policy is given, and none is found here",
			Hint: "name one with --policy; looked for " + strings.Join(slices.Compact(looked), ", ")}}
	}
	var candidates []string
	for name, files := range found {
		for _, file := range files {
			candidates = append(candidates, file.Name+" ("+name+")")
		}
	}
	slices.Sort(candidates)
	return nil, obstat.Errors{{Code: obstat.CodeAmbiguous, Pos: obstat.Pos{File: dir}, Msg: "no policy is given, and several are found here: " + strings.Join(candidates, ", "),
		Hint: "name one with --policy, or its dialect with --dialect"}}
}
