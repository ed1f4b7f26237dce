package cli

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/client"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/dialect/all"
	"github.com/obstat/obstat/gate"
	"github.com/obstat/obstat/internal/face/play"
	"github.com/obstat/obstat/internal/face/server"
	"github.com/obstat/obstat/internal/format/jsonl/jsonltest"
	"github.com/obstat/obstat/internal/keep/memory"
	"github.com/obstat/obstat/internal/study/cases"
)

// playCases is how many calls are put to the playground and to the command; make test-play puts 2,000.
var playCases = flag.Int("play.cases", 45, "calls that the playground and the command are asked about")

// playPictures gets pictures of the page.
var playPictures = flag.String("play.pictures", "", "directory that gets pictures of the playground")

// A wire is the way to the server, which can be cut.
type wire struct {
	cut   atomic.Bool
	tried atomic.Int32 // requests since then
	to    http.Handler
}

// ServeHTTP passes a request on, or drops its connection.
func (n *wire) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if n.cut.Load() {
		n.tried.Add(1)
		panic(http.ErrAbortHandler)
	}
	n.to.ServeHTTP(w, r)
}

// playground builds the playground and serves it as obstat serve --play does.
func playground(t *testing.T, net *wire) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("../play/static")); err != nil {
		t.Fatal(err)
	}
	module := filepath.Join(t.TempDir(), "engine.wasm")
	c := exec.Command("go", "build", "-trimpath", "-buildmode=c-shared", "-ldflags=-s -w", "-o", module, "../play/wasm")
	c.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm", "CGO_ENABLED=0")
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	plain, err := os.ReadFile(module)
	if err != nil {
		t.Fatal(err)
	}
	var packed bytes.Buffer
	w, _ := gzip.NewWriterLevel(&packed, gzip.BestSpeed)
	if _, err := w.Write(plain); err != nil || w.Close() != nil {
		t.Fatal("the module cannot be packed")
	}
	if err := os.WriteFile(filepath.Join(dir, "engine.wasm.gz"), packed.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	srv, err := server.Open(t.Context(), server.Options{Store: new(memory.Store), Play: dir, AskTimeout: time.Minute,
		Policy: gate.Fixed{Loaded: loadedFrom(t, "native", "version: 1")}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(srv.Close)
	net.to = srv.Handler()
	h := httptest.NewServer(net)
	t.Cleanup(h.Close)
	return h.URL + "/play/"
}

func loadedFrom(t *testing.T, name, text string) *dialect.Loaded {
	t.Helper()
	d, err := all.Find(name)
	if err != nil {
		t.Fatal(err)
	}
	l, err := dialect.Load(d, &dialect.Input{Files: []dialect.File{{Name: "obstat.yaml", Data: []byte(text)}}})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// A page is one tab of Chromium.
type page struct {
	*testing.T
	ctx context.Context
}

// open starts Chromium with a page.
func openPage(t *testing.T, url string) *page {
	t.Helper()
	path, err := exec.LookPath("chromium")
	if err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal("chromium is missing; make setup installs it")
		}
		t.Skip("chromium is missing; make setup installs it")
	}
	opts := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.NoSandbox, chromedp.DisableGPU,
		chromedp.ExecPath(path), chromedp.WSURLReadTimeout(2*time.Minute), chromedp.UserDataDir(t.TempDir()),
		chromedp.Flag("disable-component-update", true),
		chromedp.Flag("host-resolver-rules", "MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"))
	alloc, stop := chromedp.NewExecAllocator(context.Background(), opts...)
	t.Cleanup(stop)
	ctx, cancel := chromedp.NewContext(alloc)
	t.Cleanup(func() { _ = chromedp.Cancel(ctx); cancel() })
	p := &page{t, ctx}
	p.do(chromedp.Navigate("about:blank"), chromedp.EmulateViewport(1280, 860), chromedp.Navigate(url))
	return p
}

func (p *page) do(actions ...chromedp.Action[chromedp.Void]) {
	p.Helper()
	if err := chromedp.Do(p.ctx, actions...); err != nil {
		p.Fatal(err)
	}
}

// value evaluates an expression, and waits for it if it is a promise.
func (p *page) value(expr string) string {
	p.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, 20*time.Minute)
	defer cancel()
	out, err := chromedp.Run(ctx, chromedp.Evaluate[string](expr, chromedp.EvalAwaitPromise))
	if err != nil {
		p.Fatalf("%.300s: %v", expr, err)
	}
	return out
}

// see waits until an expression is true.
func (p *page) see(expr string) {
	p.Helper()
	for range 3000 {
		if p.value("String(!!("+expr+"))") == "true" {
			return
		}
		p.value(`new Promise(yes => setTimeout(() => yes(""), 50))`)
	}
	p.Fatalf("%s never came true; the page says %s", expr, p.value("document.body.innerText"))
}

