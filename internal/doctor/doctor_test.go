package doctor

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/internal/agents"
	"github.com/obstat/obstat/internal/hookrun"
)

// A site is a home and a project with agents in them.
type site struct {
	t             *testing.T
	home, project string
	program       string
	opts          *Options
	sent          int
	reply         func(c *Command) *agents.Reply // instead of the hook
}

const denies = `{"permissions": {"deny": ["Bash(rm *)"], "allow": ["Bash(ls *)"]}}`

// newSite makes a home with obstat installed for the agent.
func newSite(t *testing.T, agent string) *site {
	dir := t.TempDir()
	s := &site{t: t, home: filepath.Join(dir, "home"), project: filepath.Join(dir, "project"), program: filepath.Join(dir, "bin", "obstat")}
	s.file(s.program, 0o755, "x")
	s.file(filepath.Join(s.project, ".claude", "settings.json"), 0o644, denies)
	self := Binary{Obstat: true, Version: "v1"}
	s.opts = &Options{Agents: []string{agent}, Dir: s.project, Self: self, Deadline: hookrun.Longest, Env: func(string) string { return "" },
		Where:   &agents.Where{Home: s.home, Projects: []string{s.project}, Root: filepath.Join(dir, "root")},
		Inspect: func(string) (*Binary, error) { b := self; return &b, nil },
		Run:     s.run, Find: s.find}
	s.install(agent, agents.User)
	return s
}

func (s *site) file(name string, mode os.FileMode, text string) {
	s.t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, []byte(text), mode), os.Chmod(name, mode)); err != nil {
		s.t.Fatal(err)
	}
}

func (s *site) install(agent string, scope agents.Scope) {
	s.t.Helper()
	for _, c := range agents.Of(agent).Install(&agents.Request{Scope: scope, Where: s.opts.Where, Program: s.program, Offline: true}) {
		old, _ := os.ReadFile(c.Name)
		text, err := c.Edit(old)
		if err != nil {
			s.t.Fatal(err)
		}
		mode := c.Mode
		if mode == 0 {
			mode = 0o644
		}
		s.file(c.Name, mode, string(text))
	}
}

// target is the file that the agent's entry is in.
func (s *site) target(agent string) string { return agents.Of(agent).Target(agents.User, s.opts.Where) }

// change replaces text in a file.
func (s *site) change(name, from, to string) {
	s.t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		s.t.Fatal(err)
	}
	now := regexp.MustCompile(from).ReplaceAllString(string(text), to)
	if now == string(text) {
		s.t.Fatalf("%s has no %s", name, from)
	}
	s.file(name, 0o644, now)
}

// run answers a canary the way that obstat hook does.
func (s *site) run(_ context.Context, c *Command) *agents.Reply {
	s.sent++
	if s.reply != nil {
		return s.reply(c)
	}
	var out, words bytes.Buffer
	o := s.hook()
	o.In, o.Out, o.Err = bytes.NewReader(c.Stdin), &out, &words
	o.NoLedger, o.Exit = true, func(int) {}
	o.Getenv = func(name string) string {
		for _, kv := range c.Env {
			if v, ok := strings.CutPrefix(kv, name+"="); ok {
				return v
			}
		}
		return ""
	}
	o.Agent = s.opts.Agents[0]
	code := hookrun.Run(o)
	return &agents.Reply{Stdout: out.Bytes(), Stderr: words.Bytes(), Exit: code}
}

func (s *site) hook() *hookrun.Options {
	return &hookrun.Options{World: homeWorld{obstat.OS{}, s.home}, Read: os.ReadFile, Getwd: func() (string, error) { return s.project, nil }, Getenv: func(string) string { return "" }}
}

type homeWorld struct {
	obstat.OS
	home string
}

func (w homeWorld) Home(string) (string, bool) { return w.home, true }

func (s *site) find(agent string) ([]*dialect.Loaded, error) {
	return hookrun.Find(s.hook(), agent, s.project)
}

func (s *site) examine() *Report { return Examine(context.Background(), s.opts) }

