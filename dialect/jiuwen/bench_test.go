package jiuwen

import (
	"testing"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
)

// BenchmarkLoad reads and compiles a small configuration with the built-in rules.
func BenchmarkLoad(b *testing.B) {
	in := &dialect.Input{Files: []dialect.File{{Name: "config.yaml", Data: []byte(strictBash)}}}
	for b.Loop() {
		if _, err := dialect.Load(Dialect{}, in); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkDecide answers a command under the built-in rules.
func BenchmarkDecide(b *testing.B) {
	l, err := dialect.Load(Dialect{}, &dialect.Input{Files: []dialect.File{{Name: "config.yaml", Data: []byte(strictBash)}}})
	if err != nil {
		b.Fatal(err)
	}
	call := &obstat.Call{Tool: "bash", Input: []byte(`{"command":"git -C sub log --oneline -5"}`), Dir: exampleDir, Roots: []string{exampleDir}}
	world := &obstat.Snapshot{HomeDir: "/home/user"}
	for b.Loop() {
		if d := l.Policy.Decide(call, world); d.Verdict != obstat.Allow {
			b.Fatal(d.Reason())
		}
	}
}
