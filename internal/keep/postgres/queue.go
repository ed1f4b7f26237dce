package postgres

import "sync"

// A queue holds the jobs that wait to be written, and hands them out in turns by agent: one that writes a thousand
// records at once has them written beside those of the others, not before.
type queue struct {
	more chan struct{} // gets a value when there are jobs

	mu     sync.Mutex
	byName map[string][]*job
	ring   []string // agents with jobs, in turns
	n      int
	closed bool
}

func newQueue() *queue { return &queue{more: make(chan struct{}, 1), byName: map[string][]*job{}} }

// agent names the agent that a job is for.
func (j *job) agent() string {
	switch {
	case j.request != nil:
		return j.request.Call.Agent
	case len(j.records) > 0:
		return j.records[0].Agent
	}
	return ""
}

// put adds a job, and tells whether the queue is open.
func (q *queue) put(j *job) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return false
	}
	name := j.agent()
	if len(q.byName[name]) == 0 {
		q.ring = append(q.ring, name)
	}
	q.byName[name] = append(q.byName[name], j)
	q.n++
	nudge(q.more)
	return true
}

// take fills a batch, one job of each agent in turn.
func (q *queue) take(batch []*job) []*job {
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(batch) < maxBatch && len(q.ring) > 0 {
		name := q.ring[0]
		q.ring = q.ring[1:]
		jobs := q.byName[name]
		batch = append(batch, jobs[0])
		q.n--
		if len(jobs) > 1 {
			q.byName[name] = jobs[1:]
			q.ring = append(q.ring, name)
		} else {
			delete(q.byName, name)
		}
	}
	if q.n > 0 {
		nudge(q.more)
	}
	return batch
}

func (q *queue) len() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.n
}

// close ends the queue and returns what waits.
func (q *queue) close() (left []*job) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	for _, jobs := range q.byName {
		left = append(left, jobs...)
	}
	q.byName, q.ring, q.n = nil, nil, 0
	return left
}
