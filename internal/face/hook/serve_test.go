package hook

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/agent"
	"github.com/obstat/obstat/ledger"
	"github.com/obstat/obstat/store"
)

// A served is a process that answers an agent's calls, at work.
type served struct {
	t     *testing.T
	dir   string
	in    *io.PipeWriter
	lines *bufio.Scanner
	errs  bytes.Buffer
	code  chan int
}

// serve starts one in a project with a policy for opencode.
func serve(t *testing.T, o *Options, policy string) *served {
	t.Helper()
	s := &served{t: t, dir: t.TempDir(), code: make(chan int, 1)}
	s.policy(policy)
	home := t.TempDir()
	r, w := io.Pipe()
	answers, out := io.Pipe()
	s.in, s.lines = w, bufio.NewScanner(answers)
	o.Agent, o.In, o.Out, o.Err, o.World, o.NoPins = agent.OpenCode, r, out, &s.errs, &obstat.Snapshot{HomeDir: home}, true
	o.Getenv = func(name string) string { return map[string]string{"XDG_STATE_HOME": home}[name] }
	o.Getwd = func() (string, error) { return s.dir, nil }
	o.Exit = func(int) {}
	if o.Deadline == 0 {
		o.Deadline = time.Minute
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		s.code <- Serve(o)
		out.Close()
	}()
	t.Cleanup(func() {
		w.Close()
		<-ended
	})
	return s
}

func (s *served) policy(text string) {
	s.t.Helper()
	if err := os.WriteFile(filepath.Join(s.dir, "opencode.json"), []byte(text), 0o644); err != nil {
		s.t.Fatal(err)
	}
}

func (s *served) send(format string, args ...any) {
	s.t.Helper()
	if _, err := fmt.Fprintf(s.in, format, args...); err != nil {
		s.t.Fatal(err)
	}
}

func (s *served) payload(command string) string {
	b, _ := json.Marshal(map[string]any{"hook_event_name": "tool.execute.before", "tool": "bash", "sessionID": "s", "callID": "c", "args": map[string]string{"command": command}, "directory": s.dir})
	return string(b)
}

// answer returns the next answer: its number, its code and the decision.
func (s *served) answer() (id string, code string, decision string) {
	s.t.Helper()
	if !s.lines.Scan() {
		s.t.Fatalf("no answer: %v, %s", s.lines.Err(), s.errs.String())
	}
	parts := strings.SplitN(s.lines.Text(), " ", 3)
	if len(parts) != 3 {
		s.t.Fatalf("%q", s.lines.Text())
	}
	var said struct{ Decision string }
	_ = json.Unmarshal([]byte(parts[2]), &said)
	return parts[0], parts[1], said.Decision
}

const allowLs = `{"permission":{"bash":{"*":"deny","ls *":"allow"}}}`

// TestServe: many calls at once get the answers that a process for each would give, by their
// numbers, and a policy that changes meanwhile counts from the next call on.
func TestServe(t *testing.T) {
	s := serve(t, &Options{}, allowLs)
	const n = 40
	go func() {
		for i := range n {
			fmt.Fprintf(s.in, "%d %s\n", i, s.payload(fmt.Sprintf([]string{"ls x%d", "rm x%d"}[i%2], i)))
		}
	}()
	seen := map[string]bool{}
	for range n {
		id, code, decision := s.answer()
		want := map[bool]string{true: "0 allow", false: "2 deny"}[strings.ContainsAny(id[len(id)-1:], "02468")]
		if code+" "+decision != want || seen[id] {
			t.Errorf("%s: %s %s, want %s", id, code, decision, want)
		}
		seen[id] = true
	}
	s.policy(`{"permission":{"bash":{"*":"allow"}}}`)
	s.send("100 %s\n", s.payload("touch x"))
	if id, code, decision := s.answer(); id != "100" || code != "0" || decision != "allow" {
		t.Errorf("after the change: %s %s %s", id, code, decision)
	}
	s.policy(`{"permission":`)
	s.send("101 %s\n", s.payload("ls x"))
	if _, code, decision := s.answer(); code != "2" || decision != "deny" {
		t.Errorf("a broken policy: %s %s", code, decision)
	}
	s.in.Close()
	if code := <-s.code; code != ExitOK {
		t.Errorf("ends with %d: %s", code, s.errs.String())
	}
}

// TestServeBadCalls: what is no call is denied by its number.
func TestServeBadCalls(t *testing.T) {
	s := serve(t, &Options{}, allowLs)
	for i, call := range []string{"{}", "null", `{"tool":`, `{"tool":"bash","tool":"x"}`, `{"hook_event_name":"tool.execute.before","tool":1}`, strings.Repeat("[", 1000)} {
		s.send("%d %s\n", i, call)
		if id, code, decision := s.answer(); id != fmt.Sprint(i) || code != "2" || decision == "allow" {
			t.Errorf("%.40s: %s %s %s", call, id, code, decision)
		}
	}
}

// TestServeBadLines: a line without a number ends the process, with a code that denies; half a
// line at the end is no call.
func TestServeBadLines(t *testing.T) {
	for line, want := range map[string]int{"hello\n": ExitDeny, "x {}\n": ExitDeny, "\n": ExitDeny, "1234567890123456789012 {}\n": ExitDeny, "1 {\"tool\"": ExitOK, "": ExitOK} {
		s := serve(t, &Options{}, allowLs)
		s.send("%s", line)
		s.in.Close()
		if code := <-s.code; code != want {
			t.Errorf("%q: %d, want %d", line, code, want)
		}
	}
}

// TestServeDeadline: a call that takes too long is denied, and the others go on.
func TestServeDeadline(t *testing.T) {
	late := slow{store.Memory(), make(chan struct{})}
	s := serve(t, &Options{Deadline: time.Nanosecond, ledger: late}, allowLs)
	t.Cleanup(func() { close(late.end) })
	for i := range 2 {
		s.send("%d %s\n", i, s.payload("ls x"))
		if id, code, decision := s.answer(); id != fmt.Sprint(i) || code != "2" || decision != "deny" {
			t.Errorf("%s %s %s", id, code, decision)
		}
	}
}

// slow is a ledger that takes until the end, so that a decision is not there before the time is up.
type slow struct {
	ledger.Appender
	end chan struct{}
}

func (s slow) Append(ctx context.Context, records ...*ledger.Record) error {
	<-s.end
	return s.Appender.Append(ctx, records...)
}
