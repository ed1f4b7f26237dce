package convert_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/dialect/all"
	"github.com/obstat/obstat/dialect/native"
	"github.com/obstat/obstat/internal/study/convert"
	"github.com/obstat/obstat/internal/study/diff"
)

var (
	manyPolicies = flag.Int("policies", 6, "how many policies TestExportMany exports to each agent")
	manySeed     = flag.Uint64("policies.seed", 1, "which policies TestExportMany makes")
)

// around are forms of commands, nested and with flags: others than the export tries by itself. No rule of words sees a
// name in pieces, or the directory that a command is in.
var around = []string{"%", "true && %", "env -i A=b nice -n 3 %", "sudo -u bob %", "timeout -k 1 5 %", "xargs -n1 %",
	"find . -name y -exec % {} +", "A=1 B=2 %", "bash -euc '%'", "sh -c \"true; %\"", "nohup nice %", "echo a; echo b | %",
	"for i in 1 2; do %; done", "echo \"$(echo $(%))\"", "test -f x || %", "(true && %)", "time -p %", "command -p %",
	"while read l; do %; done", "eval \"%\"", "exec -a z %", "setsid -w %", "/usr/local/bin/%", "../bin/%",
	"f() { %; }; f", "coproc %", "true &\n%", "cat <<E | sh\n%\nE", "stdbuf -oL %", "flock l -c '%'", "% 2>&1 | tee log",
	"printf x | parallel %", "watch -n1 '%'", "doas %", "ionice -c2 %", "busybox %", "npx %", "ssh host %", "docker exec c %"}

// TestExportMany exports policies that are made of sentences by chance, and looks for a command that obstat does not allow
// and the agent does by the words of the file.
func TestExportMany(t *testing.T) {
	rnd := rand.New(rand.NewPCG(*manySeed, 7))
	pick := func(list ...string) string { return list[rnd.IntN(len(list))] }
	commands := strings.Fields("git npm rm curl docker touch cp make terraform kubectl")
	subs := strings.Fields("push publish run tag reset apply delete build")
	command := func() string {
		c := pick(commands...)
		if rnd.IntN(2) == 0 {
			c += " " + pick(subs...)
		}
		if rnd.IntN(4) == 0 {
			c += " " + pick("-f", "--force", "-rf")
		}
		return c
	}
	file := func() string {
		return pick("./secret/**", ".env", "*.key", "~/.aws/**", "./src/**", "**/dist/**", "/etc/hosts")
	}
	sentence := func(allow bool) string {
		switch rnd.IntN(8) {
		case 0:
			if allow {
				return "run anything"
			}
			return "delete anything"
		case 1:
			return pick("read ", "write ") + file()
		case 2:
			return pick("read anywhere", "write workspace", "read workspace", "write workspace except ./secret/**")
		case 3:
			return "run exactly " + command() + " x"
		}
		return "run " + command()
	}
	tried, freer := 0, 0
	for n := range *manyPolicies {
		text := "version: 1\n"
		for _, v := range []string{"allow", "ask", "deny"} {
			text += v + ":\n"
			for range 1 + rnd.IntN(3) {
				s := sentence(v == "allow")
				if v != "allow" && strings.Contains(s, "workspace") {
					s = "run " + command()
				}
				text += "  - " + fmt.Sprintf("%q", s) + "\n"
			}
		}
		l, err := dialect.Load(native.Dialect{}, &dialect.Input{Home: diff.Home,
			Files: []dialect.File{{Name: diff.Dir + "/" + native.File, Data: []byte(text)}}})
		if err != nil {
			continue // it contradicts itself
		}
		for _, agent := range []string{"claude-code", "codex", "gemini", "opencode"} {
			tried++
			for _, command := range freerIn(t, l, agent, commands, subs) {
				freer++
				t.Errorf("policy %d, %s allows %q of\n%s", n, agent, command, text)
			}
		}
	}
	t.Logf("%d exports, %d commands freer", tried, freer)
	if tried < *manyPolicies {
		t.Errorf("only %d exports were made", tried)
	}
}

// freerIn exports a policy and returns commands that a rule of the export allows and obstat does not, a few.
func freerIn(t *testing.T, l *dialect.Loaded, agent string, commands, subs []string) (out []string) {
	t.Helper()
	target := convert.Targets()[agent]
	var err error
	if target.Dialect, err = all.Find(target.Name); err != nil {
		t.Fatal(err)
	}
	res, err := convert.Export(l, &target)
	if err != nil {
		t.Fatalf("%s: %v", agent, err)
	}
	there, world := byItself(t, &target, res.Text), &obstat.Snapshot{HomeDir: diff.Home}
	for _, c := range commands {
		for _, text := range []string{c + " x", c + " " + subs[len(c)%len(subs)] + " x -f", c + " -v " + subs[0] + " x"} {
			for _, form := range around {
				call := run(target.Tools[0], strings.ReplaceAll(form, "%", text))
				now := there.Policy.Decide(call, world)
				byRule := now.Rule != nil && slices.Contains([]string{target.File}, now.Rule.Pos.File)
				if now.Verdict == obstat.Allow && byRule && l.Policy.Decide(call, world).Verdict != obstat.Allow && len(out) < 3 {
					out = append(out, call.Text()+" by "+now.Rule.String())
				}
			}
		}
	}
	return out
}
