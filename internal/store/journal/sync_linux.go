package journal

import (
	"os"
	"syscall"
)

// SyncData makes a file's content durable, and no more of it than is needed to
// read it again: fsync would write its times as well.
func SyncData(f *os.File) error {
	for {
		err := syscall.Fdatasync(int(f.Fd()))
		if err != syscall.EINTR {
			return err
		}
	}
}
