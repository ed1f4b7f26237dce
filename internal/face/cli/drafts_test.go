package cli

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/dialect/all"
	"github.com/obstat/obstat/dialect/native"
	"github.com/obstat/obstat/internal/study/convert"
	"github.com/obstat/obstat/policy"
)

var draftProjects = flag.Int("drafts", 4, "how many generated projects drafts are made for; make test-drafts makes 200")

// The things that generated rules are about.
var (
	draftCommands = []string{"npm", "npm test", "npm publish", "npm run build", "git push", "git commit", "git add", "git status", "git checkout", "git restore", "git branch", "rm", "rm -rf",
		"curl", "docker run", "make", "make test", "terraform apply", "kubectl delete", "cargo", "pip install", "ls", "cat", "go test", "sudo", "find", "mv"}
	draftPaths = []string{".env", "secrets/**", "src/gen/**", "config/prod.yaml", "package.json", ".github/**", "*.pem", "docs/**", "README.md"}
	draftTools = []string{"WebFetch", "mcp__db__drop", "mcp__mail__send", "Task", "WebSearch"}
)

// A generator writes the rules of a project in some dialects; every choice comes from its seed.
type generator struct{ *rand.Rand }

func (g generator) pick(list []string) string { return list[g.IntN(len(list))] }

func (g generator) some(list []string, most int) (out []string) {
	for range g.IntN(most + 1) {
		out = append(out, g.pick(list))
	}
	return out
}

func quoted(list []string) string {
	b, _ := json.Marshal(append([]string{}, list...))
	return string(b)
}

func (g generator) claude() string {
	rule := func() string {
		switch g.IntN(10) {
		case 0, 1, 2:
			return "Bash(" + g.pick(draftCommands) + ":*)"
		case 3, 4:
			return "Bash(" + g.pick(draftCommands) + " *)"
		case 5:
			return "Bash(" + g.pick(draftCommands) + ")"
		case 6:
			return "Read(./" + g.pick(draftPaths) + ")"
		case 7:
			return "Edit(" + g.pick(draftPaths) + ")"
		case 8:
			return g.pick(draftTools)
		}
		return g.pick([]string{"WebFetch(domain:evil.example)", "Agent(x)", "Bash(git * --force)", "Write", "Read(~/.ssh/**)"})
	}
	list := func(most int) (out []string) {
		for range 1 + g.IntN(most) {
			out = append(out, rule())
		}
		return out
	}
	return fmt.Sprintf(`{"permissions": {"allow": %s, "ask": %s, "deny": %s}}`, quoted(list(3)), quoted(list(3)), quoted(list(4)))
}

func (g generator) opencode() string {
	verdict := func() string { return g.pick([]string{"deny", "ask", "deny", "ask", "allow"}) }
	bash := ""
	if g.IntN(3) > 0 {
		bash = `"*": "` + g.pick([]string{"ask", "allow", "deny"}) + `"`
	}
	drawn := map[string]bool{}
	for range 1 + g.IntN(4) {
		key := g.pick(draftCommands) + g.pick([]string{" *", "*", ""})
		if drawn[key] {
			continue // a key stands once in an object
		}
		drawn[key] = true
		if bash != "" {
			bash += ", "
		}
		bash += fmt.Sprintf("%q: %q", key, verdict())
	}
	return fmt.Sprintf(`{"permission": {"bash": {%s}, "edit": {%q: %q}, "webfetch": %q}}`, bash, g.pick(draftPaths), verdict(), verdict())
}

func (g generator) codex() (out string) {
	for range 1 + g.IntN(4) {
		out += fmt.Sprintf("prefix_rule(pattern=%s, decision=%q)\n", quoted(strings.Fields(g.pick(draftCommands))), g.pick([]string{"forbidden", "prompt", "forbidden", "allow"}))
	}
	return out
}

