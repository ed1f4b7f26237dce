package server_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/approval"
	"github.com/obstat/obstat/client"
	"github.com/obstat/obstat/internal/face/console"
	"github.com/obstat/obstat/internal/face/server"
	"github.com/obstat/obstat/internal/keep/docs"
)

const aCall = `{"call":{"tool":"bash","input":{"command":"git status"},"dir":"/src/app"}}`

// TestTokens: what is wrong, expired, taken back, or for something else lets
// nobody in.
func TestTokens(t *testing.T) {
	s := open(t, nil)
	scoped := s.token(client.TokenRequest{Kind: "agent", Name: "ci", Workspace: "/src", User: "bob"})
	elsewhere := s.token(client.TokenRequest{Kind: "agent", Name: "ci", Workspace: "/srv"})
	dialect := s.token(client.TokenRequest{Kind: "agent", Name: "ci", Dialect: "chorus"})
	old, err := server.NewToken(t.Context(), s.store, client.TokenRequest{Kind: "agent", Name: "old"}, "test")
	must(t, err)
	list, err := s.store.Docs(t.Context(), "token")
	must(t, err)
	for _, d := range list { // as if its days were over
		if strings.Contains(string(d.Body), old.ID) {
			old.Expires, d.Body = time.Now().Add(-time.Second), nil
			must(t, s.store.PutDoc(t.Context(), d))
			secret := old.Secret
			old.Secret = ""
			must(t, docs.Put(t.Context(), s.store, "token", d.ID, 0, old))
			old.Secret = secret
		}
	}
	call := func(agent, user string) string {
		return fmt.Sprintf(`{"call":{"tool":"bash","input":{"command":"git status"},"dir":"/src/app","agent":%q,"user":%q}}`, agent, user)
	}
	for name, tt := range map[string]struct {
		token, body string
		code        int
	}{
		"none":                  {"", aCall, 401},
		"wrong":                 {"oba_AAAAAAAAAAAAAAAAAAAAAAAAAA", aCall, 401},
		"empty":                 {" ", aCall, 401},
		"expired":               {old.Secret, aCall, 401},
		"a person's as agent's": {"oba_" + strings.TrimPrefix(s.ann, "obp_"), aCall, 401},
		"good":                  {s.agent, aCall, 200},
		"in its workspace":      {scoped, call("ci", "bob"), 200},
		"another workspace":     {elsewhere, aCall, 403},
		"another dialect":       {dialect, aCall, 403},
		"another agent's name":  {scoped, call("boss", "bob"), 403},
		"another user's name":   {scoped, call("ci", "ann"), 403},
	} {
		if code, body := s.do(tt.token, "POST", "/v1/decisions", tt.body); code != tt.code {
			t.Errorf("%s: %d %s", name, code, body)
		}
	}
	var tokens client.Tokens
	s.get(s.admin, "/v1/tokens", &tokens)
	for _, tok := range tokens.Tokens {
		if tok.Secret != "" {
			t.Errorf("%+v shows its secret", tok)
		}
		if tok.Name == "coder" {
			if code, body := s.do(s.admin, "DELETE", "/v1/tokens/"+tok.ID, ""); code != 204 {
				t.Errorf("%d %s", code, body)
			}
		}
	}
	if code, _ := s.do(s.agent, "POST", "/v1/decisions", aCall); code != 401 {
		t.Errorf("taken back: %d", code)
	}
}

// TestWhoMayWhat: agents do what agents do, people what people do, and only
// administrators look after policies and tokens.
func TestWhoMayWhat(t *testing.T) {
	s := open(t, nil)
	id := s.decide("make", "").Request.ID
	for _, tt := range []struct {
		method, path, body string
		agent, ann, admin  int
	}{
		{"POST", "/v1/requests/" + id + "/answer", `{"allow":"yes"}`, 403, 400, 400},
		{"POST", "/v1/requests/answer", `{"ids":[],"answer":{"allow":true}}`, 403, 400, 400},
		{"POST", "/v1/requests/" + id + "/claim", `{"digest":"x"}`, 409, 403, 403},
		{"GET", "/v1/grants", "", 403, 200, 200},
		{"DELETE", "/v1/grants/g", "", 403, 404, 404},
		{"GET", "/v1/ledger", "", 403, 200, 200},
		{"GET", "/v1/events?after=x&more=1", "", 403, 400, 400},
		{"GET", "/v1/tokens", "", 403, 403, 200},
		{"POST", "/v1/tokens", `{"kind":"person","name":"eve","roles":["admin"]}`, 403, 403, 200},
		{"POST", "/v1/policies", `{"files":[]}`, 403, 403, 422},
		{"POST", "/v1/policies/1/activate", `{"instead":0,"reason":"a test","loosens":true}`, 403, 403, 404},
		{"POST", "/v1/policies/rollback", `{"instead":0,"reason":"a test","loosens":true}`, 403, 403, 409},
	} {
		for token, want := range map[string]int{s.agent: tt.agent, s.ann: tt.ann, s.admin: tt.admin, "": 401} {
			if code, body := s.do(token, tt.method, tt.path, tt.body); code != want {
				t.Errorf("%s %s as %.4s: %d, want %d: %s", tt.method, tt.path, token, code, want, body)
			}
		}
	}
}

