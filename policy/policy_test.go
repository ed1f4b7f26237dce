package policy_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/dialect/all"
	"github.com/obstat/obstat/policy"
)

// A world is a home, a machine and a project on disk.
type world struct {
	testing.TB
	top, home, dir string
	env            map[string]string
	finder         policy.Finder
}

// newWorld makes the files; names start with home/, etc/ or another directory.
func newWorld(t testing.TB, files map[string]string) *world {
	t.Helper()
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	w := &world{TB: t, top: top, home: filepath.Join(top, "home"), dir: filepath.Join(top, "work", "p"), env: map[string]string{}}
	w.finder.Machine, w.finder.State, w.finder.NoPins = top, filepath.Join(top, "state"), true
	for _, dir := range []string{w.home, w.dir} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range files {
		w.write(name, text)
	}
	return w
}

func (w *world) write(name, text string) {
	w.Helper()
	path := filepath.Join(w.top, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		w.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		w.Fatal(err)
	}
}

// where is the project, for an agent.
func (w *world) where(agent string) *policy.Where {
	return &policy.Where{Agent: agent, Dir: w.dir, Home: w.home, Getenv: func(k string) string { return w.env[k] }}
}

func (w *world) find(at *policy.Where) *policy.InForce {
	w.Helper()
	f, err := w.finder.Find(at)
	if err != nil {
		w.Fatal(err)
	}
	return f
}

// bash returns the verdict for a command at a place.
func (w *world) bash(at *policy.Where, command string) policy.Ruling {
	w.Helper()
	return w.find(at).Decide(bash(at, command), obstat.OS{})
}

func bash(at *policy.Where, command string) *obstat.Call {
	tool := map[string]string{"opencode": "bash", "gemini": "run_shell_command", "swarm": "bash"}[at.Agent]
	if tool == "" {
		tool = "Bash"
	}
	input, _ := json.Marshal(map[string]string{"command": command})
	return &obstat.Call{Tool: tool, Input: input, Dir: at.Dir, Roots: at.Roots}
}

// check wants a verdict and words in the reason.
func (w *world) check(at *policy.Where, command string, want obstat.Verdict, words ...string) {
	w.Helper()
	d := w.bash(at, command)
	if d.Verdict != want {
		w.Errorf("%s: %s: %s, want %s: %s", at.Agent, command, d.Verdict, want, d.Reason())
	}
	for _, word := range words {
		if !strings.Contains(d.Reason(), word) {
			w.Errorf("%s: %s: %q does not say %q", at.Agent, command, d.Reason(), word)
		}
	}
}

var agents = []string{"", "claude-code", "codex", "gemini", "opencode", "copilot"}

const (
	allowBash = `{"permission": {"bash": "allow"}}`
	denyRm    = `{"permission": {"bash": {"*": "ask", "rm *": "deny"}}}`
	claudeAll = `{"permissions": {"allow": ["Bash"]}}`
	noCurl    = `{"permissions": {"allow": ["Bash"], "deny": ["Bash(curl *)"]}}`
)

// program returns an obstat.json that says v for every call, and denies commands.
func program(v obstat.Verdict, deny string) string {
	return fmt.Sprintf(`{"obstat":1,"mode":"m","pipelines":{"m":{"stages":[{"match":"deny","rules":"deny"}],"default":%q}},
 "rules":{"deny":[{"tool":{"any":true},"field":"command","match":{"wildcard":%q},"verdict":"deny"}]}}`, v, deny)
}

