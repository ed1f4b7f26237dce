package faces

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/gate"
)

// longSize is how long the texts are.
const longSize = 64 << 10

// longCommands are texts in which one thing is there as often as it fits into 64 kB, so that what costs the
// square of its number shows: what stands before it, the thing with # for a number, and what stands behind.
var longCommands = map[string][3]string{
	"evals":              {"", "eval 'rm f#';", ""},
	"lists":              {"", "a;", "a"},
	"programs":           {"", "p#\n", ""},
	"redirects":          {"echo ", ">a ", ""},
	"many redirects":     {"echo ", ">a# ", ""},
	"inputs":             {"cat ", "<a# ", ""},
	"outputs":            {"", "echo x >d#/a;", ""},
	"operand":            {"rm ", "a ", ""},
	"operands":           {"rm ", "a# ", ""},
	"dirs":               {"rm -rf ", "d#/x/y ", ""},
	"up":                 {"rm ", "../# ", ""},
	"patterns":           {"rm ", "a#* ", ""},
	"variables":          {"rm ", "$a# ", ""},
	"braces":             {"rm ", "{a#,b} ", ""},
	"stars":              {"cat ", "**/a# ", ""},
	"homes":              {"cat ", "~u# ", ""},
	"tee":                {"echo x | tee ", "a# ", ""},
	"cp":                 {"cp ", "a# ", "dir"},
	"mv":                 {"mv ", "a# ", "dir"},
	"chmod":              {"chmod 777 ", "a# ", ""},
	"ln":                 {"ln -s ", "a# ", "d"},
	"links":              {"", "ln -s a# b#;", "cat b5"},
	"tar":                {"tar cf x.tar ", "a# ", ""},
	"grep":               {"grep -r x ", "a# ", ""},
	"sed":                {"sed -i ", "-e s/a/#/ ", "f"},
	"exports":            {"", "export A#=1;", ""},
	"export":             {"export ", "A#=1 ", ""},
	"path":               {"", "export PATH=/x#:$PATH;", ""},
	"assignments":        {"", "a#=1;", "rm $a5"},
	"doubles":            {"a0=xx;", "a#=$a0$a0;", "rm $a9"},
	"prefixes":           {"", "a#=1 ", "ls"},
	"array":              {"a=(", "a# ", "); rm \"${a[@]}\""},
	"substitutions":      {"echo ", "$(a#) ", ""},
	"products":           {"rm ", "{a,b}", ""},
	"sequences":          {"rm ", "{1..99} ", ""},
	"one pattern":        {"rm ", "a*", ""},
	"globs":              {"rm ", "* ", ""},
	"extended":           {"cat ", "@(a|b)", ""},
	"here-documents":     {"", "cat <<E#\nx\nE#\n", ""},
	"here-document":      {"sh <<E\n", "rm abc\n", "E\n"},
	"here-strings":       {"", "cat <<<a#;", ""},
	"quotes":             {"rm ", "\"$a\"", ""},
	"pipes":              {"", "cat|", "sh"},
	"ifs":                {"", "if a#;then b;fi;", ""},
	"cases":              {"case $x in ", "a#) rm f#;;", "esac"},
	"loops":              {"", "for i in a# b;do rm $i;done;", ""},
	"sums":               {"echo $((", "1+", "1))"},
	"lets":               {"", "let a=1;", ""},
	"long word":          {"", "a", ""},
	"deep path":          {"rm ", "a/", ""},
	"dots":               {"cat ", "a/../", ""},
	"directories":        {"", "cd x#;rm y;", ""},
	"unsure directories": {"", "cd x#||cd y;", "rm z"},
	"functions":          {"", "f#(){ rm x; };", "f5"},
	"calls":              {"f(){ rm x y z; };", "f;", ""},
	"aliases":            {"", "alias a#='rm x';", "a5"},
	"find":               {"find ", "d# ", "-name x -delete"},
	"find -exec":         {"find . ", "-exec rm a# \\; ", ""},
	"git -C":             {"git ", "-C a# ", "status"},
	"git -c":             {"git ", "-c a.b#=x ", "status"},
	"git add":            {"git add ", "a# ", ""},
	"git show":           {"git show ", "HEAD:a# ", ""},
	"xargs":              {"xargs rm ", "a# ", ""},
	"xargs xargs":        {"", "xargs ", "rm a"},
	"sudo sudo":          {"", "sudo ", "rm a"},
	"env":                {"env ", "A#=b ", "rm x"},
	"shells":             {"", "sh -c 'rm a#';", ""},
	"curl":               {"curl ", "http://h#/ ", ""},
	"curl -o":            {"curl ", "-o f# http://h/ ", ""},
	"processes":          {"diff ", "<(a#) ", ""},
	"defaults":           {"rm ", "${a#:-b#} ", ""},
	"flag":               {"ls ", "-a ", ""},
	"flags":              {"ls ", "--f#=a# ", ""},
	"bundle":             {"ls -", "a", ""},
	"awk":                {"awk '", "{print > \"a#\"}", "' f"},
	"written scripts":    {"", "echo rm v>t#.sh;sh t#.sh;", ""},
	"mounts":             {"docker run ", "-v /a#:/b ", "img ls /b"},
	"ssh":                {"", "ssh h# rm x;", ""},
	"coprocs":            {"", "coproc a;", ""},
	"reads":              {"", "read a#;", "rm $a"},
	"traps":              {"", "trap 'rm a#' EXIT;", ""},
	"sources":            {"", ". a#;", ""},
	"namerefs":           {"", "declare -n a#=b#;", "a9=x"},
	"wide letters":       {"", "é", ""},
}

