package tell

import (
	"bufio"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/approval"
	"github.com/obstat/obstat/internal/keep/memory"
)

// A post is a request that a receiver got.
type post struct {
	header http.Header
	body   string
}

// place is a receiver of messages; code is its answer.
func place(t *testing.T, code func(n int) int) (url string, posts func() []post) {
	var mu sync.Mutex
	var got []post
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		mu.Lock()
		got = append(got, post{r.Header, string(body)})
		n := len(got)
		mu.Unlock()
		w.WriteHeader(code(n))
	}))
	t.Cleanup(s.Close)
	return s.URL, func() []post {
		mu.Lock()
		defer mu.Unlock()
		return append([]post(nil), got...)
	}
}

func ok(int) int { return 200 }

func request(id, agent, effect string) *approval.Request {
	return &approval.Request{ID: id, State: approval.Pending, About: "git push <!channel> @everyone [x](y)", Created: time.Now(), Expires: time.Now().Add(time.Hour),
		Call: obstat.Call{Tool: "Bash", Agent: agent}, Effects: []approval.Effect{{Kind: effect, Target: "origin"}}}
}

// teller returns a teller whose receivers may call this machine.
func teller(t *testing.T, to ...Receiver) *Teller {
	t.Helper()
	for i := range to {
		to[i].Name = fmt.Sprint("r", i)
		if to[i].Reach == nil {
			to[i].Reach = []string{"127.0.0.1"}
		}
		to[i].Secret = "KEY"
	}
	c := &Config{URL: "https://gate.example/", To: to}
	if err := c.Check(func(string) string { return "secret" }); err != nil {
		t.Fatal(err)
	}
	out := New(c, new(memory.Store), slog.New(slog.DiscardHandler))
	out.wait = []time.Duration{time.Millisecond, time.Millisecond}
	return out
}

func (t *Teller) tell(test *testing.T) {
	test.Helper()
	t.look(test.Context())
	t.work.Wait()
}

// TestForms: each form is what its service takes, links to the one request, and markup of the agent stays text.
func TestForms(t *testing.T) {
	for form, want := range map[string][]string{
		"webhook": {`"kind":"requests.waiting"`, `"link":"https://gate.example/requests/req_1"`},
		"slack":   {`\u003chttps://gate.example/requests/req_1|Look at it\u003e`, `\u0026lt;!channel\u0026gt;`},
		"teams":   {`"AdaptiveCard"`, `"url":"https://gate.example/requests/req_1"`, `\\[x](y)`},
		"discord": {`"allowed_mentions":{"parse":[]}`, `https://gate.example/requests/req_1`},
		"ntfy":    {"It would connect origin"},
	} {
		url, posts := place(t, ok)
		tl := teller(t, Receiver{Form: form, URL: url})
		tl.Heard(request("req_1", "coder", "connect"))
		tl.tell(t)
		tl.tell(t) // told once
		got := posts()
		if len(got) != 1 {
			t.Fatalf("%s: %d messages", form, len(got))
		}
		for _, text := range want {
			if !strings.Contains(got[0].body, text) {
				t.Errorf("%s: %q is not in %s", form, text, got[0].body)
			}
		}
		if form == "ntfy" && (got[0].header.Get("Click") != "https://gate.example/requests/req_1" || got[0].header.Get("Authorization") != "Bearer secret") {
			t.Errorf("%v", got[0].header)
		}
		if form != "webhook" {
			continue
		}
		at, sig, _ := strings.Cut(strings.TrimPrefix(got[0].header.Get("Obstat-Signature"), "t="), ",v1=")
		mac := hmac.New(sha256.New, []byte("secret"))
		mac.Write([]byte(at + "." + got[0].body))
		if sig != hex.EncodeToString(mac.Sum(nil)) || !json.Valid([]byte(got[0].body)) {
			t.Errorf("the signature does not hold: %s", sig)
		}
	}
}

// TestWhen: by agent, role and effect, after a while, not in quiet hours, and many at once as one.
func TestWhen(t *testing.T) {
	url, posts := place(t, ok)
	tl := teller(t, Receiver{Form: "slack", URL: url, Agents: []string{"coder"}}, Receiver{Form: "slack", URL: url, Effects: []string{"delete"}},
		Receiver{Form: "slack", URL: url, Agents: []string{"other"}, Roles: []string{"security"}, After: 120})
	now := time.Date(2026, 11, 18, 12, 0, 0, 0, time.UTC)
	tl.now = func() time.Time { return now }
	r := request("req_1", "other", "connect")
	r.Created, r.Who.Roles = now, []string{"security"}
	tl.Heard(r)
	tl.tell(t)
	if n := len(posts()); n != 0 {
		t.Fatalf("%d too early", n)
	}
	now = now.Add(3 * time.Minute)
	tl.tell(t)
	if n := len(posts()); n != 1 {
		t.Fatalf("%d are told after a while", n)
	}
	for i := range 12 {
		r := request(fmt.Sprint("req_m", i), "coder", "connect")
		r.Created = now
		tl.Heard(r)
	}
	tl.tell(t)
	if got := posts(); len(got) != 2 || !strings.Contains(got[1].body, "12 requests") {
		t.Errorf("%d messages, %v", len(got), got[len(got)-1])
	}
	quiet, err := readHours("22:00-07:00", "Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	for hour, want := range map[int]bool{20: false, 21: true, 2: true, 5: true, 6: false, 12: false} { // UTC, an hour behind
		if got := quiet.hold(time.Date(2026, 1, 1, hour, 30, 0, 0, time.UTC)); got != want {
			t.Errorf("%d:30 UTC is quiet: %v", hour, got)
		}
	}
}

