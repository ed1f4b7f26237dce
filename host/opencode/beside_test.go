package opencode

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/dialect/opencode"
)

// A beside is one call, the configuration and the agent that it is made under, and opencode's answer to it.
type beside struct {
	Tool  string          `json:"tool"`
	Agent string          `json:"agent"`
	Input json.RawMessage `json:"input"`

	config, dir string
}

// An answered is opencode's answer to a call.
type answered struct {
	Verdict string         `json:"verdict"`
	Asks    []opencode.Ask `json:"asks"`
}

// TestBeside puts CALLS generated calls to opencode's own tools and rules, in opencode's process, and to the engine.
// None may be looser; a verdict, or the patterns of an ask, that are other without the floor are counted and told.
func TestBeside(t *testing.T) {
	dir, _ := theirs(t)
	preload, err := filepath.Abs("testdata/originals/rpc.ts")
	if err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile("testdata/originals/calls.ts")
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "test", "obstat-calls.test.ts") // beside opencode's own, for its imports
	if err := os.WriteFile(file, source, 0o600); err != nil {
		t.Fatal(err)
	}
	defer os.Remove(file)
	n, err := strconv.Atoi(cmp.Or(os.Getenv("CALLS"), "2000"))
	if err != nil {
		t.Fatal(err)
	}
	calls := generated(t, n)
	c := &comparison{t: t, calls: calls}
	out, err := bunTest(t, c.answer, "opencode", "--preload", preload, "test/obstat-calls.test.ts")
	if err != nil {
		t.Errorf("opencode: %v", err)
	}
	t.Logf("%d calls: %v", c.done, c.counts)
	for _, example := range c.examples {
		t.Log(example)
	}
	if c.done != len(calls) {
		t.Errorf("%d of %d calls were answered:\n%s", c.done, len(calls), failures(out))
	}
}

// A comparison hands out calls, those of one directory at a time, and compares opencode's answers.
type comparison struct {
	t        *testing.T
	calls    []beside
	next     int
	done     int
	counts   map[string]int
	examples []string
}

func (c *comparison) answer(op string, args json.RawMessage) (any, error) {
	if op == "next" {
		if c.next == len(c.calls) {
			return nil, nil
		}
		from := c.next
		for c.next < len(c.calls) && c.calls[c.next].dir == c.calls[from].dir {
			c.next++
		}
		return map[string]any{"directory": c.calls[from].dir, "calls": c.calls[from:c.next]}, nil
	}
	var got struct {
		Answers []answered `json:"answers"`
	}
	if err := json.Unmarshal(args, &got); err != nil {
		return nil, err
	}
	for i := range got.Answers {
		c.compare(&c.calls[c.done], &got.Answers[i])
		c.done++
	}
	return nil, nil
}

// compare decides a call with and without the floor.
func (c *comparison) compare(b *beside, want *answered) {
	call := &obstat.Call{Tool: b.Tool, Input: b.Input, Dir: b.dir, Roots: []string{b.dir}, Mode: obstat.Mode(b.Agent)}
	floor, bare := c.decide(b, call, "on"), c.decide(b, call, "off")
	if c.counts == nil {
		c.counts = map[string]int{}
	}
	c.counts["floor "+order(floor.String(), want.Verdict)]++
	c.counts["bare "+order(bare.String(), want.Verdict)]++
	for verdict, kind := range map[string]string{floor.String(): "floor", bare.String(): "bare"} {
		if order(verdict, want.Verdict) == "looser" {
			c.t.Errorf("%s: %s, opencode says %s: %s %s %s, %v", kind, verdict, want.Verdict, b.config, b.Agent, b.Input, want.Asks)
		}
	}
	asks, err := opencode.Asks(opencode.Last, false, call, nil)
	if ours, theirs := told(asks), told(want.Asks); err != nil || ours != theirs {
		c.counts["other asks"]++
		if len(c.examples) < 12 {
			c.examples = append(c.examples, fmt.Sprintf("%s %s: %s, opencode %s, %v", b.Tool, b.Input, ours, theirs, err))
		}
	}
}

// told is asks as JSON.
func told(asks []opencode.Ask) string {
	data, err := json.Marshal(asks)
	if err != nil {
		return err.Error()
	}
	return strings.ReplaceAll(string(data), "null", "[]")
}

func (c *comparison) decide(b *beside, call *obstat.Call, floor string) obstat.Verdict {
	l, err := dialect.Load(opencode.Dialect{}, &dialect.Input{Options: map[string]string{"floor": floor},
		Files: []dialect.File{{Name: "opencode.json", Data: []byte(b.config)}}, Home: c.t.TempDir()})
	if err != nil {
		c.t.Fatal(err)
	}
	return l.Policy.Decide(call, nil).Verdict
}