func (g generator) gemini() (out string) {
	for i := range 1 + g.IntN(3) {
		out += fmt.Sprintf("[[rule]]\ntoolName = \"run_shell_command\"\ncommandPrefix = %q\ndecision = %q\npriority = %d\n", g.pick(draftCommands), g.pick([]string{"deny", "ask_user", "allow"}), 100+i)
	}
	if g.IntN(2) == 0 {
		out += fmt.Sprintf("[[rule]]\ntoolName = %q\ndecision = %q\npriority = 200\n", g.pick([]string{"write_file", "web_fetch", "replace"}), g.pick([]string{"deny", "ask_user"}))
	}
	return out
}

func (g generator) agentscope() string {
	rules := func(behavior string) string {
		bash, write := []string{}, []string{}
		for _, c := range append(g.some(draftCommands, 3), g.pick(draftCommands)) {
			bash = append(bash, fmt.Sprintf(`{"tool_name":"Bash","rule_content":"%s:*","behavior":%q,"source":"u"}`, c, behavior))
		}
		for _, p := range g.some(draftPaths, 2) {
			write = append(write, fmt.Sprintf(`{"tool_name":"Write","rule_content":%q,"behavior":%q,"source":"u"}`, p, behavior))
		}
		return fmt.Sprintf(`{"Bash":[%s],"Write":[%s]}`, strings.Join(bash, ","), strings.Join(write, ","))
	}
	return fmt.Sprintf(`{"mode":"default","allow_rules":%s,"deny_rules":%s,"ask_rules":%s}`, rules("allow"), rules("deny"), rules("ask"))
}

func (g generator) jiuwen() string {
	out := "permissions:\n  enabled: true\n  schema: tiered_policy\n  tools:\n    bash: " + g.pick([]string{"allow", "ask"}) + "\n    write_file: " + g.pick([]string{"deny", "ask", "allow"}) + "\n  rules:\n"
	for i := range 1 + g.IntN(4) {
		out += fmt.Sprintf("    - {id: r%d, tools: [bash], pattern: %q, action: %s}\n", i, g.pick(draftCommands)+" *", g.pick([]string{"deny", "ask"}))
	}
	return out
}

func (g generator) adkfluent() string {
	names := []string{"bash", "write_file", "read_file", "web_fetch", "deploy", "search"}
	return fmt.Sprintf("mode: default\nallow: %s\nask: %s\ndeny: %s\ndeny_patterns: %s\n", quoted(g.some(names, 2)), quoted(append(g.some(names, 2), g.pick(names))), quoted(append(g.some(names, 1), g.pick(names))), quoted([]string{g.pick([]string{"*secret*", "db_*", "*delete*"})}))
}

func (g generator) chorus() string {
	return fmt.Sprintf(`{"name": "helper", "permissions": {"allow": %s, "ask": %s}}`, quoted([]string{"tool:view:.*", "tool:bash:" + g.pick(draftCommands) + ".*"}), quoted([]string{"tool:bash:" + g.pick(draftCommands) + " .*", "tool:create_file:.*"}))
}

// witnesses are calls about everything that generated rules are about, made without looking at any rule.
func witnesses(dir string) (out []*obstat.Call) {
	add := func(tool string, input map[string]string) {
		raw, _ := json.Marshal(input)
		out = append(out, &obstat.Call{Tool: tool, Input: raw, Dir: dir, Roots: []string{dir}})
	}
	for _, c := range draftCommands {
		for _, form := range []string{"%s", "%s x", "%s --force", "%s -v x.txt", "env A=1 %s x", "cd src && %s x", "%s x | cat", "bash -c '%s x'", "true; %s"} {
			for _, tool := range []string{"Bash", "bash", "run_shell_command", "shell"} {
				if command := fmt.Sprintf(form, c); tool == "Bash" || form == "%s" || form == "%s x" {
					add(tool, map[string]string{"command": command})
				}
			}
		}
	}
	for _, p := range draftPaths {
		p = strings.NewReplacer("**", "a/b.txt", "*", "key").Replace(p)
		for _, tool := range []string{"Read", "Write", "Edit"} {
			add(tool, map[string]string{"file_path": filepath.Join(dir, p), "content": "x", "old_string": "a", "new_string": "b"})
		}
		add("write_file", map[string]string{"path": p, "file_path": p, "content": "x"})
		for _, command := range []string{"cat ", "rm ", "touch ", "echo x > "} {
			add("Bash", map[string]string{"command": command + p})
		}
	}
	for _, name := range append(draftTools, "deploy", "search", "db_drop", "my_secret", "delete_all", "web_fetch", "webfetch") {
		add(name, map[string]string{"url": "https://evil.example/x", "subagent_type": "x", "query": "q", "prompt": "p"})
	}
	add("Bash", map[string]string{"command": "cat ~/.ssh/id_rsa"})
	add("Bash", map[string]string{"command": "git push origin main --force"})
	return out
}

