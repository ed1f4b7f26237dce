package confine

import "golang.org/x/sys/unix"

const filterArch = unix.AUDIT_ARCH_AARCH64

// deniedHere are calls that this architecture has besides.
var deniedHere = []uint32{unix.SYS_KEXEC_FILE_LOAD}

// This architecture has only the newer calls.
var modeCallsHere = []modeCall{}

func openBlocksHere() []unix.SockFilter { return nil }
