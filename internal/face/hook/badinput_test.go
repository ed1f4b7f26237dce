package hook

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/obstat/obstat/agent"
)

// TestTwoAgents: two agents in one directory, whose projects are others, are held to the policies of
// both places.
func TestTwoAgents(t *testing.T) {
	home := place(t, map[string]string{"one/opencode.json": `{"permission":{"*":"allow","external_directory":"allow","bash":{"*":"allow","make lint":"deny"}}}`,
		"two/opencode.json":   `{"permission":{"*":"allow","external_directory":"allow","bash":{"*":"allow","make test":"deny"}}}`,
		"third/opencode.json": `{"permission":{"*":"allow","external_directory":"allow","bash":{"*":"allow","make all":"deny"}}}`})
	for root, denied := range map[string]string{"one": "make lint", "two": "make test"} {
		for command, want := range map[string]string{"make lint": "allow", "make test": "allow", "make all": "deny", "make": "allow"} {
			if command == denied {
				want = "deny"
			}
			in := strings.Replace(payload(t, agent.Cursor, "shell", command, home+"/third", ""), fmt.Sprintf(`"workspace_roots":[%q]`, home+"/third"), fmt.Sprintf(`"workspace_roots":[%q]`, home+"/"+root), 1)
			out, words, _ := hookIn(t, &Options{Agent: agent.Cursor, Dir: home + "/third", NoLedger: true, World: homed{dir: home}}, strings.NewReader(in), nil)
			if got := strings.Contains(out+words, `"deny"`); got != (want == "deny") {
				t.Errorf("the agent of %s: %s: %s %s", root, command, out, words)
			}
		}
	}
}

// TestGoneDir: a working directory that is gone is no way around its project's rules.
func TestGoneDir(t *testing.T) {
	for name, file := range guarded {
		home := place(t, map[string]string{"p/" + file[0]: file[1], "p/secret/s": ""})
		gone := home + "/p/was/here"
		check(t, name+", in a directory that is gone", home, gone,
			cell{kind: "shell", arg: "rm x", want: "deny"}, cell{kind: "shell", arg: "touch ../../secret/x", want: "deny"}, cell{kind: "write", arg: home + "/p/secret/x", want: "deny"}, cell{kind: "shell", arg: "make", want: "allow"})
	}
}

// TestAppears: a policy that appears while the agent runs is in force for the next call; what it would
// loosen waits for a person.
func TestAppears(t *testing.T) {
	home := place(t, map[string]string{"p/src/a": ""})
	ls, rm, build := cell{kind: "shell", arg: "ls", want: "allow"}, cell{kind: "shell", arg: "ls -d /nowhere", want: "deny"}, cell{kind: "shell", arg: "make", want: "ask"}
	for _, who := range hosts {
		_ = os.Remove(home + "/p/opencode.json")
		if got, why := answer(t, who, home, home+"/p", ls); got != ls.want {
			t.Errorf("%s, without a policy: %s: %s", who, got, why)
		}
		if err := os.WriteFile(home+"/p/opencode.json", []byte(`{"permission":{"*":"allow","bash":{"*":"allow","ls -d *":"deny"}}}`), 0o644); err != nil {
			t.Fatal(err)
		}
		for _, c := range []cell{rm, build} {
			in := payload(t, who, c.kind, c.arg, home+"/p", "")
			out, words, _ := hookIn(t, &Options{Agent: who, Dir: home + "/p", NoLedger: true, World: homed{dir: home}, NoPins: true}, strings.NewReader(in), nil)
			said := out + words
			if c.want == "deny" && !strings.Contains(said, "ls -d") || c.want == "ask" && who != agent.Crush && !strings.Contains(said, "nobody has accepted yet") {
				t.Errorf("%s: %s: %s", who, c.arg, said)
			}
		}
	}
}

// TestStrange: tools with control characters in their names and fields of the wrong type are denied
// with the reason, in every agent's form.
func TestStrange(t *testing.T) {
	home := place(t, map[string]string{"p/opencode.json": `{"permission":{"*":"allow","external_directory":"allow"}}`})
	for _, who := range hosts {
		good := payload(t, who, "shell", "ls", home+"/p", "")
		name := fmt.Sprintf("%q", tools[who]["shell"][0])
		bad := map[string]string{
			"a command that is a list":   strings.Replace(good, `"ls"`, `["ls"]`, 1),
			"a command that is a number": strings.Replace(good, `"ls"`, `7`, 1),
			"no command":                 strings.Replace(strings.Replace(good, `"command":"ls"`, `"x":"ls"`, 1), `"command_line":"ls"`, `"x":"ls"`, 1),
			"a control character":        strings.Replace(good, `"ls"`, `"ls\u0007"`, 1),
			"a key twice":                strings.Replace(good, "{", `{"cwd":"/","cwd":"/",`, 1),
			"half of it":                 good[:len(good)/2],
		}
		if who != agent.Cursor { // it names no tool there
			bad["a name with a control character"] = strings.Replace(good, name, strings.TrimSuffix(name, `"`)+`\u0007"`, 1)
			for _, more := range []string{" ", "\\u200b", "\\u202e", "\\u00a0", "\\u2028"} { // blanks, and what is not shown
				bad["a name with "+more] = strings.Replace(good, name, strings.TrimSuffix(name, `"`)+more+`"`, 1)
			}
			bad["a name that is no text"] = strings.Replace(good, name, `["x"]`, 1)
		}
		if strings.Contains(good, fmt.Sprintf(`%q`, home+"/p")) {
			bad["a directory that is no text"] = strings.Replace(good, fmt.Sprintf(`%q`, home+"/p"), `7`, 1)
		}
		for what, in := range bad {
			out, words, code := hookIn(t, &Options{Agent: who, Dir: home + "/p", NoLedger: true, World: homed{dir: home}}, strings.NewReader(in), nil)
			if held := code == ExitDeny || strings.Contains(out, `"deny"`) || strings.Contains(out, `"cancel":true`); !held || len(words) < 20 {
				t.Errorf("%s, %s: %q %q %d: %s", who, what, out, words, code, in)
			}
		}
	}
}
