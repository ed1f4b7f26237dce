package server

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/approval"
)

// equals finds the request that waits for the same call of the same session: an agent whose `git push` timed out
// and is made again waits for the request that people see already, and they see one.
type equals struct {
	mu    sync.Mutex
	byKey map[string]*equalAsk
	byID  map[string]string    // key of a request
	waits map[string]bool      // IDs of all requests that wait, also of equal ones
	ended map[string]time.Time // when a request with a key ended lately
}

// An equalAsk is a request that waits, or is being put.
type equalAsk struct {
	id      string
	expires time.Time
	put     chan struct{} // closed once the request is put, or could not be
}

func newEquals() *equals {
	return &equals{byKey: map[string]*equalAsk{}, byID: map[string]string{}, waits: map[string]bool{},
		ended: map[string]time.Time{}}
}

// equalKey is the same for calls that one answer settles: the same bytes, agent, person, session and place.
func equalKey(digest string, c *obstat.Call) string {
	return strings.Join([]string{digest, c.Agent, c.User, c.Session, c.Dir, c.Channel, string(c.Mode)}, "\x00")
}

// take returns the ID of the request that waits for a call; "" lets the caller put r, and tell done about it. A
// request that is being put is waited for.
func (e *equals) take(ctx context.Context, r *approval.Request) string {
	key := equalKey(r.Digest, &r.Call)
	for {
		e.mu.Lock()
		other := e.byKey[key]
		if other == nil || !time.Now().Before(other.expires) {
			expires := r.Expires
			if expires.IsZero() {
				expires = time.Now().Add(time.Hour) // the broker sets it, and heard corrects it
			}
			e.byKey[key], e.byID[r.ID] = &equalAsk{id: r.ID, expires: expires, put: make(chan struct{})}, key
			e.mu.Unlock()
			return ""
		}
		e.mu.Unlock()
		select {
		case <-other.put:
		case <-ctx.Done():
			return ""
		}
		e.mu.Lock()
		same := e.byKey[key] == other
		e.mu.Unlock()
		if same {
			return other.id
		}
	}
}

// done ends putting the request with an ID; failed: it is not there.
func (e *equals) done(id string, failed bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	one := e.byKey[e.byID[id]]
	if one == nil || one.id != id {
		return
	}
	select {
	case <-one.put:
	default:
		close(one.put)
	}
	if failed {
		e.drop(id)
	}
}

// drop forgets a request. e.mu is held.
func (e *equals) drop(id string) {
	key, ok := e.byID[id]
	if !ok {
		return
	}
	delete(e.byID, id)
	if one := e.byKey[key]; one != nil && one.id == id {
		delete(e.byKey, key)
	}
}

// maxEnded bounds how many ends are remembered.
const maxEnded = 1000

// end remembers that a request ended. e.mu is held.
func (e *equals) end(key string) {
	if len(e.ended) >= maxEnded {
		clear(e.ended)
	}
	e.ended[key] = time.Now()
}

// endedSince tells whether a request for the same ended since a time: the answer may have left a grant that a call which
// was judged before has not seen.
func (e *equals) endedSince(r *approval.Request, since time.Time) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.ended[equalKey(r.Digest, &r.Call)].After(since)
}

// len returns how many requests wait.
func (e *equals) len() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.waits)
}

// heard keeps up with requests as they are put, here or by other replicas, and end.
func (e *equals) heard(r *approval.Request) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if r.State != approval.Pending {
		delete(e.waits, r.ID)
		if key, ok := e.byID[r.ID]; ok {
			e.end(key)
		}
		e.drop(r.ID)
		return
	}
	e.waits[r.ID] = true
	key := equalKey(r.Digest, &r.Call)
	switch one := e.byKey[key]; {
	case one == nil:
		put := make(chan struct{})
		close(put)
		e.byKey[key], e.byID[r.ID] = &equalAsk{id: r.ID, expires: r.Expires, put: put}, key
	case one.id == r.ID:
		one.expires = r.Expires
	}
}
