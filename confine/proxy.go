package confine

import (
	"bufio"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"syscall"
	"time"
)

type dialFunc func(ctx context.Context, network, address string) (net.Conn, error)

// proxyAddress checks a proxy and returns its `host:port`.
func proxyAddress(proxy string) (string, error) {
	u, err := url.Parse(proxy)
	if err != nil || u.Scheme != "http" || u.Hostname() == "" {
		return "", fmt.Errorf("the proxy %q is not of the form http://HOST:PORT", proxy)
	}
	port := u.Port()
	if port == "" {
		port = "80"
	}
	return net.JoinHostPort(u.Hostname(), port), nil
}

// dialer returns the way to allowed hosts: by the caller's function, the proxy, or the
// machine's network.
func (n Network) dialer(given dialFunc) dialFunc {
	direct := &net.Dialer{Timeout: 30 * time.Second}
	switch {
	case n.Proxy != "" && given != nil:
		return connectThrough(n.Proxy, given)
	case n.Proxy != "":
		return connectThrough(n.Proxy, direct.DialContext)
	case given != nil:
		return given
	}
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		host, _, err := net.SplitHostPort(address)
		if err != nil {
			return nil, err
		}
		d := *direct
		if _, err := netip.ParseAddr(host); err != nil {
			d.Control = refuseOwnMachine
		}
		return d.DialContext(ctx, network, address)
	}
}

// errOwnMachine says that an allowed name led to this machine, or to the link that metadata
// services of clouds sit on. A name in a policy is not meant to open those.
var errOwnMachine = errors.New("the name leads to this machine's own loopback or link-local addresses")

func refuseOwnMachine(_, address string, _ syscall.RawConn) error {
	addr, err := netip.ParseAddrPort(address)
	if err != nil {
		return err
	}
	ip := addr.Addr().Unmap()
	if ip.IsLoopback() || ip.IsLinkLocalUnicast() || ip.IsUnspecified() || ip.IsMulticast() {
		return errOwnMachine
	}
	return nil
}

// connectThrough reaches hosts by the CONNECT method of an HTTP proxy.
func connectThrough(proxy string, dial dialFunc) dialFunc {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		via, err := proxyAddress(proxy)
		if err != nil {
			return nil, err
		}
		conn, err := dial(ctx, network, via)
		if err != nil {
			return nil, err
		}
		conn.SetDeadline(time.Now().Add(30 * time.Second))
		br, err := connectRequest(conn, proxy, address)
		if err != nil {
			conn.Close()
			return nil, err
		}
		conn.SetDeadline(time.Time{})
		if br.Buffered() > 0 {
			return &bufferedConn{conn, br}, nil
		}
		return conn, nil
	}
}

func connectRequest(conn net.Conn, proxy, address string) (*bufio.Reader, error) {
	u, err := url.Parse(proxy)
	if err != nil {
		return nil, err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "CONNECT %s HTTP/1.1\r\nHost: %s\r\n", address, address)
	if u.User != nil {
		password, _ := u.User.Password()
		fmt.Fprintf(&b, "Proxy-Authorization: Basic %s\r\n",
			base64.StdEncoding.EncodeToString([]byte(u.User.Username()+":"+password)))
	}
	b.WriteString("\r\n")
	if _, err := conn.Write([]byte(b.String())); err != nil {
		return nil, err
	}
	br := bufio.NewReader(conn)
	resp, err := http.ReadResponse(br, &http.Request{Method: http.MethodConnect})
	if err != nil {
		return nil, err
	}
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("the proxy answers %s", resp.Status)
	}
	return br, nil
}

// bufferedConn gives the bytes first that came with the proxy's answer.
type bufferedConn struct {
	net.Conn
	r *bufio.Reader
}

func (c *bufferedConn) Read(b []byte) (int, error) { return c.r.Read(b) }
