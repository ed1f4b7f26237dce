package server

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/obstat/obstat/internal/keep/docs"
	"github.com/obstat/obstat/ledger"
)

// An exporter sends the ledger's records to a collector, as OTLP logs over HTTP in their JSON form. The ledger is its
// queue: a place in it is kept as a document, so that a collector that is away for a day costs no memory and loses
// nothing. Of the replicas that share a store one exports, by a lease in the same document. A record may come twice,
// after a crash or where replicas take turns; `log.record.uid` is the same then.
type exporter struct {
	s      *Server
	url    string
	header http.Header
	client *http.Client
	id     string // of this process, in the lease

	sent, refused atomic.Int64
	failing       atomic.Bool
}

const (
	exportKind  = "export"
	exportID    = "otlp"
	exportLease = 30 * time.Second
	exportBatch = 512
	exportBytes = 1 << 20 // of a batch, about
	exportEvery = time.Second
	exportSlow  = time.Minute     // between tries at most
	exportGrace = 3 * time.Second // for the answer to a batch that is on its way while the server stops
)

// An exported is the place in the ledger up to which records were taken, and the process that sends them.
type exported struct {
	After uint64    `json:"after,omitempty"` // in a ledger of one chain
	Since time.Time `json:"since"`           // in one of several
	By    string    `json:"by,omitempty"`
	Until time.Time `json:"until,omitzero"` // end of the lease
}

