package confine

import "golang.org/x/sys/unix"

const filterArch = unix.AUDIT_ARCH_X86_64

// deniedHere are calls that this architecture has besides.
var deniedHere = []uint32{unix.SYS_IOPL, unix.SYS_IOPERM, unix.SYS_KEXEC_FILE_LOAD, unix.SYS_USELIB,
	unix.SYS_MODIFY_LDT,
	unix.SYS_CREATE_MODULE, unix.SYS_QUERY_MODULE, unix.SYS_GET_KERNEL_SYMS, unix.SYS__SYSCTL, unix.SYS_USTAT,
	unix.SYS_SYSFS}

// modeCallsHere and openBlocksHere are the calls of before openat(2) and its like.
var modeCallsHere = []modeCall{{unix.SYS_CHMOD, 1}, {unix.SYS_CREAT, 1}, {unix.SYS_MKNOD, 1}}

func openBlocksHere() []unix.SockFilter { return onCall(unix.SYS_OPEN, makingBlock(1, 2, retAllow)...) }
