package opencode

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

// Replied is what a replied event tells.
type Replied struct {
	SessionID string `json:"sessionID"`
	RequestID string `json:"requestID"`
	Reply     Reply  `json:"reply"`
}

// A Subscription gets events until it is cancelled, the broker is closed, or it
// has not read for so long that it would miss one: then it ends, so that its
// reader asks anew for what is pending.
type Subscription struct {
	events chan Event
	broker *Broker
}

// maxBehind is how many events a subscription may have unread.
const maxBehind = 256

// Subscribe returns a subscription to all events from now on.
func (b *Broker) Subscribe() *Subscription {
	b.mu.Lock()
	defer b.mu.Unlock()
	s := &Subscription{events: make(chan Event, maxBehind), broker: b}
	if b.closed {
		close(s.events)
		return s
	}
	b.subs[s] = struct{}{}
	return s
}

// Events returns the channel of events; it is closed when the subscription ends.
func (s *Subscription) Events() <-chan Event { return s.events }

// Cancel ends the subscription.
func (s *Subscription) Cancel() {
	s.broker.mu.Lock()
	defer s.broker.mu.Unlock()
	s.broker.drop(s)
}

func (b *Broker) drop(s *Subscription) {
	if _, ok := b.subs[s]; ok {
		delete(b.subs, s)
		close(s.events)
	}
}

// NewEventID returns an identifier for an event that no broker published.
func NewEventID() string { return newID("evt_") }

// publish tells all subscriptions. The lock is held, so that events come in the
// order in which things happened.
func (b *Broker) publish(e Event) {
	e.ID = NewEventID()
	for s := range b.subs {
		select {
		case s.events <- e:
		default:
			b.drop(s)
		}
	}
}
