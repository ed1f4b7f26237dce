package logfile

import (
	"os"
	"syscall"
)

// syncData makes a file's content durable, and no more of it than is needed to
// read it again.
func syncData(f *os.File) error {
	conn, err := f.SyscallConn()
	if err != nil {
		return err
	}
	// Control holds the file open: Sync may be called while another goroutine closes it.
	if cerr := conn.Control(func(fd uintptr) {
		for err = syscall.EINTR; err == syscall.EINTR; {
			err = syscall.Fdatasync(int(fd))
		}
	}); cerr != nil {
		return cerr
	}
	return err
}
