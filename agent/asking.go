package agent

import (
	"strings"
)

// An Asking says where an ask of obstat's goes in one way to run an agent.
type Asking struct {
	Agent string
	Way   string // how the agent is run: "interactive, bypassPermissions"
	At    At
	// With are the settings of obstat's hook that it takes, such as `--wait 60s`; "" is none.
	With string
	Says string

	mode   string // of the payload
	env    string // a variable that the agent sets then, NAME=VALUE
	args   string // of the agent's command line
	writes string // the row is about file tools, which this event asks for
}

// At is where a person is asked.
type At string

// The places.
const (
	AtPrompt At = "the agent's prompt"
	AtObstat At = "obstat ask"
)

// Askings returns the table of where asks go, for every agent that obstat can be installed for, in
// each of its ways to run.
func Askings() (out []Asking) {
	for _, a := range All().sorted() {
		for _, row := range a.askings {
			row.Agent = a.Name
			out = append(out, row)
		}
	}
	return out
}

// Started returns the agent's command line when it is run that way, nil where that says nothing.
func (a *Asking) Started() []string {
	if a.args == "" {
		return nil
	}
	return append([]string{a.Agent}, strings.Fields(a.args)...)
}

// Payload returns a call in the form that the agent sends when it is run that way, and the variables
// that it sets; the call runs a command, or, where the row is about files, writes one.
func (a *Asking) Payload(dir, command, file string) (stdin []byte, getenv func(string) string) {
	who := Of(a.Agent)
	event, p := who.events[0], probe{kind: shellProbe, text: command}
	if a.writes != "" {
		event, p = a.writes, probe{kind: writeProbe, text: file}
	}
	o := who.forge(event, dir, p)
	for i := range o {
		if o[i].Key == "permission_mode" && a.mode != "" {
			o[i].Value = a.mode
		}
	}
	name, value, _ := strings.Cut(a.env, "=")
	return reply(o, "", 0).Stdout, func(key string) string {
		if key == name {
			return value
		}
		return ""
	}
}
