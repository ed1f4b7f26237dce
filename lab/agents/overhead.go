package agents

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/obstat/obstat/internal/scripted"
)

// rounds is how often each of the two is run with a driver that has a hook that says yes, in turns: what else
// the machine does then falls on both.
const rounds = 3

// compare prints how long calls take with obstat, and with a hook that only says yes.
func (o *options) compare(agents []Agent, newRun func(*Agent, int) *run) error {
	n := 0
	for i := range agents {
		a := &agents[i]
		took := map[bool][]time.Duration{}
		whole := a.driver.yes != ""
		for round := range 2 * rounds {
			n++
			r := newRun(a, n)
			times, err := o.timed(a, r, whole, round%2 == 0)
			if err != nil {
				return fmt.Errorf("%s: %w", a.id(), err)
			}
			for obstat, list := range times {
				took[obstat] = append(took[obstat], list...)
			}
			if err := r.tidy(); err != nil {
				return err
			}
			if !whole && round+1 == rounds {
				break // each of them had both
			}
		}
		obstat, yes := middle(took[true]), middle(took[false])
		fmt.Fprintf(o.out, "%s: a call takes %s with obstat, %s with a hook that says yes: %.2f times (middle of %d and %d "+
			"calls)\n", a.id(), obstat, yes, float64(obstat)/float64(yes), len(took[true]), len(took[false]))
	}
	return nil
}

// warm is how many calls of a run do not count: the agent is still starting.
const warm = 3

// block is how many calls one after the other have the same hook. The first does not count: work that the
// other hook has left to do, such as writing down an outcome, may fall into it.
const block = 6

// blockOf returns the number of a call's block, and its place in it.
func blockOf(call int) (number, at int) { return (call - warm) / block, (call - warm) % block }

// timed has an agent make calls, and returns how long they took with obstat (true) and with a yes.
func (o *options) timed(a *Agent, r *run, whole, obstat bool) (map[bool][]time.Duration, error) {
	s := &scenario{name: "overhead", policy: usual}
	calls := warm + o.overhead
	if !whole {
		calls = warm + 2*block*((o.overhead+block-2)/(block-1))
	}
	for i := range calls {
		s.main = append(s.main, shell(fmt.Sprintf("echo %d", i)))
	}
	model, err := scripted.New(s.script(a, r.dir))
	if err != nil {
		return nil, err
	}
	defer model.Close()
	r.model, r.hook = model, "home/"+a.driver.entry.file
	ctx, cancel := context.WithTimeout(context.Background(), runLimit)
	defer cancel()
	if err := r.prepare(ctx, a, s); err != nil {
		return nil, err
	}
	with := func(int) bool { return obstat }
	if !whole {
		with = func(call int) bool { n, _ := blockOf(call); return call < warm || n%2 == 0 }
		if err := r.inTurns(model, with); err != nil {
			return nil, err
		}
	} else if !obstat {
		if err := r.write(r.home(a.driver.entry.file), a.driver.yes); err != nil {
			return nil, err
		}
	}
	if _, err := r.start(a, &scenario{}, runLimit, nil); err != nil {
		return nil, err
	}
	times := model.Took()
	if len(times) < calls {
		return nil, fmt.Errorf("only %d of %d calls were made: %s", len(times), calls, r.lastLines())
	}
	out := map[bool][]time.Duration{}
	for call := warm; call < calls; call++ {
		if _, at := blockOf(call); whole || at > 0 {
			out[with(call)] = append(out[with(call)], times[call])
		}
	}
	return out, nil
}

// inTurns has the program of the hook's entry be obstat for some calls, and for the others a script
// that reads the call and says nothing.
func (r *run) inTurns(model *scripted.Model, obstat func(call int) bool) error {
	program, kept := filepath.Join(r.bin(), "obstat"), filepath.Join(r.dir, "kept")
	names := map[bool]string{true: filepath.Join(kept, "obstat"), false: filepath.Join(kept, "yes")}
	err := errors.Join(os.Mkdir(kept, 0o755), os.Link(program, names[true]),
		os.WriteFile(names[false], []byte("#!/bin/sh\ncat >/dev/null\n"), 0o755))
	model.Notify(func(call int) {
		next := filepath.Join(kept, "next")
		_ = os.Remove(next)
		if os.Link(names[obstat(call)], next) == nil {
			_ = os.Rename(next, program) // at once: it is always there
		}
	})
	return err
}

// middle returns the median.
func middle(times []time.Duration) time.Duration {
	times = slices.Clone(times)
	slices.Sort(times)
	return times[len(times)/2].Round(10 * time.Microsecond)
}
