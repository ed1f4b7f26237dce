package server

import (
	"sync"
	"time"
)

// limits bounds how many requests a second each caller may send, and an address without one.
type limits struct {
	rate float64

	mu      sync.Mutex
	buckets map[string]*bucket
}

// A bucket counts the requests that a caller has left.
type bucket struct {
	left float64
	at   time.Time
}

// strangers is how many requests a second an address may send without a token or cookie.
const strangers = 20

func newLimits(rate int) *limits { return &limits{rate: float64(rate), buckets: map[string]*bucket{}} }

// take tells whether a caller may send another request now.
func (l *limits) take(c *caller, now time.Time) bool {
	rate := l.rate
	if c.agent == nil && c.person == nil {
		rate = strangers
	}
	return l.draw(c.id(), rate, now)
}

func (l *limits) draw(id string, rate float64, now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	b := l.buckets[id]
	if b == nil {
		if len(l.buckets) > 100_000 {
			clear(l.buckets)
		}
		b = &bucket{left: 2 * rate, at: now}
		l.buckets[id] = b
	}
	b.left = min(2*rate, b.left+now.Sub(b.at).Seconds()*rate)
	b.at = now
	if b.left < 1 {
		return false
	}
	b.left--
	return true
}
