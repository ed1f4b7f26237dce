package policy_test

import (
	"context"
	"testing"

	"github.com/obstat/obstat/policy"
)

// BenchmarkFind finds the policy of a project, parsed and accepted.
func BenchmarkFind(b *testing.B) {
	files := map[string]string{claudeFile: `{"permissions":{"allow":["Bash(npm *)","Bash(git *)","Bash(make *)","Read"],"deny":["Bash(rm *)","Read(.env)"],"ask":["Bash(git push *)"]}}`,
		"home/.claude/settings.json": `{"permissions":{"deny":["WebFetch"]}}`}
	for _, name := range []string{"parsed", "pinned"} {
		b.Run(name, func(b *testing.B) {
			w := newWorld(b, files)
			w.finder.NoPins = name == "parsed"
			at := &policy.Where{Agent: "claude-code", Dir: w.dir, Start: w.dir, Home: w.home, Getenv: func(string) string { return "" }}
			f, err := w.finder.Find(at)
			if err != nil {
				b.Fatal(err)
			}
			if name == "pinned" {
				if err := w.finder.Pin(context.Background(), f, at, "alice"); err != nil {
					b.Fatal(err)
				}
			}
			for b.Loop() {
				if _, err := w.finder.Find(at); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