func (p *page) picture(name string, width, height int64) {
	if *playPictures == "" {
		return
	}
	p.do(chromedp.EmulateViewport(width, height))
	data, err := chromedp.Run(p.ctx, chromedp.CaptureScreenshot())
	if err != nil {
		p.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(*playPictures, name+".png"), data, 0o600); err != nil {
		p.Fatal(err)
	}
}

// TestPlayground: in Chromium, cut off from the network once the page is there, the playground's answers are
// those of obstat explain; its page shows them, and a link that was made to do harm does none.
func TestPlayground(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("-short: an engine built for a browser")
	}
	questions, want := playQuestions(t, *playCases)
	net := &wire{}
	p := openPage(t, playground(t, net))
	p.see(`document.querySelector("#answer .verdict")`)
	net.cut.Store(true)
	t.Run("answers", func(t *testing.T) { p.answersLikeTheCommand(t, questions, want) })
	net.cut.Store(false)
	if n := net.tried.Load(); n > 0 {
		t.Errorf("the page sent %d requests for its answers", n)
	}
	t.Run("page", func(t *testing.T) { p.shows(t) })
	t.Run("links", func(t *testing.T) { p.links(t) })
	t.Run("bounds", func(t *testing.T) { p.bounds(t) })
}

// playQuestions returns n questions, spread over the recorded calls of all systems, and the command's answers.
func playQuestions(t *testing.T, n int) (questions, want []string) {
	t.Helper()
	files := []string{"adkfluent/testdata/document", "agentscope/testdata/document", "agentscope/testdata/parser",
		"agentscope/testdata/shelldanger", "chorus/testdata/document", "jiuwen/testdata/jiuwen-document",
		"opencode/testdata/opencode-document", "opencode/testdata/opencode-program", "all/testdata/harm"}
	each := (n + len(files) - 1) / len(files)
	for _, file := range files {
		var list []*cases.Case
		r := cases.Runner{Find: all.Find}
		jsonltest.Lines(t, filepath.Join("../../../dialect", file+".jsonl.gz"), func(line int, data []byte) {
			c, err := cases.Parse(file, line, data)
			if err != nil {
				t.Fatal(err)
			}
			// Tools are declared in Go alone, and the command takes these layers.
			if l, err := r.Load(c); err == nil && len(l.Input.Tools) == 0 && c.Call.Tool != "" && namedLayers(l) {
				list = append(list, c)
			}
		})
		for i := range min(each, len(list)) {
			if len(questions) == n {
				break
			}
			for at := i * len(list) / min(each, len(list)); at < len(list); at++ {
				l, _ := r.Load(list[at])
				// The command guards its own files, such as from `rm -rf /`; a page has none.
				if q, w := asked(t, l, list[at]); !strings.Contains(w, "what guards this agent") {
					questions, want = append(questions, q), append(want, w)
					break
				}
			}
		}
	}
	return questions, want
}

// namedLayers tells whether --policy can name the layers of all files.
func namedLayers(l *dialect.Loaded) bool {
	return !slices.ContainsFunc(l.Input.Files, func(f dialect.File) bool {
		return f.Layer != "" && !slices.Contains([]string{dialect.LayerUser, dialect.LayerProject, dialect.LayerLocal}, f.Layer)
	})
}

// asked puts a case to obstat explain, with its files in a directory, and returns the same question for the
// playground and the command's answer.
func asked(t *testing.T, l *dialect.Loaded, c *cases.Case) (question, want string) {
	t.Helper()
	dir := t.TempDir()
	f := &Factory{IO: &IO{Out: &bytes.Buffer{}, Err: &bytes.Buffer{}}, World: &c.World, jsonFlag: true}
	o := policyOptions{Dialect: l.Dialect.Name(), Dir: cmp.Or(c.Call.Dir, dir)}
	q := play.Question{Policy: play.Policy{Dialect: o.Dialect, Options: l.Input.Options}, Call: &c.Call, World: &c.World}
	for k, v := range l.Input.Options {
		o.Options = append(o.Options, k+"="+v)
	}
	for i, file := range l.Input.Files {
		name := filepath.Join(dir, fmt.Sprint(i), filepath.Base(file.Name))
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, file.Data, 0o600); err != nil {
			t.Fatal(err)
		}
		arg := name
		if file.Layer != "" {
			arg = file.Layer + "=" + name
		}
		o.Files = append(o.Files, arg)
		q.Policy.Files = append(q.Policy.Files, play.File{Name: name, Layer: file.Layer, Text: string(file.Data)})
	}
	p, err := f.load(&o)
	if err != nil {
		t.Fatalf("%s: %v", c.ID, err)
	}
	defer p.close()
	var out bytes.Buffer
	call := c.Call
	if _, err := (&checkOptions{Factory: f}).explain(&out, p, &call, 0); err != nil {
		t.Fatalf("%s: %v", c.ID, err)
	}
	src, err := json.Marshal(&q)
	if err != nil {
		t.Fatal(err)
	}
	return string(src), out.String()
}

