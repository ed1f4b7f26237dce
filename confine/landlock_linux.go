package confine

import (
	"errors"
	"fmt"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// landlockABI returns the version that the kernel has, 0 for none.
func landlockABI() int {
	abi, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		return 0
	}
	return int(abi)
}

// simulated lowers an ABI as a test wants.
func (s simulation) simulated(abi int) int {
	switch {
	case s.ABI < 0:
		return 0
	case s.ABI > 0:
		return min(abi, s.ABI)
	}
	return abi
}

const (
	fsRead    = unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_READ_DIR
	fsExecute = unix.LANDLOCK_ACCESS_FS_EXECUTE
	fsDelete  = unix.LANDLOCK_ACCESS_FS_REMOVE_FILE | unix.LANDLOCK_ACCESS_FS_REMOVE_DIR
	fsDevice  = unix.LANDLOCK_ACCESS_FS_MAKE_CHAR | unix.LANDLOCK_ACCESS_FS_MAKE_BLOCK // granted nowhere
	fsWrite   = unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_TRUNCATE | unix.LANDLOCK_ACCESS_FS_REFER |
		unix.LANDLOCK_ACCESS_FS_MAKE_DIR | unix.LANDLOCK_ACCESS_FS_MAKE_REG | unix.LANDLOCK_ACCESS_FS_MAKE_SOCK |
		unix.LANDLOCK_ACCESS_FS_MAKE_FIFO | unix.LANDLOCK_ACCESS_FS_MAKE_SYM
	// fsOfFile are the rights that a rule for one file may have.
	fsOfFile = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_READ_FILE |
		unix.LANDLOCK_ACCESS_FS_TRUNCATE | unix.LANDLOCK_ACCESS_FS_IOCTL_DEV | unix.LANDLOCK_ACCESS_FS_RESOLVE_UNIX
)

// socketABI is the first that covers connections to sockets with a path.
const socketABI = 9

// handledBy returns the accesses to files that an ABI can restrict.
func handledBy(abi int) uint64 {
	fs := uint64(fsRead|fsExecute|fsDelete|fsDevice|fsWrite) &^ (unix.LANDLOCK_ACCESS_FS_REFER |
		unix.LANDLOCK_ACCESS_FS_TRUNCATE)
	if abi >= 2 {
		fs |= unix.LANDLOCK_ACCESS_FS_REFER
	}
	if abi >= 3 {
		fs |= unix.LANDLOCK_ACCESS_FS_TRUNCATE
	}
	if abi >= 5 {
		fs |= unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
	}
	if abi >= socketABI {
		fs |= unix.LANDLOCK_ACCESS_FS_RESOLVE_UNIX
	}
	return fs
}

func (r rights) access() uint64 {
	var fs uint64
	if r&mayRead != 0 {
		fs |= fsRead
	}
	if r&mayList != 0 {
		fs |= unix.LANDLOCK_ACCESS_FS_READ_DIR
	}
	if r&mayWrite != 0 {
		fs |= fsWrite | unix.LANDLOCK_ACCESS_FS_RESOLVE_UNIX
	}
	if r&mayDelete != 0 {
		fs |= fsDelete | unix.LANDLOCK_ACCESS_FS_REFER
	}
	if r&mayExecute != 0 {
		fs |= fsExecute
	}
	if r&mayIoctl != 0 {
		fs |= unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
	}
	return fs
}

type rulesetAttr struct{ fs, net, scoped uint64 }

// newRuleset makes a ruleset of an ABI, with the rules for paths as this process sees them.
func newRuleset(abi int, rules []rule) (int, error) {
	attr := rulesetAttr{fs: handledBy(abi)}
	size := uintptr(8)
	if abi >= 4 {
		size = 16
	}
	if abi >= 6 {
		size = 24
		attr.scoped = unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET | unix.LANDLOCK_SCOPE_SIGNAL
	}
	fd, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attr)), size, 0)
	if errno != 0 {
		return -1, fmt.Errorf("landlock: make a ruleset: %w", errno)
	}
	for _, r := range rules {
		if err := addRule(int(fd), r, attr.fs); err != nil {
			unix.Close(int(fd))
			return -1, err
		}
	}
	return int(fd), nil
}

// addRule leaves paths out that do not exist: without a rule they stay closed.
func addRule(ruleset int, r rule, handled uint64) error {
	at, err := unix.Open(r.Path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.EACCES) {
		return nil
	} else if err != nil {
		return fmt.Errorf("landlock: %s: %w", r.Path, err)
	}
	defer unix.Close(at)
	access := r.Rights.access() & handled
	var stat unix.Stat_t
	if err := unix.Fstat(at, &stat); err != nil {
		return fmt.Errorf("landlock: %s: %w", r.Path, err)
	}
	if stat.Mode&unix.S_IFMT != unix.S_IFDIR {
		access &= fsOfFile
	}
	if access == 0 {
		return nil
	}
	beneath := struct {
		access uint64
		parent int32
		_      int32 // the kernel reads 12 bytes
	}{access: access, parent: int32(at)}
	const pathBeneath = 1
	_, _, errno := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(ruleset), pathBeneath,
		uintptr(unsafe.Pointer(&beneath)), 0, 0, 0)
	if errno != 0 {
		return fmt.Errorf("landlock: rule for %s: %w", r.Path, errno)
	}
	return nil
}

// restrictThread puts the calling thread, and all it starts, under a ruleset.
func restrictThread(ruleset int) error {
	if _, _, errno := unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, uintptr(ruleset), 0, 0); errno != 0 {
		return fmt.Errorf("landlock: %w", errno)
	}
	return nil
}
