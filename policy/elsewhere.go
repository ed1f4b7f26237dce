package policy

import (
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/dialect/all"
	"github.com/obstat/obstat/paths"
)

// Neighbours finds the other projects that calls work in, such as B in `cd ../B && make`.
// It remembers directories that hold no configuration as long as nothing is added to
// them. The zero value is ready for use.
type Neighbours struct {
	mu      sync.Mutex
	empty   map[string]*watched
	watcher Watcher
}

// maxNeighbours bounds how many other projects of a call are looked at; a call that works in
// more is asked about.
const maxNeighbours = 16

// projectFiles are the names, or their first parts, of the files and directories of
// projects' configurations.
var projectFiles = sync.OnceValue(func() (out []string) {
	for _, d := range all.All() {
		for _, name := range dialect.WellKnown(d) {
			first, _, _ := strings.Cut(name, "/")
			out = append(out, first)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
})

// maxPath is the longest path that a kernel takes.
const maxPath = 4 << 10

// Of returns the directories with a configuration that files and directories of a call
// lie in, besides those that its own directories lie in; all is false if there are more of them.
func (n *Neighbours) Of(touched, own []string, home string) (out []string, all bool) {
	all = true
	n.mu.Lock()
	defer n.mu.Unlock()
	there := map[string]bool{} // directories that were looked at, and whether there are such
	now := n.watcher.look()
	for _, at := range touched {
		at = filepath.Clean(filepath.FromSlash(at))
		if len(at) > maxPath || !filepath.IsAbs(at) || isSystem(at) {
			continue // it cannot be opened, or is no project's
		}
		var found []string
		inHome := home != "" && paths.Inside(home, at)
		for dir := range levels(at) {
			is, seen := there[dir]
			switch {
			case inHome && len(dir) <= len(home):
				continue
			case seen && is || slices.ContainsFunc(own, func(o string) bool { return paths.Inside(dir, o) }):
				continue
			case !seen && n.holds(dir, now):
				found = append(found, dir)
				is = true
			case !seen:
				is = n.empty[dir] != nil
			}
			if there[dir] = is; !is {
				break // nor is there anything below
			}
		}
		slices.Reverse(found)
		all = all && len(out)+len(found) <= maxNeighbours
		out = append(out, found[:min(len(found), maxNeighbours-len(out))]...)
	}
	return out, all
}

// Dirs returns the directories that a shell pattern of an absolute path leads into, `/src/*` of
// `/src/*/x`; all is false if there are more of them than are looked at.
func Dirs(pattern string) (out []string, all bool) {
	out, all = []string{"/"}, true
	if isSystem(pattern[:max(strings.IndexAny(pattern, "*?["), 0)] + "x") {
		return nil, true
	}
	for part := range strings.SplitSeq(strings.Trim(pattern, "/"), "/") {
		var next []string
		for _, dir := range out {
			if !strings.ContainsAny(part, "*?[") {
				next = append(next, filepath.Join(dir, part))
				continue
			}
			list, err := readSome(dir)
			all = all && err == nil
			for _, e := range list {
				if ok, _ := filepath.Match(part, e.Name()); (ok || part == "**") && (e.IsDir() || e.Type()&os.ModeSymlink != 0) {
					next = append(next, filepath.Join(dir, e.Name()))
				}
			}
		}
		if all = all && len(next) <= maxDirs; len(next) > maxDirs {
			next = next[:maxDirs]
		}
		if len(next) == 0 {
			break // the last name need not be there, or is a file
		}
		out = next
	}
	return out, all
}

// maxDirs bounds how many directories a pattern leads into, maxEntries how many of one are looked at.
const (
	maxDirs    = 128
	maxEntries = 4096
)

// readSome reads a directory; one that is not there is empty, and one that is too large an error.
func readSome(dir string) ([]os.DirEntry, error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, nil
	}
	defer f.Close()
	list, _ := f.ReadDir(maxEntries)
	if len(list) == maxEntries {
		return list, errCrowded
	}
	return list, nil
}

// system are directories of the machine's own programs, which hold no project.
var system = []string{"/bin", "/boot", "/dev", "/lib", "/lib32", "/lib64", "/proc", "/sbin", "/sys", "/usr/bin", "/usr/include", "/usr/lib", "/usr/lib64", "/usr/libexec", "/usr/sbin", "/usr/share"}

// isSystem tells whether a path is in one of them.
func isSystem(p string) bool {
	return slices.ContainsFunc(system, func(dir string) bool { return paths.Inside(dir, p) })
}

// levels yields the directories above an absolute path, the highest first and without the
// root, and the path: /a, /a/b, /a/b/c.
func levels(at string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for i := len(filepath.VolumeName(at)) + 1; i < len(at); i++ {
			if os.IsPathSeparator(at[i]) && !yield(at[:i]) {
				return
			}
		}
		if filepath.Dir(at) != at {
			yield(at)
		}
	}
}

// holds tells whether a directory may hold a configuration. One that holds none is
// remembered if it is there.
func (n *Neighbours) holds(dir string, now moment) bool {
	if st := n.empty[dir]; st != nil && st.hold(&n.watcher, now) {
		return false
	}
	st := stampOf(dir)
	if st.info == nil || !st.info.IsDir() {
		return false
	}
	if slices.ContainsFunc(projectFiles(), func(name string) bool { return exists(filepath.Join(dir, name)) }) {
		return true
	}
	if n.empty == nil || len(n.empty) > maxWatched {
		n.empty = map[string]*watched{}
	}
	st.missing = projectFiles()
	n.empty[dir] = &watched{stamps: []*stamp{st}}
	return false
}

// Crowded returns f for a call that works in more other projects than are looked at: in place of
// allowing, it asks.
func (f *InForce) Crowded() *InForce {
	out := *f
	out.Broken = append(slices.Clone(f.Broken), Broken{Err: errCrowded, Bound: true})
	return &out
}

var errCrowded = fmt.Errorf("the call works in more than %d other projects, whose rules are not all looked at", maxNeighbours)

// With returns f with the policies of other projects besides, which only tighten.
func (f *InForce) With(others ...*InForce) *InForce {
	out := *f
	out.Policies = slices.Clone(f.Policies)
	for _, o := range others {
		for _, p := range o.Policies {
			if p.Place == "" || slices.ContainsFunc(f.Policies, func(have *Policy) bool { return have.Place == p.Place }) {
				continue
			}
			more := *p
			more.Role, more.Accepted, more.Why = Inner, true, "the call works in its project; it only tightens"
			out.Policies = append(out.Policies, &more)
		}
		out.Broken = slices.Concat(out.Broken, o.Broken)
	}
	return &out
}
