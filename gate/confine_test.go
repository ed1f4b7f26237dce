package gate_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/confine"
	"github.com/obstat/obstat/dialect/native"
	"github.com/obstat/obstat/gate"
	"github.com/obstat/obstat/internal/guard/confined"
	"github.com/obstat/obstat/internal/keep/memory"
)

var update = flag.Bool("update", false, "write the golden files")

// A yard is a home with a project, secrets and a PATH of its own.
type yard struct{ home, dir, state string }

func newYard(t *testing.T) *yard {
	t.Helper()
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	y := &yard{home: filepath.Join(top, "home"), dir: filepath.Join(top, "home", "p"), state: filepath.Join(top, "home", ".local", "state")}
	for name, text := range map[string]string{
		"p/.env": "SECRET=1", "p/.env.example": "SECRET=", "p/src/main.go": "package main", "p/deploy/server.pem": "KEY", "p/Makefile": "all:",
		"p/.git/hooks/pre-commit.sample": "", "p/.git/config": "", "p/.git/HEAD": "ref: refs/heads/main", "p/.claude/settings.json": "{}",
		".ssh/id_ed25519": "KEY", ".cargo/credentials.toml": "token", ".cargo/bin/cargo": "", ".cargo/registry/index/x/config.json": `{"dl": "https://crates.test/dl", "api": "https://crates.test"}`,
		".cache/pip/x": "", ".cache/huggingface/token": "hf", ".npmrc": "registry=https://npm.test:8443/r/\n//npm.test/:_authToken=x\n",
		"bin/curl": "#!/bin/sh\n", "bin/make": "#!/bin/sh\n", ".cargo/bin/curl": "#!/bin/sh\n",
	} {
		place(t, filepath.Join(y.home, name), text)
	}
	for _, name := range []string{"curl", "make"} {
		if err := os.Chmod(filepath.Join(y.home, "bin", name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for name, value := range map[string]string{"HOME": y.home, "XDG_STATE_HOME": y.state, "XDG_CONFIG_HOME": "", "XDG_CACHE_HOME": "",
		"PATH": filepath.Join(y.home, "bin") + ":" + filepath.Join(y.home, ".cargo/bin") + ":" +
			filepath.Join(y.home, "bin", "make", "no-directory"), "PYENV_ROOT": "", "GOMODCACHE": "", "GOCACHE": "", "CARGO_HOME": "", "RUSTUP_HOME": "", "NVM_DIR": "",
		"HTTPS_PROXY": "", "https_proxy": "", "HTTP_PROXY": "", "http_proxy": "", "ALL_PROXY": "", "all_proxy": "", "SSH_AUTH_SOCK": "", "DOCKER_HOST": ""} {
		t.Setenv(name, value)
	}
	return y
}

// full is a machine that can confine.
func full(context.Context) confine.Report {
	return confine.Report{Level: confine.LevelFull, Landlock: 7, Overlay: true}
}

func (y *yard) gate(t *testing.T, agent string, c *gate.Confining) *gate.Gate {
	t.Helper()
	if c.Machine == nil {
		c.Machine = full
	}
	if c.Environ == nil {
		c.Environ = []string{"PATH=/bin", "HOME=" + y.home, "GITHUB_TOKEN=ghp_x", "LANG=C", "AWS_SECRET_ACCESS_KEY=x", "DB=postgres://u:p@h/d",
			"SSH_AUTH_SOCK=/nowhere", "EDITOR=vi", "HTTPS_PROXY=http://proxy:3128"}
	}
	files := &gate.Files{Home: y.home, Agent: agent, NoPins: true}
	g, err := gate.Open(t.Context(), gate.Options{Policy: files, Store: new(memory.Store), NoStart: true, Confine: c})
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func (y *yard) bash(tool, field, command string) *obstat.Call {
	input, _ := json.Marshal(map[string]string{field: command})
	return &obstat.Call{Tool: tool, Input: input, Dir: y.dir, Roots: []string{y.dir}, Session: "s"}
}

// golden compares a text with a file, with the machine's own parts left out.
func (y *yard) golden(t *testing.T, name, text string) {
	t.Helper()
	text = strings.ReplaceAll(text, y.dir, "PROJECT")
	text = strings.ReplaceAll(text, y.home, "HOME")
	for _, dir := range confine.SystemTrees() {
		text = strings.ReplaceAll(text, " "+dir+",", "")
		text = strings.ReplaceAll(text, " "+dir+".", " -.")
	}
	var lines []string
	for line := range strings.Lines(text) {
		var kept []string
		line, hides := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "Does not see ")
		for _, part := range strings.Split(line, ", ") {
			if !strings.HasPrefix(part, "/etc/") { // root does not see more of it than others
				kept = append(kept, part)
			}
		}
		if line = strings.Join(kept, ", "); hides {
			line = "Does not see " + line
		}
		lines = append(lines, line)
	}
	got := []byte(strings.Join(lines, "\n") + "\n")
	file := filepath.Join("testdata", "confined", name+".txt")
	if *update {
		place(t, file, string(got))
		_ = os.Chmod(file, 0o644)
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s:\n%s\nwant\n%s", name, got, want)
	}
}

// TestProfiles: each dialect's policy makes the Profile that its own answers are about.
func TestProfiles(t *testing.T) {
	const beside = "version: 1\nconfine: code\n"
	for _, tt := range []struct{ name, agent, tool, field, file, text, command string }{
		{"native", "claude-code", "Bash", "command", "obstat.yaml", `version: 1
confine: {run: code, ports: [8443]}
allow:
  - read workspace
  - write workspace except .git/**, .env*
  - connect localhost, api.example.test, registries
deny:
  - read secrets
  - run curl
ask:
  - run git push
  - delete anything
`, "make"},
		{"native-fetch", "claude-code", "Bash", "command", "obstat.yaml", `version: 1
confine: code
allow: [read workspace, write workspace, connect registries]
`, "npm ci"},
		{"native-server", "claude-code", "Bash", "command", "obstat.yaml", `version: 1
confine: code
allow: [read workspace, write workspace, delete workspace]
deny: [read secrets]
`, "make serve > dev.log &"},
		{"claudecode", "claude-code", "Bash", "command", ".claude/settings.json", `{"permissions": {"deny": ["Read(./.env)", "Read(~/.ssh/**)", "Bash(curl:*)", "Edit(deploy/**)"], "allow": ["WebFetch(domain:api.example.test)"]}}`, "make"},
		{"opencode", "opencode", "bash", "command", "opencode.json", `{"permission": {"read": {"*": "allow", "*.env": "deny"}, "edit": {"*": "allow", "deploy/*": "deny"}, "bash": {"*": "ask", "curl *": "deny"}}}`, "make"},
		{"gemini", "gemini", "run_shell_command", "command", ".gemini/policies/p.toml", "[[rule]]\ntoolName = \"read_file\"\nargsPattern = \"\\\\.env\"\ndecision = \"deny\"\npriority = 100\n\n[[rule]]\ntoolName = \"run_shell_command\"\ncommandPrefix = \"curl\"\ndecision = \"deny\"\npriority = 100\n", "make"},
		{"agentscope", "", "Bash", "command", "permission_context.json", `{"mode": "default", "deny_rules": {"Read": [{"tool_name": "Read", "rule_content": "**/.env", "behavior": "deny", "source": "userSettings"}], "Bash": [{"tool_name": "Bash", "rule_content": "curl:*", "behavior": "deny", "source": "userSettings"}]}}`, "make"},
		{"adkfluent", "", "Bash", "command", "adk-permissions.json", `{"mode": "default", "deny": ["WebFetch"]}`, "make"},
		{"codex", "codex", "Bash", "command", ".codex/rules/default.rules", "prefix_rule(pattern=[\"curl\"], decision=\"forbidden\")\nprefix_rule(pattern=[\"git\", \"push\"], decision=\"prompt\")\n", "make"},
		{"jiuwen", "", "bash", "command", ".jiuwenswarm/config/config.yaml", "permissions:\n  enabled: true\n  schema: tiered_policy\n  tools:\n    bash: ask\n    read_file: allow\n    write_file: allow\n  rules:\n    - id: keys\n      tools: [read_file]\n      match_type: path\n      pattern: '**/.env'\n      action: deny\n", "make"},
		{"chorus", "", "bash", "command", "agent.json", `{"name": "x", "permissions": {"allow": ["tool:view:.*", "tool:create_file:src/.*"], "ask": ["tool:bash:.*"]}}`, "make"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			y := newYard(t)
			place(t, filepath.Join(y.dir, tt.file), tt.text)
			if tt.file != "obstat.yaml" {
				place(t, filepath.Join(y.dir, "obstat.yaml"), beside)
			}
			g := y.gate(t, tt.agent, &gate.Confining{})
			_, b, err := g.Bounds(t.Context(), y.bash(tt.tool, tt.field, tt.command))
			if err != nil {
				t.Fatal(err)
			}
			y.golden(t, tt.name, b.Profile.String())
			_, again, err := g.Bounds(t.Context(), y.bash(tt.tool, tt.field, tt.command))
			if err != nil || again.Profile.Digest() != b.Profile.Digest() {
				t.Errorf("the second time: %v, %v", again, err)
			}
		})
	}
}

// TestRegistries: hosts of registries are found by the settings of the user and by asking those hosts, for a program
// that is named by a path as well, and never in caches, which confined commands write.
func TestRegistries(t *testing.T) {
	index := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		if q.URL.Path == "/index/config.json" {
			fmt.Fprint(w, `{"dl": "https://dl.test/crates", "api": "https://api.test"}`)
			return
		}
		http.NotFound(w, q)
	}))
	defer index.Close()
	for _, tt := range []struct{ command, want string }{
		{"cargo fetch", "127.0.0.1 api.test dl.test"},
		{"npm ci", "npm.test"},
		{".venv/bin/pip install six", "pypi.test"},
		{"./tools/npm ci && make", "npm.test"},
		{"sh -c '.venv/bin/python -m pip install six'", "pypi.test"},
		{".venv/bin/pip list", ""},
		{"make", ""},
		{"yarn install", "npm.test yarn.test"},
		{"yarn install # corepack", "npm.test"}, // it would run a program out of a cache
	} {
		y := newYard(t)
		at := filepath.Join(y.home, "bin/yarn")
		if strings.Contains(tt.command, "corepack") {
			if err := os.Symlink("../lib/corepack/dist/yarn.js", at); err != nil {
				t.Fatal(err)
			}
			at = filepath.Join(y.home, "lib/corepack/dist/yarn.js")
		}
		place(t, at, "#!/bin/sh\necho https://yarn.test\n")
		if err := os.Chmod(at, 0o755); err != nil {
			t.Fatal(err)
		}
		place(t, filepath.Join(y.home, ".cargo/config.toml"), "[registries.x]\nindex = \"sparse+"+index.URL+"/index/\"\n")
		place(t, filepath.Join(y.home, ".config/pip/pip.conf"), "[global]\nindex-url = https://pypi.test/simple\n")
		place(t, filepath.Join(y.dir, "obstat.yaml"), "version: 1\nconfine: code\nallow: [read workspace, write workspace, connect registries]\n")
		_, b, err := y.gate(t, "claude-code", &gate.Confining{}).Bounds(t.Context(), y.bash("Bash", "command", tt.command))
		if err != nil {
			t.Fatal(err)
		}
		var hosts []string
		for _, f := range b.Registries {
			hosts = append(hosts, f.Host)
		}
		slices.Sort(hosts)
		if got := strings.Join(slices.Compact(hosts), " "); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.command, got, tt.want)
		}
	}
}

