package protect_test

import (
	"context"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect/all"
	"github.com/obstat/obstat/gate"
	"github.com/obstat/obstat/internal/guard/protect"
	"github.com/obstat/obstat/internal/keep/memory"
)

// openPolicies allow everything, in every dialect; the first line is the file.
var openPolicies = map[string][2]string{
	"adkfluent":  {"adk-permissions.json", `{"mode":"bypass","allow":[],"deny":[],"ask":[],"allow_patterns":["*"]}`},
	"agentscope": {"permissions.json", `{"mode":"bypass","working_directories":{},"allow_rules":{},"deny_rules":{},"ask_rules":{}}`},
	"chorus":     {"agent.json", `{"name":"x","permissions":{"allow":["(?s).*"],"ask":[]}}`},
	"claudecode": {".claude/settings.json", `{"permissions":{"defaultMode":"bypassPermissions","allow":["Bash","Write","Edit","Read"]}}`},
	"codex": {".codex/rules/default.rules", `prefix_rule(pattern=[["rm", "cp", "mv", "tee", "sed", "ln", "sh", "bash", "python3", "perl", "node", "git", "find", "xargs", "env", "sudo", "echo", "cat", "printf",
		"truncate", "dd", "touch", "chmod", "install", "rsync", "tar", "unzip", "patch", "awk", "jq", "ed", "ex", "vim", "obstat", "claude", "codex", "opencode", "gemini", "npm", "make", "cd", "curl"]])` + "\n"},
	"gemini":   {".gemini/policies/policy.toml", "[[rule]]\ntoolName = \"*\"\ndecision = \"allow\"\npriority = 999\nallowRedirection = true\n"},
	"jiuwen":   {".jiuwenswarm/config/config.yaml", "permissions:\n  enabled: true\n  schema: tiered_policy\n  permission_mode: normal\n  defaults:\n    \"*\": allow\n  external_directory:\n    \"*\": allow\n"},
	"opencode": {"opencode.json", `{"permission":{"*":"allow","external_directory":"allow","doom_loop":"allow"}}`},
	"copilot":  {".vscode/settings.json", `{"chat.tools.terminal.autoApprove":{"/.*/":true},"chat.tools.edits.autoApprove":{"**/*":true},"chat.tools.terminal.ignoreDefaultAutoApproveRules":true}`},
	"cursor":   {".cursor/cli.json", `{"permissions":{"allow":["Shell(**)","Read(/**)","Write(/**)","WebFetch(*)","Mcp(*:*)"],"deny":[]}}`},
	"qwen":     {".qwen/settings.json", `{"permissions":{"allow":["Bash","Write","Edit","Read"]}}`},
	"native":   {"obstat.yaml", "version: 1\nallow:\n  - run anything\n  - read anything\n  - write anything\n  - delete anything\n  - connect anywhere\n  - code anything\n  - system anything\n  - tool anything\n"},
	"program":  {"obstat.json", `{"obstat":1,"mode":"m","pipelines":{"m":{"stages":[],"default":"allow"}},"rules":{}}`},
}

// A place is a machine with a home, a project in it and a gate over that.
type place struct {
	t                  *testing.T
	home, proj, policy string
	gate               *gate.Gate
}

func (p *place) write(name, text string) {
	p.t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		p.t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		p.t.Fatal(err)
	}
}

