// Command mutate changes packages in small ways and runs each package's own tests
// against each change. A change that no test notices is printed: a test is missing
// there, or the change means nothing.
//
//	go run -C lab/mutate . [-n 60] [-seed 1] [-skip REGEXP] PACKAGE...
//
// PACKAGE is a directory of the repository, `approval`, or `.` for its root. The
// changes: a condition negated, && for ||, < for <=, == for !=, another number, true
// for false, a statement left out, zero values returned. Changes that mean nothing are
// rows of equivalent.txt; they are listed and not counted. The package is never
// written to: the compiler gets its files with -overlay, all changes in one binary,
// of which each run of the tests switches one on, in a copy of the module.
package main

import (
	_ "embed"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

func main() {
	n := flag.Int("n", 60, "how many changes are tried; 0 tries all")
	seed := flag.Uint64("seed", 1, "seed of the choice")
	skip := flag.String("skip", "", "`regexp` of tests that are left out, such as slow ones")
	jobs := flag.Int("j", runtime.NumCPU(), "how many changes are tried at once")
	flag.Parse()
	if flag.NArg() == 0 {
		flag.Usage()
		os.Exit(2)
	}
	root, err := filepath.Abs("../..")
	if err != nil {
		fail(err)
	}
	var table strings.Builder
	for _, pkg := range flag.Args() {
		r := &run{pkg: pkg, root: root, skip: *skip, jobs: *jobs}
		if err := r.all(*n, rand.New(rand.NewPCG(*seed, 0))); err != nil {
			fail(fmt.Errorf("%s: %w", pkg, err))
		}
		fmt.Fprintf(&table, "| `%s` | %d | %d of %d | %d %% | %d |\n",
			pkg, *seed, r.killed, r.tried, 100*r.killed/max(r.tried, 1), r.equivalent)
	}
	fmt.Printf("\n| package | seed | noticed | | mean nothing |\n|---|---|---|---|---|\n%s", table.String())
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "mutate:", err)
	os.Exit(1)
}

//go:embed equivalent.txt
var equivalentText string

// equivalents returns the changes that mean nothing, by mutant.key, with the reason:
//
//	gate/memo.go forget: left out delete(m.kept, key)
//		only memory tells
func equivalents() map[string]string {
	out := map[string]string{}
	var key string
	for line := range strings.Lines(equivalentText) {
		switch why, indented := strings.CutPrefix(line, "\t"); {
		case strings.TrimSpace(line) == "" || line[0] == '#':
		case indented:
			out[key] += strings.TrimSpace(why)
		default:
			key = strings.TrimSpace(line)
		}
	}
	return out
}
