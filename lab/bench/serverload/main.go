// Command serverload measures allowed decisions over HTTP with connections that are
// kept: obstat's server, a bare net/http handler that decodes and encodes the same
// JSON, and OPA's server with an equal policy of a hundred rules, without and with its
// decision log, taking turns in one run.
//
//	go run ./serverload [-time 3s] [-clients 32] [-rounds 3] [-cpuprofile FILE]
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime/debug"
	"runtime/pprof"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/open-policy-agent/opa/v1/logging"
	"github.com/open-policy-agent/opa/v1/runtime"
	"github.com/sirupsen/logrus"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/client"
	"github.com/obstat/obstat/gate"
	"github.com/obstat/obstat/internal/face/server"
	"github.com/obstat/obstat/store"
)

func main() {
	span := flag.Duration("time", 3*time.Second, "how long each is measured in a round")
	clients := flag.Int("clients", 32, "connections")
	rounds := flag.Int("rounds", 3, "how often")
	profile := flag.String("cpuprofile", "", "`file` for a profile of obstat's turns")
	flag.Parse()
	if err := run(*span, *clients, *rounds, *profile); err != nil {
		fmt.Fprintln(os.Stderr, "serverload:", err)
		os.Exit(1)
	}
}

// A target is a server under load.
type target struct {
	name, url, token string
	bodies           []string // sent in turn
	ok               string   // a part of every good answer
	gc               int      // percent that the heap may grow until it is collected
}

// programs and verbs are the hundred rules: `git status *` and so on.
var (
	programs = []string{"git", "npm", "go", "cargo", "docker", "kubectl", "make", "pip", "terraform", "helm"}
	verbs    = []string{"status", "log", "test", "build", "list", "show", "get", "check", "version", "diff"}
)

// calls are commands that the rules allow.
var calls = []string{"git status --short", "git log --oneline -5", "git diff --stat", "npm test --silent", "go test ./...", "go build ./cmd/app", "cargo test --workspace",
	"cargo build --release", "docker version --format json", "kubectl get pods -n web", "make test -j4", "make build VERBOSE=1", "pip list --outdated", "pip show requests",
	"terraform show -json", "helm list --all"}

func run(span time.Duration, clients, rounds int, profile string) error {
	dir, err := os.MkdirTemp("", "serverload-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	ours, err := openObstat(dir)
	if err != nil {
		return err
	}
	bare, err := openBare(ours.bodies)
	if err != nil {
		return err
	}
	opa, err := openOPA(dir, "")
	if err != nil {
		return err
	}
	logs, err := openOPA(dir, filepath.Join(dir, "decisions.log"))
	if err != nil {
		return err
	}
	targets := []*target{bare, ours, opa, logs}
	rates, costs := map[string][]float64{}, map[string][]float64{}
	for range rounds {
		for _, t := range targets {
			if t == ours && profile != "" {
				f, err := os.Create(profile)
				if err != nil {
					return err
				}
				if err := pprof.StartCPUProfile(f); err != nil {
					return err
				}
			}
			debug.SetGCPercent(t.gc)
			r, cpu, err := t.measure(span, clients)
			pprof.StopCPUProfile()
			if err != nil {
				return fmt.Errorf("%s: %w", t.name, err)
			}
			rates[t.name] = append(rates[t.name], r)
			costs[t.name] = append(costs[t.name], cpu)
		}
	}
	for _, t := range targets {
		fmt.Printf("%-12s %8.0f decisions/s, %6.1f us of processor time each, the client's included\n", t.name, median(rates[t.name]), median(costs[t.name]))
	}
	for _, t := range []*target{bare, opa, logs} {
		fmt.Printf("obstat against %s: %.2f, by processor time %.2f\n", t.name, median(rates[ours.name])/median(rates[t.name]), median(costs[t.name])/median(costs[ours.name]))
	}
	return nil
}

func median(of []float64) float64 {
	slices.Sort(of)
	return of[len(of)/2]
}

// cpu returns how many microseconds the process has used.
func cpu() float64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1000
}

// measure returns how many decisions a second there were, and the microseconds of
// processor time of each.
func (t *target) measure(span time.Duration, clients int) (rate, cost float64, err error) {
	c := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: clients}}
	defer c.CloseIdleConnections()
	var n atomic.Int64
	var failed atomic.Pointer[error]
	var wg sync.WaitGroup
	before := cpu()
	end := time.Now().Add(span)
	for i := range clients {
		wg.Go(func() {
			for ; time.Now().Before(end) && failed.Load() == nil; i++ {
				if err := t.send(c, t.bodies[i%len(t.bodies)]); err != nil {
					failed.Store(&err)
				}
				n.Add(1)
			}
		})
	}
	wg.Wait()
	if err := failed.Load(); err != nil {
		return 0, 0, *err
	}
	return float64(n.Load()) / span.Seconds(), (cpu() - before) / float64(n.Load()), nil
}

