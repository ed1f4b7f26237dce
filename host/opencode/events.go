package opencode

import (
	"sync"

	"github.com/obstat/obstat/approval"
)

// The types of events.
const (
	EventAsked   = "permission.asked"
	EventReplied = "permission.replied"
)

// An Event is something that happened to a request.
type Event struct {
	ID         string `json:"id"`
	Type       string `json:"type"`
	Properties any    `json:"properties"`

	dir string // that the request's call was made in
}

// Replied are the properties of a replied event.
type Replied struct {
	SessionID string `json:"sessionID"`
	RequestID string `json:"requestID"`
	Reply     Reply  `json:"reply"`
}

// EventOf returns the event that a request as it is now is to clients, which know it as shown: it
// waits, or was answered. It returns false for later changes, such as a claim.
func EventOf(r *approval.Request, shown Request) (Event, bool) {
	reply := Reject
	switch r.State {
	case approval.Pending:
		return Event{Type: EventAsked, Properties: shown, dir: r.Call.Dir}, true
	case approval.Refused, approval.Expired, approval.Canceled:
	case approval.Approved:
		a := r.Agreed()
		if reply = Once; a.Words == string(Always) || a.Offer > 0 || a.Scope != "" && a.Scope != approval.Once {
			reply = Always
		}
	default:
		return Event{}, false
	}
	return Event{Type: EventReplied, Properties: Replied{r.Call.Session, shown.ID, reply}, dir: r.Call.Dir}, true
}

// Events hands events to subscriptions. The zero value is ready.
type Events struct {
	mu     sync.Mutex
	closed bool
	subs   map[*Subscription]struct{}
}

// A Subscription gets events until it is cancelled, its Events are closed, or it has not read
// for so long that it would miss one: then it ends, so that its reader asks anew for the pending
// requests.
type Subscription struct {
	events chan Event
	of     *Events
}

// maxBehind is how many events a subscription may have unread.
const maxBehind = 256

// Subscribe returns a subscription to all events from now on.
func (e *Events) Subscribe() *Subscription {
	e.mu.Lock()
	defer e.mu.Unlock()
	s := &Subscription{events: make(chan Event, maxBehind), of: e}
	if e.closed {
		close(s.events)
		return s
	}
	if e.subs == nil {
		e.subs = map[*Subscription]struct{}{}
	}
	e.subs[s] = struct{}{}
	return s
}

// Events returns the channel of events; it is closed when the subscription ends.
func (s *Subscription) Events() <-chan Event { return s.events }

// Cancel ends the subscription.
func (s *Subscription) Cancel() {
	s.of.mu.Lock()
	defer s.of.mu.Unlock()
	s.of.drop(s)
}

// drop ends a subscription; e is locked.
func (e *Events) drop(s *Subscription) {
	if _, ok := e.subs[s]; ok {
		delete(e.subs, s)
		close(s.events)
	}
}

func newEventID() string { return approval.NewID("evt_") }

// Publish tells all subscriptions.
func (e *Events) Publish(one Event) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.subs) == 0 {
		return
	}
	one.ID = newEventID()
	for s := range e.subs {
		select {
		case s.events <- one:
		default:
			e.drop(s)
		}
	}
}

// Close ends all subscriptions, and those that come later.
func (e *Events) Close() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.closed = true
	for s := range e.subs {
		e.drop(s)
	}
}
