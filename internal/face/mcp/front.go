package mcp

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"
)

// A Front serves a guarded server to clients over streamable HTTP. Make one with
// [Guard.Handler].
type Front struct {
	guard *Guard
	// One of these is the server.
	process *Process
	remote  *Remote
	opts    HTTPOptions

	mu       sync.Mutex
	sessions map[string]*visit   // by the caller's ID and theirs: see [Front.key]
	idle     map[Caller][]*visit // that serve clients without sessions, one request at a time
	tools    map[string]*toolbox
}

// HTTPOptions say how a Front is reached. The zero value is for the loopback interface.
type HTTPOptions struct {
	// Hosts are the names by which it is called, besides those of the loopback
	// interface; Origins the web pages that may call it.
	Hosts, Origins []string
	// OwnTokens: tokens that clients send are for this front; they never go further.
	OwnTokens bool
	// Caller returns the caller of a request, for a face that knows its callers and has checked
	// Host and Origin already; nil: everybody is the guard's own user.
	Caller func(*http.Request) Caller
}

// A Caller is one of several users of a front.
type Caller struct {
	ID          string // sessions belong to it: others do not find them
	Agent, User string // of its calls; "" is as the guard has it

	away bool // it is reached over HTTP, and may be on another machine
}

// caller returns the caller of a request.
func (f *Front) caller(r *http.Request) Caller {
	var c Caller
	if f.opts.Caller != nil {
		c = f.opts.Caller(r)
	}
	c.away = true
	return c
}

// Handler returns a front for a server: a process, or one at an address.
func (g *Guard) Handler(p *Process, r *Remote, o *HTTPOptions) *Front {
	f := &Front{guard: g, process: p, remote: r, sessions: map[string]*visit{}, idle: map[Caller][]*visit{},
		tools: map[string]*toolbox{}}
	if o != nil {
		f.opts = *o
	}
	return f
}

// Limits of a front.
const (
	maxVisits   = 1000
	maxIdle     = 8 // of one caller
	visitLife   = time.Hour
	maxUnheard  = 100
	codeHeaders = -32020 // HeaderMismatch
)

// ServeHTTP answers one request.
func (f *Front) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if why := f.stranger(r); f.opts.Caller == nil && why != "" {
		http.Error(w, "obstat: "+why, http.StatusForbidden)
		return
	}
	switch r.Method {
	case http.MethodPost:
		f.post(w, r)
	case http.MethodGet:
		f.listen(w, r)
	case http.MethodDelete:
		key := f.key(r, r.Header.Get("Mcp-Session-Id"))
		f.mu.Lock()
		v := f.sessions[key]
		delete(f.sessions, key)
		f.mu.Unlock()
		if v == nil {
			http.Error(w, "no such session", http.StatusNotFound)
			return
		}
		v.end()
		w.WriteHeader(http.StatusNoContent)
	default:
		w.Header().Set("Allow", "GET, POST, DELETE")
		http.Error(w, "method not allowed", http.StatusMethodNotAllowed)
	}
}

// stranger says why a request may come from a page that has nothing to do here: a browser
// names its origin, and a name that leads here by a trick is none of ours.
func (f *Front) stranger(r *http.Request) string {
	host := r.Host
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	if !loopback(strings.Trim(host, "[]")) && !slices.Contains(f.opts.Hosts, host) {
		return fmt.Sprintf("the host %q is none of this gateway's", host)
	}
	origins := r.Header.Values("Origin")
	if len(origins) == 0 {
		return ""
	}
	u, err := url.Parse(origins[0])
	if err != nil || len(origins) > 1 || !slices.Contains(f.opts.Origins, origins[0]) && !loopback(u.Hostname()) {
		return fmt.Sprintf("the origin %q may not call this gateway", strings.Join(origins, ", "))
	}
	return ""
}

func (f *Front) post(w http.ResponseWriter, r *http.Request) {
	raw, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxFrame))
	if err != nil {
		answer(w, http.StatusRequestEntityTooLarge, failure("null", codeRequest,
			fmt.Sprintf("obstat: the message is longer than %d bytes, or was cut off", maxFrame), nil))
		return
	}
	m, err := (&reader{fold: 3}).read(raw)
	if err != nil {
		var e *envelopeError
		errors.As(err, &e)
		id := e.id
		if id == "" {
			id = "null"
		}
		answer(w, http.StatusBadRequest, failure(id, e.code, "obstat: the message is refused: "+e.msg, nil))
		return
	}
	if why := mismatch(r.Header, m); why != "" {
		answer(w, http.StatusBadRequest, failure(idOr(m), codeHeaders, "obstat: "+why, nil))
		return
	}
	v, status := f.visit(r, m)
	if v == nil {
		http.Error(w, "obstat: "+string(status.body), status.status)
		return
	}
	v.take(w, r, m)
}

func idOr(m *frame) string {
	if m.id == "" {
		return "null"
	}
	return m.id
}

// mismatch says where headers say something else than the body: a proxy
// in between may have looked at either.
func mismatch(h http.Header, m *frame) string {
	modern := m.meta.modern() && m.method != "initialize"
	for _, c := range []struct{ name, want string }{{"Mcp-Method", m.method}, {"Mcp-Name", headerName(m)},
		{"Mcp-Protocol-Version", m.meta.version}} {
		got := h.Values(c.name)
		needed := modern && c.want != ""
		switch {
		case len(got) > 1:
			return c.name + " stands twice in the headers"
		case len(got) == 0 && needed:
			return c.name + " is missing in the headers"
		case len(got) == 0 || c.name == "Mcp-Protocol-Version" && !modern && got[0] < firstModern:
		case decodeHeader(got[0]) != c.want:
			return fmt.Sprintf("the header %s says %q, the body %q", c.name, decodeHeader(got[0]), c.want)
		}
	}
	if len(h.Values("Mcp-Session-Id")) > 1 {
		return "Mcp-Session-Id stands twice in the headers"
	}
	return ""
}

// visit returns the session that a message belongs to.
func (f *Front) visit(r *http.Request, m *frame) (*visit, *statusError) {
	id := r.Header.Get("Mcp-Session-Id")
	f.mu.Lock()
	defer f.mu.Unlock()
	f.sweep()
	switch {
	case m.meta.modern() && m.method != "initialize":
		who := f.caller(r)
		if idle := f.idle[who]; len(idle) > 0 && f.process != nil {
			v := idle[len(idle)-1]
			f.idle[who] = idle[:len(idle)-1]
			return v, nil
		}
		return f.start(r, true)
	case m.method == "initialize":
		return f.start(r, false)
	case id == "":
		return nil, &statusError{status: http.StatusBadRequest, body: []byte("Mcp-Session-Id is missing")}
	}
	if v := f.sessions[f.key(r, id)]; v != nil {
		v.used = time.Now()
		return v, nil
	}
	if f.remote != nil && len(id) < 256 {
		// A session of before the gateway was started anew: the server knows it.
		v, status := f.start(r, false)
		if v != nil {
			v.link.id = id
			f.sessions[f.key(r, id)] = v
		}
		return v, status
	}
	return nil, &statusError{status: http.StatusNotFound, body: []byte("there is no such session")}
}

// key returns the key of a session, by which only the caller who began it finds it.
func (f *Front) key(r *http.Request, session string) string { return f.caller(r).ID + "\x00" + session }

// sweep ends sessions that were not used for long; f.mu is held.
func (f *Front) sweep() {
	for id, v := range f.sessions {
		if time.Since(v.used) > visitLife {
			delete(f.sessions, id)
			go v.end()
		}
	}
}
