// Package agents knows the settings of the agents that people run: which files
// they read hook entries from, what an entry of obstat's looks like there, how it
// is told from others, put in and taken out with every other byte unchanged, and
// how long a hook may take.
//
// It does not speak the hooks' protocols, which is the business of package hook,
// and it reads and writes no file unless it is told to.
package agents

import (
	"slices"

	"github.com/obstat/obstat/internal/jsonx"
	"github.com/obstat/obstat/internal/textedit"
)

// The agents, by the names that package hook has for them.
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

	places []place
	format textedit.Format
	first  string // what a new file starts as
	events []string
	entry  func(t *target, event string) jsonx.Object
	// whole: the file is obstat's alone.
	whole func(t *target) []byte
	// trust: the agent runs only hooks whose hash it has been given.
	trust bool
}

// All returns the agents that obstat can be installed for, by name.
func All() []*Agent {
	all := table()
	slices.SortFunc(all, func(a, b *Agent) int {
		if a.Name < b.Name {
			return -1
		}
		return 1
	})
	return all
}

// Of returns the agent with the name, nil if obstat cannot be installed for it.
func Of(name string) *Agent {
	for _, a := range table() {
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
