package policy

import (
	"bytes"
	"encoding/binary"
	"runtime"
	"slices"
	"syscall"
)

// kernelEvents come from the kernel: inotify queues an event before the
// call that made the change returns, so that a read has all events of before it.
type kernelEvents struct {
	fd  int
	buf [16 << 10]byte
}

func newKernelEvents() *kernelEvents {
	fd, err := syscall.InotifyInit1(syscall.IN_CLOEXEC | syscall.IN_NONBLOCK)
	if err != nil {
		return nil
	}
	k := &kernelEvents{fd: fd}
	runtime.AddCleanup(k, func(fd int) { _ = syscall.Close(fd) }, fd)
	return k
}

// local are the file systems whose every change comes through this kernel: ext2 to 4,
// XFS, Btrfs, tmpfs, overlayfs, F2FS, ZFS. A change that
// another machine makes on a network's makes no event.
var local = []int64{0xEF53, 0x58465342, 0x9123683E, 0x01021994, 0x794C7630, 0xF2F52010, 0x2FC12FC1}

const (
	itself  = syscall.IN_ATTRIB | syscall.IN_DELETE_SELF | syscall.IN_MOVE_SELF
	entries = syscall.IN_ONLYDIR | syscall.IN_CREATE | syscall.IN_DELETE | syscall.IN_MOVED_FROM | syscall.IN_MOVED_TO
)

// maxReads bounds how many reads are made for one call: events may come as fast as they
// are read.
const maxReads = 4

// add watches a directory for names that come and go, or a file for writes.
func (k *kernelEvents) add(name string) (id int32, ok bool) {
	var st syscall.Statfs_t
	if err := syscall.Statfs(name, &st); err != nil || !slices.Contains(local, int64(uint32(st.Type))) {
		return 0, false
	}
	wd, err := syscall.InotifyAddWatch(k.fd, name, itself|entries)
	if err == syscall.ENOTDIR {
		wd, err = syscall.InotifyAddWatch(k.fd, name, itself|syscall.IN_MODIFY)
	}
	return int32(wd), err == nil
}

// read takes all events and tells whether one is relevant: the name in a directory that
// it is about, "" for the file or directory itself.
func (k *kernelEvents) read(relevant func(id int32, name string) bool) (out bool) {
	for range maxReads {
		n, err := syscall.Read(k.fd, k.buf[:])
		if err != nil || n <= 0 {
			return out || err != syscall.EAGAIN
		}
		for at := 0; at+syscall.SizeofInotifyEvent <= n; {
			id := int32(binary.NativeEndian.Uint32(k.buf[at:]))
			size := int(binary.NativeEndian.Uint32(k.buf[at+12:]))
			at += syscall.SizeofInotifyEvent
			name, _, _ := bytes.Cut(k.buf[at:at+size], []byte{0})
			at += size
			out = out || relevant(id, string(name))
		}
	}
	return true
}
