package server

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// traces sends a span for each request to a collector, as OTLP over HTTP in its JSON
// form: one kind of span needs no library.
type traces struct {
	url   string
	queue chan span
	lost  atomic.Int64 // spans that the collector was too slow for
}

// maxSpans is how many spans wait for the collector at most, and maxSent how many go at
// once.
const (
	maxSpans = 4096
	maxSent  = 512
)

func newTraces(endpoint string) *traces {
	if endpoint == "" {
		return nil
	}
	return &traces{url: strings.TrimSuffix(endpoint, "/") + "/v1/traces", queue: make(chan span, maxSpans)}
}

// A span is one in OTLP's form.
type span struct {
	Trace  string      `json:"traceId"`
	ID     string      `json:"spanId"`
	Parent string      `json:"parentSpanId,omitempty"`
	Name   string      `json:"name"`
	Kind   int         `json:"kind"`
	Start  string      `json:"startTimeUnixNano"`
	End    string      `json:"endTimeUnixNano"`
	Attrs  []attribute `json:"attributes"`
	Status struct {
		Code int `json:"code,omitempty"`
	} `json:"status"`
}

type attribute struct {
	Key   string            `json:"key"`
	Value map[string]string `json:"value"`
}

// spanServer is OTLP's kind of a span for a request that is served, and spanError its
// status of one that failed.
const (
	spanServer = 2
	spanError  = 2
)

// begin starts the span of a request; the function that it returns ends it. Nothing of
// the call or its caller is in it.
func (t *traces) begin(rt *route, r *http.Request, w http.ResponseWriter) func() {
	began := time.Now()
	return func() {
		s := span{ID: randomHex(8), Name: rt.method + " " + rt.path, Kind: spanServer,
			Start: strconv.FormatInt(began.UnixNano(), 10), End: strconv.FormatInt(time.Now().UnixNano(), 10)}
		if s.Trace, s.Parent = parentOf(r.Header.Get("Traceparent")); s.Trace == "" {
			s.Trace = randomHex(16)
		}
		code := http.StatusOK
		if rec, ok := w.(*recorder); ok {
			code = rec.code
		}
		if code >= 500 {
			s.Status.Code = spanError
		}
		for _, a := range [][3]string{{"http.request.method", "stringValue", rt.method},
			{"http.route", "stringValue", rt.path}, {"http.response.status_code", "intValue", strconv.Itoa(code)}} {
			s.Attrs = append(s.Attrs, attribute{a[0], map[string]string{a[1]: a[2]}})
		}
		select {
		case t.queue <- s:
		default:
			t.lost.Add(1)
		}
	}
}

func randomHex(n int) string {
	b := make([]byte, n)
	_, _ = rand.Read(b) // it never fails
	return hex.EncodeToString(b)
}

// parentOf returns the trace and the span that a Traceparent header names, "" where it
// names none: `00-<32 digits>-<16 digits>-01`.
func parentOf(header string) (trace, parent string) {
	parts := strings.Split(header, "-")
	if len(parts) < 4 || len(parts[1]) != 32 || len(parts[2]) != 16 {
		return "", ""
	}
	for _, p := range parts[1:3] {
		if _, err := hex.DecodeString(p); err != nil || strings.Trim(p, "0") == "" {
			return "", ""
		}
	}
	return strings.ToLower(parts[1]), strings.ToLower(parts[2])
}

// run sends waiting spans until ctx ends, and then once more.
func (t *traces) run(ctx context.Context, say func(error)) {
	for {
		var batch []span
		select {
		case <-ctx.Done():
		case s := <-t.queue:
			batch = append(batch, s)
			select {
			case <-ctx.Done():
			case <-time.After(time.Second): // the others of this second go along
			}
		}
		for more := true; more && len(batch) < maxSent; {
			select {
			case s := <-t.queue:
				batch = append(batch, s)
			default:
				more = false
			}
		}
		if len(batch) > 0 {
			if err := t.send(context.WithoutCancel(ctx), batch); err != nil {
				say(err)
			}
		}
		if ctx.Err() != nil {
			return
		}
	}
}

// send sends spans to the collector. Spans that it does not take are lost: a trace is no record.
func (t *traces) send(ctx context.Context, batch []span) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	body, err := json.Marshal(map[string]any{"resourceSpans": []any{map[string]any{
		"resource":   map[string]any{"attributes": []attribute{{"service.name", map[string]string{"stringValue": "obstat"}}}},
		"scopeSpans": []any{map[string]any{"scope": map[string]string{"name": "obstat"}, "spans": batch}}}}})
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, t.url, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.lost.Add(int64(len(batch)))
		return err
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, 1<<16))
	if resp.StatusCode >= 300 {
		t.lost.Add(int64(len(batch)))
		return fmt.Errorf("the collector of traces answers %s", resp.Status)
	}
	return nil
}
