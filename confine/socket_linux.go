package confine

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"os"

	"golang.org/x/sys/unix"
)

// interfaces is the network inside: the loopback, and on it the addresses that stand for names.
type interfaces struct{ v6 bool }

// Addresses that stand for names. 198.18.0.0/15 is kept for tests of networks (RFC 2544), the
// other prefix is a private one (RFC 4193); neither leads anywhere but to this namespace.
var (
	named4 = netip.MustParsePrefix("198.18.0.0/15")
	named6 = netip.MustParsePrefix("fd6f:6273:7461:7400::/64")
)

// loopbackUp brings the loopback up and makes all invented addresses, and the literal ones
// that are allowed, addresses of this namespace itself.
func loopbackUp(literal []string) (*interfaces, error) {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	ifr, err := unix.NewIfreq("lo")
	if err != nil {
		return nil, err
	}
	ifr.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	if err := unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, ifr); err != nil {
		return nil, fmt.Errorf("bring the loopback up: %w", err)
	}
	if err := addLocalRoute(named4); err != nil {
		return nil, err
	}
	n := &interfaces{v6: addLocalRoute(named6) == nil} // a machine may have no IPv6
	for _, text := range literal {
		addr, err := netip.ParseAddr(text)
		if err != nil || addr.IsLoopback() || addr.Is6() && !n.v6 {
			continue
		}
		if err := addLocalRoute(netip.PrefixFrom(addr, addr.BitLen())); err != nil {
			return nil, err
		}
	}
	return n, nil
}

// addLocalRoute does `ip route add local PREFIX dev lo`.
func addLocalRoute(p netip.Prefix) error {
	family := byte(unix.AF_INET)
	if p.Addr().Is6() {
		family = unix.AF_INET6
	}
	// struct rtmsg, then attributes.
	body := []byte{family, byte(p.Bits()), 0, 0, unix.RT_TABLE_LOCAL, unix.RTPROT_BOOT, unix.RT_SCOPE_HOST,
		unix.RTN_LOCAL, 0, 0, 0, 0}
	body = append(body, netlinkAttr(unix.RTA_DST, p.Masked().Addr().AsSlice())...)
	const loopbackIndex = 1 // in every network namespace
	body = append(body, netlinkAttr(unix.RTA_OIF, binary.NativeEndian.AppendUint32(nil, loopbackIndex))...)
	if err := netlinkDo(unix.RTM_NEWROUTE, body); err != nil {
		return fmt.Errorf("route %s to the loopback: %w", p, err)
	}
	return nil
}

func netlinkAttr(kind uint16, value []byte) []byte {
	b := binary.NativeEndian.AppendUint16(nil, uint16(4+len(value)))
	b = binary.NativeEndian.AppendUint16(b, kind)
	return append(b, value...) // addresses and numbers are multiples of four
}

// netlinkDo sends one routing request and waits for its acknowledgement.
func netlinkDo(kind uint16, body []byte) error {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_ROUTE)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	b := binary.NativeEndian.AppendUint32(nil, uint32(unix.NLMSG_HDRLEN+len(body)))
	b = binary.NativeEndian.AppendUint16(b, kind)
	b = binary.NativeEndian.AppendUint16(b, unix.NLM_F_REQUEST|unix.NLM_F_ACK|unix.NLM_F_CREATE|unix.NLM_F_REPLACE)
	b = binary.NativeEndian.AppendUint32(b, 1)
	b = binary.NativeEndian.AppendUint32(b, 0)
	if err := unix.Sendto(fd, append(b, body...), 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return err
	}
	answer := make([]byte, 4096)
	n, _, err := unix.Recvfrom(fd, answer, 0)
	if err != nil {
		return err
	}
	if n < unix.NLMSG_HDRLEN+4 {
		return unix.EBADMSG
	}
	if code := int32(binary.NativeEndian.Uint32(answer[unix.NLMSG_HDRLEN:])); code != 0 {
		return unix.Errno(-code)
	}
	return nil
}

// socketFor opens a socket inside for the caller: `listen` and `dial` by TCP, `packet` by UDP, `diag` to list sockets.
func socketFor(m message) (int, error) {
	if m.Op == "diag" {
		return diagSocket()
	}
	addr, err := netip.ParseAddrPort(m.Addr)
	if err != nil {
		return -1, err
	}
	kind := unix.SOCK_STREAM
	if m.Op == "packet" {
		kind = unix.SOCK_DGRAM
	}
	family := unix.AF_INET
	var sa unix.Sockaddr = &unix.SockaddrInet4{Port: int(addr.Port())}
	if addr.Addr().Is6() {
		family = unix.AF_INET6
		sa = &unix.SockaddrInet6{Port: int(addr.Port()), Addr: addr.Addr().As16()}
	} else {
		sa.(*unix.SockaddrInet4).Addr = addr.Addr().As4()
	}
	fd, err := unix.Socket(family, kind|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return -1, os.NewSyscallError("socket", err)
	}
	if err := useSocket(fd, m.Op, sa); err != nil {
		unix.Close(fd)
		return -1, err
	}
	return fd, nil
}

func useSocket(fd int, op string, sa unix.Sockaddr) error {
	switch op {
	case "dial":
		return os.NewSyscallError("connect", unix.Connect(fd, sa))
	case "packet":
		return os.NewSyscallError("bind", unix.Bind(fd, sa))
	case "listen":
		if _, ok := sa.(*unix.SockaddrInet6); ok {
			if err := unix.SetsockoptInt(fd, unix.IPPROTO_IPV6, unix.IPV6_V6ONLY, 1); err != nil {
				return err
			}
			// A route makes the address local; binding wants it on an interface otherwise.
			if err := unix.SetsockoptInt(fd, unix.IPPROTO_IPV6, unix.IPV6_FREEBIND, 1); err != nil {
				return err
			}
		}
		if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEADDR, 1); err != nil {
			return err
		}
		if err := unix.Bind(fd, sa); err != nil {
			return os.NewSyscallError("bind", err)
		}
		return os.NewSyscallError("listen", unix.Listen(fd, 128))
	}
	return fmt.Errorf("confine: unknown request %q", op)
}