// TestConfinedAnswer: a call that asks only because it cannot be known is allowed with a changed command;
// any other one asks or is denied as before.
func TestConfinedAnswer(t *testing.T) {
	const git = "confine: code\n#git\n"
	const rules = "allow: [read workspace, write workspace, connect registries, run pip download]\n" +
		"ask: [run git push]\ndeny: [run curl, read secrets]\n"
	for _, tt := range []struct {
		name, policy, command string
		machine               confine.Level
		not                   string
		want                  obstat.Verdict
		confined              bool
	}{
		{name: "code", policy: "confine: code\n", command: "make", want: obstat.Allow, confined: true},
		{name: "off", policy: "confine: off\n", command: "make", want: obstat.Ask},
		{name: "not said", command: "make", want: obstat.Ask},
		{name: "a rule asks", policy: "confine: code\n", command: "make && git push", want: obstat.Ask},
		{name: "a rule denies", policy: "confine: code\n", command: "make && curl x", want: obstat.Deny},
		{name: "allowed anyway", policy: "confine: code\n", command: "ls", want: obstat.Allow},
		{name: "always", policy: "confine: always\n", command: "ls", want: obstat.Allow, confined: true},
		{name: "a poor machine", policy: "confine: code\n", command: "make", machine: confine.LevelFiles, want: obstat.Ask},
		{name: "a poor machine, always", policy: "confine: always\n", command: "ls", machine: confine.LevelNone, want: obstat.Ask},
		{name: "files will do, for names in what is read", policy: "confine: {run: code, level: files}\n#deny\n", command: "make", machine: confine.LevelFiles, want: obstat.Allow, confined: true},
		{name: "files will not do, for names in what is written", policy: "confine: {run: code, level: files}\n", command: "make", machine: confine.LevelFiles, want: obstat.Ask},
		{name: "the agent cannot", policy: "confine: code\n", command: "make", not: "nobody has proved it", want: obstat.Ask},
		{name: "a secret is read", policy: "confine: code\n", command: "make < .env", want: obstat.Deny},
		{name: "what guards is written", policy: "confine: code\n", command: "make > .claude/settings.json", want: obstat.Ask},
		{name: "a script speaks of settings", policy: "confine: code\n", command: "bash .claude/hooks/x.sh", want: obstat.Allow, confined: true},
		{name: "and one types", policy: "confine: code\n", command: "bash .claude/hooks/x.sh; tmux send-keys y", want: obstat.Ask},
		{name: "packages", policy: "confine: code\n", command: "npm ci", want: obstat.Allow, confined: true},
		{name: "packages, allowed", policy: "confine: code\n", command: "pip download x", want: obstat.Allow, confined: true},
		{name: "packages, a poor machine", policy: "confine: code\n", command: "npm ci", machine: confine.LevelNone, want: obstat.Ask},
		{name: "git in another repository", policy: git, command: "cd ev; git status", want: obstat.Allow, confined: true},
		{name: "git in another repository, a poor machine, as without confined runs", policy: git, command: "cd ev; git status", machine: confine.LevelNone, want: obstat.Allow},
		{name: "git in the project's own", policy: git, command: "cd src; git status", want: obstat.Allow},
		{name: "git without hooks", policy: git, command: "git commit -m x", want: obstat.Allow},
		{name: "git with hooks of the project", policy: git, command: "git commit -m husky", want: obstat.Allow, confined: true},
		{name: "a toolchain that the project chooses", policy: "confine: code\n", command: "yarn --version", want: obstat.Allow, confined: true},
		{name: "a program of the project", policy: "confine: code\n", command: "./ls -l", want: obstat.Allow, confined: true},
		{name: "a program of the project by PATH", policy: "confine: code\n", command: "ls -l # planted", want: obstat.Allow, confined: true},
		{name: "does not parse", policy: "confine: code\n", command: "make 'x", want: obstat.Ask},
		{name: "a shell that is given its commands", policy: "confine: code\n", command: "bash -c 'ls; pwd'", want: obstat.Allow, confined: true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			y := newYard(t)
			text := "version: 1\n" + tt.policy + rules
			if strings.Contains(tt.policy, "#deny") {
				text = strings.Replace(strings.Replace(text, "write workspace, ", "", 1), "deny: [", "deny: [write workspace, ", 1)
			}
			if tt.policy == git {
				text = strings.Replace(text, "run pip", "run git status, run git commit, run pip", 1)
				y.repository(t, strings.Contains(tt.command, "husky"))
			}
			if strings.Contains(tt.command, "planted") {
				place(t, filepath.Join(y.dir, "node_modules/.bin/ls"), "#!/bin/sh\n")
				t.Setenv("PATH", filepath.Join(y.dir, "node_modules/.bin")+":"+os.Getenv("PATH"))
			}
			place(t, filepath.Join(y.dir, "obstat.yaml"), text)
			level := cmpOr(tt.machine, confine.LevelFull)
			c := &gate.Confining{Not: func(*obstat.Call, obstat.Over) string { return tt.not },
				Machine: func(context.Context) confine.Report {
					return confine.Report{Level: level, Overlay: level == confine.LevelFull, Why: "a test says so"}
				},
				Change: func(_ *confined.Bounds, t *confined.Ticket) (json.RawMessage, error) {
					return json.Marshal(map[string]string{"command": "changed " + t.Command})
				}}
			a, err := y.gate(t, "claude-code", c).Authorize(t.Context(), y.bash("Bash", "command", tt.command), &gate.Terms{Ask: gate.Leave})
			if err != nil {
				t.Fatal(err)
			}
			if a.Verdict != tt.want || (a.Confined != nil) != tt.confined {
				t.Fatalf("%v, confined %v: %s", a.Verdict, a.Confined != nil, a.Reason())
			}
			if tt.confined && !strings.Contains(string(a.Input), "changed "+tt.command) {
				t.Errorf("the input is %s", a.Input)
			}
			if !tt.confined && a.Input != nil {
				t.Errorf("the input was changed: %s", a.Input)
			}
		})
	}
}

