// Command mutate changes a package in small ways and runs the package's own tests
// against each change. A change that no test notices is printed: a test is missing
// there, or the change means nothing.
//
//	go run -C lab/mutate . [-n 60] [-seed 1] [-timeout 5m] [-skip REGEXP] PACKAGE
//
// PACKAGE is a directory of the repository, `approval`. The changes: a condition
// negated, && for ||, < for <=, == for !=, another number, true for false, a statement
// left out, zero values returned. The package is never written to: the compiler gets
// each changed file with -overlay.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

func main() {
	n := flag.Int("n", 60, "how many changes are tried")
	seed := flag.Uint64("seed", 1, "seed of the choice")
	limit := flag.Duration("timeout", 5*time.Minute, "how long the tests may take; longer counts as noticed")
	skip := flag.String("skip", "", "`regexp` of tests that are left out, such as slow ones")
	flag.Parse()
	if flag.NArg() != 1 {
		flag.Usage()
		os.Exit(2)
	}
	r := &run{pkg: flag.Arg(0), skip: *skip, limit: *limit}
	if err := r.all(*n, rand.New(rand.NewPCG(*seed, 0))); err != nil {
		fmt.Fprintln(os.Stderr, "mutate:", err)
		os.Exit(1)
	}
	fmt.Printf("%s: %d of %d changes noticed (%d%%), seed %d; %d more did not compile\n",
		r.pkg, r.killed, r.tried, 100*r.killed/max(r.tried, 1), *seed, r.broken)
}

// A run tries the changes of one package.
type run struct {
	pkg, skip, root       string
	limit                 time.Duration
	tried, killed, broken int
}

// all tries n changes that compile, chosen at random.
func (r *run) all(n int, random *rand.Rand) error {
	var err error
	if r.root, err = filepath.Abs("../.."); err != nil {
		return err
	}
	list, err := mutants(filepath.Join(r.root, r.pkg))
	if err != nil {
		return err
	}
	random.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	dir, err := os.MkdirTemp("", "mutate-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if out, err := r.test(""); err != nil {
		return fmt.Errorf("the tests fail without a change: %w\n%s", err, out)
	}
	for _, m := range list {
		if r.tried == n {
			break
		}
		if err := r.try(dir, &m); err != nil {
			return err
		}
	}
	return nil
}

// try runs the tests with one change.
func (r *run) try(dir string, m *mutant) error {
	text, err := m.text()
	if err != nil {
		return err
	}
	changed, overlay := filepath.Join(dir, "changed.go"), filepath.Join(dir, "overlay.json")
	replace, err := json.Marshal(map[string]any{"Replace": map[string]string{m.file: changed}})
	if err = errors.Join(err, os.WriteFile(changed, text, 0o600), os.WriteFile(overlay, replace, 0o600)); err != nil {
		return err
	}
	out, err := r.test(overlay)
	switch {
	case strings.Contains(out, "[build failed]"), strings.Contains(out, "[setup failed]"):
		r.broken++
		return nil
	case err != nil:
		r.killed++
	default:
		name, _ := filepath.Rel(r.root, m.file)
		fmt.Printf("survived  %s:%d:%d  %s\n", name, m.line, m.col, m.what)
	}
	r.tried++
	return nil
}

// test runs the package's tests, with the files of an overlay if one is named.
func (r *run) test(overlay string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), r.limit+time.Minute)
	defer cancel()
	args := []string{"test", "-count=1", "-failfast", "-vet=off", "-timeout", r.limit.String()}
	if overlay != "" {
		args = append(args, "-overlay", overlay)
	}
	if r.skip != "" {
		args = append(args, "-skip", r.skip)
	}
	cmd := exec.CommandContext(ctx, "go", append(args, "./"+r.pkg)...)
	cmd.Dir = r.root
	out, err := cmd.CombinedOutput()
	return string(out), err
}