// codes returns the findings of a level, all for "".
func codes(r *Report, level Level) (out []string) {
	list := r.Policy
	for _, a := range r.Agents {
		list = append(list, a.Findings...)
	}
	for _, f := range list {
		if (level == "" || f.Level == level) && !slices.Contains(out, f.Code) {
			out = append(out, f.Code)
		}
	}
	slices.Sort(out)
	return out
}

// TestHolds: what obstat install writes holds, for every agent, and every canary
// is held in the agent's own form.
func TestHolds(t *testing.T) {
	for _, a := range agents.All() {
		t.Run(a.Name, func(t *testing.T) {
			s := newSite(t, a.Name)
			r := s.examine()
			if !r.OK() || len(codes(r, "")) > 0 {
				t.Errorf("%v: %+v", codes(r, ""), r.Agents[0].Findings)
			}
			x := r.Agents[0]
			if x.State != Holds || len(x.Entries) != len(a.Events) || len(x.Limits) == 0 {
				t.Errorf("%+v", x)
			}
			names := map[string]bool{}
			for _, p := range x.Proofs {
				names[p.Canary] = true
				if !p.Held {
					t.Errorf("%+v", p)
				}
			}
			if len(names) != 4 {
				t.Errorf("canaries %v", names)
			}
		})
	}
}