// repository makes the project one of git's, with a directory that looks like another, and with hooks that are
// files of the project.
func (y *yard) repository(t *testing.T, husky bool) {
	t.Helper()
	git, err := exec.LookPath("/usr/bin/git")
	if err != nil {
		t.Skip("there is no git on this machine")
	}
	t.Setenv("PATH", filepath.Dir(git))
	t.Setenv("GIT_CONFIG_NOSYSTEM", "1")
	if err := os.RemoveAll(filepath.Join(y.dir, ".git")); err != nil {
		t.Fatal(err)
	}
	commands := [][]string{{"init", "-q", "--template="}}
	if husky {
		place(t, filepath.Join(y.dir, ".husky/pre-commit"), "npm test\n")
		commands = append(commands, []string{"config", "core.hooksPath", ".husky"})
	}
	for _, args := range commands {
		cmd := exec.Command(git, args...)
		cmd.Dir = y.dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v", out, err)
		}
	}
	place(t, filepath.Join(y.dir, "ev/HEAD"), "ref: refs/heads/main\n")
	place(t, filepath.Join(y.dir, "ev/objects/x"), "")
	place(t, filepath.Join(y.dir, "ev/refs/x"), "")
}

func cmpOr(a, b confine.Level) confine.Level {
	if a == "" {
		return b
	}
	return a
}

