package ledger

import (
	"os"
	"syscall"
)

// syncData makes a file's content durable, and no more of it than is needed to
// read it again.
func syncData(f *os.File) error {
	for {
		err := syscall.Fdatasync(int(f.Fd()))
		if err != syscall.EINTR {
			return err
		}
	}
}

// writable tells whether the file system that a file is on takes writes.
func writable(f *os.File) bool {
	var st syscall.Statfs_t
	const readOnly = 1
	return syscall.Fstatfs(int(f.Fd()), &st) == nil && st.Flags&readOnly == 0
}