// order compares two verdicts.
func order(ours, theirs string) string {
	strict := []string{"deny", "ask", "allow"}
	switch a, b := slices.Index(strict, ours), slices.Index(strict, theirs); {
	case a < b:
		return "stricter"
	case a > b:
		return "looser"
	}
	return "equal"
}

// generated makes calls, twenty for each configuration, always the same ones.
func generated(t *testing.T, n int) (out []beside) {
	r := rand.New(rand.NewPCG(1, 1))
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for len(out) < n {
		dir := filepath.Join(root, fmt.Sprint(len(out)))
		config := configuration(r)
		for name, data := range map[string]string{"opencode.json": config, "a.txt": "x\n", "src/b.py": "y\n", ".env": "K=1\n"} {
			if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, name), []byte(data), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		// Outside of a repository opencode names paths from the root.
		if said, err := exec.CommandContext(t.Context(), "git", "init", "-q", dir).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, said)
		}
		for range min(20, n-len(out)) {
			tool, input := generatedCall(r, dir)
			agent := pick(r, "build", "build", "build", "plan", "general", "own")
			out = append(out, beside{Tool: tool, Agent: agent, Input: input, config: config, dir: dir})
		}
	}
	return out
}

func pick(r *rand.Rand, of ...string) string { return of[r.IntN(len(of))] }

// configuration is an opencode.json with an agent of its own.
func configuration(r *rand.Rand) string {
	action := func() any { return pick(r, "allow", "ask", "deny") }
	permission := func() map[string]any {
		out := map[string]any{}
		for range r.IntN(4) {
			switch name := pick(r, "*", "bash", "edit", "read", "glob", "external_directory", "doom_loop"); name {
			case "bash":
				out[name] = map[string]any{pick(r, "*", "git *", "ls*", "rm *", "npm *", "git push*", "cat *"): action()}
			case "edit", "read":
				out[name] = map[string]any{pick(r, "*", "*.env", "src/*", "**/*.py", "a.txt"): action()}
			case "external_directory":
				out[name] = map[string]any{pick(r, "*", "/etc/*", "/tmp/*"): action()}
			default:
				out[name] = action()
			}
		}
		return out
	}
	data, err := json.Marshal(map[string]any{"permission": permission(),
		"agent": map[string]any{"own": map[string]any{"mode": "primary", "prompt": "x", "permission": permission()}}})
	if err != nil {
		return "{}"
	}
	return string(data)
}

func generatedCall(r *rand.Rand, dir string) (tool string, input json.RawMessage) {
	commands := []string{"ls", "ls -la src", "git status", "git push origin main", "npm test", "make && make install",
		"cat a.txt > b.txt", "rm -rf build", "cat /etc/passwd", "cp a.txt /tmp/x/y", "cd src && ls", "echo $(git log)",
		"git log | head", "FOO=1 npm run dev", "find . -name '*.py' -exec rm {} ;", "cat .env", "mkdir -p src/x", "true; rm a.txt",
		"for f in *.py; do git add $f; done", "touch /etc/x", "mv a.txt ../b.txt", "(cd / && ls)", "echo hi"}
	files := []string{"a.txt", "src/b.py", ".env", "/etc/passwd", "../x"}
	path := pick(r, files...)
	if !filepath.IsAbs(path) {
		path = filepath.Join(dir, path)
	}
	args := map[string]any{}
	switch tool = pick(r, "bash", "bash", "bash", "read", "write", "edit", "glob", "grep"); tool {
	case "bash":
		args = map[string]any{"command": pick(r, commands...), "description": "x"}
	case "read":
		args["filePath"] = path
	case "write":
		args["filePath"], args["content"] = path, "new\n"
	case "edit":
		old := map[string]string{"a.txt": "x", "src/b.py": "y", ".env": "K"} // an edit that finds no text does not ask
		name := pick(r, "a.txt", "src/b.py", ".env")
		args["filePath"], args["oldString"], args["newString"] = filepath.Join(dir, name), old[name], "z"
	default:
		args["pattern"] = pick(r, "*.py", "**/*.txt", "x")
		if r.IntN(2) == 0 {
			args["path"] = pick(r, dir, "/etc", filepath.Join(dir, "src"))
		}
	}
	input, err := json.Marshal(args)
	if err != nil {
		input = nil
	}
	return tool, input
}
