package main

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/internal/study/diff"
)

// pile is how many rules a file has before it is looked at by gc.
const pile = 20

// gc takes the rules that decide nothing out of every pile. The rest has to decide as before: the calls that were
// written down, and those that the search for differences makes up.
func (l *lab) gc() error {
	return l.tidy(func(was, now *obstat.Policy) []diff.Region {
		return diff.Compare(was, now, &diff.Options{Limit: 5_000}).Regions
	}, "gc", "--yes", "--unused", "0")
}

// suggest takes over what obstat suggests for every pile: no denial or question may go with it.
func (l *lab) suggest() error {
	return l.tidy(func(was, now *obstat.Policy) []diff.Region {
		return diff.Loosened(&diff.Draft{Was: []*obstat.Policy{was}, Now: now, Specific: true})
	}, "suggest", "--accept")
}

// tidy runs a command of obstat policy on every pile, with the obstat program, as a person would who says yes to all:
// OBSTAT_TRUST names the directory of temporary files, since there is no terminal.
func (l *lab) tidy(compare func(was, now *obstat.Policy) []diff.Region, command ...string) error {
	program := os.Getenv("OBSTAT")
	if program == "" {
		return fmt.Errorf("OBSTAT is the obstat program to run")
	}
	pols, err := l.loaded()
	if err != nil {
		return err
	}
	list, err := l.calls()
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "files-gc-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	by := map[string]*entry{}
	all := l.entries()
	for i := range all {
		by[all[i].repo+"/"+all[i].path] = &all[i]
	}
	var before, after, looser, stricter, allowed, kept, piles int
	var times, part []float64
	for i, name := range slices.Sorted(maps.Keys(pols)) {
		n := rules(pols[name])
		if i%l.skip != 0 || n < pile {
			continue
		}
		now, took, lines, err := tidied(program, dir, by[name], l.cache, command...)
		if err != nil {
			fmt.Printf("%s: %s\n", name, err)
			continue
		}
		m := rules(now)
		piles, before, after = piles+1, before+n, after+m
		times, part = append(times, took), append(part, 100*float64(n-m)/float64(n))
		regions := compare(pols[name].Policy, now.Policy)
		a, k, x := l.against(name, list, pols[name].Policy, now.Policy)
		allowed, kept = allowed+a, kept+k
		looser += x
		for i := range regions {
			if regions[i].Looser {
				looser++
			} else {
				stricter++
			}
		}
		if l.verbose || len(regions) > 0 {
			fmt.Printf("%s: %d rules, %d after; %d lines said; %.1f s; %d regions\n", name, n, m, lines, took, len(regions))
			for i := range regions {
				r := &regions[i]
				fmt.Printf("  %s → %s: %s, was by %s, now by %s\n", r.Was, r.Now, short(string(r.Call.Input)),
					r.WasBy.Rule, r.NowBy.Rule)
			}
		}
	}
	mid, most := median(times)
	gone, mostGone := median(part)
	fmt.Printf(command[0]+": %d files of %d rules and more: %d rules, %d after (%.1f %% gone at the median, %.1f %% at most); "+
		"%d regions looser, %d stricter; %d of %d allowed calls still allowed; %.2f s of CPU at the median, %.1f s at most\n",
		piles, pile, before, after, gone, mostGone, looser, stricter, kept, allowed, mid, most)
	return nil
}

// tidied runs a command of obstat policy on a copy of a file, and loads what is left: how long it took, and how much it said.
func tidied(program, dir string, e *entry, cache string, command ...string) (*dialect.Loaded, float64, int, error) {
	data, err := os.ReadFile(e.in(cache))
	if err != nil {
		return nil, 0, 0, err
	}
	at, err := os.MkdirTemp(dir, "project-*")
	if err != nil {
		return nil, 0, 0, err
	}
	file := filepath.Join(at, filepath.FromSlash(e.path))
	if err = os.MkdirAll(filepath.Dir(file), 0o755); err == nil {
		err = os.WriteFile(file, data, 0o644)
	}
	if err != nil {
		return nil, 0, 0, err
	}
	cmd := exec.Command(program, append(append([]string{"policy"}, command...), file)...)
	cmd.Dir = at
	cmd.Env = append(os.Environ(), "HOME="+filepath.Join(dir, "home"), "XDG_CONFIG_HOME=", "XDG_STATE_HOME=")
	out, err := cmd.CombinedOutput()
	if err != nil {
		return nil, 0, 0, fmt.Errorf("%w: %s", err, out)
	}
	took := (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds()
	if data, err = os.ReadFile(file); err != nil {
		return nil, 0, 0, err
	}
	now, err := load(e, data)
	return now, took, strings.Count(string(out), "\n"), err
}