// TestUnfit: a call whose surroundings cannot be confined asks, and says why.
func TestUnfit(t *testing.T) {
	for name, tt := range map[string]struct {
		dir  func(*yard) string
		rule string
		want string
	}{
		"the workspace is /":                    {func(*yard) string { return "/" }, "", "holds the"},
		"the workspace is the home":             {func(y *yard) string { return y.home }, "", "holds the"},
		"the state lies in the workspace":       {func(y *yard) string { return filepath.Join(y.home, ".local") }, "", "holds the"},
		"the workspace is gone":                 {func(y *yard) string { return filepath.Join(y.home, "gone") }, "", "cannot be looked at"},
		"the workspace may not be read at all":  {func(y *yard) string { return y.dir }, "deny: [read workspace]\n", "keeps code from reading"},
		"there is no directory that it runs in": {func(*yard) string { return "" }, "", "no directory"},
	} {
		t.Run(name, func(t *testing.T) {
			y := newYard(t)
			place(t, filepath.Join(y.home, ".config", "obstat", "obstat.yaml"), "version: 1\nconfine: code\n"+tt.rule)
			call := y.bash("Bash", "command", "make")
			call.Dir, call.Roots = tt.dir(y), nil
			if call.Dir != "" {
				_ = os.MkdirAll(filepath.Join(y.home, ".local"), 0o755)
				call.Roots = []string{call.Dir}
			}
			_, _, err := y.gate(t, "claude-code", &gate.Confining{}).Bounds(t.Context(), call)
			var unfit *confined.Unfit
			if !errors.As(err, &unfit) || !strings.Contains(unfit.Why, tt.want) {
				t.Errorf("%v", err)
			}
		})
	}
}

