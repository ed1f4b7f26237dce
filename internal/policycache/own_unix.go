//go:build unix

package policycache

import (
	"errors"
	"syscall"
)

// These do what package os does, and no more: a process that lives for one call
// notices what else goes on when a file is opened there.

// errOthers is the error of a file that could be somebody else's.
var errOthers = errors.New("the cached policy could be somebody else's")

// readOwn reads a file that nobody but its owner, who is this user, may change.
func readOwn(name string) ([]byte, error) {
	return read(name, true)
}

func readFile(name string) ([]byte, error) { return read(name, false) }

// maxFile bounds what is read.
const maxFile = 256 << 20

// read reads a regular file, this user's own if that is wanted.
func read(name string, own bool) ([]byte, error) {
	fd, err := again(func() (int, error) {
		return syscall.Open(name, syscall.O_RDONLY|syscall.O_CLOEXEC|syscall.O_NONBLOCK, 0)
	})
	if err != nil {
		return nil, err
	}
	defer syscall.Close(fd)
	var st syscall.Stat_t
	if err := syscall.Fstat(fd, &st); err != nil {
		return nil, err
	}
	if st.Mode&syscall.S_IFMT != syscall.S_IFREG || st.Size > maxFile {
		return nil, errOthers
	}
	if own && (int(st.Uid) != syscall.Geteuid() || st.Mode&0o022 != 0) {
		return nil, errOthers
	}
	data := make([]byte, 0, st.Size+1) // one more, to see the end
	for {
		n, err := again(func() (int, error) { return syscall.Read(fd, data[len(data):cap(data)]) })
		if n <= 0 || err != nil {
			return data, err
		}
		if data = data[:len(data)+n]; len(data) == cap(data) {
			return nil, errOthers // it grows while it is read
		}
	}
}

// again does it again when a signal came in between.
func again(f func() (int, error)) (int, error) {
	for {
		if n, err := f(); err != syscall.EINTR {
			return n, err
		}
	}
}

// missing tells whether there is nothing under a name.
func missing(name string) bool { return syscall.Access(name, 0) == syscall.ENOENT }
