package agentscope

import (
	_ "embed"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect/kit"
	"github.com/obstat/obstat/paths"
)

//go:embed tables.txt
var tablesText string

// tables are the lists of the document and of its program.
var tables = sync.OnceValue(func() map[string][]string { return kit.Tables(tablesText) })

// listed tells whether a word is in one of the tables.
func listed(table, word string) bool { return slices.Contains(tables()[table], word) }

// dangerous tells whether a path, absolute and clean, is in the table; capitals
// do not matter, for file systems on which they do not.
func dangerous(p string) bool {
	p = strings.ToLower(p)
	return listed("dangerous files", path.Base(p)) ||
		slices.ContainsFunc(strings.Split(p, "/"), func(dir string) bool { return listed("dangerous dirs", dir) })
}

func resolver(f *obstat.Facts) paths.Resolver { return paths.Resolver{FS: f.World, Dir: f.Call.Dir} }

// resolve expands ~ and makes a path absolute; nothing else of it is special.
func resolve(f *obstat.Facts, name string) paths.Path {
	r := resolver(f)
	if strings.HasPrefix(name, "~") {
		return r.Resolve(name)
	}
	return r.Literal(name)
}

// checkFile is check_permissions of Write and Edit. Where links lead is the
// floor's business: it puts the file they lead to to this check as well.
func (t *toolset) checkFile(f *obstat.Facts) obstat.Finding {
	name, ok := f.String("file_path")
	if !ok || name == "" {
		return pass()
	}
	p := resolve(f, name)
	if dangerous(p.Abs) || dangerous(path.Clean(name)) {
		return safetyAsk("safety check: dangerous file or directory", name)
	}
	if t.edits(f.Mode) && t.inWorkingDirs(f, p) {
		return allow("the file is in a working directory and not a dangerous path")
	}
	return pass()
}

// edits tells whether the mode allows edits in working directories.
func (t *toolset) edits(m obstat.Mode) bool {
	return m == modeAcceptEdits || t.Head && m == modeDontAsk
}

// inWorkingDirs tells whether p leads into the directory the agent works in or
// one of the configured ones.
func (t *toolset) inWorkingDirs(f *obstat.Facts, p paths.Path) bool {
	if p.Why != "" || p.Real == "" {
		return false
	}
	for _, dir := range append([]string{f.Call.Dir}, t.Dirs...) {
		if dir == "" {
			dir = f.Call.Dir
		}
		d := resolve(f, dir)
		// The root as a working directory would be the whole machine; it stands
		// for itself alone, as in the original.
		if d.Why == "" && d.Real != "" && paths.Inside(d.Real, p.Real) && (d.Real != "/" || p.Real == "/") {
			return true
		}
	}
	return false
}
