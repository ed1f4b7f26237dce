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
