package server

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"

	"github.com/obstat/obstat/approval"
)

// A hub holds the last events, each encoded once for all listeners.
type hub struct {
	mu    sync.Mutex
	last  []frame
	bytes int             // of last
	first int             // number of last[0]
	more  chan struct{}   // closed when there is another event
	over  context.Context // ends with the server
	end   context.CancelFunc
	open  map[string]int // streams, by whose they are
}

// A frame is an event as it is sent: whole, or in brief for a page that asks for what it shows.
type frame struct{ whole, brief []byte }

// maxFrames bounds how many events a listener may be behind, and maxBytes how many bytes of them are kept.
const (
	maxFrames = 4096
	maxBytes  = 4 << 20
)

func newHub() *hub {
	h := &hub{more: make(chan struct{}), open: map[string]int{}}
	h.over, h.end = context.WithCancel(context.Background())
	return h
}

// request adds the event that a request was put or changed.
func (h *hub) request(r *approval.Request) { h.add("request", r.Changed, r) }

// A briefRequest says which request has changed, and for one that ended how.
type briefRequest struct {
	ID      string         `json:"id"`
	State   approval.State `json:"state"`
	Version int            `json:"version"`
	By      string         `json:"by,omitempty"` // the person who answered
}

// brief returns the short form of an event's data; nil where there is none.
func brief(v any) any {
	r, ok := v.(*approval.Request)
	if !ok {
		return nil
	}
	out := &briefRequest{ID: r.ID, State: r.State, Version: r.Version}
	if n := len(r.Answers); n > 0 {
		out.By = r.Answers[n-1].By
	}
	return out
}

// add adds an event.
func (h *hub) add(kind string, cursor int64, v any) {
	text, err := encodeEvent(kind, cursor, v)
	if err != nil {
		return // a request that was read from JSON can be written as JSON
	}
	one := frame{text, text}
	if short := brief(v); short != nil {
		if one.brief, err = encodeEvent(kind, cursor, short); err != nil {
			return
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.last, h.bytes = append(h.last, one), h.bytes+len(text)
	if len(h.last) > maxFrames || h.bytes > maxBytes {
		drop := 0 // half of them at once: each time the others are copied
		for ; len(h.last)-drop > maxFrames/2 || h.bytes > maxBytes/2 && len(h.last)-drop > 1; drop++ {
			h.bytes -= len(h.last[drop].whole)
		}
		h.first += drop
		h.last = append([]frame(nil), h.last[drop:]...)
	}
	close(h.more)
	h.more = make(chan struct{})
}

// encodeEvent returns an event as a server sends it.
func encodeEvent(kind string, cursor int64, v any) ([]byte, error) {
	data, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	out := fmt.Appendf(nil, "event: %s\n", kind)
	if cursor > 0 {
		out = fmt.Appendf(out, "id: %d\n", cursor)
	}
	return fmt.Appendf(out, "data: %s\n\n", data), nil
}

// now returns the number of the next event.
func (h *hub) now() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.first + len(h.last)
}

// after returns the events from number n on, and a channel that is closed when there are
// more. lost: some are not there any more. ended: the server ends.
func (h *hub) after(n int) (frames []frame, more <-chan struct{}, lost, ended bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if n < h.first {
		return nil, h.more, true, h.over.Err() != nil
	}
	return h.last[n-h.first:], h.more, false, h.over.Err() != nil
}

// close ends all streams.
func (h *hub) close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.over.Err() == nil {
		h.end()
		close(h.more)
		h.more = make(chan struct{})
	}
}

// enter counts a caller's stream, unless there are too many.
func (h *hub) enter(whose string, limit int) (leave func(), ok bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.open[whose] >= limit {
		return nil, false
	}
	h.open[whose]++
	return func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		if h.open[whose]--; h.open[whose] <= 0 {
			delete(h.open, whose)
		}
	}, true
}

// streams returns how many streams are open.
func (h *hub) streams() (n int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, k := range h.open {
		n += k
	}
	return n
}
