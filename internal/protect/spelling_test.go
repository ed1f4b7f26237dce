package protect_test

import (
	"strings"
	"testing"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/dialect/all"
)

// pathPolicies allow every command and deny writing one file of the project.
var pathPolicies = map[string]string{
	"claudecode": `{"permissions":{"allow":["Bash","Read","Edit","Write"],"deny":["Write(./vault.key)","Edit(./vault.key)"]}}`,
	"opencode":   `{"permission":{"*":"allow","edit":{"*":"allow","vault.key":"deny"}}}`,
	"agentscope": `{"mode":"bypass","working_directories":{},"allow_rules":{},"ask_rules":{},"deny_rules":{"Write":[{"tool_name":"Write","rule_content":"*/vault.key","behavior":"deny","source":"x"}]}}`,
	"program": `{"obstat":1,"mode":"m","pipelines":{"m":{"stages":[{"match":"deny rules","rules":"deny"}],"default":"allow"}},"faces":{"write":{"tool":"Write","field":"file_path"}},
		"rules":{"deny":[{"tool":"Write","field":"file_path","match":{"minimatch":"**/vault.key"},"verdict":"deny"}]}}`,
}

// unseenChange are the ways to change a file that a rule about files does not hold off: what a
// script or a program that nobody knows does with its arguments cannot be seen.
const unseenChange = `|./tool --out N|python3 x.py N|node x.js N|`

// unseenName are the names that are known only when the command runs, and unseenCode the ways to
// change a file that run code: those may be about any file, and are asked.
const (
	unseenName = `|"$PWD"/HT|"$(pwd)/HT"|H${x}T|"H$(:)T"|H` + "`:`" + `T|H$(echo T)|$(echo HT)|"$(printf 'H%s' T)"|${x:-HT}|${x:-H}T|${f%.x}|${f##*/}|${f/X/}|${f:1}|` +
		`printf -v f H%s T; $f|if true; then f=H; fi; ${f}T|f=$(echo H); ${f}T|`
	unseenCode = `|perl -pi -e s/a/b/ N|ed -s N|vim -es -c wq N|parallel rm ::: N|`
	// deepChange may change, of a pattern of names, what is below a directory, and g's "$@" has no pattern.
	deepChange = `|git checkout HEAD~1 -- N|find N -delete|g() { rm "$@"; }; g N|`
)

func listed(list string, texts ...string) bool {
	for _, s := range texts {
		if strings.Contains(list, "|"+s+"|") {
			return true
		}
	}
	return false
}

// TestSpellings: a rule against writing a file holds for every way to name it with every way to
// change it, in each dialect's notation, and no command about another file is held off by it.
func TestSpellings(t *testing.T) {
	p := &project{home: "/home/ann", proj: "/home/ann/src/proj"}
	world := &obstat.Snapshot{HomeDir: p.home, Links: map[string]string{p.home + "/here": p.proj}, Dirs: []string{"/", "/home", p.home, p.home + "/src", p.proj, p.proj + "/src"}}
	for name, text := range pathPolicies {
		d, err := all.Find(name)
		if err != nil {
			t.Fatal(err)
		}
		l, err := dialect.Load(d, &dialect.Input{Files: []dialect.File{{Name: "policy.json", Data: []byte(text)}}, Home: p.home})
		if err != nil {
			t.Fatal(err)
		}
		for i, name := range waysToName {
			for j, change := range waysToChange {
				command := composed(p, name, change, "vau", "lt.key")
				if d := l.Policy.Decide(p.bash(command), world); d.Verdict == obstat.Allow && !listed(unseenChange, change) {
					t.Errorf("%s: allowed: %s: %s", l.Dialect.Name(), command, d.Reason())
				}
				if (i+j)%2 != 0 || listed(unseenName, name[1], name[0]+name[1]) || listed(unseenCode, change) || listed(deepChange, change) && strings.Contains(name[1], "*") {
					continue
				}
				command = composed(p, name, change, "hint", "s.txt")
				if d := l.Policy.Decide(p.bash(command), world); d.Verdict != obstat.Allow {
					t.Errorf("%s: %v: %s: %s", l.Dialect.Name(), d.Verdict, command, d.Reason())
				}
			}
		}
	}
}