// TestTwoServers: of two servers that share a store one tells.
func TestTwoServers(t *testing.T) {
	url, posts := place(t, ok)
	a, b := teller(t, Receiver{Form: "slack", URL: url}), teller(t, Receiver{Form: "slack", URL: url})
	b.store = a.store
	for _, tl := range []*Teller{a, b} {
		tl.Heard(request("req_1", "coder", "connect"))
		tl.tell(t)
	}
	if n := len(posts()); n != 1 {
		t.Errorf("%d messages", n)
	}
}

// TestServerEnds: a message that a server had not delivered when it was stopped, or killed, is delivered by another one, or
// by its next start; one that was delivered is not told again.
func TestServerEnds(t *testing.T) {
	const tried, killed, stopped = "a try failed", "it was killed", "it was stopped"
	for _, how := range []string{tried, killed, stopped} {
		away := new(atomic.Bool)
		away.Store(true)
		begun := make(chan bool, 8)
		url, posts := place(t, func(int) int {
			defer func() { begun <- true }()
			if away.Load() {
				return 503
			}
			return 200
		})
		a, b := teller(t, Receiver{Form: "slack", URL: url}), teller(t, Receiver{Form: "slack", URL: url})
		b.store, a.wait = a.store, []time.Duration{time.Hour}
		now := time.Now()
		b.now = func() time.Time { return now }
		r := request("req_1", "coder", "connect")
		a.Heard(r)
		b.Heard(r)
		ctx, end := context.WithCancel(t.Context())
		if how == killed {
			if !a.first(ctx, &a.conf.Load().To[0], r) { // and nothing after it
				t.Fatal("the first is not the first")
			}
		} else {
			a.look(ctx)
			<-begun
		}
		b.tell(t)
		if n := len(posts()); how != killed && n != 1 || how == killed && n != 0 {
			t.Errorf("%s: the other has told as well: %d messages", how, n)
		}
		away.Store(false)
		if how == stopped {
			end()
			a.work.Wait()
			now = now.Add(time.Minute)
		} else {
			now = now.Add(2 * time.Hour) // longer than the first said to be at work
			r.Expires = now.Add(time.Hour)
		}
		before := len(posts())
		b.tell(t)
		if n := len(posts()) - before; n != 1 || b.Sent.Load() != 1 {
			t.Errorf("%s: %d messages after it", how, n)
		}
		now = now.Add(time.Minute)
		b.tell(t)
		if n := len(posts()) - before; n != 1 {
			t.Errorf("%s: told again: %d messages", how, n)
		}
		end()
		a.work.Wait()
	}
}

// TestUse: other receivers are told from the next look on, of requests that wait already, and one that stays is not told
// twice.
func TestUse(t *testing.T) {
	first, firstPosts := place(t, ok)
	second, secondPosts := place(t, ok)
	tl := teller(t, Receiver{Form: "slack", URL: first})
	tl.Heard(request("req_1", "coder", "connect"))
	tl.tell(t)
	tl.Use(teller(t, Receiver{Form: "slack", URL: first}, Receiver{Form: "slack", URL: second}).conf.Load())
	tl.tell(t)
	if len(firstPosts()) != 1 || len(secondPosts()) != 1 {
		t.Errorf("the first got %d messages, the second %d", len(firstPosts()), len(secondPosts()))
	}
}

// TestRetries: a message is sent again until it is taken, and listed where it never is.
func TestRetries(t *testing.T) {
	url, posts := place(t, func(n int) int { return map[bool]int{true: 503, false: 200}[n < 3] })
	tl := teller(t, Receiver{Form: "slack", URL: url})
	tl.Heard(request("req_1", "coder", "connect"))
	if tl.tell(t); len(posts()) != 3 || tl.Sent.Load() != 1 || tl.Failed.Load() != 0 {
		t.Errorf("%d tries", len(posts()))
	}
	url, posts = place(t, func(int) int { return 500 })
	tl = teller(t, Receiver{Form: "slack", URL: url})
	tl.Heard(request("req_1", "coder", "connect"))
	tl.tell(t)
	list, err := tl.store.Docs(t.Context(), UndeliveredKind)
	if err != nil || len(list) != 1 || len(posts()) != 3 || strings.Contains(string(list[0].Body), url) {
		t.Errorf("%v %v after %d tries", list, err, len(posts()))
	}
}

