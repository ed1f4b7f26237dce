package hook

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/agent"
	"github.com/obstat/obstat/gate"
)

// homed is this machine, with another home.
type homed struct {
	obstat.OS
	dir string
}

// Home returns the home.
func (h homed) Home(string) (string, bool) { return h.dir, true }

// A cell is one call of one agent, and what has to become of it.
type cell struct{ kind, arg, workdir, want string }

// answer sends a call through the hook of an agent that was started in cwd, and returns allow,
// ask or deny, and the reason; "" where the agent has no such tool. An ask that the agent cannot
// put to anybody is still one.
func answer(t *testing.T, who, home, cwd string, c cell) (verdict, why string) {
	t.Helper()
	in := payload(t, who, c.kind, c.arg, cwd, c.workdir)
	switch {
	case in == "":
		return "", ""
	case who == agent.Crush && c.kind == "housekeeping":
		verdict, why = said(t, who, home, cwd, in)
		return strings.Replace(verdict, "ask", "allow", 1), why // it is left to Crush
	}
	return said(t, who, home, cwd, in)
}

// said sends a payload through the hook, and returns allow, ask or deny, and the reason.
func said(t *testing.T, who, home, cwd, in string) (verdict, why string) {
	t.Helper()
	o := &Options{Agent: who, Dir: cwd, NoLedger: true, World: homed{dir: home}}
	o.files = staying(t, o)
	out, words, code := hookIn(t, o, strings.NewReader(in), nil)
	switch {
	case strings.Contains(out+words, "needs a person's approval") || strings.Contains(out, `"ask"`) || who == agent.Crush && out == "" && code == 0:
		return "ask", out + words
	case code != 0 || strings.Contains(out, `"deny"`) || strings.Contains(out, `"cancel":true`):
		return "deny", out + words
	}
	return "allow", out + words
}

// stays holds the policies of an agent, a home and a directory, as [Serve] keeps them for an agent that runs on:
// thousands of calls in a hundred places are answered with a hundred finds.
var stays sync.Map

// staying returns the source of a process that stays, the same for all calls of an agent that was started in one place.
func staying(t *testing.T, o *Options) *gate.Files {
	home, _ := o.World.Home("")
	key := [3]string{o.Agent, home, o.Dir}
	if f, ok := stays.Load(key); ok {
		return f.(*gate.Files)
	}
	as := *o
	as.Dir, as.NoPins, as.Getenv = "", true, func(string) string { return "" }
	f, had := stays.LoadOrStore(key, newRun(&as).sources(o.Agent, o.Dir))
	if !had {
		t.Cleanup(func() { stays.Delete(key) })
	}
	return f.(*gate.Files)
}

// beside runs a test for each value, all at the same time.
func beside[V any](t *testing.T, values map[string]V, test func(t *testing.T, name string, v V)) {
	for name, v := range values {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if testing.Short() && name != "native" && name != "claudecode" {
				t.Skip("-short: two notations are looked at")
			}
			test(t, name, v)
		})
	}
}

// place writes files below a new directory, and returns it, links resolved.
func place(t *testing.T, files map[string]string) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// check runs cells for every agent.
func check(t *testing.T, name, home, cwd string, cells ...cell) {
	t.Helper()
	for _, who := range hosts {
		for _, c := range cells {
			if got, why := answer(t, who, home, cwd, c); got != "" && got != c.want {
				t.Errorf("%s, %s in %s: %s %s %s: %s, want %s: %s", name, who, cwd, c.kind, c.arg, c.workdir, got, c.want, why)
			}
		}
	}
}

