package all_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/dialect/all"
)

// An oddFile is a file of an agent that allows one command and denies another.
type oddFile struct {
	name, tool string
	text       string
	// comments and commas: the agent's own reader takes comments, and a comma behind the last element.
	comments, commas bool
	allowed, denied  string
}

var oddFiles = []oddFile{
	{".claude/settings.json", "Bash", `{
  "permissions": {
    "allow": ["Bash(make %)"],
    "deny": ["Bash(rm %)"]
  }
}`, false, false, "make %", "rm %"},
	{".qwen/settings.json", "run_shell_command", `{
  "permissions": {
    "allow": ["run_shell_command(make %)"],
    "deny": ["run_shell_command(rm %)"]
  }
}`, true, true, "make %", "rm %"}, // Qwen Code itself stops at the comma
	{".cursor/cli.json", "Shell", `{
  "permissions": {
    "allow": ["Shell(make:%)"],
    "deny": ["Shell(rm:%)"]
  }
}`, true, true, "make %", "rm %"},
	{"opencode.json", "bash", `{
  "permission": {
    "bash": {"*": "ask", "make %": "allow", "rm %": "deny"}
  }
}`, true, true, "make %", "rm %"},
}

func loadOdd(name, text string) (*dialect.Loaded, error) {
	files := []dialect.File{{Name: "/p/" + name, Data: []byte(text)}}
	d, err := all.Of("", files)
	if err != nil {
		return nil, err
	}
	return dialect.Load(d, &dialect.Input{Files: files, Home: "/home/u"})
}

// otherOdd are files in other languages than those of oddFiles. Comment is one line of it, twice the file with a key that
// is there twice, "" where the language has no keys of which one can be too many.
var otherOdd = []struct {
	oddFile
	comment, twice string
	mark           bool // the agent's own reader takes a byte order mark
}{
	{oddFile{".codex/rules/default.rules", "bash", `prefix_rule(pattern=["make", "%"], decision="allow")
prefix_rule(pattern=["rm", "%"], decision="forbidden")
`, true, false, "make %", "rm %"}, "# mine\n", `prefix_rule(pattern=["make"], pattern=["rm"], decision="allow")` + "\n", false}, // Starlark has no such character
	{oddFile{".gemini/policies/own.toml", "run_shell_command", `[[rule]]
toolName = "run_shell_command"
commandPrefix = "make %"
decision = "allow"
priority = 5

[[rule]]
toolName = "run_shell_command"
commandPrefix = "rm %"
decision = "deny"
priority = 5
`, true, false, "make %", "rm %"}, "# mine\n", "[[rule]]\ntoolName = \"glob\"\ntoolName = \"x\"\ndecision = \"allow\"\npriority = 5\n", true},
	{oddFile{"obstat.yaml", "Bash", `version: 1
allow:
  - run make %
deny:
  - run rm %
`, true, false, "make %", "rm %"}, "# mine\n", "version: 1\nallow:\n  - run make\nallow:\n  - run rm\n", true},
}

// TestOddLines: the same for languages that have lines: a byte order mark, line ends of another system, other letters,
// comments and a file of 5 MB mean the same; a key that is there twice, a rule that is longer than 64 KiB and a file that
// is cut short in a rule, as one is that is read while it is written, are refused with a place, in few words.
func TestOddLines(t *testing.T) {
	for _, o := range otherOdd {
		plain := strings.ReplaceAll(o.text, "%", "all")
		for _, tt := range []struct {
			name, text, word string
			takes            bool
		}{
			{"plain", plain, "all", true},
			{"byte order mark", "\ufeff" + plain, "all", o.mark},
			{"CRLF", strings.ReplaceAll(plain, "\n", "\r\n"), "all", true},
			{"letters", strings.ReplaceAll(o.text, "%", "сборка-日本"), "сборка-日本", true},
			{"comments", o.comment + plain + o.comment, "all", true},
			{"5 MB", strings.Repeat(o.comment, 5<<20/len(o.comment)) + plain, "all", true},
			{"more than 64 KiB", strings.ReplaceAll(o.text, "%", strings.Repeat("ab", 33<<10)), "", false},
			{"a key twice", o.twice, "", false},
			{"cut short", strings.TrimRight(plain, "\n")[:strings.LastIndex(plain, "rm")], "", false},
		} {
			l, err := loadOdd(o.name, tt.text)
			switch {
			case tt.takes && err != nil:
				t.Errorf("%s, %s: %.300v", o.name, tt.name, err)
			case tt.takes && !o.means(l, tt.word):
				t.Errorf("%s, %s: it means something else", o.name, tt.name)
			case !tt.takes && !refused(err):
				t.Errorf("%s, %s: loads, or is refused without a place: %.300v", o.name, tt.name, err)
			}
		}
	}
}