// longCommand repeats a thing until the text is long.
func longCommand(before, unit, behind string) string {
	var b strings.Builder
	b.WriteString(before)
	for i := 0; b.Len()+len(unit)+len(behind) < longSize; i++ {
		b.WriteString(strings.ReplaceAll(unit, "#", fmt.Sprint(i)))
	}
	return b.String() + behind
}

// asking counts what is looked up on the machine.
type asking struct {
	obstat.OS
	n int
}

func (w *asking) Readlink(p string) (string, bool)        { w.n++; return w.OS.Readlink(p) }
func (w *asking) IsDir(p string) bool                     { w.n++; return w.OS.IsDir(p) }
func (w *asking) Home(user string) (string, bool)         { w.n++; return w.OS.Home(user) }
func (w *asking) Walk(p string) (straight, dir bool)      { w.n++; return w.OS.Walk(p) }
func (w *asking) List(p string) (l, d []string, all bool) { w.n++; return w.OS.List(p) }

// longPolicies are everyday policies, by dialect.
var longPolicies = map[string]string{
	"opencode":   `{"permission": {"*": "allow", "bash": {"*": "allow", "rm -rf *": "deny", "curl *": "ask"}, "read": {"*": "allow", "*.env": "deny"}, "edit": {"*": "allow", "src/**": "deny"}, "external_directory": "ask"}}`,
	"claudecode": `{"permissions": {"allow": ["Bash(git log:*)", "Bash(rm a*)", "Read(src/**)"], "ask": ["Bash(git push:*)"], "deny": ["Read(**/.env)", "Edit(src/**)", "Bash(sudo:*)"]}}`,
	"agentscope": `{"mode": "default", "allow_rules": {"Bash": [{"tool_name": "Bash", "rule_content": "rm:*", "behavior": "allow", "source": "userSettings"}]}, "deny_rules": {"Read": [{"tool_name": "Read", "rule_content": "**/.env", "behavior": "deny", "source": "userSettings"}]}}`,
}

func longGate(t *testing.T, dir, dialect, text string, world obstat.World) *gate.Gate {
	t.Helper()
	name := filepath.Join(dir, "policy.json")
	write(t, name, text)
	g, err := gate.Open(t.Context(), gate.Options{Policy: &gate.Files{Names: []string{name}, Dialect: dialect}, World: world})
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// TestLongCommands: whatever a command of 64 kB repeats, a call through the gate takes bounded work,
// in memory and in questions to the machine.
func TestLongCommands(t *testing.T) {
	for dialect, text := range longPolicies {
		dir := t.TempDir()
		world := &asking{}
		g := longGate(t, dir, dialect, text, world)
		for name, l := range longCommands { // an agent's tool that AgentScope calls otherwise: analysed once
			input, err := json.Marshal(map[string]string{"command": longCommand(l[0], l[1], l[2])})
			if err != nil {
				t.Fatal(err)
			}
			c := &obstat.Call{Tool: "Bash", Input: input, Dir: dir, Agent: "claude-code"}
			world.n = 0
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			g.Authorize(t.Context(), c, &gate.Terms{Ask: gate.Try})
			runtime.ReadMemStats(&after)
			if mb := (after.TotalAlloc - before.TotalAlloc) >> 20; mb > 64 || world.n > 30_000 {
				t.Errorf("%s, %s: %d MB allocated, %d questions", dialect, name, mb, world.n)
			}
		}
	}
}