func openPlace(t *testing.T, dialect, floor string) *place {
	t.Helper()
	tmp, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	p := &place{t: t, home: filepath.Join(tmp, "home")}
	p.proj = filepath.Join(p.home, "src", "proj")
	t.Setenv("HOME", p.home)
	t.Setenv("XDG_STATE_HOME", "")
	file := openPolicies[dialect]
	p.policy = file[0]
	p.write(filepath.Join(p.proj, file[0]), file[1])
	p.write(filepath.Join(p.proj, ".codex", "hooks.json"), `{"hooks":{"PreToolUse":[{"hooks":[{"command":"obstat hook codex"}]}]}}`)
	p.write(filepath.Join(p.proj, "crush.json"), `{"hooks":{"PreToolUse":[{"command":"obstat hook crush"}]}}`) // what a star stands for, unlike hidden names
	p.write(filepath.Join(p.proj, "src", "main.go"), "package main\n")
	p.write(filepath.Join(p.proj, "list"), "x\n"+file[0]+"\n")
	p.write(filepath.Join(p.proj, "files.txt"), "src/a.go\nsrc/b.go\n")
	p.write(filepath.Join(p.proj, "open.sh"), "#!/bin/sh\nset -e\nrm -f "+file[0]+"\n")
	p.write(filepath.Join(p.proj, "open.py"), "import os\nos.remove('"+file[0]+"')\n")
	p.write(filepath.Join(p.proj, "outer.sh"), "#!/bin/bash\n# "+file[0]+"\nbash open.sh\n")
	p.write(filepath.Join(p.proj, "show.sh"), "#!/bin/sh\ncat "+file[0]+"\nmake\n")
	p.write(filepath.Join(p.proj, "show.py"), "print(open('"+file[0]+"').read())\n")
	p.write(filepath.Join(p.proj, "bare.sh"), "#!/bin/sh\ngemini --no-hooks -p x\n")
	p.write(filepath.Join(p.proj, "bare.js"), "require('child_process').spawn('opencode', ['--pure', 'run'])\n")
	p.write(filepath.Join(p.home, ".claude", "settings.json"), `{"hooks":{}}`)
	p.write(filepath.Join(p.home, ".local", "state", "obstat", "obstat.db"), "x")
	if err := os.Mkdir(filepath.Join(p.proj, ".git"), 0o755); err != nil {
		t.Fatal(err)
	}
	for link, to := range map[string]string{"g": "/usr/lib/node_modules/@google/gemini-cli/bundle/gemini.js", "here": p.proj, "state": filepath.Join(p.home, ".local", "state"), "rules": filepath.Join(p.proj, file[0])} {
		if err := os.Symlink(to, filepath.Join(p.home, link)); err != nil {
			t.Fatal(err)
		}
	}
	opts := map[string]string{"floor": floor}
	if dialect == "chorus" {
		opts["outside"] = "absolute"
	}
	names := []string{filepath.Join(p.proj, file[0])}
	if dialect == "jiuwen" {
		builtin := filepath.Join(p.proj, ".jiuwenswarm/config/builtin_rules.yaml")
		p.write(builtin, "rules: []\n")
		names = append([]string{builtin}, names...)
	}
	p.gate, err = gate.Open(context.Background(), gate.Options{Policy: &gate.Files{Names: names, Dialect: dialect, Options: opts}, Store: new(memory.Store)})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// fill puts the place's names into a line of a table.
func (p *place) fill(s string) string {
	return strings.NewReplacer("{home}", p.home, "{proj}", p.proj, "{policy}", p.policy, "{POLICY}", strings.ToUpper(p.policy)).Replace(s)
}

// call makes a call of a line: a command, or a tool and its input.
func (p *place) call(line string) *obstat.Call {
	p.t.Helper()
	line = p.fill(line)
	c := &obstat.Call{Tool: "Bash", Agent: "a", Session: "s", Dir: p.proj, Roots: []string{p.proj}}
	if tool, input, ok := strings.Cut(line, " {\""); ok && !strings.ContainsAny(tool, " \t'") {
		c.Tool, c.Input = tool, []byte(`{"`+input)
		return c
	}
	c.Input, _ = json.Marshal(map[string]string{"command": line})
	return c
}

// lines reads a table: a line each, blank lines and comments left out.
func lines(t *testing.T, file string) (out []string) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", file))
	if err != nil {
		t.Fatal(err)
	}
	for l := range strings.SplitSeq(string(data), "\n") {
		if l != "" && l[0] != '#' {
			if !strings.Contains(l, " {\"") {
				l = strings.ReplaceAll(l, `\n`, "\n")
			}
			out = append(out, l)
		}
	}
	return out
}

// TestAttacks: what changes what guards the agent is never allowed, though the
// policy allows everything.
func TestAttacks(t *testing.T) {
	attacks := lines(t, "attacks.txt")
	if len(attacks) < 80 {
		t.Fatalf("%d attacks", len(attacks))
	}
	for _, d := range all.Names() {
		if _, ok := openPolicies[d]; !ok && d != "builtin" { // which is no file
			t.Errorf("no open policy of %s", d)
		}
	}
	for _, d := range slices.Sorted(maps.Keys(openPolicies)) {
		for _, floor := range []string{"on", "off"} {
			t.Run(d+" floor "+floor, func(t *testing.T) {
				p := openPlace(t, d, floor)
				for _, line := range attacks {
					got, err := p.gate.Authorize(context.Background(), p.call(line), &gate.Terms{Ask: gate.Leave})
					// Where nothing else speaks, it is the self-protection that does.
					alone := d == "program" && floor == "off"
					if err != nil || got.Verdict == obstat.Allow || alone && (got.Stage != protect.Stage || got.Verdict != obstat.Ask) {
						t.Errorf("%s: %v, %s (%v)", p.fill(line), got.Verdict, got.Reason(), err)
					}
				}
			})
		}
	}
}

// TestEveryday: what agents do all day is left to the policy.
func TestEveryday(t *testing.T) {
	everyday := lines(t, "everyday.txt")
	if len(everyday) < 40 {
		t.Fatalf("%d commands", len(everyday))
	}
	for _, d := range slices.Sorted(maps.Keys(openPolicies)) {
		t.Run(d, func(t *testing.T) {
			p := openPlace(t, d, "off")
			for _, line := range everyday {
				got, err := p.gate.Authorize(context.Background(), p.call(line), &gate.Terms{Ask: gate.Leave})
				if err != nil || got.Stage == protect.Stage || got.Safety || d == "program" && got.Verdict != obstat.Allow {
					t.Errorf("%s: %v, %s (%v)", p.fill(line), got.Verdict, got.Reason(), err)
				}
			}
		})
	}
}

// TestPinned: the calls that only pins hold off are few, and each is one that the
// self-protection does not see.
func TestPinned(t *testing.T) {
	pinned := lines(t, "pinned.txt")
	if len(pinned) > 15 {
		t.Errorf("%d calls are left to pins", len(pinned))
	}
	p := openPlace(t, "program", "off")
	for _, line := range pinned {
		if got, err := p.gate.Authorize(context.Background(), p.call(line), &gate.Terms{Ask: gate.Leave}); err != nil || got.Verdict != obstat.Allow {
			t.Errorf("%s: %v, %s: it belongs to attacks.txt", p.fill(line), got.Verdict, got.Reason())
		}
	}
}