// TestBadReceivers: one that redirects, answers at length, or is this machine without being named.
func TestBadReceivers(t *testing.T) {
	inner, reached := place(t, ok)
	away := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, inner, http.StatusTemporaryRedirect) }))
	defer away.Close()
	long := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		for range 10 << 4 {
			if _, err := w.Write(make([]byte, 64<<10)); err != nil {
				return
			}
		}
	}))
	defer long.Close()
	for url, reach := range map[string][]string{away.URL: nil, inner: {"10.0.0.1"}, "http://169.254.169.254/latest": nil, "http://[::1]:1/": nil} {
		tl := teller(t, Receiver{Form: "slack", URL: url, Reach: reach})
		tl.wait = nil
		tl.Heard(request("req_1", "coder", "connect"))
		if tl.tell(t); tl.Failed.Load() != 1 {
			t.Errorf("%s is called", url)
		}
	}
	if n := len(reached()); n != 0 {
		t.Errorf("%d messages went where they may not", n)
	}
	tl := teller(t, Receiver{Form: "slack", URL: long.URL})
	tl.Heard(request("req_1", "coder", "connect"))
	if tl.tell(t); tl.Sent.Load() != 1 {
		t.Error("an answer of 10 MB is no error, and not read")
	}
}

// TestHangingReceiver: one that takes a message and never answers holds up no other, and ends with the server.
func TestHangingReceiver(t *testing.T) {
	taken, told := make(chan bool, 1), make(chan bool, 1)
	hang := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // so that the server notices when the client goes
		taken <- true
		<-r.Context().Done()
	}))
	defer hang.Close()
	url, _ := place(t, func(int) int { told <- true; return 200 })
	tl := teller(t, Receiver{Form: "slack", URL: hang.URL}, Receiver{Form: "slack", URL: url})
	tl.Heard(request("req_1", "coder", "connect"))
	ctx, end := context.WithCancel(t.Context())
	tl.look(ctx)
	<-taken
	<-told
	tl.Heard(request("req_2", "coder", "connect")) // while the first still hangs
	tl.look(ctx)
	<-told
	end()
	tl.work.Wait()
}

// TestMail: a mail has the link, and headers cannot be smuggled in.
func TestMail(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	got := make(chan string, 1)
	go func() {
		c, err := ln.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		in := bufio.NewReader(c)
		fmt.Fprint(c, "220 x\r\n")
		var all strings.Builder
		for data := false; ; {
			line, err := in.ReadString('\n')
			if err != nil {
				return
			}
			all.WriteString(line)
			switch {
			case data && line == ".\r\n":
				data = false
				got <- all.String()
				fmt.Fprint(c, "250 ok\r\n")
			case data:
			case strings.HasPrefix(line, "DATA"):
				data = true
				fmt.Fprint(c, "354 go\r\n")
			case strings.HasPrefix(line, "QUIT"):
				fmt.Fprint(c, "221 bye\r\n")
				return
			default:
				fmt.Fprint(c, "250 ok\r\n")
			}
		}
	}()
	c := &Config{URL: "https://gate.example", To: []Receiver{{Name: "m", Form: "mail", URL: "smtp://" + ln.Addr().String(), From: "gate@x.example", Mail: []string{"ann@x.example"}, Reach: []string{"127.0.0.1"}}}}
	if err := c.Check(func(string) string { return "" }); err != nil {
		t.Fatal(err)
	}
	tl := New(c, new(memory.Store), slog.New(slog.DiscardHandler))
	r := request("req_1", "coder\r\nBcc: eve@x.example", "connect")
	tl.Heard(r)
	tl.tell(t)
	mail := <-got
	if tl.Sent.Load() != 1 || !strings.Contains(mail, "https://gate.example/requests/req_1") || strings.Contains(mail, "\nBcc:") {
		t.Errorf("%s", mail)
	}
}

// TestCheck: a configuration that cannot work is refused with the reason.
func TestCheck(t *testing.T) {
	for want, r := range map[string]Receiver{
		"there is no form": {Name: "x", Form: "fax", URL: "https://x.example"},
		"needs a secret":   {Name: "x", Form: "webhook", URL: "https://x.example"},
		"is reached by":    {Name: "x", Form: "slack", URL: "ftp://x.example"},
		"needs from":       {Name: "x", Form: "mail", URL: "smtp://x.example"},
		"quiet is as":      {Name: "x", Form: "slack", URL: "https://x.example", Quiet: "late"},
		"is not set":       {Name: "x", Form: "slack", URL: "https://x.example", Secret: "NONE"},
		"a name":           {Form: "slack", URL: "https://x.example"},
	} {
		c := &Config{URL: "https://gate.example", To: []Receiver{r}}
		if err := c.Check(func(string) string { return "" }); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v", r, err)
		}
	}
}
