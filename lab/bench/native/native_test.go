// Package native measures what a decision costs in obstat.yaml beside Claude Code's rules.
package native

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/dialect/claudecode"
	"github.com/obstat/obstat/dialect/native"
)

// nativeCalls are what agents do: look, edit, run tests, push.
func nativeCalls() (out []*obstat.Call) {
	for _, c := range []string{"ls -la src", "cat README.md | head -20", "git status", "git diff --stat && git log -3", "npm test -- --watch", "prog7 build x", "grep -rn foo src", "echo x > out.txt", "git push origin main", "rm -rf build"} {
		input, _ := json.Marshal(map[string]string{"command": c})
		out = append(out, &obstat.Call{Tool: "Bash", Input: input, Dir: "/p", Roots: []string{"/p"}})
	}
	for _, p := range []string{"/p/src/main.go", "/p/.env", "/p/docs/a.md"} {
		input, _ := json.Marshal(map[string]string{"file_path": p})
		out = append(out, &obstat.Call{Tool: "Read", Input: input, Dir: "/p", Roots: []string{"/p"}}, &obstat.Call{Tool: "Write", Input: input, Dir: "/p", Roots: []string{"/p"}})
	}
	return out
}

// nativePolicy is a policy of 100 rules; after makes some of them hang on the session.
func nativePolicy(after bool) string {
	var b strings.Builder
	b.WriteString("version: 1\nallow:\n  - read workspace\n  - write workspace except .git/**, .env*\n")
	for i := range 74 {
		fmt.Fprintf(&b, "  - run prog%d build\n", i)
	}
	b.WriteString("  - run npm test\n  - run git status\n  - run git diff\n  - run git log\nask:\n  - run git push\n  - delete workspace\n")
	for i := range 8 {
		fmt.Fprintf(&b, "  - write gen%d/**\n", i)
	}
	b.WriteString("deny:\n  - read secrets\n  - write outside workspace\n")
	for i := range 8 {
		fmt.Fprintf(&b, "  - read private%d/**\n", i)
	}
	if after {
		b.WriteString("  - {rule: connect anywhere, after: read secrets}\n  - {rule: run git push, after: [write gen1/**, run make]}\n")
	} else {
		b.WriteString("  - connect evil.example\n  - run mkfs\n")
	}
	return b.String()
}

// claudePolicy says about the same in Claude Code's rules.
func claudePolicy() []byte {
	var allow, ask, deny []string
	for i := range 74 {
		allow = append(allow, fmt.Sprintf("Bash(prog%d build *)", i))
	}
	allow = append(allow, "Edit(./**)", "Read(./**)", "Bash(npm test *)", "Bash(git status *)", "Bash(git diff *)", "Bash(git log *)")
	ask = append(ask, "Bash(git push *)", "Bash(rm *)")
	deny = append(deny, "Read(./.env)", "Read(~/.ssh/**)", "WebFetch(domain:evil.example)", "Bash(mkfs *)")
	for i := range 8 {
		ask, deny = append(ask, fmt.Sprintf("Edit(./gen%d/**)", i)), append(deny, fmt.Sprintf("Read(./private%d/**)", i))
	}
	b, _ := json.Marshal(map[string]any{"permissions": map[string]any{"allow": allow, "ask": ask, "deny": deny}})
	return b
}

// BenchmarkNative decides the same calls by 100 rules in each language, and with rules that come after
// something: see docs/performance.md.
func BenchmarkNative(b *testing.B) {
	world := &obstat.Snapshot{HomeDir: "/home/u", Dirs: []string{"/", "/p", "/p/src", "/home/u"}}
	for _, tt := range []struct {
		name string
		d    dialect.Dialect
		file string
		text []byte
	}{
		{"claudecode", claudecode.Dialect{}, ".claude/settings.json", claudePolicy()},
		{"native", native.Dialect{}, "obstat.yaml", []byte(nativePolicy(false))},
		{"native-after", native.Dialect{}, "obstat.yaml", []byte(nativePolicy(true))},
	} {
		l, err := dialect.Load(tt.d, &dialect.Input{Files: []dialect.File{{Name: tt.file, Data: tt.text}}})
		if err != nil {
			b.Fatal(err)
		}
		calls := nativeCalls()
		b.Run(tt.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				for _, c := range calls {
					l.Policy.Decide(c, world)
				}
			}
		})
	}
}
