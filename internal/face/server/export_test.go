package server

import (
	"context"
	"crypto/tls"
	"net/http"
	"time"
)

// HTTPServer returns a server as Serve makes it, with shorter limits.
func HTTPServer(s *Server, limit time.Duration) *http.Server {
	srv := s.httpServer()
	srv.ReadHeaderTimeout, srv.ReadTimeout = limit, limit
	s.opts.Hosts, s.bodyLimit = nil, limit
	return srv
}

// Forget deletes the logins and sessions that are over.
func Forget(ctx context.Context, s *Server) error { return s.auth.forget(ctx) }

// Certificate returns how a listener gets its certificate, without the pause between looks.
func Certificate(cert, key string) func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	c := &certificate{cert: cert, key: key}
	return func(h *tls.ClientHelloInfo) (*tls.Certificate, error) {
		c.looked = time.Time{}
		return c.get(h)
	}
}
