package diff_test

import (
	"strings"
	"testing"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/dialect/all"
	"github.com/obstat/obstat/internal/study/diff"
	"github.com/obstat/obstat/internal/study/explain"
)

func loadText(t *testing.T, name, text string) *obstat.Policy {
	t.Helper()
	files := []dialect.File{{Name: name, Data: []byte(text)}}
	d, err := all.Of("", files)
	if err != nil {
		t.Fatal(err)
	}
	l, err := dialect.Load(d, &dialect.Input{Files: files, Home: diff.Home})
	if err != nil {
		t.Fatal(err)
	}
	return l.Policy
}

// TestLoosened: a draft that lifts a rule is told with the rule, its place and a call that shows it, across dialects; one that
// keeps all rules, or only narrows a default, is not.
func TestLoosened(t *testing.T) {
	claude := `{"permissions": {"deny": ["Bash(npm:*)", "Read(./.env)", "WebFetch"], "ask": ["Bash(git push:*)"]}}`
	for name, tc := range map[string]struct {
		file, was, draft string
		rule, call       string // of the one that is expected; "" is none
		now              obstat.Verdict
	}{
		"lifted":          {"settings.json", claude, "version: 1\nallow:\n  - run npm test\ndeny:\n  - read and write .env\n  - connect anywhere\nask:\n  - run git push\n", "Bash(npm:*)", "npm", obstat.Ask},
		"outright":        {"settings.json", claude, "version: 1\nallow:\n  - run npm\ndeny:\n  - read and write .env\n  - connect anywhere\nask:\n  - run git push\n", "Bash(npm:*)", "npm", obstat.Allow},
		"narrow":          {"settings.json", claude, "version: 1\nallow:\n  - run npm test\ndeny:\n  - rule: run npm except npm test\n  - read and write .env\n  - connect anywhere\nask:\n  - run git push\n", "Bash(npm:*)", "npm test", obstat.Allow},
		"file":            {"settings.json", claude, "version: 1\nallow:\n  - read workspace\ndeny:\n  - run npm\n  - connect anywhere\nask:\n  - run git push\n", "Read(./.env)", ".env", obstat.Allow},
		"ask":             {"settings.json", claude, "version: 1\nallow:\n  - run git push\ndeny:\n  - run npm\n  - read and write .env\n", "Bash(git push:*)", "git push", obstat.Allow},
		"kept":            {"settings.json", claude, "version: 1\nallow:\n  - run make\n  - read workspace\ndeny:\n  - run npm\n  - read and write .env\n  - connect anywhere\nask:\n  - run git push\n", "", "", 0},
		"last wins":       {"opencode.json", `{"permission": {"bash": {"*": "allow", "git push *": "deny"}}}`, "version: 1\nallow:\n  - run anything\n", "git push *", "git push", obstat.Allow},
		"by another name": {"opencode.json", `{"permission": {"*": "ask", "bash": {"make *": "allow"}}}`, "version: 1\nallow:\n  - run make\nask:\n  - tool * except Bash, bash\n  - read anything\n  - write anything\n  - delete anything\n  - run anything except make\n  - connect anything\n", "", "", 0},
		"no other name":   {"opencode.json", `{"permission": {"*": "ask", "bash": {"make *": "allow"}}}`, "version: 1\nallow:\n  - run make\n  - tool deploy\nask:\n  - read anything\n  - write anything\n  - delete anything\n  - run anything except make\n  - connect anything\n", `"*": "ask"`, "", obstat.Allow},
		"same":            {"settings.json", claude, claude, "", "", 0},
		"same, fewer":     {"settings.json", claude, strings.Replace(claude, `"Bash(npm:*)", `, "", 1), "Bash(npm:*)", "npm", obstat.Ask},
	} {
		t.Run(name, func(t *testing.T) {
			file := "obstat.yaml"
			if strings.HasPrefix(tc.draft, "{") {
				file = tc.file
			}
			regions := diff.Loosened(&diff.Draft{Was: []*obstat.Policy{loadText(t, tc.file, tc.was)}, Now: loadText(t, file, tc.draft)})
			if tc.rule == "" {
				for _, r := range regions {
					t.Errorf("%s: %s → %s by %s", explain.TextOf(r.Call), r.Was, r.Now, r.WasBy.Rule)
				}
				return
			}
			for _, r := range regions {
				if strings.Contains(r.WasBy.Rule, tc.rule) && strings.Contains(explain.TextOf(r.Call), tc.call) && r.Now == tc.now && r.WasBy.Pos.Line == 1 {
					return
				}
			}
			t.Errorf("not told: %+v", regions)
		})
	}
}
