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
	"github.com/obstat/obstat/agent"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/dialect/native"
	"github.com/obstat/obstat/internal/face/hook"
	"github.com/obstat/obstat/policy"
)

// A site is a home and a project with agents in them.
type site struct {
	t             *testing.T
	home, project string
	program       string
	opts          *Options
	sent          int
	reply         func(c *Command) *agent.Reply // instead of the hook
}

const denies = `{"permissions": {"deny": ["Bash(rm *)"], "allow": ["Bash(ls *)"]}}`

// newSite makes a home with obstat installed for the agent.
func newSite(t *testing.T, name string) *site {
	dir := t.TempDir()
	s := &site{t: t, home: filepath.Join(dir, "home"), project: filepath.Join(dir, "project"), program: filepath.Join(dir, "bin", "obstat")}
	s.file(s.program, 0o755, "x")
	s.file(filepath.Join(s.project, ".claude", "settings.json"), 0o644, denies)
	self := Binary{Obstat: true, Version: "v1"}
	s.opts = &Options{Agents: []string{name}, Dir: s.project, Self: self, Deadline: hook.Longest, Env: func(string) string { return "" },
		Where:   &agent.Where{Home: s.home, Projects: []string{s.project}, Root: filepath.Join(dir, "root")},
		Inspect: func(string) (*Binary, error) { b := self; return &b, nil },
		Run:     s.run, Find: s.find}
	s.install(name, agent.User)
	return s
}

func (s *site) file(name string, mode os.FileMode, text string) {
	s.t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, []byte(text), mode), os.Chmod(name, mode)); err != nil {
		s.t.Fatal(err)
	}
}

