package confine

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// ownerCaps are the rights over owners and modes that Profile.Owners keeps.
const ownerCaps uint64 = 1<<unix.CAP_CHOWN | 1<<unix.CAP_DAC_OVERRIDE | 1<<unix.CAP_DAC_READ_SEARCH |
	1<<unix.CAP_FOWNER | 1<<unix.CAP_FSETID | 1<<unix.CAP_SETUID | 1<<unix.CAP_SETGID

// setupCaps are those that the process inside needs to set a confinement up, for a caller that
// is not root.
var setupCaps = []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_NET_ADMIN, unix.CAP_NET_BIND_SERVICE, unix.CAP_SETPCAP,
	unix.CAP_DAC_OVERRIDE, unix.CAP_FOWNER, unix.CAP_MKNOD, unix.CAP_SETGID, unix.CAP_SETUID, unix.CAP_CHOWN, unix.CAP_KILL, unix.CAP_SYS_CHROOT}

// dropCaps leaves the calling thread, and all it starts, with the capabilities in keep.
func dropCaps(keep uint64) error {
	if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil && err != unix.EINVAL {
		return fmt.Errorf("ambient capabilities: %w", err)
	}
	for c := range uintptr(64) {
		if keep&(1<<c) != 0 {
			continue
		}
		err := unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0)
		if err == unix.EINVAL {
			break // beyond the last one
		} else if err == unix.EPERM {
			break // no right to drop: without namespaces, a plain user has none to lose
		} else if err != nil {
			return fmt.Errorf("bounding capabilities: %w", err)
		}
	}
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var now [2]unix.CapUserData
	if err := unix.Capget(&header, &now[0]); err != nil {
		return fmt.Errorf("capabilities: %w", err)
	}
	for i := range now {
		left := uint32(keep>>(32*i)) & now[i].Permitted
		now[i] = unix.CapUserData{Effective: left, Permitted: left}
	}
	if err := unix.Capset(&header, &now[0]); err != nil {
		return fmt.Errorf("capabilities: %w", err)
	}
	return nil
}