// guarded are policies that allow everything but rm, and writing below secret/ and gen/out/.
var guarded = map[string][2]string{
	"claudecode": {".claude/settings.json", `{"permissions":{"defaultMode":"bypassPermissions","allow":["Bash","Edit","Write","Read"],"deny":["Edit(/secret/**)","Edit(gen/out/**)","Bash(rm *)"]}}`},
	"opencode":   {"opencode.json", `{"permission":{"*":"allow","external_directory":"allow","edit":{"*":"allow","secret/*":"deny","gen/out/*":"deny"},"bash":{"*":"allow","rm *":"deny"}}}`},
	"program": {"obstat.json", `{"obstat":1,"mode":"m","pipelines":{"m":{"stages":[{"match":"deny rules","rules":"deny"}],"default":"allow"}},"faces":{"write":{"tool":"Write","field":"file_path"}},
		"rules":{"deny":[{"tool":"Bash","field":"command","match":{"fnmatch":"rm *"},"verdict":"deny"},{"tool":"Edit","field":"file_path","match":{"minimatch":"{secret,gen/out}/**"},"verdict":"deny"}]}}`},
	"native": {"obstat.yaml", "version: 1\nallow: ['read, write and delete anywhere', run anything, connect anywhere, tool anything, code, system]\ndeny: [run rm, 'write ./secret, gen/out']\n"},
}

// TestAnchors: a path rule starts where it was written, wherever the agent stands and whichever
// directory the model chose for the call.
func TestAnchors(t *testing.T) {
	beside(t, guarded, func(t *testing.T, name string, file [2]string) {
		home := place(t, map[string]string{"p/" + file[0]: file[1], "p/src/deep/a": "", "p/secret/s": "", "p/gen/out/s": "", "other/x": ""})
		p := filepath.Join(home, "p")
		if err := os.Symlink(p, filepath.Join(home, "link")); err != nil {
			t.Fatal(err)
		}
		for _, cwd := range []string{p, p + "/src", p + "/src/deep", home + "/link/src"} {
			up, _ := filepath.Rel(p, cwd)
			if strings.Contains(cwd, "link") {
				up = "src"
			}
			up = strings.Repeat("../", len(strings.Split(up, "/"))-strings.Count(up, "."))
			check(t, name, home, cwd,
				cell{kind: "shell", arg: "touch " + up + "secret/x", want: "deny"},
				cell{kind: "shell", arg: "touch " + p + "/secret/x", want: "deny"},
				cell{kind: "shell", arg: "cd " + p + " && echo x > secret/x", want: "deny"},
				cell{kind: "shell", arg: "cd " + p + "/gen; tee out/x", want: "deny"},
				cell{kind: "write", arg: p + "/secret/x", want: "deny"},
				cell{kind: "write", arg: up + "gen/out/x", want: "deny"},
				cell{kind: "edit", arg: p + "/gen/out/s", want: "deny"},
				cell{kind: "write", arg: p + "/src/ok", want: "allow"},
				cell{kind: "write", arg: p + "/src/secret/x", want: "allow"},
				cell{kind: "shell", arg: "touch " + p + "/src/gen/out/x", want: "allow"},
				cell{kind: "shell", arg: "touch ok", want: "allow"},
				cell{kind: "shell", arg: "touch " + p + "/secret/x", workdir: home + "/other", want: "deny"},
			)
			for _, who := range []string{agent.Codex, agent.OpenCode} { // the model chooses where their commands run
				c := cell{kind: "shell", arg: "touch ../secret/x", workdir: p + "/src", want: "deny"}
				if got, why := answer(t, who, home, cwd, c); got != c.want {
					t.Errorf("%s, %s in %s with a workdir: %s: %s", name, who, cwd, got, why)
				}
			}
		}
	})
}

