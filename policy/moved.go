package policy

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// carried returns the pin of another place that counts for a site, nil for none: that of
// another worktree of the same repository, or of the same directory under the name that it
// had. It counts as long as the files are those that were accepted, byte for byte. A
// second clone is another repository, and has to be accepted.
func (s *search) carried(st *site) *Pin {
	if st.configs == nil || s.pins.idx == nil {
		return nil
	}
	for _, place := range worktrees(st.key) {
		if pin, at := s.pins.at(place); pin != nil && !at.Doubt && pin.holds(st) {
			return pin
		}
	}
	id := identity(st.key)
	if id == "" {
		return nil
	}
	for place := range s.pins.idx.Pins {
		if _, err := os.Lstat(place); !absent(err) {
			continue // it is still there, and this is another
		}
		if pin, at := s.pins.at(place); pin != nil && !at.Doubt && pin.Inode == id && pin.holds(st) {
			return pin
		}
	}
	return nil
}

// twin returns another place for which the same files were accepted, "" for none.
func (s *search) twin(st *site) string {
	if s.pins == nil || s.pins.idx == nil || len(st.configs) == 0 {
		return ""
	}
	var places []string
	for place := range s.pins.idx.Pins {
		places = append(places, place)
	}
	slices.Sort(places)
	for _, place := range places {
		if pin, at := s.pins.at(place); place != st.key && pin != nil && len(pin.Files) > 0 && !at.Doubt && pin.holds(st) {
			return place
		}
	}
	return ""
}

// maxWorktrees bounds the worktrees of a repository that are looked at.
const maxWorktrees = 200

// worktrees returns where a directory is in the other worktrees of its repository, by
// git's own files: `.git` of a worktree names its directory below the repository, and
// `gitdir` there names that `.git`.
func worktrees(dir string) (out []string) {
	top := dir
	for !present(filepath.Join(top, ".git")) {
		if top == filepath.Dir(top) {
			return nil
		}
		top = filepath.Dir(top)
	}
	common := filepath.Join(top, ".git")
	if own, is := strings.CutPrefix(line(common), "gitdir: "); is {
		if common = filepath.Dir(filepath.Dir(own)); !sameFile(line(filepath.Join(own, "gitdir")), filepath.Join(top, ".git")) {
			return nil // it only says so
		}
	}
	tops := []string{filepath.Dir(common)} // the main one
	list, _ := filepath.Glob(filepath.Join(common, "worktrees", "*", "gitdir"))
	for _, name := range list[:min(len(list), maxWorktrees)] {
		tops = append(tops, filepath.Dir(line(name)))
	}
	rel, err := filepath.Rel(top, dir)
	for _, other := range tops {
		if err == nil && filepath.IsAbs(other) && other != top {
			if real, err := resolve(filepath.Join(other, rel)); err == nil {
				out = append(out, real)
			}
		}
	}
	return out
}

func present(name string) bool {
	_, err := os.Lstat(name)
	return err == nil
}

// sameFile tells whether two names lead to one file.
func sameFile(a, b string) bool {
	one, err := os.Stat(a)
	if err != nil {
		return false
	}
	two, err := os.Stat(b)
	return err == nil && os.SameFile(one, two)
}

// maxLine bounds a file of git's that names a directory.
const maxLine = 1 << 14

// line returns the text of a small file without the end of its line, "" for none.
func line(name string) string {
	fi, err := os.Stat(name)
	if err != nil || !fi.Mode().IsRegular() || fi.Size() > maxLine {
		return ""
	}
	data, _ := os.ReadFile(name)
	return strings.TrimRight(string(data), "\r\n")
}
