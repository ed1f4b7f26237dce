package confine

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"strconv"
	"sync"
	"time"
)

// A network is the caller's side of a run's network: it answers names, accepts on the
// addresses that it invented for them, and connects to the real hosts by name.
type network struct {
	ctx    context.Context
	allow  Network
	dial   dialFunc
	inside func(message, ...int) (reply, error) // a request to the process inside
	v6     bool
	// here and there list the ports that are listened on, on the machine and inside. Only watchPorts has them.
	here, there *listeners
	// mates lists the ports of other runs of the session; onPublish is told of this one's.
	mates     func() []int
	onPublish func(port int)

	mu        sync.Mutex
	names     map[string]invented
	refused   []Refusal
	open      map[io.Closer]bool      // ended when the run is
	own       map[netip.AddrPort]bool // listened on inside for the run, not by the command
	published map[int]bool
	closed    bool
}

// invented are the addresses that stand for a name.
type invented struct{ v4, v6 netip.Addr }

func newNetwork(ctx context.Context, allow Network, dial dialFunc, inside func(message, ...int) (reply, error),
	pid int, v6 bool) *network {
	return &network{ctx: ctx, allow: allow, dial: allow.dialer(dial), inside: inside, v6: v6,
		there: &listeners{dir: fmt.Sprintf("/proc/%d/net/", pid)},
		names: map[string]invented{}, open: map[io.Closer]bool{}, own: map[netip.AddrPort]bool{}, published: map[int]bool{}}
}

// start serves names on the sockets given and opens the listeners that the command needs from its
// first moment on.
func (n *network) start(files []*os.File) error {
	defer closeAll(files)
	if len(files) != 2 {
		return errors.New("confine: the sockets of the name server are missing")
	}
	packets, err := net.FilePacketConn(files[0])
	if err != nil {
		return err
	}
	streams, err := net.FileListener(files[1])
	if err != nil {
		packets.Close()
		return err
	}
	n.keep(packets)
	n.keep(streams)
	n.own[netip.MustParseAddrPort("127.0.0.1:53")] = true
	go n.servePackets(packets)
	go n.accept(streams, n.serveStream)
	for _, h := range n.allow.Hosts {
		if addr, err := netip.ParseAddr(h.Name); err == nil {
			for _, port := range h.Ports {
				n.listen(addr, port, net.JoinHostPort(h.Name, strconv.Itoa(port)))
			}
		}
	}
	if n.allow.Publish || n.reachesLoopback() {
		n.here = openListeners()
		n.openLoopback()
		go n.watchPorts()
	}
	return nil
}

// keep remembers something to close at the end; it is closed at once if that was before.
func (n *network) keep(c io.Closer) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.closed {
		c.Close()
		return false
	}
	n.open[c] = true
	return true
}

func (n *network) drop(c io.Closer) {
	c.Close()
	n.mu.Lock()
	delete(n.open, c)
	n.mu.Unlock()
}

// close ends all connections and returns the refusals.
func (n *network) close() []Refusal {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.closed = true
	for c := range n.open {
		c.Close()
	}
	return n.refused
}

func (n *network) refuse(r Refusal) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, had := range n.refused {
		if had == r {
			return
		}
	}
	const most = 1000 // a command can ask for names without end
	if len(n.refused) < most {
		n.refused = append(n.refused, r)
	}
}

func (n *network) servePackets(conn net.PacketConn) {
	b := make([]byte, 4096)
	for {
		got, from, err := conn.ReadFrom(b)
		if errors.Is(err, net.ErrClosed) {
			return
		} else if err != nil {
			continue
		}
		if answer := answerName(b[:got], n.lookup); answer != nil {
			conn.WriteTo(answer, from)
		}
	}
}

// serveStream answers queries that came by TCP, each after its length.
func (n *network) serveStream(conn net.Conn) {
	defer n.drop(conn)
	for {
		conn.SetDeadline(time.Now().Add(time.Minute))
		var length [2]byte
		if _, err := io.ReadFull(conn, length[:]); err != nil {
			return
		}
		query := make([]byte, binary.BigEndian.Uint16(length[:]))
		if _, err := io.ReadFull(conn, query); err != nil {
			return
		}
		answer := answerName(query, n.lookup)
		if answer == nil {
			return
		}
		if _, err := conn.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(answer))), answer...)); err != nil {
			return
		}
	}
}

