// Package doctor proves that obstat's hooks hold: it reads the agents' settings,
// checks obstat's entries for mistakes by which an agent skips them, and sends canary
// calls through the registered command lines the way the agent would, to see whether
// the agent takes the replies for denials.
//
// Settings, replies and canaries are those of package agent. doctor adds the checks
// that need more than the settings: programs, time limits and policies. It changes
// nothing, and runs nothing but obstat's hook.
package doctor

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/agent"
	"github.com/obstat/obstat/dialect"
)

// A Finding is one thing that is wrong.
type Finding = agent.Finding

// The levels of findings. Only an error means that rules do not hold.
const (
	Error   = agent.Error
	Warning = agent.Warning
)

// An Entry is one hook entry of obstat's.
type Entry struct {
	Scope   string  `json:"scope"`
	File    string  `json:"file"`
	Line    int     `json:"line"`
	Event   string  `json:"event"`
	Command string  `json:"command"`
	Timeout float64 `json:"timeout_seconds,omitempty"`
}

// A Proof is one canary and its outcome.
type Proof struct {
	File    string `json:"file"`
	Event   string `json:"event"`
	Canary  string `json:"canary"`
	Outcome string `json:"outcome"` // runs, asks or blocked
	Held    bool   `json:"held"`
	Said    string `json:"said,omitempty"` // the first words on standard error
	Exit    int    `json:"exit"`
}

// An Agent is how things stand with one agent.
type Agent struct {
	Name     string    `json:"name"`
	Title    string    `json:"title"`
	State    State     `json:"state"`
	Entries  []Entry   `json:"entries,omitempty"`
	Findings []Finding `json:"findings,omitempty"`
	Proofs   []Proof   `json:"proofs,omitempty"`
	Version  string    `json:"limits_of_version,omitempty"`
	// Installed is the agent's version here, "" where it is not told.
	Installed string `json:"installed_version,omitempty"`
	// Driven: it was started just now, and seen to run a changed command.
	Driven bool          `json:"driven,omitempty"`
	Limits []agent.Limit `json:"limits,omitempty"`
	// Modes tell the effect of an allow and an ask in each of the agent's modes.
	Modes []Mode `json:"modes,omitempty"`
}

// A Mode tells the effect of an allow and an ask in a mode of an agent's, at one of its events.
type Mode struct {
	Mode  string `json:"mode"`            // "*": every other
	Event string `json:"event,omitempty"` // none: every
	Allow string `json:"allow_told"`      // whether an allow is told to the agent
	Ask   string `json:"asked_at"`        // where an ask is answered
	Says  string `json:"says"`
}

// A State is how things stand.
type State string

// The states.
const (
	Holds  State = "holds"  // every canary was held, and nothing else is wrong
	Broken State = "broken" // something is
	Open   State = "open"   // the agent is there, and obstat is not asked
)

// A Report is the whole finding.
type Report struct {
	Agents []*Agent `json:"agents"`
	// Policy has the problems of the policies that decide here, and rules in them
	// that never match.
	Policy []Finding `json:"policy,omitempty"`
}

// OK tells whether everything that was asked for holds.
func (r *Report) OK() bool {
	if slices.ContainsFunc(r.Policy, func(f Finding) bool { return f.Level == Error }) {
		return false
	}
	held := false
	for _, a := range r.Agents {
		if a.State == Broken {
			return false
		}
		held = held || a.State == Holds
	}
	return held
}

// A Binary describes a program file.
type Binary struct {
	Obstat   bool   // it is obstat's
	Version  string // "" is not known
	Revision string
	Writable bool // others than its owner may write it
}

// Options say where to look. Fields that are functions must be set.
type Options struct {
	Where *agent.Where
	// All are the agents that there are; nil is [agent.All].
	All agent.List
	// Agents names those to look at; none means all that are used here.
	Agents []string
	Dir    string // where the canaries are made
	Self   Binary
	// Inspect looks at a program file.
	Inspect func(path string) (*Binary, error)
	// Run runs a command to its end.
	Run func(ctx context.Context, c *Command) *agent.Reply
	// Find returns the policies for an agent's calls in Dir.
	Find func(name string) ([]*dialect.Loaded, error)
	// Deadline returns how long a hook with these arguments takes at most, when
	// the agent calls it; nil knows of no limit that is too short.
	Deadline func(name string, args []string) time.Duration
	// Installed returns the version of the first of some programs that is here; nil knows none.
	Installed func(programs []string) string
	// Env returns a variable of the environment.
	Env func(string) string
}

// Examine looks at the agents.
func Examine(ctx context.Context, o *Options) *Report {
	r := &Report{}
	all := o.All
	if all == nil {
		all = agent.All()
	}
	for _, a := range all.Installable() {
		named := slices.Contains(o.Agents, a.Name)
		if len(o.Agents) > 0 && !named {
			continue
		}
		x := &exam{Options: o, Setup: a.Look(o.Where), out: &Agent{Name: a.Name, Title: a.Title}}
		if !x.Used && !named {
			continue
		}
		x.judge(ctx, named)
		r.Agents = append(r.Agents, x.out)
		if x.out.State != Open {
			r.policies(o, a.Name)
		}
	}
	return r
}

// policies adds the problems of the policies of an agent's calls.
func (r *Report) policies(o *Options, name string) {
	loaded, err := o.Find(name)
	if err != nil {
		var es obstat.Errors
		if !errors.As(err, &es) {
			es = obstat.Errors{{Msg: err.Error()}}
		}
		for _, e := range es {
			if !e.Warning {
				r.add(problem(Error, "policy-broken", e))
			}
		}
		return
	}
	if len(loaded) == 0 {
		r.add(Finding{Level: Warning, Code: "no-policy", File: o.Dir,
			Msg:  "there is no policy here, so the built-in one is in force: balanced",
			Hint: "obstat init writes one for this project"})
	}
	for _, l := range loaded {
		for _, w := range slices.Concat(l.Warnings, dialect.Lint(l)) {
			if w.Code == obstat.CodeNoEffect {
				r.add(problem(Warning, "dead-rule", w))
			}
		}
	}
}

func problem(level agent.Level, code string, e *obstat.Error) Finding {
	return Finding{Level: level, Code: code, File: e.Pos.File, Line: e.Pos.Line, Col: e.Pos.Col, Msg: e.Msg, Hint: e.Hint}
}

func (r *Report) add(f Finding) {
	if !slices.Contains(r.Policy, f) {
		r.Policy = append(r.Policy, f)
	}
}
