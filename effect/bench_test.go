package effect

import (
	"math"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"mvdan.cc/sh/v3/syntax"
)

// BenchmarkAgainstParse compares the whole analysis of each command of the corpora with a bare
// parse of it by a parser that is reused: median and 99th percentile of the quotients of
// processor time, of each the best of several measurements.
func BenchmarkAgainstParse(b *testing.B) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	cmds := append(corpus(b, "danger.jsonl.gz"), corpus(b, "readonly.jsonl.gz")...)
	opts := testOptions()
	parser := syntax.NewParser()
	r := strings.NewReader("")
	for b.Loop() {
		var ratios []float64
		for _, c := range cmds {
			parse := cost(func() { r.Reset(c); parser.Parse(r, "") })
			analyze := cost(func() { AnalyzeCommand(c, opts) })
			ratios = append(ratios, analyze/parse)
		}
		slices.Sort(ratios)
		b.ReportMetric(ratios[len(ratios)/2], "median-x")
		b.ReportMetric(ratios[len(ratios)*99/100], "p99-x")
	}
}

// cost is the processor time of one call: the best of twelve measurements of half a millisecond.
func cost(f func()) float64 {
	best := math.Inf(1)
	for range 12 {
		start, n := cpuTime(), 0
		for cpuTime()-start < time.Millisecond/2 {
			for range 50 {
				f()
			}
			n += 50
		}
		best = min(best, float64(cpuTime()-start)/float64(n))
	}
	return best
}

func BenchmarkAnalyzeCommand(b *testing.B) {
	opts := testOptions()
	for _, c := range []string{"git status", "cat README.md", "env CI=1 timeout 5 rm -rf build && npm test", "find . -name '*.ts' | cut -d/ -f2 | sort | uniq"} {
		b.Run(c, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				AnalyzeCommand(c, opts)
			}
		})
	}
}

// BenchmarkColdStart is what a process that meets its first program pays for the knowledge base.
func BenchmarkColdStart(b *testing.B) {
	for b.Loop() {
		for bl := range builtin.find("git") {
			s, _ := builtin.compile(bl.Body)
			s.ready(&s.subs[s.first.list[s.first.find("status")].at])
		}
	}
}

// BenchmarkReadings: a usual input has no other reading, and that costs no memory.
func BenchmarkReadings(b *testing.B) {
	for _, c := range []struct{ tool, input string }{
		{"Bash", `{"command":"go test ./... && git status","description":"Run the tests","timeout":60000}`},
		{"Write", `{"file_path":"/home/ann/proj/src/a.go","content":"package a\n\nfunc F() string { return \"x\" }\n"}`},
	} {
		b.Run(c.tool, func(b *testing.B) {
			data := []byte(c.input)
			b.ReportAllocs()
			for b.Loop() {
				if Readings(c.tool, data) != nil {
					b.Fatal("a reading")
				}
			}
		})
	}
}
