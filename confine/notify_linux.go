package confine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The structures of seccomp_unotify(2).
type (
	notification struct {
		ID    uint64
		PID   uint32
		Flags uint32
		Data  struct {
			Number int32
			Arch   uint32
			IP     uint64
			Args   [6]uint64
		}
	}
	notificationReply struct {
		ID    uint64
		Value int64
		Error int32
		Flags uint32
	}
	notificationFile struct {
		ID       uint64
		Flags    uint32
		Source   uint32
		New      uint32
		NewFlags uint32
	}
)

const (
	flagContinue = 1 // let the call go on as it is
	flagSendFile = 2 // hand a descriptor over and return it
)

// answerOpenings answers the command's openat calls until it is over. Most go on at once, to
// be judged by the kernel as ever; those for files that the Profile leaves out are put to the
// caller. Whatever is read here is a prediction: another thread can change the path meanwhile,
// so that an answer never lets a call go on that the kernel would not, and a file that is
// handed over is the one that was shown.
func (s *supervisor) answerOpenings(ctx context.Context, listener int) {
	defer unix.Close(listener)
	for ctx.Err() == nil {
		fds := []unix.PollFd{{Fd: int32(listener), Events: unix.POLLIN}}
		_, err := unix.Poll(fds, 1000)
		over := fds[0].Revents&(unix.POLLHUP|unix.POLLERR|unix.POLLNVAL) != 0
		if over || err != nil && !errors.Is(err, unix.EINTR) {
			return
		}
		if fds[0].Revents&unix.POLLIN == 0 {
			continue
		}
		var n notification
		if ioctl(listener, unix.SECCOMP_IOCTL_NOTIF_RECV, unsafe.Pointer(&n)) != nil {
			continue // the process is gone
		}
		go s.answerOpening(listener, n)
	}
}

func ioctl(fd int, request uint, arg unsafe.Pointer) error {
	_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), uintptr(request), uintptr(arg))
	if errno != 0 {
		return errno
	}
	return nil
}

func (s *supervisor) answerOpening(listener int, n notification) {
	goOn := func() {
		ioctl(listener, unix.SECCOMP_IOCTL_NOTIF_SEND, unsafe.Pointer(&notificationReply{ID: n.ID, Flags: flagContinue}))
	}
	path, err := s.openedPath(n)
	if err != nil || path == "" {
		goOn()
		return
	}
	// The process could have ended, and its number be another's, while its memory was read.
	id := n.ID
	if ioctl(listener, unix.SECCOMP_IOCTL_NOTIF_ID_VALID, unsafe.Pointer(&id)) != nil {
		return
	}
	if !s.c.Ask(Opening{Path: path, PID: int(n.PID)}) {
		s.refusedOpening(path)
		goOn()
		return
	}
	how := unix.OpenHow{Flags: unix.O_RDONLY | unix.O_CLOEXEC | unix.O_NONBLOCK, Resolve: unix.RESOLVE_NO_SYMLINKS}
	fd, err := unix.Openat2(unix.AT_FDCWD, path, &how)
	if err != nil {
		goOn()
		return
	}
	defer unix.Close(fd)
	file := notificationFile{ID: n.ID, Flags: flagSendFile, Source: uint32(fd)}
	if n.Data.Args[2]&unix.O_CLOEXEC != 0 {
		file.NewFlags = unix.O_CLOEXEC
	}
	err = ioctl(listener, unix.SECCOMP_IOCTL_NOTIF_ADDFD, unsafe.Pointer(&file))
	if err != nil && !errors.Is(err, unix.ENOENT) {
		goOn()
	}
}

func (s *supervisor) refusedOpening(path string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seems = append(s.seems, Refusal{Kind: "open", Name: path, Why: "the answer was no; seen before the fact"})
}

// openedPath returns the real path of a regular file that exists, that the call would read,
// and that the Profile does not show; "" for all others.
func (s *supervisor) openedPath(n notification) (string, error) {
	const writes = unix.O_WRONLY | unix.O_RDWR | unix.O_CREAT | unix.O_TRUNC | unix.O_DIRECTORY | unix.O_PATH
	if n.Data.Args[2]&writes != 0 {
		return "", nil
	}
	name, err := readString(int(n.PID), uintptr(n.Data.Args[1]))
	if err != nil {
		return "", err
	}
	if !filepath.IsAbs(name) {
		at := fmt.Sprintf("/proc/%d/cwd", n.PID)
		if dir := int32(n.Data.Args[0]); dir != unix.AT_FDCWD {
			at = fmt.Sprintf("/proc/%d/fd/%d", n.PID, dir)
		}
		dir, err := os.Readlink(at)
		if err != nil {
			return "", err
		}
		name = filepath.Join(dir, name)
	}
	if s.shows(filepath.Clean(name)) {
		return "", nil
	}
	real, err := filepath.EvalSymlinks(name)
	if err != nil || s.shows(real) {
		return "", err
	}
	info, err := os.Stat(real)
	if err != nil || !info.Mode().IsRegular() {
		return "", err
	}
	return real, nil
}

// shows reports whether the command sees a path by itself, or the path is private to it.
func (s *supervisor) shows(path string) bool {
	for _, dir := range append([]string{"/proc", "/dev", "/run", "/tmp", "/var/tmp"}, s.p.Sockets...) {
		if isBelow(path, dir) && s.view.rightsOf(path) == 0 {
			return true
		}
	}
	return s.view.rightsOf(path)&mayRead != 0 && !s.view.isHidden(path)
}

// readString reads a path from another process.
func readString(pid int, at uintptr) (string, error) {
	b := make([]byte, 0, unix.PathMax)
	const page = 4096
	for len(b) < unix.PathMax {
		// Up to the end of a page, since the next one may not be there.
		n := min(page-int(at%page), unix.PathMax-len(b))
		local := []unix.Iovec{{Base: &b[len(b) : len(b)+1][0]}}
		local[0].SetLen(n)
		got, err := unix.ProcessVMReadv(pid, local, []unix.RemoteIovec{{Base: at, Len: n}}, 0)
		if err != nil {
			return "", err
		}
		b = b[:len(b)+got]
		if end := bytes.IndexByte(b, 0); end >= 0 {
			return string(b[:end]), nil
		}
		at += uintptr(got)
	}
	return "", unix.ENAMETOOLONG
}
