package convert_test

import (
	"strings"
	"testing"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect/native"
	"github.com/obstat/obstat/internal/study/convert"
	"github.com/obstat/obstat/internal/study/diff"
)

// TestAsTheOriginal converts rules that have once become looser, or lost their sentence for a call that the original's
// agent cannot make.
func TestAsTheOriginal(t *testing.T) {
	const opencode, qwen = "opencode.json", ".qwen/settings.json"
	for _, tt := range []struct {
		name, file, text string
		said             []string // sentences of the result
		tool, input      string   // a call and
		want             obstat.Verdict
	}{
		{"brackets are characters", opencode,
			`{"permission": {"bash": {":(){ :|:& };: *": "deny", "*": "ask"}}}`,
			[]string{`"run :(){ :|:& };:"`}, "bash", `{"command": ":(){ :|:& };:"}`, obstat.Deny},
		{"a text of PowerShell", ".claude/settings.json",
			`{"permissions": {"allow": ["PowerShell(git stash)", "PowerShell(echo \"it's\" | x)"]}}`,
			[]string{`tool PowerShell where input.command is \"git stash\"`}, "PowerShell",
			`{"command": "git stash drop"}`, obstat.Ask},
		{"a rule about PowerShell in any letters", ".claude/settings.json",
			`{"permissions": {"allow": ["Bash(ls)", "PowerShell"], "deny": ["PowerShell(curl *)", "PowerShell(Remove-Item *)"]}}`,
			[]string{"run curl", "run Remove-Item", "tool PowerShell"}, "PowerShell", `{"command": "remove-item x"}`, obstat.Deny},
		{"PowerShell alone", ".claude/settings.json", `{"permissions": {"allow": ["PowerShell"]}}`,
			[]string{"tool PowerShell"}, "Bash", `{"command": "make x"}`, obstat.Ask},
		{"variables in quotes", ".claude/settings.json", `{"permissions": {"allow": ["Bash(DB=\"x y\" node:*)"]}}`,
			[]string{`run 'DB=\"x y\" node'`}, "Bash", `{"command": "node x.js"}`, obstat.Ask},
		{"a command of several lines", ".claude/settings.json",
			`{"permissions": {"allow": ["Bash(python3 -c \"\nimport x\nfor a in b:\n    print\\(a\\)\n\")"]}}`,
			nil, "Bash", `{"command": "python3 -c '\nimport x\nfor a in b:\n    print(a)\n'"}`, obstat.Allow},
		{"literal stars", ".codex/rules/default.rules",
			`prefix_rule(pattern=["gh", "pr", "view:*"], decision="allow")
prefix_rule(pattern=["gh", "pr", "close:*"], decision="prompt")`,
			[]string{`run \"gh pr 'view:*'\"`}, "shell", `{"command": "gh pr 'view:*'"}`, obstat.Allow},
		{"a script of the project", ".vscode/settings.json",
			`{"chat.tools.terminal.autoApprove": {"./bin/a.sh": true, "bin/b.sh": false}}`,
			[]string{"run bin/a.sh, ./bin/a.sh", "run bin/b.sh, ./bin/b.sh"}, "run_in_terminal", `{"command": "./bin/a.sh x"}`, obstat.Allow},
		{"a program by its path", ".claude/settings.json", `{"permissions": {"allow": ["Bash(/usr/bin/python3:*)"]}}`,
			[]string{"run /usr/bin/python3"}, "Bash", `{"command": "/usr/bin/python3 -m pytest"}`, obstat.Allow},
		{"what a package brings", ".claude/settings.json", `{"permissions": {"allow": ["Bash(npx:*)"]}}`,
			[]string{"run npx"}, "Bash", `{"command": "npx prettier --check ."}`, obstat.Allow},
		{"below an exception", opencode,
			`{"permission": {"read": {"*": "allow", "*.env.*": "deny", "*.env.example": "allow"}, "bash": "ask"}}`,
			[]string{"read **/*.env.example/*, /**/*.env.example/*"}, "read", `{"filePath": "a.env.example/x"}`, obstat.Deny},
		{"the exception itself", opencode,
			`{"permission": {"read": {"*": "allow", "*.env.*": "deny", "*.env.example": "allow"}, "bash": "ask"}}`,
			nil, "read", `{"filePath": "a.env.example"}`, obstat.Allow},
		{"a question about every tool", opencode,
			`{"permission": {"*": "ask", "read": "allow", "grep": "allow", "skill": "allow", "bash": {"pwd *": "allow"}}}`,
			[]string{"run pwd", "tool skill", "tool grep", "tool read"}, "bash", `{"command": "pwd p"}`, obstat.Allow},
		{"a question about every tool, of a command", opencode, `{"permission": {"*": "ask", "bash": {"make *": "allow"}, "read": "allow"}}`,
			[]string{"run anything except make"}, "bash", `{"command": "echo p"}`, obstat.Ask},
		{"a denial of every tool, outside", opencode, `{"permission": {"*": "deny", "bash": {"*": "ask", "make *": "allow"}, "edit": "allow"}}`,
			[]string{"write outside workspace", "run anything except make"}, "bash", `{"command": "make > ~/.bashrc"}`, obstat.Deny},
		{"a denial of every tool, of a command", opencode, `{"permission": {"*": "deny", "bash": {"git *": "allow"}}}`,
			[]string{"run anything except git"}, "bash", `{"command": "echo p"}`, obstat.Deny},
		{"outside of the project", opencode, `{"permission": {"read": "allow"}}`,
			[]string{"read workspace"}, "read", `{"filePath": "/opt/p"}`, obstat.Ask},
		{"a directory outside of the project", opencode, `{"permission": {"read": "allow", "external_directory": {"/opt/*": "deny"}}}`,
			[]string{"read /opt/**"}, "read", `{"filePath": "/opt/p"}`, obstat.Deny},
		{"what connects", opencode, `{"permission": {"*": "ask", "bash": "allow"}}`,
			[]string{"run anything"}, "bash", `{"command": "curl https://a.b"}`, obstat.Ask},
		{"a denial of every tool", opencode,
			`{"permission": {"*": "deny", "bash": {"pwd *": "allow"}}}`,
			[]string{"otherwise: deny", "run pwd"}, "websearch", `{"query": "x"}`, obstat.Deny},
		{"a tool that no rule names", opencode, `{"permission": {"edit": "allow", "bash": "allow"}}`,
			[]string{"write workspace", "run anything"}, "edit", `{"filePath": "x"}`, obstat.Allow},
		{"another agent's tool by its name", opencode, `{"permission": {"*": "ask", "bash": "allow", "Bash": "deny"}}`,
			nil, "Bash", `{"command": "pwd"}`, obstat.Deny},
		{"protected files beside a denial of some", ".cursor/cli.json",
			`{"permissions": {"allow": ["Write(**)", "Shell(**)"], "deny": ["Write(.env*)"]}}`,
			[]string{"places:", "write workspace", "run anything", "write and delete protected"}, "Shell", `{"command": "touch .git/x"}`, obstat.Ask},
		{"what a place had to leave out", ".cursor/cli.json",
			`{"permissions": {"allow": ["Write(**)", "Shell(**)"], "deny": ["Write(.env*)"]}}`,
			nil, "Shell", `{"command": "touch .envrc"}`, obstat.Deny},
		{"a program with blanks", ".codex/rules/default.rules",
			`prefix_rule(pattern=["gh repo delete"], decision="forbidden")`,
			[]string{"run gh repo delete"}, "shell", `{"command": "gh\\ repo\\ delete x"}`, obstat.Deny},
		{"a word in quotes", qwen, `{"permissions": {"allow": ["Bash(\"users\": *)"]}}`,
			[]string{"run users:"}, "run_shell_command", `{"command": "\"users\": p"}`, obstat.Allow},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			l := load(t, "", tt.file, tt.text, nil)
			res, err := convert.ToNative(l, &convert.Options{Limit: *limit})
			if err != nil {
				t.Fatal(err)
			}
			for _, s := range tt.said {
				if !strings.Contains(res.Text, s) {
					t.Errorf("no sentence %s", s)
				}
			}
			call := &obstat.Call{Tool: tt.tool, Input: []byte(tt.input), Dir: diff.Dir, Roots: []string{diff.Dir}}
			d := load(t, native.Name, native.File, res.Text, nil).Policy.Decide(call, &obstat.Snapshot{HomeDir: diff.Home})
			if d.Verdict != tt.want || res.Differences.Looser > 0 || len(res.Unsaid) > 0 {
				t.Errorf("%s; %d looser; unsaid: %v", d.Reason(), res.Differences.Looser, res.Unsaid)
			}
			if t.Failed() {
				t.Log(res.Text)
			}
		})
	}
}
