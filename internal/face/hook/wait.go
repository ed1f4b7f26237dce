package hook

import (
	"fmt"
	"strings"
	"time"

	"github.com/obstat/obstat/agent"
)

// Waiting says when a hook waits for a person's answer. The zero value waits
// while `obstat ask` is open.
type Waiting struct {
	Off bool
	// Always waits, also while `obstat ask` is not open: a notified person may open it.
	Always bool
	For    time.Duration // how long; zero is as long as the agent's time limit lets it
}

// ParseWaiting reads the value of --wait: auto, off, or how long.
func ParseWaiting(s string) (Waiting, error) {
	switch s {
	case "auto", "":
		return Waiting{}, nil
	case "off", "0":
		return Waiting{Off: true}, nil
	}
	d, err := time.ParseDuration(s)
	if err != nil || d < time.Second {
		return Waiting{}, fmt.Errorf("--wait takes auto, off or a time of at least a second such as 50s, not %q", s)
	}
	return Waiting{Always: true, For: d}, nil
}

// Margin is the rest of an agent's time limit when waiting ends.
const Margin = 5 * time.Second

// ownMargin is the rest of the hook's own deadline when waiting ends; the
// agent's comes last.
const ownMargin = 2 * time.Second

// Limit returns how long after its start a hook of the agent may wait for a
// person: the time that the agent gives a hook without one of its own, less a margin,
// and five minutes at most. A time that was given with --wait counts as it is: the
// agent was told to wait a little longer.
func (w Waiting) Limit(name string) time.Duration {
	if w.For > 0 {
		return w.For
	}
	limit := 30 * time.Second
	if a := agent.Of(name); a != nil {
		limit = min(a.Patience, 5*time.Minute)
	}
	return limit - Margin
}

// Longest returns how long a hook with these arguments takes at most when an
// agent calls it: `--wait 50s` takes 52 seconds.
func Longest(agent string, args []string) time.Duration {
	most, waiting := DefaultDeadline, Waiting{}
	for i, arg := range args {
		name, value, joined := strings.Cut(arg, "=")
		if !joined && i+1 < len(args) {
			value = args[i+1]
		}
		switch name {
		case "--deadline":
			if d, err := time.ParseDuration(value); err == nil && d > 0 {
				most = d
			}
		case "--wait":
			if w, err := ParseWaiting(value); err == nil {
				waiting = w
			}
		}
	}
	if !waiting.Off {
		most = max(most, waiting.Limit(agent)+ownMargin)
	}
	return most
}

// extend gives the hook time until so long after its start, if that is later.
func (r *run) extend(limit time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if limit > r.deadline && !r.answered && r.timer.Stop() {
		r.deadline = limit
		r.timer.Reset(time.Until(r.began.Add(limit)))
	}
}
