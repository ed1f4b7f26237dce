package agentlab

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// A yesSayer is a driver that can put a hook in obstat's place that only says yes.
type yesSayer interface{ sayYes(r *run) error }

// rounds is how often each of the two is run, in turns: what else the machine does then
// falls on both.
const rounds = 3

// compare prints how long calls take with obstat, and with a hook that only says yes.
func (o *options) compare(agents []Agent, newRun func(*Agent, int) *run) error {
	n := 0
	for i := range agents {
		a := &agents[i]
		took := map[bool][]time.Duration{}
		for round := range 2 * rounds {
			n++
			r := newRun(a, n)
			times, err := o.timed(a, r, round%2 == 0)
			if err != nil {
				return fmt.Errorf("%s: %w", a.id(), err)
			}
			took[round%2 == 0] = append(took[round%2 == 0], times...)
			if err := r.tidy(); err != nil {
				return err
			}
		}
		obstat, yes := middle(took[true]), middle(took[false])
		fmt.Fprintf(o.out, "%s: a call takes %s with obstat, %s with a hook that says yes: %.2f times (middle of %d calls each)\n", a.id(), obstat, yes, float64(obstat)/float64(yes), len(took[true]))
	}
	return nil
}

// sayYes puts a hook in obstat's place that reads the call and lets it pass: a script of the shell, or
// what the driver has for it.
func sayYes(a *Agent, r *run) error {
	if y, ok := a.driver.(yesSayer); ok {
		return y.sayYes(r)
	}
	return r.spoil("#!/bin/sh\ncat >/dev/null\n")
}

// warm is how many calls of a run do not count: the agent is still starting.
const warm = 3

// timed has an agent make calls, and returns how long each took.
func (o *options) timed(a *Agent, r *run, obstat bool) ([]time.Duration, error) {
	s := &scenario{name: "overhead", policy: usual}
	for i := range o.overhead + warm {
		s.main = append(s.main, shell(fmt.Sprintf("echo %d", i)))
	}
	model, err := NewModel(s.script(a, r.dir))
	if err != nil {
		return nil, err
	}
	defer model.Close()
	r.model, r.hook = model, "home/"+a.driver.entry().file
	ctx, cancel := context.WithTimeout(context.Background(), runLimit)
	defer cancel()
	if err := r.prepare(ctx, a, s); err != nil {
		return nil, err
	}
	if !obstat {
		if err := sayYes(a, r); err != nil {
			return nil, err
		}
	}
	if _, err := r.start(a, runLimit, nil); err != nil {
		return nil, err
	}
	times := model.Took()
	if len(times) < o.overhead+warm {
		return nil, fmt.Errorf("only %d of %d calls were made: %s", len(times), o.overhead+warm, r.lastLines())
	}
	return times[warm:], nil
}

// middle returns the median.
func middle(times []time.Duration) time.Duration {
	times = slices.Clone(times)
	slices.Sort(times)
	return times[len(times)/2].Round(10 * time.Microsecond)
}
