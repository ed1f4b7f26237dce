package mcp_test

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A spied gateway writes down, in a file, every call that its server is sent.
type spied struct {
	l    *lab
	cmd  *exec.Cmd
	in   io.WriteCloser
	out  *bufio.Reader
	seen string
	n    int
}

// spy starts a gateway before a server that is a shell script: it notes each line, and
// answers each request.
func (l *lab) spy(flags ...string) *spied {
	l.t.Helper()
	s := &spied{l: l, seen: filepath.Join(l.dir, "seen.txt")}
	script := `while IFS= read -r line; do
	case "$line" in *tools/call*) printf '%s\n' "$line" >> seen.txt ;; esac
	id=${line##*'"id":'}; id=${id%%[,\}]*}
	case "$line" in
	*tools/list*) printf '{"jsonrpc":"2.0","id":%s,"result":{"tools":[{"name":"echo"},{"name":"ask"},{"name":"die"}]}}\n' "$id" ;;
	*'"die"'*) exit 7 ;;
	*'"id":'*) printf '{"jsonrpc":"2.0","id":%s,"result":{"content":[]}}\n' "$id" ;;
	esac
done`
	s.cmd = l.obstat(append(append([]string{"mcp", "--name", "toy"}, flags...), "--", "sh", "-c", script)...)
	s.cmd.Stderr = io.Discard
	var err error
	if s.in, err = s.cmd.StdinPipe(); err != nil {
		l.t.Fatal(err)
	}
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		l.t.Fatal(err)
	}
	s.out = bufio.NewReader(out)
	if err := s.cmd.Start(); err != nil {
		l.t.Fatal(err)
	}
	l.t.Cleanup(func() {
		_ = s.in.Close()
		_ = s.cmd.Process.Kill()
		_ = s.cmd.Wait()
	})
	return s
}

// call makes a call and returns the answer; "" where the gateway has gone.
func (s *spied) call(tool string) string {
	s.n++
	id := s.n
	fmt.Fprintf(s.in, `{"jsonrpc":"2.0","method":"tools/call","params":{"name":%q,"arguments":{"n":%d}},"id":%d}`+"\n", tool, id, id)
	line, _ := s.out.ReadString('\n')
	return line
}

// arrived tells how many calls the server was sent.
func (s *spied) arrived() int {
	data, _ := os.ReadFile(s.seen)
	return strings.Count(string(data), "\n")
}

// TestFaults: whatever breaks, no call arrives that was not allowed, and it goes on when
// it is mended.
func TestFaults(t *testing.T) {
	allow := []string{"mcp__toy__echo", "mcp__toy__die"}
	broken := func(name string, tt func(t *testing.T, l *lab, s *spied)) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t, allow, []string{"mcp__toy__ask"}, nil)
			s := l.spy()
			if got := s.call("echo"); !strings.Contains(got, `"content":[]`) || s.arrived() != 1 {
				t.Fatalf("%s, %d arrived", got, s.arrived())
			}
			tt(t, l, s)
		})
	}
	denied := func(t *testing.T, s *spied, tool, why string) {
		t.Helper()
		before := s.arrived()
		if got := s.call(tool); !strings.Contains(got, "obstat denied") || !strings.Contains(got, why) {
			t.Errorf("%s, want %q", got, why)
		}
		if s.arrived() != before {
			t.Error("the call has arrived")
		}
	}
	allowed := func(t *testing.T, s *spied) {
		t.Helper()
		if got := s.call("echo"); !strings.Contains(got, `"content":[]`) {
			t.Errorf("mended: %s", got)
		}
	}
	broken("policy broken", func(t *testing.T, l *lab, s *spied) {
		l.write(".claude/settings.json", `{"permissions":`)
		denied(t, s, "echo", "the policy cannot be loaded")
		l.settings(allow, nil, nil)
		allowed(t, s)
	})
	broken("policy tightened", func(t *testing.T, l *lab, s *spied) {
		l.settings(nil, nil, allow)
		denied(t, s, "echo", "deny rule mcp__toy__echo")
	})
	broken("ledger lost", func(t *testing.T, l *lab, s *spied) {
		state := filepath.Join(filepath.Dir(l.dir), "state", "obstat")
		if err := os.Rename(state, state+".gone"); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(state, []byte("a file where the directory was"), 0o600); err != nil {
			t.Fatal(err)
		}
		denied(t, s, "echo", "ledger")
		if err := os.Remove(state); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(state+".gone", state); err != nil {
			t.Fatal(err)
		}
		allowed(t, s)
	})
	broken("database lost", func(t *testing.T, l *lab, s *spied) {
		db := filepath.Join(filepath.Dir(l.dir), "state", "obstat", "obstat.db")
		if err := os.WriteFile(db, []byte("this is no database, and it is long enough to be read as one"), 0o600); err != nil {
			t.Fatal(err)
		}
		denied(t, s, "ask", "")
		allowed(t, s)
	})
	broken("nobody there", func(t *testing.T, l *lab, s *spied) { denied(t, s, "ask", "nobody is there to ask") })
	broken("upstream killed", func(t *testing.T, l *lab, s *spied) {
		if got := s.call("die"); !strings.Contains(got, "the server has ended before it answered") {
			t.Errorf("%s", got)
		}
		if err := s.cmd.Wait(); err == nil {
			t.Error("the gateway ends as if all were well")
		}
	})
	broken("gateway killed", func(t *testing.T, l *lab, s *spied) {
		if err := s.cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = s.cmd.Wait()
		before := s.arrived()
		if got := s.call("echo"); got != "" || s.arrived() != before {
			t.Errorf("%s, and %d arrived", got, s.arrived()-before)
		}
		again := l.spy()
		if got := again.call("echo"); !strings.Contains(got, `"content":[]`) {
			t.Errorf("started again: %s", got)
		}
	})
}

// TestKilled: a gateway that is killed at any time has written down every call that arrived.
func TestKilled(t *testing.T) {
	l := newLab(t, []string{"mcp__toy__echo"}, nil, nil)
	rounds := 10
	arrived := 0
	for i := range rounds {
		s := l.spy()
		s.call("echo")
		go func() {
			time.Sleep(time.Duration(i) * 3 * time.Millisecond)
			_ = s.cmd.Process.Kill()
		}()
		for s.call("echo") != "" {
		}
		_ = s.cmd.Wait()
		arrived = s.arrived()
	}
	out, err := l.obstat("log", "export").Output()
	if err != nil {
		t.Fatal(err)
	}
	if written := strings.Count(string(out), `"kind":"decision"`); written < arrived {
		t.Errorf("%d calls arrived, %d are written down", arrived, written)
	}
	verify := l.obstat("log", "verify")
	verify.Stderr = nil
	if out, err := verify.CombinedOutput(); err != nil {
		t.Errorf("%s", out)
	}
}

// TestTakenUp: an answer that comes after the gateway has ended is taken up by the next one.
func TestTakenUp(t *testing.T) {
	l := newLab(t, nil, []string{"mcp__toy__ask"}, nil)
	s := l.spy("--wait", "1s")
	if got := s.call("ask"); !strings.Contains(got, "no person has answered yet") {
		t.Fatalf("%s", got)
	}
	_ = s.in.Close()
	_ = s.cmd.Wait()
	l.answer(true)
	again := l.spy("--wait", "1s")
	if got := again.call("ask"); !strings.Contains(got, `"content":[]`) || again.arrived() != 1 {
		t.Errorf("%s, %d arrived", got, again.arrived())
	}
	if got := again.call("ask"); strings.Contains(got, `"content":[]`) {
		t.Error("the answer was for one call")
	}
}
