package all_test

import (
	"strings"
	"testing"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
)

// oddApprovals are files of VS Code and Copilot CLI that approve one call and hold another, with % in both.
var oddApprovals = []struct {
	name, text, key string // the key of its approvals
	tool, field     string
	allowed, held   string
	as              obstat.Verdict // what becomes of the one that is held
}{
	{".vscode/settings.json", `{
  "chat.tools.terminal.autoApprove": {
    "make %": true,
    "rm %": false
  }
}`, "chat.tools.terminal.autoApprove", "run_in_terminal", "command", "make %", "rm %", obstat.Ask},
	{".github/copilot/settings.json", `{
  "allowedUrls": [
    "https://%.example.com"
  ],
  "deniedUrls": ["https://%.example.org"]
}`, "allowedUrls", "web_fetch", "url", "https://%.example.com/", "https://%.example.org/", obstat.Deny},
}

// TestOddApprovals: VS Code and Copilot CLI read their settings with comments, trailing commas, a byte order mark and
// line ends of another system, and obstat does as well; other letters and a file of 5 MB mean the same. A key that is
// there twice, an approval of more than 64 KiB and a file that is cut short are refused with a place, in few words, or
// approve nothing that the file does not.
func TestOddApprovals(t *testing.T) {
	long := strings.Repeat("ab", 33<<10)
	for _, o := range oddApprovals {
		plain := strings.ReplaceAll(o.text, "%", "all")
		decide := func(l *dialect.Loaded, value, word string) obstat.Verdict {
			return decideOdd(l, o.tool, o.field, value, word)
		}
		for _, tt := range []struct {
			name, text, word string
			takes            bool
		}{
			{"plain", plain, "all", true},
			{"byte order mark", "\ufeff" + plain, "all", true},
			{"CRLF", strings.ReplaceAll(plain, "\n", "\r\n"), "all", true},
			{"letters", strings.ReplaceAll(o.text, "%", "сборка"), "сборка", true},
			{"comments", strings.Replace(plain, "{", "{ // mine\n /* and */", 1), "all", true},
			{"trailing comma", strings.TrimSuffix(plain, "\n}") + ",\n}", "all", true},
			{"5 MB", strings.TrimSuffix(plain, "\n}") + `, "note": "` + strings.Repeat("x", 5<<20) + "\"\n}", "all", true},
			{"a key twice", strings.Replace(plain, "{", `{"`+o.key+`": {}, `, 1), "all", false},
			{"more than 64 KiB", strings.ReplaceAll(o.text, "%", long), "all", false},
			{"no value", strings.Replace(plain, ":", ": ,", 1), "all", false},
		} {
			l, err := loadOdd(o.name, tt.text)
			switch {
			case tt.takes && err != nil:
				t.Errorf("%s, %s: %.300v", o.name, tt.name, err)
			case tt.takes && (decide(l, o.allowed, tt.word) != obstat.Allow || decide(l, o.held, tt.word) != o.as):
				t.Errorf("%s, %s: it means something else: %s, %s", o.name, tt.name, decide(l, o.allowed, tt.word),
					decide(l, o.held, tt.word))
			case !tt.takes && !refused(err):
				t.Errorf("%s, %s: loads, or is refused without a place: %.300v", o.name, tt.name, err)
			}
		}
		for n := range plain {
			if l, err := loadOdd(o.name, plain[:n]); err == nil && decide(l, o.held, "all") > o.as {
				t.Errorf("%s, %d bytes: approves what the whole file holds", o.name, n)
			}
		}
	}
}
