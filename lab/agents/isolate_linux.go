package agents

import (
	"encoding/binary"
	"os"
	"os/exec"
	"syscall"
)

// offline makes cmd run where there is only the loopback interface.
func offline(cmd *exec.Cmd) {
	attr := &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET}
	if uid := os.Getuid(); uid != 0 {
		attr.Cloneflags |= syscall.CLONE_NEWUSER
		attr.UidMappings = []syscall.SysProcIDMap{{ContainerID: uid, HostID: uid, Size: 1}}
		attr.GidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getgid(), HostID: os.Getgid(), Size: 1}}
		attr.AmbientCaps = []uintptr{12} // CAP_NET_ADMIN, to switch the interface on
	}
	cmd.SysProcAttr = attr
}

// loopback switches the loopback interface on, which a new network does not do
// by itself: a message to the kernel that sets the interface's flag.
func loopback() error {
	fd, err := syscall.Socket(syscall.AF_NETLINK, syscall.SOCK_RAW|syscall.SOCK_CLOEXEC, syscall.NETLINK_ROUTE)
	if err != nil {
		return err
	}
	defer syscall.Close(fd)
	msg := make([]byte, syscall.SizeofNlMsghdr+syscall.SizeofIfInfomsg)
	put := binary.NativeEndian
	put.PutUint32(msg[0:], uint32(len(msg)))
	put.PutUint16(msg[4:], syscall.RTM_NEWLINK)
	put.PutUint16(msg[6:], syscall.NLM_F_REQUEST|syscall.NLM_F_ACK)
	info := msg[syscall.SizeofNlMsghdr:]
	put.PutUint32(info[4:], 1) // the loopback interface is always the first
	put.PutUint32(info[8:], syscall.IFF_UP)
	put.PutUint32(info[12:], syscall.IFF_UP)
	if err := syscall.Sendto(fd, msg, 0, &syscall.SockaddrNetlink{Family: syscall.AF_NETLINK}); err != nil {
		return err
	}
	answer := make([]byte, 4096)
	n, _, err := syscall.Recvfrom(fd, answer, 0)
	if err != nil {
		return err
	}
	if n >= syscall.SizeofNlMsghdr+4 {
		if code := int32(put.Uint32(answer[syscall.SizeofNlMsghdr:])); code < 0 {
			return syscall.Errno(-code)
		}
	}
	return nil
}