// comparable returns the fields of an answer that both have, in one order.
func comparable(t *testing.T, text string) string {
	t.Helper()
	m := map[string]any{}
	if err := json.Unmarshal([]byte(text), &m); err != nil {
		t.Fatalf("%v in %.300s", err, text)
	}
	for _, key := range []string{"dialect", "policy", "files", "waits"} {
		delete(m, key)
	}
	out, _ := json.Marshal(m)
	return string(out)
}

func (p *page) answersLikeTheCommand(t *testing.T, questions, want []string) {
	const batch = 50
	verdicts := map[obstat.Verdict]int{}
	for at := 0; at < len(questions); at += batch {
		some := questions[at:min(at+batch, len(questions))]
		reply := p.value("Promise.all([" + strings.Join(some, ",") + "].map(q => ask(q, 600000))).then(JSON.stringify)")
		var got []struct {
			View   json.RawMessage
			Errors obstat.Errors
		}
		if err := json.Unmarshal([]byte(reply), &got); err != nil {
			t.Fatal(err)
		}
		for i := range got {
			if got[i].Errors != nil {
				t.Errorf("%s: %v", some[i], got[i].Errors)
				continue
			}
			a, b := comparable(t, string(got[i].View)), comparable(t, want[at+i])
			var v struct{ Verdict obstat.Verdict }
			_ = json.Unmarshal([]byte(a), &v)
			verdicts[v.Verdict]++
			if a != b {
				t.Errorf("%s\nthe page:    %s\nthe command: %s", some[i], a, b)
			}
		}
	}
	t.Logf("%d questions, answered %v", len(questions), verdicts)
	if len(questions) < *playCases || len(verdicts) < 3 {
		t.Errorf("%d questions with the verdicts %v show little", len(questions), verdicts)
	}
}

// shows: examples to click, the rule's place underlined, a comparison with its witness.
func (p *page) shows(t *testing.T) {
	p.value(`(showExample(6), "")`)
	p.see(`document.querySelector("#answer .verdict.deny") && document.querySelector("#under mark")`)
	if got := p.value(`document.querySelector("#under mark").textContent`); got != `"Bash(rm *)"` {
		t.Errorf("underlined: %s", got)
	}
	if got := p.value(`document.querySelector("#answer mark").textContent`); got != "rm -rf dist" {
		t.Errorf("the part of the command: %s", got)
	}
	p.picture("call", 1280, 860)
	p.picture("call-phone", 390, 844)
	p.value(`(document.querySelector("#right").scrollIntoView(), "")`)
	p.picture("call-phone-answer", 390, 844)
	p.value(`(showExample(18), "")`)
	p.see(`document.querySelector("#answer .region .looser")`)
	if got := p.value(`document.querySelector("#answer").innerText`); !strings.Contains(got, "git") || !strings.Contains(got, "was:") {
		t.Errorf("the comparison says %s", got)
	}
	p.picture("diff", 1280, 860)
	p.picture("diff-phone", 390, 844)
	p.see(`[...document.querySelectorAll("#examples button")].length == 20`)
	p.do(chromedp.EmulateViewport(390, 844))
	p.see(`document.documentElement.scrollWidth <= innerWidth`)
	p.do(chromedp.EmulateViewport(1280, 860))
}

// links: one holds everything, and one that was crafted runs no script.
func (p *page) links(t *testing.T) {
	p.value(`(showExample(2), "")`)
	p.value(`(document.querySelector("#call").value = "cat ~/.aws/credentials # ü", share().then(() => ""))`)
	link := p.value(`location.hash`)
	p.value(`(setState({}), location.hash = "", "")`)
	p.value(fmt.Sprintf(`(location.hash = %q, "")`, link))
	p.see(`document.querySelector("#call").value == "cat ~/.aws/credentials # ü" && document.querySelector("#answer .verdict.deny")`)
	attack := `<img src=x onerror="window.harmed=1"><script>window.harmed=1</script>`
	for _, s := range []map[string]any{
		{"m": "call", "d": "native", "p": "version: 1\ndeny:\n  - rule: run x\n    reason: '" + attack + "'", "c": "x " + attack},
		{"m": "call", "d": attack, "p": attack, "c": attack},
		{"m": "diff", "p": attack, "q": attack, "e": attack},
		{"m": attack, "p": map[string]any{"toString": attack}, "d": []any{attack}, "c": 7},
		{"__proto__": map[string]any{"m": "diff"}, "constructor": attack},
	} {
		text, _ := json.Marshal(s)
		p.value(fmt.Sprintf(`pack(JSON.parse(%q)).then(h => { turn++; document.querySelector("#answer").replaceChildren(); location.hash = h; return ""; })`, text))
		p.see(`document.querySelector("#answer").innerText`)
		if got := p.value(`String(window.harmed) + document.querySelectorAll("main img, main script").length`); got != "undefined0" {
			t.Errorf("%s: a script ran, or markup was made: %s", text, got)
		}
	}
	for _, bad := range []string{"!!!", "AAAA", "%3Cscript%3E", "999"} {
		p.value(fmt.Sprintf(`(document.querySelector("#answer").replaceChildren(), location.hash = %q, "")`, bad))
		p.see(`document.querySelector("#answer .error")?.innerText.includes("cannot be read")`)
	}
}

