package server_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/obstat/obstat/gate"
	"github.com/obstat/obstat/internal/face/server"
	"github.com/obstat/obstat/internal/keep/sqlite"
	"github.com/obstat/obstat/ledger"
)

// A collector takes OTLP logs as the protocol's document says, strictly: members that its schema does not have are an
// error.
type collector struct {
	*httptest.Server
	mu    sync.Mutex
	logs  []otlpRecord
	posts int
	wrong []string
	fail  func(post int, body string) int // status instead of taking; nil takes
	more  chan bool
}

// The messages of opentelemetry/proto/logs/v1 in JSON, as far as records need them.
type otlpRecord struct {
	Time     string                       `json:"timeUnixNano"`
	Observed string                       `json:"observedTimeUnixNano"`
	Severity int                          `json:"severityNumber"`
	Level    string                       `json:"severityText"`
	Event    string                       `json:"eventName"`
	Body     struct{ StringValue string } `json:"body"`
	Attrs    []struct {
		Key   string
		Value struct{ StringValue, IntValue *string }
	} `json:"attributes"`
}

type otlpRequest struct {
	ResourceLogs []struct {
		Resource struct {
			Attributes []struct {
				Key   string
				Value struct{ StringValue string }
			}
		}
		ScopeLogs []struct {
			Scope      struct{ Name string }
			LogRecords []otlpRecord
		}
	}
}

func (r *otlpRecord) attr(key string) string {
	for _, a := range r.Attrs {
		if a.Key == key && a.Value.StringValue != nil {
			return *a.Value.StringValue
		}
		if a.Key == key && a.Value.IntValue != nil {
			return *a.Value.IntValue
		}
	}
	return ""
}

func newCollector(t *testing.T, fail func(int, string) int) *collector {
	c := &collector{fail: fail, more: make(chan bool, 1000)}
	c.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		c.mu.Lock()
		defer c.mu.Unlock()
		defer func() { c.more <- true }()
		c.posts++
		if r.URL.Path != "/v1/logs" || r.Method != "POST" || r.Header.Get("Content-Type") != "application/json" {
			c.wrong = append(c.wrong, r.Method+" "+r.URL.Path)
		}
		if r.Header.Get("Api-Key") != "k" {
			c.wrong = append(c.wrong, "no header")
		}
		if c.fail != nil {
			if status := c.fail(c.posts, string(body)); status != 0 {
				w.Header().Set("Location", "http://127.0.0.1:1/")
				w.WriteHeader(status)
				return
			}
		}
		var in otlpRequest
		dec := json.NewDecoder(strings.NewReader(string(body)))
		dec.DisallowUnknownFields()
		if err := dec.Decode(&in); err != nil {
			c.wrong = append(c.wrong, err.Error())
		}
		for _, res := range in.ResourceLogs {
			for _, scope := range res.ScopeLogs {
				c.logs = append(c.logs, scope.LogRecords...)
			}
		}
		fmt.Fprint(w, `{"partialSuccess":{}}`)
	}))
	t.Cleanup(c.Close)
	return c
}

// until waits for posts until the records are as wanted.
func (c *collector) until(t *testing.T, enough func([]otlpRecord) bool) []otlpRecord {
	t.Helper()
	end := time.After(time.Minute)
	for {
		c.mu.Lock()
		logs, wrong := append([]otlpRecord{}, c.logs...), c.wrong
		c.mu.Unlock()
		if len(wrong) > 0 {
			t.Fatalf("%q", wrong)
		}
		if enough(logs) {
			return logs
		}
		select {
		case <-c.more:
		case <-end:
			t.Fatalf("waited in vain; %d records came", len(logs))
		}
	}
}

// uids are the identifiers of the records that came, each once.
func uids(logs []otlpRecord) map[string]int {
	out := map[string]int{}
	for i := range logs {
		out[logs[i].attr("log.record.uid")]++
	}
	return out
}

// all tells whether every record of a store has come, apart from those before the first.
func all(t *testing.T, store server.Store, from uint64) func([]otlpRecord) bool {
	return func(logs []otlpRecord) bool {
		got := uids(logs)
		for r, err := range store.Records(t.Context(), ledger.Query{After: from}) {
			must(t, err)
			if got[r.Hash.String()] == 0 {
				return false
			}
		}
		return len(logs) > 0
	}
}