// TestFindings breaks a set-up in one way at a time.
func TestFindings(t *testing.T) {
	settings := func(s *site) string { return s.target(agents.ClaudeCode) }
	for _, c := range []struct {
		name, agent string
		spoil       func(s *site)
		want        string // codes of errors, then of warnings after |
		canaries    bool
	}{
		{"not installed", agents.ClaudeCode, func(s *site) { _ = os.Remove(settings(s)) }, "not-installed", false},
		{"an event that is no list", agents.ClaudeCode, func(s *site) { s.change(settings(s), `"hooks": {`, `"hooks": {"Stop": null,`) }, "misshapen-file", true},
		{"a group without hooks", agents.ClaudeCode, func(s *site) { s.change(settings(s), `"hooks": {`, `"hooks": {"Stop": [{"matcher": "x"}],`) }, "misshapen-file", true},
		{"Codex's configuration is none", agents.Codex, func(s *site) {
			s.change(agents.Of(agents.Codex).Config(s.opts.Where), `^`, "a = = 1\n")
		}, "broken-file", true},
		{"a prompt", agents.ClaudeCode, func(s *site) { s.change(settings(s), `"type": "command"`, `"type": "prompt"`) }, "other-type", false},
		{"no type", agents.ClaudeCode, func(s *site) { s.change(settings(s), `"type": "command",`, ``) }, "other-type", false},
		{"a policy of its own", agents.ClaudeCode, func(s *site) { s.change(settings(s), ` claude-code`, ` --floor=off -p/x.json claude-code`) }, "|own-policy", true},
		{"a key that Codex does not know", agents.Codex, func(s *site) { s.change(s.target(agents.Codex), `"hooks": {`, `"model": "x", "hooks": {`) }, "misshapen-file", true},
		{"cannot be parsed", agents.ClaudeCode, func(s *site) { s.file(settings(s), 0o644, "{") }, "broken-file not-installed policy-broken", false},
		{"program is gone", agents.ClaudeCode, func(s *site) { _ = os.Remove(s.program) }, "missing-program", false},
		{"program is not executable", agents.ClaudeCode, func(s *site) { _ = os.Chmod(s.program, 0o644) }, "not-executable", false},
		{"program is found by PATH", agents.ClaudeCode, func(s *site) { s.change(settings(s), `/[^" ]*/bin/obstat`, "obstat") }, "relative-program", false},
		{"program is another", agents.ClaudeCode, func(s *site) {
			s.opts.Inspect = func(string) (*Binary, error) { return nil, errors.New("no build information") }
		}, "not-obstat", false},
		{"another version", agents.ClaudeCode, func(s *site) {
			s.opts.Inspect = func(string) (*Binary, error) { return &Binary{Obstat: true, Version: "v0", Revision: "abc"}, nil }
		}, "|other-version", true},
		{"others may write it", agents.ClaudeCode, func(s *site) {
			s.opts.Inspect = func(string) (*Binary, error) { return &Binary{Obstat: true, Version: "v1", Writable: true}, nil }
		}, "|writable-program", true},
		{"small program alone", agents.ClaudeCode, func(s *site) {
			small := filepath.Join(filepath.Dir(s.program), "alone", "obstat-hook")
			s.file(small, 0o755, "x")
			s.program = small
			s.install(agents.ClaudeCode, agents.User)
		}, "missing-obstat", true},
		{"time-out too short", agents.ClaudeCode, func(s *site) { s.change(settings(s), `"timeout": 600`, `"timeout": 20`) }, "short-timeout", true},
		{"time-out shorter than a person takes", agents.Gemini, func(s *site) { s.change(s.target(agents.Gemini), `600000`, `50000`) }, "short-timeout", true},
		{"deadline too long", agents.ClaudeCode, func(s *site) { s.change(settings(s), `hook claude-code`, `hook --deadline 11m claude-code`) }, "short-timeout", true},
		{"waits too long", agents.Codex, func(s *site) {
			s.change(s.target(agents.Codex), `hook codex`, `hook --wait 10m codex`)
			s.install(agents.Codex, agents.User) // trusted, and the option stays
		}, "short-timeout", true},
		{"milliseconds", agents.Gemini, func(s *site) { s.change(s.target(agents.Gemini), `600000`, `600`) }, "short-timeout", true},
		{"not waited for", agents.ClaudeCode, func(s *site) { s.change(settings(s), `"timeout": 600`, `"timeout": 600, "async": true`) }, "not-waited-for", false},
		{"only some tools", agents.ClaudeCode, func(s *site) { s.change(settings(s), `"matcher": "\*"`, `"matcher": "Bash"`) }, "narrow-matcher", true},
		{"another agent's name", agents.ClaudeCode, func(s *site) { s.change(settings(s), `hook claude-code`, `hook codex`) }, "|other-agent", true},
		{"no PreToolUse", agents.ClaudeCode, func(s *site) { s.change(settings(s), `"PreToolUse"`, `"PreCompact"`) }, "missing-event|other-event", true},
		{"no PermissionRequest", agents.ClaudeCode, func(s *site) { s.change(settings(s), `"PermissionRequest"`, `"Stop"`) }, "|missing-event other-event", true},
		{"hooks are off", agents.ClaudeCode, func(s *site) {
			s.file(filepath.Join(s.project, ".claude", "settings.local.json"), 0o644, `{"disableAllHooks": true}`)
		}, "hooks-off", false},
		{"only the machine's", agents.ClaudeCode, func(s *site) {
			s.file(filepath.Join(s.opts.Where.Root, "etc", "claude-code", "managed-settings.d", "10.json"), 0o644, `{"allowManagedHooksOnly": true}`)
		}, "hooks-off", false},
		{"twice", agents.Codex, func(s *site) { s.install(agents.Codex, agents.Project) }, "|duplicate", true},
		{"plain command line", agents.ClaudeCode, func(s *site) { s.change(settings(s), ` \|\| [^"]*exit 2; }`, ``) }, "|other-line", true},
		{"no hash", agents.Codex, func(s *site) { _ = os.Remove(agents.Of(agents.Codex).Config(s.opts.Where)) }, "not-trusted", true},
		{"an old hash", agents.Codex, func(s *site) { s.change(s.target(agents.Codex), `"timeout": 600`, `"timeout": 601`) }, "not-trusted", true},
		{"switched off in the list", agents.Codex, func(s *site) {
			s.change(agents.Of(agents.Codex).Config(s.opts.Where), `(trusted_hash = .*)`, "$1\nenabled = false")
		}, "hooks-off", true},
		{"the feature is off", agents.Codex, func(s *site) {
			s.file(filepath.Join(s.project, ".codex", "config.toml"), 0o644, "[features]\nhooks = false\n")
		}, "hooks-off", false},
		{"Gemini's switch", agents.Gemini, func(s *site) {
			s.file(filepath.Join(s.project, ".gemini", "settings.json"), 0o644, "// x\n{\"hooksConfig\": {\"enabled\": false}}")
		}, "hooks-off", false},
		{"Gemini's list", agents.Gemini, func(s *site) {
			s.file(filepath.Join(s.project, ".gemini", "settings.json"), 0o644, `{"hooksConfig": {"disabled": ["obstat"]}}`)
		}, "hooks-off", false},
		{"Gemini may hang", agents.Gemini, func(s *site) { s.change(s.target(agents.Gemini), `hook gemini`, `hook --interactive gemini`) }, "|may-hang", true},
		{"Copilot's project", agents.Copilot, func(s *site) {
			text, _ := os.ReadFile(s.target(agents.Copilot))
			_ = os.Remove(s.target(agents.Copilot))
			s.file(filepath.Join(s.project, ".github", "hooks", "obstat.json"), 0o644, string(text))
		}, "|skipped-scope", true},
		{"no failClosed", agents.Cursor, func(s *site) { s.change(s.target(agents.Cursor), `"failClosed": true`, `"failClosed": false`) }, "fails-open", true},
		{"one event is missing", agents.Windsurf, func(s *site) { s.change(s.target(agents.Windsurf), `pre_write_code`, `post_write_code`) }, "missing-event|other-event", true},
		{"plugin was edited", agents.OpenCode, func(s *site) { s.change(s.target(agents.OpenCode), `throw new Error`, `console.log`) }, "changed-file", false},
		{"no network", agents.OpenCode, func(s *site) { _ = os.Remove(filepath.Join(s.home, ".config", "opencode", "package-lock.json")) }, "|needs-network", true},
		{"script is not executable", agents.Cline, func(s *site) { _ = os.Chmod(s.target(agents.Cline), 0o644) }, "not-executable", false},
		{"policy does not load", agents.ClaudeCode, func(s *site) {
			s.file(filepath.Join(s.project, ".claude", "settings.json"), 0o644, `{"permissions": {"deny": ["Bash(rm"]}}`)
		}, "policy-broken", true},
		{"no policy", agents.ClaudeCode, func(s *site) { _ = os.Remove(filepath.Join(s.project, ".claude", "settings.json")) }, "|no-policy", true},
		{"dead rule", agents.ClaudeCode, func(s *site) {
			s.file(filepath.Join(s.project, ".claude", "settings.json"), 0o644, `{"permissions": {"deny": ["Bash(rm *)", "Write(/etc/**)", "Bsh(x)"]}}`)
		}, "|dead-rule", true},
		{"nearly everything is allowed", agents.OpenCode, func(s *site) {
			_ = os.Remove(filepath.Join(s.project, ".claude", "settings.json"))
			s.file(filepath.Join(s.project, "opencode.json"), 0o644, `{"permission": {"*": "allow"}}`)
		}, "|unknown-tools-run", true},
		{"fails open", agents.ClaudeCode, func(s *site) {
			s.reply = func(*Command) *agents.Reply { return &agents.Reply{Exit: 1, Stderr: []byte("panic")} }
		}, "fails-open not-held|unknown-tools-run", true},
		{"the other's form", agents.Codex, func(s *site) {
			s.reply = func(*Command) *agents.Reply {
				return &agents.Reply{Stdout: []byte(`{"decision":"deny","reason":"no"}`)}
			}
		}, "fails-open not-held|unknown-tools-run", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newSite(t, c.agent)
			c.spoil(s)
			r := s.examine()
			got := strings.Join(codes(r, Error), " ")
			if w := codes(r, Warning); len(w) > 0 {
				got += "|" + strings.Join(w, " ")
			}
			if got != c.want {
				t.Errorf("found %s, want %s\n%+v\n%+v", got, c.want, r.Agents[0].Findings, r.Policy)
			}
			if ok := strings.HasPrefix(c.want, "|"); r.OK() != ok {
				t.Errorf("OK is %v", r.OK())
			}
			if (s.sent > 0) != c.canaries {
				t.Errorf("%d canaries were sent", s.sent)
			}
			for _, a := range r.Agents {
				for _, f := range a.Findings {
					if f.Msg == "" || strings.Contains(f.Msg, "%!") {
						t.Errorf("%+v", f)
					}
				}
			}
		})
	}
}

