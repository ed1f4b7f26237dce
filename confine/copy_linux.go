package confine

import (
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// copyInto copies a file, link or pipe to a new name, with mode, owner, times and attributes,
// for layers that lie on another file system than the workspace.
func copyInto(parent int, name, from string, s step) error {
	if err := unix.Unlinkat(parent, name, 0); err != nil && !errors.Is(err, unix.ENOENT) {
		return err
	}
	info, err := os.Lstat(from)
	if err != nil {
		return err
	}
	switch {
	case info.Mode()&os.ModeSymlink != 0:
		target, err := os.Readlink(from)
		if err != nil {
			return err
		}
		err = unix.Symlinkat(target, parent, name)
		return errors.Join(err, timesStep(parent, name, s))
	case info.Mode()&os.ModeNamedPipe != 0:
		if err := unix.Mkfifoat(parent, name, 0o600); err != nil {
			return err
		}
	default:
		if err := copyFile(parent, name, from); err != nil {
			return err
		}
	}
	if err := modeStep(parent, name, s); err != nil {
		return err
	}
	return timesStep(parent, name, s)
}

func copyFile(parent int, name, from string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	fd, err := unix.Openat(parent, name, unix.O_CREAT|unix.O_EXCL|unix.O_WRONLY|unix.O_CLOEXEC|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return err
	}
	out := os.NewFile(uintptr(fd), name)
	_, err = io.Copy(out, in)
	for _, attr := range attributes(from) {
		value := xattr(from, attr)
		err = errors.Join(err, unix.Fsetxattr(fd, attr, []byte(value), 0))
	}
	if err := errors.Join(err, out.Sync(), out.Close()); err != nil {
		return fmt.Errorf("copy: %w", err)
	}
	return nil
}
