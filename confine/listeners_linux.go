package confine

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"net/netip"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// A listeners lists the TCP addresses of one network namespace that are listened on at the loopback, or at all
// addresses. It asks by netlink, for which the kernel looks at listening sockets alone: to read /proc/net/tcp, it walks
// through a table with room for all that the machine could have, which took a tenth of a run's processor time.
type listeners struct {
	socket *os.File // made in that namespace, nil for none
	dir    string   // of the tables in /proc, where netlink does not answer
}

// openListeners returns those of the caller's own namespace.
func openListeners() *listeners {
	l := &listeners{dir: "/proc/net/"}
	if fd, err := diagSocket(); err == nil {
		l.socket = os.NewFile(uintptr(fd), "listeners")
	}
	return l
}

func diagSocket() (int, error) {
	return unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_SOCK_DIAG)
}

func (l *listeners) close() {
	if l.socket != nil {
		l.socket.Close()
	}
}

func (l *listeners) list() []netip.AddrPort {
	if l.socket == nil {
		return fromTables(l.dir)
	}
	var out []netip.AddrPort
	for _, family := range []byte{unix.AF_INET, unix.AF_INET6} {
		some, err := l.dump(family)
		if err != nil && family == unix.AF_INET {
			return fromTables(l.dir)
		}
		out = append(out, some...)
	}
	return out
}

// dump asks for the listening sockets of one family.
func (l *listeners) dump(family byte) (out []netip.AddrPort, err error) {
	const (
		size      = unix.NLMSG_HDRLEN + 56 // struct inet_diag_req_v2
		listening = 1 << 10                // TCP_LISTEN
	)
	b := binary.NativeEndian.AppendUint32(nil, size)
	b = binary.NativeEndian.AppendUint16(b, unix.SOCK_DIAG_BY_FAMILY)
	b = binary.NativeEndian.AppendUint16(b, unix.NLM_F_REQUEST|unix.NLM_F_DUMP)
	b = append(b, make([]byte, size-len(b))...)
	b[unix.NLMSG_HDRLEN], b[unix.NLMSG_HDRLEN+1] = family, unix.IPPROTO_TCP
	binary.NativeEndian.PutUint32(b[unix.NLMSG_HDRLEN+4:], listening)
	fd := int(l.socket.Fd())
	if err := unix.Sendto(fd, b, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return nil, err
	}
	answer := make([]byte, 32<<10)
	for {
		n, _, err := unix.Recvfrom(fd, answer, 0)
		if err != nil {
			return nil, err
		}
		for rest := answer[:n]; len(rest) >= unix.NLMSG_HDRLEN; {
			length := int(binary.NativeEndian.Uint32(rest))
			kind := binary.NativeEndian.Uint16(rest[4:])
			switch {
			case length < unix.NLMSG_HDRLEN || length > len(rest):
				return nil, unix.EBADMSG
			case kind == unix.NLMSG_DONE:
				return out, nil
			case kind == unix.NLMSG_ERROR:
				return nil, unix.EOPNOTSUPP
			}
			if at, ok := diagAddr(rest[unix.NLMSG_HDRLEN:length]); ok && isLocal(at) {
				out = append(out, at)
			}
			rest = rest[min(len(rest), (length+3)&^3):]
		}
	}
}

// diagAddr reads the local address of a struct inet_diag_msg.
func diagAddr(b []byte) (netip.AddrPort, bool) {
	if len(b) < 24 {
		return netip.AddrPort{}, false
	}
	port := binary.BigEndian.Uint16(b[4:])
	if b[0] == unix.AF_INET6 {
		return netip.AddrPortFrom(netip.AddrFrom16([16]byte(b[8:24])), port), true
	}
	return netip.AddrPortFrom(netip.AddrFrom4([4]byte(b[8:12])), port), b[0] == unix.AF_INET
}

// isLocal tells whether the machine's loopback leads to an address.
func isLocal(at netip.AddrPort) bool { return at.Addr().IsLoopback() || at.Addr().IsUnspecified() }

// fromTables lists the same by the tables of a network namespace in /proc.
func fromTables(dir string) (out []netip.AddrPort) {
	for _, name := range []string{"tcp", "tcp6"} {
		text, err := os.ReadFile(dir + name)
		if err != nil {
			continue
		}
		for line := range strings.Lines(string(text)) {
			fields := strings.Fields(line)
			const listen = "0A"
			if len(fields) < 4 || fields[3] != listen {
				continue
			}
			if at, err := parseTableAddr(fields[1]); err == nil && isLocal(at) {
				out = append(out, at)
			}
		}
	}
	return out
}

// parseTableAddr reads `0100007F:0035`: 32-bit words in the machine's order, then the port.
func parseTableAddr(text string) (netip.AddrPort, error) {
	words, port, ok := strings.Cut(text, ":")
	b, err := hex.DecodeString(words)
	if !ok || err != nil || len(b)%4 != 0 {
		return netip.AddrPort{}, errors.New("no address")
	}
	for i := 0; i < len(b); i += 4 {
		b[i], b[i+1], b[i+2], b[i+3] = b[i+3], b[i+2], b[i+1], b[i]
	}
	addr, ok := netip.AddrFromSlice(b)
	number, err := strconv.ParseUint(port, 16, 16)
	if !ok || err != nil {
		return netip.AddrPort{}, errors.New("no address")
	}
	return netip.AddrPortFrom(addr, uint16(number)), nil
}
