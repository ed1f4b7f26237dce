package opencode

import (
	"fmt"
	"strings"
	"testing"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
)

// ruleFile returns a configuration with n rules for the shell.
func ruleFile(n int) string {
	var b strings.Builder
	b.WriteString(`{"permission": {"*": "ask", "bash": {"*": "ask"`)
	for i := range n {
		fmt.Fprintf(&b, `, "program%d *": "allow"`, i)
	}
	b.WriteString(`, "git *": "allow", "git push *": "deny"}, "external_directory": "ask"}}`)
	return b.String()
}

func BenchmarkLoad(b *testing.B) {
	for _, n := range []int{10, 1000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			in := input(nil, "user:opencode.json", ruleFile(n), "project:p.json", `{"permission": {"bash": {"ls *": "allow"}}}`)
			for b.Loop() {
				if _, err := dialect.Load(Dialect{}, in); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkDecide(b *testing.B) {
	for name, call := range map[string]*obstat.Call{
		"read": callOf("read", `{"filePath":"src/a.ts"}`),
		"bash": callOf("bash", `{"command":"cd src && git status -s | cat"}`),
		"mcp":  callOf("srv_tool", `{"a":1}`),
	} {
		for _, n := range []int{10, 10_000} {
			l, err := dialect.Load(Dialect{}, input(nil, "opencode.json", ruleFile(n)))
			if err != nil {
				b.Fatal(err)
			}
			b.Run(fmt.Sprintf("%s/%d", name, n), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					l.Policy.Decide(call, world)
				}
			})
		}
	}
}

// BenchmarkStars is the pattern that keeps the original busy for longer than
// anybody waits: 50 stars against 100 kB.
func BenchmarkStars(b *testing.B) {
	rules := Ruleset{{Permission: "bash", Pattern: strings.Repeat("a*", 50) + "b", Action: obstat.Deny}}
	value := strings.Repeat("a", 100_000)
	pol, err := rules.policy(Last)
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		evaluate(pol, "bash", value)
	}
}

// BenchmarkLint tries a large file in both orders.
func BenchmarkLint(b *testing.B) {
	in := input(nil, "opencode.json", ruleFile(1000))
	for b.Loop() {
		(Dialect{}).Lint(in, nil)
	}
}
