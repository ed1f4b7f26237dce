package opencode

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// post sends a body and returns status and answer.
func post(t *testing.T, url, kind, body string) (int, string) {
	t.Helper()
	resp, err := http.Post(url, kind, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(data)
}

func get(t *testing.T, url string) string {
	t.Helper()
	resp, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func serve(t *testing.T, opts *HandlerOptions) (*Instance, *httptest.Server) {
	t.Helper()
	i := instance(t, `{}`, nil)
	s := httptest.NewServer(NewHandler(i, opts))
	t.Cleanup(func() { i.Close(context.Background()); s.Close() })
	return i, s
}

func TestHTTPReply(t *testing.T) {
	b, s := serve(t, nil)
	if got := get(t, s.URL+"/permission"); got != "[]" {
		t.Errorf("nothing waits, and the list is %s", got)
	}
	w := put(t, b, "ses_1")
	id := w.Request.ID
	want := `[{"id":"` + id + `","sessionID":"ses_1","permission":"bash","patterns":["ls"],"always":["ls *"],"metadata":{}}]`
	if got := get(t, s.URL+"/permission"); got != want {
		t.Errorf("the list is %s", got)
	}
	if code, body := post(t, s.URL+"/permission/"+id+"/reply", "application/json", `{"reply":"reject","message":"use rg"}`); code != 200 || body != "true" {
		t.Errorf("%d %s", code, body)
	}
	if err := w.Result(t.Context()); err == nil || !strings.HasSuffix(err.Error(), "feedback: use rg") {
		t.Errorf("%v", err)
	}
	code, body := post(t, s.URL+"/permission/"+id+"/reply", "application/json", `{"reply":"once"}`)
	if code != 404 || !strings.Contains(body, "PermissionNotFoundError") || !strings.Contains(body, `"requestID":"`+id+`"`) {
		t.Errorf("a second reply: %d %s", code, body)
	}
}

// TestHTTPRefuses: what is not a reply in so many words changes nothing.
func TestHTTPRefuses(t *testing.T) {
	b, s := serve(t, nil)
	w := put(t, b, "ses_1")
	id := w.Request.ID
	for _, tc := range []struct {
		path, kind, body string
		want             int
	}{
		{"/permission/" + id + "/reply", "application/json", `{"reply":"maybe"}`, 400},
		{"/permission/" + id + "/reply", "application/json", `{"reply":"once","reply":"always"}`, 400},
		{"/permission/" + id + "/reply", "application/json", `{"REPLY":"once"}`, 400},
		{"/permission/" + id + "/reply", "application/json", `{}`, 400},
		{"/permission/" + id + "/reply", "application/json", `[]`, 400},
		{"/permission/" + id + "/reply", "application/json", `{"reply":"once","message":1}`, 400},
		{"/permission/" + id + "/reply", "application/json", `{"reply":"once"`, 400},
		{"/permission/" + id + "/reply", "application/json", strings.Repeat(" ", maxBody) + `{"reply":"once"}`, 400},
		{"/permission/" + id + "/reply", "text/plain", `{"reply":"once"}`, 415},
		{"/permission/" + id + "/reply", "application/x-www-form-urlencoded", `{"reply":"once"}`, 415},
		{"/permission/per_2/reply", "application/json", `{"reply":"once"}`, 404},
		{"/permission/" + id + "/reply?directory=/other", "application/json", `{"reply":"once"}`, 404},
		{"/session/ses_2/permissions/" + id, "application/json", `{"response":"once"}`, 404},
	} {
		if code, body := post(t, s.URL+tc.path, tc.kind, tc.body); code != tc.want {
			t.Errorf("%s %s: %d %s, want %d", tc.path, tc.body[max(0, len(tc.body)-40):], code, body, tc.want)
		}
	}
	req, err := http.NewRequest("POST", s.URL+"/permission/"+id+"/reply", strings.NewReader(`{"reply":"once"}`))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Sec-Fetch-Site", "cross-site")
	if resp, err := http.DefaultClient.Do(req); err != nil || resp.StatusCode != 403 {
		t.Errorf("a page of another site: %v %v", resp, err)
	}
	if pending, err := b.Pending(t.Context()); err != nil || len(pending) != 1 {
		t.Errorf("the request was answered: %v", err)
	}
	if got := get(t, s.URL+"/permission?directory=/other"); got != "[]" {
		t.Errorf("another directory sees %s", got)
	}
	if code, body := post(t, s.URL+"/session/ses_1/permissions/"+id, "application/json", `{"response":"once"}`); code != 200 || body != "true" || w.Result(t.Context()) != nil {
		t.Errorf("the older form: %d %s", code, body)
	}
}

// stream reads events of a server until one is of the type wanted.
func stream(t *testing.T, lines *bufio.Scanner, kind string) map[string]any {
	t.Helper()
	for lines.Scan() {
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		if !ok {
			continue
		}
		var e struct {
			ID, Type   string
			Properties map[string]any
		}
		if err := json.Unmarshal([]byte(data), &e); err != nil || !strings.HasPrefix(e.ID, "evt_") {
			t.Fatalf("%s: %v", data, err)
		}
		if e.Type == kind {
			return e.Properties
		}
	}
	t.Fatalf("the stream ended before %s: %v", kind, lines.Err())
	return nil
}

func TestHTTPEvents(t *testing.T) {
	b, s := serve(t, &HandlerOptions{Heartbeat: time.Millisecond})
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, "GET", s.URL+"/event", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if got := resp.Header.Get("Content-Type"); got != "text/event-stream" {
		t.Errorf("the type is %s", got)
	}
	lines := bufio.NewScanner(resp.Body)
	stream(t, lines, "server.connected")
	stream(t, lines, "server.heartbeat")
	w := put(t, b, "ses_1")
	id := w.Request.ID
	if p := stream(t, lines, EventAsked); p["id"] != id || p["sessionID"] != "ses_1" {
		t.Errorf("asked: %v", p)
	}
	if err := b.Reply(t.Context(), id, Always, ""); err != nil {
		t.Fatal(err)
	}
	if p := stream(t, lines, EventReplied); p["requestID"] != id || p["reply"] != "always" {
		t.Errorf("replied: %v", p)
	}
	b.Close(t.Context())
	for lines.Scan() { // the stream ends with the broker
	}
}
