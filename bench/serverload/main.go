// Command serverload measures allowed decisions over HTTP with connections that are
// kept: obstat's server, a bare net/http handler that decodes and encodes the same
// JSON, and OPA's server with an equal policy of a hundred rules, taking turns in one
// run.
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
	"runtime/pprof"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/open-policy-agent/opa/v1/logging"
	"github.com/open-policy-agent/opa/v1/runtime"

	"github.com/obstat/obstat/client"
	"github.com/obstat/obstat/gate"
	"github.com/obstat/obstat/internal/server"
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
	name, url, token, body string
	ok                     string // a part of every good answer
}

const rules = 100

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
	bare, err := openBare(ours.body)
	if err != nil {
		return err
	}
	opa, err := openOPA(dir)
	if err != nil {
		return err
	}
	rates := map[string][]float64{}
	for range rounds {
		for _, t := range []*target{bare, ours, opa} {
			if t == ours && profile != "" {
				f, err := os.Create(profile)
				if err != nil {
					return err
				}
				if err := pprof.StartCPUProfile(f); err != nil {
					return err
				}
			}
			r, err := t.measure(span, clients)
			pprof.StopCPUProfile()
			if err != nil {
				return fmt.Errorf("%s: %w", t.name, err)
			}
			rates[t.name] = append(rates[t.name], r)
		}
	}
	median := func(name string) float64 {
		slices.Sort(rates[name])
		return rates[name][len(rates[name])/2]
	}
	for _, t := range []*target{bare, ours, opa} {
		fmt.Printf("%-8s %8.0f decisions/s\n", t.name, median(t.name))
	}
	fmt.Printf("obstat against the bare handler: %.2f\nobstat against OPA's server: %.2f\n", median("obstat")/median("bare"), median("obstat")/median("OPA"))
	return nil
}

func (t *target) measure(span time.Duration, clients int) (float64, error) {
	c := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: clients}}
	defer c.CloseIdleConnections()
	var n atomic.Int64
	var failed atomic.Pointer[error]
	var wg sync.WaitGroup
	end := time.Now().Add(span)
	for range clients {
		wg.Go(func() {
			for time.Now().Before(end) && failed.Load() == nil {
				if err := t.send(c); err != nil {
					failed.Store(&err)
				}
				n.Add(1)
			}
		})
	}
	wg.Wait()
	if err := failed.Load(); err != nil {
		return 0, *err
	}
	return float64(n.Load()) / span.Seconds(), nil
}

func (t *target) send(c *http.Client) error {
	req, err := http.NewRequest("POST", t.url, strings.NewReader(t.body))
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
	body, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != 200 || !bytes.Contains(body, []byte(t.ok)) {
		return fmt.Errorf("%d %s %w", resp.StatusCode, body, err)
	}
	return nil
}

func openObstat(dir string) (*target, error) {
	patterns := map[string]string{}
	for i := range rules {
		patterns[fmt.Sprintf("tool%d run *", i)] = "allow"
	}
	text, err := json.Marshal(map[string]any{"permission": map[string]any{"bash": patterns, "doom_loop": "allow"}}) // the same call is made again and again
	if err != nil {
		return nil, err
	}
	name := filepath.Join(dir, "opencode.json")
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
	return &target{"obstat", url + "/v1/decisions", tok.Secret, `{"call":{"tool":"bash","input":{"command":"tool42 run all the tests"},"session":"s","dir":"/src"}}`, `"verdict":"allow"`}, err
}

// openBare decodes the same JSON and encodes an answer of the same form.
func openBare(body string) (*target, error) {
	url, err := serve(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var in client.DecisionRequest
		if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(&client.Decision{Verdict: "allow", Reason: "allow rule \"bash\": {\"tool42 run *\": \"allow\"} (/tmp/opencode.json:1:17)", Stage: "last match",
			Rule: &client.Rule{Text: `"bash": {"tool42 run *": "allow"}`, Verdict: "allow"}})
	}))
	return &target{"bare", url, "", body, `"verdict":"allow"`}, err
}

func serve(h http.Handler) (string, error) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	go http.Serve(ln, h)
	return "http://" + ln.Addr().String(), nil
}

// openOPA starts OPA's server with one rule for each of ours.
func openOPA(dir string) (*target, error) {
	var b strings.Builder
	b.WriteString("package t\nimport rego.v1\ndefault verdict := \"ask\"\n")
	for i := range rules {
		fmt.Fprintf(&b, "verdict := \"allow\" if { input.tool == \"bash\"; glob.match(\"tool%d run *\", [], input.input.command) }\n", i)
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
	rt, err := runtime.NewRuntime(context.Background(), params)
	if err != nil {
		return nil, err
	}
	go func() { _ = rt.Serve(context.Background()) }()
	t := &target{"OPA", "http://" + addr + "/v1/data/t/verdict", "", `{"input":{"tool":"bash","input":{"command":"tool42 run all the tests"},"session":"s","dir":"/src"}}`, `"result":"allow"`}
	for range 100 {
		if err = t.send(http.DefaultClient); err == nil {
			return t, nil
		}
		time.Sleep(100 * time.Millisecond)
	}
	return nil, err
}
