package hook

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/agent"
	"github.com/obstat/obstat/gate"
	"github.com/obstat/obstat/internal/guard/confined"
	"github.com/obstat/obstat/policy"
)

// confining lets the gate change a command into one that runs confined, where the agent is proved to run
// the changed text.
func (t *turn) confining(wd string) *gate.Confining {
	if t.Exe == "" || t.db == "" {
		return nil
	}
	state := filepath.Dir(t.db)
	machine := confined.Machine(state)
	if t.machine != nil {
		machine = t.machine
	}
	return &gate.Confining{
		Machine: machine,
		Not:     func(c *obstat.Call, over obstat.Over) string { return t.notConfined(state, wd, c, over) },
		Change: func(_ *confined.Bounds, ticket *confined.Ticket) (json.RawMessage, error) {
			ticket.Use = t.event.ToolUse
			ticket.Files, ticket.Dialect, ticket.Options = t.Policy.Files, t.Policy.Dialect, t.Policy.Options
			name, err := confined.Issue(state, ticket)
			if err != nil {
				return nil, err
			}
			input, err := ticket.Change(t.Exe, name)
			if err != nil {
				return nil, errors.Join(err, os.Remove(confined.TicketFile(state, name)))
			}
			return input, nil
		},
	}
}

// notConfined says why a call of this agent is not changed. An agent matches its own rules against the
// changed text, so that the original is put to them here.
func (t *turn) notConfined(state, wd string, c *obstat.Call, over obstat.Over) string {
	a := t.event.Who()
	if a.ReadsRules() && t.event.Started == nil {
		if t.event.Started = t.started(); t.event.Started == nil {
			return "how " + a.Title + " was started cannot be told"
		}
	}
	if why := t.event.NotChanged(over); why != "" {
		return why
	}
	if why := confined.Unproved(state, a.Name); why != "" {
		return why
	}
	home, _ := t.World.Home("")
	at := &agent.Where{Home: home, Projects: []string{wd}, Getenv: t.Getenv}
	if why := a.Boxed(at); why != "" {
		return why
	}
	where := &policy.Where{Agent: a.Name, Dir: c.Dir, Roots: c.Roots, Start: wd, Home: home, Getenv: t.Getenv}
	switch why, known, err := policy.OwnRules(where, c, t.World); {
	case err != nil:
		return "the rules of " + a.Title + " cannot be read: " + err.Error()
	case !known && !a.Ruleless():
		return "the rules of " + a.Title + " are not known, and would not be asked"
	case why != "":
		return "a rule of " + a.Title + " is about it: " + why
	}
	return ""
}