func (s *Server) newExporter() *exporter {
	if s.opts.OTLP == "" {
		return nil
	}
	return &exporter{s: s, url: strings.TrimSuffix(s.opts.OTLP, "/") + "/v1/logs", header: s.opts.OTLPHeader,
		id: randomHex(8), client: &http.Client{Timeout: 20 * time.Second,
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
}

// begin keeps the place of the first export: records from before stay where they are.
func (e *exporter) begin(ctx context.Context) error {
	if _, err := e.s.store.Doc(ctx, exportKind, exportID); !errors.Is(err, docs.ErrNotFound) {
		return err
	}
	head, err := e.s.store.Head(ctx)
	if err != nil {
		return err
	}
	err = docs.Put(ctx, e.s.store, exportKind, exportID, 0, &exported{After: head.Seq, Since: time.Now().UTC()})
	if errors.Is(err, docs.ErrChanged) {
		return nil // another replica was first
	}
	return err
}

// run exports until ctx ends.
func (e *exporter) run(ctx context.Context) {
	for ctx.Err() == nil {
		if err := e.follow(ctx); err != nil && ctx.Err() == nil && !errors.Is(err, errLeased) {
			e.s.opts.Log.Warn("the export of records stopped; it is tried again", "error", err)
		}
		pause(ctx, exportEvery)
	}
}

// pause waits, and tells whether ctx goes on.
func pause(ctx context.Context, span time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(span):
		return true
	}
}

// errLeased is the error where another replica exports.
var errLeased = errors.New("another replica exports")

// keep takes or prolongs the lease, and keeps the place. A process that lost the lease does not move the place.
func (e *exporter) keep(ctx context.Context, first bool, at *exported) error {
	now, err := docs.Change(ctx, e.s.store, exportKind, exportID, func(d *exported) error {
		other := d.By != "" && d.By != e.id && time.Now().Before(d.Until)
		if other || !first && d.By != e.id {
			return errLeased
		}
		if !first {
			*d = *at
		}
		d.By, d.Until = e.id, time.Now().Add(exportLease).UTC()
		return nil
	})
	*at = now
	return err
}

// release gives the lease up, so that another replica need not wait for its end.
func (e *exporter) release(ctx context.Context) {
	_, _ = docs.Change(context.WithoutCancel(ctx), e.s.store, exportKind, exportID, func(d *exported) error {
		if d.By != e.id {
			return errLeased
		}
		d.By, d.Until = "", time.Time{}
		return nil
	})
}

// follow sends records as they come, while this process has the lease.
func (e *exporter) follow(ctx context.Context) error {
	var at exported
	if err := e.keep(ctx, true, &at); err != nil {
		return err
	}
	defer e.release(ctx)
	q := ledger.Query{After: at.After}
	f := e.s.newFollower(&q)
	if f.chains {
		q.After, q.Since, f.newest = 0, at.Since.Add(-followWindow), at.Since
	}
	kept := time.Now()
	for ctx.Err() == nil {
		n, err := e.round(ctx, f, &at)
		if err != nil {
			return err
		}
		if n > 0 || time.Since(kept) > exportLease/3 {
			if err := e.keep(ctx, false, &at); err != nil {
				return err
			}
			kept = time.Now()
		}
		pause(ctx, exportEvery)
	}
	return nil
}

// round sends the records that are new, in batches, and moves the place behind each of them.
func (e *exporter) round(ctx context.Context, f *follower, at *exported) (n int, err error) {
	var batch []otlpLog
	size := 0
	flush := func() error {
		if len(batch) == 0 {
			return nil
		}
		if err := e.deliver(ctx, batch, at); err != nil {
			return err
		}
		at.After, at.Since = f.q.After, f.newest
		batch, size = nil, 0
		return e.keep(context.WithoutCancel(ctx), false, at) // a server that stops keeps the place of a batch that was taken
	}
	for r, err := range e.s.store.Records(ctx, *f.q) {
		if err != nil {
			return n, err
		}
		if f.again(r) {
			continue
		}
		batch = append(batch, logOf(r))
		n, size = n+1, size+len(r.Reason)+1024
		if len(batch) >= exportBatch || size > exportBytes {
			if err := flush(); err != nil {
				return n, err
			}
		}
	}
	if err := flush(); err != nil {
		return n, err
	}
	f.next()
	if at.Since.Before(f.newest) {
		at.Since = f.newest
	}
	return n, nil
}

// deliver sends a batch until the collector has taken it. A batch that it refuses for its content is sent in halves,
// so that one record keeps no other back; the record that is left is counted and skipped.
func (e *exporter) deliver(ctx context.Context, batch []otlpLog, at *exported) error {
	for wait := exportEvery; ; wait = min(2*wait, exportSlow) {
		refused, after, err := e.send(ctx, batch)
		if err == nil {
			e.failing.Store(false)
			e.sent.Add(int64(len(batch)) - refused)
			e.refused.Add(refused)
			return nil
		}
		if errors.Is(err, errContent) {
			if len(batch) == 1 {
				e.refused.Add(1)
				e.s.opts.Log.Error("the collector refuses a record", "uid", batch[0].uid(), "error", err)
				return nil
			}
			half := len(batch) / 2
			if err := e.deliver(ctx, batch[:half], at); err != nil {
				return err
			}
			return e.deliver(ctx, batch[half:], at)
		}
		if !e.failing.Swap(true) {
			e.s.opts.Log.Warn("records wait for the collector", "error", err)
		}
		if !pause(ctx, max(wait, after)) {
			return ctx.Err()
		}
		if err := e.keep(ctx, false, at); err != nil { // the lease goes on, the place stays
			return err
		}
	}
}

// errContent is the error of a batch that the collector will never take: 400 and 413.
var errContent = errors.New("refused for its content")

// send posts a batch once. refused are the records that the collector dropped, and after is how long it wants to be
// left alone.
func (e *exporter) send(ctx context.Context, batch []otlpLog) (refused int64, after time.Duration, err error) {
	body, err := json.Marshal(map[string]any{"resourceLogs": []any{map[string]any{
		"resource":  map[string]any{"attributes": []attribute{{"service.name", map[string]string{"stringValue": "obstat"}}}},
		"scopeLogs": []any{map[string]any{"scope": map[string]string{"name": "obstat.ledger"}, "logRecords": batch}}}}})
	if err != nil {
		return 0, 0, fmt.Errorf("%w: %w", errContent, err)
	}
	sending, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(exportGrace, cancel) })()
	req, err := http.NewRequestWithContext(sending, http.MethodPost, e.url, bytes.NewReader(body))
	if err != nil {
		return 0, 0, err
	}
	for name, values := range e.header {
		req.Header[name] = values
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := e.client.Do(req)
	if err != nil {
		return 0, 0, err
	}
	defer resp.Body.Close()
	said, err := io.ReadAll(io.LimitReader(resp.Body, 1<<16))
	if seconds, bad := strconv.Atoi(resp.Header.Get("Retry-After")); bad == nil && seconds > 0 {
		after = min(time.Duration(seconds)*time.Second, exportSlow)
	}
	switch {
	case resp.StatusCode == http.StatusBadRequest || resp.StatusCode == http.StatusRequestEntityTooLarge:
		return 0, 0, fmt.Errorf("%w: the collector answers %s", errContent, resp.Status)
	case resp.StatusCode < 200 || resp.StatusCode > 299:
		return 0, after, fmt.Errorf("the collector answers %s", resp.Status)
	case err != nil:
		return 0, after, err
	}
	return min(e.partly(said), int64(len(batch))), 0, nil
}