// TestTracked: a name of which git's last commit has the same contents is not hidden, since it would look deleted. That
// the index has it, or the commit other contents, does not make it known.
func TestTracked(t *testing.T) {
	git, err := exec.LookPath("git")
	if err != nil {
		t.Skip("there is no git on this machine")
	}
	y := newYard(t)
	t.Setenv("PATH", filepath.Dir(git))
	t.Setenv("GIT_CONFIG_NOSYSTEM", "1")
	if err := os.RemoveAll(filepath.Join(y.dir, ".git")); err != nil {
		t.Fatal(err)
	}
	place(t, filepath.Join(y.dir, "obstat.yaml"), "version: 1\nconfine: code\ndeny: [read secrets]\n")
	place(t, filepath.Join(y.dir, "old.pem"), "as committed")
	run := func(args ...string) {
		cmd := exec.Command(git, append([]string{"-c", "user.name=x", "-c", "user.email=x"}, args...)...)
		cmd.Dir = y.dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v", out, err)
		}
	}
	run("init", "-q")
	run("add", "deploy/server.pem", "old.pem")
	run("commit", "-q", "-m", "x")
	place(t, filepath.Join(y.dir, "old.pem"), "a key of this machine")
	run("add", "-f", ".env")
	_, b, err := y.gate(t, "claude-code", &gate.Confining{}).Bounds(t.Context(), y.bash("Bash", "command", "make"))
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{"deploy/server.pem": false, "old.pem": true, ".env": true} {
		if got := slices.Contains(b.Profile.Hidden, filepath.Join(y.dir, name)); got != want {
			t.Errorf("%s is hidden: %t; all: %q", name, got, b.Profile.Hidden)
		}
	}
	// Code may read it. A command that is known to read many files asks: one of them is kept from it by a rule.
	g := y.gate(t, "claude-code", &gate.Confining{Machine: full})
	for command, want := range map[string]obstat.Verdict{"make": obstat.Allow, "grep -r x .": obstat.Ask} {
		a, err := g.Authorize(t.Context(), y.bash("Bash", "command", command), &gate.Terms{Ask: gate.Leave})
		if err != nil || a.Verdict != want {
			t.Errorf("%s: %s, want %s: %s, %v", command, a.Verdict, want, a.Reason(), err)
		}
	}
}

