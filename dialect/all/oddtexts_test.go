package all_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/obstat/obstat"
)

// oddTexts are files of agents whose language is not JSON, or whose rules are keys.
var oddTexts = []oddFile{
	{".codex/rules/default.rules", "shell", `prefix_rule(pattern=["make", "%"], decision="allow")
prefix_rule(pattern=["rm", "%"], decision="forbidden")
`, true, true, "make %", "rm %"},
	{".gemini/policies/a.toml", "run_shell_command", `[[rule]]
toolName = "run_shell_command"
commandPrefix = "make %"
decision = "allow"
priority = 100

[[rule]]
toolName = "run_shell_command"
commandPrefix = "rm %"
decision = "deny"
priority = 200
`, true, true, "make %", "rm %"},
}

// TestOddTexts: in the languages of Codex and Gemini CLI a byte order mark, line ends of another system, comments,
// trailing commas, other letters, a long rule and a file of 5 MB mean the same; a key that is there twice and a rule
// that cannot be read are refused with a place.
func TestOddTexts(t *testing.T) {
	long := strings.Repeat("ab", 30<<10)
	for i := range oddTexts {
		o := &oddTexts[i]
		plain := strings.ReplaceAll(o.text, "%", "all")
		twice := strings.Replace(plain, "decision=\"allow\"", "decision=\"allow\", decision=\"prompt\"", 1)
		twice = strings.Replace(twice, "priority = 100\n", "priority = 100\npriority = 101\n", 1)
		comma := strings.Replace(plain, "\"all\"],", "\"all\",],", 1)
		comma = strings.Replace(comma, "commandPrefix = \"make all\"", "commandPrefix = [\"make all\",]", 1)
		for _, tt := range []struct {
			name, text, word string
			takes            bool
		}{
			{"plain", plain, "all", true},
			{"CRLF", strings.ReplaceAll(plain, "\n", "\r\n"), "all", true},
			{"letters", strings.ReplaceAll(o.text, "%", "сборка-日本"), "сборка-日本", true},
			{"60 kB", strings.ReplaceAll(o.text, "%", long), "", true},
			{"5 MB", plain + "# " + strings.Repeat("x", 5<<20) + "\n", "all", true},
			{"comments", "# mine\n" + plain, "all", true},
			{"trailing comma", comma, "all", true},
			{"a key twice", twice, "all", false},
			{"a quote that is not closed", strings.Replace(plain, `"make`, `make`, 1), "all", false},
		} {
			l, err := loadOdd(o.name, tt.text)
			switch {
			case tt.takes && err != nil:
				t.Errorf("%s, %s: %.300v", o.name, tt.name, err)
			case tt.takes && tt.word != "" && !o.means(l, tt.word):
				t.Errorf("%s, %s: it means something else", o.name, tt.name)
			case !tt.takes && !refused(err):
				t.Errorf("%s, %s: loads, or is refused without a place: %.300v", o.name, tt.name, err)
			}
		}
	}
}

// TestCutFiles: a file that is read while it is written ends anywhere. Such a beginning is refused with a place, or it
// allows nothing that the whole file does not.
func TestCutFiles(t *testing.T) {
	for _, o := range append(oddTexts, oddFiles...) {
		text := strings.ReplaceAll(o.text, "%", "all")
		for n := range text {
			l, err := loadOdd(o.name, text[:n])
			var es obstat.Errors
			if err != nil {
				if !errors.As(err, &es) {
					t.Errorf("%s, %d bytes: refused without a place: %v", o.name, n, err)
				}
				continue
			}
			call := &obstat.Call{Tool: o.tool, Input: []byte(`{"command":"rm all"}`), Dir: "/p", Roots: []string{"/p"}}
			if v := l.Policy.Decide(call, &obstat.Snapshot{HomeDir: "/home/u"}).Verdict; v == obstat.Allow {
				t.Errorf("%s, %d bytes: allows what the whole file denies", o.name, n)
			}
		}
	}
}
