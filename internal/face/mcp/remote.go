package mcp

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/obstat/obstat/internal/format/jsonx"
	"github.com/obstat/obstat/internal/format/tree"
)

// A Remote is a server at an address (streamable HTTP).
type Remote struct {
	URL string
	// Header is sent with every request: the gateway's own credentials.
	Header http.Header
	// Client makes the requests; nil is one that follows no redirect to another origin.
	Client *http.Client

	// challenged: the server itself has asked for a token, so that one which a client
	// brings is meant for it.
	challenged atomic.Bool
}

// Check returns an error for an address that cannot be one.
func (r *Remote) Check() error {
	u, err := url.Parse(r.URL)
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" || u.User != nil {
		return fmt.Errorf("%q is no address of a server: it takes http or https, and no password", r.URL)
	}
	return nil
}

func (r *Remote) client() *http.Client {
	if r.Client != nil {
		return r.Client
	}
	return &http.Client{CheckRedirect: func(to *http.Request, via []*http.Request) error {
		if from := via[0].URL; len(via) > 5 || to.URL.Scheme != from.Scheme || to.URL.Host != from.Host {
			return http.ErrUseLastResponse // credentials are for the origin that was named
		}
		return nil
	}}
}

// A statusError is a response of the server's address that is no message.
type statusError struct {
	status int
	header http.Header
	body   []byte
}

func (e *statusError) Error() string {
	if e.status == http.StatusUnauthorized {
		return "the server wants a token (HTTP 401): " + e.header.Get("WWW-Authenticate")
	}
	return fmt.Sprintf("the server's address answers with HTTP %d", e.status)
}

// A link is one session with a Remote.
type link struct {
	*Remote
	s   *session
	ctx context.Context

	mu       sync.Mutex
	id       string // of the session, as the server names it
	version  string // that was agreed on
	listens  bool
	bearer   string // the client's Authorization
	finished context.CancelFunc
}

func (r *Remote) link(ctx context.Context, s *session) *link {
	l := &link{Remote: r, s: s}
	l.ctx, l.finished = context.WithCancel(ctx)
	return l
}

// send posts a message, and takes the response in the background.
func (l *link) send(msg []byte) error {
	f, err := (&reader{}).read(msg)
	if err != nil {
		return err
	}
	go l.post(f)
	return nil
}

func (l *link) post(f *frame) {
	err := l.exchange(f)
	if f.method == "notifications/initialized" {
		l.listen()
	}
	var refused *statusError
	switch {
	case err == nil || l.ctx.Err() != nil:
	case f.kind != request:
		l.s.log("a message could not be sent: " + err.Error())
	case errors.As(err, &refused) && l.s.refused != nil && !l.s.idle(f.id) && l.s.refused(f.id, refused):
		l.s.close(f.id)
	default:
		l.s.unanswered(f.id, err)
	}
}

// unanswered ends a request that the server cannot be asked.
func (s *session) unanswered(id string, err error) {
	s.mu.Lock()
	ch := s.own[id]
	delete(s.own, id)
	s.mu.Unlock()
	if ch != nil {
		close(ch)
	}
	if s.close(id) != nil {
		_ = s.fail(id, codeInternal, "the server cannot be reached: "+err.Error())
	}
}

// exchange makes one request and takes all messages of its response.
func (l *link) exchange(f *frame) error {
	req, err := http.NewRequestWithContext(l.ctx, http.MethodPost, l.URL, bytes.NewReader(f.raw))
	if err != nil {
		return err
	}
	l.headers(req, f)
	res, err := l.client().Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if f.method == "initialize" {
		l.mu.Lock()
		l.id = res.Header.Get("Mcp-Session-Id")
		l.mu.Unlock()
	}
	kind, _, _ := strings.Cut(res.Header.Get("Content-Type"), ";")
	switch {
	case res.StatusCode == http.StatusAccepted || res.StatusCode == http.StatusNoContent:
		return nil
	case strings.TrimSpace(kind) == "text/event-stream" && res.StatusCode < 300:
		return l.events(res.Body)
	}
	body, err := io.ReadAll(io.LimitReader(res.Body, maxFrame+1))
	if err != nil {
		return err
	}
	if len(body) > maxFrame {
		return fmt.Errorf("its answer is longer than %d bytes", maxFrame)
	}
	if res.StatusCode >= 300 {
		if res.StatusCode == http.StatusUnauthorized {
			l.challenged.Store(true)
		}
		if r, rerr := (&reader{fold: 2}).read(body); rerr != nil || r.kind != response || r.id != f.id ||
			res.StatusCode == http.StatusUnauthorized || res.StatusCode == http.StatusForbidden {
			return &statusError{res.StatusCode, res.Header, body}
		}
	}
	return l.s.fromServer(l.ctx, body)
}

// headers sets the headers of the protocol, and the credentials.
func (l *link) headers(req *http.Request, f *frame) {
	h := req.Header
	for k, v := range l.Header {
		h[k] = v
	}
	h.Set("Accept", "application/json, text/event-stream")
	h.Set("Content-Type", "application/json")
	l.mu.Lock()
	defer l.mu.Unlock()
	version := l.version
	if f != nil && f.meta.modern() {
		version = f.meta.version
		h.Set("Mcp-Method", f.method)
		if name := headerName(f); name != "" {
			h.Set("Mcp-Name", encodeHeader(name))
		}
	} else if l.id != "" {
		h.Set("Mcp-Session-Id", l.id)
	}
	if f != nil && f.method == "initialize" {
		l.version, version = f.meta.version, ""
	}
	if version != "" {
		h.Set("MCP-Protocol-Version", version)
	}
	if l.bearer != "" && h.Get("Authorization") == "" && l.challenged.Load() && forAudience(l.bearer, l.URL) {
		h.Set("Authorization", l.bearer)
	}
}

