// Command mcp measures what the gateway adds to a call of an MCP tool: the same client and
// server of the official SDK, connected directly, through `obstat mcp`, and through a
// proxy that is written with the SDK's typed handlers; a relay that looks at nothing, and one
// that has a line on the disk for each call, say what a process in between and a durable
// record cost by themselves. All take turns in one run.
//
//	cd bench && go run ./mcp
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"golang.org/x/sys/unix"
)

const role = "OBSTAT_BENCH_MCP"

func main() {
	log.SetFlags(0)
	switch os.Getenv(role) {
	case "server":
		serve()
	case "proxy":
		proxy()
	case "relay":
		relay(nil)
	case "synced":
		f, err := os.CreateTemp("", "obstat-bench-mcp")
		check(err)
		defer os.Remove(f.Name())
		relay(f)
	default:
		measure()
	}
}

type echo struct {
	Text string `json:"text"`
}

// serve is the server: one tool that returns its text.
func serve() {
	s := mcp.NewServer(&mcp.Implementation{Name: "bench", Version: "1"}, nil)
	mcp.AddTool(s, &mcp.Tool{Name: "echo", Description: "returns its text"}, func(_ context.Context, _ *mcp.CallToolRequest, in echo) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: in.Text}}}, nil, nil
	})
	check(s.Run(context.Background(), &mcp.StdioTransport{}))
}

// proxy is a server that passes each call to another: what one writes with the SDK.
func proxy() {
	ctx := context.Background()
	c, err := mcp.NewClient(&mcp.Implementation{Name: "proxy", Version: "1"}, nil).Connect(ctx, &mcp.CommandTransport{Command: as("server")}, nil)
	check(err)
	s := mcp.NewServer(&mcp.Implementation{Name: "proxy", Version: "1"}, nil)
	tools, err := c.ListTools(ctx, nil)
	check(err)
	for _, t := range tools.Tools {
		s.AddTool(t, func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return c.CallTool(ctx, &mcp.CallToolParams{Name: r.Params.Name, Arguments: r.Params.Arguments})
		})
	}
	check(s.Run(ctx, &mcp.StdioTransport{}))
}

// relay copies bytes: what a process in between costs that looks at nothing. With a file, a line for
// each call is in it before the call is handed on, and on the disk before the answer is.
func relay(f *os.File) {
	cmd := as("server")
	in, err := cmd.StdinPipe()
	check(err)
	out, err := cmd.StdoutPipe()
	check(err)
	check(cmd.Start())
	synced := make(chan error, 1000)
	at := int64(0)
	record := func() {
		if f == nil {
			return
		}
		if at%room == 0 {
			_, err := f.WriteAt(make([]byte, room), at)
			check(err)
		}
		_, err := f.WriteAt(make([]byte, line), at)
		check(err)
		at += line
		go func() { synced <- unix.Fdatasync(int(f.Fd())) }()
	}
	wait := func() {
		if f != nil {
			check(<-synced)
		}
	}
	go func() {
		copyAll(in.(*os.File), os.Stdin, record)
		in.Close()
	}()
	copyAll(os.Stdout, out.(*os.File), wait)
	_ = cmd.Wait()
}

// line is about as long as a record, and room is written ahead of time.
const (
	line = 700
	room = 1000 * line
)

func copyAll(to, from *os.File, before func()) {
	buf := make([]byte, 1<<20)
	for {
		n, err := from.Read(buf)
		if n > 0 {
			before()
			_, _ = to.Write(buf[:n])
		}
		if err != nil {
			return
		}
	}
}

