package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/build"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// A run tries the changes of one package.
type run struct {
	pkg, root, skip           string
	jobs                      int
	rapid                     bool   // the tests draw cases
	dir                       string // for the changed files, the binary and the copies of the module
	tried, killed, equivalent int
}

// all tries n changes that compile, chosen at random.
func (r *run) all(n int, random *rand.Rand) error {
	pkg, err := build.ImportDir(filepath.Join(r.root, r.pkg), 0)
	if err != nil {
		return err
	}
	r.rapid = slices.Contains(slices.Concat(pkg.TestImports, pkg.XTestImports), "pgregory.net/rapid")
	list, err := mutants(pkg, r.pkg)
	if err != nil {
		return err
	}
	random.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	if n == 0 {
		n = len(list)
	}
	if r.dir, err = os.MkdirTemp("", "mutate-"); err != nil {
		return err
	}
	defer os.RemoveAll(r.dir)
	chosen, err := r.build(n, list)
	if err != nil {
		return err
	}
	if err := copyModule(r.root, r.module()); err != nil {
		return err
	}
	start := time.Now()
	if out, err := r.test(0, 10*time.Minute); err != nil {
		return fmt.Errorf("the tests fail without a change: %w\n%s", err, out)
	}
	r.try(chosen, 10*time.Second+10*time.Since(start))
	return nil
}

// build makes the binary of the tests with the first n changes of the list that
// compile and mean something, and returns these.
func (r *run) build(n int, list []mutant) ([]mutant, error) {
	known := equivalents()
	var chosen []mutant
	for {
		for len(chosen) < n && len(list) > 0 {
			if why, ok := known[list[0].key()]; ok {
				fmt.Printf("means nothing  %s  %s: %s\n", list[0].place(), list[0].what, why)
				r.equivalent++
			} else {
				chosen = append(chosen, list[0])
			}
			list = list[1:]
		}
		out, err := r.compile(chosen)
		if err == nil {
			return chosen, nil
		}
		bad := broken(out)
		if len(bad) == 0 {
			return nil, fmt.Errorf("the tests do not compile: %w\n%s", err, out)
		}
		var good []mutant
		for i, m := range chosen {
			if !bad[i+1] {
				good = append(good, m)
			}
		}
		chosen = good
	}
}

var brokenAt = regexp.MustCompile(`mutant_(\d+)\.go:`)

// broken returns the numbers of the changes that the compiler complains of.
func broken(out []byte) map[int]bool {
	bad := map[int]bool{}
	for _, m := range brokenAt.FindAllSubmatch(out, -1) {
		i, _ := strconv.Atoi(string(m[1]))
		bad[i] = true
	}
	return bad
}

// compile builds the binary with changes, the first of which has the number 1.
func (r *run) compile(chosen []mutant) ([]byte, error) {
	files, err := changed(filepath.Join(r.root, r.pkg), chosen)
	if err != nil {
		return nil, err
	}
	replace := map[string]string{}
	for name, text := range files {
		replace[name] = filepath.Join(r.dir, strconv.Itoa(len(replace))+".go")
		if err := os.WriteFile(replace[name], text, 0o600); err != nil {
			return nil, err
		}
	}
	overlay := filepath.Join(r.dir, "overlay.json")
	text, err := json.Marshal(map[string]any{"Replace": replace})
	if err = errors.Join(err, os.WriteFile(overlay, text, 0o600)); err != nil {
		return nil, err
	}
	cmd := exec.Command("go", "test", "-c", "-vet=off", "-gcflags=-e", "-overlay", overlay, "-o", r.binary(), "./"+r.pkg)
	cmd.Dir = r.root
	return cmd.CombinedOutput()
}

func (r *run) binary() string { return filepath.Join(r.dir, "tests") }

func (r *run) module() string { return filepath.Join(r.dir, "module") }

// try runs the tests with each change.
func (r *run) try(chosen []mutant, limit time.Duration) {
	var group sync.WaitGroup
	var killed atomic.Int64
	places := make(chan struct{}, max(r.jobs, 1))
	for i := range chosen {
		places <- struct{}{}
		group.Go(func() {
			if _, err := r.test(i+1, limit); err != nil {
				killed.Add(1)
			} else {
				fmt.Printf("survived  %s  %s\n", chosen[i].place(), chosen[i].what)
			}
			<-places
		})
	}
	group.Wait()
	r.tried, r.killed = len(chosen), int(killed.Load())
}

// test runs the package's tests with one change, or with none for 0, in a copy of the
// module of their own, as a changed function may write where it should not. An exit because
// of the limit counts as noticed: the change made a loop endless, or something waits.
func (r *run) test(mutant int, limit time.Duration) ([]byte, error) {
	module := filepath.Join(r.dir, strconv.Itoa(mutant))
	defer os.RemoveAll(module)
	if err := os.CopyFS(module, os.DirFS(r.module())); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), limit+time.Minute)
	defer cancel()
	args := []string{"-test.failfast", "-test.timeout", limit.String()}
	if r.skip != "" {
		args = append(args, "-test.skip", r.skip)
	}
	if r.rapid { // as make test draws its cases; those that fail are not kept
		args = append(args, "-rapid.seed=1", "-rapid.nofailfile")
	}
	cmd := exec.CommandContext(ctx, r.binary(), args...)
	cmd.Dir = filepath.Join(module, r.pkg)
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%d", variable, mutant))
	cmd.WaitDelay = time.Second
	return cmd.CombinedOutput()
}
