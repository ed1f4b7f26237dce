//go:build unix

package obstat

import (
	"os"
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