// strict tells whether a deny or ask rule has decided.
func strict(d *obstat.Decision) bool {
	return d.Rule != nil && d.Rule.Verdict != obstat.Allow && d.Verdict != obstat.Allow && d.Rule.Pos.Line > 0
}

// A tally is how many drafts there were, how many of them would be looser and are not written, and how many calls
// a rule decided before.
type tally struct{ drafts, refused, calls int }

// TestInitNeverLooser: generated projects with deny and ask rules in several dialects. After `init` of each preset no call of
// a rule is decided more freely than before: rules that a draft cannot say are told, and nothing is written then.
func TestInitNeverLooser(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("-short: presets of generated projects")
	}
	var inits tally
	for seed := range *draftProjects {
		g := generator{rand.New(rand.NewPCG(uint64(seed), 30))}
		dir, home := filepath.Join(t.TempDir(), "project"), t.TempDir()
		write := func(name, text string) {
			name = filepath.Join(dir, name)
			if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		write("package.json", `{"scripts": {"test": "jest", "build": "x", "deploy": "y"}}`)
		write("Makefile", "test:\n\tx\nrelease:\n\ty\n")
		texts := map[string]string{".claude/settings.json": g.claude(), "opencode.json": g.opencode(), ".codex/rules/default.rules": g.codex(), ".gemini/policies/own.toml": g.gemini()}
		for _, name := range []string{".claude/settings.json", "opencode.json", ".codex/rules/default.rules", ".gemini/policies/own.toml"} {
			if g.IntN(2) == 0 {
				write(name, texts[name])
			}
		}
		write(".claude/settings.json", texts[".claude/settings.json"])
		before := inForce(t, dir, home)
		for _, preset := range native.Presets() {
			o := &initOptions{Factory: &Factory{IO: &IO{Out: io.Discard, Err: io.Discard}, World: &obstat.Snapshot{HomeDir: home}}, Preset: preset, Getenv: func(string) string { return "" }}
			o.Store.Path = filepath.Join(home, "none.db")
			d, err := o.draft(t.Context(), dir, filepath.Join(dir, native.File))
			if err != nil {
				t.Fatalf("%d %s: %v", seed, preset, err)
			}
			if inits.drafts++; len(d.Looser) > 0 {
				inits.refused++
				t.Logf("%d %s: refused: %s %s was %s by %s, now %s by %s", seed, preset, d.Looser[0].Call.Tool, d.Looser[0].Call.Input, d.Looser[0].Was, d.Looser[0].WasBy.Rule, d.Looser[0].Now, d.Looser[0].NowBy.Reason)
				continue
			}
			write(native.File, d.Text)
			after := inForce(t, dir, home)
			inits.calls += compare(t, fmt.Sprintf("%d init %s", seed, preset), dir, home, before.decide, after.decide, d.Text)
			if err := os.Remove(filepath.Join(dir, native.File)); err != nil {
				t.Fatal(err)
			}
		}
	}
	t.Logf("%d drafts, %d refused, %d calls of rules", inits.drafts, inits.refused, inits.calls)
	if inits.refused*10 > inits.drafts || inits.calls == 0 {
		t.Errorf("too many drafts are refused, or no rule was tried")
	}
}

