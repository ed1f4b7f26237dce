package confine

import (
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// deniedCalls are system calls that reach out of a confinement, or into parts of the kernel
// that an ordinary command has no use for.
var deniedCalls = []uint32{
	// the view of files, and namespaces
	unix.SYS_MOUNT, unix.SYS_UMOUNT2, unix.SYS_PIVOT_ROOT, unix.SYS_CHROOT, unix.SYS_MOVE_MOUNT, unix.SYS_OPEN_TREE,
	unix.SYS_FSOPEN,
	unix.SYS_FSCONFIG, unix.SYS_FSMOUNT, unix.SYS_FSPICK, unix.SYS_MOUNT_SETATTR, unix.SYS_SETNS,
	unix.SYS_OPEN_BY_HANDLE_AT,
	unix.SYS_NAME_TO_HANDLE_AT, unix.SYS_FANOTIFY_INIT, unix.SYS_OPEN_TREE_ATTR,
	// keys of the user, which no namespace separates
	unix.SYS_KEYCTL, unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY,
	// code in the kernel, and its memory
	unix.SYS_BPF, unix.SYS_USERFAULTFD, unix.SYS_PERF_EVENT_OPEN, unix.SYS_INIT_MODULE, unix.SYS_FINIT_MODULE,
	unix.SYS_DELETE_MODULE,
	unix.SYS_KEXEC_LOAD, unix.SYS_REBOOT, unix.SYS_SYSLOG, unix.SYS_LOOKUP_DCOOKIE,
	// the machine as a whole
	unix.SYS_SWAPON, unix.SYS_SWAPOFF, unix.SYS_ACCT, unix.SYS_QUOTACTL, unix.SYS_QUOTACTL_FD, unix.SYS_SETTIMEOFDAY,
	unix.SYS_CLOCK_SETTIME,
	unix.SYS_CLOCK_ADJTIME, unix.SYS_ADJTIMEX, unix.SYS_SETHOSTNAME, unix.SYS_SETDOMAINNAME, unix.SYS_VHANGUP,
	unix.SYS_NFSSERVCTL,
	unix.SYS_MIGRATE_PAGES, unix.SYS_MOVE_PAGES, unix.SYS_KCMP,
}

// missingCalls are answered as an older kernel would: programs then take another way. clone3
// and openat2 take their flags from memory, where a filter cannot look.
var missingCalls = []uint32{unix.SYS_CLONE3, unix.SYS_OPENAT2, unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER,
	unix.SYS_IO_URING_REGISTER}

const newNamespaces = unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWIPC |
	unix.CLONE_NEWUTS | unix.CLONE_NEWNET |
	unix.CLONE_NEWCGROUP | unix.CLONE_NEWTIME

// Offsets in struct seccomp_data.
const (
	dataNumber = 0
	dataArch   = 4
	dataArg0   = 16
)

func argument(n uint32) uint32 { return dataArg0 + 8*n } // the low half; filterArch is little-endian

const (
	retAllow = unix.SECCOMP_RET_ALLOW
	retErrno = unix.SECCOMP_RET_ERRNO
)

func load(offset uint32) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: offset}
}

func ret(k uint32) unix.SockFilter { return unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: k} }

func jump(op uint16, k uint32, yes, no uint8) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_JMP | op | unix.BPF_K, Jt: yes, Jf: no, K: k}
}

// onCall runs a block for one system call, which has to end in a return.
func onCall(number uint32, block ...unix.SockFilter) []unix.SockFilter {
	return append([]unix.SockFilter{jump(unix.BPF_JEQ, number, 0, uint8(len(block)))}, block...)
}

// filterProgram is the filter of a plan.
func filterProgram(p plan) []unix.SockFilter {
	prog := []unix.SockFilter{
		load(dataArch), jump(unix.BPF_JEQ, filterArch, 1, 0), ret(retErrno | uint32(unix.ENOSYS)),
		load(dataNumber),
	}
	if filterArch == unix.AUDIT_ARCH_X86_64 {
		const x32 = 0x40000000
		prog = append(prog, jump(unix.BPF_JGE, x32, 0, 1), ret(retErrno|uint32(unix.ENOSYS)))
	}
	for _, number := range deniedCalls {
		prog = append(prog, onCall(number, ret(retErrno|uint32(unix.EPERM)))...)
	}
	for _, number := range deniedHere {
		prog = append(prog, onCall(number, ret(retErrno|uint32(unix.EPERM)))...)
	}
	for _, number := range missingCalls {
		prog = append(prog, onCall(number, ret(retErrno|uint32(unix.ENOSYS)))...)
	}
	for _, number := range []uint32{unix.SYS_CLONE, unix.SYS_UNSHARE} {
		prog = append(prog, onCall(number, load(argument(0)),
			jump(unix.BPF_JSET, newNamespaces, 0, 1), ret(retErrno|uint32(unix.EPERM)), ret(retAllow))...)
	}
	prog = append(prog, onCall(unix.SYS_IOCTL, load(argument(1)),
		jump(unix.BPF_JEQ, unix.TIOCSTI, 1, 0), jump(unix.BPF_JEQ, tiocLinux, 0, 1),
		ret(retErrno|uint32(unix.EPERM)), ret(retAllow))...)
	prog = append(prog, onCall(unix.SYS_SOCKET, socketBlock(p)...)...)
	if p.Level != LevelFull {
		// Limits of the user's other processes: without a pid namespace `prlimit --pid N --cpu=0` ends one.
		prog = append(prog, onCall(unix.SYS_PRLIMIT64, load(argument(0)),
			jump(unix.BPF_JEQ, 0, 1, 0), ret(retErrno|uint32(unix.EPERM)), ret(retAllow))...)
	}
	otherwise := uint32(retAllow)
	if p.Notify {
		otherwise = unix.SECCOMP_RET_USER_NOTIF
	}
	prog = append(prog, onCall(unix.SYS_OPENAT, makingBlock(2, 3, otherwise)...)...)
	prog = append(prog, modeBlocks()...)
	return append(prog, ret(retAllow))
}