// TestElsewhere: a command that works in another project is held to its policy as well, and
// what that allows does not count.
func TestElsewhere(t *testing.T) {
	beside(t, guarded, func(t *testing.T, name string, file [2]string) {
		open := `{"permission":{"*":"allow","external_directory":"allow","bash":{"*":"allow","make lint":"deny"}}}`
		home := place(t, map[string]string{"a/opencode.json": open, "a/inner/" + file[0]: file[1], "b/" + file[0]: file[1], "b/sub/x": "", "b/secret/s": "", "c/x": ""})
		for _, cwd := range []string{home + "/a", home + "/a/src"} {
			if err := os.MkdirAll(cwd, 0o755); err != nil {
				t.Fatal(err)
			}
			b, _ := filepath.Rel(cwd, home+"/b")
			inner, _ := filepath.Rel(cwd, home+"/a/inner")
			check(t, name, home, cwd,
				cell{kind: "write", arg: home + "/b/secret/x", want: "deny"},
				cell{kind: "write", arg: home + "/b/x", want: "allow"},
				cell{kind: "shell", arg: "cd " + b + " && touch secret/x", want: "deny"},
				cell{kind: "shell", arg: "touch " + home + "/b/secret/x", want: "deny"},
				cell{kind: "shell", arg: "cd " + b + "/sub; make lint", want: "deny"},
				cell{kind: "shell", arg: "rm x", want: "allow"},
				cell{kind: "shell", arg: "rm " + home + "/c/x", want: "allow"},
				cell{kind: "shell", arg: "cd " + b + " && make", want: "allow"},
				cell{kind: "shell", arg: "cd " + b + " && rm x", want: "deny"},
				cell{kind: "shell", arg: "(cd " + inner + "; rm x)", want: "deny"},
				cell{kind: "shell", arg: "rm " + b + "/x", want: "deny"},
				cell{kind: "shell", arg: "env -C " + b + "/sub rm x", want: "deny"},
				cell{kind: "shell", arg: "rm " + home + "/*/x", want: "deny"},
				cell{kind: "shell", arg: "rm " + home + "/[b]/x", want: "deny"},
				cell{kind: "shell", arg: "touch " + home + "/*/secret/n", want: "ask"}, // of one of them a rule speaks

				cell{kind: "shell", arg: "find " + home + " -name x -delete -exec rm {} +", want: "deny"},
				cell{kind: "shell", arg: "rm " + home + "/c*/x", want: "allow"},
				cell{kind: "shell", arg: "cat /usr/share/doc/*/copyright", want: "allow"},
			)
		}
	})
}

// everything allows what no other sentence of an obstat.yaml is about.
const everything = "version: 1\nallow: ['read, write and delete anywhere', run anything, connect anywhere, tool anything, code, system]\n"

// kinds are the names that each notation has for a kind of tool.
var kinds = []struct{ kind, claude, opencode string }{
	{"shell", "Bash", "bash"}, {"write", "Edit", "edit"}, {"edit", "Edit", "edit"}, {"read", "Read", "read"}, {"task", "Agent", "task"}, {"skill", "Skill", "skill"},
	{"fetch", "WebFetch", "webfetch"}, {"search", "WebSearch", "websearch"}, {"mcp", "mcp__canary__poke", "canary_poke"},
}

