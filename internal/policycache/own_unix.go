//go:build unix

package policycache

import (
	"io/fs"
	"os"
	"syscall"
)

// own tells whether a file is this user's and nobody else may change it.
func own(st fs.FileInfo) bool {
	sys, ok := st.Sys().(*syscall.Stat_t)
	return ok && int(sys.Uid) == os.Geteuid() && st.Mode().Perm()&0o022 == 0
}

// missing tells whether there is nothing under a name. It is asked so often that
// what [os.Stat] would tell besides is too much.
func missing(name string) bool { return syscall.Access(name, 0) == syscall.ENOENT }