// headerName returns the text of Mcp-Name, "" where the method has none.
func headerName(f *frame) string {
	switch f.method {
	case "tools/call", "prompts/get":
		return f.name
	case "resources/read":
		return f.uri
	}
	return ""
}

// encodeHeader writes a text as the protocol has it in headers: plain ASCII as it is,
// others `=?base64?...?=`.
func encodeHeader(s string) string {
	plain := strings.TrimSpace(s) == s && !strings.HasPrefix(s, "=?base64?")
	for i := range len(s) {
		plain = plain && s[i] >= 0x20 && s[i] < 0x7f
	}
	if plain {
		return s
	}
	return "=?base64?" + base64.StdEncoding.EncodeToString([]byte(s)) + "?="
}

func decodeHeader(s string) string {
	if text, ok := strings.CutPrefix(s, "=?base64?"); ok {
		if raw, err := base64.StdEncoding.DecodeString(strings.TrimSuffix(text, "?=")); err == nil {
			return string(raw)
		}
	}
	return s
}

// forAudience tells whether a token may go to a server: one that says for whom it is must
// name the server's origin.
func forAudience(bearer, to string) bool {
	u, err := url.Parse(to)
	parts := strings.Split(strings.TrimSpace(strings.TrimPrefix(bearer, "Bearer ")), ".")
	if err != nil || u.Scheme == "http" && !loopback(u.Hostname()) {
		return false
	}
	if len(parts) != 3 {
		return true // it says nothing of itself; the server has asked for it
	}
	payload, err := base64.RawURLEncoding.DecodeString(parts[1])
	root, problems := jsonx.Parse(payload, jsonx.Options{NUL: true})
	aud := root.Get("aud")
	if err != nil || tree.Fatal(problems) || aud == nil {
		return true
	}
	list := aud.Elems
	if aud.Is(tree.String) {
		list = []*tree.Node{aud}
	}
	for _, a := range list {
		if v, err := url.Parse(a.Str); err == nil && v.Scheme == u.Scheme && v.Host == u.Host {
			return true
		}
	}
	return false
}

// events takes the messages of a stream of events.
func (l *link) events(body io.Reader) error {
	for msg, err := range sse(body) {
		if err != nil {
			return err
		}
		if err := l.s.fromServer(l.ctx, msg); err != nil {
			return err
		}
	}
	return nil
}

// sse yields the data of the events of a stream.
func sse(body io.Reader) func(yield func([]byte, error) bool) {
	return func(yield func([]byte, error) bool) {
		r := bufio.NewReaderSize(body, 64<<10)
		var data []byte
		for {
			line, err := readLine(r)
			if err != nil {
				if !errors.Is(err, io.EOF) {
					yield(nil, err)
				}
				return
			}
			switch text, is := bytes.CutPrefix(line, []byte("data:")); {
			case is:
				if data != nil {
					data = append(data, '\n')
				}
				data = append(data, bytes.TrimPrefix(text, []byte(" "))...)
				if len(data) > maxFrame {
					yield(nil, fmt.Errorf("an event is longer than %d bytes", maxFrame))
					return
				}
			case len(line) == 0 && len(data) > 0:
				if !yield(data, nil) {
					return
				}
				data = nil
			}
		}
	}
}

// readLine returns a line without its end.
func readLine(r *bufio.Reader) ([]byte, error) {
	var buf []byte
	for {
		part, err := r.ReadSlice('\n')
		if buf = append(buf, part...); errors.Is(err, bufio.ErrBufferFull) && len(buf) <= maxFrame+64 {
			continue
		}
		if err != nil {
			return nil, err
		}
		return bytes.TrimRight(buf, "\r\n"), nil
	}
}

// listen opens the stream of the server's own messages. A server need not have one.
func (l *link) listen() {
	l.mu.Lock()
	first := !l.listens
	l.listens = true
	l.mu.Unlock()
	if !first {
		return
	}
	go func() {
		for range 5 { // a stream may end and be opened again
			req, err := http.NewRequestWithContext(l.ctx, http.MethodGet, l.URL, nil)
			if err != nil {
				return
			}
			l.headers(req, nil)
			req.Header.Set("Accept", "text/event-stream")
			res, err := l.client().Do(req)
			if err != nil {
				return
			}
			if res.StatusCode == http.StatusOK {
				_ = l.events(res.Body) // it is opened again, whatever ended it
			}
			res.Body.Close()
			if res.StatusCode != http.StatusOK || l.ctx.Err() != nil {
				return
			}
			time.Sleep(time.Second)
		}
	}()
}

// end ends the session.
func (l *link) end() {
	l.mu.Lock()
	id := l.id
	l.mu.Unlock()
	if id != "" {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(l.ctx), 2*time.Second)
		defer cancel()
		if req, err := http.NewRequestWithContext(ctx, http.MethodDelete, l.URL, nil); err == nil {
			l.headers(req, nil)
			if res, err := l.client().Do(req); err == nil {
				res.Body.Close()
			}
		}
	}
	l.finished()
}

// ServeRemote relays between a client on in and out and a server at an address.
func (g *Guard) ServeRemote(ctx context.Context, server *Remote, in io.Reader, out io.Writer) error {
	if err := server.Check(); err != nil {
		return err
	}
	from := &sink{w: out}
	s := g.session(func(_ string, msg []byte) error { return from.write(msg) }, nil)
	s.id = g.Session
	l := server.link(ctx, s)
	defer l.end()
	s.toServer = l.send
	s.readClient(l.ctx, in)
	s.drained(l.ctx.Done())
	return nil
}

func loopback(host string) bool {
	return host == "localhost" || host == "::1" || host == "127.0.0.1" || strings.HasPrefix(host, "127.")
}
