package hookcrash_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/obstat/obstat/agent"

	// The programs' packages, so that a cached test result is not taken for theirs
	// when they have changed.
	_ "github.com/obstat/obstat/internal/face/cli"
	_ "github.com/obstat/obstat/internal/face/hook"
	inforce "github.com/obstat/obstat/policy"
)

var (
	kills = flag.Int("kills", 100, "how many hooks are killed")
	long  = flag.Bool("long", false, "every case with every program; otherwise some of them")
)

// bin is where the programs were built.
var bin string

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(run(m))
}

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "hookcrash")
	if err == nil {
		err = os.Chmod(dir, 0o755) // other users run them, too
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	bin = dir
	build := exec.Command("go", "build", "-o", dir+string(filepath.Separator), "github.com/obstat/obstat/cmd/obstat")
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "obstat cannot be built: %v\n%s", err, out)
		return 1
	}
	return m.Run()
}

// program returns the command that agents call, without the agent's name.
func program() []string { return []string{filepath.Join(bin, "obstat"), "hook"} }

// each runs a test beside other tests: most of them wait.
func each(t *testing.T, f func(t *testing.T, program []string)) {
	t.Parallel()
	f(t, program())
}

// policy denies rm and allows echo.
const policy = `{"obstat":1,"mode":"m","pipelines":{"m":{"stages":[{"match":"deny","rules":"deny"},{"match":"allow","rules":"allow"}],"default":"deny"}},
"rules":{"deny":[%s],"allow":[%s]}}`

// A machine is a home with a project in it.
type machine struct {
	t          *testing.T
	home, proj string
	env        []string
}

func newMachine(t *testing.T) *machine {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	m := &machine{t: t, home: filepath.Join(dir, "home")}
	m.proj = filepath.Join(m.home, "proj")
	if err := os.MkdirAll(m.proj, 0o755); err != nil {
		t.Fatal(err)
	}
	var deny, allow []string
	for _, field := range []string{"command", "command_line"} {
		deny = append(deny, fmt.Sprintf(`{"tool":{"wildcard":"*"},"field":%q,"match":{"wildcard":"rm *"},"verdict":"deny"}`, field))
		allow = append(allow, fmt.Sprintf(`{"tool":{"wildcard":"*"},"field":%q,"match":{"wildcard":"echo *"},"verdict":"allow"}`, field))
	}
	m.write(filepath.Join(m.proj, "obstat.json"), fmt.Sprintf(policy, strings.Join(deny, ","), strings.Join(allow, ",")))
	m.env = []string{"HOME=" + m.home, "PATH=" + os.Getenv("PATH"), "TMPDIR=" + dir}
	return m
}

// accept accepts the project's policy as it is on disk.
func (m *machine) accept() {
	m.t.Helper()
	w := &inforce.Where{Dir: m.proj, Home: m.home, Getenv: func(name string) string { return map[string]string{"HOME": m.home}[name] }}
	f := new(inforce.Finder)
	in, err := f.Find(w)
	if err == nil {
		err = f.Pin(context.Background(), in, w, "ann")
	}
	if err != nil {
		m.t.Fatal(err)
	}
}

func (m *machine) write(name, text string) {
	m.t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		m.t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		m.t.Fatal(err)
	}
}

func (m *machine) state() string { return filepath.Join(m.home, ".local", "state", "obstat") }

// The two calls: one that the policy allows, one that it denies.
const (
	allowed = "echo hello"
	denied  = "rm -rf hello"
)

// payload returns an agent's payload for a shell command.
func (m *machine) payload(name, command string) []byte {
	m.t.Helper()
	in := map[string]any{"command": command}
	claude := map[string]any{"session_id": "s", "transcript_path": "/t", "cwd": m.proj, "permission_mode": "default", "hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": in, "tool_use_id": "u"}
	text, _ := json.Marshal(in)
	all := map[string]map[string]any{
		agent.ClaudeCode: claude,
		agent.Codex:      {"session_id": "s", "turn_id": "t", "model": "m", "transcript_path": nil, "cwd": m.proj, "permission_mode": "default", "hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": in, "tool_use_id": "u"},
		agent.Gemini:     {"session_id": "s", "transcript_path": "/t", "cwd": m.proj, "hook_event_name": "BeforeTool", "timestamp": "2026-01-01T00:00:00Z", "tool_name": "run_shell_command", "tool_input": in},
		agent.Qwen:       {"session_id": "s", "transcript_path": "/t", "cwd": m.proj, "permission_mode": "default", "hook_event_name": "PreToolUse", "timestamp": "2026-01-01T00:00:00Z", "tool_name": "run_shell_command", "tool_input": in, "tool_use_id": "u"},
		agent.OpenCode:   {"hook_event_name": "tool.execute.before", "tool": "bash", "sessionID": "s", "callID": "c", "args": in, "directory": m.proj},
		agent.Crush:      {"event": "PreToolUse", "session_id": "s", "cwd": m.proj, "tool_name": "bash", "tool_input": in},
		agent.Cursor:     {"conversation_id": "s", "generation_id": "g", "hook_event_name": "beforeShellExecution", "workspace_roots": []string{m.proj}, "command": command, "cwd": m.proj},
		agent.Copilot:    {"sessionId": "s", "timestamp": 1, "cwd": m.proj, "toolName": "bash", "toolArgs": string(text)},
		agent.Windsurf:   {"agent_action_name": "pre_run_command", "trajectory_id": "s", "tool_info": map[string]any{"command_line": command, "cwd": m.proj}},
		agent.Cline:      {"clineVersion": "3", "hookName": "PreToolUse", "taskId": "s", "workspaceRoots": []string{m.proj}, "preToolUse": map[string]any{"toolName": "execute_command", "parameters": in}},
		agent.Amp:        {"hook_event_name": "tool.call", "tool": "Bash", "input": map[string]any{"cmd": command}, "call": "c", "session": "s", "cwd": m.proj},
		agent.Pi:         {"hook_event_name": "tool_call", "tool": "bash", "input": in, "call": "c", "session": "s", "cwd": m.proj},
		agent.OpenClaw:   {"hook_event_name": "before_tool_call", "tool": "exec", "input": in, "call": "c", "session": "s", "cwd": m.proj},
		agent.Droid:      {"session_id": "s", "transcript_path": "/t", "cwd": m.proj, "permission_mode": "auto-low", "hook_event_name": "PreToolUse", "tool_name": "Execute", "tool_input": in},
		agent.Kiro:       {"hook_event_name": "preToolUse", "cwd": m.proj, "tool_name": "execute_bash", "tool_input": in},
		agent.VSCode:     {"timestamp": "2026-01-01T00:00:00Z", "cwd": m.proj, "sessionId": "s", "hookEventName": "PreToolUse", "transcript_path": "/t", "tool_name": "run_in_terminal", "tool_input": in, "tool_use_id": "u"},
		agent.Generic:    {"tool": "Bash", "input": in, "cwd": m.proj, "session": "s"},
	}
	p, ok := all[name]
	if !ok {
		m.t.Fatalf("no payload for %q", name)
	}
	b, err := json.Marshal(p)
	if err != nil {
		m.t.Fatal(err)
	}
	return b
}

