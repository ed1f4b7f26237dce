package convert

import (
	"strings"
	"testing"

	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/dialect/all"
)

// TestPublished: rules in the manner of files that people have published keep a sentence, and nothing is looser.
func TestPublished(t *testing.T) {
	for _, tc := range []struct{ name, text, want string }{
		{"default.rules", `prefix_rule(pattern=["git", "diff:*"], decision="allow")` + "\n", `git 'diff:*'`},
		{"default.rules", `prefix_rule(pattern=["agent", "--model", ["a-5.6", "b-5.6"]], decision="forbidden")` + "\n", "run agent --model b-5.6"},
		{"opencode.json", `{"permission": {"edit": "allow"}}`, "write workspace"},
		{".claude/settings.json", `{"permissions": {"allow": ["Bash(rm:*)"]}}`, "run rm"},
		{".claude/settings.json", `{"permissions": {"allow": ["Bash(python3 -c \"print(1)\")"]}}`, "run exactly"},
		{".claude/settings.json", `{"permissions": {"allow": ["Read(**)"]}}`, "read workspace except secrets"},
		{".cursor/cli.json", `{"permissions": {"allow": ["Mcp(docs:*)"], "deny": []}}`, "tool mcp__docs__*"},
		{"opencode.json", `{"permission": {"read": {"*": "allow", ".env*": "deny", "**/.env*": "deny"}}}`, ".env*"},
		{".vscode/settings.json", `{"chat.tools.terminal.autoApprove": {"git log": true, "/^npm (test|run lint)$/": true}}`, "exactly npm run lint"},
	} {
		files := []dialect.File{{Name: tc.name, Data: []byte(tc.text)}}
		d, err := all.Of("", files)
		if err != nil {
			t.Fatal(err)
		}
		l, err := dialect.Load(d, &dialect.Input{Files: files, Home: "/home/u"})
		if err != nil {
			t.Fatal(err)
		}
		res, err := ToNative(l, &Options{Limit: 300})
		if err != nil {
			t.Fatal(err)
		}
		if len(res.Unsaid) > 0 || res.Differences.Looser > 0 || !strings.Contains(res.Text, tc.want) {
			t.Errorf("%s: unsaid %v, %d looser\n%s", tc.text, res.Unsaid, res.Differences.Looser, res.Text)
			for _, r := range res.Differences.Regions {
				if r.Looser {
					t.Logf("%s %s: %s → %s", r.Call.Tool, r.Call.Input, r.Was, r.Now)
				}
			}
		}
	}
}

// TestModes: sentences for a draft are those of the default mode, whatever mode settings begin in.
func TestModes(t *testing.T) {
	for _, mode := range []string{"default", "bypassPermissions", "plan", "acceptEdits"} {
		files := []dialect.File{{Name: ".claude/settings.json", Data: []byte(`{"permissions": {"defaultMode": "` + mode + `",
			"allow": ["Bash(make *)"], "ask": ["Bash(git push *)"], "deny": ["Bash(sudo *)"]}}`)}}
		d, err := all.Of("", files)
		if err != nil {
			t.Fatal(err)
		}
		l, err := dialect.Load(d, &dialect.Input{Files: files, Home: "/home/u"})
		if err != nil {
			t.Fatal(err)
		}
		said, unsaid := Sentences(l)
		texts := ""
		for _, s := range said {
			texts += s.Verdict.String() + " " + s.Text + "; "
		}
		if want := "deny run sudo; ask run git push; allow run make; "; texts != want || len(unsaid) > 0 {
			t.Errorf("%s: %q, want %q; unsaid %v", mode, texts, want, unsaid)
		}
	}
}
