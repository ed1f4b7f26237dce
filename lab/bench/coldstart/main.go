// Command coldstart measures what a hook costs a call: from starting its process
// to its end, ours beside an empty Go program and beside what others run for the
// same command, taking turns in one run.
//
//	go run ./coldstart [-n 300] [-npm DIR]
//
// With -npm, Codex and cc-safety-net are installed there from npm and measured,
// too.
package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// A program is one way to answer whether a command may run.
type program struct {
	name  string
	args  []string
	stdin []byte
	env   []string // besides that of this process

	times []time.Duration
}

func main() {
	n := flag.Int("n", 300, "how often each is started")
	npm := flag.String("npm", "", "`directory` that other guards are installed in")
	command := flag.String("command", "npm run build --silent", "the command that is asked about")
	flag.Parse()
	if err := run(*n, *npm, *command); err != nil {
		fmt.Fprintln(os.Stderr, "coldstart:", err)
		os.Exit(1)
	}
}

func run(n int, npm, command string) error {
	dir, err := os.MkdirTemp("", "coldstart-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	b := &bench{dir: dir, project: filepath.Join(dir, "home", "project"), command: command}
	if err := b.setUp(); err != nil {
		return err
	}
	programs, err := b.programs(npm)
	if err != nil {
		return err
	}
	order := slices.Clone(programs)
	for i := range n + 10 {
		// Who comes behind a large process finds the caches cold.
		rand.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
		for _, p := range order {
			d, err := b.start(p)
			if err != nil {
				return fmt.Errorf("%s: %w", p.name, err)
			}
			if i >= 10 { // the first ones fill caches
				p.times = append(p.times, d)
			}
		}
	}
	table(programs)
	return nil
}

type bench struct {
	dir, project, command string
}

// setUp builds the programs and writes a project with a policy of a hundred
// rules, which is accepted. It waits a moment, as a directory that was just changed
// is looked at more closely.
func (b *bench) setUp() error {
	root, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/obstat/obstat").Output()
	if err != nil {
		return err
	}
	empty := filepath.Join(b.dir, "empty")
	for name, text := range map[string]string{
		filepath.Join(empty, "main.go"):                      "package main\n\nfunc main() {}\n",
		filepath.Join(empty, "go.mod"):                       "module empty\n",
		filepath.Join(b.project, ".claude", "settings.json"): settings(),
		filepath.Join(b.dir, "codex.rules"):                  rules(),
	} {
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			return err
		}
	}
	top := strings.TrimSpace(string(root))
	for _, args := range [][]string{
		{empty, "."},
		{top, "./cmd/obstat"},
	} {
		cmd := exec.Command("go", append([]string{"build", "-trimpath", "-ldflags=-s -w", "-o", b.dir + "/built/"}, args[1:]...)...)
		cmd.Dir = args[0]
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=-mod=mod")
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("go build %v: %w\n%s", args, err, out)
		}
	}
	if err := b.place(); err != nil {
		return err
	}
	accept := exec.Command("/bin/sh", "-c", `unset OBSTAT_TRUST; "$0" trust --yes "$1"; exit $?`, filepath.Join(b.dir, "bin", "obstat"), b.project)
	accept.Env = append(append(os.Environ(), b.home()...), "OBSTAT_TRUST="+b.dir)
	if out, err := accept.CombinedOutput(); err != nil {
		return fmt.Errorf("obstat trust: %w\n%s", err, out)
	}
	time.Sleep(1500 * time.Millisecond)
	return nil
}

// home returns the environment of the programs.
func (b *bench) home() []string {
	return []string{"HOME=" + filepath.Join(b.dir, "home"), "XDG_STATE_HOME=", "XDG_CONFIG_HOME=", "CODEX_HOME=" + b.dir}
}

// place puts copies of the programs where they are started, as an installer does:
// what the linker has just written lies in memory page by page, and starts more
// slowly.
func (b *bench) place() error {
	list, err := os.ReadDir(filepath.Join(b.dir, "built"))
	if err != nil {
		return err
	}
	for _, f := range list {
		data, err := os.ReadFile(filepath.Join(b.dir, "built", f.Name()))
		if err != nil {
			return err
		}
		if err := os.MkdirAll(filepath.Join(b.dir, "bin"), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(b.dir, "bin", f.Name()), data, 0o755); err != nil {
			return err
		}
	}
	return nil
}

// settings is a policy as people have them: prefixes of commands, paths, a few
// denials.
func settings() string {
	var allow, ask, deny []string
	for _, p := range strings.Fields("npm yarn pnpm go cargo make git docker kubectl python pytest ruff mypy eslint prettier tsc jest vitest rg fd jq sed awk") {
		for _, sub := range []string{"run", "test", "build"} {
			allow = append(allow, fmt.Sprintf("Bash(%s %s *)", p, sub))
		}
	}
	for i := range 12 {
		allow = append(allow, fmt.Sprintf("Edit(/src/mod%d/**)", i))
	}
	for _, sub := range strings.Fields("push reset clean rebase merge checkout restore stash") {
		ask = append(ask, "Bash(git "+sub+" *)")
	}
	for i := range 6 {
		deny = append(deny, fmt.Sprintf("Edit(/infra/part%d/**)", i))
	}
	deny = append(deny, "Bash(rm -rf *)", "Read(./.env)", "Read(~/.ssh/**)", "WebFetch(domain:evil.example)", "Bash(curl *)")
	out, err := json.MarshalIndent(map[string]any{"permissions": map[string]any{"allow": allow, "ask": ask, "deny": deny}}, "", "  ")
	if err != nil {
		panic(err) // it is texts
	}
	return string(out)
}