// TestConvertNeverLooser: of generated policies in every dialect, no call of a rule is decided more freely by the
// obstat.yaml that it is converted to.
func TestConvertNeverLooser(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("-short: policies that are generated")
	}
	var converts tally
	for seed := range *draftProjects {
		g := generator{rand.New(rand.NewPCG(uint64(seed), 31))}
		const dir, home = "/home/user/project", "/home/user"
		texts := map[string]string{".claude/settings.json": g.claude(), "opencode.json": g.opencode(), ".codex/rules/default.rules": g.codex(), ".gemini/policies/own.toml": g.gemini(),
			"context.json": g.agentscope(), "config.yaml": g.jiuwen(), "adk-permissions.yaml": g.adkfluent(), "agent.json": g.chorus()}
		names := []string{".claude/settings.json", "opencode.json", ".codex/rules/default.rules", ".gemini/policies/own.toml", "context.json", "config.yaml", "adk-permissions.yaml", "agent.json"}
		name := names[seed%len(names)]
		files := []dialect.File{{Name: filepath.Join(dir, name), Data: []byte(texts[name])}}
		kind, err := all.Of(map[string]string{"context.json": "agentscope", "config.yaml": "jiuwen", "agent.json": "chorus"}[name], files)
		if err != nil {
			t.Fatal(err)
		}
		l, err := dialect.Load(kind, &dialect.Input{Files: files, Home: home})
		if err != nil {
			t.Fatalf("%s\n%s: %v", name, texts[name], err)
		}
		res, err := convert.ToNative(l, nil)
		if err != nil {
			t.Fatalf("%d convert %s: %v", seed, name, err)
		}
		if converts.drafts++; res.Differences.Looser > 0 {
			converts.refused++
			continue
		}
		n, err := dialect.Load(native.Dialect{}, &dialect.Input{Files: []dialect.File{{Name: native.File, Data: []byte(res.Text)}}, Home: home})
		if err != nil {
			t.Fatal(err)
		}
		world := &obstat.Snapshot{HomeDir: home}
		converts.calls += compare(t, fmt.Sprintf("%d convert %s", seed, name), dir, home, func(c *obstat.Call) obstat.Decision { return l.Policy.Decide(c, world) },
			func(c *obstat.Call) obstat.Decision { return n.Policy.Decide(c, world) }, texts[name]+"\n"+res.Text)
	}
	t.Logf("%d drafts, %d refused, %d calls of rules", converts.drafts, converts.refused, converts.calls)
	if converts.calls == 0 {
		t.Errorf("no rule was tried")
	}
}

// A forced is what decides in a directory.
type forced struct {
	*policy.InForce
	world obstat.World
}

func (f forced) decide(c *obstat.Call) obstat.Decision { return f.Decide(c, f.world).Decision }

func inForce(t *testing.T, dir, home string) forced {
	t.Helper()
	found, err := (&policy.Finder{NoPins: true}).Find(&policy.Where{Dir: dir, Home: home, Mine: true, Getenv: func(string) string { return "" }})
	if err == nil {
		err = found.Err()
	}
	if err != nil {
		t.Fatal(err)
	}
	return forced{found, &obstat.Snapshot{HomeDir: home}}
}

// compare decides all witnesses by both, and returns how many a rule decided before.
func compare(t *testing.T, name, dir, home string, before, after func(*obstat.Call) obstat.Decision, text string) (n int) {
	t.Helper()
	bad := 0
	for _, c := range witnesses(dir) {
		a := before(c)
		if !strict(&a) || len(a.Faults) > 0 {
			continue
		}
		n++
		if b := after(c); b.Verdict > a.Verdict {
			if bad++; bad <= 3 {
				t.Errorf("%s: %s %s: %s, was %s: %s; now: %s", name, c.Tool, c.Input, b.Verdict, a.Verdict, a.Reason(), b.Reason())
			}
		}
	}
	if bad > 0 {
		t.Logf("%s: %d calls are looser under\n%s", name, bad, text)
	}
	return n
}