// bounds: a link's state, a policy and the time of an answer have an end.
func (p *page) bounds(t *testing.T) {
	p.value(`pack({ p: "#".repeat(40 << 20) }).then(h => { location.hash = h; return ""; })`)
	p.see(`document.querySelector("#answer").innerText.includes("more than 6 MB")`)
	rules := 20_000
	if *playCases > 100 {
		rules = 350_000 // 5 MB
	}
	large := fmt.Sprintf(`{ policy: { dialect: "native", files: [{ text: "version: 1\ndeny:\n" + `+
		`"  - run x*y*z*\n".repeat(%d) }] }, call: { tool: "Bash", input: { command: "xyz" } } }`, rules)
	if got := p.value(`ask(` + large + `, 600000).then(r => r.errors ? r.errors[0].msg : r.view.verdict)`); got == "allow" {
		t.Errorf("5 MB of policy: %s", got)
	}
	if got := p.value(`ask(` + large + `, 1).then(r => String(r.late))`); got != "true" {
		t.Errorf("a question that takes longer than its time: %s", got)
	}
	if got := p.value(`ask({ policy: { dialect: "native", files: [{ text: "version: 1\nallow: [run ls]" }] }, call: { tool: "Bash", input: { command: "ls" }, dir: "/w" } }).then(r => r.view.verdict)`); got != "allow" {
		t.Errorf("after an engine that was ended: %s", got)
	}
	if got := p.value(`ask({ x: "y".repeat(13 << 20) }).then(r => r.errors[0].msg)`); !strings.Contains(got, "12 MB") {
		t.Errorf("13 MB: %s", got)
	}
}

// TestServePlay: a directory without a playground is refused at the start, and only its own files are served.
func TestServePlay(t *testing.T) {
	dir := t.TempDir()
	open := func() (*server.Server, error) {
		return server.Open(t.Context(), server.Options{Store: new(memory.Store), Play: dir, AskTimeout: time.Minute,
			Policy: gate.Fixed{Loaded: loadedFrom(t, "native", "version: 1")}})
	}
	if _, err := open(); err == nil || !strings.Contains(err.Error(), "is no playground") {
		t.Errorf("an empty directory: %v", err)
	}
	secret := filepath.Join(t.TempDir(), "secret.html")
	for _, name := range []string{"index.html", "engine.wasm.gz", "play.js", "id_rsa", ".netrc", "x.html"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("text of "+name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(secret, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(secret, filepath.Join(dir, "link.html")); err != nil {
		t.Fatal(err)
	}
	srv, err := open()
	if err != nil {
		t.Fatal(err)
	}
	defer srv.Close()
	for path, want := range map[string]int{"/play": 303, "/play/": 200, "/play/play.js": 200, "/play/engine.wasm.gz": 200,
		"/play/id_rsa": 404, "/play/.netrc": 404, "/play/link.html": 404, "/play/no.js": 404, "/play/%2e%2e%2fsecret.html": 404,
		"/play/..%2f..%2fsecret.html": 404} {
		w := httptest.NewRecorder()
		srv.Handler().ServeHTTP(w, httptest.NewRequest("GET", path, nil))
		if w.Code != want || strings.Contains(w.Body.String(), "secret") && want == 200 {
			t.Errorf("%s: %d %s, want %d", path, w.Code, w.Body, want)
		}
		if csp := w.Header().Get("Content-Security-Policy"); want == 200 && (!strings.Contains(csp, "default-src 'none'") ||
			!strings.Contains(csp, "connect-src 'self'") || strings.Contains(csp, "unsafe-inline")) {
			t.Errorf("%s: its policy is %s", path, csp)
		}
		if w.Header().Get(client.APIHeader) == "" {
			t.Errorf("%s did not go through the server's checks", path)
		}
	}
}
