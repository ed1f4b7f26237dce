// Package agents knows the settings of the agents that people run: which files
// they read hook entries from, what an entry of obstat's looks like there, how it
// is told from others, put in and taken out with every other byte unchanged, how
// long a hook may take, which replies an agent honours, and what its hooks do not
// cover.
//
// It does not speak the hooks' protocols, which is the business of package agent,
// it runs nothing, and it reads files only where a function says so.
package agents

import (
	"time"

	"github.com/obstat/obstat/internal/jsonx"
	"github.com/obstat/obstat/internal/textedit"
)

// The agents, by the names that package agent has for them.
const (
	ClaudeCode = "claude-code"
	Codex      = "codex"
	Gemini     = "gemini"
	OpenCode   = "opencode"
	Crush      = "crush"
	Cursor     = "cursor"
	Copilot    = "copilot"
	Windsurf   = "windsurf"
	Cline      = "cline"
)

// An Agent is what is known about the settings of one agent.
type Agent struct {
	Name  string // as in `obstat hook NAME`
	Title string // as its makers write it
	// Events are the events that obstat answers; the first is the one that it
	// cannot do without.
	Events []string
	// Limit is how long the agent waits for obstat's hook as it is installed;
	// zero where that is not known.
	Limit time.Duration

	places []place
	form   form
	format textedit.Format
	first  jsonx.Object // what a new file has besides its hooks
	// own: the file is obstat's alone, this is what is in it.
	own func(c Call) []byte
	// ownFile is its name in a directory of hooks.
	ownFile string
	guard   guard
	// trust: the agent runs only hooks whose hash it has been given.
	trust bool
	// strict are the only keys that the agent takes at the top of a file of
	// hooks; nil for any.
	strict []string
}

// A form is how an agent writes a hook in its settings.
type form struct {
	nested   bool              // in groups: {"matcher", "hooks": [...]}
	commands []string          // keys of the command line, the first is the one that counts
	fields   jsonx.Object      // further fields of every entry
	matchers map[string]string // by event, "" for all others; what is not here has none
	timeout  string            // key; "" if there is none
	unit     time.Duration     // of the time-out
	standard time.Duration     // the agent's own, where the entry has none
}

// matcher returns the matcher of an event's entry, if it has one.
func (f *form) matcher(event string) (string, bool) {
	if m, has := f.matchers[event]; has {
		return m, true
	}
	m, has := f.matchers[""]
	return m, has
}

// All returns the agents that obstat can be installed for, by name.
func All() []*Agent {
	return []*Agent{claudeCode(), cline(), codex(), copilot(), crush(), cursor(), gemini(), openCode(), windsurf()}
}

// Of returns the agent with the name, nil if obstat cannot be installed for it.
func Of(name string) *Agent {
	for _, a := range All() {
		if a.Name == name {
			return a
		}
	}
	return nil
}

// Names returns the names of [All].
func Names() []string {
	var out []string
	for _, a := range All() {
		out = append(out, a.Name)
	}
	return out
}

func obj(kv ...any) jsonx.Object {
	var o jsonx.Object
	for i := 0; i+1 < len(kv); i += 2 {
		o = append(o, jsonx.Field{Key: kv[i].(string), Value: kv[i+1]})
	}
	return o
}
