package obstat

import (
	"syscall"
	"unsafe"
)

// Walk looks at a whole path with one call of the kernel. Where the kernel has no such call it
// says no, and each part is looked at.
func (OS) Walk(path string) (straight, dir bool) {
	const (
		openat2    = 437
		here       = -100     // AT_FDCWD
		onlyPath   = 0x200000 // O_PATH
		noSymlinks = 4        // RESOLVE_NO_SYMLINKS
	)
	name, err := syscall.BytePtrFromString(path)
	if err != nil {
		return false, false
	}
	at, how := here, struct{ flags, mode, resolve uint64 }{
		onlyPath | syscall.O_DIRECTORY | syscall.O_CLOEXEC, 0, noSymlinks}
	fd, _, errno := syscall.Syscall6(openat2, uintptr(at), uintptr(unsafe.Pointer(name)),
		uintptr(unsafe.Pointer(&how)), unsafe.Sizeof(how), 0, 0)
	switch errno {
	case 0:
		_ = syscall.Close(int(fd))
		return true, true
	case syscall.ENOENT, syscall.ENOTDIR: // no link led up to what is missing, or is no directory
		return true, false
	}
	return false, false
}
