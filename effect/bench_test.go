package effect

import (
	"slices"
	"strings"
	"testing"
	"time"

	"mvdan.cc/sh/v3/syntax"
)

// BenchmarkAgainstParse compares the whole analysis of each command of the corpora with a bare
// parse of it by a parser that is reused: median and 99th percentile of the quotients.
func BenchmarkAgainstParse(b *testing.B) {
	cmds := append(corpus(b, "danger.jsonl.gz"), corpus(b, "readonly.jsonl.gz")...)
	opts := testOptions()
	parser := syntax.NewParser()
	r := strings.NewReader("")
	const rounds = 700
	for b.Loop() {
		var ratios []float64
		for _, c := range cmds {
			parse := fastest(rounds, func() { r.Reset(c); parser.Parse(r, "") })
			analyze := fastest(rounds, func() { AnalyzeCommand(c, opts) })
			ratios = append(ratios, float64(analyze)/float64(parse))
		}
		slices.Sort(ratios)
		b.ReportMetric(ratios[len(ratios)/2], "median-x")
		b.ReportMetric(ratios[len(ratios)*99/100], "p99-x")
	}
}

// fastest is the time of the fastest of seven batches: other load only slows.
func fastest(rounds int, f func()) time.Duration {
	best := time.Duration(1 << 62)
	for range 7 {
		start := time.Now()
		for range rounds / 7 {
			f()
		}
		best = min(best, time.Since(start))
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

func BenchmarkColdStart(b *testing.B) {
	for b.Loop() {
		base := loadBase()
		s, _ := compile(base.find("git").text)
		s.subs["status"][0].ready()
	}
}