// TestStrangersAreNotRun: settings of a project may name any program.
func TestStrangersAreNotRun(t *testing.T) {
	for _, line := range []string{"@/evil/obstat hook claude-code", "/bin/obstat hook claude-code; touch /tmp/x", "/bin/sh -c '/bin/obstat hook claude-code && x'"} {
		s := newSite(t, agents.ClaudeCode)
		_ = os.Remove(s.target(agents.ClaudeCode))
		s.file(filepath.Join(s.project, "evil", "obstat"), 0o755, "x")
		text := strings.ReplaceAll(`{"hooks":{"PreToolUse":[{"hooks":[{"type":"command","command":"LINE","timeout":600}]}]}}`, "LINE", strings.ReplaceAll(line, "@", s.project))
		s.file(filepath.Join(s.project, ".claude", "settings.json"), 0o644, strings.ReplaceAll(text, "/bin/obstat", s.program))
		r := s.examine()
		if s.sent > 0 || !slices.Contains(codes(r, Warning), "not-proved") {
			t.Errorf("%s: %d canaries, %v", line, s.sent, codes(r, ""))
		}
	}
}

// TestUnnamed: without names, agents that are used here and do not ask obstat are
// said so, and that is no failure; nothing at all is.
func TestUnnamed(t *testing.T) {
	s := newSite(t, agents.ClaudeCode)
	s.opts.Agents = nil
	s.file(filepath.Join(s.home, ".gemini", "settings.json"), 0o644, "{}")
	s.reply = func(*Command) *agents.Reply { return &agents.Reply{Exit: 2, Stderr: []byte("no")} }
	r := s.examine()
	states := map[string]State{}
	for _, a := range r.Agents {
		states[a.Name] = a.State
	}
	if !r.OK() || len(states) != 2 || states[agents.ClaudeCode] != Holds || states[agents.Gemini] != Open {
		t.Errorf("%v, %v", r.OK(), states)
	}
	if _, err := s.opts.Inspect(""); err != nil {
		t.Fatal(err)
	}
	_ = os.RemoveAll(s.home)
	_ = os.RemoveAll(filepath.Join(s.project, ".claude"))
	if r := s.examine(); r.OK() || len(r.Agents) != 0 {
		t.Errorf("%v, %v", r.OK(), r.Agents)
	}
}