func agents() []string {
	var out []string
	for _, a := range agent.Agents() {
		if a != agent.Antigravity { // its form is not known for certain
			out = append(out, a)
		}
	}
	return out
}

// A result is how a hook ended.
type result struct {
	stdout, stderr []byte
	exit           int // -1: by a signal, or it could not be started
	err            error
}

// call runs a hook to its end.
func (m *machine) call(program []string, agent string, stdin []byte, change ...func(*exec.Cmd)) result {
	m.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	argv := append(append([]string{}, program...), agent)
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	var out, words bytes.Buffer
	cmd.Dir, cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = m.proj, m.env, bytes.NewReader(stdin), &out, &words
	for _, f := range change {
		f(cmd)
	}
	err := cmd.Run()
	r := result{stdout: out.Bytes(), stderr: words.Bytes(), exit: -1}
	if cmd.ProcessState != nil {
		r.exit = cmd.ProcessState.ExitCode()
	}
	var status *exec.ExitError
	if err != nil && !errors.As(err, &status) {
		r.err = err // such as: the hook did not read all of its input
	}
	if ctx.Err() != nil {
		m.t.Errorf("the hook hangs")
	}
	return r
}

func (r result) String() string {
	return fmt.Sprintf("exit %d, stdout %.300q, stderr %.300q", r.exit, r.stdout, r.stderr)
}

// The effects of a result on an agent.
const (
	runs   = "runs"   // the call runs
	blocks = "blocks" // it does not
	asks   = "asks"   // the agent's own prompt
)

// does returns the effect of the result on an agent, as it was seen.
func (r result) does(name string) string {
	var out struct {
		Hook struct {
			Decision string `json:"permissionDecision"`
		} `json:"hookSpecificOutput"`
		PermissionDecision, Permission, Decision string
		Cancel                                   *bool
	}
	whole := json.Unmarshal(r.stdout, &out) == nil
	said := map[string]string{agent.ClaudeCode: out.Hook.Decision, agent.Codex: out.Hook.Decision, agent.Qwen: out.Hook.Decision, agent.Gemini: out.Decision, agent.OpenCode: out.Decision, agent.Crush: out.Decision,
		agent.Droid: out.Hook.Decision, agent.VSCode: out.Hook.Decision, agent.Amp: out.Decision, agent.Pi: out.Decision, agent.OpenClaw: out.Decision,
		agent.Cursor: out.Permission, agent.Copilot: out.PermissionDecision, agent.Generic: out.Decision}[name]
	switch {
	case r.exit < 0:
		return runs // nobody has answered; nearly all agents then run the call
	case name == agent.Cline:
		return map[bool]string{true: runs, false: blocks}[r.exit == 0 && whole && out.Cancel != nil && !*out.Cancel]
	case slices.Contains([]string{agent.OpenCode, agent.Amp, agent.Pi, agent.OpenClaw, agent.Generic}, name):
		return map[bool]string{true: runs, false: blocks}[r.exit == 0 && whole && said == "allow"]
	case name == agent.Copilot && r.exit != 0, name != agent.Codex && r.exit == 2, r.exit == 2 && len(r.stderr) > 0:
		return blocks
	case whole && said == "deny":
		return blocks
	case whole && said == "ask", name == agent.Crush && len(r.stdout) == 0:
		return asks
	}
	return runs
}

// never fails the test if a call that is denied would run.
func (r result) never(t *testing.T, agent, what string) {
	t.Helper()
	if r.does(agent) == runs {
		t.Errorf("%s, %s: a denied call would run: %s", agent, what, r)
	}
}
