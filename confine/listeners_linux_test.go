package confine

import (
	"net"
	"net/netip"
	"slices"
	"testing"
)

// TestListeners: netlink and the tables in /proc list the same listening ports, and no connections.
func TestListeners(t *testing.T) {
	var want, connected []netip.AddrPort
	for _, at := range []string{"127.0.0.1:0", "[::1]:0", "0.0.0.0:0"} {
		l, err := net.Listen("tcp", at)
		if err != nil {
			t.Logf("%s: %v", at, err) // a machine without IPv6
			continue
		}
		defer l.Close()
		conn, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		connected = append(connected, conn.LocalAddr().(*net.TCPAddr).AddrPort())
		want = append(want, l.Addr().(*net.TCPAddr).AddrPort())
	}
	l := openListeners()
	defer l.close()
	if l.socket == nil {
		t.Skip("this machine has no netlink for sockets")
	}
	if _, err := l.dump(2); err != nil {
		t.Skip("this kernel does not list sockets by netlink: ", err)
	}
	byNetlink, byTables := l.list(), fromTables(l.dir)
	for _, at := range want {
		if !slices.Contains(byNetlink, at) || !slices.Contains(byTables, at) {
			t.Errorf("%v: netlink %v, tables %v", at, byNetlink, byTables)
		}
	}
	for _, at := range connected {
		if slices.Contains(byNetlink, at) {
			t.Errorf("%v is no listener", at)
		}
	}
}