func (t *target) send(c *http.Client, body string) error {
	req, err := http.NewRequest("POST", t.url, strings.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer "+t.token)
	resp, err := c.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	got, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != 200 || !bytes.Contains(got, []byte(t.ok)) {
		return fmt.Errorf("%s: %d %s %w", body, resp.StatusCode, got, err)
	}
	return nil
}

func openObstat(dir string) (*target, error) {
	var allow []string
	for _, p := range programs {
		for _, v := range verbs {
			allow = append(allow, "Bash("+p+" "+v+" *)")
		}
	}
	text, err := json.Marshal(map[string]any{"permissions": map[string]any{"allow": allow}})
	if err != nil {
		return nil, err
	}
	name := filepath.Join(dir, "settings.json")
	if err := os.WriteFile(name, text, 0o600); err != nil {
		return nil, err
	}
	ctx := context.Background()
	keep, err := store.Serve(ctx, filepath.Join(dir, "obstat.db"))
	if err != nil {
		return nil, err
	}
	srv, err := server.Open(ctx, server.Options{Store: keep, Policy: &gate.Files{Names: []string{name}, NoPins: true}, Rate: 1 << 30, Log: slog.New(slog.NewTextHandler(os.Stderr, nil))})
	if err != nil {
		return nil, err
	}
	tok, err := server.NewToken(ctx, keep, client.TokenRequest{Kind: "agent", Name: "load"}, "load")
	if err != nil {
		return nil, err
	}
	url, err := serve(srv.Handler())
	return &target{"obstat", url + "/v1/decisions", tok.Secret, bodies(`{"call":{"tool":"Bash","input":{"command":%q},"session":"s","dir":"/src"}}`), `"verdict":"allow"`, 400}, err // as obstat serve
}

// bodies returns the calls as a server takes them.
func bodies(form string) (out []string) {
	for _, c := range calls {
		out = append(out, fmt.Sprintf(form, c))
	}
	return out
}

// openBare decodes the same JSON and encodes an answer of the same form.
func openBare(bodies []string) (*target, error) {
	url, err := serve(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var in client.DecisionRequest
		if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(&client.Decision{Verdict: "allow", Reason: "allow rule Bash(git status *) (/tmp/serverload/settings.json:1:25)", Stage: "allow rules",
			Rule: &client.Rule{Text: "Bash(git status *)", Verdict: "allow", Pos: obstat.Pos{File: "/tmp/serverload/settings.json", Line: 1, Col: 25}}})
	}))
	return &target{"bare", url, "", bodies, `"verdict":"allow"`, 100}, err
}

func serve(h http.Handler) (string, error) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	go http.Serve(ln, h)
	return "http://" + ln.Addr().String(), nil
}

// openOPA starts OPA's server with one rule for each of ours. With a log it writes down each decision as
// `opa run --server --set decision_logs.console=true 2>log` does: a line before it answers, which nobody waits to be
// on the disk.
func openOPA(dir, log string) (*target, error) {
	var b strings.Builder
	b.WriteString("package t\nimport rego.v1\ndefault verdict := \"ask\"\n")
	for _, p := range programs {
		for _, v := range verbs {
			fmt.Fprintf(&b, "verdict := \"allow\" if { input.tool == \"Bash\"; glob.match(\"%s %s *\", null, input.input.command) }\n", p, v)
		}
	}
	name := filepath.Join(dir, "t.rego")
	if err := os.WriteFile(name, []byte(b.String()), 0o600); err != nil {
		return nil, err
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	addr := ln.Addr().String()
	if err := ln.Close(); err != nil {
		return nil, err
	}
	params := runtime.NewParams()
	params.Addrs, params.Paths = &[]string{addr}, []string{name}
	params.Logger = logging.NewNoOpLogger()
	params.EnableVersionCheck = false
	called := "OPA"
	if log != "" {
		f, err := os.Create(log)
		if err != nil {
			return nil, err
		}
		lines := logging.New()
		lines.SetOutput(f)
		lines.SetFormatter(&logrus.JSONFormatter{})
		params.ConsoleLogger, params.ConfigOverrides = lines, []string{"decision_logs.console=true"}
		called = "OPA with log"
	}
	rt, err := runtime.NewRuntime(context.Background(), params)
	if err != nil {
		return nil, err
	}
	go func() { _ = rt.Serve(context.Background()) }()
	t := &target{called, "http://" + addr + "/v1/data/t/verdict", "", bodies(`{"input":{"tool":"Bash","input":{"command":%q},"session":"s","dir":"/src"}}`), `"result":"allow"`, 100}
	for range 100 {
		if err = t.send(http.DefaultClient, t.bodies[0]); err == nil {
			return t, logged(log)
		}
		time.Sleep(100 * time.Millisecond)
	}
	return nil, err
}

// logged returns an error where a log has no decision after the first one.
func logged(log string) error {
	if log == "" {
		return nil
	}
	text, err := os.ReadFile(log)
	if err == nil && !bytes.Contains(text, []byte(`"decision_id"`)) {
		err = fmt.Errorf("OPA has not written down its decision: %s", text)
	}
	return err
}
