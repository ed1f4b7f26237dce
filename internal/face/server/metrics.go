package server

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/obstat/obstat"
)

// metrics counts for Prometheus. They are written by hand: three kinds of
// lines are all that is needed, and nothing is registered at the start of a
// process that serves no request.
type metrics struct {
	verdicts [obstat.Allow + 1]atomic.Int64
	answers  atomic.Int64
	asks     atomic.Int64
	took     [len(bounds) + 1]atomic.Int64 // decisions, by how long they took
	total    atomic.Int64                  // microseconds of all decisions

	mu    sync.Mutex
	codes map[int]int64 // of responses
}

// bounds are the upper ends of the buckets, in microseconds.
var bounds = [...]int64{50, 100, 250, 500, 1000, 2500, 5000, 10_000, 50_000, 250_000, 1_000_000}

func newMetrics() *metrics { return &metrics{codes: map[int]int64{}} }

// decided counts a decision.
func (m *metrics) decided(v obstat.Verdict, took time.Duration) {
	m.verdicts[min(v, obstat.Allow)].Add(1)
	us := took.Microseconds()
	m.total.Add(us)
	i := 0
	for i < len(bounds) && us > bounds[i] {
		i++
	}
	m.took[i].Add(1)
}

func (m *metrics) responded(code int) {
	m.mu.Lock()
	m.codes[code]++
	m.mu.Unlock()
}

// serveMetrics writes the metrics in Prometheus's text format.
func (s *Server) serveMetrics(w http.ResponseWriter, r *http.Request, _ *caller) {
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	m := s.metrics
	header(w, "obstat_decisions_total", "counter", "decisions, by verdict")
	for v := obstat.Deny; v <= obstat.Allow; v++ {
		fmt.Fprintf(w, "obstat_decisions_total{verdict=%q} %d\n", v, m.verdicts[v].Load())
	}
	header(w, "obstat_decision_seconds", "histogram", "time to a decision, without waiting for people")
	sum := int64(0)
	for i := range m.took {
		sum += m.took[i].Load()
		le := "+Inf"
		if i < len(bounds) {
			le = fmt.Sprint(float64(bounds[i]) / 1e6)
		}
		fmt.Fprintf(w, "obstat_decision_seconds_bucket{le=%q} %d\n", le, sum)
	}
	fmt.Fprintf(w, "obstat_decision_seconds_sum %g\nobstat_decision_seconds_count %d\n", float64(m.total.Load())/1e6, sum)
	gauges := []gauge{
		{"obstat_asks_total", "counter", "requests put to people", m.asks.Load()},
		{"obstat_answers_total", "counter", "answers of people that counted", m.answers.Load()},
		{"obstat_event_streams", "gauge", "open streams of events", int64(s.hub.streams())},
		{"obstat_policy_version", "gauge", "version of the policy in force; zero is the files", int64(s.shelf.version())},
	}
	if s.traces != nil {
		gauges = append(gauges, gauge{"obstat_spans_lost_total", "counter", "spans that the collector did not take",
			s.traces.lost.Load()})
	}
	if e := s.exports; e != nil {
		failing := int64(0)
		if e.failing.Load() {
			failing = 1
		}
		gauges = append(gauges,
			gauge{"obstat_export_records_total", "counter", "records that the collector took", e.sent.Load()},
			gauge{"obstat_export_refused_total", "counter", "records that the collector refused", e.refused.Load()},
			gauge{"obstat_export_failing", "gauge", "whether records wait for the collector", failing})
	}
	if s.teller != nil {
		gauges = append(gauges, gauge{"obstat_notifications_total", "counter", "notifications that were delivered",
			s.teller.Sent.Load()},
			gauge{"obstat_notifications_failed_total", "counter", "notifications that could not be delivered",
				s.teller.Failed.Load()})
	}
	for _, g := range gauges {
		header(w, g.name, g.kind, g.help)
		fmt.Fprintf(w, "%s %d\n", g.name, g.value)
	}
	ctx, cancel := context.WithTimeout(r.Context(), 2*time.Second) // a store that is away takes no longer
	defer cancel()
	header(w, "obstat_requests_pending", "gauge", "requests that wait for people")
	fmt.Fprintf(w, "obstat_requests_pending %d\n", s.service.Waiting())
	up := 1
	if s.ready(ctx) != nil {
		up = 0
	}
	header(w, "obstat_ready", "gauge", "whether the store and the policy can be used")
	fmt.Fprintf(w, "obstat_ready %d\n", up)
	header(w, "obstat_http_responses_total", "counter", "responses, by status")
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, code := range slices.Sorted(maps.Keys(m.codes)) {
		fmt.Fprintf(w, "obstat_http_responses_total{code=\"%d\"} %d\n", code, m.codes[code])
	}
}

// A gauge is a metric without labels.
type gauge struct {
	name, kind, help string
	value            int64
}

func header(w io.Writer, name, kind, help string) {
	fmt.Fprintf(w, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, kind)
}