// rules is about the same for Codex.
func rules() string {
	var b strings.Builder
	for _, p := range strings.Fields("npm yarn pnpm go cargo make git docker kubectl python pytest ruff mypy eslint prettier tsc jest vitest rg fd jq sed awk") {
		for _, sub := range []string{"run", "test", "build", "lint"} {
			fmt.Fprintf(&b, "prefix_rule(pattern = [%q, %q], decision = \"allow\")\n", p, sub)
		}
	}
	for _, sub := range strings.Fields("push reset clean rebase merge checkout restore stash") {
		fmt.Fprintf(&b, "prefix_rule(pattern = [\"git\", %q], decision = \"prompt\")\n", sub)
	}
	return b.String()
}

func (b *bench) programs(npm string) ([]*program, error) {
	payload, err := json.Marshal(map[string]any{"session_id": "s", "transcript_path": "/t", "cwd": b.project, "permission_mode": "default",
		"hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": map[string]string{"command": b.command}})
	if err != nil {
		return nil, err
	}
	home := b.home()
	bin := func(name string) string { return filepath.Join(b.dir, "bin", name) }
	out := []*program{
		{name: "an empty Go program", args: []string{bin("empty")}},
		{name: "obstat hook, no record", args: []string{bin("obstat"), "hook", "claude-code", "--ledger=off"}, stdin: payload, env: home},
		{name: "obstat hook, durable record", args: []string{bin("obstat"), "hook", "claude-code"}, stdin: payload, env: home},
	}
	if p, err := exec.LookPath("/usr/bin/python3"); err == nil {
		out = append(out, &program{name: "python3 -c pass", args: []string{p, "-c", "pass"}})
	}
	node, err := exec.LookPath("node")
	if err == nil {
		out = append(out, &program{name: "node -e 0", args: []string{node, "-e", "0"}})
	}
	if npm == "" {
		return out, nil
	}
	cmd := exec.Command("npm", "install", "--ignore-scripts", "--no-audit", "--no-fund", "--prefix", npm, "@openai/codex", "cc-safety-net")
	if text, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("npm: %w\n%s", err, text)
	}
	if found, _ := filepath.Glob(filepath.Join(npm, "node_modules/@openai/codex-*/vendor/*/bin/codex")); len(found) > 0 {
		args := append([]string{found[0], "execpolicy", "check", "--rules", filepath.Join(b.dir, "codex.rules")}, strings.Fields(b.command)...)
		out = append(out, &program{name: "codex execpolicy check", args: args, env: home})
	}
	if js := filepath.Join(npm, "node_modules/cc-safety-net/dist/bin/cc-safety-net.js"); node != "" {
		out = append(out, &program{name: "cc-safety-net --claude-code", args: []string{node, js, "--claude-code"}, stdin: payload, env: home})
	}
	return out, nil
}

// start runs a program once.
func (b *bench) start(p *program) (time.Duration, error) {
	cmd := exec.Command(p.args[0], p.args[1:]...)
	cmd.Dir, cmd.Env = b.project, append(os.Environ(), p.env...)
	// Files, so that nothing here has to read or write beside the process.
	in, err := b.file("in", p.stdin)
	if err != nil {
		return 0, err
	}
	defer in.Close()
	out, err := os.Create(filepath.Join(b.dir, "out"))
	if err != nil {
		return 0, err
	}
	defer out.Close()
	cmd.Stdin, cmd.Stdout = in, out
	begin := time.Now()
	if err := cmd.Run(); err != nil {
		return 0, err
	}
	d := time.Since(begin)
	if p.stdin != nil && strings.Contains(p.name, "obstat") {
		text, err := os.ReadFile(out.Name())
		if err != nil || !bytes.Contains(text, []byte(`"allow"`)) {
			return 0, fmt.Errorf("it should allow, and says %q (%v)", text, err)
		}
	}
	return d, nil
}

func (b *bench) file(name string, data []byte) (*os.File, error) {
	path := filepath.Join(b.dir, name)
	if err := os.WriteFile(path, data, 0o644); err != nil {
		return nil, err
	}
	return os.Open(path)
}

func table(programs []*program) {
	// On a busy machine the fastest tenth was disturbed least.
	fmt.Println("| process | p10 | p50 | p90 | p99 | × an empty Go program, p10 | p50 |")
	fmt.Println("|---|---|---|---|---|---|---|")
	at := func(p *program, q float64) time.Duration { return p.times[int(q*float64(len(p.times)-1))] }
	for _, p := range programs {
		slices.Sort(p.times)
		ms := func(q float64) string { return fmt.Sprintf("%.2f ms", float64(at(p, q).Microseconds())/1000) }
		times := func(q float64) float64 { return float64(at(p, q)) / float64(at(programs[0], q)) }
		fmt.Printf("| %s | %s | %s | %s | %s | %.2f | %.2f |\n", p.name, ms(.1), ms(.5), ms(.9), ms(.99), times(.1), times(.5))
	}
}