// TestKinds: a rule that one agent's name is in holds for every agent's tool of that kind, in each
// notation, whether it denies or allows. Tools that only keep house are left to the agent, unless
// a rule names them.
func TestKinds(t *testing.T) {
	program := func(tool, verdict, other string) string {
		return fmt.Sprintf(`{"obstat":1,"mode":"m","pipelines":{"m":{"stages":[{"match":"r","rules":"r"}],"default":%q}},"rules":{"r":[{"tool":%q,"verdict":%q}]}}`, other, tool, verdict)
	}
	for _, k := range kinds {
		beside(t, map[string][3]string{
			"opencode denies":       {"opencode.json", fmt.Sprintf(`{"permission":{"*":"allow",%q:"deny"}}`, k.opencode), "deny"},
			"opencode allows":       {"opencode.json", fmt.Sprintf(`{"permission":{"*":"ask",%q:"allow"}}`, k.opencode), "allow"},
			"claudecode denies":     {".claude/settings.json", fmt.Sprintf(`{"permissions":{"defaultMode":"bypassPermissions","allow":["Bash"],"deny":[%q]}}`, k.claude), "deny"},
			"claudecode allows":     {".claude/settings.json", fmt.Sprintf(`{"permissions":{"allow":[%q]}}`, k.claude), "allow"},
			"a Program denies":      {"obstat.json", program(k.claude, "deny", "allow"), "deny"},
			"a Program allows":      {"obstat.json", program(k.claude, "allow", "deny"), "allow"},
			"a Program denies it":   {"obstat.json", program(k.opencode, "deny", "allow"), "deny"},
			"a Program allows it":   {"obstat.json", program(k.opencode, "allow", "deny"), "allow"},
			"obstat.yaml denies":    {"obstat.yaml", everything + "deny: [tool " + k.claude + "]\n", "deny"},
			"obstat.yaml denies it": {"obstat.yaml", everything + "deny: [tool " + k.opencode + "]\n", "deny"},
			"obstat.yaml allows":    {"obstat.yaml", "version: 1\nallow: [tool " + k.claude + "]\n", "allow"},
		}, func(t *testing.T, name string, p [3]string) {
			home := place(t, map[string]string{"p/" + p[0]: p[1], "p/a": ""})
			arg := home + "/p/a"
			if k.kind == "shell" {
				arg = "make" // what it writes is asked about where "*" asks
			}
			check(t, name, home, home+"/p", cell{kind: k.kind, arg: arg, want: p[2]})
		})
	}
	for _, who := range hosts { // in other capitals a tool is still what it is
		if who == agent.Windsurf {
			continue // it has an event where others have a tool, and another event is refused
		}
		for name, file := range guarded {
			home := place(t, map[string]string{"p/" + file[0]: file[1]})
			in := strings.Replace(payload(t, who, "shell", "rm x", home+"/p", ""), fmt.Sprintf("%q", tools[who]["shell"][0]), fmt.Sprintf("%q", strings.ToUpper(tools[who]["shell"][0])), 1)
			if out, words, _ := hookIn(t, &Options{Agent: who, Dir: home + "/p", NoLedger: true, World: homed{dir: home}}, strings.NewReader(in), nil); !strings.Contains(out+words, "deny rule") {
				t.Errorf("%s, %s: %s %s", name, who, out, words)
			}
		}
	}
	for name, p := range map[string][2]string{
		"opencode": {"opencode.json", `{"permission":{"*":"deny"}}`}, "claudecode": {".claude/settings.json", `{"permissions":{"defaultMode":"dontAsk"}}`}, "program": {"obstat.json", program("Bash", "allow", "deny")},
	} {
		home := place(t, map[string]string{"p/" + p[0]: p[1]})
		check(t, name, home, home+"/p", cell{kind: "housekeeping", want: "allow"})
	}
}

// TestSeveral: obstat.json decides where there is one, else the agent's own file, else all that are
// found; a file that says nothing of permissions is none. Without any policy the built-in one is in
// force, which lets an agent look.
func TestSeveral(t *testing.T) {
	claude := `{"permissions":{"defaultMode":"bypassPermissions","allow":["Bash"],"deny":["Bash(rm *)"]}}`
	home := place(t, map[string]string{"silent/.claude/settings.json": claude, "silent/opencode.json": `{"model":"x"}`, "none/a": "",
		"both/.claude/settings.json": claude, "both/opencode.json": `{"permission":{"*":"allow","bash":{"*":"allow","touch *":"deny"}}}`,
		"own/.claude/settings.json": claude, "own/obstat.json": `{"obstat":1,"mode":"m","pipelines":{"m":{"stages":[],"default":"allow"}},"rules":{}}`})
	check(t, "a silent file", home, home+"/silent", cell{kind: "shell", arg: "touch x", want: "allow"}, cell{kind: "shell", arg: "rm x", want: "deny"})
	check(t, "obstat.json", home, home+"/own", cell{kind: "shell", arg: "rm x", want: "allow"})
	check(t, "no policy", home, home+"/none", cell{kind: "shell", arg: "ls", want: "allow"}, cell{kind: "read", arg: home + "/none/a", want: "allow"}, cell{kind: "shell", arg: "rm -rf /", want: "ask"})
	for _, who := range hosts {
		touch, rm := "deny", "deny"
		switch who {
		case agent.ClaudeCode:
			touch = "allow"
		case agent.OpenCode:
			rm = "allow"
		}
		for _, c := range []cell{{kind: "shell", arg: "touch x", want: touch}, {kind: "shell", arg: "rm x", want: rm}, {kind: "shell", arg: "make", want: "allow"}} {
			if got, why := answer(t, who, home, home+"/both", c); got != c.want {
				t.Errorf("%s: %s: %s, want %s: %s", who, c.arg, got, c.want, why)
			}
		}
	}
}