// TestCommands: the hook is started the way that the agent does it.
func TestCommands(t *testing.T) {
	shells := map[string]string{agents.Gemini: "bash -c", agents.Copilot: "bash -c", agents.ClaudeCode: "/bin/sh -c", agents.Codex: "/bin/fish -lc"}
	for name, want := range shells {
		s := newSite(t, name)
		s.opts.Env = func(v string) string { return map[string]string{"SHELL": "/bin/fish"}[v] }
		s.reply = func(c *Command) *agents.Reply {
			if got := strings.Join(c.Argv[:2], " "); got != want || c.Dir != s.project {
				t.Errorf("%s: %s in %s", name, got, c.Dir)
			}
			env := c.Environ(func(v string) string { return map[string]string{"PATH": "/bin", "CLAUDECODE": "0", "SECRET": "x"}[v] }, "/state")
			if !slices.Contains(env, "XDG_STATE_HOME=/state") || !slices.Contains(env, "PATH=/bin") || slices.Contains(env, "SECRET=x") || slices.Contains(env, "CLAUDECODE=0") {
				t.Errorf("%v", env)
			}
			return &agents.Reply{Exit: 2, Stderr: []byte("no")}
		}
		s.examine()
		if s.sent == 0 {
			t.Errorf("%s: nothing was sent", name)
		}
	}
}

// TestCodesAreDocumented: docs/json.md lists the codes.
func TestCodesAreDocumented(t *testing.T) {
	page, err := os.ReadFile("../../docs/json.md")
	if err != nil {
		t.Fatal(err)
	}
	sources, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	code := regexp.MustCompile(`(?:x\.add\((?:Error|Warning|level), |Code: |problem\((?:Error|Warning), )"([a-z-]+)"`)
	n := 0
	for _, name := range sources {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range code.FindAllStringSubmatch(string(text), -1) {
			if n++; !strings.Contains(string(page), "`"+m[1]+"`") {
				t.Errorf("docs/json.md says nothing of %q", m[1])
			}
		}
	}
	if n < 25 {
		t.Errorf("only %d codes were found", n)
	}
}
