// Command undocost measures how much longer everyday calls take where their files are kept for undo: the decision, and
// the note after the call, with and without, taking turns.
//
//	go run ./undocost [-n 300] [-cpu]
//
// The calls are made in a project of some hundred files under a policy that allows them. Each is decided by the gate as
// a hook has it decided, then its files are changed as the call would, then it is said to have ended; only the gate and
// the note are timed. With -cpu it is the processor's time of the thread that is taken, which other work on the machine
// does not lengthen.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/gate"
	"github.com/obstat/obstat/internal/guard/undo"
)

// A call of everyday work; does is the shell command that changes the files as the call would, "" for none.
type call struct{ tool, input, does string }

var calls = []call{
	{"Read", `{"file_path":"src/f1.go"}`, ""},
	{"Bash", `{"command":"ls -la src"}`, ""},
	{"Bash", `{"command":"git status --short"}`, ""},
	{"Bash", `{"command":"grep -rn func src | head -20"}`, ""},
	{"Bash", `{"command":"git diff HEAD~1 -- src"}`, ""},
	{"Edit", `{"file_path":"src/f2.go","old_string":"a","new_string":"b"}`, "echo x >>src/f2.go"},
	{"Write", `{"file_path":"src/f3.go","content":"x"}`, "date +%N >src/f3.go"},
	{"Bash", `{"command":"sed -i s/a/b/ src/f4.go"}`, "echo x >>src/f4.go"},
	{"Bash", `{"command":"rm -f src/f5.go"}`, "rm -f src/f5.go"},
	{"Bash", `{"command":"mkdir -p out/x && cp src/f6.go out/x/"}`, "mkdir -p out/x && cp src/f6.go out/x/"},
	{"Bash", `{"command":"git add -A"}`, "git add -A"},
	{"Bash", `{"command":"git commit -qm x"}`, "git commit -qm x --allow-empty"},
}

const policy = "version: 1\nallow:\n  - read anything\n  - write workspace\n  - delete workspace\n  - run git add\n  - run git commit\n"

// clock is the one that durations are taken from.
var clock int32 = unix.CLOCK_MONOTONIC

func now() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(clock, &t); err != nil {
		log.Fatal(err)
	}
	return time.Duration(t.Nano())
}

func main() {
	n := flag.Int("n", 300, "rounds over all calls")
	cpu := flag.Bool("cpu", false, "take the thread's processor time")
	flag.Parse()
	if *cpu {
		runtime.LockOSThread()
		clock = unix.CLOCK_THREAD_CPUTIME_ID
	}
	if err := measure(*n); err != nil {
		log.Fatal(err)
	}
}

// A side is a gate, and the durations of its calls, by call.
type side struct {
	gate *gate.Gate
	took [][]time.Duration
}

func measure(n int) error {
	dir, err := os.MkdirTemp("", "undocost")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return err
	}
	project := filepath.Join(dir, "p")
	if err := prepare(project); err != nil {
		return err
	}
	env := func(name string) string {
		return map[string]string{"XDG_STATE_HOME": filepath.Join(dir, "state"), "HOME": dir}[name]
	}
	sides := make([]*side, 2)
	for i, keeper := range []gate.Undoer{nil, &undo.Keeper{Getenv: env}} {
		g, err := gate.Open(context.Background(), gate.Options{World: obstat.OS{}, Getenv: env, NoRecord: true, Undo: keeper,
			Policy: &gate.Files{Names: []string{filepath.Join(dir, "obstat.yaml")}, NoPins: true, Getenv: env}})
		if err != nil {
			return err
		}
		sides[i] = &side{gate: g, took: make([][]time.Duration, len(calls))}
	}
	for round := range n {
		for i := range calls {
			for turn := range sides {
				which := (turn + round) % 2
				took, err := sides[which].once(&calls[i], project, env, which == 1)
				if err != nil {
					return err
				}
				sides[which].took[i] = append(sides[which].took[i], took)
			}
		}
	}
	report(sides)
	return nil
}

// once has a call decided and done.
func (s *side) once(c *call, project string, env func(string) string, keeps bool) (time.Duration, error) {
	call := &obstat.Call{Tool: c.tool, Input: json.RawMessage(c.input), Dir: project, Roots: []string{project}, Session: "s"}
	began := now()
	d, err := s.gate.Authorize(context.Background(), call, &gate.Terms{Ask: gate.Leave})
	took := now() - began
	if err != nil || d.Verdict != obstat.Allow {
		return 0, fmt.Errorf("%s: %s %s %v", c.input, d.Verdict, d.Reason(), err)
	}
	if c.does != "" {
		cmd := exec.Command("sh", "-c", c.does)
		if cmd.Dir = project; cmd.Run() != nil {
			return 0, fmt.Errorf("%s failed", c.does)
		}
	}
	if !keeps {
		return took, nil
	}
	began = now()
	store, err := undo.Store(env)
	if err == nil {
		_, err = store.End(call.DigestText(), call.Session)
	}
	return took + now() - began, err
}

func prepare(project string) error {
	if err := os.MkdirAll(filepath.Join(project, "src"), 0o755); err != nil {
		return err
	}
	for i := range 400 {
		text := strings.Repeat(fmt.Sprintf("func f%d() { return a }\n", i), 100)
		if err := os.WriteFile(filepath.Join(project, "src", fmt.Sprintf("f%d.go", i)), []byte(text), 0o644); err != nil {
			return err
		}
	}
	if err := os.WriteFile(filepath.Join(filepath.Dir(project), "obstat.yaml"), []byte(policy), 0o600); err != nil {
		return err
	}
	cmd := exec.Command("sh", "-c", `git init -q; git config user.name a; git config user.email a@b.c; git add -A; git commit -qm one
		git commit -qm two --allow-empty`)
	cmd.Dir = project
	return cmd.Run()
}

func report(sides []*side) {
	fmt.Printf("%-62s %9s %9s %9s %9s\n", "ms", "p50", "kept", "p95", "kept")
	var all [2][]time.Duration
	for i, c := range calls {
		for j := range sides {
			all[j] = append(all[j], sides[j].took[i]...)
		}
		line(c.tool+" "+c.input, sides[0].took[i], sides[1].took[i])
	}
	line("all", all[0], all[1])
}

func line(name string, without, with []time.Duration) {
	at := func(list []time.Duration, p int) float64 {
		slices.Sort(list)
		return float64(list[(len(list)-1)*p/100].Microseconds()) / 1000
	}
	fmt.Printf("%-62.62s %9.2f %9.2f %9.2f %9.2f\n", name, at(without, 50), at(with, 50), at(without, 95), at(with, 95))
}
