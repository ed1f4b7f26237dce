package convert_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/internal/study/convert"
	"github.com/obstat/obstat/internal/study/diff"
)

// TestGrouped: a pile of rules that were accepted one by one becomes a few sentences, under the kinds of what they are
// about, and allows the very calls of the single ones.
func TestGrouped(t *testing.T) {
	var rules []string
	for _, r := range []string{"git log:*", "git diff:*", "git status", "git show:*", "npm test", "npm run build", "npm run lint:*",
		"ls:*", "wc:*", "make", "go test:*", "go build:*", "go vet ./...", "pytest:*", "ruff check:*"} {
		rules = append(rules, "Bash("+r+")")
	}
	l := load(t, "claudecode", "settings.json", `{"permissions": {"allow": ["`+strings.Join(rules, `", "`)+
		`", "mcp__gh__list_issues", "mcp__gh__get_issue"], "deny": ["Bash(rm:*)"]}}`, nil)
	res, err := convert.ToNative(l, nil)
	if err != nil || len(res.Unsaid) > 0 || res.Differences.Looser > 0 {
		t.Fatal(res.Unsaid, res.Differences.Looser, err)
	}
	allow, _, _ := strings.Cut(res.Text, "\ndeny:")
	for _, want := range []string{"  - run git log, git diff, git show\n", "  # Commands.\n", "  # Tools.\n",
		"  - tool mcp__gh__list_issues, mcp__gh__get_issue\n"} {
		if !strings.Contains(allow, want) {
			t.Errorf("no %q in\n%s", want, res.Text)
		}
	}
	if n := strings.Count(allow, "\n  - "); n > 9 {
		t.Errorf("%d sentences for %d rules:\n%s", n, len(rules)+2, res.Text)
	}
}

// TestForTool: a rule for one tool that its effect would say too widely is said by the tool's name.
func TestForTool(t *testing.T) {
	l := load(t, "claudecode", "settings.json", `{"permissions": {"allow": ["WebFetch(domain:go.dev)", "WebFetch(domain:*.example.com)"]}}`, nil)
	res, err := convert.ToNative(l, nil)
	if err != nil || res.Differences.Looser > 0 {
		t.Fatal(err, res.Differences)
	}
	if want := `tool WebFetch where input.url like \"https://go.dev/*\"`; !strings.Contains(res.Text, want) {
		t.Errorf("no %s in\n%s", want, res.Text)
	}
	world := &obstat.Snapshot{HomeDir: diff.Home}
	n := load(t, "", "obstat.yaml", res.Text, nil)
	for _, url := range []string{"https://go.dev/x", "https://go.dev.evil.example/", "https://a.example.com/", "https://evil.example/go.dev/"} {
		call := &obstat.Call{Tool: "WebFetch", Input: []byte(`{"url":"` + url + `"}`), Dir: diff.Dir, Roots: []string{diff.Dir}}
		was, now := l.Policy.Decide(call, world).Verdict, n.Policy.Decide(call, world).Verdict
		if now > was || url == "https://go.dev/x" && now != obstat.Allow {
			t.Errorf("%s was %s and is %s", url, was, now)
		}
	}
}

// TestStarted: a rule for a program by its starter stays one, and is none for the program alone: `run npx tsc` is about
// the tsc that npx runs.
func TestStarted(t *testing.T) {
	l := load(t, "claudecode", "settings.json", `{"permissions": {"allow": ["Bash(npx tsc:*)", "Bash(uv run pytest)", "Bash(npx:*)",
		"Bash(uv run --with x y:*)"], "deny": ["Bash(npx rimraf:*)"]}}`, nil)
	said, _ := convert.Sentences(l)
	var texts []string
	for _, s := range said {
		texts = append(texts, s.Verdict.String()+" "+s.Text)
	}
	slices.Sort(texts)
	want := []string{"allow run exactly uv run pytest", "allow run npx", "allow run npx tsc", "allow run uv run --with x y",
		"deny run npx rimraf"}
	if !slices.Equal(texts, want) {
		t.Errorf("%q, want %q", texts, want)
	}
	n := load(t, "", "obstat.yaml", "version: 1\nallow:\n  - run npx tsc\n  - run exactly uv run pytest\n", nil)
	for command, want := range map[string]obstat.Verdict{"npx tsc --noEmit": obstat.Allow, "uv run pytest": obstat.Allow,
		"tsc --noEmit": obstat.Ask, "pytest": obstat.Ask, "uv run pytest -q": obstat.Ask} {
		call := &obstat.Call{Tool: "Bash", Input: []byte(`{"command":"` + command + `"}`), Dir: diff.Dir, Roots: []string{diff.Dir}}
		if v := n.Policy.Decide(call, &obstat.Snapshot{HomeDir: diff.Home}).Verdict; v != want {
			t.Errorf("%s: %s, want %s", command, v, want)
		}
	}
}