func otlpOptions(c *collector) func(*server.Options) {
	return func(o *server.Options) { o.OTLP, o.OTLPHeader = c.URL+"/", http.Header{"Api-Key": {"k"}} }
}

// TestOTLP: a collector gets each record once and in order, with the fields that the document names, also after it was
// away, sent elsewhere or said that it wants peace.
func TestOTLP(t *testing.T) {
	t.Parallel()
	status := []int{503, 307, 401}
	c := newCollector(t, func(post int, _ string) int {
		if post <= len(status) {
			return status[post-1]
		}
		return 0
	})
	s := open(t, otlpOptions(c))
	head, err := s.store.Head(t.Context())
	must(t, err)
	s.do(s.agent, "POST", "/v1/decisions", aCall)
	s.do(s.agent, "POST", "/v1/decisions", `{"call":{"tool":"bash","session":"s1","input":{"command":"rm -rf /"}}}`)
	logs := c.until(t, all(t, s.store, head.Seq))
	for uid, n := range uids(logs) {
		if n != 1 {
			t.Errorf("%s came %d times", uid, n)
		}
	}
	var denied *otlpRecord
	for i := range logs {
		if logs[i].attr("session.id") == "s1" {
			denied = &logs[i]
		}
	}
	if denied == nil || denied.Event != "obstat.decision" || denied.attr("gen_ai.tool.name") != "bash" ||
		denied.attr("obstat.verdict") == "allow" || denied.Body.StringValue == "" || len(denied.Observed) != len(denied.Time) {
		t.Errorf("%+v", denied)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.posts < len(status)+1 {
		t.Errorf("%d posts", c.posts)
	}
}

// TestOTLPRefused: one record that a collector refuses for its content keeps no other back.
func TestOTLPRefused(t *testing.T) {
	t.Parallel()
	c := newCollector(t, func(_ int, body string) int {
		if strings.Contains(body, `"poison"`) {
			return 400
		}
		return 0
	})
	s := open(t, otlpOptions(c))
	var records []*ledger.Record
	for i := range 9 {
		r := &ledger.Record{Time: time.Now(), Kind: ledger.Decision, Session: fmt.Sprint("s", i)}
		if i == 4 {
			r.Session = "poison"
		}
		records = append(records, r)
	}
	must(t, s.store.Append(t.Context(), records...))
	c.until(t, func(logs []otlpRecord) bool {
		seen := 0
		for i := range logs {
			if strings.HasPrefix(logs[i].attr("session.id"), "s") {
				seen++
			}
		}
		return seen == 8
	})
	for end := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		_, text := s.do(s.ann, "GET", "/metrics", "")
		if strings.Contains(text, "\nobstat_export_refused_total 1\n") {
			break
		}
		if time.Now().After(end) {
			t.Fatal(text)
		}
	}
}

// TestOTLPAgain: an export goes on where the one before it stopped, and of two replicas one exports.
func TestOTLPAgain(t *testing.T) {
	t.Parallel()
	c := newCollector(t, nil)
	store, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "obstat.db"))
	must(t, err)
	t.Cleanup(func() { must(t, store.Close()) })
	s := open(t, func(o *server.Options) {
		otlpOptions(c)(o)
		o.Store = store
	})
	head, err := s.store.Head(t.Context())
	must(t, err)
	s.do(s.agent, "POST", "/v1/decisions", aCall)
	c.until(t, all(t, s.store, head.Seq))
	s.srv.Close()
	must(t, s.store.Append(t.Context(), &ledger.Record{Time: time.Now(), Kind: ledger.Decision, Session: "between"}))
	opts := server.Options{Store: s.store, Policy: &gate.Files{Names: []string{s.file}, NoPins: true}}
	otlpOptions(c)(&opts)
	for range 2 {
		again, err := server.Open(t.Context(), opts)
		must(t, err)
		t.Cleanup(again.Close)
	}
	must(t, s.store.Append(t.Context(), &ledger.Record{Time: time.Now(), Kind: ledger.Decision, Session: "after"}))
	logs := c.until(t, all(t, s.store, head.Seq))
	for uid, n := range uids(logs) {
		if n != 1 {
			t.Errorf("%s came %d times", uid, n)
		}
	}
}