// means tells whether a file that loads allows and denies its two commands.
func (o *oddFile) means(l *dialect.Loaded, text string) bool {
	return decideOdd(l, o.tool, "command", o.allowed, text) == obstat.Allow &&
		decideOdd(l, o.tool, "command", o.denied, text) == obstat.Deny
}

// decideOdd decides a call whose field has a value, with word in the place of %.
func decideOdd(l *dialect.Loaded, tool, field, value, word string) obstat.Verdict {
	input := `{"` + field + `":"` + strings.ReplaceAll(value, "%", word) + `"}`
	call := &obstat.Call{Tool: tool, Input: []byte(input), Dir: "/p", Roots: []string{"/p"}}
	return l.Policy.Decide(call, &obstat.Snapshot{HomeDir: "/home/u", Dirs: []string{"/p"}}).Verdict
}

// refused tells whether a file was refused with a place, in few words.
func refused(err error) bool {
	var es obstat.Errors
	return errors.As(err, &es) && es[0].Pos.Line > 0 && len(es[0].Msg) <= 400
}

// TestOddFiles: a byte order mark, line ends of another system, other letters, a rule of 60 kB and a file of 5 MB
// mean the same; comments and trailing commas are taken where the agent's own reader takes them, and refused with a
// place where it does not; a key that is there twice, a file cut short and a rule that is longer than 64 KiB are
// refused with a place, in few words.
func TestOddFiles(t *testing.T) {
	long := strings.Repeat("ab ", 60<<10/3) + "c"
	for _, o := range oddFiles {
		plain := strings.ReplaceAll(o.text, "%", "all")
		padded := strings.TrimSuffix(plain, "}") + `, "note": "` + strings.Repeat("x", 5<<20) + `"}`
		for _, tt := range []struct {
			name, text, word string
			takes            bool
		}{
			{"plain", plain, "all", true},
			{"byte order mark", "\ufeff" + plain, "all", true},
			{"CRLF", strings.ReplaceAll(plain, "\n", "\r\n"), "all", true},
			{"letters", strings.ReplaceAll(o.text, "%", "сборка-日本"), "сборка-日本", true},
			{"60 kB", strings.ReplaceAll(o.text, "%", long), "", true}, // a call of that size is asked about
			{"more than 64 KiB", strings.ReplaceAll(o.text, "%", long+long), "all", false},
			{"5 MB", padded, "all", true},
			{"comments", strings.Replace(plain, "{", "{ // mine", 1), "all", o.comments},
			{"trailing comma", strings.Replace(plain, "\n  }\n}", ",\n  }\n}", 1), "all", o.commas},
			{"a key twice", strings.Replace(plain, "{", `{"permissions": {}, "permission": {}, `, 1), "all", false},
			{"cut short", plain[:len(plain)/2], "all", false},
		} {
			l, err := loadOdd(o.name, tt.text)
			switch {
			case tt.takes && err != nil:
				t.Errorf("%s, %s: %.300v", o.name, tt.name, err)
			case tt.takes && tt.word != "" && !o.means(l, tt.word):
				t.Errorf("%s, %s: it means something else", o.name, tt.name)
			case !tt.takes && !refused(err):
				t.Errorf("%s, %s: loads, or is refused without a place: %v", o.name, tt.name, err)
			}
		}
	}
}