// TestUsersLayer: what the user's own files deny, a project's file does not lift, in
// every agent.
func TestUsersLayer(t *testing.T) {
	for _, files := range []map[string]string{
		{"home/.config/opencode/opencode.json": denyRm, "work/p/opencode.json": allowBash},
		{"home/.config/opencode/opencode.json": denyRm, "work/p/.opencode/opencode.jsonc": allowBash},
		{"home/.opencode/opencode.json": denyRm, "work/p/opencode.json": allowBash},
		{"home/.claude/settings.json": `{"permissions":{"deny":["Bash(rm *)"]}}`, "work/p/.claude/settings.json": claudeAll},
		{"etc/claude-code/managed-settings.json": `{"permissions":{"deny":["Bash(rm *)"]}}`, "work/p/.claude/settings.json": claudeAll},
		{"home/.config/obstat/obstat.json": program(obstat.Ask, "rm *"), "work/p/obstat.json": program(obstat.Allow, "zz")},
	} {
		w := newWorld(t, files)
		for _, agent := range agents {
			w.check(w.where(agent), "rm x", obstat.Deny)
		}
	}
	w := newWorld(t, map[string]string{"home/.config/obstat/obstat.json": program(obstat.Ask, "rm *"), "work/p/.claude/settings.json": claudeAll})
	w.check(w.where("claude-code"), "rm x", obstat.Deny, "home/.config/obstat/obstat.json:")
	w.check(w.where("claude-code"), "make", obstat.Allow)
	const swarm = "permissions:\n  enabled: true\n  schema: tiered_policy\n  tools:\n    bash: "
	w = newWorld(t, map[string]string{"home/.jiuwenswarm/config/config.yaml": swarm + "deny\n", "work/p/.jiuwenswarm/config/config.yaml": swarm + "allow\n"})
	w.check(w.where("swarm"), "rm x", obstat.Deny)
	w.write("home/.jiuwenswarm/config/config.yaml", swarm+"ask\n")
	w.check(w.where("swarm"), "rm x", obstat.Allow)
	w = newWorld(t, map[string]string{"xdg/opencode/opencode.json": denyRm, "work/p/opencode.json": allowBash})
	w.env["XDG_CONFIG_HOME"] = filepath.Join(w.top, "xdg")
	w.check(w.where("codex"), "rm x", obstat.Deny)
	w.check(w.where("opencode"), "make", obstat.Allow)
	w.env["OPENCODE_PERMISSION"] = `{"bash": {"make": "deny"}}`
	w.check(w.where("opencode"), "make", obstat.Deny, "$OPENCODE_PERMISSION")
}

// TestManaged: what the administrator's files deny, nothing lifts: no file of the user's or a
// project's, in whichever notation.
func TestManaged(t *testing.T) {
	for name, text := range map[string]string{
		"etc/claude-code/managed-settings.json": `{"permissions":{"deny":["Bash(rm *)"]}}`,
		"etc/opencode/opencode.json":            denyRm,
		"etc/gemini-cli/policies/a.toml":        "[[rule]]\ntoolName = \"run_shell_command\"\ncommandPrefix = \"rm\"\ndecision = \"deny\"\npriority = 1\n",
		"etc/codex/rules/default.rules":         `prefix_rule(pattern = ["rm"], decision = "forbidden")`,
	} {
		for other, allows := range map[string]string{
			"home/.config/obstat/obstat.json":     program(obstat.Allow, "zz"),
			"work/p/obstat.json":                  program(obstat.Allow, "zz"),
			"home/.claude/settings.json":          claudeAll,
			"work/p/.claude/settings.json":        claudeAll,
			"home/.config/opencode/opencode.json": allowBash,
		} {
			w := newWorld(t, map[string]string{name: text, other: allows})
			for _, agent := range agents {
				w.check(w.where(agent), "rm x", obstat.Deny)
			}
		}
		w := newWorld(t, map[string]string{name: text, "work/p/obstat.json": program(obstat.Allow, "zz"), "home/.config/obstat/obstat.json": program(obstat.Allow, "zz")})
		w.check(w.where("claude-code"), "rm x", obstat.Deny, name)
		w.check(w.where("claude-code"), "make", obstat.Allow)
	}
}