const tiocLinux = 0x541c

// modeBlocks refuse set-user-id bits: a program that has one would lie in the workspace, for
// others on the machine to run.
func modeBlocks() []unix.SockFilter {
	var prog []unix.SockFilter
	for _, c := range append([]modeCall{{unix.SYS_FCHMOD, 1}, {unix.SYS_FCHMODAT, 2}, {unix.SYS_FCHMODAT2, 2},
		{unix.SYS_MKNODAT, 2}}, modeCallsHere...) {
		prog = append(prog, onCall(c.number, load(argument(c.mode)),
			jump(unix.BPF_JSET, unix.S_ISUID, 0, 1), ret(retErrno|uint32(unix.EPERM)), ret(retAllow))...)
	}
	return append(prog, openBlocksHere()...)
}

// A modeCall is a system call with a mode among its arguments.
type modeCall struct{ number, mode uint32 }

// makingBlock refuses the same to calls that open files, whose mode counts only where one is
// made.
func makingBlock(flags, mode, otherwise uint32) []unix.SockFilter {
	const makes = unix.O_CREAT | unix.O_TMPFILE&^unix.O_DIRECTORY
	return []unix.SockFilter{
		load(argument(flags)), jump(unix.BPF_JSET, makes, 0, 3),
		load(argument(mode)), jump(unix.BPF_JSET, unix.S_ISUID, 0, 1), ret(retErrno | uint32(unix.EPERM)),
		ret(otherwise),
	}
}

// socketBlock lets unix, inet and the routing part of netlink through, which getifaddrs(3)
// needs. Other families (packet, vsock, alg, ...) are not there.
func socketBlock(p plan) []unix.SockFilter {
	verdict := func(closed bool) unix.SockFilter {
		if closed {
			return ret(retErrno | uint32(unix.EACCES))
		}
		return ret(retAllow)
	}
	return []unix.SockFilter{
		load(argument(0)),
		jump(unix.BPF_JEQ, unix.AF_UNIX, 0, 1), verdict(p.NoUnix),
		jump(unix.BPF_JEQ, unix.AF_INET, 1, 0), jump(unix.BPF_JEQ, unix.AF_INET6, 0, 1), verdict(p.NoInet),
		jump(unix.BPF_JEQ, unix.AF_NETLINK, 0, 2), load(argument(2)), jump(unix.BPF_JEQ, unix.NETLINK_ROUTE, 1, 0),
		ret(retErrno | uint32(unix.EAFNOSUPPORT)),
		ret(retAllow),
	}
}

// filterThread puts the calling thread under a filter; with a listener it returns the
// descriptor on which notifications arrive.
func filterThread(prog []unix.SockFilter, listener bool) (int, error) {
	fprog := unix.SockFprog{Len: uint16(len(prog)), Filter: &prog[0]}
	const setModeFilter = 1
	var flags uintptr
	if listener {
		// Signals that do not kill, such as those of Go's scheduler, wait until the answer is there.
		flags = unix.SECCOMP_FILTER_FLAG_NEW_LISTENER | unix.SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV
	}
	fd, _, errno := unix.Syscall(unix.SYS_SECCOMP, setModeFilter, flags, uintptr(unsafe.Pointer(&fprog)))
	if errno == unix.EINVAL && listener {
		flags = unix.SECCOMP_FILTER_FLAG_NEW_LISTENER // before Linux 5.19
		fd, _, errno = unix.Syscall(unix.SYS_SECCOMP, setModeFilter, flags, uintptr(unsafe.Pointer(&fprog)))
	}
	if errno != 0 {
		return -1, fmt.Errorf("seccomp: %w", errno)
	}
	return int(fd), nil
}