// partly returns how many records the collector says it has dropped of those that it took.
func (e *exporter) partly(said []byte) int64 {
	var answer struct {
		Partial struct {
			Rejected json.Number `json:"rejectedLogRecords"` // a 64-bit integer is a string in OTLP's JSON
			Message  string      `json:"errorMessage"`
		} `json:"partialSuccess"`
	}
	if json.Unmarshal(said, &answer) != nil {
		return 0
	}
	n, _ := answer.Partial.Rejected.Int64()
	if n > 0 {
		e.s.opts.Log.Error("the collector drops records", "records", n, "why", ledger.Clip(answer.Partial.Message))
	}
	return max(n, 0)
}

// An otlpLog is a record as a log record of OTLP. The claimed time is its time; the server's own is when it was
// observed.
type otlpLog struct {
	Time     string            `json:"timeUnixNano"`
	Observed string            `json:"observedTimeUnixNano"`
	Severity int               `json:"severityNumber"`
	Level    string            `json:"severityText"`
	Event    string            `json:"eventName"`
	Body     map[string]string `json:"body"`
	Attrs    []attribute       `json:"attributes"`
}

// uid returns the record's identifier.
func (l *otlpLog) uid() string { return l.Attrs[0].Value["stringValue"] }

// The severities of OTLP that are used.
const (
	otlpInfo  = 9
	otlpWarn  = 13
	otlpError = 17
)

// logOf returns a record in that form. The input is left out: it is in the ledger, masked, under the record's uid.
func logOf(r *ledger.Record) otlpLog {
	out := otlpLog{Time: nanos(r.Time), Observed: nanos(r.TakenAt()), Severity: otlpInfo, Level: "INFO",
		Event: "obstat." + string(r.Kind), Body: map[string]string{"stringValue": r.Reason}}
	switch {
	case r.Kind == ledger.Damage:
		out.Severity, out.Level = otlpError, "ERROR"
	case r.Verdict == "deny" || r.Verdict == "refused" || r.Verdict == "expired":
		out.Severity, out.Level = otlpWarn, "WARN"
	}
	for _, a := range [][2]string{{"log.record.uid", r.Hash.String()}, {"gen_ai.agent.name", r.Agent},
		{"gen_ai.tool.name", r.Tool}, {"session.id", r.Session}, {"user.name", r.User}, {"obstat.kind", string(r.Kind)},
		{"obstat.verdict", r.Verdict}, {"obstat.rule", r.Rule}, {"obstat.request", r.Request}, {"obstat.policy", r.Policy},
		{"obstat.call", r.Call}, {"obstat.dir", r.Dir}} {
		if a[1] != "" {
			out.Attrs = append(out.Attrs, attribute{a[0], map[string]string{"stringValue": a[1]}})
		}
	}
	out.Attrs = append(out.Attrs, attribute{"obstat.seq", map[string]string{"intValue": strconv.FormatUint(r.Seq, 10)}})
	return out
}

// nanos writes a time as OTLP's JSON has it; times before 1970 are zero there.
func nanos(t time.Time) string {
	if t.Year() < 1970 || t.Year() > 2261 {
		return "0"
	}
	return strconv.FormatInt(max(t.UnixNano(), 0), 10)
}