// TestSeveral: of the files of several dialects obstat's own decides, then the
// agent's own, then all of them; that there are several is no error.
func TestSeveral(t *testing.T) {
	both := map[string]string{"work/p/.claude/settings.json": noCurl, "work/p/opencode.json": `{"permission": {"bash": {"*": "allow", "rm *": "deny"}}}`}
	w := newWorld(t, both)
	for agent, want := range map[string][2]obstat.Verdict{
		"claude-code": {obstat.Deny, obstat.Allow}, "opencode": {obstat.Allow, obstat.Deny}, "codex": {obstat.Deny, obstat.Deny}, "": {obstat.Deny, obstat.Deny},
	} {
		w.check(w.where(agent), "curl x", want[0])
		w.check(w.where(agent), "rm x", want[1])
		if v := w.bash(w.where(agent), "make").Verdict; v == obstat.Deny {
			t.Errorf("%s: make is denied", agent)
		}
	}
	w.write("work/p/obstat.json", program(obstat.Allow, "git *"))
	for _, agent := range []string{"claude-code", "codex", ""} {
		w.check(w.where(agent), "curl x", obstat.Allow)
		w.check(w.where(agent), "git x", obstat.Deny, "obstat.json:")
	}
	w.write("work/p/.obstat/program.json", program(obstat.Allow, "make *"))
	w.check(w.where("codex"), "git x", obstat.Deny)
	w.check(w.where("codex"), "make x", obstat.Deny)
	w.write("work/p/obstat.json", "{")
	w.check(w.where("claude-code"), "ls", obstat.Deny, "the policy cannot be loaded", "obstat.json")

	// A file without rules does not speak for the project.
	w = newWorld(t, map[string]string{"work/p/.claude/settings.json": noCurl, "work/p/opencode.json": `{"model": "x/y", "agent": {"a": {"prompt": "p"}}}`})
	for _, agent := range []string{"codex", "opencode", "gemini"} {
		w.check(w.where(agent), "make", obstat.Allow)
		w.check(w.where(agent), "curl x", obstat.Deny)
	}
}

// TestBuiltin: without a policy anywhere the built-in one decides.
func TestBuiltin(t *testing.T) {
	w := newWorld(t, nil)
	for _, agent := range agents {
		w.check(w.where(agent), "ls", obstat.Allow)
		w.check(w.where(agent), "make", obstat.Ask, "built-in policy")
		w.check(w.where(agent), "cat /etc/shadow", obstat.Ask)
	}
	w.check(&policy.Where{Getenv: os.Getenv}, "make", obstat.Ask)
	w.write("home/.claude/settings.json", `{"permissions":{"allow":["Bash(make)"]}}`)
	for _, agent := range agents {
		w.check(w.where(agent), "make", obstat.Allow)
	}
}

// TestInner: the outermost project counts, what lies below it only tightens.
func TestInner(t *testing.T) {
	w := newWorld(t, map[string]string{
		"work/.claude/settings.json":   noCurl,
		"work/p/.claude/settings.json": `{"permissions":{"allow":["Bash(curl *)"],"ask":["Bash(make install)"],"deny":["Bash(rm *)"]}}`,
	})
	at := w.where("claude-code")
	w.check(at, "curl x", obstat.Deny)
	w.check(at, "rm x", obstat.Deny)
	w.check(at, "make install", obstat.Ask)
	w.check(at, "make", obstat.Allow)
	w.write("work/p/.claude/settings.json", `{"permissions":`)
	w.check(at, "make", obstat.Deny, "the policy cannot be loaded")
	if err := os.Remove(filepath.Join(w.dir, ".claude", "settings.json")); err != nil {
		t.Fatal(err)
	}
	w.check(at, "rm x", obstat.Allow)
	deep := w.where("claude-code")
	deep.Dir = filepath.Join(w.dir, "not", "there", "yet")
	w.check(deep, "curl x", obstat.Deny)
}

// TestElsewhere: the policy of the agent's own project holds wherever a call is
// made, and that of a place that the call has chosen allows nothing.
func TestElsewhere(t *testing.T) {
	w := newWorld(t, map[string]string{"work/p/.claude/settings.json": noCurl, "lax/.claude/settings.json": `{"permissions":{"allow":["Bash"],"deny":["Bash(rm *)"]}}`})
	lax := filepath.Join(w.top, "lax")
	at := &policy.Where{Agent: "claude-code", Dir: lax, Start: w.dir, Home: w.home, Getenv: os.Getenv}
	w.check(at, "curl x", obstat.Deny)
	w.check(at, "rm x", obstat.Deny)
	w.check(at, "make", obstat.Allow)
	at = &policy.Where{Agent: "claude-code", Dir: w.dir, Roots: []string{lax}, Home: w.home, Getenv: os.Getenv}
	w.check(at, "curl x", obstat.Deny)
	w.check(at, "rm x", obstat.Deny)
	empty := filepath.Join(w.top, "empty")
	if err := os.Mkdir(empty, 0o755); err != nil {
		t.Fatal(err)
	}
	at = &policy.Where{Agent: "codex", Dir: lax, Start: empty, Chosen: true, Home: w.home, Getenv: os.Getenv}
	w.check(at, "make", obstat.Ask)
	w.check(at, "rm x", obstat.Deny)
	at = &policy.Where{Agent: "codex", Dir: w.dir, Also: []string{lax}, Home: w.home, Getenv: os.Getenv}
	w.check(at, "make", obstat.Allow)
	w.check(at, "rm x", obstat.Deny)
	at = &policy.Where{Agent: "codex", Dir: empty, Also: []string{lax}, Home: w.home, Getenv: os.Getenv}
	w.check(at, "make", obstat.Ask)
}

