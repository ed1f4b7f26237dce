package person_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/obstat/obstat/internal/face/cli"
)

// marks are what the agents set for their commands.
var marks = map[string]string{"claude": "CLAUDECODE=1", "codex": "CODEX_THREAD_ID=7", "gemini": "GEMINI_CLI=1", "opencode": "OPENCODE=1", "copilot": "COPILOT_CLI=1", "qwen": "QWEN_CODE=1"}

// TestMain lets the test binary play obstat and the agents, by the name that it is called by:
// variables do not reach all of them.
func TestMain(m *testing.M) {
	name := filepath.Base(os.Args[0])
	switch {
	case name == "obstat":
		playObstat()
	case marks[name] != "":
		playAgent(name, os.Args[1:])
	}
	os.Exit(m.Run())
}

// playObstat is the real command. It leaves a file with its exit code beside its program, which proves
// that a way has reached it.
func playObstat() {
	own := os.Args[0] // a link, which os.Executable would follow
	said, err := os.Create(filepath.Join(filepath.Dir(own), "said"))
	if err != nil {
		os.Exit(9)
	}
	s := cli.System()
	s.Err = said
	code := cli.Main(os.Args[1:], s)
	text := fmt.Sprintf("%d\n", code)
	tmp := filepath.Join(filepath.Dir(own), fmt.Sprint("ended.", os.Getpid()))
	if os.WriteFile(tmp, []byte(text), 0o600) != nil || os.Rename(tmp, filepath.Join(filepath.Dir(own), "ended")) != nil {
		os.Exit(9)
	}
	os.Exit(int(code))
}

// playAgent runs a command as an agent does, and stays until its input ends, unless it is to be gone.
func playAgent(name string, args []string) {
	cmd := exec.Command("bash", "-c", args[1])
	cmd.Env, cmd.Stdout, cmd.Stderr = append(os.Environ(), marks[name]), os.Stdout, os.Stderr
	if err := cmd.Run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	if args[0] != "gone" {
		_, _ = os.Stdin.Read(make([]byte, 1)) // until the test has looked
	}
	os.Exit(0)
}

// A way is one attempt.
type way struct {
	agent, text, needs string
	gone               bool
}

// readWays reads testdata/ways.txt.
func readWays(t *testing.T) (out []way) {
	data, err := os.ReadFile("testdata/ways.txt")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		w := way{agent: "claude", text: strings.TrimSuffix(line, "\n")}
		for more := true; more; {
			word, rest, _ := strings.Cut(w.text, " ")
			name, value, _ := strings.Cut(word, ":")
			switch {
			case name == "agent" && value != "":
				w.agent, w.text = value, rest
			case name == "needs" && value != "":
				w.needs, w.text = value, rest
			case word == "gone":
				w.gone, w.text = true, rest
			default:
				more = false
			}
		}
		if w.text != "" && !strings.HasPrefix(w.text, "#") {
			out = append(out, w)
		}
	}
	return out
}

// commands are obstat's commands that loosen. Each way tries the first and one of the others.
var commands = []string{"trust --yes {d}/p", "ask --store {d}/x.db", "init --yes -C {d}/q", "trust --off", "token create --agent a --store {d}/t.db", "join http://127.0.0.1:1", "uninstall claude-code --yes",
	"permissions --config {d}/c.yaml allow bash", "add-dir --config {d}/c.yaml /srv", "log trim --before 1s --store {d}/x.db", "grants revoke --all --store {d}/x.db", "policy gc --yes {d}/p/.claude/settings.json",
	"policy suggest --accept --store {d}/x.db -p {d}/p/.claude/settings.json"}

// TestWays: of all the ways that an agent has to accept or to answer in a person's name none is taken,
// and each reaches obstat.
func TestWays(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: it starts some hundreds of processes")
	}
	ways := readWays(t)
	if len(ways) < 100 {
		t.Errorf("only %d ways", len(ways))
	}
	at(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var tried atomic.Int32
	t.Run("all", func(t *testing.T) {
		for i, w := range ways {
			for j, command := range []string{commands[0], commands[1+i%(len(commands)-1)]} {
				t.Run(fmt.Sprintf("%d.%d", i+1, j), func(t *testing.T) {
					t.Parallel()
					if w.needs != "" {
						if _, err := exec.LookPath(w.needs); err != nil {
							missing(t, w.needs)
						}
					}
					w.try(t, self, command)
					tried.Add(1)
				})
			}
		}
	})
	t.Logf("%d ways, %d attempts", len(ways), tried.Load())
}

// missing skips a way whose program is not there; where everything is set up, that fails.
func missing(t *testing.T, program string) {
	if os.Getenv("CI") != "" {
		t.Fatalf("%s is missing: make setup installs it", program)
	}
	t.Skipf("%s is not installed", program)
}

