package agents

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/obstat/obstat/internal/scripted"
)

// A Result is the outcome of one scenario with one agent.
type Result struct {
	Agent    string
	Scenario string
	// Outcome is ran, blocked, hung, or not driven.
	Outcome string
	// Note is why an agent could not be driven.
	Note string
	// Broken says which of obstat's promises did not hold, "" if all did.
	Broken string
	// Detail explains Note or Broken on the screen; it is not kept.
	Detail string
	Took   time.Duration
}

// The outcomes.
const (
	outRan       = "ran"
	outBlocked   = "blocked"
	outHung      = "hung"
	outNotDriven = "not driven"
)

// runLimit is how long an agent may take; the longest takes half a minute,
// four times that where ten others want the same two cores.
const runLimit = 5 * time.Minute

// hangLimit is how long it may take with a hook that hangs and three seconds for
// it: some agents then wait for the hook's own end.
const hangLimit = time.Minute

// ttyLimit is how long it may take on a terminal, where an agent does not end by itself.
const ttyLimit = 3 * time.Minute

// try plays one scenario with one agent in r's directory.
func (s *scenario) try(a *Agent, r *run) Result {
	res := Result{Agent: a.id(), Scenario: s.name, Outcome: outNotDriven}
	begin := time.Now()
	if res.Detail = r.whyNot(); res.Detail != "" {
		res.Note = "it cannot be installed"
		return res
	}
	if s.project && a.driver.entry.userOnly {
		res.Note = "obstat installs this hook for the user only: the agent skips a project's hooks without a word unless " +
			"the folder is trusted"
		return res
	}
	model, err := scripted.New(s.script(a, r.dir))
	if err != nil {
		res.Note, res.Detail = "it cannot be started", err.Error()
		return res
	}
	defer model.Close()
	r.model = model
	r.hook = "home/" + a.driver.entry.file
	if r.keep {
		model.Dump = r.dir
	}
	ctx, cancel := context.WithTimeout(context.Background(), runLimit)
	defer cancel()
	if err := r.prepare(ctx, a, s); err != nil {
		res.Note, res.Detail = "it cannot be started", err.Error()
		if errors.Is(err, errInstall) {
			res.Broken = errInstall.Error()
		}
		return res
	}
	limit := runLimit
	switch {
	case s.hook == hanging:
		limit = hangLimit
	case s.tty:
		limit = ttyLimit
	}
	var seat *seat
	here := s.asksHere(a)
	if s.asked() && !here {
		if seat, err = r.sit(s); err != nil {
			res.Note, res.Detail, res.Broken = "it cannot be started", err.Error(), errInstall.Error()
			return res
		}
		defer seat.leave()
	}
	hung, err := r.start(a, s, limit, seat.during())
	if err != nil {
		res.Note, res.Detail = "it cannot be started", err.Error()
		return res
	}
	s.judge(&res, a, r, hung && !s.dies)
	if here && res.Broken == "" && res.Outcome != outNotDriven {
		if r.asked != s.times(&a.driver.dialog) {
			res.Broken = fmt.Sprintf("the agent asked %d times", r.asked)
		}
	}
	if res.Broken == "" && !(s.hook == inFront && a.asks) { // its own prompt, without an answer, comes first
		res.Broken = cmp.Or(seat.wrong(), r.untold(s))
	}
	if s.policy == confining && s.hook == healthy {
		res.Detail = strings.TrimSpace(res.Detail + "\n" + r.logged())
	}
	res.Took = time.Since(begin)
	return res
}

// judge compares the file system, and the words that the model was told, with the
// scenario's promise.
func (s *scenario) judge(res *Result, a *Agent, r *run, hung bool) {
	ran := s.ran(r)
	main := r.model.Results(scripted.MainMarker)
	told := main
	if s.sub != nil {
		told = r.model.Results(scripted.SubMarker)
	}
	switch {
	case ran:
		res.Outcome = outRan
	case hung:
		res.Outcome = outHung
	case s.dies, r.asked > 0 && len(told) == 0: // killed, or its turn ended with a no
		res.Outcome = outBlocked
		return
	case len(told) == 0 && len(main) == 0:
		res.Outcome, res.Note = outNotDriven, "the model never heard back from its first call"
		res.Detail = r.lastLines()
		return
	default:
		res.Outcome = outBlocked
	}
	if len(told) == 0 { // the subagent was never heard of
		told = main
	}
	words := strings.Join(told, "\n")
	if s.want == either || (s.hook == never || s.hook == inFront) && a.asks {
		return
	}
	if res.Broken = s.broken(r, words, ran, hung); res.Broken == "" && s.goesOn() &&
		!there(path.Join("project", s.at, "after.txt"))(r) {
		res.Broken, words = "the agent did not go on afterwards", strings.Join(main, "\n")
	}
	if res.Broken != "" {
		res.Detail = "the model was told " + clip(words)
	}
}

// broken says which promise about the call did not hold, "" if all did.
func (s *scenario) broken(r *run, words string, ran, hung bool) string {
	said := func(w string) bool { return strings.Contains(words, w) }
	switch {
	case hung:
		return "the agent hung, and was ended"
	case s.want == mustRun && !ran:
		return "it did not run"
	case s.want == mustBlock && ran:
		return "it ran"
	case s.says != "" && r.asked == 0 && !slices.ContainsFunc(strings.Split(s.says, "|"), said):
		return fmt.Sprintf("it did not run, but %q was not the reason", s.says)
	case s.name == atOnceName && !(there("project/one.txt")(r) && there("project/two.txt")(r)):
		return "the allowed ones did not run"
	}
	return ""
}

func clip(s string) string {
	const most = 500
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + "..."
	}
	return fmt.Sprintf("%q", s)
}

// tidy removes a run's files.
func (r *run) tidy() error { return os.RemoveAll(r.dir) }