// TestLinks: a working directory that is a link into a project is in the project,
// and in the one that the link lies in.
func TestLinks(t *testing.T) {
	w := newWorld(t, map[string]string{"work/p/.claude/settings.json": noCurl, "work/p/sub/x": "", "other/.claude/settings.json": `{"permissions":{"allow":["Bash"],"deny":["Bash(rm *)"]}}`})
	for link, to := range map[string]string{"link": "work/p", "deep": "work/p/sub", "other/in": "work/p/sub", "a": "b", "b": "a"} {
		if err := os.Symlink(filepath.Join(w.top, to), filepath.Join(w.top, link)); err != nil {
			t.Fatal(err)
		}
	}
	for _, dir := range []string{"link", "link/sub", "deep", "other/in"} {
		at := w.where("claude-code")
		at.Dir = filepath.Join(w.top, dir)
		w.check(at, "curl x", obstat.Deny)
		w.check(at, "make", obstat.Allow)
		if want := map[bool]obstat.Verdict{true: obstat.Deny, false: obstat.Allow}[dir == "other/in"]; w.bash(at, "rm x").Verdict != want {
			t.Errorf("%s: rm is not %s", dir, want)
		}
	}
	at := w.where("claude-code")
	at.Dir = filepath.Join(w.top, "a")
	w.check(at, "ls", obstat.Deny, "its links lead in circles")
	if err := os.Symlink("settings.json", filepath.Join(w.top, "work", ".claude")); err != nil {
		t.Fatal(err)
	}
	w.check(w.where("claude-code"), "make", obstat.Allow) // it leads nowhere
	if err := os.Symlink("obstat.json", filepath.Join(w.dir, "obstat.json")); err != nil {
		t.Fatal(err)
	}
	w.check(w.where("claude-code"), "make", obstat.Deny, "obstat.json", "too many levels")
}

// TestBroken: a file that cannot be loaded is not one that is not there.
func TestBroken(t *testing.T) {
	for name, text := range map[string]string{
		".claude/settings.json":           `{"permissions":{"deny":["Bash(rm *)",]}}`,
		".claude/settings.local.json":     ``,
		"opencode.json":                   `{"permission":{"bash":{"rm *":"deny"}}`,
		".opencode/config.json":           `[]`,
		"obstat.json":                     `{"rules":{}}`,
		".obstat/program.json":            ``,
		"adk-permissions.yaml":            "deny_patterns: [rm",
		"permission_context.json":         `{"deny_rules":[]}`,
		".jiuwenswarm/config/config.yaml": "permissions: [x",
		".claude/settings.json/a":         "", // a directory
		"obstat.json/a":                   "",
	} {
		w := newWorld(t, map[string]string{"home/.claude/settings.json": claudeAll, "work/p/" + name: text})
		for _, agent := range agents {
			w.check(w.where(agent), "ls", obstat.Deny, "the policy cannot be loaded")
		}
	}
	w := newWorld(t, map[string]string{"home/.claude/settings.json": `{"permissions":[]}`})
	w.check(w.where("claude-code"), "ls", obstat.Deny, "home/.claude/settings.json")
	if _, err := w.finder.Find(&policy.Where{Named: &policy.Named{Dialect: "nothing"}}); err == nil || !strings.Contains(err.Error(), "nothing") {
		t.Errorf("%v", err)
	}
	if f := w.find(&policy.Where{Dir: "here", Home: w.home}); f.Err() == nil || f.Decide(bash(&policy.Where{}, "ls"), nil).Verdict != obstat.Deny {
		t.Errorf("a relative directory: %v", f.Err())
	}
}

