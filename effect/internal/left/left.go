// Package left holds things that one command leaves for the next: text that it prints, names that
// lead elsewhere (links, copies of directories, mounts).
//
// It owns how those are told from words and paths. It has no effects and decides nothing: package
// effect notes them and asks where a path leads.
package left

import (
	"path"
	"strings"

	"github.com/obstat/obstat/effect/kb"
	"github.com/obstat/obstat/paths"
	"github.com/obstat/obstat/shell"
)

// Links is the file system with the links that a command itself makes: of
// `ln -s . x; cat x/.env` the second is about .env.
type Links struct {
	paths.FS
	To map[string]string
}

// Readlink follows a link of the command, or one that is there.
func (l *Links) Readlink(p string) (string, bool) {
	if to, ok := l.To[p]; ok {
		return to, true
	}
	if l.FS == nil {
		return "", false
	}
	return l.FS.Readlink(p)
}

// List adds the command's links to those that are there.
func (l *Links) List(dir string) (links, dirs []string, all bool) {
	all = true
	if fs, ok := l.FS.(paths.Lister); ok {
		links, dirs, all = fs.List(dir)
	}
	for p := range l.To {
		if path.Dir(p) == dir {
			links = append(links, path.Base(p))
		}
	}
	return links, dirs, all
}

// IsFile passes on the answer of the file system below.
func (l *Links) IsFile(p string) bool {
	fs, ok := l.FS.(paths.Filer)
	return ok && fs.IsFile(p)
}

// Secrets passes on the answer of the file system below.
func (l *Links) Secrets(dir string) (files []string, all bool) {
	if fs, ok := l.FS.(paths.Searcher); ok {
		return fs.Secrets(dir)
	}
	return nil, false
}

// Twins passes on the answer of the file system below.
func (l *Links) Twins(p string) []string {
	if fs, ok := l.FS.(paths.Twinner); ok {
		return fs.Twins(p)
	}
	return nil
}

// Copies are directories that a command makes a second one of. The files have the same names there: of
// `git worktree add ../w && cat ../w/.env` the second is about .env.
type Copies []struct{ from, to string }

// Note adds a copy, or a copy of a copy.
func (c *Copies) Note(from, to string) {
	for _, before := range *c {
		if paths.Inside(before.to, from) {
			from = before.from + from[len(before.to):]
		}
	}
	*c = append(*c, struct{ from, to string }{from, to})
}

// Origin returns the path that copy i has a path from, "" if it has not; of a tree, also of one around it.
func (c Copies) Origin(i int, p string, tree bool) string {
	switch from, to := c[i].from, c[i].to; {
	case from == "" || to == "" || paths.Inside(to, from):
	case paths.Inside(to, p):
		return from + p[len(to):]
	case tree && paths.Inside(p, to):
		return from
	}
	return ""
}

// A Mount is a directory of this machine that a container is given: `docker run -v .:/app`.
type Mount struct {
	Inside string // where the container has it
	Host   string // absolute, with links followed; "" if it is not known
}

var (
	mountFrom = kb.Table("!mount-from")
	mountTo   = kb.Table("!mount-to")
)

// ReadMount reads `here:there`, or `type=bind,src=here,dst=there`.
func ReadMount(text string) (from, to string) {
	if !strings.Contains(text, "=") {
		from, to, _ = strings.Cut(text, ":")
		to, _, _ = strings.Cut(to, ":")
		return from, to
	}
	for field := range strings.SplitSeq(text, ",") {
		switch key, value, _ := strings.Cut(field, "="); {
		case mountFrom().Has(key):
			from = value
		case mountTo().Has(key):
			to = value
		}
	}
	return from, to
}

// Below returns where a word of a command in the container lies in the mount, from there.
func (m *Mount) Below(w *shell.Word, dir string, tree bool) (rest string, ok bool) {
	at := w.Text
	switch {
	case !w.Known:
		return "", true
	case path.IsAbs(at):
	case dir == "":
		return at, true
	default:
		at = path.Join(dir, at)
	}
	at = path.Clean(at)
	if tree && paths.Inside(at, m.Inside) {
		return ".", true // all that is in it
	}
	if w.Glob {
		return m.globbed(at)
	}
	if !paths.Inside(m.Inside, at) {
		return "", false
	}
	return "." + at[len(strings.TrimSuffix(m.Inside, "/")):], true
}

// globbed is Below for a pattern, which may lead into the mount by its name: `cat /*/.env`.
func (m *Mount) globbed(at string) (rest string, ok bool) {
	inside := strings.Split(strings.TrimSuffix(m.Inside, "/"), "/")
	names := strings.Split(at, "/")
	for i, name := range inside {
		if i >= len(names) {
			return "", false
		}
		if names[i] != name && !paths.Matching(names[i]).Has(name) {
			return "", false
		}
	}
	return path.Join(append([]string{"."}, names[len(inside):]...)...), true
}
