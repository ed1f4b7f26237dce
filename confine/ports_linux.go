package confine

import (
	"net"
	"net/netip"
	"slices"
	"strconv"
	"time"
)

// watchPorts looks again and again at the ports that are listened on, here and inside, since
// the kernel tells no unprivileged process when one is opened.
func (n *network) watchPorts() {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	defer n.here.close()
	if n.allow.Publish {
		if r, err := n.inside(message{Op: "diag"}); err == nil && len(r.files) == 1 {
			n.there.socket = r.files[0]
			defer n.there.close()
		}
	}
	for {
		select {
		case <-n.ctx.Done():
			return
		case <-tick.C:
		}
		n.mu.Lock()
		closed := n.closed
		n.mu.Unlock()
		if closed {
			return
		}
		n.openLoopback()
		if n.allow.Publish {
			n.publishPorts()
		}
	}
}

func (n *network) reachesLoopback() bool {
	return n.allow.AllLocalhost || len(n.allow.Localhost) > 0 || n.mates != nil
}

// openLoopback lets the command reach allowed ports that are listened on at the machine's
// loopback. A port without a listener is left alone, so that the command can use it itself.
func (n *network) openLoopback() {
	if !n.reachesLoopback() {
		return
	}
	allowed := n.allow.Localhost
	if n.mates != nil {
		allowed = slices.Concat(allowed, n.mates())
	}
	for _, at := range n.here.list() {
		port := int(at.Port())
		n.mu.Lock()
		mine := n.published[port]
		n.mu.Unlock()
		if mine || !n.allow.AllLocalhost && !slices.Contains(allowed, port) {
			continue
		}
		target := net.JoinHostPort("localhost", strconv.Itoa(port))
		n.listen(netip.MustParseAddr("127.0.0.1"), port, target)
		if n.v6 {
			n.listen(netip.IPv6Loopback(), port, target)
		}
	}
}

// publishPorts listens on the machine's loopback for each port that the command listens on.
func (n *network) publishPorts() {
	for _, at := range n.there.list() {
		port := int(at.Port())
		n.mu.Lock()
		skip := n.own[at] || n.published[port]
		n.published[port] = n.published[port] || !skip
		n.mu.Unlock()
		if !skip {
			n.publish(at, port)
		}
	}
}

func (n *network) publish(at netip.AddrPort, port int) {
	to := at
	if at.Addr().IsUnspecified() {
		to = netip.AddrPortFrom(netip.MustParseAddr("127.0.0.1"), at.Port())
		if at.Addr().Is6() {
			to = netip.AddrPortFrom(netip.IPv6Loopback(), at.Port())
		}
	}
	l, err := net.Listen("tcp4", "127.0.0.1:"+strconv.Itoa(port))
	if err != nil {
		n.refuse(Refusal{Kind: "publish", Name: strconv.Itoa(port), Exact: true, Why: err.Error()})
		return
	}
	if n.onPublish != nil {
		n.onPublish(port)
	}
	open := []net.Listener{l}
	if l6, err := net.Listen("tcp6", "[::1]:"+strconv.Itoa(port)); err == nil {
		open = append(open, l6)
	}
	for _, l := range open {
		if n.keep(l) {
			go n.accept(l, func(conn net.Conn) { n.relayInside(conn, to) })
		}
	}
}

// relayInside connects a connection from the machine to a port inside.
func (n *network) relayInside(conn net.Conn, to netip.AddrPort) {
	defer n.drop(conn)
	r, err := n.inside(message{Op: "dial", Addr: to.String()})
	if err != nil || len(r.files) != 1 {
		closeAll(r.files)
		return
	}
	in, err := net.FileConn(r.files[0])
	closeAll(r.files)
	if err == nil && n.keep(in) {
		relay(conn, in)
		n.drop(in)
	}
}
