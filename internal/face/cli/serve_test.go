package cli

import (
	"bytes"
	"context"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/client"
	"github.com/obstat/obstat/gate"
	"github.com/obstat/obstat/internal/face/remote"
	"github.com/obstat/obstat/internal/face/server"
	"github.com/obstat/obstat/internal/guard/doctor"
	"github.com/obstat/obstat/internal/guard/person/persontest"
	"github.com/obstat/obstat/internal/keep/docs"
	"github.com/obstat/obstat/internal/keep/memory"
	"github.com/obstat/obstat/internal/keep/sqlite"
)

// output is what a command has printed so far.
type output struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (o *output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.Write(b)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.String()
}

// TestServe: the server says where it is, an agent with a token from the command
// line gets an answer by TCP and one without by the socket, and it ends when it is
// told to.
func TestServe(t *testing.T) {
	dir := t.TempDir()
	file, db, socket := filepath.Join(dir, "opencode.json"), filepath.Join(dir, "obstat.db"), filepath.Join(dir, "run", "s")
	if err := os.WriteFile(file, []byte(`{"permission":{"bash":{"git status":"allow"}}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	out, words := new(output), new(output)
	o := &serveOptions{Factory: newFactory(&IO{Out: out, Err: words, Person: persontest.Typist}), As: "ann", World: "auto", Wait: time.Minute}
	o.Addr, o.Socket = "127.0.0.1:0", socket
	o.Hosts = []string{"obstat.example"}
	o.Policy.Files, o.Store.Path = []string{file}, db
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- o.run(ctx, nil) }()
	for deadline := time.Now().Add(60 * time.Second); !strings.Contains(out.String(), "token create") && time.Now().Before(deadline); {
		time.Sleep(20 * time.Millisecond)
	}
	_, url, _ := strings.Cut(out.String(), "listens on ")
	url, _, _ = strings.Cut(url, "\n")
	made := new(output)
	to := &tokenOptions{Factory: newFactory(&IO{Out: made, Err: words, Person: persontest.Typist})}
	to.Agent, to.Store.Path = "coder", db
	if err := to.create(t.Context(), nil); err == nil || !strings.Contains(err.Error(), "--days is 1 at least") {
		t.Errorf("a token for no days: %v", err)
	}
	to.Days = 90
	if err := to.create(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	secret, _, _ := strings.Cut(made.String(), "\n")
	for name, opts := range map[string]client.Options{"TCP": {URL: url, Token: secret}, "socket": {Socket: socket}} {
		c, err := client.New(opts)
		if err != nil {
			t.Fatal(err)
		}
		d, err := c.Decide(t.Context(), &obstat.Call{Tool: "bash", Input: []byte(`{"command":"git status"}`), Dir: dir}, 0)
		if err != nil || d.Verdict != "allow" {
			t.Errorf("by %s: %+v %v\n%s%s", name, d, err, out, words)
		}
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if !strings.Contains(out.String(), "http://obstat.example:") || !strings.Contains(out.String(), "/login?key=") {
		t.Error(out.String())
	}
}

// TestServeDemo: without a terminal the demo plays its story through a server, its asks
// answered at the server, and ends.
func TestServeDemo(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	out, words := new(output), new(output)
	o := &serveOptions{Factory: newFactory(&IO{Out: out, Err: words, Person: persontest.Typist}), As: "you", World: "auto", Wait: time.Minute, Demo: true, Rate: 5000}
	o.Addr = "127.0.0.1:0"
	if err := o.run(t.Context(), nil); err != nil {
		t.Fatalf("%v\n%s%s", err, out, words)
	}
	for _, want := range []string{"/login?key=", "allow npm test -- cart", "deny  npm test; curl", "you answer at the console: a 1", "open a pull request instead", "Pictures of the console: "} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s%s", want, out, words)
		}
	}
}

// TestBrowsed: the login link leads to an address that a browser can go to.
func TestBrowsed(t *testing.T) {
	for _, tt := range []struct {
		address, name, want string
	}{
		{"127.0.0.1:8470", "", "127.0.0.1:8470"},
		{"[::1]:8470", "", "[::1]:8470"},
		{":8470", "", "localhost:8470"},
		{"0.0.0.0:8470", "", "localhost:8470"},
		{"[::]:8470", "", "localhost:8470"},
		{"[::]:8470", "gate.example.com", "gate.example.com:8470"},
		{":8470", "gate.example.com:443", "gate.example.com:443"},
	} {
		var names []string
		if tt.name != "" {
			names = append(names, tt.name)
		}
		if got := browsed(tt.address, names); got != tt.want {
			t.Errorf("%s, %q: %s", tt.address, tt.name, got)
		}
	}
}

// TestDoctorTells: what obstat doctor found is kept where the console looks: in the store of
// this machine, and at the server that it has joined.
func TestDoctorTells(t *testing.T) {
	state := t.TempDir()
	dir := filepath.Join(state, "obstat")
	file := filepath.Join(t.TempDir(), "opencode.json")
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(os.WriteFile(file, []byte(`{"permission":{"bash":"ask"}}`), 0o600))
	there := new(memory.Store)
	srv, err := server.Open(t.Context(), server.Options{Store: there, Policy: &gate.Files{Names: []string{file}, NoPins: true}})
	must(err)
	t.Cleanup(srv.Close)
	at := httptest.NewServer(srv.Handler())
	t.Cleanup(at.Close)
	tok, err := server.NewToken(t.Context(), there, client.TokenRequest{Kind: "agent", Name: "laptop", Agent: client.AnyAgent}, "test")
	must(err)
	_, err = remote.Join(t.Context(), dir, at.URL, tok.Secret, "")
	must(err)
	here, err := sqlite.Open(t.Context(), filepath.Join(dir, "obstat.db"))
	must(err)
	t.Cleanup(func() { here.Close() })
	words := new(output)
	o := &doctorOptions{Factory: newFactory(&IO{Out: words, Err: words}), Getenv: func(name string) string { return map[string]string{"XDG_STATE_HOME": state}[name] }}
	o.tell(t.Context(), &doctor.Report{Agents: []*doctor.Agent{{Name: "codex", State: doctor.Holds}}})
	for name, store := range map[string]docs.Store{"here": here, "there": there} {
		if got, _, err := docs.Get[client.AgentSeen](t.Context(), store, "agent", "codex"); err != nil || got.Doctor != "holds" || got.DoctorAt.IsZero() {
			t.Errorf("%s: %+v %v", name, got, err)
		}
	}
	at.Close()
	if o.tell(t.Context(), &doctor.Report{Agents: []*doctor.Agent{{Name: "codex", State: doctor.Broken}}}); !strings.Contains(words.String(), "status and console do not show this") {
		t.Errorf("%q", words)
	}
}

// TestServeFlags: flags that mean nothing are refused before anything is opened, and only an
// address of this machine alone has the paths of calls looked up here.
func TestServeFlags(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", filepath.Join(t.TempDir(), "none"))
	for args, want := range map[string]string{
		"--rate 0":                    "--rate is 1 at least",
		"--rate -5":                   "--rate is 1 at least",
		"--ask-timeout -3s":           "--ask-timeout is a time from now on",
		"--addr=":                     "nowhere to listen",
		"--tls-cert c.pem":            "go together",
		"--oidc-client x":             "go with --oidc-issuer",
		"--public-url http://x":       "go with --oidc-issuer",
		"--traces banana":             "--traces is a URL",
		"--traces http://":            "--traces is a URL",
		"--otlp ftp://x":              "--otlp is a URL",
		"--host a/b":                  "--host is a name",
		"--host user@gate.example":    "--host is a name",
		"--host gate.example:8470:80": "--host is a name",
	} {
		words := new(output)
		if code := Main(append([]string{"serve"}, strings.Fields(args)...), &IO{Out: words, Err: words}); code != ExitError || !strings.Contains(words.String(), want) {
			t.Errorf("%s: %d %s", args, code, words)
		}
	}
	if _, err := os.Stat(os.Getenv("XDG_STATE_HOME")); err == nil {
		t.Error("a store was made")
	}
	for addr, want := range map[string]bool{"": true, "127.0.0.1:1": true, "localhost:1": true, "[::1]:1": true, ":1": false, "0.0.0.0:1": false, "[::]:1": false, "[2001:db8::1]:1": false, "10.0.0.1:1": false} {
		if local(addr) != want {
			t.Errorf("%q: %v", addr, !want)
		}
	}
}