// TestNamed: a named policy is taken as named.
func TestNamed(t *testing.T) {
	w := newWorld(t, map[string]string{"work/p/x.json": allowBash, "home/.config/opencode/opencode.json": denyRm, "work/p/.claude/settings.json": noCurl})
	at := w.where("opencode")
	at.Start = w.dir
	at.Named = &policy.Named{Files: []string{"x.json"}, Options: map[string]string{"order": "last"}}
	w.check(at, "rm x", obstat.Allow, "x.json")
	at.Named.Files = []string{"user=x.json"}
	w.check(at, "rm x", obstat.Allow)
	for _, files := range [][]string{{"nowhere.json"}, {".claude/settings.json", "x.json"}} {
		at.Named.Files = files
		if _, err := w.finder.Find(at); err == nil {
			t.Errorf("%q: no error", files)
		}
	}
	at.Named = &policy.Named{Dialect: "opencode"} // of what is found, those files
	w.check(at, "rm x", obstat.Deny)
	w.check(at, "curl x", obstat.Ask)
	at.Named = &policy.Named{Dialect: "builtin"}
	w.check(at, "curl x", obstat.Ask, "built-in")
}

// toy is a dialect whose file is one word: the verdict for every call.
type toy struct{}

func (toy) Name() string { return "toy" }
func (toy) Detect(f *dialect.File) dialect.Confidence {
	if strings.HasSuffix(f.Name, "toy.txt") {
		return dialect.Sure
	}
	return dialect.No
}
func (toy) Load(in *dialect.Input) (*obstat.Program, obstat.Errors) {
	v, err := obstat.ParseVerdict(strings.TrimSpace(string(in.Files[len(in.Files)-1].Data)))
	if err != nil {
		return nil, obstat.Errors{{Code: obstat.CodeSyntax, Pos: in.Files[0].Pos(0), Msg: err.Error()}}
	}
	return &obstat.Program{Dialect: "toy", Mode: "m", Pipelines: map[obstat.Mode]obstat.Pipeline{"m": {Default: v}}}, nil
}
func (toy) Library() *obstat.Library { return &obstat.Library{} }
func (toy) Info() dialect.Info       { return dialect.Info{Files: []string{"toy.txt"}} }

// TestToyDialect: a dialect is one type and one line of the list; nothing else has
// to know it.
func TestToyDialect(t *testing.T) {
	w := newWorld(t, map[string]string{"work/toy.txt": "deny"})
	w.check(w.where("codex"), "make", obstat.Ask)
	w.finder.Dialects = append(all.All(), toy{})
	w.check(w.where("codex"), "make", obstat.Deny)
	w.write("work/toy.txt", "allow")
	w.check(w.where("codex"), "make", obstat.Allow)
	w.write("work/p/opencode.json", denyRm)
	w.check(w.where("codex"), "rm x", obstat.Deny)
	w.write("work/toy.txt", "perhaps")
	w.check(w.where("codex"), "make", obstat.Deny, "toy.txt:1:1", "perhaps")
}

// TestLooked: every file that exists is listed, and why it counts or not.
func TestLooked(t *testing.T) {
	w := newWorld(t, map[string]string{"home/.claude/settings.json": claudeAll, "home/.config/opencode/opencode.json": denyRm, "work/p/obstat.json": program(obstat.Ask, "rm *"),
		"work/p/.claude/settings.json": noCurl, "work/p/sub/opencode.json": allowBash})
	at := w.where("claude-code")
	at.Dir = filepath.Join(w.dir, "sub")
	var got []string
	for _, l := range w.find(at).Looked {
		rel, _ := filepath.Rel(w.top, l.Name)
		got = append(got, fmt.Sprintf("%s %s %s %v %s", rel, l.Layer, l.Dialect, l.InForce, l.Why))
	}
	for _, want := range []string{
		"work/p/obstat.json project program true found in the project",
		"work/p/.claude/settings.json project claudecode false program decides here",
		"work/p/sub/opencode.json project opencode true found below",
		"home/.claude/settings.json user claudecode true the user's own; what it denies no project lifts",
		"home/.config/opencode/opencode.json user opencode true",
	} {
		if !strings.Contains(strings.Join(got, "\n"), want) {
			t.Errorf("no %q in\n%s", want, strings.Join(got, "\n"))
		}
	}
}