// TestMakerIsNotChecker: who the agent works for does not answer for it where a
// checker is wanted, and a person's name comes from the token alone.
func TestMakerIsNotChecker(t *testing.T) {
	s := open(t, func(o *server.Options) { o.Who = notCaller })
	bob, ann := s.browser("bob"), s.browser("ann")
	s.agent = s.token(client.TokenRequest{Kind: "agent", Name: "ci", User: "bob"})
	id := s.decide("make", "").Request.ID
	for _, body := range []string{`{"allow":true}`, `{"allow":true,"by":"ann"}`} {
		if code, text := bob.do("POST", "/v1/requests/"+id+"/answer", body); code != 403 && code != 400 {
			t.Errorf("%s: %d %s", body, code, text)
		}
	}
	if code, text := s.do(s.ann, "POST", "/v1/requests/"+id+"/answer", `{"allow":true}`); code != 403 || !strings.Contains(text, "logged in") {
		t.Errorf("a token: %d %s", code, text)
	}
	if code, text := ann.do("POST", "/v1/requests/"+id+"/answer", `{"allow":true}`); code != 200 {
		t.Errorf("%d %s", code, text)
	}
}

// TestBrowsers: pages of other sites, other names for this machine and requests
// without the page's own token change nothing.
func TestBrowsers(t *testing.T) {
	s := open(t, nil)
	key, err := server.NewLogin(t.Context(), s.store, server.Person{Name: "ann"}, "test")
	must(t, err)
	jar, err := cookiejar.New(nil)
	must(t, err)
	browser := &http.Client{Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := browser.Get(s.http.URL + "/login?key=" + key)
	must(t, err)
	resp.Body.Close()
	cookies := resp.Cookies()
	if resp.StatusCode != http.StatusSeeOther || resp.Header.Get("Location") != "/" || len(cookies) != 1 || !cookies[0].HttpOnly || cookies[0].SameSite != http.SameSiteLaxMode {
		t.Fatalf("%d %v", resp.StatusCode, cookies)
	}
	if code, _ := s.do("", "GET", "/login?key="+key, ""); code != 401 {
		t.Errorf("a login link works twice: %d", code)
	}
	cookie := cookies[0].Name + "=" + cookies[0].Value
	_, me := s.do("", "GET", "/v1/me", "", "Cookie", cookie)
	_, csrf, _ := strings.Cut(me, `"csrf":"`)
	csrf, _, _ = strings.Cut(csrf, `"`)
	id := s.decide("make", "").Request.ID
	path := "/v1/requests/" + id + "/answer"
	for name, headers := range map[string][]string{
		"no token of the page":    {"Cookie", cookie},
		"a wrong one":             {"Cookie", cookie, "X-CSRF-Token", "x" + csrf[1:]},
		"another site":            {"Cookie", cookie, "X-CSRF-Token", csrf, "Sec-Fetch-Site", "cross-site"},
		"a neighbour":             {"Cookie", cookie, "X-CSRF-Token", csrf, "Sec-Fetch-Site", "same-site"},
		"another origin":          {"Cookie", cookie, "X-CSRF-Token", csrf, "Origin", "https://evil.example"},
		"an origin like ours":     {"Cookie", cookie, "X-CSRF-Token", csrf, "Origin", s.http.URL + ".evil.example"},
		"no origin":               {"Cookie", cookie, "X-CSRF-Token", csrf, "Origin", "null"},
		"DNS rebinding":           {"Cookie", cookie, "X-CSRF-Token", csrf, "Host", "evil.example"},
		"DNS rebinding, our port": {"Cookie", cookie, "X-CSRF-Token", csrf, "Host", "evil.example:" + port(s.http.URL)},
		"a form":                  {"Cookie", cookie, "Content-Type", "text/plain"},
	} {
		if code, body := s.do("", "POST", path, `{"allow":true}`, headers...); code < 400 {
			t.Errorf("%s: %d %s", name, code, body)
		}
	}
	for _, path := range []string{"/v1/events", "/v1/requests", "/v1/ledger", "/"} {
		if code, _ := s.do("", "GET", path, "", "Cookie", cookie, "Host", "evil.example"); code != http.StatusMisdirectedRequest {
			t.Errorf("GET %s by another name: %d", path, code)
		}
		if code, _ := s.do("", "GET", path, "", "Cookie", cookie, "Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "no-cors"); code != 403 {
			t.Errorf("GET %s from another site: %d", path, code)
		}
	}
	if code, body := s.do("", "POST", path, `{"allow":true}`, "Cookie", cookie, "X-CSRF-Token", csrf, "Sec-Fetch-Site", "same-origin"); code != 200 {
		t.Errorf("the page itself: %d %s", code, body)
	}
	if code, _ := s.do("", "POST", "/logout", "", "Cookie", cookie, "X-CSRF-Token", csrf); code != http.StatusSeeOther {
		t.Errorf("logout: %d", code)
	}
	if code, _ := s.do("", "GET", "/v1/me", "", "Cookie", cookie); code != 401 {
		t.Errorf("after the logout: %d", code)
	}
}

func port(url string) string { return url[strings.LastIndexByte(url, ':')+1:] }

// TestBadInput: what cannot be understood is refused, with a position and in the
// same form everywhere.
func TestBadInput(t *testing.T) {
	s := open(t, nil)
	big := `{"call":{"tool":"bash","input":{"command":"` + strings.Repeat("x", 9<<20) + `"}}}`
	for name, tt := range map[string]struct {
		method, path, body string
		code               int
		says               string
	}{
		"no JSON":             {"POST", "/v1/decisions", "{\n \"call\": nope}", 400, `"line":2`},
		"twice":               {"POST", "/v1/decisions", `{"call":{"tool":"a","tool":"b"}}`, 400, "tool"},
		"in another case":     {"POST", "/v1/decisions", `{"call":{"tool":"a","TOOL":"b"}}`, 400, "TOOL"},
		"unknown":             {"POST", "/v1/decisions", `{"call":{"tool":"a"},"verdict":"allow"}`, 400, "verdict"},
		"a wrong kind":        {"POST", "/v1/decisions", `{"call":{"tool":1}}`, 400, "tool"},
		"neither":             {"POST", "/v1/decisions", `{}`, 400, "give call"},
		"both":                {"POST", "/v1/decisions", `{"call":{"tool":"a"},"calls":[{"tool":"a"}]}`, 400, "give call"},
		"no tool":             {"POST", "/v1/decisions", `{"call":{"tool":""}}`, 400, "needs a tool"},
		"an array":            {"POST", "/v1/decisions", `[]`, 400, "object"},
		"too large":           {"POST", "/v1/decisions", big, 413, "too large"},
		"too patient":         {"POST", "/v1/decisions", `{"call":{"tool":"a"},"wait":100000}`, 400, "600"},
		"no route":            {"GET", "/v1/nothing", "", 404, "no such route"},
		"no method":           {"DELETE", "/v1/decisions", "", 405, "it takes POST"},
		"path tricks":         {"GET", "/v1/requests/%2e%2e%2ftokens", "", 404, "no such request"},
		"more tricks":         {"GET", "/v1/requests/..%00/x", "", 404, ""},
		"a parameter":         {"GET", "/v1/requests?sate=pending", "", 400, "sate"},
		"a number":            {"GET", "/v1/requests?limit=-1", "", 400, "limit"},
		"somebody's request":  {"GET", "/v1/requests/req_none", "", 404, "no such request"},
		"a policy":            {"POST", "/v1/policies/validate", `{"files":[{"name":"opencode.json","text":"{\n\"permission\": {\n\"bash\": {\"*\": \"perhaps\"}}}"}]}`, 422, `"line":3`},
		"a claim of nothing":  {"POST", "/v1/requests/nothing/claim", `{"digest":"d"}`, 404, "no such request"},
		"an answer for once":  {"POST", "/v1/requests/nothing/answer", `{"allow":true,"scope":"once"}`, 404, "no such request"},
		"an outcome unasked":  {"POST", "/v1/requests/nothing/outcome", `{"ok":true}`, 404, "no such request"},
		"time that is none":   {"GET", "/v1/ledger?since=yesterday", "", 400, "since"},
		"a version":           {"GET", "/v1/policies/latest", "", 400, "number"},
		"a policy not kept":   {"GET", "/v1/policies/7", "", 404, ""},
		"an event of nowhere": {"GET", "/v1/events?after=1&x=2", "", 400, "x"},
	} {
		token := s.agent
		if strings.Contains(tt.path, "policies") || strings.Contains(tt.path, "answer") || strings.Contains(tt.path, "ledger") || strings.Contains(tt.path, "events") {
			token = s.admin
		}
		if code, body := s.do(token, tt.method, tt.path, tt.body); code != tt.code || !strings.Contains(body, tt.says) || !strings.Contains(body, "urn:obstat:problem:") {
			t.Errorf("%s: %d %.300s", name, code, body)
		}
	}
}

// TestPathTricks: no spelling of a path leads a caller to what is not for him, or out of
// the pages' files.
func TestPathTricks(t *testing.T) {
	s := open(t, func(o *server.Options) { o.Console = console.New })
	_, want := s.do(s.admin, "GET", "/v1/tokens", "")
	for _, path := range []string{"/v1/requests/../tokens", "/v1//tokens", "//v1/tokens", "/v1/./tokens", "/static/../v1/tokens", "/static/%2e%2e/v1/tokens", "/static/..%2fv1/tokens",
		"/v1/tokens/", "/V1/tokens", "/v1/tokens%00", "/v1/tokens;x=1", "/v1%2ftokens", "/static/../../../../etc/passwd", "/static/%2e%2e/%2e%2e/%2e%2e/etc/passwd", "/mcp/../v1/tokens", "/mcp/..%2f..%2fetc%2fpasswd"} {
		for _, token := range []string{"", s.agent, s.ann} {
			req, err := http.NewRequestWithContext(t.Context(), "GET", s.http.URL, nil)
			must(t, err)
			req.URL.Opaque = path // as it stands, not cleaned by the client
			if token != "" {
				req.Header.Set("Authorization", "Bearer "+token)
			}
			resp, err := s.wire.RoundTrip(req)
			must(t, err)
			body, err := io.ReadAll(resp.Body)
			must(t, err)
			resp.Body.Close()
			if resp.StatusCode < 300 || string(body) == want || strings.Contains(string(body), "root:") || strings.Contains(string(body), "tok_") {
				t.Errorf("GET %s as %.4q: %d %.200s", path, token, resp.StatusCode, body)
			}
		}
	}
}

// TestSlow: who sends a header or a body by and by is cut off.
func TestSlow(t *testing.T) {
	t.Parallel()
	s := open(t, nil)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	srv := server.HTTPServer(s.srv, 300*time.Millisecond)
	go srv.Serve(ln)
	t.Cleanup(func() { srv.Close() })
	for name, text := range map[string]string{
		"header": "POST /v1/decisions HTTP/1.1\r\nHost: x\r\n",
		"body":   "POST /v1/decisions HTTP/1.1\r\nHost: " + ln.Addr().String() + "\r\nAuthorization: Bearer " + s.agent + "\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{",
	} {
		conn, err := net.Dial("tcp", ln.Addr().String())
		must(t, err)
		_, err = conn.Write([]byte(text))
		must(t, err)
		must(t, conn.SetReadDeadline(time.Now().Add(60*time.Second)))
		line, err := bufio.NewReader(conn).ReadString('\n')
		if err == nil && strings.Contains(line, " 200 ") {
			t.Errorf("a slow %s: %s", name, line)
		}
		var timeout net.Error
		if e, ok := err.(net.Error); ok && e.Timeout() {
			t.Errorf("a slow %s holds its connection: %v", name, timeout)
		}
		conn.Close()
	}
}

// TestLongWait: the time that a body may take does not end a call that waits for a person
// for longer.
func TestLongWait(t *testing.T) {
	t.Parallel()
	s := open(t, nil)
	limit := time.Second // a busy machine sends a whole request in it
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	srv := server.HTTPServer(s.srv, limit)
	go srv.Serve(ln)
	t.Cleanup(func() { srv.Close() })
	s.http.URL = "http://" + ln.Addr().String()
	got := make(chan client.Decision, 1)
	go func() { got <- s.decide("make", `,"wait":60`) }()
	id := s.pending(1)[0].ID
	time.Sleep(2 * limit)
	if code, body := s.do(s.ann, "POST", "/v1/requests/"+id+"/answer", `{"allow":true}`); code != 200 {
		t.Fatalf("%d %s", code, body)
	}
	if d := within(t, "the decision", got); d.Verdict != "allow" {
		t.Errorf("%+v", d)
	}
}

// TestText: what people and agents write comes back as JSON, and in no header.
func TestText(t *testing.T) {
	s := open(t, nil)
	evil := "x\r\nSet-Cookie: a=b\r\n\r\n<script>alert(1)</script>\x1b[2J\u202e"
	d := s.decide("echo '"+strings.ReplaceAll(evil, "'", "")+"'", "")
	req, err := http.NewRequest("POST", s.http.URL+"/v1/requests/"+d.Request.ID+"/answer", strings.NewReader(fmt.Sprintf(`{"allow":false,"words":%s}`, quote(evil))))
	must(t, err)
	req.Header.Set("Authorization", "Bearer "+s.ann)
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	must(t, err)
	defer resp.Body.Close()
	if resp.StatusCode != 200 || resp.Header.Get("Set-Cookie") != "" || resp.Header.Get("Content-Type") != "application/json" || resp.Header.Get("X-Content-Type-Options") != "nosniff" ||
		!strings.Contains(resp.Header.Get("Content-Security-Policy"), "default-src 'none'") {
		t.Errorf("%d %v", resp.StatusCode, resp.Header)
	}
	_, body := s.do(s.agent, "POST", "/v1/requests/"+d.Request.ID+"/claim", `{"digest":"`+d.Request.Digest+`"}`)
	if strings.ContainsAny(body, "\x1b\r<") {
		t.Errorf("%q", body)
	}
}

// TestRate: who sends too much is told to slow down.
func TestRate(t *testing.T) {
	s := open(t, func(o *server.Options) { o.Rate = 1 })
	last := 0
	for range 30 {
		last, _ = s.do(s.agent, "GET", "/v1/me", "")
	}
	if last != http.StatusTooManyRequests {
		t.Errorf("%d", last)
	}
	if code, _ := s.do(s.ann, "GET", "/v1/me", ""); code != 200 {
		t.Errorf("somebody else: %d", code)
	}
}

// TestTokenDays: a token that would hold for ever is refused as what it is.
func TestTokenDays(t *testing.T) {
	s := open(t, nil)
	for days, want := range map[string]int{"3650": 200, "3651": 400, "99999999999": 400} {
		if code, body := s.do(s.admin, "POST", "/v1/tokens", `{"kind":"person","name":"x","days":`+days+`}`); code != want {
			t.Errorf("%s days: %d %s", days, code, body)
		}
	}
}

// TestAddresses: people log in at an IPv6 address as well, and a machine that floods what
// needs no token keeps no other from asking whether the server is ready.
func TestAddresses(t *testing.T) {
	s := open(t, func(o *server.Options) { o.Hosts = nil })
	key, err := server.NewLogin(t.Context(), s.store, server.Person{Name: "ann"}, "test")
	must(t, err)
	get := func(path, from, host string, cookies ...*http.Cookie) *http.Response {
		r := httptest.NewRequest("GET", path, nil)
		r.RemoteAddr, r.Host = from, host
		if len(cookies) == 0 {
			r.Header.Set("Authorization", "Bearer guess")
		}
		for _, c := range cookies {
			r.AddCookie(c)
		}
		w := httptest.NewRecorder()
		s.srv.Handler().ServeHTTP(w, r)
		return w.Result()
	}
	in := get("/login?key="+key, "[::1]:5000", "[::1]:8470")
	if len(in.Cookies()) != 1 || in.Cookies()[0].Name != "obstat-8470" {
		t.Fatalf("%d %v", in.StatusCode, in.Header)
	}
	if me := get("/v1/me", "[::1]:5000", "[::1]:8470", in.Cookies()...); me.StatusCode != 200 {
		t.Errorf("logged in at [::1]: %d", me.StatusCode)
	}
	for _, path := range []string{"/openapi.json", "/v1/me"} {
		last := 0
		for range 1000 {
			last = get(path, "[2001:db8::1]:5000", "x").StatusCode
		}
		if last != http.StatusTooManyRequests {
			t.Errorf("%s a thousand times: %d", path, last)
		}
		if code := get(path, "[2001:db8::2]:5000", "x").StatusCode; code == http.StatusTooManyRequests {
			t.Errorf("%s from another machine: %d", path, code)
		}
	}
}

// TestBeyondLoopback: nothing is listened on that other machines can reach, without
// TLS.
func TestBeyondLoopback(t *testing.T) {
	for _, addr := range []string{"0.0.0.0:0", ":0", "[::]:0", "10.0.0.1:0"} {
		l := server.Listening{Addr: addr}
		if tcp, _, _, err := l.Listeners(); err == nil || !strings.Contains(err.Error(), "TLS") {
			tcp.Close()
			t.Errorf("%s: %v", addr, err)
		}
	}
}

func quote(text string) string {
	b, _ := json.Marshal(text)
	return string(b)
}

func notCaller(*obstat.Call, *obstat.Decision) approval.Who { return approval.Who{NotCaller: true} }
