package shell_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"mvdan.cc/sh/v3/syntax"

	"github.com/obstat/obstat/shell"
)

// parseable returns the corpus without the few texts that no parser accepts.
func parseable(b *testing.B) []string {
	p := syntax.NewParser()
	return slices.DeleteFunc(corpus(b), func(s string) bool {
		_, err := p.Parse(strings.NewReader(s), "")
		return err != nil
	})
}

// BenchmarkMvdan is the bare parser, reused, over the corpus: what Parse is measured against.
func BenchmarkMvdan(b *testing.B) {
	texts := parseable(b)
	p := syntax.NewParser()
	r := strings.NewReader("")
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		r.Reset(texts[i%len(texts)])
		if _, err := p.Parse(r, ""); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkParse is Parse over the corpus.
func BenchmarkParse(b *testing.B) {
	texts := parseable(b)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		shell.Parse(texts[i%len(texts)], nil)
	}
}

// BenchmarkRatio compares the two text by text and reports how much longer Parse takes,
// at the median, at the 99th percentile and in total.
func BenchmarkRatio(b *testing.B) {
	texts := parseable(b)
	p := syntax.NewParser()
	r := strings.NewReader("")
	bare := func(s string) {
		r.Reset(s)
		p.Parse(r, "")
	}
	var ratios []float64
	for b.Loop() {
		ratios = ratios[:0]
		var sumBare, sumOurs time.Duration
		for _, s := range texts {
			x, y := best(func() { bare(s) }, func() { shell.Parse(s, nil) })
			ratios = append(ratios, float64(y)/float64(x))
			sumBare, sumOurs = sumBare+x, sumOurs+y
		}
		b.ReportMetric(float64(sumOurs)/float64(sumBare), "total-ratio")
	}
	slices.Sort(ratios)
	b.ReportMetric(ratios[len(ratios)/2], "median-ratio")
	b.ReportMetric(ratios[len(ratios)*99/100], "p99-ratio")
	b.ReportMetric(ratios[len(ratios)-1], "max-ratio")
}

// best times two functions in turns and returns the shortest time of each, to keep other load
// out of the ratio.
func best(f, g func()) (x, y time.Duration) {
	x, y = time.Duration(1<<62), time.Duration(1<<62)
	for range 20 {
		x, y = min(x, timed(f)), min(y, timed(g))
	}
	return x, y
}

func timed(fn func()) time.Duration {
	start := time.Now()
	for range 8 {
		fn()
	}
	return time.Since(start)
}
