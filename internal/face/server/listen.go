package server

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/gofrs/flock"
)

// Listening says where a server listens.
type Listening struct {
	Addr string // host and port; "" does not listen there
	// Socket is the path of a Unix socket; "" has none. Its directory is made for
	// the user alone.
	Socket string
	// Cert and Key are files; without them only loopback addresses are listened on.
	Cert, Key string
}

// Listeners opens the address and the socket. hosts are the names that the server answers to.
func (l *Listening) Listeners() (tcp, socket net.Listener, hosts []string, err error) {
	if l.Addr != "" {
		if tcp, hosts, err = l.listen(); err != nil {
			return nil, nil, nil, err
		}
	}
	if l.Socket == "" {
		return tcp, nil, hosts, nil
	}
	if socket, err = listenSocket(l.Socket); err != nil && tcp != nil {
		_ = tcp.Close()
	}
	return tcp, socket, hosts, err
}

func (l *Listening) listen() (net.Listener, []string, error) {
	host, _, err := net.SplitHostPort(l.Addr)
	if err != nil {
		return nil, nil, fmt.Errorf("--addr is host:port: %w", err)
	}
	if l.Cert == "" && !Loopback(host) {
		return nil, nil, fmt.Errorf("%s can be reached from other machines, so it needs TLS: give --tls-cert and --tls-key, or listen on 127.0.0.1", l.Addr)
	}
	ln, err := net.Listen("tcp", l.Addr)
	if err != nil {
		return nil, nil, err
	}
	_, port, _ := net.SplitHostPort(ln.Addr().String())
	var hosts []string
	for _, name := range []string{host, "127.0.0.1", "::1", "localhost"} {
		hosts = append(hosts, net.JoinHostPort(name, port))
	}
	if l.Cert == "" {
		return ln, hosts, nil
	}
	cert := &certificate{cert: l.Cert, key: l.Key}
	if _, err := cert.get(nil); err != nil {
		_ = ln.Close()
		return nil, nil, err
	}
	return tls.NewListener(ln, &tls.Config{GetCertificate: cert.get, MinVersion: tls.VersionTLS12,
		NextProtos: []string{"h2", "http/1.1"}}), hosts, nil
}

// A certificate is read from its files again when they have changed: those of today last for weeks.
type certificate struct {
	cert, key string

	mu     sync.Mutex
	pair   *tls.Certificate
	looked time.Time
	as     [2]time.Time // when the files were written
}

// lookAgain is how long the files are not looked at again.
const lookAgain = 5 * time.Second

// get returns the certificate. One that cannot be read, as while it is being replaced, leaves the one before in use.
func (c *certificate) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.pair != nil && time.Since(c.looked) < lookAgain {
		return c.pair, nil
	}
	c.looked = time.Now()
	var as [2]time.Time
	for i, name := range []string{c.cert, c.key} {
		if info, err := os.Stat(name); err == nil {
			as[i] = info.ModTime()
		}
	}
	if c.pair != nil && as == c.as {
		return c.pair, nil
	}
	pair, err := tls.LoadX509KeyPair(c.cert, c.key)
	switch {
	case err == nil:
		c.pair, c.as = &pair, as
	case c.pair == nil:
		return nil, err
	}
	return c.pair, nil
}

// Loopback tells whether only this machine can reach a host.
func Loopback(host string) bool {
	if host == "localhost" {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}

// listenSocket makes a socket in a directory of the user's own.
func listenSocket(path string) (net.Listener, error) {
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	info, err := os.Stat(dir)
	if err != nil {
		return nil, err
	}
	if info.Mode().Perm()&0o077 != 0 {
		return nil, fmt.Errorf("%s can be entered by other users; a socket needs a directory of mode 0700", dir)
	}
	// Of servers that start at the same time one gets the socket: it is looked for,
	// removed and made while a lock is held.
	lock := flock.New(path+".lock", flock.SetPermissions(0o600))
	if err := lock.Lock(); err != nil {
		return nil, err
	}
	defer func() { _ = lock.Close() }()
	if c, err := net.DialTimeout("unix", path, time.Second); err == nil {
		_ = c.Close()
		return nil, fmt.Errorf("%s is in use by another server", path)
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	ln, err := net.Listen("unix", path)
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(path, 0o600); err != nil { // clients refuse one that others may write
		_ = ln.Close()
		return nil, err
	}
	return ln, nil
}

// socketKey marks requests that came by a Unix socket.
type socketKey struct{}

func bySocket(r *http.Request) bool { return r.Context().Value(socketKey{}) != nil }

// Serve serves until ctx ends, and then lets requests under way end.
func (s *Server) Serve(ctx context.Context, tcp, socket net.Listener) error {
	ended := make(chan error, 2)
	var servers []*http.Server
	for i, ln := range []net.Listener{tcp, socket} {
		if ln == nil {
			continue
		}
		base := context.Background()
		if i == 1 {
			base = context.WithValue(base, socketKey{}, true)
		}
		srv := s.httpServer()
		srv.BaseContext = func(net.Listener) context.Context { return base }
		servers = append(servers, srv)
		go func() { ended <- srv.Serve(ln) }()
	}
	if len(servers) == 0 {
		return errors.New("there is nowhere to listen")
	}
	var err error
	select {
	case <-ctx.Done():
	case err = <-ended:
	}
	s.endStreams()
	down, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	for _, srv := range servers {
		if srv.Shutdown(down) != nil {
			_ = srv.Close() // agents that wait for people ask again
		}
	}
	return err
}

// httpServer has no limit for a whole answer, which may be a stream: each write has
// one.
func (s *Server) httpServer() *http.Server {
	return &http.Server{Handler: s.handler, ReadHeaderTimeout: 5 * time.Second, IdleTimeout: 2 * time.Minute,
		MaxHeaderBytes: 32 << 10}
}
