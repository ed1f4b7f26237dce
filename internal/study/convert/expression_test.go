package convert

import (
	"strings"
	"testing"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/pattern"
)

// TestExpressions reads expressions as people write them; of an allow rule the globs stand for no more than they do.
func TestExpressions(t *testing.T) {
	const none = "none"
	for _, tt := range []struct{ text, allow, deny string }{
		{"ls", "ls", "ls"},
		{`(rm|rmdir)\b(?s:.*)`, "rm *, rmdir *", "rm *, rmdir *"},
		{`gh\s+(pr|issue)\s+(list|view)\b`, "gh pr list *, gh pr view *, gh issue list *, gh issue view *",
			"gh pr list *, gh pr view *, gh issue list *, gh issue view *"},
		{`docker[- ]compose\s+ps\b.*`, "docker-compose ps *, docker compose ps *", "docker-compose ps *, docker compose ps *"},
		{`(npm\s+(list|info)|pip3?\s+show)\b`, "npm list *, npm info *, pip show *, pip3 show *",
			"npm list *, npm info *, pip show *, pip3 show *"},
		{`^cargo (build|test)(\s[^;|&]*)?(\s*(>|2>&1).*)?$`, "cargo build **, cargo test **",
			"cargo build>**, cargo build2>&1**, cargo build **, cargo test>**, cargo test2>&1**, cargo test **"},
		{`git\s[^"]*\b(push|clean)\b`, none, "git **push *, git **clean *"},
		{`[a-z]+`, none, "*"}, {`x[^a]y`, none, "x*y"}, {`mkfs.`, none, "mkfs*"}, {`a.b`, none, "a*b"},
		{`gh api\b[^"]* (-X|-[fF]|--method)`, none, "gh api** -X, gh api** -f, gh api** -F, gh api** --method"},
		{`(?!x)y`, none, none}, {`a{2}`, none, none}, {`a)`, none, none}, {`a+`, none, none}, {`(a)+`, none, none},
		{`[\w]x`, none, "*x"}, {`a\*b`, `a\*b`, `a\*b`}, {`a|b.*`, "a, b**", "a, b**"}, {`x(\d+)?`, "x", "x, x*"}, {`[]]`, "]", "]"},
		{`rm(\s|$)`, "rm *", "rm *"}, {`a.*?b`, "a**b", "a**b"}, {`a\s*=\s*b`, "a=b, a= b, a =b, a = b", "a=b, a= b, a =b, a = b"},
		{`(?s)(?i)curl(?: .*)?`, none, "curl *"}, {`^(?:\.[/\\])?bin[/\\]a\.sh(?![\w.-])`, "bin/a.sh *, ./bin/a.sh *", "bin/a.sh *, ./bin/a.sh *"},
		{strings.Repeat(`(a|b)`, 7), none, none}, {`\`, none, none},
	} {
		for _, less := range []bool{true, false} {
			want := tt.deny
			if less {
				want = tt.allow
			}
			got := none
			if globs, _, ok := expressionGlobs(obstat.Text{Flavour: pattern.Full, Text: tt.text}, less); ok {
				got = strings.Join(globs, ", ")
			}
			if got != want {
				t.Errorf("%s, less %v: %q, want %q", tt.text, less, got, want)
			}
		}
	}
}
