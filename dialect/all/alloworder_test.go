package all_test

import (
	"strings"
	"testing"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/dialect/all"
)

// TestAllowOrder: where the original knows no order among allow rules, a rule that suffices by itself suffices beside
// others, before or behind them, so that an exact rule that an agent appends counts.
func TestAllowOrder(t *testing.T) {
	forms := map[string]func(commands ...string) (name, text string){
		"claudecode": lists(".claude/settings.json", "Bash"), "qwen": lists(".qwen/settings.json", "run_shell_command"),
		"codex": func(commands ...string) (string, string) {
			var b strings.Builder
			for _, c := range commands {
				b.WriteString(`prefix_rule(pattern=["` + strings.Join(strings.Fields(strings.TrimSuffix(c, " *")), `", "`) +
					`"], decision="allow")` + "\n")
			}
			return ".codex/rules/default.rules", b.String()
		},
	}
	for which, form := range forms {
		for _, pair := range [][2]string{{"npx tsc *", "npx tsc --noEmit"}, {"sudo systemctl *", "sudo systemctl restart nginx"},
			{"env *", "env CI=1 npm publish"}, {"timeout 60 *", "timeout 60 npm publish"}, {"xargs *", "xargs -0 rm"},
			{"uv run *", "uv run ruff check ."}, {"python3 *", "python3 -c 'print(1)'"}, {"docker *", "docker run x sh"}} {
			alone := verdict(t, form, pair[1], pair[1])
			for _, rules := range [][]string{{pair[0], pair[1]}, {pair[1], pair[0]}, {"ls *", pair[0], "make *", pair[1]}} {
				if got := verdict(t, form, pair[1], rules...); got < alone {
					t.Errorf("%s %q: %s is %s, and %s with its own rule alone", which, rules, pair[1], got, alone)
				}
			}
		}
	}
}

func lists(name, tool string) func(...string) (string, string) {
	return func(commands ...string) (string, string) {
		return name, `{"permissions": {"allow": ["` + tool + `(` + strings.Join(commands, `)", "`+tool+`(`) + `)"]}}`
	}
}

func verdict(t *testing.T, form func(...string) (string, string), command string, rules ...string) obstat.Verdict {
	t.Helper()
	name, text := form(rules...)
	files := []dialect.File{{Name: name, Data: []byte(text)}}
	d, err := all.Of("", files)
	if err != nil {
		t.Fatal(err)
	}
	l, err := dialect.Load(d, &dialect.Input{Files: files})
	if err != nil {
		t.Fatal(text, err)
	}
	c := &obstat.Call{Tool: "Bash", Input: []byte(`{"command":"` + command + `"}`), Dir: "/p", Roots: []string{"/p"}}
	return l.Policy.Decide(c, &obstat.Snapshot{HomeDir: "/home/u"}).Verdict
}
