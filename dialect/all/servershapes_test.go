package all_test

import (
	"bufio"
	"os"
	"strings"
	"testing"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/dialect/all"
)

// shapeRules allow every tool of servers, and deny running rm, reading .env, changing git's hooks, and, where the
// dialect has rules for hosts, all hosts but two.
var shapeRules = map[string]string{
	"native": `{"version":1,"allow":["read anything","write anything","delete anything","run anything","connect anything","code","system","tool anything"],
		"deny":["run rm","read .env","write .git/hooks/**","connect anywhere except localhost, api.example"]}`,
	"claudecode": `{"permissions":{"allow":["Bash","Read","Edit","mcp__box"],"deny":["Bash(rm *)","Read(./.env)","Edit(./.git/hooks/**)"]}}`,
	"opencode": `{"permission":{"*":"allow","bash":{"*":"allow","rm *":"deny"},"read":{"*":"allow",".env":"deny"},
		"edit":{"*":"allow",".git/hooks/*":"deny"}}}`,
}

// shapePolicies loads the policies of shapeRules.
func shapePolicies(t *testing.T) map[string]*obstat.Policy {
	t.Helper()
	out := map[string]*obstat.Policy{}
	for name, text := range shapeRules {
		d, err := all.Find(name)
		if err != nil {
			t.Fatal(err)
		}
		l, err := dialect.Load(d, &dialect.Input{Files: []dialect.File{{Name: "policy.json", Data: []byte(text)}}, Home: home})
		if err != nil {
			t.Fatal(name, err)
		}
		out[name] = l.Policy
	}
	return out
}

// A server's tool hides commands, hosts and paths in no shape of its arguments: a list of words, a directory beside a
// name, JSON in a text, a key. Texts that only speak of these things need no question. In testdata/servershapes.lines
// each line says which: `host` is harm that only a rule for hosts is about.
func TestServerShapes(t *testing.T) {
	policies := shapePolicies(t)
	f, err := os.Open("testdata/servershapes.lines")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan(); {
		kind, input, _ := strings.Cut(s.Text(), " ")
		input = strings.ReplaceAll(input, "$DIR", dir)
		for name, p := range policies {
			fine := kind == "fine" || kind == "host" && name != "native"
			d := p.Decide(&obstat.Call{Tool: "mcp__box__do", Input: []byte(input), Dir: dir, Roots: []string{dir}}, formsWorld)
			if fine != (d.Verdict == obstat.Allow) || len(d.Faults) > 0 {
				t.Errorf("%s, %s %s: %v: %s", name, kind, input, d.Verdict, d.Reason())
			}
		}
	}
}

// TestCodeTools: a tool that runs code is held to the rules for commands as an interpreter is that gets the same code.
func TestCodeTools(t *testing.T) {
	for name, p := range shapePolicies(t) {
		for input, want := range map[string]bool{`{"code": "import os; os.system('rm -rf x')"}`: false,
			`{"language": "bash", "code": "rm -rf x"}`: false, `{"language": "js", "code": "require('child_process').execSync('rm x')"}`: false,
			`{"code": "print(1 + 1)"}`: true, `{"language": "bash", "code": "ls"}`: true} {
			call := &obstat.Call{Tool: "execute_code", Input: []byte(input), Dir: dir, Roots: []string{dir}}
			if name == "claudecode" {
				continue // nothing there allows such a tool
			}
			if got := p.Decide(call, formsWorld); want != (got.Verdict == obstat.Allow) {
				t.Errorf("%s: %s: %v: %s", name, input, got.Verdict, got.Reason())
			}
		}
	}
}

// TestFileToolWithoutPath: a tool that has the name of one that reads or writes files, and its path in another field,
// is looked at as a server's tool is.
func TestFileToolWithoutPath(t *testing.T) {
	p := shapePolicies(t)["native"]
	for input, want := range map[string]bool{`{"id": ".env"}`: false, `{"doc": {"path": ".env"}}`: false,
		`{"source": "` + dir + `/.env"}`: false, `{"type": "record", "id": "record-1"}`: true} {
		for _, tool := range []string{"read", "Read", "write", "delete"} {
			call := &obstat.Call{Tool: tool, Input: []byte(input), Dir: dir, Roots: []string{dir}}
			if got := p.Decide(call, formsWorld); want != (got.Verdict == obstat.Allow) {
				t.Errorf("%s %s: %v: %s", tool, input, got.Verdict, got.Reason())
			}
		}
	}
}
