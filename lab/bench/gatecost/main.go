// Command gatecost measures what a shell call costs on its way through the gate,
// beside the bare parse of the same command by mvdan's shell parser and beside one
// fdatasync, taking turns in one run.
//
//	go run ./gatecost [-n 400] [-only COMMAND] [-cpuprofile FILE]
//
// The calls are those that five agents made in front of a hook, and the everyday
// commands of people at work. Nothing is asked: the policy is Claude Code's, of a
// hundred rules, with the floor and self-protection on.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/pprof"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
	"mvdan.cc/sh/v3/syntax"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/gate"
	"github.com/obstat/obstat/policy"
	"github.com/obstat/obstat/store"
)

func main() {
	n := flag.Int("n", 400, "how often each command is measured")
	profile := flag.String("cpuprofile", "", "`file` for a profile of the gate")
	each := flag.Bool("each", false, "print every command")
	only := flag.String("only", "", "measure this command alone")
	flag.Parse()
	if err := run(*n, *profile, *only, *each); err != nil {
		fmt.Fprintln(os.Stderr, "gatecost:", err)
		os.Exit(1)
	}
}

func run(n int, profile, only string, each bool) error {
	commands, err := commands()
	if err != nil {
		return err
	}
	if only != "" {
		commands = []string{only}
	}
	dir, err := os.MkdirTemp("", "gatecost-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	g, project, err := open(dir)
	if err != nil {
		return err
	}
	defer g.Close()
	// Judged without the store: the look for a grant is a query of the database, for asks alone.
	judge, err := gate.Open(context.Background(), gate.Options{Policy: files(dir, project)})
	if err != nil {
		return err
	}
	defer judge.Close()
	time.Sleep(2500 * time.Millisecond) // a directory that was just changed is looked at more closely
	if profile != "" {
		f, err := os.Create(profile)
		if err != nil {
			return err
		}
		defer f.Close()
		if err := pprof.StartCPUProfile(f); err != nil {
			return err
		}
		defer pprof.StopCPUProfile()
	}
	var ratios []float64
	for _, command := range commands {
		parse, judge := times(n, judge, project, command)
		r := float64(judge) / float64(parse)
		ratios = append(ratios, r)
		if each {
			fmt.Printf("%6.2f %8s %8s  %s\n", r, parse, judge, command)
		}
	}
	slices.Sort(ratios)
	at := func(q float64) float64 { return ratios[int(q*float64(len(ratios)-1))] }
	fmt.Printf("%d commands through the gate, times mvdan's parse: p50 %.2f  p90 %.2f  p99 %.2f  max %.2f\n", len(commands), at(.5), at(.9), at(.99), at(1))
	sync, record, err := durable(min(n, 1000), g, dir, project)
	fmt.Printf("with a durable record: %s, one fdatasync %s: %.2f times\n", record, sync, float64(record)/float64(sync))
	return err
}

// durable returns the medians of one write with fdatasync, to a file of the same
// disk that has room for it, and of a call that is written down.
func durable(n int, g *gate.Gate, dir, project string) (sync, record time.Duration, err error) {
	f, err := os.Create(filepath.Join(dir, "bare"))
	if err != nil {
		return 0, 0, err
	}
	defer f.Close()
	line := make([]byte, 700) // as long as a record
	if _, err := f.Write(make([]byte, len(line)*(n+1))); err != nil {
		return 0, 0, err
	}
	var syncs, records []time.Duration
	for i := range n {
		began := time.Now()
		if _, err := f.WriteAt(line, int64(i*len(line))); err != nil {
			return 0, 0, err
		}
		if err := syscall.Fdatasync(int(f.Fd())); err != nil {
			return 0, 0, err
		}
		syncs = append(syncs, time.Since(began))
		call := &obstat.Call{Tool: "Bash", Input: []byte(`{"command":"git status"}`), Agent: "claude-code", Session: fmt.Sprint(i), Dir: project}
		began = time.Now()
		if d, err := g.Authorize(context.Background(), call, &gate.Terms{Ask: gate.Leave}); err != nil || d.Verdict != obstat.Allow {
			return 0, 0, fmt.Errorf("%s, %w", d.Reason(), err)
		}
		records = append(records, time.Since(began))
	}
	slices.Sort(syncs)
	slices.Sort(records)
	return syncs[n/2], records[n/2], nil
}

// batch is how many times a command is parsed or judged between two looks at the
// clock.
const batch = 20

// times returns the medians of parsing a command and of judging its call, in time
// that this thread was running: what else the machine does has little part in it.
func times(n int, g *gate.Gate, project, command string) (parse, judge time.Duration) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	input, err := json.Marshal(map[string]string{"command": command})
	if err != nil {
		panic(err) // it is a text
	}
	call := &obstat.Call{Tool: "Bash", Input: input, Agent: "claude-code", Session: "s", Dir: project, Roots: []string{project}}
	parser := syntax.NewParser(syntax.Variant(syntax.LangBash))
	var parses, judges []time.Duration
	for i := range n/batch + 3 {
		began := running()
		for range batch {
			_, _ = parser.Parse(strings.NewReader(command), "")
		}
		parsed := running()
		for range batch {
			judged(g, call)
		}
		if done := running(); i >= 2 { // the first ones fill caches
			parses, judges = append(parses, (parsed-began)/batch), append(judges, (done-parsed)/batch)
		}
	}
	slices.Sort(parses)
	slices.Sort(judges)
	return parses[len(parses)/2], judges[len(judges)/2]
}

