package main

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

func main() {
	sizes := flag.String("n", "10,100,1000,10000,100000", "numbers of rules")
	calls := flag.Int("calls", 10000, "calls")
	rounds := flag.Int("rounds", 5, "rounds in which the engines take turns")
	skip := flag.String("skip", "", "engines to leave out, comma separated")
	limit := flag.Duration("limit", 400*time.Millisecond, "time of one engine in one round")
	table := flag.String("table", "decisions", "which table: decisions, globs or regexps")
	flag.Parse()
	switch *table {
	case "globs":
		globs(*rounds, *limit)
		return
	case "regexps":
		regexps(*rounds, *limit)
		return
	}
	if err := decisions(*sizes, *calls, *rounds, *limit, strings.Split(*skip, ",")); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// A maker builds an engine; max is the largest number of rules at which waiting
// for it is worth while.
type maker struct {
	name string
	max  int
	make func(*workload) (engine, error)
}

func makers() []maker {
	return []maker{
		{"obstat", 1 << 30, func(w *workload) (engine, error) { return newObstat(w, false) }},
		{"obstat from bytes", 1 << 30, func(w *workload) (engine, error) { return newObstat(w, true) }},
		{"Go loop", 1 << 30, func(w *workload) (engine, error) { return newLinear(w, false) }},
		{"Go loop by tool", 1 << 30, func(w *workload) (engine, error) { return newLinear(w, true) }},
		{"cedar-go", 10_000, func(w *workload) (engine, error) { return newCedar(w, false) }},
		{"cedar-go by tool", 1 << 30, func(w *workload) (engine, error) { return newCedar(w, true) }},
		{"OPA prepared", 10_000, newOPA},
		{"cel-go by tool", 10_000, newCEL},
		{"casbin", 1_000, newCasbin},
	}
}

// A result is one engine at one size.
type result struct {
	perCall  []float64 // ns of CPU per decision, one a round
	allocs   float64
	build    time.Duration
	heap     uint64
	disagree int
}

func decisions(sizes string, calls, rounds int, limit time.Duration, skip []string) error {
	fmt.Println("| rules | engine | CPU per decision | × obstat | allocations | build | heap | other answers |")
	fmt.Println("|---|---|---|---|---|---|---|---|")
	for _, s := range strings.Split(sizes, ",") {
		n, err := strconv.Atoi(s)
		if err != nil {
			return err
		}
		if err := oneSize(newWorkload(n, calls), n, rounds, limit, skip); err != nil {
			return err
		}
	}
	return nil
}

func oneSize(w *workload, n, rounds int, limit time.Duration, skip []string) error {
	var engines []engine
	var results []*result
	for _, m := range makers() {
		if n > m.max || slices.Contains(skip, m.name) {
			continue
		}
		res := &result{}
		before := heap()
		start := cpu()
		e, err := m.make(w)
		if err != nil {
			return fmt.Errorf("%s: %w", m.name, err)
		}
		res.build = cpu() - start
		res.heap = heap() - min(before, heap())
		engines, results = append(engines, e), append(results, res)
	}
	for i, e := range engines {
		results[i].disagree = disagreements(engines[0], e, w, limit)
	}
	for range rounds {
		for i, e := range engines {
			results[i].perCall = append(results[i].perCall, timeEngine(e, w, limit, results[i]))
		}
	}
	ours := median(results[0].perCall)
	for i, e := range engines {
		r := results[i]
		fmt.Printf("| %d | %s | %s [%s] | %.1f | %.0f | %s | %.1f MB | %d |\n", n, e.name(), ns(median(r.perCall)), ns(slices.Min(r.perCall)),
			median(r.perCall)/ours, r.allocs, r.build.Round(10*time.Microsecond), float64(r.heap)/1e6, r.disagree)
	}
	return nil
}

// disagreements counts the calls on which two engines differ, within a limit of
// time.
func disagreements(a, b engine, w *workload, limit time.Duration) (n int) {
	start := time.Now()
	for i := range w.calls {
		if a.decide(&w.calls[i]) != b.decide(&w.calls[i]) {
			n++
		}
		if time.Since(start) > 4*limit {
			break
		}
	}
	return n
}

func timeEngine(e engine, w *workload, limit time.Duration, r *result) float64 {
	var m0, m1 runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m0)
	start, wall, n := cpu(), time.Now(), 0
	for time.Since(wall) < limit {
		for range 16 {
			e.decide(&w.calls[n%len(w.calls)])
			n++
		}
	}
	spent := cpu() - start
	runtime.ReadMemStats(&m1)
	r.allocs = float64(m1.Mallocs-m0.Mallocs) / float64(n)
	return float64(spent) / float64(n)
}

// cpu returns the CPU time of the process: on a busy machine the wall clock
// measures the neighbours.
func cpu() time.Duration {
	var ru syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &ru); err != nil {
		return 0
	}
	return time.Duration(ru.Utime.Nano() + ru.Stime.Nano())
}

func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

func median(xs []float64) float64 {
	s := slices.Sorted(slices.Values(xs))
	return s[len(s)/2]
}

func ns(v float64) string {
	switch {
	case v >= 1e6:
		return fmt.Sprintf("%.1f ms", v/1e6)
	case v >= 1e4:
		return fmt.Sprintf("%.0f µs", v/1e3)
	case v >= 1e3:
		return fmt.Sprintf("%.2f µs", v/1e3)
	}
	return fmt.Sprintf("%.0f ns", v)
}
