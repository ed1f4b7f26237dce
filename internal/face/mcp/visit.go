package mcp

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/obstat/obstat/approval"
)

// A visit is one client's session with the server, or, of clients without sessions, the
// turn of one request.
type visit struct {
	front *Front
	s     *session
	*connection
	stop context.CancelFunc
	used time.Time
	who  Caller

	mu      sync.Mutex
	waiting map[string]chan delivery // by the id of the client's request
	stream  chan delivery            // the server's own messages; nil: no client listens
	unheard [][]byte
}

// A delivery is a message for a client, or a refusal of the server's address.
type delivery struct {
	msg     []byte
	refused *statusError
	last    bool
}

// start starts a visit; f.mu is held.
func (f *Front) start(r *http.Request, modern bool) (*visit, *statusError) {
	if len(f.sessions) >= maxVisits {
		return nil, &statusError{status: http.StatusServiceUnavailable, body: []byte("there are too many sessions")}
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(r.Context()))
	v := &visit{front: f, stop: stop, used: time.Now(), who: f.caller(r), waiting: map[string]chan delivery{}}
	v.s = f.guard.session(v.deliver, nil)
	v.s.id = "mcp-" + approval.NewID("")
	v.s.by(v.who)
	if modern { // tools are the same for every request with the same credentials
		sum := sha256.Sum256([]byte(r.Header.Get("Authorization")))
		key := hex.EncodeToString(sum[:8])
		v.s.id = "mcp-http-" + key
		if f.tools[key] == nil {
			f.tools[key] = v.s.tools
		}
		v.s.tools = f.tools[key]
	}
	v.s.refused = func(id string, e *statusError) bool { return v.give(id, delivery{refused: e, last: true}) }
	var err error
	if v.connection, err = v.s.connect(ctx, f.process, f.remote, v.who); err != nil {
		f.guard.log(err.Error())
		return nil, &statusError{status: http.StatusBadGateway, body: []byte(err.Error())}
	}
	return v, nil
}

func (v *visit) end() {
	v.connection.end()
	v.stop()
}