func (s *site) install(name string, scope agent.Scope) {
	s.t.Helper()
	for _, c := range agent.Of(name).Install(&agent.Request{Scope: scope, Where: s.opts.Where, Program: s.program, Offline: true}) {
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
func (s *site) target(name string) string { return agent.Of(name).Target(agent.User, s.opts.Where) }

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
func (s *site) run(_ context.Context, c *Command) *agent.Reply {
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
	code := hook.Run(o)
	return &agent.Reply{Stdout: out.Bytes(), Stderr: words.Bytes(), Exit: code}
}

func (s *site) hook() *hook.Options {
	return &hook.Options{World: homeWorld{obstat.OS{}, s.home}, Getwd: func() (string, error) { return s.project, nil }, Getenv: func(string) string { return "" }}
}

type homeWorld struct {
	obstat.OS
	home string
}

func (w homeWorld) Home(string) (string, bool) { return w.home, true }

func (s *site) find(name string) ([]*dialect.Loaded, error) {
	f, err := new(policy.Finder).Find(&policy.Where{Agent: name, Dir: s.project, Home: s.home, Getenv: func(string) string { return "" }})
	if err != nil {
		return nil, err
	}
	var out []*dialect.Loaded
	for _, p := range f.Policies {
		if p.Dialect.Name() != native.BuiltinName {
			out = append(out, p.Loaded)
		}
	}
	return out, f.Err()
}

func (s *site) examine() *Report { return Examine(context.Background(), s.opts) }

// codes returns the findings of a level, all for "".
func codes(r *Report, level agent.Level) (out []string) {
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

// TestHolds: the entry that obstat install writes holds, for every agent, and every
// canary is held in the agent's own form.
func TestHolds(t *testing.T) {
	for _, a := range agent.All().Installable() {
		t.Run(a.Name, func(t *testing.T) {
			s := newSite(t, a.Name)
			r := s.examine()
			if !r.OK() || len(codes(r, "")) > 0 {
				t.Errorf("%v: %+v", codes(r, ""), r.Agents[0].Findings)
			}
			x := r.Agents[0]
			if x.State != Holds || len(x.Entries) == 0 || len(x.Limits) == 0 {
				t.Errorf("%+v", x)
			}
			names, modes := map[string]bool{}, map[string]bool{}
			for _, p := range x.Proofs {
				names[p.Canary] = true
				if strings.Contains(p.Canary, " in the mode ") {
					delete(names, p.Canary)
					modes[p.Canary] = true
				}
				if !p.Held {
					t.Errorf("%+v", p)
				}
			}
			if len(names) != 6 {
				t.Errorf("canaries %v", names)
			}
			if want := map[string]int{agent.ClaudeCode: 7, agent.Codex: 3, agent.Droid: 6, agent.Qwen: 6}[x.Name]; len(modes) != want || len(x.Modes) == 0 {
				t.Errorf("modes %v, %v", modes, x.Modes)
			}
		})
	}
}

// TestFindings breaks a set-up in one way at a time.
func TestFindings(t *testing.T) {
	settings := func(s *site) string { return s.target(agent.ClaudeCode) }
	for _, c := range []struct {
		name, agent string
		spoil       func(s *site)
		want        string // codes of errors, then of warnings after |
		canaries    bool
	}{
		{"not installed", agent.ClaudeCode, func(s *site) { _ = os.Remove(settings(s)) }, "not-installed", false},
		{"an event that is no list", agent.ClaudeCode, func(s *site) { s.change(settings(s), `"hooks": {`, `"hooks": {"Stop": null,`) }, "misshapen-file", true},
		{"a group without hooks", agent.ClaudeCode, func(s *site) { s.change(settings(s), `"hooks": {`, `"hooks": {"Stop": [{"matcher": "x"}],`) }, "misshapen-file", true},
		{"Codex's configuration is none", agent.Codex, func(s *site) {
			s.change(filepath.Join(s.home, ".codex", "config.toml"), `^`, "a = = 1\n")
		}, "broken-file", true},
		{"a prompt", agent.ClaudeCode, func(s *site) { s.change(settings(s), `"type": "command"`, `"type": "prompt"`) }, "other-type", false},
		{"no type", agent.ClaudeCode, func(s *site) { s.change(settings(s), `"type": "command",`, ``) }, "other-type", false},
		{"a policy of its own", agent.ClaudeCode, func(s *site) { s.change(settings(s), ` claude-code`, ` --floor=off -p/x.json claude-code`) }, "|own-policy", true},
		{"a key that Codex does not know", agent.Codex, func(s *site) { s.change(s.target(agent.Codex), `"hooks": {`, `"model": "x", "hooks": {`) }, "misshapen-file", true},
		{"cannot be parsed", agent.ClaudeCode, func(s *site) { s.file(settings(s), 0o644, "{") }, "broken-file not-installed policy-broken", false},
		{"program is gone", agent.ClaudeCode, func(s *site) { _ = os.Remove(s.program) }, "missing-program", false},
		{"program is not executable", agent.ClaudeCode, func(s *site) { _ = os.Chmod(s.program, 0o644) }, "not-executable", false},
		{"program is found by PATH", agent.ClaudeCode, func(s *site) { s.change(settings(s), `/[^" ]*/bin/obstat`, "obstat") }, "relative-program|other-line", false},
		{"program is another", agent.ClaudeCode, func(s *site) {
			s.opts.Inspect = func(string) (*Binary, error) { return nil, errors.New("no build information") }
		}, "not-obstat", false},
		{"another version", agent.ClaudeCode, func(s *site) {
			s.opts.Inspect = func(string) (*Binary, error) { return &Binary{Obstat: true, Version: "v0", Revision: "abc"}, nil }
		}, "|other-version", true},
		{"others may write it", agent.ClaudeCode, func(s *site) {
			s.opts.Inspect = func(string) (*Binary, error) { return &Binary{Obstat: true, Version: "v1", Writable: true}, nil }
		}, "|writable-program", true},
		{"the old program", agent.ClaudeCode, func(s *site) { s.change(settings(s), `/obstat hook claude-code`, "/obstat-hook claude-code") }, "old-program", false},
		{"time-out too short", agent.ClaudeCode, func(s *site) { s.change(settings(s), `"timeout": 600`, `"timeout": 20`) }, "short-timeout", true},
		{"time-out shorter than a person takes", agent.Gemini, func(s *site) { s.change(s.target(agent.Gemini), `600000`, `50000`) }, "short-timeout", true},
		{"deadline too long", agent.ClaudeCode, func(s *site) { s.change(settings(s), `hook claude-code`, `hook --deadline 11m claude-code`) }, "short-timeout", true},
		{"waits too long", agent.Codex, func(s *site) {
			s.change(s.target(agent.Codex), `hook codex`, `hook --wait 10m codex`)
			s.install(agent.Codex, agent.User) // trusted, and the option stays
		}, "short-timeout", true},
		{"milliseconds", agent.Gemini, func(s *site) { s.change(s.target(agent.Gemini), `600000`, `600`) }, "short-timeout", true},
		{"not waited for", agent.ClaudeCode, func(s *site) { s.change(settings(s), `"timeout": 600`, `"timeout": 600, "async": true`) }, "not-waited-for", false},
		{"only some tools", agent.ClaudeCode, func(s *site) { s.change(settings(s), `"matcher": "\*"`, `"matcher": "Bash"`) }, "narrow-matcher", true},
		{"another agent's name", agent.ClaudeCode, func(s *site) { s.change(settings(s), `hook claude-code`, `hook codex`) }, "|other-agent", true},
		{"no PreToolUse", agent.ClaudeCode, func(s *site) { s.change(settings(s), `"PreToolUse"`, `"PreCompact"`) }, "missing-event|other-event", true},
		{"no PermissionRequest", agent.ClaudeCode, func(s *site) { s.change(settings(s), `"PermissionRequest"`, `"Stop"`) }, "|missing-event other-event", true},
		{"hooks are off", agent.ClaudeCode, func(s *site) {
			s.file(filepath.Join(s.project, ".claude", "settings.local.json"), 0o644, `{"disableAllHooks": true}`)
		}, "hooks-off", false},
		{"only the machine's", agent.ClaudeCode, func(s *site) {
			s.file(filepath.Join(s.opts.Where.Root, "etc", "claude-code", "managed-settings.d", "10.json"), 0o644, `{"allowManagedHooksOnly": true}`)
		}, "hooks-off", false},
		{"twice", agent.Codex, func(s *site) { s.install(agent.Codex, agent.Project) }, "|duplicate", true},
		{"plain command line", agent.ClaudeCode, func(s *site) { s.change(settings(s), ` \|\| [^"]*exit 2; }`, ``) }, "|other-line", true},
		{"no hash", agent.Codex, func(s *site) { _ = os.Remove(filepath.Join(s.home, ".codex", "config.toml")) }, "not-trusted", true},
		{"an old hash", agent.Codex, func(s *site) { s.change(s.target(agent.Codex), `"timeout": 600`, `"timeout": 601`) }, "not-trusted", true},
		{"switched off in the list", agent.Codex, func(s *site) {
			s.change(filepath.Join(s.home, ".codex", "config.toml"), `(trusted_hash = .*)`, "$1\nenabled = false")
		}, "hooks-off", true},
		{"the feature is off", agent.Codex, func(s *site) {
			s.file(filepath.Join(s.project, ".codex", "config.toml"), 0o644, "[features]\nhooks = false\n")
		}, "hooks-off", false},
		{"Gemini's switch", agent.Gemini, func(s *site) {
			s.file(filepath.Join(s.project, ".gemini", "settings.json"), 0o644, "// x\n{\"hooksConfig\": {\"enabled\": false}}")
		}, "hooks-off", false},
		{"Gemini's list", agent.Gemini, func(s *site) {
			s.file(filepath.Join(s.project, ".gemini", "settings.json"), 0o644, `{"hooksConfig": {"disabled": ["obstat"]}}`)
		}, "hooks-off", false},
		{"Copilot's project", agent.Copilot, func(s *site) {
			text, _ := os.ReadFile(s.target(agent.Copilot))
			_ = os.Remove(s.target(agent.Copilot))
			s.file(filepath.Join(s.project, ".github", "hooks", "obstat.json"), 0o644, string(text))
		}, "|skipped-scope", true},
		{"Copilot's list", agent.Copilot, func(s *site) {
			s.file(filepath.Join(s.home, ".copilot", "settings.json"), 0o644, `{"disabledHooks": ["3f2a"]}`)
		}, "|hooks-listed", true},
		{"Copilot's list is empty", agent.Copilot, func(s *site) {
			s.file(filepath.Join(s.home, ".copilot", "settings.json"), 0o644, `{"disabledHooks": []}`)
		}, "", true},
		{"no failClosed", agent.Cursor, func(s *site) { s.change(s.target(agent.Cursor), `"failClosed": true`, `"failClosed": false`) }, "fails-open", true},
		{"one event is missing", agent.Windsurf, func(s *site) { s.change(s.target(agent.Windsurf), `pre_write_code`, `post_cascade_response`) }, "missing-event|other-event", true},
		{"plugin was edited", agent.OpenCode, func(s *site) { s.change(s.target(agent.OpenCode), `throw new Error`, `console.log`) }, "changed-file", false},
		{"no network", agent.OpenCode, func(s *site) { _ = os.Remove(filepath.Join(s.home, ".config", "opencode", "package-lock.json")) }, "|needs-network", true},
		{"script is not executable", agent.Cline, func(s *site) { _ = os.Chmod(s.target(agent.Cline), 0o644) }, "not-executable", false},
		{"policy does not load", agent.ClaudeCode, func(s *site) {
			s.file(filepath.Join(s.project, ".claude", "settings.json"), 0o644, `{"permissions": {"deny": ["Bash(rm"]}}`)
		}, "policy-broken", true},
		{"no policy", agent.ClaudeCode, func(s *site) { _ = os.Remove(filepath.Join(s.project, ".claude", "settings.json")) }, "|no-policy", true},
		{"dead rule", agent.ClaudeCode, func(s *site) {
			s.file(filepath.Join(s.project, ".claude", "settings.json"), 0o644, `{"permissions": {"deny": ["Bash(rm *)", "Write(/etc/**)", "Bsh(x)"]}}`)
		}, "|dead-rule", true},
		{"nearly everything is allowed", agent.OpenCode, func(s *site) {
			_ = os.Remove(filepath.Join(s.project, ".claude", "settings.json"))
			s.file(filepath.Join(s.home, ".config", "opencode", "opencode.json"), 0o644, `{"permission": {"*": "allow"}}`)
		}, "|unknown-tools-run", true},
		{"fails open", agent.ClaudeCode, func(s *site) {
			s.reply = func(*Command) *agent.Reply { return &agent.Reply{Exit: 1, Stderr: []byte("panic")} }
		}, "fails-open not-held rule-not-held|unknown-tools-run", true},
		{"the other's form", agent.Codex, func(s *site) {
			s.reply = func(*Command) *agent.Reply {
				return &agent.Reply{Stdout: []byte(`{"decision":"deny","reason":"no"}`)}
			}
		}, "fails-open not-held rule-not-held|unknown-tools-run", true},
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
			if ok := c.want == "" || strings.HasPrefix(c.want, "|"); r.OK() != ok {
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
		s := newSite(t, agent.ClaudeCode)
		_ = os.Remove(s.target(agent.ClaudeCode))
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
	s := newSite(t, agent.ClaudeCode)
	s.opts.Agents = nil
	s.file(filepath.Join(s.home, ".gemini", "settings.json"), 0o644, "{}")
	s.reply = func(*Command) *agent.Reply { return &agent.Reply{Exit: 2, Stderr: []byte("no")} }
	r := s.examine()
	states := map[string]State{}
	for _, a := range r.Agents {
		states[a.Name] = a.State
	}
	if !r.OK() || len(states) != 2 || states[agent.ClaudeCode] != Holds || states[agent.Gemini] != Open {
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
	shells := map[string]string{agent.Gemini: "bash -c", agent.Copilot: "bash -c", agent.ClaudeCode: "/bin/sh -c", agent.Codex: "/bin/fish -lc"}
	for name, want := range shells {
		s := newSite(t, name)
		s.opts.Env = func(v string) string { return map[string]string{"SHELL": "/bin/fish"}[v] }
		s.reply = func(c *Command) *agent.Reply {
			if got := strings.Join(c.Argv[:2], " "); got != want || c.Dir != s.project {
				t.Errorf("%s: %s in %s", name, got, c.Dir)
			}
			env := c.Environ(func(v string) string { return map[string]string{"PATH": "/bin", "CLAUDECODE": "0", "SECRET": "x"}[v] }, "/state")
			if !slices.Contains(env, "XDG_STATE_HOME=/state") || !slices.Contains(env, "PATH=/bin") || slices.Contains(env, "SECRET=x") || slices.Contains(env, "CLAUDECODE=0") {
				t.Errorf("%v", env)
			}
			return &agent.Reply{Exit: 2, Stderr: []byte("no")}
		}
		s.examine()
		if s.sent == 0 {
			t.Errorf("%s: nothing was sent", name)
		}
	}
}

// TestCodesAreDocumented: docs/json.md lists the codes.
func TestCodesAreDocumented(t *testing.T) {
	page, err := os.ReadFile("../../../docs/json.md")
	if err != nil {
		t.Fatal(err)
	}
	sources, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	settings, err := filepath.Glob("../../../agent/*.go")
	if err != nil {
		t.Fatal(err)
	}
	sources = append(sources, settings...)
	code := regexp.MustCompile(`(?:\.Add\((?:Error|Warning|level), |Code: |problem\((?:Error|Warning), |idle\(h, |wrong\()"([a-z-]+)"`)
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
	if n < 35 {
		t.Errorf("only %d codes were found", n)
	}
}

// TestRules: deny rules of the policy are tried in the agent's own form, and one that the hook does not
// hold is found.
func TestRules(t *testing.T) {
	for _, name := range []string{agent.ClaudeCode, agent.Gemini, agent.OpenCode, agent.Codex, agent.Copilot} {
		s := newSite(t, name)
		s.file(filepath.Join(s.project, "opencode.json"), 0o644, `{"permission": {"*": "allow", "bash": {"*": "allow", "make deploy *": "deny"}, "edit": {"*": "allow", "gen/*": "deny"}}}`)
		r := s.examine()
		tried := 0
		for _, p := range r.Agents[0].Proofs {
			if p.Canary == "Bash(rm *)" || strings.Contains(p.Canary, "make deploy") || strings.Contains(p.Canary, "gen/") {
				tried++
			}
		}
		if tried == 0 || slices.Contains(codes(r, Error), "rule-not-held") {
			t.Errorf("%s: %d rules were tried: %+v", name, tried, r.Agents[0].Proofs)
		}
		real := s.run
		s.opts.Run = func(ctx context.Context, c *Command) *agent.Reply { // a hook that knows one command alone
			if bytes.Contains(c.Stdin, []byte("obstat-canary")) {
				return &agent.Reply{Stdout: []byte(`{"decision":"allow"}`)}
			}
			return real(ctx, c)
		}
		if r := s.examine(); !slices.Contains(codes(r, Error), "rule-not-held") {
			t.Errorf("%s: a rule that does not hold is not found: %v", name, codes(r, ""))
		}
	}
}

// TestKinds: a rule for each kind of tools is tried with the agent's own tool of that kind, at the event that
// asks about it.
func TestKinds(t *testing.T) {
	for name, tools := range map[string][]string{
		agent.ClaudeCode: {`"Read"`, `"WebFetch"`, `"WebSearch"`, `"Agent"`, `"Skill"`, `"mcp__canary__poke"`},
		agent.Codex:      {`"spawn_agent"`, `"mcp__canary__poke"`, `Delete File: `},
		agent.Gemini:     {`"read_file"`, `"web_fetch"`, `"google_web_search"`, `"invoke_agent"`, `"activate_skill"`, `"mcp_canary_poke"`},
		agent.OpenCode:   {`"read"`, `"webfetch"`, `"websearch"`, `"task"`, `"skill"`, `"canary_poke"`, `Delete File: `},
		agent.Copilot:    {`"view"`, `"web_fetch"`, `"web_search"`, `"task"`, `"skill"`, `"canary-poke"`},
		agent.Qwen:       {`"read_file"`, `"web_fetch"`, `"web_search"`, `"agent"`, `"skill"`, `"mcp__canary__poke"`},
		agent.Crush:      {`"view"`, `"fetch"`, `"web_search"`, `"agent"`, `"mcp_canary_poke"`},
		agent.Cursor:     {`"beforeReadFile"`, `"subagentStart"`, `"tool_name":"Delete"`, `"mcp_server_name":"canary"`, `"tool_name":"poke"`},
		agent.Windsurf:   {`"agent_action_name":"pre_read_code"`, `"mcp_tool_name":"poke"`},
		agent.Cline:      {`"read_file"`, `"web_fetch"`, `"new_task"`, `"tool_name":"poke"`},
	} {
		s := newSite(t, name)
		s.file(filepath.Join(s.project, "obstat.json"), 0o644, `{"obstat":1,"mode":"m","pipelines":{"m":{"stages":[{"match":"d","rules":"d"}],"default":"ask"}},"rules":{"d":[{"tool":"Bash","verdict":"deny"},{"tool":"Read","verdict":"deny"},{"tool":"Delete","verdict":"deny"},
			{"tool":"Edit","verdict":"deny"},{"tool":"WebFetch","verdict":"deny"},{"tool":"WebSearch","verdict":"deny"},{"tool":"Agent","verdict":"deny"},{"tool":"Skill","verdict":"deny"},{"tool":"mcp__canary__poke","verdict":"deny"}]}}`)
		var sent []string
		real := s.run
		s.opts.Run = func(ctx context.Context, c *Command) *agent.Reply {
			sent = append(sent, string(c.Stdin))
			return real(ctx, c)
		}
		r := s.examine()
		if slices.Contains(codes(r, Error), "rule-not-held") {
			t.Errorf("%s: %+v", name, r.Agents[0].Findings)
		}
		all := strings.Join(sent, "\n")
		for _, tool := range tools {
			if !strings.Contains(all, tool) {
				t.Errorf("%s: %s was not tried", name, tool)
			}
		}
	}
}
