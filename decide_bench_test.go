package obstat_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/pattern"
)

// BenchmarkDecide is the rule path alone; bench/ compares it with others.
func BenchmarkDecide(b *testing.B) {
	for _, n := range []int{10, 100, 1000, 10000} {
		var rules []obstat.Rule
		for i := range n {
			rules = append(rules, obstat.Rule{Tool: obstat.Is(fmt.Sprint("t", i%50)), Field: "command", Verdict: obstat.Verdict(i % 3),
				Pattern: obstat.Text{Flavour: pattern.Fnmatch, Text: fmt.Sprintf("git push mod%d*", i)}})
		}
		pol := mustCompile(b, sample(rules...))
		calls := make([]*obstat.Call, 256)
		for i := range calls {
			calls[i] = &obstat.Call{Tool: fmt.Sprint("t", i%50), Input: json.RawMessage(fmt.Sprintf(`{"command":"git push mod%d --all x","timeout":30}`, i*7%(2*n)))}
		}
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				pol.Decide(calls[i%len(calls)], nil)
			}
		})
	}
}
