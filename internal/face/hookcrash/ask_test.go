//go:build unix

package hookcrash_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/obstat/obstat/agent"
	"github.com/obstat/obstat/approval"
	"github.com/obstat/obstat/internal/guard/person"
	"github.com/obstat/obstat/internal/guard/person/persontest"
	"github.com/obstat/obstat/store"
)

// A terminal is a program that runs in a terminal of its own.
type terminal struct {
	t    *testing.T
	keys io.WriteCloser

	mu   sync.Mutex
	text bytes.Buffer
}

// Write keeps the program's output.
func (w *terminal) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.Write(b)
}

// open starts obstat ask in a terminal.
func (m *machine) open() *terminal {
	m.t.Helper()
	if persontest.BelowAgent() {
		m.t.Skip("an agent runs the tests, and obstat ask takes no answers from it")
	}
	var no *person.Refusal
	if _, err := person.Here(m.state()); errors.As(err, &no) && no.Reason == person.Orphan {
		m.t.Skipf("obstat ask takes no answers below a process that was left behind, as the one that runs the tests: %v", no)
	}
	script, err := exec.LookPath("script")
	if err != nil || runtime.GOOS != "linux" {
		m.t.Skip("there is no script(1) of util-linux to run obstat ask in a terminal")
	}
	w := &terminal{t: m.t}
	cmd := exec.Command(script, "-qfec", filepath.Join(bin, "obstat")+" ask --as ann", "/dev/null")
	cmd.Env, cmd.Dir, cmd.Stdout, cmd.Stderr = append(m.env, "TERM=dumb", "SHELL=/bin/sh"), m.proj, w, w
	if w.keys, err = cmd.StdinPipe(); err == nil {
		err = cmd.Start()
	}
	if err != nil {
		m.t.Fatal(err)
	}
	m.t.Cleanup(func() {
		w.keys.Close()
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	w.shows("waiting for agents to ask")
	return w
}

// shows waits until the program has shown a text, and forgets the output before.
func (w *terminal) shows(text string) {
	w.t.Helper()
	until(w.t, "the terminal shows "+text, func() bool {
		w.mu.Lock()
		defer w.mu.Unlock()
		_, after, ok := bytes.Cut(w.text.Bytes(), []byte(text))
		if ok {
			rest := bytes.Clone(after)
			w.text.Reset()
			w.text.Write(rest)
		}
		return ok
	})
}

// until waits for something that another process does.
func until(t *testing.T, what string, done func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !done(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited in vain: %s", what)
		}
	}
}

func (w *terminal) types(line string) {
	w.t.Helper()
	if _, err := io.WriteString(w.keys, line+"\n"); err != nil {
		w.t.Fatal(err)
	}
}

// asking makes the machine's policy ask about everything but rm.
func (m *machine) asking() {
	m.write(filepath.Join(m.proj, "obstat.json"), strings.ReplaceAll(string(must(os.ReadFile(filepath.Join(m.proj, "obstat.json")))), `"default":"deny"`, `"default":"ask"`))
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// asked tells whether something is being asked.
func (m *machine) asked() bool {
	m.t.Helper()
	db := filepath.Join(m.state(), "obstat.db")
	if _, err := os.Stat(db); err != nil {
		return false
	}
	s, err := store.Open(context.Background(), db)
	if err != nil {
		m.t.Fatal(err)
	}
	defer s.Close()
	open, err := approval.New(s, nil).Pending(context.Background())
	if err != nil {
		m.t.Fatal(err)
	}
	return len(open) > 0
}

// TestElsewhere: an agent that cannot ask gets the answer that a person gives in
// another terminal.
func TestElsewhere(t *testing.T) {
	each(t, func(t *testing.T, program []string) {
		m := newMachine(t)
		m.asking()
		agent := agent.Codex
		if r := m.call(program, agent, m.payload(agent, "make test")); r.does(agent) != blocks || !bytes.Contains(r.stderr, []byte("nobody is there to ask")) {
			t.Errorf("nobody is there: %s", r)
		}
		w := m.open()
		for _, tc := range []struct {
			command, key, want, words string
		}{
			{"make test", "y", runs, ""},
			{"make dist", "n use the other one", blocks, "refused by ann: use the other one"},
			{"make lint", "s", runs, ""},
		} {
			done := make(chan result)
			go func() { done <- m.call(program, agent, m.payload(agent, tc.command)) }()
			w.shows(tc.command)
			w.types(tc.key)
			if r := <-done; r.does(agent) != tc.want || !bytes.Contains(r.stderr, []byte(tc.words)) {
				t.Errorf("%s: %s", tc.command, r)
			}
		}
		// The session's answer holds without anybody.
		if r := m.call(program, agent, m.payload(agent, "make lint")); r.does(agent) != runs {
			t.Errorf("granted: %s", r)
		}
		m.verify()
	})
}

// TestGone: the request of a hook that is gone does not stay, also where it was killed long before its time is over.
func TestGone(t *testing.T) {
	each(t, func(t *testing.T, program []string) {
		m := newMachine(t)
		m.asking()
		for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL} {
			cmd := exec.Command(program[0], append(append([]string{}, program[1:]...), "--wait", "300s", agent.Codex)...)
			var out, words bytes.Buffer
			cmd.Dir, cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = m.proj, m.env, bytes.NewReader(m.payload(agent.Codex, "make test")), &out, &words
			cmd.WaitDelay = 10 * time.Second
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			until(t, "a request is there", m.asked)
			if err := cmd.Process.Signal(sig); err != nil {
				t.Fatal(err)
			}
			_ = cmd.Wait()
			r := result{stdout: out.Bytes(), stderr: words.Bytes(), exit: cmd.ProcessState.ExitCode()}
			if r.exit >= 0 && r.does(agent.Codex) != blocks || r.exit < 0 && len(r.stdout) > 0 {
				t.Errorf("%v: %s", sig, r)
			}
			until(t, "the request is gone", func() bool { return !m.asked() })
		}
	})
}

// noAnswer are the words for a call that nobody has answered.
var noAnswer = regexp.MustCompile("nobody answered within [0-5]s; no human refused it")

// TestNobody: with --wait the hook waits for an answer, and says that none came. The time that it took to get so far is
// taken off, so that a busy machine may say 4s.
func TestNobody(t *testing.T) {
	each(t, func(t *testing.T, program []string) {
		m := newMachine(t)
		m.asking()
		r := m.call(append(append([]string{}, program...), "--wait", "5s"), agent.Codex, m.payload(agent.Codex, "make test"))
		if r.does(agent.Codex) != blocks || !noAnswer.Match(r.stderr) {
			t.Error(r)
		}
	})
}

// TestTwoPolicies: a call that is made in a laxer project is asked about by the
// policy that asks.
func TestTwoPolicies(t *testing.T) {
	each(t, func(t *testing.T, program []string) {
		m := newMachine(t)
		lax := filepath.Join(m.home, "lax")
		m.write(filepath.Join(lax, "obstat.json"), `{"obstat":1,"mode":"m","pipelines":{"m":{"stages":[],"default":"allow"}},"rules":{}}`)
		m.asking()
		p := bytes.ReplaceAll(m.payload(agent.Codex, "make test"), []byte(m.proj), []byte(lax))
		r := m.call(append(append([]string{}, program...), "--wait", "5s"), agent.Codex, p)
		if r.does(agent.Codex) != blocks || !bytes.Contains(r.stderr, []byte("nobody answered within 5s")) {
			t.Error(r)
		}
	})
}
