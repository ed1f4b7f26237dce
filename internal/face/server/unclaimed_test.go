package server_test

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/obstat/obstat/client"
	"github.com/obstat/obstat/internal/face/server"
)

// TestUnclaimed: a decision that is put again and again with its key never spends
// the approval; of several claims one gets it.
func TestUnclaimed(t *testing.T) {
	s := open(t, nil)
	const more = `,"key":"k1","unclaimed":true,"lease":60`
	id := s.decide("make", more).Request.ID
	if d := s.decide("make", more); d.Verdict != "ask" || d.Request.ID != id || d.Request.State != "pending" {
		t.Errorf("put again: %+v", d)
	}
	if code, body := s.do(s.ann, "POST", "/v1/requests/"+id+"/answer", `{"allow":true}`); code != 200 {
		t.Fatalf("%d %s", code, body)
	}
	for range 2 {
		if d := s.decide("make", more); d.Verdict != "ask" || d.Request.ID != id || d.Request.State != "approved" {
			t.Errorf("approved: %+v", d)
		}
	}
	var verdicts []string
	for _, key := range []string{"a", "a", "b"} {
		_, body := s.do(s.agent, "POST", "/v1/requests/"+id+"/claim", fmt.Sprintf(`{"digest":%q,"key":%q,"lease":60}`, digest("make"), key))
		_, verdict, _ := strings.Cut(body, `"verdict":"`)
		verdict, _, _ = strings.Cut(verdict, `"`)
		verdicts = append(verdicts, verdict)
	}
	if got := strings.Join(verdicts, " "); got != "allow allow deny" {
		t.Errorf("a claim, the same again, another: %s", got)
	}
	if d := s.decide("make", more); d.Verdict != "deny" {
		t.Errorf("after the claim: %+v", d)
	}
}

// TestExplainRoute: a call is explained to those who may put it, and leaves nothing
// behind.
func TestExplainRoute(t *testing.T) {
	s := open(t, nil)
	code, body := s.do(s.agent, "POST", "/v1/explain", `{"call":{"tool":"bash","input":{"command":"rm -rf x"},"dir":"/src"}}`)
	for _, want := range []string{`"verdict":"deny"`, `"walk":`, `rm *`} {
		if code != 200 || !strings.Contains(body, want) {
			t.Errorf("%s: %d %s", want, code, body)
		}
	}
	if _, lines := s.do(s.ann, "GET", "/v1/ledger", ""); strings.Contains(lines, "rm -rf") {
		t.Errorf("it was recorded: %s", lines)
	}
	for name, body := range map[string]string{"no call": `{}`, "no tool": `{"call":{"input":{}}}`} {
		if code, text := s.do(s.agent, "POST", "/v1/explain", body); code != 400 {
			t.Errorf("%s: %d %s", name, code, text)
		}
	}
	elsewhere := s.token(client.TokenRequest{Kind: "agent", Name: "ci", Workspace: "/srv"})
	if code, text := s.do(elsewhere, "POST", "/v1/explain", aCall); code != 403 {
		t.Errorf("another workspace: %d %s", code, text)
	}
}

// TestAPIHeader: every answer says which API speaks, also where it refuses.
func TestAPIHeader(t *testing.T) {
	s := open(t, nil)
	for _, path := range []string{"/healthz", "/v1/me", "/nowhere"} {
		resp, err := http.Get(s.http.URL + path)
		must(t, err)
		resp.Body.Close()
		if got := resp.Header.Get(client.APIHeader); got != client.API {
			t.Errorf("%s: %q", path, got)
		}
	}
}

// TestPolicyOfAnswers: a browser may do nothing with an answer to a token, and with a page
// no more than the console needs.
func TestPolicyOfAnswers(t *testing.T) {
	s := open(t, nil)
	for authorization, want := range map[string][2]string{
		"Bearer " + s.agent: {"default-src 'none'; frame-ancestors 'none'", ""},
		"Bearer nobody":     {"default-src 'none'; frame-ancestors 'none'", ""},
		"Basic YTpi":        {"default-src 'none'; script-src 'self'; ", "DENY"}, // a browser sends it with pages
		"":                  {"default-src 'none'; script-src 'self'; ", "DENY"},
	} {
		req, err := http.NewRequest("GET", s.http.URL+"/v1/me", nil)
		must(t, err)
		if authorization != "" {
			req.Header.Set("Authorization", authorization)
		}
		resp, err := http.DefaultClient.Do(req)
		must(t, err)
		resp.Body.Close()
		if h := resp.Header; !strings.HasPrefix(h.Get("Content-Security-Policy"), want[0]) || h.Get("X-Frame-Options") != want[1] || h.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%q: %v", authorization, h)
		}
	}
}

// TestSocketOfOne: of servers that start together one gets the socket, and it is
// its user's alone whatever the umask.
func TestSocketOfOne(t *testing.T) {
	path := filepath.Join(t.TempDir(), "run", "s")
	const tries = 8
	got := make([]net.Listener, tries)
	var all sync.WaitGroup
	for i := range got {
		all.Go(func() {
			_, got[i], _, _ = (&server.Listening{Socket: path}).Listeners()
		})
	}
	all.Wait()
	n := 0
	for _, ln := range got {
		if ln != nil {
			n++
			defer ln.Close()
		}
	}
	info, err := os.Stat(path)
	must(t, err)
	if n != 1 || info.Mode().Perm() != 0o600 {
		t.Errorf("%d servers listen, mode %v", n, info.Mode())
	}
}