// lookup returns the addresses of an allowed name and listens on them from its first use on.
func (n *network) lookup(name string) (v4, v6 netip.Addr) {
	if name == "localhost" {
		return netip.MustParseAddr("127.0.0.1"), netip.IPv6Loopback()
	}
	ports := n.allow.match(name)
	if len(ports) == 0 {
		n.refuse(Refusal{Kind: "name", Name: name, Exact: true, Why: "no host of the profile"})
		return v4, v6
	}
	n.mu.Lock()
	at, known := n.names[name]
	if !known {
		at = n.invent(len(n.names) + 1)
		n.names[name] = at
	}
	n.mu.Unlock()
	if !known {
		for _, port := range ports {
			target := net.JoinHostPort(name, strconv.Itoa(port))
			n.listen(at.v4, port, target)
			if at.v6.IsValid() {
				n.listen(at.v6, port, target)
			}
		}
	}
	return at.v4, at.v6
}

// invent makes the k-th pair of addresses.
func (n *network) invent(k int) invented {
	b4 := named4.Addr().As4()
	binary.BigEndian.PutUint16(b4[2:], uint16(k))
	out := invented{v4: netip.AddrFrom4(b4)}
	if n.v6 {
		b6 := named6.Addr().As16()
		binary.BigEndian.PutUint16(b6[14:], uint16(k))
		out.v6 = netip.AddrFrom16(b6)
	}
	return out
}

// listen accepts inside and connects each connection to target outside.
func (n *network) listen(addr netip.Addr, port int, target string) bool {
	at := netip.AddrPortFrom(addr, uint16(port))
	n.mu.Lock()
	had := n.own[at]
	n.own[at] = true
	n.mu.Unlock()
	if had {
		return true
	}
	r, err := n.inside(message{Op: "listen", Addr: at.String()})
	if err != nil || len(r.files) != 1 {
		closeAll(r.files)
		n.mu.Lock()
		delete(n.own, at)
		n.mu.Unlock()
		return false
	}
	l, err := net.FileListener(r.files[0])
	closeAll(r.files)
	if err != nil || !n.keep(l) {
		return false
	}
	go n.accept(l, func(conn net.Conn) { n.relayTo(conn, target) })
	return true
}

func (n *network) accept(l net.Listener, handle func(net.Conn)) {
	for {
		conn, err := l.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		} else if err != nil {
			time.Sleep(10 * time.Millisecond) // out of descriptors; others will end
			continue
		}
		if n.keep(conn) {
			go handle(conn)
		}
	}
}

// relayTo connects a connection from inside to its host.
func (n *network) relayTo(conn net.Conn, target string) {
	defer n.drop(conn)
	host, port, _ := net.SplitHostPort(target)
	dial := n.dial
	if host == "localhost" {
		dial = dialLoopback
		target = port
	}
	out, err := dial(n.ctx, "tcp", target)
	if err != nil {
		if errors.Is(err, errOwnMachine) {
			n.refuse(Refusal{Kind: "connect", Name: target, Exact: true, Why: errOwnMachine.Error()})
		}
		if tcp, ok := conn.(*net.TCPConn); ok {
			tcp.SetLinger(0) // the other end sees a reset, not an empty answer
		}
		return
	}
	if n.keep(out) {
		relay(conn, out)
		n.drop(out)
	}
}

// dialLoopback reaches a port of the machine's loopback, whichever family listens.
func dialLoopback(ctx context.Context, network, port string) (net.Conn, error) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, network, "127.0.0.1:"+port)
	if err != nil {
		conn, err = d.DialContext(ctx, network, "[::1]:"+port)
	}
	return conn, err
}

// relay copies both ways until both ends are done.
func relay(a, b net.Conn) {
	var done sync.WaitGroup
	pass := func(to, from net.Conn) {
		defer done.Done()
		io.Copy(to, from)
		if half, ok := to.(interface{ CloseWrite() error }); ok {
			half.CloseWrite()
		} else {
			to.Close()
		}
	}
	done.Add(2)
	go pass(a, b)
	go pass(b, a)
	done.Wait()
}
