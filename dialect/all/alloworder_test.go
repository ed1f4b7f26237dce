package all_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/dialect/all"
)

// unordered writes allow rules for commands in the dialects whose original knows no order among them; a trailing ` *`
// leaves the arguments open.
var unordered = map[string]func(commands ...string) (name, text string){
	"claudecode": lists(".claude/settings.json", "Bash"), "qwen": lists(".qwen/settings.json", "run_shell_command"),
	"codex": func(commands ...string) (string, string) {
		var b strings.Builder
		for _, c := range commands {
			b.WriteString(`prefix_rule(pattern=["` + strings.Join(strings.Fields(strings.TrimSuffix(c, " *")), `", "`) +
				`"], decision="allow")` + "\n")
		}
		return ".codex/rules/default.rules", b.String()
	},
	"cursor": func(commands ...string) (string, string) {
		var rules []string
		for _, c := range commands {
			base, args, _ := strings.Cut(c, " ")
			rules = append(rules, `"Shell(`+base+`:`+args+`)"`)
		}
		return ".cursor/cli.json", `{"permissions": {"allow": [` + strings.Join(rules, ", ") + `], "deny": []}}`
	},
	// Chorus: "order within a list does not matter for the decision".
	"chorus": func(commands ...string) (string, string) {
		var rules []string
		for _, c := range commands {
			rules = append(rules, `"tool:bash:`+strings.Replace(regexp.QuoteMeta(c), ` \*`, `( .*)?`, 1)+`"`)
		}
		return "agent.json", `{"name": "a", "permissions": {"allow": [` + strings.ReplaceAll(strings.Join(rules, ", "), `\`, `\\`) +
			`], "ask": []}}`
	},
	"copilot": func(commands ...string) (string, string) {
		var rules []string
		for _, c := range commands {
			rules = append(rules, `"`+strings.TrimSuffix(c, " *")+`": true`)
		}
		slices.Sort(rules)
		return ".vscode/settings.json", `{"chat.tools.terminal.autoApprove": {` + strings.Join(slices.Compact(rules), ", ") + `}}`
	},
	"agentscope": func(commands ...string) (string, string) {
		var rules []string
		for _, c := range commands {
			rules = append(rules, `{"tool_name": "Bash", "rule_content": "`+strings.Replace(c, " *", ":*", 1)+
				`", "behavior": "allow", "source": "userSettings"}`)
		}
		return "context.json", `{"mode": "default", "allow_rules": {"Bash": [` + strings.Join(rules, ", ") + `]}}`
	},
}

// TestAppendedRule: in every such dialect an exact rule decides its command as it does alone, wherever it stands among
// drawn rules that are wider, narrower or about something else.
func TestAppendedRule(t *testing.T) {
	word := rapid.SampledFrom([]string{"git", "npx", "tsc", "npm", "run", "build", "sudo", "env", "timeout", "60", "docker",
		"python3", "-m", "pytest", "--all", "-v", "make", "status", "push", "x.txt", "/usr/bin/make"})
	for which, form := range unordered {
		allowed := 0
		rapid.Check(t, func(t *rapid.T) {
			words := rapid.SliceOfN(word, 1, 4).Draw(t, "command")
			command := strings.Join(words, " ")
			var rules []string
			for range rapid.IntRange(0, 5).Draw(t, "others") {
				other := rapid.SliceOfN(word, 1, 3).Draw(t, "other")
				if rapid.Bool().Draw(t, "wider") {
					other = words[:rapid.IntRange(1, len(words)).Draw(t, "of")]
				}
				rules = append(rules, strings.Join(other, " ")+rapid.SampledFrom([]string{"", " *"}).Draw(t, "open"))
			}
			alone := verdict(t, form, command, command)
			at := rapid.IntRange(0, len(rules)).Draw(t, "at")
			if got := verdict(t, form, command, slices.Insert(slices.Clone(rules), at, command)...); got < alone {
				t.Fatalf("%s %q with %q at %d: %s, and %s alone", which, rules, command, at, got, alone)
			}
			if alone == obstat.Allow {
				allowed++
			}
		})
		if allowed == 0 {
			t.Errorf("%s: no exact rule has allowed its command", which)
		}
	}
}

// TestAllowOrder: where the original knows no order among allow rules, a rule that suffices by itself suffices beside
// others, before or behind them, so that an exact rule that an agent appends counts.
func TestAllowOrder(t *testing.T) {
	for which, form := range unordered {
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

// TestProgramsPath: a rule for a program by its path allows it by that path; the same program under its name alone is what
// the original says.
func TestProgramsPath(t *testing.T) {
	for which, form := range unordered {
		for _, command := range []string{"/usr/bin/make build", "/opt/homebrew/bin/node x.js", ".venv/bin/python -m pytest"} {
			program, _, _ := strings.Cut(command, " ")
			for _, rule := range []string{command, program + " *"} {
				if got := verdict(t, form, command, rule); got != obstat.Allow {
					t.Errorf("%s %q: %s is %s", which, rule, command, got)
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

func verdict(t rapid.TB, form func(...string) (string, string), command string, rules ...string) obstat.Verdict {
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
	tool := "Bash"
	if d.Name() == "chorus" { // its action strings know the tool by this name alone
		tool = "bash"
	}
	c := &obstat.Call{Tool: tool, Input: []byte(`{"command":"` + command + `"}`), Dir: "/p", Roots: []string{"/p"}}
	return l.Policy.Decide(c, &obstat.Snapshot{HomeDir: "/home/u"}).Verdict
}
