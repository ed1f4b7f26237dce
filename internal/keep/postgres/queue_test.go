package postgres

import (
	"fmt"
	"testing"

	"github.com/obstat/obstat/ledger"
)

// TestQueueTurns: of an agent with a thousand jobs and nine with one each, all ten are in the next batch.
func TestQueueTurns(t *testing.T) {
	q := newQueue()
	put := func(agent string) { q.put(&job{records: []*ledger.Record{{Agent: agent}}, err: make(chan error, 1)}) }
	for range 1000 {
		put("flood")
	}
	for i := range 9 {
		put(fmt.Sprint("agent ", i))
	}
	agents := map[string]bool{}
	for _, j := range q.take(nil) {
		agents[j.agent()] = true
	}
	if len(agents) != 10 || q.len() != 1009-maxBatch {
		t.Errorf("%d agents, %d jobs are left", len(agents), q.len())
	}
	if left := q.close(); len(left) != 1009-maxBatch || q.put(&job{}) {
		t.Errorf("%d are left", len(left))
	}
}
