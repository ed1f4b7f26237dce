package agent

import (
	"fmt"
	"strings"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/internal/format/jsonx"
)

// A Weight is the effect of a hook's allow on the agent's own judgement of the call.
type Weight uint8

// The weights. The zero value is that of a mode that is not known: an allow is never said there.
const (
	Lifts    Weight = iota // it lifts refusals of the agent's mode or rules
	Silences               // another judge of the agent's, such as a classifier, is not asked any more
	Answers                // it answers a question that the agent's own rules want a person to answer
	Skips                  // it skips the agent's prompt; its refusals, and the questions of its rules, stay
	Idle                   // it changes nothing: the agent's rules and its prompt follow
)

// String returns the weight in the words of the tables in docs/agents.
func (w Weight) String() string {
	return [...]string{"would lift its refusals", "would silence its judge", "would answer its own rules' questions",
		"skips its prompt, no more", "changes nothing"}[min(w, Idle)]
}

// A Mode is a row of an agent's table of modes: the effect of a hook's allow and ask in one of them.
type Mode struct {
	// Name is the payload's word for the mode; [AnyMode] where it does not tell, or all are alike.
	Name  string
	Event string // "" is every event
	// Plain: the row counts only where the agent's command line is known, and nothing on it changes
	// the effect of an answer.
	Plain bool
	Allow Weight
	// Over is the judge that is silenced, which a rule may outrank.
	Over obstat.Over
	// Asks: it was seen that the agent puts a hook's ask to the person at it, and that its own
	// refusals stand when that person says yes.
	Asks bool
	Says string // for people
}

// Told says in a few words when an allow is told to the agent in the mode.
func (m *Mode) Told() string {
	switch m.Allow {
	case Silences:
		return "with over: " + m.Over.String()
	case Answers:
		return "where a person has answered"
	case Skips, Idle:
		return "yes"
	}
	return "never"
}

// Asked says where an ask in the mode is answered.
func (m *Mode) Asked() At {
	if m.Asks {
		return AtPrompt
	}
	return AtObstat
}

// AnyMode is the name of a row for all modes.
const AnyMode = "*"

// Modes returns the agent's table of modes.
func (a *Agent) Modes() []Mode { return a.modes }

// modeOf returns the row for a mode at an event. For a mode that the table does not have it is the
// strictest: no allow is said, and no ask left to the agent.
func (a *Agent) modeOf(mode, event string, plain bool) Mode {
	for _, m := range a.modes {
		named := m.Name == mode || m.Name == AnyMode
		if named && (m.Event == "" || m.Event == event) && (plain || !m.Plain) {
			return m
		}
	}
	return Mode{Name: mode, Event: event}
}

// ReadsStart tells whether the agent's command line changes the effect of its hook's answer.
func (a *Agent) ReadsStart() bool { return a.starts != "" }

// plain tells whether the command line is known to be the agent's, without a word that changes the effect
// of an answer: not `copilot --deny-tool=write`.
func (e *Event) plain() bool {
	a := e.Who()
	program := strings.Join(e.Started[:min(2, len(e.Started))], " ") // `node /opt/copilot/index.js`
	if !a.ReadsStart() || !strings.Contains(program, a.Name) {
		return false
	}
	for _, w := range e.Started[1:] {
		if name, _, _ := strings.Cut(w, "="); among(a.starts, name) {
			return false
		}
	}
	return true
}

// mode returns the row that the event falls under.
func (e *Event) mode() Mode {
	m := e.Who().modeOf(e.Mode, e.Name, e.plain())
	if m.Allow != Idle && e.leavesSandbox() {
		m.Allow = Lifts
	}
	return m
}

// leavesSandbox tells whether the call asks to run outside of the agent's own sandbox, by an argument
// such as Claude Code's `dangerouslyDisableSandbox`.
func (e *Event) leavesSandbox() bool {
	if e.Call == nil || e.Who().unboxed == "" {
		return false
	}
	root, _ := jsonx.Parse(e.Call.Input, jsonx.Options{})
	for key := range strings.FieldsSeq(e.Who().unboxed) {
		if n := root.Get(key); n != nil && !isBool(n, false) {
			return true
		}
	}
	return false
}

// Silent says why an allow is not told to the agent, which then goes its own way; "" where it is told.
// A person's answer to this very call settles a question of the agent's own rules, but lifts nothing.
func (e *Event) Silent(d *obstat.Decision, answered bool) string {
	if d.Verdict != obstat.Allow || e.Call == nil {
		return ""
	}
	m, title := e.mode(), e.Who().Title
	in := ""
	if e.Mode != "" {
		in = " in the mode " + e.Mode
	}
	switch {
	case m.Allow == Skips || m.Allow == Idle:
		return ""
	case m.Allow == Answers && answered:
		return ""
	case m.Allow == Answers:
		return fmt.Sprintf("left to %s: a rule of its own asks a person", title)
	case m.Allow == Silences && d.Over.Has(m.Over):
		return ""
	case m.Allow == Silences:
		return fmt.Sprintf("left to %s, whose own judge decides%s: no rule says `over: %s`", title, in, m.Over)
	}
	return fmt.Sprintf("left to %s%s: an allow could lift what it refuses", title, in)
}
