package hookcrash_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/agent"
	"github.com/obstat/obstat/internal/face/hook"
)

// TestSound: where nothing is broken, every agent gets the policy's answer.
func TestSound(t *testing.T) {
	each(t, func(t *testing.T, program []string) {
		m := newMachine(t)
		for _, agent := range agents() {
			for range 2 {
				if r := m.call(program, agent, m.payload(agent, allowed)); r.does(agent) != runs || r.exit != 0 {
					t.Errorf("%s: an allowed call: %s", agent, r)
				}
				if r := m.call(program, agent, m.payload(agent, denied)); r.does(agent) != blocks {
					t.Errorf("%s: a denied call: %s", agent, r)
				}
			}
		}
	})
}

// TestCutOff: a payload that ends too early is a denial, wherever it ends. Every
// byte is tried in this process, and many with the programs.
func TestCutOff(t *testing.T) {
	m := newMachine(t)
	for _, agent := range agents() {
		p := m.payload(agent, allowed)
		for n := range p {
			var out, words bytes.Buffer
			o := hook.System(&hook.Options{Agent: agent, NoLedger: true})
			o.In, o.Out, o.Err, o.World = bytes.NewReader(p[:n]), &out, &words, obstat.OS{}
			o.Getenv = func(string) string { return "" }
			r := result{exit: hook.Run(o)}
			r.stdout, r.stderr = out.Bytes(), words.Bytes()
			if r.does(agent) != blocks {
				t.Errorf("%s: %q: %s", agent, p[:n], r)
			}
		}
	}
	step := 100
	if *long {
		step = 1
	}
	each(t, func(t *testing.T, program []string) {
		m := newMachine(t)
		for _, agent := range agents() {
			p := m.payload(agent, allowed)
			for n := rand.IntN(step); n < len(p); n += step {
				if r := m.call(program, agent, p[:n]); r.does(agent) != blocks {
					t.Errorf("%s: %q: %s", agent, p[:n], r)
				}
			}
		}
	})
}

// TestHuge: a payload of 50 MB is denied.
func TestHuge(t *testing.T) {
	list := []string{agent.ClaudeCode, agent.Codex}
	if *long {
		list = agents()
	}
	each(t, func(t *testing.T, program []string) {
		m := newMachine(t)
		for _, agent := range list {
			p := bytes.Replace(m.payload(agent, allowed), []byte("hello"), bytes.Repeat([]byte("x"), 50<<20), 1)
			if r := m.call(program, agent, p); r.does(agent) != blocks {
				t.Errorf("%s: %s", agent, r)
			}
		}
	})
}

// TestKilled: a hook that is killed has said nothing, or all of what it had to
// say. It is never half an answer that an agent could take for another.
func TestKilled(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	list := agents()
	usual := time.Hour
	for range 5 { // the least counts: kills after a time that only a busy moment took would all come too late
		began := time.Now()
		m.call(program(), agent.Codex, m.payload(agent.Codex, allowed))
		usual = min(usual, time.Since(began))
	}
	var dead, early int
	for i := 0; dead < *kills && i < 10**kills; i++ {
		agent, command, want := list[i%len(list)], denied, blocks
		if i%4 < 2 {
			command, want = allowed, runs
		}
		began := time.Now()
		r := m.kill(program(), agent, m.payload(agent, command), time.Duration(rand.Int64N(int64(usual)*5/4)))
		switch {
		case r.exit >= 0:
			if r.does(agent) != want {
				t.Errorf("%s, not killed: %s", agent, r)
			}
			usual = min(usual, time.Since(began))
			continue
		case len(r.stdout) == 0:
			early++
		default:
			whole := result{stdout: r.stdout, stderr: r.stderr, exit: 0}
			if !strings.HasSuffix(string(r.stdout), "}\n") || whole.does(agent) != want {
				t.Errorf("%s, killed: half an answer: %s", agent, r)
			}
		}
		dead++
	}
	t.Logf("%d were killed, %d before they had said anything", dead, early)
	if dead < *kills {
		t.Errorf("only %d were killed in time", dead)
	}
	// Their files do not stop the next one, and the ledger is whole.
	if r := m.call(program(), agent.Codex, m.payload(agent.Codex, denied)); r.does(agent.Codex) != blocks {
		t.Error(r)
	}
	if r := m.call(program(), agent.Codex, m.payload(agent.Codex, allowed)); r.does(agent.Codex) != runs {
		t.Error(r)
	}
	m.verify()
}

// kill runs a hook and kills it after a time.
func (m *machine) kill(program []string, agent string, stdin []byte, after time.Duration) result {
	m.t.Helper()
	argv := append(append([]string{}, program...), agent)
	cmd := exec.Command(argv[0], argv[1:]...)
	var out, words bytes.Buffer
	cmd.Dir, cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = m.proj, m.env, bytes.NewReader(stdin), &out, &words
	if err := cmd.Start(); err != nil {
		m.t.Fatal(err)
	}
	timer := time.AfterFunc(after, func() { _ = cmd.Process.Kill() })
	defer timer.Stop()
	_ = cmd.Wait()
	return result{stdout: out.Bytes(), stderr: words.Bytes(), exit: cmd.ProcessState.ExitCode()}
}

// verify checks the ledger that the hooks have written.
func (m *machine) verify() {
	m.t.Helper()
	cmd := exec.Command(filepath.Join(bin, "obstat"), "log", "verify")
	cmd.Env = m.env
	if out, err := cmd.CombinedOutput(); err != nil {
		m.t.Errorf("obstat log verify: %v\n%s", err, out)
	}
}

// TestTogether: hooks that begin at once on a machine where nothing is
// written yet all get their answers.
func TestTogether(t *testing.T) {
	each(t, func(t *testing.T, program []string) {
		for _, n := range []int{2, 16} {
			m := newMachine(t)
			var wg sync.WaitGroup
			for i := range n {
				agent := agents()[i%len(agents())]
				wg.Go(func() {
					if i%2 == 0 {
						m.call(program, agent, m.payload(agent, denied)).never(t, agent, fmt.Sprintf("%d at once", n))
						return
					}
					if r := m.call(program, agent, m.payload(agent, allowed)); r.does(agent) != runs {
						t.Errorf("%s, %d at once: %s", agent, n, r)
					}
				})
			}
			wg.Wait()
			ledger, err := os.ReadFile(filepath.Join(m.state(), "obstat.ledger"))
			if lines := bytes.Count(ledger, []byte("\n")); err != nil || lines < n {
				t.Errorf("%d at once: %d lines in the ledger, %v", n, lines, err)
			}
			m.verify()
		}
	})
}
