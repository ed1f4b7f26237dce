// Command ledger compares durable appends to obstat's ledger with the least that
// could be done for the same promise: the same records, sealed into the same
// chain, in a bare file with the same group commit. Everything takes turns in
// one process, so the ratios hold on a busy machine where the numbers do not. It
// prints the table of docs/performance.md, section "Ledger".
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/obstat/obstat/internal/keep/sqlite"
	"github.com/obstat/obstat/ledger"
)

func main() {
	rounds := flag.Int("rounds", 15, "rounds in which the stores take turns")
	limit := flag.Duration("limit", 200*time.Millisecond, "time of one store in one round")
	callers := flag.Int("callers", 64, "concurrent callers")
	many := flag.Int("records", 1_000_000, "records to query and to verify; 0 leaves it out")
	dir := flag.String("dir", "", "directory to write to; the system's for temporary files if empty")
	flag.Parse()
	if err := run(*dir, *rounds, *callers, *many, *limit); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(dir string, rounds, callers, many int, limit time.Duration) error {
	dir, err := os.MkdirTemp(dir, "ledger-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := appends(dir, rounds, callers, limit); err != nil {
		return err
	}
	if many == 0 {
		return nil
	}
	return large(filepath.Join(dir, "large.db"), many)
}

// record is about 400 bytes as a line, as most are.
func record(i int) *ledger.Record {
	return &ledger.Record{Time: time.Now(), Kind: ledger.Decision, Agent: "coder", Session: fmt.Sprintf("session-%06d", i%10_000), Tool: "Bash", Verdict: "allow",
		Rule: "Bash(npm run *)", Input: json.RawMessage(`{"command":"npm run build -- --mode production"}`), Reason: "an allow rule matches", Nanos: 1500}
}

// A contestant is something that takes records durably.
type contestant struct {
	name    string
	callers int
	put     func(r *ledger.Record) error
	// settle, where there is one, waits until all that was taken can be found by a
	// query.
	settle func() error
	found  []float64 // records a second with that wait
	rates  []float64 // records a second, one a round
	p50    []float64
	p99    []float64
}

func appends(dir string, rounds, callers int, limit time.Duration) error {
	file, err := newFile(filepath.Join(dir, "bare"), true)
	if err != nil {
		return err
	}
	defer file.close()
	growing, err := newFile(filepath.Join(dir, "growing"), false)
	if err != nil {
		return err
	}
	defer growing.close()
	ctx := context.Background()
	db, err := sqlite.Open(ctx, filepath.Join(dir, "obstat.db"))
	if err != nil {
		return err
	}
	defer db.Close()
	hook := func(r *ledger.Record) error { // as a hook does, for each record
		f, err := sqlite.Log(filepath.Join(dir, "hooks.db"), os.Getenv)
		if err == nil {
			err = f.Append(ctx, r)
			f.Close()
		}
		return err
	}
	put := func(r *ledger.Record) error { return db.Append(ctx, r) }
	settle := func() error {
		for _, err := range db.Records(ctx, ledger.Query{Limit: 1}) {
			return err
		}
		return nil
	}
	all := []*contestant{
		{name: "bare file, preallocated", callers: 1, put: file.direct},
		{name: "ledger", callers: 1, put: put, settle: settle},
		{name: "bare file, preallocated", callers: callers, put: file.put},
		{name: "ledger", callers: callers, put: put, settle: settle},
		{name: "bare append to an open file", callers: 1, put: growing.direct},
		{name: "a hook: open, lock, read the tail, append, keep the head, close", callers: 1, put: hook},
	}
	for range rounds {
		if err := turns(all, limit); err != nil {
			return err
		}
		for _, c := range all {
			if c.callers == 1 {
				continue
			}
			if err := c.round(limit); err != nil {
				return fmt.Errorf("%s: %w", c.name, err)
			}
		}
	}
	report(all)
	return nil
}

// turns lets those with one caller append one record each in turn, so that other
// work of the machine slows all of them.
func turns(all []*contestant, limit time.Duration) error {
	took := make([][]float64, len(all))
	for start := time.Now(); time.Since(start) < limit*time.Duration(len(all)); {
		for i, c := range all {
			if c.callers != 1 {
				continue
			}
			t := time.Now()
			if err := c.put(record(i)); err != nil {
				return fmt.Errorf("%s: %w", c.name, err)
			}
			took[i] = append(took[i], float64(time.Since(t)))
		}
	}
	for i, c := range all {
		if c.callers == 1 {
			sum := 0.0
			for _, t := range took[i] {
				sum += t
			}
			c.note(took[i], time.Duration(sum))
		}
	}
	return nil
}

// note takes down the times of one round.
func (c *contestant) note(took []float64, elapsed time.Duration) {
	slices.Sort(took)
	c.rates = append(c.rates, float64(len(took))/elapsed.Seconds())
	c.p50 = append(c.p50, took[len(took)/2])
	c.p99 = append(c.p99, took[len(took)*99/100])
}

// round lets all callers append for a while.
func (c *contestant) round(limit time.Duration) error {
	var wg sync.WaitGroup
	took := make([][]float64, c.callers)
	errs := make([]error, c.callers)
	start := time.Now()
	for k := range c.callers {
		wg.Go(func() {
			for i := 0; time.Since(start) < limit && errs[k] == nil; i++ {
				t := time.Now()
				errs[k] = c.put(record(k))
				took[k] = append(took[k], float64(time.Since(t)))
			}
		})
	}
	wg.Wait()
	all := slices.Concat(took...)
	c.note(all, time.Since(start))
	if c.settle != nil {
		errs = append(errs, c.settle())
		c.found = append(c.found, float64(len(all))/time.Since(start).Seconds())
	}
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func report(all []*contestant) {
	fmt.Println("| durable appends | callers | records/s | p50 | p99 | of the bare one |")
	fmt.Println("|---|---|---|---|---|---|")
	for i, c := range all {
		bare := all[i&^1]
		share := make([]float64, len(c.rates)) // of the same round
		for j := range share {
			share[j] = c.rates[j] / bare.rates[j]
		}
		fmt.Printf("| %s | %d | %.0f | %s | %s | %.0f %% |\n", c.name, c.callers, median(c.rates), ns(median(c.p50)), ns(median(c.p99)), 100*median(share))
	}
	one, many := all[1], all[3]
	fmt.Printf("\n%.0f records/s, %.0f %% of the bare file, if the time counts as well until all of them are indexed.\n",
		median(many.found), 100*ratio(many.found, all[2].rates))
	fmt.Printf("%d callers together: %.1f times one. One call: %.2f times that of the bare file. p99: %.1f times p50 (bare file: %.1f). A hook: %.2f times the bare append.\n",
		many.callers, ratio(many.rates, one.rates), ratio(one.p50, all[0].p50), ratio(many.p99, many.p50), ratio(all[2].p99, all[2].p50), ratio(all[5].p50, all[4].p50))
}

// ratio is the median over the rounds of one divided by the other.
func ratio(of, to []float64) float64 {
	out := make([]float64, len(of))
	for i := range of {
		out[i] = of[i] / to[i]
	}
	return median(out)
}

func median(xs []float64) float64 {
	s := slices.Sorted(slices.Values(xs))
	return s[len(s)/2]
}

func ns(v float64) string {
	if v >= 1e6 {
		return fmt.Sprintf("%.2f ms", v/1e6)
	}
	return fmt.Sprintf("%.0f µs", v/1e3)
}
