package all_test

import (
	"encoding/json"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/dialect/all"
	"github.com/obstat/obstat/internal/format/jsonl/jsonltest"
	"github.com/obstat/obstat/shell"
)

// policies allow commands and deny `rm`, `curl` and one path, PATH, in each dialect that has rules
// for paths; the others deny the commands alone.
var policies = map[string]string{
	"claudecode": `{"permissions":{"allow":["Bash","Read","Edit","Write"],"deny":["Bash(rm *)","Bash(curl *)","Read(PATH)","Edit(PATH)"]}}`,
	"opencode":   `{"permission":{"*":"allow","bash":{"*":"allow","rm *":"deny","curl *":"deny"},"read":{"*":"allow","PATH":"deny"},"edit":{"*":"allow","PATH":"deny"}}}`,
	"agentscope": `{"mode":"bypass","working_directories":{},"allow_rules":{},"ask_rules":{},"deny_rules":{"Bash":[{"tool_name":"Bash","rule_content":"rm:*","behavior":"deny","source":"x"},{"tool_name":"Bash","rule_content":"curl:*","behavior":"deny","source":"x"}],
		"Read":[{"tool_name":"Read","rule_content":"PATH","behavior":"deny","source":"x"}],"Write":[{"tool_name":"Write","rule_content":"PATH","behavior":"deny","source":"x"}]}}`,
	"program": `{"obstat":1,"mode":"m","pipelines":{"m":{"stages":[{"match":"deny rules","rules":"deny"}],"default":"allow"}},"faces":{"write":{"tool":"Write","field":"file_path"},"read":{"tool":"Read","field":"file_path"}},
		"rules":{"deny":[{"tool":"Bash","field":"command","match":{"wildcard":"rm *"},"verdict":"deny"},{"tool":"Bash","field":"command","match":{"wildcard":"curl *"},"verdict":"deny"},
		{"tool":"Read","field":"file_path","match":{"minimatch":"PATH"},"verdict":"deny"},{"tool":"Write","field":"file_path","match":{"minimatch":"PATH"},"verdict":"deny"}]}}`,
	"adkfluent": `{"mode":"bypass","allow":[],"deny":[],"ask":[],"allow_patterns":["*"]}`,
	"chorus":    `{"name":"x","permissions":{"allow":["(?s).*"],"ask":[]}}`,
}

const home, dir = "/home/ann", "/home/ann/proj"

func load(t interface {
	Helper()
	Fatal(...any)
}, name, path string) *obstat.Policy {
	t.Helper()
	d, err := all.Find(name)
	if err != nil {
		t.Fatal(err)
	}
	l, err := dialect.Load(d, &dialect.Input{Files: []dialect.File{{Name: "policy.json", Data: []byte(strings.ReplaceAll(policies[name], "PATH", path))}}, Home: home})
	if err != nil {
		t.Fatal(err)
	}
	return l.Policy
}

func decide(p *obstat.Policy, command string, w obstat.World) obstat.Decision {
	return p.Decide(&obstat.Call{Tool: "Bash", Input: jsonCommand(command), Dir: dir, Roots: []string{dir}}, w)
}

// jsonCommand is the input of a call that runs a command.
func jsonCommand(command string) []byte {
	input, _ := json.Marshal(map[string]string{"command": command})
	return input
}

var world = &obstat.Snapshot{HomeDir: home, Dirs: []string{"/", "/home", home, dir, dir + "/src", dir + "/src/lib"}}

// corpus is the commands of the effects' corpora that leave the shell as it was: what follows a
// `cd`, an assignment or a comment is another command than it is alone.
func corpus(t *testing.T) (out []string) {
	data, err := os.ReadFile("../../effect/testdata/harmless.txt")
	if err != nil {
		t.Fatal(err)
	}
	cmds := strings.Split(strings.TrimSpace(string(data)), "\n")[1:]
	for _, file := range []string{"danger", "unsafe", "harmful", "readonly"} {
		cmds = append(cmds, jsonltest.All[string](t, "../../effect/testdata/"+file+".jsonl.gz")...)
	}
	for _, c := range cmds {
		if len(c) < 300 && parses(c) && !strings.ContainsAny(c, "#=\n\\") && !strings.Contains(c, "<<") {
			out = append(out, c)
		}
	}
	return out
}

