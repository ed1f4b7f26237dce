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
