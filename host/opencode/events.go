package opencode

import "github.com/obstat/obstat/approval"

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
}

// Replied are the properties of a replied event.
type Replied struct {
	SessionID string `json:"sessionID"`
	RequestID string `json:"requestID"`
	Reply     Reply  `json:"reply"`
}

// A Subscription gets events until it is cancelled, the instance is closed, or it
// has not read for so long that it would miss one: then it ends, so that its
// reader asks anew for the pending requests.
type Subscription struct {
	events chan Event
	in     *Instance
}

// maxBehind is how many events a subscription may have unread.
const maxBehind = 256

// Subscribe returns a subscription to all events from now on.
func (i *Instance) Subscribe() *Subscription {
	i.mu.Lock()
	defer i.mu.Unlock()
	s := &Subscription{events: make(chan Event, maxBehind), in: i}
	if i.closed {
		close(s.events)
		return s
	}
	i.subs[s] = struct{}{}
	return s
}

// Events returns the channel of events; it is closed when the subscription ends.
func (s *Subscription) Events() <-chan Event { return s.events }

// Cancel ends the subscription.
func (s *Subscription) Cancel() {
	s.in.mu.Lock()
	defer s.in.mu.Unlock()
	s.in.drop(s)
}

func (i *Instance) drop(s *Subscription) {
	if _, ok := i.subs[s]; ok {
		delete(i.subs, s)
		close(s.events)
	}
}

func newEventID() string { return approval.NewID("evt_") }

// publish tells all subscriptions. The lock is held, so that events come in the
// order in which things happened.
func (i *Instance) publish(e Event) {
	e.ID = newEventID()
	for s := range i.subs {
		select {
		case s.events <- e:
		default:
			i.drop(s)
		}
	}
}