// parses reports whether a command can be read: with one that cannot, a list cannot be, either.
func parses(c string) bool {
	for _, g := range shell.Parse(c, nil).Gaps {
		if g.Kind == shell.Syntax {
			return false
		}
	}
	return true
}

// A list is judged no looser than each of its commands, in every dialect.
func TestListIsNoLooser(t *testing.T) {
	cmds := corpus(t)
	if len(cmds) < 500 {
		t.Fatalf("%d commands", len(cmds))
	}
	shellState := func(c string) bool {
		for _, w := range []string{"cd", "pushd", "popd", "exec", "exit", "return", "set", "unset", "alias", "source", ".", "trap", "read", "export", "shopt", "eval", "printf", "local", "declare", "hash", "enable", "function"} {
			if strings.HasPrefix(c, w+" ") || strings.Contains(c, " "+w+" ") || strings.Contains(c, "()") || c == w {
				return true
			}
		}
		return false
	}
	rnd := rand.New(rand.NewPCG(15, 2))
	for name := range policies {
		p := load(t, name, "**/.env")
		for range 150 {
			a, b := cmds[rnd.IntN(len(cmds))], cmds[rnd.IntN(len(cmds))]
			if shellState(a) {
				continue
			}
			va, vb := decide(p, a, world), decide(p, b, world)
			for _, op := range []string{" && ", " || ", "; ", " & ", "\n"} {
				if d := decide(p, a+op+b, world); d.Verdict > min(va.Verdict, vb.Verdict) {
					t.Errorf("%s: %q: %v, alone %v (%s) and %v (%s)", name, a+op+b, d.Verdict, va.Verdict, va.Reason(), vb.Verdict, vb.Reason())
				}
			}
		}
	}
}

// A set that holds another is judged no looser: where one path is not allowed, no pattern that may
// stand for it is. Directories are left out: a rule about a name, `**/.env`, is not asked for
// everything below a directory of the project, by design.
func TestWiderIsNoLooser(t *testing.T) {
	rnd := rand.New(rand.NewPCG(15, 3))
	one := func(of ...string) string { return of[rnd.IntN(len(of))] }
	for _, name := range []string{"claudecode", "opencode", "agentscope", "program"} {
		for _, rule := range []string{"src/.env", "**/.env", "**/src/**", "**/*.key", "src/lib/x.key", "*/lib/*", "**", "**/.e*"} {
			p := load(t, name, rule)
			for range 25 {
				narrow := one(".env", "x.key", "main.go", "lib")
				for range rnd.IntN(3) {
					narrow = one("src", "lib") + "/" + narrow
				}
				command := one("cat N", "cp a N", "truncate -s 0 N", "echo x > N", "sed -i s/a/b/ N", "head -5 < N", "ln a N", "mv N b", "rm N", "tar cf N a")
				with := func(path string) obstat.Decision { return decide(p, strings.ReplaceAll(command, "N", path), world) }
				before, at := with(narrow), narrow
				for range 3 {
					at = widen(rnd, at)
					after := with(at)
					if before.Verdict < obstat.Allow && after.Verdict == obstat.Allow {
						t.Errorf("%s, %s: %s: %q is %v (%s), %q is %v (%s)", name, rule, command, narrow, before.Verdict, before.Reason(), at, after.Verdict, after.Reason())
					}
				}
			}
		}
	}
}

// widen opens a character of a path that is not a slash or a leading dot, or the rest of a name.
func widen(rnd *rand.Rand, path string) string {
	i := rnd.IntN(len(path))
	if path[i] == '/' || strings.ContainsRune("[]*?", rune(path[i])) || path[i] == '.' && (i == 0 || path[i-1] == '/') || strings.LastIndexByte(path[:i], '[') > strings.LastIndexByte(path[:i], ']') {
		return path
	}
	end := i + 1
	switch rnd.IntN(3) {
	case 0:
		return path[:i] + "?" + path[end:]
	case 1:
		return path[:i] + "[" + path[i:end] + "z]" + path[end:]
	}
	if j := strings.IndexByte(path[i:], '/'); j >= 0 {
		return path[:i] + "*" + path[i+j:]
	}
	return path[:i] + "*"
}
