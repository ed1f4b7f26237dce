package server_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/obstat/obstat/internal/face/server"
)

// TestTraces: a collector gets a span for each request, below the caller's own, with the
// route and the status and nothing of the call; spans that it refuses are counted.
func TestTraces(t *testing.T) {
	t.Parallel()
	got := make(chan string, 16)
	refuse := make(chan bool, 1)
	collector := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		select {
		case got <- r.URL.Path + " " + string(body):
		default: // enough were looked at
		}
		select {
		case <-refuse:
			w.WriteHeader(http.StatusServiceUnavailable)
		default:
		}
	}))
	t.Cleanup(collector.Close)
	s := open(t, func(o *server.Options) { o.Traces = collector.URL + "/" })
	parent := strings.Repeat("a", 32) + "-" + strings.Repeat("b", 16)
	s.do(s.agent, "POST", "/v1/decisions", aCall, "Traceparent", "00-"+parent+"-01")
	text := within(t, "the first span", got)
	for _, want := range []string{"/v1/traces {", `"traceId":"` + parent[:32] + `"`, `"parentSpanId":"` + parent[33:] + `"`, `"name":"POST /v1/decisions"`, `"intValue":"200"`, `"stringValue":"obstat"`} {
		if !strings.Contains(text, want) {
			t.Errorf("no %s in %s", want, text)
		}
	}
	if strings.Contains(text, "git status") || strings.Contains(text, s.agent) {
		t.Errorf("the call or its token is in the span: %s", text)
	}
	refuse <- true
	s.do(s.agent, "POST", "/v1/decisions", `{`, "Traceparent", "00-zz-1-01")
	if text = within(t, "the second span", got); strings.Contains(text, "parentSpanId") || !strings.Contains(text, `"intValue":"400"`) {
		t.Errorf("%s", text)
	}
	end := time.Now().Add(time.Minute)
	for lost := false; !lost; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("waited in vain for the count of lost spans")
		}
		_, metrics := s.do(s.ann, "GET", "/metrics", "")
		_, after, there := strings.Cut(metrics, "\nobstat_spans_lost_total ")
		lost = there && !strings.HasPrefix(after, "0\n")
	}
}