// at lets jobs of at run while the test does.
func at(t *testing.T) {
	program, err := exec.LookPath("atd")
	if err != nil || os.Getuid() != 0 {
		return
	}
	d := exec.Command(program, "-f", "-b", "1", "-l", "1000")
	if err := d.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Process.Kill(); _ = d.Wait() })
}

// try makes a home and a project whose policy waits to be accepted, lets an agent have its way, and looks.
func (w way) try(t *testing.T, self, command string) {
	dir, err := os.MkdirTemp("", "way")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	for _, name := range []string{"bin", "home/.claude", "p/.claude", "q", "sc"} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	settings := filepath.Join(dir, "p/.claude/settings.json")
	installed := `{"hooks":{"PreToolUse":[{"matcher":"*","hooks":[{"type":"command","command":"/usr/bin/obstat hook claude-code"}]}]}}`
	err = errors.Join(os.WriteFile(settings, []byte(`{"permissions":{"allow":["Bash"]}}`), 0o600), os.WriteFile(filepath.Join(dir, "home/.claude/settings.json"), []byte(installed), 0o600))
	for _, name := range []string{"obstat", w.agent} {
		err = errors.Join(err, os.Symlink(self, filepath.Join(dir, "bin", name)))
	}
	if err != nil {
		t.Fatal(err)
	}
	home := filepath.Join(dir, "home")
	obstat := filepath.Join(dir, "bin", "obstat")
	text := strings.NewReplacer("{o}", obstat+" "+strings.ReplaceAll(command, "{d}", dir), "{p}", obstat, "{h}", home, "{d}", dir, "{ways}", ways(t),
		"{env}", "env -i HOME="+home+" TERM=xterm PATH="+os.Getenv("PATH")).Replace(w.text)
	mode := "stay"
	if w.gone {
		mode = "gone"
	}
	agent := exec.Command(filepath.Join(dir, "bin", w.agent), mode, text)
	agent.Dir = filepath.Join(dir, "p")
	agent.Env = append(unmarked(), "HOME="+home, "TERM=xterm", "SHELL=/bin/bash")
	stdin, err := agent.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := os.Create(filepath.Join(dir, "out"))
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	agent.Stdout, agent.Stderr = out, out
	if err := agent.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		stdin.Close()
		end(dir)
		_ = agent.Wait()
	}()
	w.judge(t, dir, text)
}

// end ends the processes that a way has left behind: they name its directory, or have it in
// their environment.
func end(dir string) {
	list, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, name := range list {
		words, _ := os.ReadFile(name)
		environ, _ := os.ReadFile(filepath.Join(filepath.Dir(name), "environ"))
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(name)))
		if err == nil && pid != os.Getpid() && strings.Contains(string(words)+string(environ), dir) {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}

// judge waits for obstat to end, and looks at what it has done.
func (w way) judge(t *testing.T, dir, text string) {
	ended := ""
	for end := time.Now().Add(time.Minute); ended == "" && time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		data, _ := os.ReadFile(filepath.Join(dir, "bin", "ended"))
		ended = strings.TrimSpace(string(data))
	}
	said, _ := os.ReadFile(filepath.Join(dir, "bin", "said"))
	printed, _ := os.ReadFile(filepath.Join(dir, "out"))
	log, _ := os.ReadFile(filepath.Join(dir, "home/.local/state/obstat/obstat.ledger"))
	switch {
	case ended == "":
		t.Errorf("%s\nhas not reached obstat, or it waits for an answer: %s\n%s", text, said, printed)
	case ended == "0" || strings.Contains(string(log), `"kind":"pin"`):
		t.Errorf("%s\nwas accepted (%s): %s\n%s", text, ended, said, printed)
	case !refused.Match(said):
		t.Errorf("%s\nended with %s and not with a refusal: %s", text, ended, said)
	}
}

// refused is what obstat says to who is no person.
var refused = regexp.MustCompile(`;\s+a\s+person\s+runs\s+it\s+in\s+a\s+terminal\s+of\s+their\s+own|no\s+terminal`)

// ways returns the directory of the programs that the ways use.
func ways(t *testing.T) string {
	dir, err := filepath.Abs("testdata")
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// unmarked returns the environment of the tests without homes of others and agents' marks.
func unmarked() []string {
	return slices.DeleteFunc(os.Environ(), func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		return name == "HOME" || name == "TERM" || strings.HasPrefix(name, "XDG_") || strings.HasPrefix(name, "OBSTAT_") || strings.HasPrefix(name, "CLAUDE")
	})
}