// running returns how long this thread has run.
func running() time.Duration {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &ts); err != nil {
		panic(err) // every Linux has that clock
	}
	return time.Duration(ts.Nano())
}

// judged puts the call to the gate; nothing is written down.
func judged(g *gate.Gate, call *obstat.Call) obstat.Decision {
	a, _ := g.Authorize(context.Background(), call, &gate.Terms{Ask: gate.Try})
	return a.Decision
}

// open opens a gate on a project.
func open(dir string) (*gate.Gate, string, error) {
	project := filepath.Join(dir, "home", "project")
	file := filepath.Join(project, ".claude", "settings.json")
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return nil, "", err
	}
	if err := os.WriteFile(file, []byte(settings()), 0o644); err != nil {
		return nil, "", err
	}
	old := time.Now().Add(-time.Hour)
	if err := os.Chtimes(file, old, old); err != nil {
		return nil, "", err
	}
	os.Setenv("HOME", filepath.Join(dir, "home"))
	os.Setenv("XDG_STATE_HOME", "")
	ctx := context.Background()
	finder, where := new(policy.Finder), &policy.Where{Dir: project, Home: filepath.Join(dir, "home")}
	found, err := finder.Find(where)
	if err != nil {
		return nil, "", err
	}
	if err := finder.Pin(ctx, found, where, "ann"); err != nil {
		return nil, "", err
	}
	s, err := store.Open(ctx, filepath.Join(dir, "home", ".local", "state", "obstat", "obstat.db"))
	if err != nil {
		return nil, "", err
	}
	g, err := gate.Open(ctx, gate.Options{Policy: files(dir, project), Store: s})
	return g, project, err
}

func files(dir, project string) *gate.Files {
	return &gate.Files{Dir: project, Home: filepath.Join(dir, "home")}
}

// settings is a policy that allows everyday programs and denies a few things.
func settings() string {
	var allow []string
	for _, p := range strings.Fields("git npm npx yarn pnpm ls cat head tail sed awk wc find grep rg tree which node python python3 pip uv poetry pytest ruff black mypy go gofmt cargo rustc make cmake mvn docker kubectl terraform gh jq yq echo printf cd pwd date df du ps file stat diff sort uniq cut xxd tr basename dirname realpath readlink test command type uname whoami id seq paste nl xargs time timeout sleep tar unzip mkdir touch cp mv chmod ln tee export source set hostname man less tsc perl true") {
		allow = append(allow, "Bash("+p+" *)")
	}
	out, err := json.Marshal(map[string]any{"permissions": map[string]any{"allow": append(allow, "Read", "Edit", "Write"),
		"deny": []string{"Bash(rm *)", "Bash(curl *)", "Read(./.env)", "Read(~/.ssh/**)", "Write(./.git/**)"}}})
	if err != nil {
		panic(err) // it is texts
	}
	return string(out)
}
