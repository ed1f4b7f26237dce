package effect

import (
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"
)

// BenchmarkFirst is what the first analysis of a process takes beside the second, in microseconds:
// the best of twenty processes. A hook decides one call.
func BenchmarkFirst(b *testing.B) {
	for _, cmd := range []string{"git status", "cat README.md", "aws s3 ls", "npm test"} {
		b.Run(cmd, func(b *testing.B) {
			for b.Loop() {
				first, second := 1e9, 1e9
				for range 20 {
					c := exec.Command(os.Args[0], "-test.run=^TestFirstChild$")
					c.Env = append(os.Environ(), "OBSTAT_FIRST="+cmd)
					out, err := c.Output()
					var x, y float64
					if _, scan := fmt.Sscan(string(out), &x, &y); err != nil || scan != nil {
						b.Fatal(err, scan)
					}
					first, second = min(first, x), min(second, y)
				}
				b.ReportMetric(first, "first-µs")
				b.ReportMetric(second, "second-µs")
			}
		})
	}
}

// TestFirstChild is the process that BenchmarkFirst starts; by itself it does nothing.
func TestFirstChild(t *testing.T) {
	cmd := os.Getenv("OBSTAT_FIRST")
	if cmd == "" {
		return
	}
	opts := testOptions()
	start := time.Now()
	AnalyzeCommand(cmd, opts)
	first := time.Now()
	AnalyzeCommand(cmd, opts)
	second := time.Since(first)
	fmt.Println(float64(first.Sub(start))/1e3, float64(second)/1e3)
}
