package suggest_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/internal/study/diff"
	"github.com/obstat/obstat/internal/study/suggest"
)

// TestPile makes piles of rules for single commands, and takes over all that is suggested: each command is allowed as
// before, and no denial or question is lifted.
func TestPile(t *testing.T) {
	commands := []string{"go test ./a", "go test ./b -v", "go test -run X ./c", "cargo build", "cargo build --release",
		"cargo build -p x", "git status", "ls -la", "make x", "rm -rf build", "git push origin x", "curl -s https://a.example/",
		"node -e 'x'", "npm run a", "npm run b", "npm run c", "docker ps", "pytest -q a", "pytest -q b", "pytest c", "echo a && ls"}
	random := rand.New(rand.NewPCG(1, 2))
	fewer := 0
	for range 8 {
		random.Shuffle(len(commands), func(i, j int) { commands[i], commands[j] = commands[j], commands[i] })
		pile := commands[:8+random.IntN(8)]
		var rules, bash []string
		for _, c := range pile {
			rule, _ := json.Marshal("Bash(" + c + ")")
			key, _ := json.Marshal(c)
			rules, bash = append(rules, string(rule)), append(bash, string(key)+`: "allow"`)
		}
		for name, text := range map[string]string{
			".claude/settings.json": fmt.Sprintf(`{"permissions": {"deny": ["Bash(git push:*)"], "ask": ["Bash(cargo build -p:*)"],
				"allow": [%s]}}`, strings.Join(rules, ", ")),
			"opencode.json": fmt.Sprintf(`{"permission": {"bash": {"*": "ask", %s, "git push *": "deny"}}}`, strings.Join(bash, ", ")),
		} {
			file := filepath.Join(t.TempDir(), name)
			if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
			was := load(t, file, text)
			rep, err := suggest.Pile(was, nil)
			if err != nil {
				t.Fatal(err)
			}
			var offers []obstat.Offer
			var gone []obstat.Pos
			for _, s := range rep.List {
				offers, gone = append(offers, s.Offers...), append(gone, s.Gone...)
			}
			if err := was.Swap(file, gone, offers...); err != nil {
				t.Fatalf("%s: %v", text, err)
			}
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			now := load(t, file, string(data))
			held(t, was, now, pile)
			fewer += len(gone) - len(offers)
		}
	}
	if fewer < 8 {
		t.Errorf("there are %d rules fewer", fewer)
	}
}

// held tells whether what was allowed of a pile still is, and what was held still is held.
func held(t *testing.T, was, now *dialect.Loaded, pile []string) {
	t.Helper()
	tool := map[bool]string{true: "bash", false: "Bash"}[was.Dialect.Name() == "opencode"]
	for _, c := range pile {
		input, _ := json.Marshal(map[string]string{"command": c})
		call := &obstat.Call{Tool: tool, Input: input, Dir: project, Roots: []string{project}}
		a, b := was.Policy.Decide(call, world), now.Policy.Decide(call, world)
		if a.Verdict != b.Verdict {
			t.Errorf("%s: %s goes from %s to %s", was.Input.Names()[0], c, a.Verdict, b.Verdict)
		}
	}
	for _, r := range diff.Loosened(&diff.Draft{Was: []*obstat.Policy{was.Policy}, Now: now.Policy, Specific: true}) {
		t.Errorf("%s goes from %s to %s", r.Call.Input, r.Was, r.Now)
	}
}
