package server

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"strconv"
	"time"

	"github.com/obstat/obstat/approval"
)

const (
	// heartbeat is how often a quiet stream says that it is alive.
	heartbeat = 15 * time.Second
	// writeLimit is how long one write to a stream may take.
	writeLimit = 10 * time.Second
	// maxBacklog is how many changes a stream makes up for.
	maxBacklog = 1000
	// maxStreams is how many streams one person may have.
	maxStreams = 50
)

// events streams changes, as server-sent events: each `request` that was put
// or changed, each `policy` that was activated, and each `note` that people leave beside a request: who looks at it,
// and an answer that can still be taken back. With `brief=1` a request comes as its ID and state alone. A stream that
// goes on with Last-Event-ID gets those it missed; a request may come twice, and one that changed twice at once may
// come only as it is then. An `event: reset` says that too much was missed, and everything is to be loaded anew.
func (s *Server) events(w http.ResponseWriter, r *http.Request, c *caller) {
	leave, ok := s.enter(w, c)
	if !ok {
		return
	}
	defer leave()
	st := &stream{w: w, ctl: http.NewResponseController(w)}
	n := s.hub.now() // before the backlog is read, so that nothing comes in between
	missed, reset, err := s.backlog(r)
	if err != nil {
		s.fail(w, err)
		return
	}
	st.begin(fmt.Appendf(nil, "retry: %d\n\n", 1000+rand.IntN(1000)))
	if reset {
		st.write(resetEvent)
	}
	short := r.URL.Query().Get("brief") != ""
	for _, m := range missed {
		data := any(m)
		if short {
			data = brief(m)
		}
		if text, err := encodeEvent("request", m.Changed, data); err == nil {
			st.write(text)
		}
	}
	st.flush()
	s.follow(r, st, n, short)
}

// resetEvent says that too much was missed.
var resetEvent = []byte("event: reset\ndata: {}\n\n")

// enter counts a stream of a caller, or tells it that too many are open.
func (s *Server) enter(w http.ResponseWriter, c *caller) (leave func(), ok bool) {
	if leave, ok = s.hub.enter(c.id(), maxStreams); !ok {
		s.problem(w, newProblem(http.StatusTooManyRequests, "too-many-streams", "too many streams of events are open", ""))
	}
	return leave, ok
}

// backlog returns the changes that a stream has missed; reset: too many.
func (s *Server) backlog(r *http.Request) (missed []*approval.Request, reset bool, err error) {
	last := r.Header.Get("Last-Event-ID")
	if last == "" {
		last = r.URL.Query().Get("after")
	}
	if last == "" {
		return nil, false, nil
	}
	cursor, err := strconv.ParseInt(last, 10, 64)
	if err != nil || cursor < 1 || cursor > s.feed.Cursor() {
		return nil, true, nil
	}
	missed, err = s.store.Requests(r.Context(), approval.Query{After: cursor, Limit: maxBacklog + 1})
	if len(missed) > maxBacklog {
		return nil, true, err
	}
	return missed, false, err
}

// follow sends events from number n on until the client goes or the server ends.
func (s *Server) follow(r *http.Request, st *stream, n int, short bool) {
	beat := time.NewTimer(heartbeat)
	defer beat.Stop()
	for st.err == nil {
		frames, more, lost, ended := s.hub.after(n)
		if lost {
			st.write(resetEvent)
			n = s.hub.now()
		}
		for _, f := range frames {
			if short {
				st.write(f.brief)
			} else {
				st.write(f.whole)
			}
		}
		if n += len(frames); len(frames) > 0 || lost {
			st.flush()
		}
		if ended {
			return
		}
		select {
		case <-more:
		case <-beat.C:
			st.write([]byte(": alive\n\n"))
			st.flush()
			beat.Reset(heartbeat)
		case <-r.Context().Done():
			return
		}
	}
}

// A stream is one client's.
type stream struct {
	w   http.ResponseWriter
	ctl *http.ResponseController
	err error
}

// begin writes the header and the first event.
func (st *stream) begin(text []byte) {
	head := st.w.Header()
	head.Set("Content-Type", "text/event-stream")
	head.Set("Cache-Control", "no-store, no-transform")
	head.Set("X-Accel-Buffering", "no")
	st.write(text)
}

func (st *stream) write(text []byte) {
	if st.err == nil {
		_ = st.ctl.SetWriteDeadline(time.Now().Add(writeLimit)) // a server without deadlines has none to set
		_, st.err = st.w.Write(text)
	}
}

func (st *stream) flush() {
	if st.err == nil {
		st.err = st.ctl.Flush()
	}
}