// as returns the command that starts this program in a role.
func as(what string) *exec.Cmd {
	self, err := os.Executable()
	check(err)
	cmd := exec.Command(self)
	cmd.Env, cmd.Stderr = append(os.Environ(), role+"="+what), os.Stderr
	return cmd
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

// A way is one of the connections that are compared.
type way struct {
	name    string
	session *mcp.ClientSession
	took    []time.Duration
}

func measure() {
	n := flag.Int("n", 3000, "calls of each")
	size := flag.Int("size", 100, "bytes of the argument")
	version := flag.String("version", "", "protocol version; the newest if empty")
	row := flag.Int("row", 1, "calls in a row before the next one's turn")
	flag.Parse()
	dir, err := os.MkdirTemp("", "obstat-bench-mcp")
	check(err)
	defer os.RemoveAll(dir)
	ways := []*way{{name: "direct"}, {name: "relay"}, {name: "synced"}, {name: "obstat"}, {name: "typed"}}
	for _, w := range ways {
		var cmd *exec.Cmd
		switch w.name {
		case "direct":
			cmd = as("server")
		case "relay", "synced":
			cmd = as(w.name)
		case "typed":
			cmd = as("proxy")
		case "obstat":
			cmd = gateway(dir)
		}
		w.session, err = mcp.NewClient(&mcp.Implementation{Name: "bench", Version: "1"}, nil).Connect(context.Background(), &mcp.CommandTransport{Command: cmd}, &mcp.ClientSessionOptions{ProtocolVersion: *version})
		check(err)
		defer w.session.Close()
	}
	text := strings.Repeat("x", *size)
	for i := 0; i < *n+200; i += *row {
		rand.Shuffle(len(ways), func(a, b int) { ways[a], ways[b] = ways[b], ways[a] })
		for _, w := range ways {
			for range *row {
				took := w.call(text)
				if i >= 200 { // everything is warm
					w.took = append(w.took, took)
				}
			}
		}
	}
	report(ways, *size)
}

// call returns how long a call takes.
func (w *way) call(text string) time.Duration {
	began := time.Now()
	r, err := w.session.CallTool(context.Background(), &mcp.CallToolParams{Name: "echo", Arguments: echo{text}})
	took := time.Since(began)
	check(err)
	if len(r.Content) != 1 || r.Content[0].(*mcp.TextContent).Text != text {
		log.Fatalf("%s: another answer: %v", w.name, r.Content[0])
	}
	return took
}

func report(ways []*way, size int) {
	at := func(w *way, q float64) time.Duration { return w.took[int(float64(len(w.took)-1)*q)] }
	slices.SortFunc(ways, func(a, b *way) int { return strings.Compare(a.name, b.name) })
	var direct, obstat, synced, typed time.Duration
	for _, w := range ways {
		slices.Sort(w.took)
		switch w.name {
		case "direct":
			direct = at(w, 0.5)
		case "obstat":
			obstat = at(w, 0.5)
		case "synced":
			synced = at(w, 0.5)
		case "typed":
			typed = at(w, 0.5)
		}
	}
	fmt.Printf("%d bytes, %d calls each\n", size, len(ways[0].took))
	for _, w := range ways {
		fmt.Printf("%-8s p10 %8s  p50 %8s  p90 %8s  p99 %8s  %.2f times direct\n", w.name, at(w, 0.1).Round(time.Microsecond/10), at(w, 0.5).Round(time.Microsecond/10), at(w, 0.9).Round(time.Microsecond), at(w, 0.99).Round(time.Microsecond), float64(at(w, 0.5))/float64(direct))
	}
	fmt.Printf("obstat is %.2f times direct, %.2f times the relay with a line on the disk, and %.2f times as fast as the typed proxy\n", float64(obstat)/float64(direct), float64(obstat)/float64(synced), float64(typed)/float64(obstat))
}

// gateway builds obstat and returns the command of a gateway with a policy of a hundred rules.
func gateway(dir string) *exec.Cmd {
	bin := filepath.Join(dir, "obstat")
	build := exec.Command("go", "build", "-trimpath", "-o", bin, "./cmd/obstat")
	build.Dir, build.Env, build.Stderr = "../..", append(os.Environ(), "CGO_ENABLED=0"), os.Stderr
	check(build.Run())
	var rules []string
	for i := range 98 {
		rules = append(rules, fmt.Sprintf(`"mcp__server%d__tool%d"`, i, i))
	}
	check(os.MkdirAll(filepath.Join(dir, ".claude"), 0o755))
	check(os.MkdirAll(filepath.Join(dir, "project"), 0o755))
	check(os.WriteFile(filepath.Join(dir, ".claude", "settings.json"), []byte(`{"permissions":{"deny":[`+strings.Join(rules[:49], ",")+`],"allow":["mcp__bench__echo",`+strings.Join(rules[49:], ",")+`]}}`), 0o644))
	self, err := os.Executable()
	check(err)
	cmd := exec.Command(bin, "mcp", "--name", "bench", "--", self)
	cmd.Dir, cmd.Stderr = filepath.Join(dir, "project"), os.Stderr
	cmd.Env = append(os.Environ(), role+"=server", "HOME="+dir, "XDG_STATE_HOME="+filepath.Join(dir, "state"))
	return cmd
}
