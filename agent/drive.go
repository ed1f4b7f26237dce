package agent

import (
	"strings"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/internal/format/jsonx"
)

// A Drive is how an agent is started once on a prompt, without a terminal and with a model on this machine. In its
// texts {PROGRAM}, {PROMPT}, {HOME}, {DIR} and {URL} stand for values of the start.
type Drive struct {
	Line  string            // the command line
	Env   string            // variables, separated by blanks
	Files map[string]string // its settings, by their names below {HOME}
	// Tool runs a command, which stands in its argument Field; Args are its other arguments.
	Tool, Field string
	Args        map[string]any
}

// Drive returns how the agent is started to see whether it runs a changed command; nil where that was never done.
func (a *Agent) Drive() *Drive { return a.driven }

// The commands of a start that looks whether changed commands run.
const (
	DriveAsked   = "touch asked"   // changed into DriveChanged
	DriveChanged = "touch changed" // which has to run
	DriveDenied  = "touch denied"  // which must not
)

// Driven answers a call of a start that looks whether changed commands run: it allows one command with another text, as
// a confined run is told, and denies all others.
func Driven(name string, stdin []byte, getenv func(string) string) Reply {
	e, err := Decode(name, stdin, getenv)
	if err != nil || e.Call == nil || e.Done != nil {
		return e.Encode(&obstat.Decision{}, nil)
	}
	a := &answer{verdict: obstat.Deny, reason: "obstat doctor looks whether a denial is heard"}
	if from := jsonx.Quote(DriveAsked); strings.Contains(string(e.Call.Input), from) {
		a.verdict = obstat.Allow // of a command that touches an empty file where obstat has started the agent
		a.input = []byte(strings.Replace(string(e.Call.Input), from, jsonx.Quote(DriveChanged), 1))
	}
	return e.Who().encode(e, a)
}
