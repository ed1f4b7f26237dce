//go:build unix

package obstat

import (
	"io/fs"
	"os"
	"path"
	"slices"
	"syscall"
)

// Every directory above every path of a call is looked at, and nearly all of
// them are no links, so these two tell no more than they are asked.

// Readlink returns the target of a symbolic link.
func (OS) Readlink(path string) (string, bool) {
	var buf [256]byte
	n, err := syscall.Readlink(path, buf[:])
	if err == nil && n < len(buf) {
		return string(buf[:n]), true
	}
	if err == syscall.EINVAL || err == syscall.ENOENT || err == syscall.ENOTDIR {
		return "", false
	}
	t, err := os.Readlink(path)
	return t, err == nil
}

// IsDir reports whether path is a directory, links followed.
func (OS) IsDir(path string) bool {
	var st syscall.Stat_t
	err := syscall.Stat(path, &st)
	for err == syscall.EINTR {
		err = syscall.Stat(path, &st)
	}
	return err == nil && st.Mode&syscall.S_IFMT == syscall.S_IFDIR
}

// Kind tells of a path, which is not followed itself, whether it is a symbolic link, a directory or a plain file.
func (OS) Kind(path string) (link, dir, file bool) {
	var st syscall.Stat_t
	err := syscall.Lstat(path, &st)
	for err == syscall.EINTR {
		err = syscall.Lstat(path, &st)
	}
	if err != nil {
		return false, false, false
	}
	kind := st.Mode & syscall.S_IFMT
	return kind == syscall.S_IFLNK, kind == syscall.S_IFDIR, kind == syscall.S_IFREG
}

// Twins looks for the other names of a file that has several: at the top of the home directory, and in the project
// around the file, near names first. The directories of packages and of git are passed by.
func (OS) Twins(file string) []string {
	var st syscall.Stat_t
	if err := syscall.Lstat(file, &st); err != nil || st.Mode&syscall.S_IFMT != syscall.S_IFREG || st.Nlink < 2 {
		return nil
	}
	t := twins{file: file, dev: uint64(st.Dev), ino: st.Ino, missing: int(st.Nlink) - 1, left: maxSearched}
	if home, ok := (OS{}).Home(""); ok {
		t.in(home)
	}
	for dirs := []string{projectOf(file)}; len(dirs) > 0 && t.missing > 0 && t.left > 0; dirs = dirs[1:] {
		dirs = append(dirs, t.in(dirs[0])...)
	}
	return t.names
}

// projectOf returns the directory of the repository that a file lies in, else its own.
func projectOf(file string) string {
	dir := path.Dir(file)
	for at := dir; at != "/" && at != "."; at = path.Dir(at) {
		var st syscall.Stat_t
		if syscall.Lstat(at+"/.git", &st) == nil {
			return at
		}
	}
	return dir
}

// twins is a look for the names of one file.
type twins struct {
	file          string
	dev, ino      uint64
	missing, left int // names that are not found yet, entries that may still be looked at
	names         []string
}

// in looks at the entries of a directory, and returns the directories among them.
func (t *twins) in(dir string) (dirs []string) {
	list, err := os.ReadDir(dir)
	if t.left -= len(list); err != nil || t.left < 0 {
		return nil
	}
	for _, e := range list {
		at := path.Join(dir, e.Name())
		switch {
		case e.IsDir():
			if n := e.Name(); n != ".git" && n != "node_modules" {
				dirs = append(dirs, at)
			}
		case at != t.file && e.Type() == fs.FileMode(0) && t.is(at) && !slices.Contains(t.names, at):
			t.names = append(t.names, at)
			t.missing--
		}
	}
	return dirs
}

func (t *twins) is(name string) bool {
	var st syscall.Stat_t
	return syscall.Lstat(name, &st) == nil && uint64(st.Dev) == t.dev && st.Ino == t.ino
}
