package effect

import (
	"fmt"
	"github.com/obstat/obstat/shell"
	"mvdan.cc/sh/v3/syntax"
	"slices"
	"strings"
	"testing"
)

func TestWorst(t *testing.T) {
	cmds := append(corpus(t, "danger.jsonl.gz"), corpus(t, "readonly.jsonl.gz")...)
	opts := testOptions()
	parser := syntax.NewParser()
	r := strings.NewReader("")
	type x struct {
		c       string
		a, b, s float64
	}
	var l []x
	for _, c := range cmds {
		parse := fastest(200, func() { r.Reset(c); parser.Parse(r, "") })
		sh := fastest(200, func() { shell.Parse(c, nil) })
		analyze := fastest(200, func() { AnalyzeCommand(c, opts) })
		l = append(l, x{c, float64(analyze) / float64(parse), float64(analyze-sh) / float64(parse), float64(sh) / float64(parse)})
	}
	slices.SortFunc(l, func(a, b x) int {
		if a.b > b.b {
			return -1
		}
		return 1
	})
	for _, v := range l[:25] {
		fmt.Printf("%.1f effect %.1f shell %.1f %q\n", v.a, v.b, v.s, v.c)
	}
	fmt.Printf("median effect %.2f ", l[len(l)/2].b)
	slices.SortFunc(l, func(a, b x) int {
		if a.s > b.s {
			return -1
		}
		return 1
	})
	fmt.Printf("median shell %.2f p99 shell %.2f\n", l[len(l)/2].s, l[len(l)/100].s)
}
func BenchmarkAll(b *testing.B) {
	cmds := append(corpus(b, "danger.jsonl.gz"), corpus(b, "readonly.jsonl.gz")...)
	opts := testOptions()
	b.ReportAllocs()
	for b.Loop() {
		for _, c := range cmds {
			AnalyzeCommand(c, opts)
		}
	}
}
