package hookcrash_test

import (
	"bytes"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/obstat/obstat/agent"
)

// some returns the agents that a test of the surroundings is run with: one that
// says allow, one that allows by saying nothing, one that only has exit codes.
func some() []string {
	if *long {
		return agents()
	}
	return []string{agent.ClaudeCode, agent.Codex, agent.Windsurf}
}

// holds makes both calls: the denied one must not run, and the allowed one runs
// or is denied in the agent's form.
func (m *machine) holds(t *testing.T, program []string, what string, change ...func(*exec.Cmd)) {
	t.Helper()
	for _, agent := range some() {
		m.call(program, agent, m.payload(agent, denied), change...).never(t, agent, what)
		r := m.call(program, agent, m.payload(agent, allowed), change...)
		if d := r.does(agent); d == asks || d == runs && r.exit != 0 || r.err != nil {
			t.Errorf("%s, %s: an allowed call neither runs nor is denied: %s (%v)", agent, what, r, r.err)
		}
	}
}

// denies makes the allowed call, which must be denied all the same.
func (m *machine) denies(t *testing.T, program []string, what string, change ...func(*exec.Cmd)) {
	t.Helper()
	for _, agent := range some() {
		if r := m.call(program, agent, m.payload(agent, allowed), change...); r.does(agent) != blocks {
			t.Errorf("%s, %s: it should be denied: %s", agent, what, r)
		}
	}
}

func TestNoHome(t *testing.T) {
	each(t, func(t *testing.T, program []string) {
		m := newMachine(t)
		m.env = []string{"PATH=" + os.Getenv("PATH")}
		m.holds(t, program, "no HOME")
		m.denies(t, program, "nowhere to write it down")
		m.env = append(m.env, "HOME=/nonexistent/home")
		m.holds(t, program, "a HOME that is not there")
		m.env = append(m.env, "HOME=relative")
		m.holds(t, program, "a relative HOME")
	})
}

// TestClosed: an answer that nobody can read is not given by the exit code
// either.
func TestClosed(t *testing.T) {
	each(t, func(t *testing.T, program []string) {
		m := newMachine(t)
		for what, redirect := range map[string]string{"stdout closed": ">&-", "stderr closed": "2>&-", "both closed": ">&- 2>&-", "all closed": "<&- >&- 2>&-", "stdout full": ">/dev/full", "stderr full": "2>/dev/full"} {
			if strings.Contains(redirect, "/dev/full") {
				if _, err := os.Stat("/dev/full"); err != nil {
					t.Logf("%s is not tried: %v", what, err)
					continue
				}
			}
			under := append([]string{"/bin/sh", "-c", `exec "$@" ` + redirect, "sh"}, program...)
			for _, name := range some() {
				r := m.call(under, name, m.payload(name, denied))
				if r.does(name) == runs && !(name == agent.Codex && r.exit == 2) { // without words Codex does not heed the code: nobody can help that
					t.Errorf("%s, %s: a denied call would run: %s", name, what, r)
				}
			}
			if r := m.call(under, agent.ClaudeCode, m.payload(agent.ClaudeCode, allowed)); what == "stdout closed" && r.exit != 0 {
				t.Errorf("%s: an allowed call is denied: %s", what, r)
			}
		}
		m.holds(t, program, "after all that")
	})
}

// TestGarbage: the files in the state directory may hold anything.
func TestGarbage(t *testing.T) {
	each(t, func(t *testing.T, program []string) {
		m := newMachine(t)
		m.holds(t, program, "at first")
		var files []string
		_ = filepath.WalkDir(m.state(), func(p string, d fs.DirEntry, err error) error {
			if err == nil && !d.IsDir() {
				files = append(files, p)
			}
			return err
		})
		if len(files) < 2 {
			t.Fatalf("only %q were left behind", files)
		}
		rounds := 1
		if *long {
			rounds = 40
		}
		for range rounds {
			for _, name := range files {
				good, err := os.ReadFile(name)
				if err != nil {
					t.Fatal(err)
				}
				for what, bad := range spoil(good) {
					if !*long && rand.IntN(3) > 0 {
						continue
					}
					if err := os.WriteFile(name, bad, 0o600); err != nil {
						t.Fatal(err)
					}
					agent := some()[rand.IntN(len(some()))]
					m.call(program, agent, m.payload(agent, denied)).never(t, agent, filepath.Base(name)+" "+what)
					r := m.call(program, agent, m.payload(agent, allowed))
					if d := r.does(agent); d == asks || d == runs && r.exit != 0 {
						t.Errorf("%s %s: %s", filepath.Base(name), what, r)
					}
				}
				if err := os.WriteFile(name, good, 0o600); err != nil {
					t.Fatal(err)
				}
			}
		}
		for _, name := range files {
			if err := os.Remove(name); err != nil {
				t.Fatal(err)
			}
			if err := os.Mkdir(name, 0o700); err != nil {
				t.Fatal(err)
			}
			if *long || rand.IntN(2) == 0 {
				m.holds(t, program, "a directory in the place of "+filepath.Base(name))
			}
			_ = os.RemoveAll(name)
		}
	})
}

// spoil returns broken versions of a file.
func spoil(good []byte) map[string][]byte {
	flipped := bytes.Clone(good)
	if len(flipped) > 0 {
		flipped[rand.IntN(len(flipped))] ^= byte(1 + rand.IntN(255))
	}
	noise := make([]byte, 4096)
	for i := range noise {
		noise[i] = byte(rand.UintN(256))
	}
	out := map[string][]byte{"empty": nil, "with a byte changed": flipped, "noise": noise, "cut off": good[:len(good)/2], "with more behind it": append(bytes.Clone(good), noise...)}
	if bytes.Contains(good, []byte("deny")) {
		out["with deny for allow"] = bytes.ReplaceAll(bytes.ReplaceAll(bytes.ReplaceAll(good, []byte("deny"), []byte("DENY")), []byte("allow"), []byte("deny")), []byte("DENY"), []byte("allow"))
	}
	return out
}

// TestNoCache: a policy counts as long as its files say it, and nothing that a
// hook leaves behind decides the next call: there is no cache to forge.
func TestNoCache(t *testing.T) {
	each(t, func(t *testing.T, program []string) {
		m := newMachine(t)
		file := filepath.Join(m.proj, "obstat.json")
		strict, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		lax := bytes.ReplaceAll(strict, []byte(`"rm *"`), []byte(`"no *"`))
		lax = bytes.ReplaceAll(lax, []byte(`"default":"deny"`), []byte(`"default":"allow"`))
		m.write(file, string(lax))
		m.accept()
		for range 2 {
			if r := m.call(program, agent.Codex, m.payload(agent.Codex, denied)); r.does(agent.Codex) != runs {
				t.Fatalf("by the lax policy: %s", r)
			}
		}
		st, err := os.Stat(file)
		if err != nil {
			t.Fatal(err)
		}
		m.write(file, string(strict))
		_ = os.Chtimes(file, st.ModTime(), st.ModTime())
		m.call(program, agent.Codex, m.payload(agent.Codex, denied)).never(t, agent.Codex, "after another policy")
		left, err := os.ReadDir(m.state())
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range left {
			if f.Name() == "changes" {
				continue // files as they were, by which nothing is decided
			}
			if f.IsDir() || !strings.HasPrefix(f.Name(), "obstat.db") && !strings.HasPrefix(f.Name(), "obstat.ledger") && f.Name() != "obstat.pins" {
				t.Errorf("%s is neither the ledger's nor the store's", f.Name())
			}
		}
	})
}