// deliver takes a message for the client.
func (v *visit) deliver(about string, msg []byte) error {
	last := false
	if about != "" {
		if f, err := (&reader{}).read(msg); err == nil {
			last = f.kind == response && f.id == about
		}
		if v.give(about, delivery{msg: msg, last: last}) {
			return nil
		}
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.stream != nil {
		select {
		case v.stream <- delivery{msg: msg}:
			return nil
		default:
		}
	}
	if len(v.unheard) < maxUnheard && !last {
		v.unheard = append(v.unheard, msg)
	}
	return nil
}

// give hands a delivery to the request that waits for it, and tells whether one does.
func (v *visit) give(id string, d delivery) bool {
	v.mu.Lock()
	ch := v.waiting[id]
	if d.last {
		delete(v.waiting, id)
	}
	v.mu.Unlock()
	if ch == nil {
		return false
	}
	ch <- d
	return true
}

// take passes a message on, and answers the request with the response.
func (v *visit) take(w http.ResponseWriter, r *http.Request, m *frame) {
	if v.link != nil && !v.front.opts.OwnTokens {
		v.link.mu.Lock()
		v.link.bearer = r.Header.Get("Authorization")
		v.link.mu.Unlock()
	}
	ctx := context.WithoutCancel(r.Context())
	if m.kind != request {
		if err := v.s.fromClient(ctx, m.raw); err != nil {
			http.Error(w, "obstat: "+err.Error(), http.StatusBadGateway)
			return
		}
		w.WriteHeader(http.StatusAccepted)
		return
	}
	ch := make(chan delivery, 64)
	v.mu.Lock()
	twice := v.waiting[m.id] != nil
	if !twice {
		v.waiting[m.id] = ch
	}
	v.mu.Unlock()
	if twice || v.s.isOver() {
		answer(w, http.StatusBadRequest, failure(m.id, codeRequest,
			"obstat: a request with this id is under way, or the server has ended", nil))
		return
	}
	_ = v.s.fromClient(ctx, m.raw) // an error is answered
	done := v.reply(w, r, m, ch)
	switch {
	case m.method == "initialize" && !done:
		go v.end()
	case m.method != "initialize" && m.meta.modern():
		v.leave(done)
	}
}

// Close ends all sessions.
func (f *Front) Close() {
	f.mu.Lock()
	var all []*visit
	for _, idle := range f.idle {
		all = append(all, idle...)
	}
	for _, v := range f.sessions {
		all = append(all, v)
	}
	clear(f.sessions)
	clear(f.idle)
	f.mu.Unlock()
	var ending sync.WaitGroup
	for _, v := range all {
		ending.Go(v.end)
	}
	ending.Wait()
}

// leave gives a visit that served one request to the next, or ends it.
func (v *visit) leave(done bool) {
	f := v.front
	f.mu.Lock()
	keep := done && v.pipe != nil && len(f.idle[v.who]) < maxIdle && !v.s.isOver()
	if keep {
		f.idle[v.who] = append(f.idle[v.who], v)
	}
	f.mu.Unlock()
	if !keep {
		go v.end()
	}
}

// reply writes the response: a message by itself, or, where others come before it, a
// stream of events. It returns whether the request was answered.
func (v *visit) reply(w http.ResponseWriter, r *http.Request, m *frame, ch chan delivery) bool {
	streams := false
	for {
		select {
		case d := <-ch:
			switch {
			case d.refused != nil:
				relayRefusal(w, d.refused, streams)
			case d.last && !streams:
				v.introduce(w, r, m)
				answer(w, http.StatusOK, d.msg)
			default:
				if !streams {
					v.introduce(w, r, m)
					streams = true
					w.Header().Set("Content-Type", "text/event-stream")
					w.Header().Set("Cache-Control", "no-cache")
				}
				event(w, d.msg)
			}
			if d.last {
				return true
			}
		case <-r.Context().Done():
			v.mu.Lock()
			delete(v.waiting, m.id)
			v.mu.Unlock()
			if m.meta.modern() { // leaving is the cancel
				if !v.s.withdraw(m.id) {
					v.s.close(m.id)
				}
			}
			return false
		}
	}
}

// introduce names the session to a client that begins one.
func (v *visit) introduce(w http.ResponseWriter, r *http.Request, m *frame) {
	if m.method != "initialize" {
		return
	}
	id := "obstat-" + approval.NewID("")
	if v.link != nil {
		v.link.mu.Lock()
		if v.link.id != "" {
			id = v.link.id
		}
		v.link.mu.Unlock()
	}
	f := v.front
	f.mu.Lock()
	f.sessions[f.key(r, id)] = v
	f.mu.Unlock()
	w.Header().Set("Mcp-Session-Id", id)
}

// relayRefusal passes a challenge on, so that the client gets a token for the server
// itself.
func relayRefusal(w http.ResponseWriter, e *statusError, streams bool) {
	if streams {
		return
	}
	for _, c := range e.header.Values("WWW-Authenticate") {
		w.Header().Add("WWW-Authenticate", c)
	}
	if t := e.header.Get("Content-Type"); t != "" {
		w.Header().Set("Content-Type", t)
	}
	w.WriteHeader(e.status)
	_, _ = w.Write(e.body)
}

// listen is the stream of the server's own messages.
func (f *Front) listen(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	v := f.sessions[f.key(r, r.Header.Get("Mcp-Session-Id"))]
	f.mu.Unlock()
	if v == nil {
		w.Header().Set("Allow", "POST")
		http.Error(w, "there is no stream without a session", http.StatusMethodNotAllowed)
		return
	}
	ch := make(chan delivery, 64)
	v.mu.Lock()
	unheard := v.unheard
	v.stream, v.unheard = ch, nil
	v.mu.Unlock()
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-cache")
	w.WriteHeader(http.StatusOK)
	_ = http.NewResponseController(w).Flush()
	for _, msg := range unheard {
		event(w, msg)
	}
	defer func() {
		v.mu.Lock()
		defer v.mu.Unlock()
		if v.stream == ch {
			v.stream = nil
		}
	}()
	for {
		select {
		case d := <-ch:
			event(w, d.msg)
		case <-r.Context().Done():
			return
		}
	}
}

func event(w http.ResponseWriter, msg []byte) {
	_, _ = fmt.Fprintf(w, "event: message\ndata: %s\n\n", oneLine(msg))
	_ = http.NewResponseController(w).Flush()
}

func answer(w http.ResponseWriter, status int, msg []byte) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(msg)
}