// TestPartly: a command that reads or changes many files of which a rule is about some runs confined, each file held by
// itself; where the machine cannot, it asks.
func TestPartly(t *testing.T) {
	y := newYard(t)
	place(t, filepath.Join(y.dir, "obstat.yaml"), native.Preset(native.Balanced))
	for machine, want := range map[confine.Level]obstat.Verdict{confine.LevelFull: obstat.Allow, confine.LevelNone: obstat.Ask} {
		g := y.gate(t, "claude-code", &gate.Confining{Machine: func(context.Context) confine.Report {
			return confine.Report{Level: machine, Overlay: machine == confine.LevelFull, Why: "a test says so"}
		}})
		for _, command := range []string{"black .", "grep -r x .", "rg --hidden x", "prettier --write ."} {
			a, err := g.Authorize(t.Context(), y.bash("Bash", "command", command), &gate.Terms{Ask: gate.Leave})
			if err != nil || a.Verdict != want || (a.Confined != nil) != (want == obstat.Allow) {
				t.Errorf("%s, %s: %s, want %s: %s, %v", machine, command, a.Verdict, want, a.Reason(), err)
			}
		}
	}
}

// TestUnattended: under the preset nothing asks. Code runs confined, known or not, and all else that no rule allows is
// denied; where the machine cannot confine, nothing runs.
func TestUnattended(t *testing.T) {
	const confined, denied = "confined", "denied"
	y, gates := newYard(t), map[confine.Level]*gate.Gate{}
	place(t, filepath.Join(y.dir, "obstat.yaml"), native.Preset(native.Unattended))
	for _, level := range []confine.Level{confine.LevelFull, confine.LevelNone} {
		gates[level] = y.gate(t, "claude-code", &gate.Confining{Machine: func(context.Context) confine.Report {
			return confine.Report{Level: level, Overlay: level == confine.LevelFull, Why: "a test says so"}
		}})
	}
	for command, want := range map[string]string{
		"./x.sh": confined, "make": confined, "foo --bar": confined, "$X": confined, `eval "$(cat x)"`: confined, "ls": confined,
		"python3 -c 'print(1)'": confined, "go test ./...": confined, "npx prettier .": confined, "npm test": confined,
		"git commit -m x": confined, "curl localhost:8000": confined, "rm -rf src": confined, "echo x > src/y": confined,
		"git push": denied, "./x.sh && git push": denied, "cat .env": denied, "cat .en?": denied, "curl https://example.test": denied,
		"echo x > .git/hooks/pre-commit": denied, "echo x > .git/config": denied, "rm .env": denied, "echo x > ~/y": denied,
		"gh pr create": denied, "sudo ls": denied, "ssh host": denied, "docker run x": denied, "kill 1": denied, "make 'x": denied,
		"echo x > .claude/settings.json": denied, "./x.sh > .claude/settings.json": denied, "obstat trust --yes": denied,
		"./x.sh; tmux send-keys y": denied, "printenv": denied,
	} {
		for _, level := range []confine.Level{confine.LevelFull, confine.LevelNone} {
			call := y.bash("Bash", "command", command)
			a, err := gates[level].Authorize(t.Context(), call, &gate.Terms{Ask: gate.Leave})
			if err != nil {
				t.Fatal(err)
			}
			ok := a.Verdict == obstat.Deny
			if want == confined && level == confine.LevelFull {
				ok = a.Verdict == obstat.Allow && a.Confined != nil
			}
			if !ok {
				t.Errorf("%s: at level %s: %v, confined %v: %s", command, level, a.Verdict, a.Confined != nil, a.Reason())
			}
		}
	}
}
