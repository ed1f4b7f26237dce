package protect_test

import (
	"os"
	"testing"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/internal/guard/protect"
)

// BenchmarkCheck is what the hook pays on top of a decision.
func BenchmarkCheck(b *testing.B) {
	g := &protect.Guarded{Policies: []string{"/home/ann/src/proj/obstat.json"}, Getenv: os.Getenv}
	for _, command := range []string{"git status", "go test ./...", "echo x > notes.txt", "rm -rf build"} {
		c := &obstat.Call{Tool: "Bash", Input: []byte(`{"command":"` + command + `"}`), Dir: "/home/ann/src/proj"}
		b.Run(command, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if g.Check(c, obstat.OS{}, nil) != nil {
					b.Fatal("found something")
				}
			}
		})
	}
}
