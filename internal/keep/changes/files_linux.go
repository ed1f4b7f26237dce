package changes

import (
	"io/fs"
	"os"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// clone has one file share the blocks of another, where the file system can.
func clone(to, from *os.File) error { return unix.IoctlFileClone(int(to.Fd()), int(from.Fd())) }

// isSparse tells whether a file has holes.
func isSparse(info fs.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && info.Size() > 1<<16 && st.Blocks*512 < info.Size()/2
}

// diskSize is the room that a file takes on the disk.
func diskSize(info fs.FileInfo) int64 {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return st.Blocks * 512
	}
	return info.Size()
}

func ownerOf(info fs.FileInfo) (uid, gid int) {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return -1, -1
	}
	return int(st.Uid), int(st.Gid)
}

func inodeOf(info fs.FileInfo) uint64 {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0
	}
	return st.Ino
}

// changedAt is when a file's contents or rights were changed last.
func changedAt(info fs.FileInfo) time.Time {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return time.Time{}
	}
	return time.Unix(st.Ctim.Unix())
}

// Links returns how many names a file has.
func Links(info fs.FileInfo) uint64 {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 1
	}
	return uint64(st.Nlink)
}

// hasAttrs tells whether a path has extended attributes, without opening it; most directories have none.
func hasAttrs(p string) bool {
	n, err := unix.Llistxattr(p, nil)
	return err == nil && n > 0
}

// attrsOf returns the extended attributes of an open file that are the user's, and its access lists; nil for none.
func attrsOf(f *os.File) map[string][]byte {
	n, err := unix.Flistxattr(int(f.Fd()), nil) // how long the list is; most files have none
	if err != nil || n == 0 {
		return nil
	}
	buf := make([]byte, 1<<16)
	if n, err = unix.Flistxattr(int(f.Fd()), buf); err != nil {
		return nil
	}
	out := map[string][]byte{}
	for _, name := range strings.Split(strings.TrimSuffix(string(buf[:n]), "\x00"), "\x00") {
		if !strings.HasPrefix(name, "user.") && !strings.HasPrefix(name, "system.posix_acl_") {
			continue
		}
		value := make([]byte, 1<<16)
		if n, err := unix.Fgetxattr(int(f.Fd()), name, value); err == nil {
			out[name] = value[:n]
		}
	}
	if len(out) == 0 {
		return nil
	}
	return out
}

// setAttrs gives an open file these attributes and no others of their kinds.
func setAttrs(f *os.File, want map[string][]byte) error {
	for name := range attrsOf(f) {
		if _, ok := want[name]; !ok {
			if err := unix.Fremovexattr(int(f.Fd()), name); err != nil {
				return err
			}
		}
	}
	for name, value := range want {
		if err := unix.Fsetxattr(int(f.Fd()), name, value, 0); err != nil {
			return err
		}
	}
	return nil
}

// openPlain opens a file for reading without waiting for the other end of a pipe and without following a link.
func openPlain(name string) (*os.File, error) {
	return os.OpenFile(name, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
}
