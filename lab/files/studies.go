package main

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/dialect/native"
	"github.com/obstat/obstat/internal/study/convert"
	"github.com/obstat/obstat/internal/study/lint"
)

// rules returns how many places of a policy's files have a rule.
func rules(p *dialect.Loaded) int {
	at := map[obstat.Pos]bool{}
	for _, list := range p.Program.Rules {
		for i := range list {
			if slices.Contains(p.Input.Names(), list[i].Pos.File) {
				at[list[i].Pos] = true
			}
		}
	}
	return len(at)
}

// convert says every policy in obstat.yaml, and decides the calls that were written down with the result.
func (l *lab) convert() error {
	pols, err := l.loaded()
	if err != nil {
		return err
	}
	list, err := l.calls()
	if err != nil {
		return err
	}
	said, unsaid, looser, kept, allowed := 0, 0, 0, 0, 0
	why := map[string]int{}
	var times []float64
	for _, name := range slices.Sorted(maps.Keys(pols)) {
		p := pols[name]
		n := rules(p)
		if p.Dialect.Name() == native.Name || n == 0 {
			continue
		}
		start := time.Now()
		res, err := convert.ToNative(p, nil)
		times = append(times, since(start))
		if took := since(start); took > 2 {
			fmt.Printf("slow: %s, %d rules: %.1f s\n", name, n, took)
		}
		if err != nil {
			fmt.Printf("%s: %s\n", name, short(err.Error()))
			continue
		}
		said, unsaid = said+n-len(res.Unsaid), unsaid+len(res.Unsaid)
		for _, u := range res.Unsaid {
			why[short(u.Why)]++
			if l.verbose {
				fmt.Printf("no sentence: %s %s: %s\n", u.Verdict, short(u.Rule), short(u.Why))
			}
		}
		now, err := dialect.Load(native.Dialect{}, &dialect.Input{Home: world.HomeDir,
			Files: []dialect.File{{Name: filepath.Join(project, native.File), Data: []byte(res.Text)}}})
		if err != nil {
			fmt.Printf("%s: the result does not load: %s\n", name, short(err.Error()))
			continue
		}
		looser += res.Differences.Looser
		a, k, x := l.against(name, list, p.Policy, now.Policy)
		allowed, kept, looser = allowed+a, kept+k, looser+x
	}
	mid, most := median(times)
	fmt.Printf("convert: %d rules with a sentence, %d without (%.1f %%); %d looser; %d of %d allowed calls still allowed (%.1f %%); %.2f s at the median, %.1f s at most\n",
		said, unsaid, 100*float64(unsaid)/float64(max(said+unsaid, 1)), looser, kept, allowed, 100*float64(kept)/float64(max(allowed, 1)), mid, most)
	for _, k := range slices.SortedFunc(maps.Keys(why), func(a, b string) int { return why[b] - why[a] }) {
		fmt.Printf("  %4d  %s\n", why[k], k)
	}
	return nil
}

// against decides the calls of a file by two policies: how many the first allows, how many of those the second
// allows, and how many the second decides more freely.
func (l *lab) against(name string, list []meaning, was, now *obstat.Policy) (allowed, kept, looser int) {
	for i := range list {
		if list[i].File != name {
			continue
		}
		before, after := was.Decide(list[i].call(), world), now.Decide(list[i].call(), world)
		switch {
		case before.Verdict == obstat.Allow && after.Verdict == obstat.Allow:
			allowed, kept = allowed+1, kept+1
		case before.Verdict == obstat.Allow:
			if allowed++; l.verbose {
				fmt.Printf("no longer allowed: %s %v: %s\n", name, list[i].Input, after.Reason())
			}
		case after.Verdict > before.Verdict:
			looser++
			fmt.Printf("LOOSER %s %s %v: %s → %s, %s\n", name, list[i].Rule, list[i].Input, before.Verdict, after.Verdict, after.Reason())
		}
	}
	return allowed, kept, looser
}

// lint counts what is said of each file, and prints it with -v for a judge.
func (l *lab) lint() error {
	pols, err := l.loaded()
	if err != nil {
		return err
	}
	var each []float64
	kinds := map[string]int{}
	for _, name := range slices.Sorted(maps.Keys(pols)) {
		p := pols[name]
		all := slices.Concat(p.Warnings, dialect.Lint(p), lint.Program(p.Program, &lint.Options{Files: p.Input.Names(),
			Sees: p.Dialect.Info().Sees, Now: time.Now()}))
		all = lint.Fold(all)
		if n := rules(p); n > 0 {
			each = append(each, 100*float64(len(all))/float64(max(n, 100)))
		}
		for _, e := range all {
			kinds[string(e.Code)]++
			if l.verbose {
				fmt.Printf("%s:%d  %s; %s\n", name, e.Pos.Line, short(e.Msg), short(e.Hint))
			}
		}
	}
	mid, most := median(each)
	fmt.Printf("lint: %v; %.1f lines for 100 rules at the median, %.1f at most\n", kinds, mid, most)
	return nil
}

// export writes the converted policies for other agents, in memory.
func (l *lab) export() error { return fmt.Errorf("not measured here: see internal/study/convert") }

// drafts puts each file into a project of its own and runs obstat init there, as a person would.
func (l *lab) drafts() error {
	program := os.Getenv("OBSTAT")
	if program == "" {
		return fmt.Errorf("OBSTAT is the obstat program to run")
	}
	return l.runInit(program, strings.TrimSuffix(project, "/"))
}
